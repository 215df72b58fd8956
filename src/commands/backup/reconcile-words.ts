import type { UnknownTransfer } from '../../chain/after-backup.ts'
import { formatDecimal } from '../../kernel/money.ts'
import type { OpenOrders } from '../../orders/order-queries.ts'
import type { ChainReport } from './reconcile-chain.ts'

export type Reconciled = {
  backupMadeAt: string
  chains: ChainReport[]
  /** By the operator's word; none of them has settings. */
  withoutChains: number[]
  /** What could not be checked. */
  faults: string[]
  /** Those of the backup that are still open. */
  openOrders: OpenOrders
  refundsUnderWay: number
  ledger: 'right' | string
  /** Refunds and settlements go: since now, or since an earlier run. */
  released: boolean
}

const FIND_ORDER = [
  'Ask the shops whose order each of these paid: they have the orders that were made after the backup, with their amounts.',
  'Deliver or send back; the wallet with the seed of the xpub moves the money, by the index (docs/sweep.md).',
  'They are listed again each time: tick them off.',
]
const ASK_AGAIN = [
  'Ask for the same refund, or settlement, again: it finds its transaction and pays nothing twice (docs/backup.md).',
  'Look into whatever no order or company accounts for: somebody else may hold the key of the wallet.',
]
const EXPLAIN = [
  'Refunds and settlements of that company wait. "comptoir ledger verify" computes the books anew; a SuperAdmin explains',
  'what is left under Balance and payouts (docs/money.md).',
]

const ASK_SHOPS = [
  'Ask their shops: one that was told “paid” after the backup keeps to that, whatever it is told from now on. Those whose',
  'time is over end once refunds and settlements go again, and their shops get order.expired.',
]

const nextSteps = (lines: readonly string[]): string[] =>
  lines.map((line, index) => `${index === 0 ? '    → ' : '      '}${line}`)

const usdc = (units: bigint): string => `${formatDecimal(units, 6)} USDC`

/** A node that invents transfers is no reason to look for them. */
function onlyOf({ shownBy, isChecked }: Pick<UnknownTransfer, 'shownBy' | 'isChecked'>): string {
  const why = isChecked ? 'nothing bears it out' : 'it was not checked with the others, as there are so many'
  return shownBy === null ? '' : ` Only endpoint ${shownBy} shows it, and ${why}: look it up first.`
}

function openWords({ count, first }: OpenOrders): string[] {
  if (count === 0) return []
  const more = count - first.length
  return [
    `Open in the backup, and not known as paid here yet: ${count === 1 ? '1 order' : `${count} orders`}.`,
    ...first.map(({ code, company, expiresAt }) => `  ${code} of ${company}, until ${expiresAt.toISOString()}`),
    ...(more > 0 ? [`  and ${more} more; the back office lists them`] : []),
    ...nextSteps(ASK_SHOPS),
  ]
}

/** What was found, and for each difference what to do next. */
export function describe(done: Reconciled): string[] {
  const lines = [`The backup is of ${done.backupMadeAt}.`]
  for (const { chainId, from, to, missed, skippedDeposits, unknownPayouts, keptLess, cutAt } of done.chains) {
    lines.push(`Chain ${chainId}: blocks ${from} to ${to} were compared; ${missed} missed transfers were recorded.`)
    for (const number of keptLess)
      lines.push(`  Endpoint ${number} refuses the logs of older blocks: in those, it was not compared.`)
    for (const index of cutAt)
      lines.push(
        `  More addresses of a key were paid than can have been given out: not all from index ${index} on were looked at.`,
      )
    for (const one of skippedDeposits) {
      const where = `${one.address} (index ${one.index}), transaction ${one.txHash}.${onlyOf(one)}`
      lines.push(`  Paid for an order that the backup does not know: ${usdc(one.units)} at ${where}`)
    }
    if (skippedDeposits.length > 0) lines.push(...nextSteps(FIND_ORDER))
    for (const one of unknownPayouts) {
      const where = `${one.address}, transaction ${one.txHash}.${onlyOf(one)}`
      lines.push(`  Left the wallet after the backup: ${usdc(one.units)} to ${where}`)
    }
    if (unknownPayouts.length > 0) lines.push(...nextSteps(ASK_AGAIN))
  }
  for (const chainId of done.withoutChains)
    lines.push(`Chain ${chainId}: not compared, as you asked. What happened there since the backup is not known.`)
  lines.push(...openWords(done.openOrders))
  lines.push(...done.faults.map((fault) => `Not looked at: ${fault}`))
  const { refundsUnderWay: count } = done
  const refunds = count === 1 ? '1 refund is' : `${count} refunds are`
  if (count > 0) lines.push(`${refunds} under way; see /app/refunds.`)
  lines.push(done.ledger === 'right' ? 'The books are right.' : `The books differ: ${done.ledger}`)
  if (done.ledger !== 'right') lines.push(...nextSteps(EXPLAIN))
  const toDo = done.faults.length > 0 ? ' Put right what is named above, and run this again.' : ''
  lines.push(`${done.released ? 'Refunds and settlements go again.' : 'Refunds and settlements stay held.'}${toDo}`)
  lines.push(
    `API keys and people are those of ${done.backupMadeAt}: what was revoked or removed since works again. Look through ` +
      'your own people (SuperAdmins), too. Everybody was logged out, each company got a mail, and is paid out once it has ' +
      'confirmed its payout address.',
  )
  lines.push(
    'Orders made after the backup are gone here; shops have them, and the webhooks that they received for them.',
  )
  return lines
}
