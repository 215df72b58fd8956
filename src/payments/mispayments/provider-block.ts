import type { PaymentReport, UnmatchedMoney } from '../../channels/channel.ts'
import { amountText } from '../../channels/usdc-text.ts'
import { formatMoney } from '../../kernel/money.ts'
import { type ReportCase, subjectOf } from '../report-case.ts'
import { noteTold, noteUnexplained, resetUnexplained } from './way-queries.ts'

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

/**
 * @param news what waits beside the payment now and did not before
 * @param otherUnits what other money was on its way since a person returned the block
 */
export async function noteBlock(
  scene: ReportCase,
  report: PaymentReport,
  { news, otherUnits }: { news: readonly UnmatchedMoney[]; otherUnits: bigint },
): Promise<void> {
  const { tx, payment, deps } = scene
  const isTold = await deps.screening.noteProvider(tx, subjectOf(scene), {
    ...said(scene, report.providerStatus),
    ...onItsWay(payment.pendingUnits),
    ...{ isWhole: isOfAll(report), news: news.map(nameOf) },
    other: otherUnits > 0n ? usdc(otherUnits) : null,
  })
  if (isTold) await resetUnexplained(tx, payment)
}

/**
 * Notes once for each report what it made of what is on its way. A person who has to decide about a block of all must
 * know of more.
 * @returns what other money was on its way since a person returned the block
 */
export async function noteWay(scene: ReportCase, report: PaymentReport): Promise<bigint> {
  const { tx, payment, before, deps } = scene
  const { outcome, providerStatus } = report
  const isTold = outcome === 'blocked' || (outcome === 'seen' && report.pending > 0n)
  if (before.pendingUnits === 0n && !isTold) return 0n
  const { otherUnits, isUntold, isMore, pendingUnits } = await noteUnexplained(tx, payment, before, {
    told: report.alreadyRecorded ?? [],
    dustUnits: deps.dustUnits,
  })
  const told = { ...said(scene, providerStatus), ...onItsWay(pendingUnits), isMore }
  if (isUntold && (await deps.screening.noteRise(tx, subjectOf(scene), told))) await noteTold(tx, payment)
  return otherUnits
}

/** So much more was received than before. */
export const noteReceived = (scene: ReportCase, providerStatus: string, units: bigint): Promise<void> =>
  scene.deps.screening.noteReceived(scene.tx, subjectOf(scene), { ...said(scene, providerStatus), amount: usdc(units) })
