import { recognize } from '../../api/sentences.ts'
import { fromUnits, toUnits } from '../../kit/decimal.ts'
import { Form } from '../../kit/fields.tsx'
import { formatMoney } from '../../kit/format.ts'
import { Dialog } from '../../kit/parts.tsx'
import { useLang, useTexts } from '../../texts/lang.ts'
import { texts } from './texts.ts'

export type Lack = { needs: string; left: string }

/** What a refund needs, and what the company's balance has left; null: it was refused for something else. */
export function lackOf(error: unknown): Lack | null {
  const known = recognize(error instanceof Error ? error.message : '')
  if (known?.name !== 'notCovered') return null
  const [needs = '', left = ''] = known.facts
  return { needs, left }
}

type WithoutCoverProps = {
  lack: Lack
  isBusy: boolean
  error: unknown
  onSend(): void
  onClose(): void
}

/** The operator advances money, so he confirms it on its own and reads how much it is. */
export function WithoutCover({ lack: { needs, left }, isBusy, error, onSend, onClose }: WithoutCoverProps) {
  const t = useTexts(texts)
  const lang = useLang()
  const money = (amount: string): string => formatMoney(lang, amount, 'USDC')
  const missing = money(fromUnits(toUnits(needs) - toUnits(left)))
  return (
    <Dialog title={t.withoutCover} onClose={onClose}>
      <Form button={t.withoutCover} tone="bad" isBusy={isBusy} error={error} onSend={onSend}>
        <p className="mb-4">{t.withoutCoverText({ needs: money(needs), left: money(left), missing })}</p>
      </Form>
    </Dialog>
  )
}
