import { useState } from 'react'
import { type Body, call, type Data, type Order } from '../../api/call.ts'
import { useAction, useApi, useOpening } from '../../api/hooks.ts'
import { type Lack, lackOf } from '../../api/lack.ts'
import { useCan } from '../../api/session.ts'
import { toUnits } from '../../kit/decimal.ts'
import { readKind } from '../../kit/field-kinds.ts'
import { Area, Field, Form } from '../../kit/fields.tsx'
import { formatMoney, formatRate, writeAmount } from '../../kit/format.ts'
import { LIVE_MS } from '../../kit/live.ts'
import { Dialog, Loaded } from '../../kit/parts.tsx'
import { type Lang, useCore, useLang, useTexts } from '../../texts/lang.ts'
import { confirmedAddress, Destination, type Goal, goalOf } from '../refunds/Destination.tsx'
import { isOnChain } from '../refunds/refund.ts'
import { refundTexts } from './refund-texts.ts'
import { tokenFor } from './refund-worth.ts'
import { texts } from './texts.ts'
import { WithoutCover } from './WithoutCover.tsx'

type Values = Body<'revertOrder'> & { fiat?: string }
/** A refund without cover that is asked about, as it was shown. */
type Asked = { lack: Lack; values: Values; goal: Goal; isChanged: boolean }

/** The sum to refund as it is written, in the token or in the order's currency. */
type Sum = { token: string; fiat: string }

/** What would be refunded now, in words for the button; null: nothing yet. */
function sumInWords(lang: Lang, order: Order, { token, fiat }: Sum): string | null {
  const [read, worth] = [readKind('usdc', token, lang), readKind('amount', fiat, lang)]
  if (!('value' in read) || toUnits(read.value) === 0n) return null
  const amount = formatMoney(lang, read.value, 'USDC')
  return fiat !== '' && 'value' in worth ? `${formatMoney(lang, worth.value, order.fromAsset)} (${amount})` : amount
}

/** Shows in advance what will happen: how much is refunded, and to which address. */
export function RefundDialog({ order, onClose }: { order: Order; onClose(): void }) {
  const t = useTexts(texts)
  const path = { code: order.code }
  const opening = useOpening()
  const refundable = useApi('GET /api/next/confirm_conversion/revert/{code}', { path }, { liveMs: LIVE_MS, opening })
  return (
    <Dialog title={`${t.refund} · ${t.title(order.shortCode)}`} onClose={onClose}>
      <Loaded query={refundable}>
        {(data) => <RefundForm order={order} refundable={data} opening={opening} onClose={onClose} />}
      </Loaded>
    </Dialog>
  )
}

type RefundFormProps = { order: Order; refundable: Data<'getRefundable'>; opening: string; onClose(): void }

function RefundForm({ order, refundable, opening, onClose }: RefundFormProps) {
  const t = useTexts(refundTexts)
  const core = useCore()
  const lang = useLang()
  const can = useCan()
  const [typed, setTyped] = useState('')
  const [sum, setSum] = useState<Sum>({ token: '', fiat: '' })
  const [asked, setAsked] = useState<Asked | null>(null)
  const channel = order.paymentChannel ?? ''
  const goalWith = (typed: string): Goal | null => goalOf(refundable, { typed, channel })
  /** What the person confirms is what was shown: that destination, and no larger debt. */
  const action = useAction({
    run: ({ fiat: _, ...typed }: Values) => {
      const shown = confirmedAddress(asked ? asked.goal : goalWith(typed.address ?? ''))
      const confirmed = asked ? { withoutCover: true, mostOwed: asked.lack.owedAfter } : {}
      const body = { ...shown, ...typed, ...confirmed }
      const path = { code: order.code }
      return call('POST /api/next/confirm_conversion/revert/{code}', { path, body, deed: { opening, typed } })
    },
    done: t.started,
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
  const words = sumInWords(lang, order, sum)
  const button = words === null ? t.button : t.buttonOf(words)
  return (
    <>
      <p className="mb-4">{t.text(formatMoney(lang, refundable.refundableAmount, refundable.asset))}</p>
      <Form button={button} isBusy={action.isPending} error={asked ? null : action.error} onSend={send}>
        <Amounts order={order} refundable={refundable.refundableAmount} sum={sum} onSum={setSum} />
        {isOnChain({ channel }) && (
          <Field
            label={`${t.address} (${core.optional})`}
            name="address"
            kind="wallet"
            className="font-mono"
            hint={t.addressHint}
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
  )
}

type AmountsProps = { order: Order; refundable: string; sum: Sum; onSum(sum: Sum): void }

/** The refund is in USDC, but people who sold in euros think in euros. */
function Amounts({ order, refundable, sum, onSum }: AmountsProps) {
  const t = useTexts(refundTexts)
  const lang = useLang()
  // of the opening: a refund whose answer was lost has taken its part since, and is asked for again
  const [most] = useState(refundable)
  const onFiat = (fiat: string): void => {
    const read = readKind('amount', fiat, lang)
    onSum({ token: 'value' in read ? (writeAmount(lang, tokenFor(order, read.value, most)) ?? '') : '', fiat })
  }
  return (
    <>
      <div className="grid gap-x-4 sm:grid-cols-2">
        <Field
          label={t.amount}
          name="amount"
          kind="usdc"
          most={most}
          required
          autoComplete="off"
          value={sum.token}
          onChange={(event) => onSum({ token: event.target.value, fiat: '' })}
        />
        <Field
          label={t.fiat(order.fromAsset)}
          name="fiat"
          kind="amount"
          autoComplete="off"
          value={sum.fiat}
          onChange={(event) => onFiat(event.target.value)}
        />
      </div>
      <p className="mb-4 flex flex-wrap items-center gap-x-4 gap-y-2 text-[13px] text-soft">
        <button type="button" className="btn" onClick={() => onSum({ token: writeAmount(lang, most) ?? '', fiat: '' })}>
          {t.rest(formatMoney(lang, most, 'USDC'))}
        </button>
        {`${formatRate(lang, order)}.`}
      </p>
    </>
  )
}
