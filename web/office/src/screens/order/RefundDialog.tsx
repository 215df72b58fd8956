import { type Body, call, type Order } from '../../api/call.ts'
import { useAction } from '../../api/hooks.ts'
import { Area, Field, Form, useAmount } from '../../kit/fields.tsx'
import { formatMoney } from '../../kit/format.ts'
import { Dialog } from '../../kit/parts.tsx'
import { useCore, useLang, useTexts } from '../../texts/lang.ts'
import { texts } from './texts.ts'

const DIGITS = 6

/** What is left, in exact decimal text. */
function leftOf({ toAmount, refundedAmount }: Order): string {
  const units = (text: string): bigint => BigInt(text.replace('.', ''))
  const left = units(toAmount) - units(refundedAmount)
  const text = left.toString().padStart(DIGITS + 1, '0')
  return `${text.slice(0, -DIGITS)}.${text.slice(-DIGITS)}`
}

/** Says before what will happen: how much can go back, and whose address it goes to. */
export function RefundDialog({ order, onClose }: { order: Order; onClose(): void }) {
  const t = useTexts(texts)
  const core = useCore()
  const lang = useLang()
  const readAmount = useAmount(DIGITS)
  const action = useAction({
    run: async ({ amount, ...rest }: Body<'revertOrder'>) => {
      const body = amount === undefined ? rest : { ...rest, amount: readAmount(amount) }
      return call('POST /api/next/confirm_conversion/revert/{code}', { path: { code: order.code }, body })
    },
    done: t.refundStarted,
    onDone: onClose,
  })
  return (
    <Dialog title={t.refund} onClose={onClose}>
      <p className="mb-4">{t.refundText(formatMoney(lang, leftOf(order), order.toAsset))}</p>
      <Form
        button={t.refundButton}
        isBusy={action.isPending}
        error={action.error}
        onSend={(values) => action.mutate(values)}
      >
        <Field label={`${t.refundAmount} (${core.optional})`} name="amount" inputMode="decimal" hint={t.refundAll} />
        {order.paymentChannel === 'crypto' && (
          <Field
            label={`${t.refundAddress} (${core.optional})`}
            name="address"
            pattern="0x[0-9a-fA-F]{40}"
            className="font-mono"
            spellCheck={false}
            hint={t.refundAddressHint}
          />
        )}
        <Area label={`${core.reason} (${core.optional})`} name="reason" maxLength={500} />
      </Form>
    </Dialog>
  )
}
