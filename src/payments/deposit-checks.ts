import type { DepositChecks, NamedTransaction } from '../channels/deposit-checks.ts'
import type { Actor } from '../http/actor.ts'
import type { RequestContext } from '../http/request-context.ts'
import { DAY } from '../kernel/clock.ts'
import { invalid } from '../kernel/errors.ts'
import type { OrderKey } from '../orders/order-jobs.ts'
import { findReachableOrder } from '../orders/order-service.ts'
import {
  type EndedDeposit,
  findOwnTransaction,
  listDepositsOfOrders,
  listTransfersOf,
  listUnauditedDeposits,
  type OrderDeposit,
  updateDepositsAudited,
  updateDepositsPostponed,
} from './deposit-check-queries.ts'
import { pollDepositAddresses, pollPayments } from './payment-jobs.ts'
import { listPaymentsByTransfers } from './payment-queries.ts'
import type { PaymentDeps } from './payment-service.ts'

export type DepositCheckDeps = PaymentDeps & { deposits: DepositChecks }

const BATCH = 100

/**
 * A person names the transaction that pays an order. It counts exactly what the scanner would count, through the same
 * code.
 * @throws VALIDATION_FAILED at `txHash`, ORDER_NOT_FOUND, CHANNEL_UNAVAILABLE
 */
export async function nameTransaction(
  deps: DepositCheckDeps,
  { actor, code, txHash, network }: { actor: Actor; code: string; txHash: string; network: number | null },
): Promise<Omit<NamedTransaction, 'addresses'>> {
  const order = await findReachableOrder(deps.db, actor, code)
  const hash = txHash.trim().toLowerCase()
  if (!/^0x[0-9a-f]{64}$/.test(hash)) throw invalid('txHash', 'must be 0x and 64 hexadecimal digits')
  const deposits = await listDepositsOfOrders(deps.db, [order])
  const reason = 'This order has no deposit address: it is not paid on a chain.'
  if (deposits.length === 0) return { found: false, counted: false, waiting: false, reason }
  const addresses = deposits.map(({ depositAddress }) => depositAddress)
  const named = await deps.deposits.recordTransaction({ addresses, txHash: hash, network })
  // another coin or token is recorded too
  await pollNamed(deps, deposits, { txHash: hash, addresses: named.addresses })
  if (!named.counted) return named
  const { isOwn, isShared } = await findOwnTransaction(deps.db, order, hash)
  return isOwn ? named : { ...named, counted: false, reason: isShared ? NOT_THIS_ORDER : EARLIER }
}

/** Polls the order's payments that were paid, and whichever others the transaction pays at a shared address. */
async function pollNamed(
  deps: DepositCheckDeps,
  deposits: readonly OrderDeposit[],
  named: { txHash: string; addresses: readonly string[] },
): Promise<void> {
  if (named.addresses.length === 0) return
  const own = deposits.filter(({ depositAddress }) => named.addresses.includes(depositAddress))
  const transfers = await listTransfersOf(deps.db, named)
  const takers = await listPaymentsByTransfers(
    deps.db,
    transfers.map(({ id }) => id),
  )
  await pollPayments(deps, [...own, ...takers])
}

const EARLIER =
  'It came before this order had the address, so it is not for this order. The operator sees it and decides.'

const NOT_THIS_ORDER =
  'It paid an address that several orders share, but not the exact amount of this one, or on a network on which the ' +
  'shop does not take it. The shop sees it and decides.'

/** Idempotent version of `nameTransaction`, for a client that may repeat the request under an idempotency key. */
export async function nameTransactionOnce(
  deps: DepositCheckDeps,
  context: RequestContext,
  named: { code: string; txHash: string; network: number | null },
): Promise<Pick<NamedTransaction, 'found' | 'counted' | 'reason'>> {
  const { found, counted, reason } = await nameTransaction(deps, { actor: context.actor, ...named })
  const answer = { found, counted, reason }
  await deps.db.tx((tx) => context.remember(tx, answer))
  return answer
}

/**
 * Compares expired orders with the chain before they end, so that money the scanner missed still counts.
 * @returns those that may end; orders that cannot be checked now wait for the next round
 */
export async function checkBeforeEnd(
  deps: DepositCheckDeps,
  orders: readonly OrderKey[],
): Promise<readonly OrderKey[]> {
  const deposits = await listDepositsOfOrders(deps.db, orders)
  const unread = await auditByNetwork(deps, deposits)
  const held = new Set(unread.map(({ orderId }) => orderId))
  // at a shared address, what pays other orders is announced to their payments
  const checked = deposits.filter(({ orderId }) => !held.has(orderId))
  await pollPayments(deps, checked)
  return orders.filter(({ id }) => !held.has(id))
}

/** @returns those of which the chain cannot be queried now, or not all that may know of them answers */
async function auditByNetwork<Deposit extends OrderDeposit>(
  deps: DepositCheckDeps,
  deposits: readonly Deposit[],
): Promise<Deposit[]> {
  const unread: Deposit[] = []
  for (const [network, members] of Map.groupBy(deposits, (deposit) => deposit.network)) {
    const addresses = members.map(({ depositAddress }) => depositAddress)
    const unsure = new Set(await deps.deposits.auditDeposits(network, addresses).catch(() => addresses))
    unread.push(...members.filter(({ depositAddress }) => unsure.has(depositAddress)))
  }
  return unread
}

/** After this time, a chain that still does not answer no longer delays the end of a payment. */
const LONGEST_LOOK_MS = DAY

/**
 * Compares each deposit address with its chain once more after its payment ended, and queries every chain for coins and
 * tokens sent by mistake. What a silent chain leaves open is retried later.
 * @returns whether more wait
 */
export async function auditEndedDeposits(deps: DepositCheckDeps): Promise<boolean> {
  const now = new Date(deps.clock())
  const ended = await listUnauditedDeposits(deps.db, now, BATCH)
  if (ended.length === 0) return false
  const unread = new Set(await auditByNetwork(deps, ended))
  const read = ended.filter((deposit) => !unread.has(deposit))
  const mistakes = await deps.deposits.noticeMistakes(read.map(({ depositAddress }) => depositAddress))
  if (mistakes.gained.length > 0) await pollDepositAddresses(deps, mistakes.gained)
  const isEnough = ({ closedAt }: EndedDeposit): boolean =>
    mistakes.silent.length === 0 || closedAt.getTime() < now.getTime() - LONGEST_LOOK_MS
  const audited = new Set(read.filter(isEnough))
  const postponed = ended.filter((deposit) => !audited.has(deposit))
  if (audited.size > 0) await updateDepositsAudited(deps.db, [...audited], now)
  if (postponed.length > 0) await updateDepositsPostponed(deps.db, postponed, now)
  return ended.length === BATCH
}
