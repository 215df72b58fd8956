import { useState } from 'react'
import { type Body, call, type Order } from '../../api/call.ts'
import { useAction, useApi, useOpening } from '../../api/hooks.ts'
import { type Lack, lackOf } from '../../api/lack.ts'
import { useCan } from '../../api/session.ts'
import { readKind } from '../../kit/field-kinds.ts'
import { Area, Field, Form } from '../../kit/fields.tsx'
import { formatMoney, formatRate, writeAmount } from '../../kit/format.ts'
import { LIVE_MS } from '../../kit/live.ts'
import { Dialog, Loaded } from '../../kit/parts.tsx'
import { useCore, useLang, useTexts } from '../../texts/lang.ts'
import { confirmedAddress, Destination, type Goal, goalOf } from '../refunds/Destination.tsx'
import { isOnChain } from '../refunds/refund.ts'
import { tokenFor } from './refund-worth.ts'
import { texts } from './texts.ts'
import { WithoutCover } from './WithoutCover.tsx'

type Values = Body<'revertOrder'> & { fiat?: string }
/** A refund without cover that is asked about, as it was shown. */
type Asked = { lack: Lack; values: Values; goal: Goal; isChanged: boolean }

/** Shows in advance what will happen: how much can be refunded, and to which address. */
export function RefundDialog({ order, onClose }: { order: Order; onClose(): void }) {
  const t = useTexts(texts)
  const core = useCore()
  const lang = useLang()
  const can = useCan()
  const [typed, setTyped] = useState('')
  const [asked, setAsked] = useState<Asked | null>(null)
  const opening = useOpening()
  const path = { code: order.code }
  const refundable = useApi('GET /api/next/confirm_conversion/revert/{code}', { path }, { liveMs: LIVE_MS, opening })
  const goalWith = (typed: string): Goal | null =>
    refundable.data ? goalOf(refundable.data, { typed, channel: order.paymentChannel ?? '' }) : null
  /** What the person confirms is what was shown: that destination, and no larger debt. */
  const action = useAction({
    run: ({ fiat: _, ...typed }: Values) => {
      const shown = confirmedAddress(asked ? asked.goal : goalWith(typed.address ?? ''))
      const confirmed = asked ? { withoutCover: true, mostOwed: asked.lack.owedAfter } : {}
      const body = { ...shown, ...typed, ...confirmed }
      return call('POST /api/next/confirm_conversion/revert/{code}', { path, body, deed: { opening, typed } })
    },
    done: t.refundStarted,
    onDone: onClose,
  })
  const send = (values: Values): void =>
    action.mutate(values, {
      onError: (error) => {
        const lack = can('refunds.decide') ? lackOf(error) : null
        const goal = asked?.goal ?? goalWith(values.address ?? '')
        if (lack && goal) setAsked({ lack, values, goal, isChanged: asked !== null })
      },
    })
  return (
    <Dialog title={`${t.refund} · ${t.title(order.shortCode)}`} onClose={onClose}>
      <Loaded query={refundable}>
        {({ refundableAmount, asset }) => (
          <>
            <p className="mb-4">{t.refundText(formatMoney(lang, refundableAmount, asset))}</p>
            <Form button={t.refundButton} isBusy={action.isPending} error={asked ? null : action.error} onSend={send}>
              <Amounts order={order} refundable={refundableAmount} />
              {isOnChain({ channel: order.paymentChannel ?? '' }) && (
                <Field
                  label={`${t.refundAddress} (${core.optional})`}
                  name="address"
                  kind="wallet"
                  className="font-mono"
                  hint={t.refundAddressHint}
                  onChange={(event) => setTyped(event.target.value)}
                />
              )}
              <Destination goal={goalWith(typed)} />
              <Area label={`${core.reason} (${core.optional})`} name="reason" maxLength={256} />
            </Form>
            {asked && (
              <WithoutCover
                lack={asked.lack}
                goal={asked.goal}
                isChanged={asked.isChanged}
                isBusy={action.isPending}
                error={lackOf(action.error) ? null : action.error}
                onSend={() => send(asked.values)}
                onClose={() => {
                  setAsked(null)
                  action.reset()
                }}
              />
            )}
          </>
        )}
      </Loaded>
    </Dialog>
  )
}

/** The refund is in USDC, but people who sold in euros think in euros. */
function Amounts({ order, refundable }: { order: Order; refundable: string }) {
  const t = useTexts(texts)
  const core = useCore()
  const lang = useLang()
  const [fiat, setFiat] = useState('')
  const [token, setToken] = useState('')
  const onFiat = (text: string): void => {
    setFiat(text)
    const read = readKind('amount', text, lang)
    setToken('value' in read ? (writeAmount(lang, tokenFor(order, read.value, refundable)) ?? '') : '')
  }
  const onToken = (text: string): void => {
    setToken(text)
    setFiat('')
  }
  return (
    <>
      <div className="grid gap-x-4 sm:grid-cols-2">
        <Field
          label={`${t.refundAmount} (${core.optional})`}
          name="amount"
          kind="usdc"
          autoComplete="off"
          value={token}
          onChange={(event) => onToken(event.target.value)}
        />
        <Field
          label={t.refundFiat(order.fromAsset)}
          name="fiat"
          kind="amount"
          autoComplete="off"
          value={fiat}
          onChange={(event) => onFiat(event.target.value)}
        />
      </div>
      <p className="-mt-2 mb-4 text-[13px] text-soft">{`${t.refundAll} ${formatRate(lang, order)}.`}</p>
    </>
  )
}
