import type { Lack } from '../../api/lack.ts'
import { fromUnits, toUnits } from '../../kit/decimal.ts'
import { Form } from '../../kit/fields.tsx'
import { formatMoney } from '../../kit/format.ts'
import { Dialog, Notice } from '../../kit/parts.tsx'
import { useLang, useTexts } from '../../texts/lang.ts'
import { Destination, type Goal } from '../refunds/Destination.tsx'
import { coverTexts } from './cover-texts.ts'

type WithoutCoverProps = {
  lack: Lack
  goal: Goal
  /** Whether other figures were confirmed before. */
  isChanged: boolean
  isBusy: boolean
  error: unknown
  onSend(): void
  onClose(): void
}

/** The operator advances money, so he confirms it on its own and reads how much it is, for whom and where it goes. */
export function WithoutCover({ lack, goal, isChanged, isBusy, error, onSend, onClose }: WithoutCoverProps) {
  const t = useTexts(coverTexts)
  const lang = useLang()
  const money = (amount: string): string => formatMoney(lang, amount, 'USDC')
  const { needs, left, missing, owedAfter } = lack
  const figures = { needs: money(needs), left: money(left), missing: money(missing), owedAfter: money(owedAfter) }
  // what the company owes beside what is laid out now, so that the figures add up
  const beside = toUnits(owedAfter) - toUnits(missing)
  const besideText = toUnits(left) > 0n ? t.fees : t.debt
  return (
    <Dialog title={t.title} onClose={onClose}>
      <Form button={t.title} tone="bad" isBusy={isBusy} error={error} onSend={onSend}>
        {isChanged && <Notice tone="bad">{t.changed}</Notice>}
        <p className="mb-4">
          {t.figures(figures)} {beside > 0n && besideText(money(fromUnits(beside)))}
        </p>
        <Destination goal={goal} />
      </Form>
    </Dialog>
  )
}
