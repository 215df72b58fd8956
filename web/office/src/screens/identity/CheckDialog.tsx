import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { type Body, call, type Data } from '../../api/call.ts'
import { useAction, useApi, useOpening } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { Area, Field, Form, Select } from '../../kit/fields.tsx'
import { Dialog, Facts, Loaded, Money, Time } from '../../kit/parts.tsx'
import { useCore, useTexts } from '../../texts/lang.ts'
import { CheckStatus } from './CheckStatus.tsx'
import { texts } from './texts.ts'

type Check = Data<'getKyc'>
type Way = 'approve' | 'refuse' | 'request' | 'complete'

export function CheckDialog({ id, onClose }: { id: string; onClose(): void }) {
  const t = useTexts(texts)
  const check = useApi('GET /api/next/kyc/{id}', { path: { id } }, { isNoted: true, opening: useOpening() })
  return (
    <Dialog title={t.title} onClose={onClose}>
      <Loaded query={check}>{(data) => <Inner check={data} />}</Loaded>
    </Dialog>
  )
}

function Inner({ check }: { check: Check }) {
  const t = useTexts(texts)
  const can = useCan()
  const [way, setWay] = useState<Way | null>(null)
  const offers: [Way, boolean][] = [
    ['approve', check.status === 'pending' && can('kyc.decide')],
    ['refuse', check.status !== 'refused' && can('kyc.decide')],
    ['request', check.status === 'approved' && check.eddStatus === 'none' && can('kyc.requestEdd')],
    ['complete', ['requested', 'pending'].includes(check.eddStatus) && can('kyc.completeEdd')],
  ]
  return (
    <>
      <p className="mb-3">
        <CheckStatus check={check} />
      </p>
      <Facts
        rows={[
          [t.payer, check.payer?.email ?? '–'],
          [
            t.orders,
            <span key="orders" className="flex flex-wrap gap-2">
              {check.orders.map(({ code, shortCode, alias }) => (
                <Link key={code} to="/orders/$code" params={{ code }} className="link">
                  {alias ?? shortCode}
                </Link>
              ))}
            </span>,
          ],
          ...(check.spendingLimit
            ? ([[t.limit, <Money key="limit" amount={check.spendingLimit} asset="EUR" />]] as [
                string,
                React.ReactNode,
              ][])
            : []),
        ]}
      />
      <h3 className="mt-4 mb-1 font-semibold">{t.history}</h3>
      <ol className="mb-4 space-y-1 text-sm">
        {check.history.map((step) => (
          <li key={step.seq} className="flex flex-wrap gap-x-3">
            <Time at={step.at} long />
            <span>{step.trigger}</span>
            {step.reason && <span className="text-soft">{step.reason}</span>}
          </li>
        ))}
      </ol>
      <div className="flex flex-wrap gap-2">
        {offers.map(([name, isOffered]) =>
          isOffered ? (
            <button key={name} type="button" className="btn" aria-pressed={way === name} onClick={() => setWay(name)}>
              {t[name]}
            </button>
          ) : null,
        )}
      </div>
      {way && <Decide key={`${way} ${check.updatedAt}`} check={check} way={way} onDone={() => setWay(null)} />}
    </>
  )
}

function decide({ _id: id, updatedAt }: Check, way: Way, values: Record<string, string>): Promise<unknown> {
  const path = { id }
  const body = { ...values, updatedAt }
  if (way === 'approve') return call('POST /api/next/kyc/{id}/approve', { path, body })
  if (way === 'refuse') return call('POST /api/next/kyc/{id}/refuse', { path, body: body as Body<'refuseKyc'> })
  if (way === 'request') return call('POST /api/next/kyc/{id}/edd', { path, body })
  return call('POST /api/next/kyc/{id}/edd/complete', { path, body: body as Body<'completeEdd'> })
}

function Decide({ check, way, onDone }: { check: Check; way: Way; onDone(): void }) {
  const t = useTexts(texts)
  const core = useCore()
  const action = useAction({
    run: (values: Record<string, string>) => decide(check, way, values),
    done: t.done,
    onDone,
  })
  const takesLimit = way === 'request' || way === 'complete'
  return (
    <div className="mt-4 border-t border-line pt-4">
      <Form
        button={t[way]}
        tone={way === 'refuse' ? 'bad' : 'fill'}
        isBusy={action.isPending}
        error={action.error}
        onSend={(values) => action.mutate(values)}
      >
        {way === 'refuse' && <p className="mb-3">{t.refuseText}</p>}
        {way === 'request' && <p className="mb-3">{t.requestText}</p>}
        {way === 'complete' && (
          <Select
            label={t.outcome}
            name="outcome"
            options={[
              ['approved', t.approved],
              ['refused', t.refused],
            ]}
          />
        )}
        {takesLimit && <Field label={`${t.limitLabel} (${core.optional})`} name="spendingLimit" kind="money" />}
        <Area
          label={way === 'refuse' ? core.reason : `${core.reason} (${core.optional})`}
          name="reason"
          required={way === 'refuse'}
          maxLength={500}
        />
      </Form>
    </div>
  )
}
