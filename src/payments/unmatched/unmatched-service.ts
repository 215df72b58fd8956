import type { Audit } from '../../audit/audit.ts'
import type { UsdcContracts } from '../../chain/transfer-queries.ts'
import { lockActor } from '../../companies/company-scope.ts'
import type { Tx } from '../../db/db.ts'
import { renewItem } from '../../db/poll-queries.ts'
import { pollNow } from '../../db/polling.ts'
import { type Actor, companiesSeen, sees } from '../../http/actor.ts'
import type { RequestContext } from '../../http/request-context.ts'
import { AppError } from '../../kernel/errors.ts'
import { formatDecimal } from '../../kernel/money.ts'
import { findPayment, PAYMENT_POLLS } from '../payment-queries.ts'
import { type PaymentDeps, pollPayment } from '../payment-service.ts'
import {
  type Candidate,
  countUnmatched,
  findOrderThere,
  findUnmatchedCompany,
  listCandidates,
  listUnmatched,
  lockAddressOf,
  lockUnmatched,
  UNMATCHED_STATUSES,
  type UnmatchedDecision,
  type UnmatchedTransfer,
  updateUnmatchedDecided,
} from './unmatched-queries.ts'
import type { UnmatchedListQuery } from './unmatched-schemas.ts'

export type UnmatchedDeps = PaymentDeps & {
  audit: Audit
  /** On the chains that are set up. */
  usdc: UsdcContracts
  /** URL of a transaction on the network's block explorer. */
  explorerUrl(chainId: number, txHash: string): string | null
}

const USDC_DIGITS = 6
const amountOf = (units: bigint): string => formatDecimal(units, USDC_DIGITS)

const EARLIER =
  'It came before its address was given to an order, so it pays none: another installation or program uses the same ' +
  'key. Find out there what it paid, then set it aside.'

const UNACCEPTED = 'Your orders take no money on this network, where the address may not be yours.'

function nextOf(transfer: UnmatchedTransfer): string {
  const { companyId, status, isUsdc, isFinal, onChain, isNetworkAccepted, isEarlier, orderShortCode } = transfer
  if (status === 'gone') return 'It left the chain, so there is nothing to decide. If it comes back, it is open again.'
  if (status === 'ignored')
    return `It was set aside and counts for no order.${isEarlier ? '' : ' It can still be matched to one.'}`
  if (status === 'matched') {
    const back = onChain ? '' : ' It left the chain; the order shows what follows from that.'
    return `It counts for order ${orderShortCode}.${back}`
  }
  if (isEarlier) return EARLIER
  if (companyId === '')
    return 'It is in the operator’s wallet, at an address that no payer was shown. Return it by hand, then set it aside.'
  if (!isUsdc) {
    const place = isNetworkAccepted ? 'It is in your wallet.' : UNACCEPTED
    return `${place} It is no USDC and pays nothing: return it by hand, then set it aside.`
  }
  const wait = isFinal ? '' : ' It is not final yet.'
  if (!isNetworkAccepted)
    return `${UNACCEPTED} If your wallet shows this money, match it to its order; otherwise set it aside.${wait}`
  return `It is in your wallet and counts for no order. Match it to its order, or set it aside.${wait}`
}

const viewCandidate = ({ code, shortCode, status, dueUnits, namesSender }: Candidate) => ({
  namesSender,
  code,
  shortCode,
  orderStatus: status,
  tokenAmount: amountOf(dueUnits),
})

const viewUnmatched = (
  { explorerUrl }: Pick<UnmatchedDeps, 'explorerUrl'>,
  row: UnmatchedTransfer,
  candidates: readonly Candidate[],
) => ({
  _id: row.transferId,
  status: row.status,
  companyId: row.companyId === '' ? null : row.companyId,
  network: row.chainId,
  address: row.toAddress,
  from: row.fromAddress,
  txHash: row.txHash,
  explorerUrl: explorerUrl(row.chainId, row.txHash),
  asset: row.symbol,
  units: row.units.toString(),
  amount: row.isUsdc ? amountOf(row.units) : null,
  arrivedAt: row.blockAt.toISOString(),
  isFinal: row.isFinal,
  onChain: row.onChain,
  isNetworkAccepted: row.isNetworkAccepted,
  next: nextOf(row),
  candidates: candidates.filter(({ transferId }) => transferId === row.transferId).map(viewCandidate),
  code: row.orderCode,
  shortCode: row.orderShortCode,
  orderStatus: row.orderStatus,
  decidedBy: row.decidedBy,
  reason: row.reason,
})

export async function listVisibleUnmatched(deps: UnmatchedDeps, actor: Actor, query: UnmatchedListQuery) {
  const { companyId, page = 1, limit = 20, dust = false } = query
  const status = UNMATCHED_STATUSES.find((one) => one === query.status) ?? null
  const filter = { companyIds: companiesSeen(actor, companyId), status, dust }
  const [rows, total] = await Promise.all([
    listUnmatched(deps.db, filter, { limit, offset: (page - 1) * limit, usdc: deps.usdc }),
    countUnmatched(deps.db, filter),
  ])
  const open = rows.filter((row) => row.status === 'open')
  const candidates = await listCandidates(
    deps.db,
    open.map(({ transferId }) => transferId),
    deps.usdc,
  )
  return { transfers: rows.map((row) => viewUnmatched(deps, row, candidates)), total, page, limit }
}

/**
 * Locks the person who decides, then the address, so that no order takes the transfer meanwhile, then the record.
 * @throws OBJECT_NOT_FOUND, UNAUTHORIZED, OBJECT_CONFLICT when it counts for an order or left the chain
 */
async function lockDecidable(
  { usdc }: UnmatchedDeps,
  tx: Tx,
  { actor, id }: { actor: Actor; id: string },
): Promise<UnmatchedTransfer> {
  const found = await findUnmatchedCompany(tx, id)
  if (!found || !sees(actor, found.companyId)) throw new AppError('OBJECT_NOT_FOUND')
  await lockActor(tx, actor, found.companyId)
  await lockAddressOf(tx, id)
  const row = await lockUnmatched(tx, id, usdc)
  if (!row) throw new AppError('OBJECT_NOT_FOUND')
  if (row.status === 'matched') {
    const message = `This transfer counts for order ${row.orderShortCode} already. To send it back, refund that order.`
    throw new AppError('OBJECT_CONFLICT', { message })
  }
  if (!row.onChain) {
    const message = 'This transfer left the chain. Wait until it is back, then decide.'
    throw new AppError('OBJECT_CONFLICT', { message })
  }
  return row
}

type Decided = { row: UnmatchedTransfer; decision: UnmatchedDecision }

async function keepDecision(
  { audit, clock }: UnmatchedDeps,
  tx: Tx,
  context: RequestContext,
  { row, decision }: Decided,
): Promise<void> {
  await updateUnmatchedDecided(tx, row, decision, new Date(clock()))
  await context.remember(tx, null)
  const { status, orderId, reason } = decision
  await audit.write(tx, context, {
    companyId: row.companyId === '' ? null : row.companyId,
    action: status === 'matched' ? 'unmatched.match' : 'unmatched.ignore',
    object: `unmatched:${row.transferId}`,
    detail: {
      ...{ txHash: row.txHash, units: row.units.toString(), asset: row.symbol, from: row.fromAddress },
      ...(orderId !== null && { orderId }),
      ...(reason !== null && { reason }),
    },
  })
}

/**
 * A person says which order a transfer was for. From then on it counts for that order's payment as if it had matched:
 * through the same report, after the same screening, in the same books.
 * @throws OBJECT_NOT_FOUND, OBJECT_CONFLICT, ORDER_NOT_FOUND; ORDER_STATE_CONFLICT when the order never showed that
 * address, or when it came before any did
 */
export async function matchTransfer(
  deps: UnmatchedDeps,
  context: RequestContext,
  id: string,
  body: { code: string; reason?: string },
): Promise<void> {
  const { actor } = context
  const matched = await deps.db.tx(async (tx) => {
    const row = await lockDecidable(deps, tx, { actor, id })
    if (row.isEarlier) throw new AppError('ORDER_STATE_CONFLICT', { message: EARLIER })
    const there = await findOrderThere(tx, { ...row, code: body.code })
    if (!there) throw new AppError('ORDER_NOT_FOUND')
    const { orderId, reference, paymentId } = there
    if (reference === null || paymentId === null) {
      const message = `The payer of this order was never shown ${row.toAddress}. Let the order take the channel crypto first, or name another order.`
      throw new AppError('ORDER_STATE_CONFLICT', { message })
    }
    const decidedBy = `${actor.kind}:${actor.id}`
    const decision = { status: 'matched', orderId, reference, decidedBy, reason: body.reason ?? null } as const
    const key = { companyId: row.companyId, id: paymentId }
    // the engine polls it if this process ends here
    await renewItem(tx, PAYMENT_POLLS.table, key, new Date(deps.clock()))
    await keepDecision(deps, tx, context, { row, decision })
    return key
  })
  const payment = await findPayment(deps.db, matched.companyId, matched.id)
  if (payment)
    await pollNow(deps, PAYMENT_POLLS, payment, (db) => pollPayment({ ...deps, db }, payment)).catch(() => undefined)
}

/**
 * It belongs to no order: the company's own money, or returned by hand. It can still be matched later.
 * @throws OBJECT_NOT_FOUND, OBJECT_CONFLICT
 */
export const ignoreTransfer = (
  deps: UnmatchedDeps,
  context: RequestContext,
  id: string,
  { reason }: { reason: string },
): Promise<void> =>
  deps.db.tx(async (tx) => {
    const row = await lockDecidable(deps, tx, { actor: context.actor, id })
    const decidedBy = `${context.actor.kind}:${context.actor.id}`
    const decision = { status: 'ignored', orderId: null, reference: null, decidedBy, reason } as const
    await keepDecision(deps, tx, context, { row, decision })
  })
