import { useState } from 'react'
import { type Body, call, type Order } from '../../api/call.ts'
import { useAction, useApi } from '../../api/hooks.ts'
import { isAmbiguous, readAmount } from '../../kit/decimal.ts'
import { Area, Field, Form, useAmount } from '../../kit/fields.tsx'
import { formatMoney, formatRate } from '../../kit/format.ts'
import { Dialog, Loaded } from '../../kit/parts.tsx'
import { useCore, useLang, useTexts } from '../../texts/lang.ts'
import { tokenFor } from './refund-worth.ts'
import { texts } from './texts.ts'

const DIGITS = 6

/** Shows in advance what will happen: how much can be refunded, and to which address. */
export function RefundDialog({ order, onClose }: { order: Order; onClose(): void }) {
  const t = useTexts(texts)
  const core = useCore()
  const lang = useLang()
  const readToken = useAmount(DIGITS)
  const readFiat = useAmount()
  const action = useAction({
    run: async ({ amount, fiat, ...rest }: Body<'revertOrder'> & { fiat?: string }) => {
      // an unreadable amount must not be treated as "everything"
      if (amount === undefined && fiat !== undefined) readFiat(fiat)
      const body = amount === undefined ? rest : { ...rest, amount: readToken(amount) }
      return call('POST /api/next/confirm_conversion/revert/{code}', { path: { code: order.code }, body })
    },
    done: t.refundStarted,
    onDone: onClose,
  })
  const refundable = useApi('GET /api/next/confirm_conversion/revert/{code}', { path: { code: order.code } })
  return (
    <Dialog title={t.refund} onClose={onClose}>
      <Loaded query={refundable}>
        {({ refundableAmount, asset }) => (
          <>
            <p className="mb-4">{t.refundText(formatMoney(lang, refundableAmount, asset))}</p>
            <Form
              button={t.refundButton}
              isBusy={action.isPending}
              error={action.error}
              onSend={(values) => action.mutate(values)}
            >
              <Amounts order={order} refundable={refundableAmount} />
              {order.paymentChannel === 'crypto' && (
                <Field
                  label={`${t.refundAddress} (${core.optional})`}
                  name="address"
                  kind="wallet"
                  className="font-mono"
                  hint={t.refundAddressHint}
                />
              )}
              <Area label={`${core.reason} (${core.optional})`} name="reason" maxLength={256} />
            </Form>
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
    const amount = readAmount(text)
    const isClear = amount !== null && !isAmbiguous(text, { point: lang === 'en' ? '.' : ',', digits: 2 })
    const units = isClear ? tokenFor(order, amount, refundable) : ''
    setToken(lang === 'en' ? units : units.replace('.', ','))
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
          inputMode="decimal"
          autoComplete="off"
          value={token}
          onChange={(event) => onToken(event.target.value)}
        />
        <Field
          label={t.refundFiat(order.fromAsset)}
          name="fiat"
          inputMode="decimal"
          autoComplete="off"
          value={fiat}
          onChange={(event) => onFiat(event.target.value)}
        />
      </div>
      <p className="-mt-2 mb-4 text-[13px] text-soft">{`${t.refundAll} ${formatRate(lang, order)}.`}</p>
    </>
  )
}
