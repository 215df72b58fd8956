import { useState } from 'react'
import { type Body, call, type Order } from '../../api/call.ts'
import { useAction, useApi } from '../../api/hooks.ts'
import { type Lack, lackOf } from '../../api/lack.ts'
import { useCan } from '../../api/session.ts'
import { readKind } from '../../kit/field-kinds.ts'
import { Area, Field, Form } from '../../kit/fields.tsx'
import { formatMoney, formatRate, writeAmount } from '../../kit/format.ts'
import { LIVE_MS } from '../../kit/live.ts'
import { Dialog, Loaded } from '../../kit/parts.tsx'
import { useCore, useLang, useTexts } from '../../texts/lang.ts'
import { confirmedAddress, Destination, type Goal, goalOf } from '../refunds/Destination.tsx'
import { tokenFor } from './refund-worth.ts'
import { texts } from './texts.ts'
import { WithoutCover } from './WithoutCover.tsx'

type Values = Body<'revertOrder'> & { fiat?: string }

/** Shows in advance what will happen: how much can be refunded, and to which address. */
export function RefundDialog({ order, onClose }: { order: Order; onClose(): void }) {
  const t = useTexts(texts)
  const core = useCore()
  const lang = useLang()
  const can = useCan()
  const [typed, setTyped] = useState('')
  const [asked, setAsked] = useState<{ lack: Lack; values: Values; isChanged: boolean } | null>(null)
  const path = { code: order.code }
  const action = useAction({
    run: ({ fiat: _, ...body }: Values) => call('POST /api/next/confirm_conversion/revert/{code}', { path, body }),
    done: t.refundStarted,
    onDone: onClose,
  })
  const refundable = useApi('GET /api/next/confirm_conversion/revert/{code}', { path }, { liveMs: LIVE_MS })
  const goalWith = (typed: string): Goal | null =>
    refundable.data ? goalOf(refundable.data, { typed, channel: order.paymentChannel ?? '' }) : null
  /** What the person confirms is what was shown: that destination, and no larger debt. */
  const send = (values: Values): void => {
    const shown = values.address ? values : { ...values, ...confirmedAddress(goalWith('')) }
    action.mutate(shown, {
      onError: (error) => {
        const lack = can('refunds.decide') ? lackOf(error) : null
        if (!lack) return
        const confirmed = { withoutCover: true, mostOwed: lack.owedAfter }
        setAsked({ lack, values: { ...shown, ...confirmed }, isChanged: values.withoutCover === true })
      },
    })
  }
  const goal = goalWith(asked?.values.address ?? typed)
  return (
    <Dialog title={`${t.refund} · ${t.title(order.shortCode)}`} onClose={onClose}>
      <Loaded query={refundable}>
        {({ refundableAmount, asset }) => (
          <>
            <p className="mb-4">{t.refundText(formatMoney(lang, refundableAmount, asset))}</p>
            <Form
              button={t.refundButton}
              isBusy={action.isPending}
              error={asked && goal ? null : action.error}
              onSend={send}
            >
              <Amounts order={order} refundable={refundableAmount} />
              {order.paymentChannel === 'crypto' && (
                <Field
                  label={`${t.refundAddress} (${core.optional})`}
                  name="address"
                  kind="wallet"
                  className="font-mono"
                  hint={t.refundAddressHint}
                  onChange={(event) => setTyped(event.target.value)}
                />
              )}
              <Destination goal={goal} />
              <Area label={`${core.reason} (${core.optional})`} name="reason" maxLength={256} />
            </Form>
            {asked && goal && (
              <WithoutCover
                lack={asked.lack}
                goal={goal}
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
