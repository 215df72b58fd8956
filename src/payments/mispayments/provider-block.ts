import type { PaymentReport, UnmatchedMoney } from '../../channels/channel.ts'
import { amountText } from '../../channels/usdc-text.ts'
import { formatMoney } from '../../kernel/money.ts'
import { type ReportCase, subjectOf } from '../report-case.ts'
import { hasOther, resetKnown } from './way-queries.ts'

/* What the provider of a payment blocks by its own screening, as the screening hears of it. */

/** Whether it blocks all of the payment: it names no sum, not even one whose amount cannot be read. */
const isOfAll = ({ unmatched = [] }: PaymentReport): boolean => unmatched.length === 0

const nameOf = (money: UnmatchedMoney): string =>
  money.units === 0n ? `an unknown amount of ${money.asset}` : `${amountText(money) ?? money.units} ${money.asset}`

const usdc = (units: bigint): string => `${formatMoney({ asset: 'USDC', units })} USDC`

const said = ({ order, payment }: ReportCase, providerStatus: string) => ({
  ...{ channel: payment.channel, providerStatus },
  orderName: `${order.shortCode} (${order.code})`,
})

const onItsWay = (units: bigint) => ({ onItsWay: units > 0n ? usdc(units) : null })

/** @param news what waits beside the payment now and did not before */
export async function noteBlock(
  scene: ReportCase,
  report: PaymentReport,
  news: readonly UnmatchedMoney[],
): Promise<void> {
  const { tx, payment, deps } = scene
  const isTold = await deps.screening.noteProvider(tx, subjectOf(scene), {
    ...said(scene, report.providerStatus),
    ...onItsWay(payment.pendingUnits),
    ...{ isWhole: isOfAll(report), news: news.map(nameOf) },
    isOther: await hasOther(tx, payment, deps.dustUnits),
  })
  if (isTold) await resetKnown(tx, payment)
}

/** More is on its way than before: a person who decides about a block of all must know of it. */
export const noteRise = (scene: ReportCase, providerStatus: string, units: bigint): Promise<void> =>
  scene.deps.screening.noteRise(scene.tx, subjectOf(scene), { ...said(scene, providerStatus), ...onItsWay(units) })

/** So much more was received than before. */
export const noteReceived = (scene: ReportCase, providerStatus: string, units: bigint): Promise<void> =>
  scene.deps.screening.noteReceived(scene.tx, subjectOf(scene), { ...said(scene, providerStatus), amount: usdc(units) })
