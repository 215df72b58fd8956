import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { type Body, call, type Data } from '../../api/call.ts'
import { useAction, useApi, useOpening } from '../../api/hooks.ts'
import { Area, Field, Form, Select } from '../../kit/fields.tsx'
import { Dialog, Facts, Loaded, Money, Time } from '../../kit/parts.tsx'
import { useCore, useTexts, wordFor } from '../../texts/lang.ts'
import { CheckStatus } from './CheckStatus.tsx'
import { texts } from './texts.ts'

type Check = Data<'getKyc'>
/** What the service lets this person do; a limit is a field of the request. */
const WAYS = ['approve', 'refuse', 'requestEdd', 'completeEdd'] as const satisfies Check['mayDo'][number][]
type Way = (typeof WAYS)[number]

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
  const [way, setWay] = useState<Way | null>(null)
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
          ...outcomeRows(check, t),
        ]}
      />
      <h3 className="mt-4 mb-1 font-semibold">{t.history}</h3>
      <ol className="mb-4 space-y-1 text-sm">
        {check.history.map((step) => (
          <li key={step.seq} className="flex flex-wrap gap-x-3">
            <Time at={step.at} long />
            <span>{wordFor(t.triggers, step.trigger)}</span>
            {ENDS_EDD.includes(step.trigger) && step.eddOutcome && <span>{wordFor(t.outcomes, step.eddOutcome)}</span>}
            {step.reason && (
              <span className="text-soft" {...(step.actor.startsWith('provider:') ? PROVIDERS : {})}>
                {step.reason}
              </span>
            )}
          </li>
        ))}
      </ol>
      <div className="flex flex-wrap gap-2">
        {WAYS.filter((name) => mayDoOf(check).includes(name)).map((name) => (
          <button key={name} type="button" className="btn" aria-pressed={way === name} onClick={() => setWay(name)}>
            {t[name]}
          </button>
        ))}
      </div>
      {way && mayDoOf(check).includes(way) && (
        <Decide key={`${way} ${check.updatedAt}`} check={check} way={way} onDone={() => setWay(null)} />
      )}
    </>
  )
}

/** An older node does not say. */
const mayDoOf = ({ mayDo }: Partial<Pick<Check, 'mayDo'>>): Check['mayDo'] => mayDo ?? []

const ENDS_EDD: readonly string[] = ['completeEdd', 'edd.completed'] satisfies Check['history'][number]['trigger'][]
/** The provider's words as they came, for whoever compares them with its settings. */
const PROVIDERS = { lang: 'en', translate: 'no' } as const

function outcomeRows(check: Check, t: (typeof texts)['en']): [string, React.ReactNode][] {
  const { eddOutcome, spendingLimit, message } = check
  const rows: [string, React.ReactNode][] = []
  if (eddOutcome) rows.push([t.enhanced, wordFor(t.outcomes, eddOutcome)])
  if (spendingLimit) rows.push([t.limit, <Money key="limit" amount={spendingLimit} asset="EUR" />])
  if (message)
    rows.push([
      t.message,
      <code key="message" className="text-sm" {...PROVIDERS}>
        {message}
      </code>,
    ])
  return rows
}

function decide({ _id: id, updatedAt }: Check, way: Way, values: Record<string, string>): Promise<unknown> {
  const path = { id }
  const body = { ...values, updatedAt }
  if (way === 'approve') return call('POST /api/next/kyc/{id}/approve', { path, body })
  if (way === 'refuse') return call('POST /api/next/kyc/{id}/refuse', { path, body: body as Body<'refuseKyc'> })
  if (way === 'requestEdd') return call('POST /api/next/kyc/{id}/edd', { path, body })
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
  const [outcome, setOutcome] = useState('approved')
  const needsLimit = way === 'completeEdd' && outcome === 'approved'
  const takesLimit = way === 'completeEdd' || (way === 'requestEdd' && mayDoOf(check).includes('grantLimit'))
  const isGranted = check.eddOutcome === 'approved'
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
        {way === 'requestEdd' && <p className="mb-3">{isGranted ? t.requestAgainText : t.requestText}</p>}
        {way === 'completeEdd' && (
          <Select
            label={t.outcome}
            name="outcome"
            value={outcome}
            onChange={({ target }) => setOutcome(target.value)}
            options={Object.entries(t.outcomes)}
          />
        )}
        {takesLimit && (
          <Field
            label={needsLimit ? t.limitLabel : `${t.limitLabel} (${core.optional})`}
            name="spendingLimit"
            kind="money"
            required={needsLimit}
            {...(way === 'requestEdd' ? { hint: t.limitHint } : {})}
          />
        )}
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
