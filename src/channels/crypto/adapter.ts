import { getAddress } from 'viem/utils'
import type { ChainHealth } from '../../chain/chain-health.ts'
import { assignDepositAddress } from '../../chain/deposits/deposit-addresses.ts'
import { listConfirmedKeys } from '../../chain/deposits/deposit-key-queries.ts'
import { extendDepositWatch } from '../../chain/deposits/deposit-queries.ts'
import { fixNetworks } from '../../chain/deposits/earlier-networks.ts'
import { listNativeDeposits, type NativeDeposit } from '../../chain/deposits/native-coin-queries.ts'
import { findReservation, listReservedTransfers } from '../../chain/deposits/reservation-queries.ts'
import { paymentUri } from '../../chain/eip681.ts'
import type { Rpc } from '../../chain/endpoints/rpc.ts'
import { confirmationsNeeded, confirmationsOf, isFinal } from '../../chain/finality.ts'
import { type Network, usdcOf } from '../../chain/networks.ts'
import type { Agree } from '../../chain/payout/agreement.ts'
import { checkManualTransfer } from '../../chain/payout/manual-transfer.ts'
import type { Payouts, WatchPayout } from '../../chain/payout/payout.ts'
import { listPlacedById, listPlacedTransfers, type PlacedTransfer } from '../../chain/transfer-queries.ts'
import type { Db, Queryable, Tx } from '../../db/db.ts'
import { type Clock, DAY } from '../../kernel/clock.ts'
import { AppError, invalid } from '../../kernel/errors.ts'
import { formatMoney, type Money } from '../../kernel/money.ts'
import { parseXpub } from '../../kernel/xpub.ts'
import {
  type Channel,
  NO_INSTRUCTIONS,
  type PaymentRequest,
  type RefundRequest,
  type SeenReport,
  type SeenTransfer,
  type UnmatchedMoney,
} from '../channel.ts'

/** A chain that payers may choose, with the account key of its deposit addresses. */
export type PayableNetwork = {
  network: Network
  rpc: Rpc
  /** Absent where `rpc` is the only node. */
  agree?: Agree
  xpub: string
  /** Sends refunds; null if its keys are not configured and a person sends them. */
  payouts: Payouts | null
  watchPayout: WatchPayout
}

/** Money can arrive long after an order ended; its address is watched this long. */
const WATCH_MS = 30 * DAY

/** The address of one payment, and its exact amount. */
export type AssignedPlace = { address: string; units: bigint }

/** Assigns the place of a payment; idempotent. */
export type Assign = (
  tx: Tx,
  payment: Pick<PaymentRequest, 'companyId' | 'due' | 'payerIp'> & {
    reference: string
    sender: string | null
    watchedUntil: Date
  },
) => Promise<AssignedPlace>

/** Gives a payment its place again, at the amount that is due now; undefined: it is not free for it any more. */
export type Reopen = (
  tx: Tx,
  payment: Pick<PaymentRequest, 'companyId' | 'due' | 'network'> & { reference: string; watchedUntil: Date },
) => Promise<AssignedPlace | undefined>

export type WalletDeps = {
  db: Db
  clock: Clock
  /** The chains that are set up. */
  payable: readonly PayableNetwork[]
  /** A transfer of fewer units pays no order, so no lower price is offered; absent: there is no such limit. */
  dustUnits?: bigint
  /** A company's choice of them, as ids; absent: all. */
  offered?: readonly number[]
  /** Shared addresses of a company's wallet, in lower case. */
  addresses?: readonly string[]
  health?: ChainHealth
  /** Live mode: no address of a key is assigned before the operator compared the first ones with the wallet. */
  mustConfirm?: boolean
  /** For a company's wallet; absent: an address of the operator's key. */
  assign?: Assign
  reopen?: Reopen
  /** Addresses that pay refunds, settlements and gas, in lower case: never assigned to an order. */
  wallets?: ReadonlySet<string>
  /** Why an address cannot be a company's own, as words that follow the address; null: no reason known. */
  findOwnAddressFault?: (q: Queryable, companyId: string, address: string) => Promise<string | null>
  /**
   * Counts a payer's choice of a company's shared addresses. @returns the number within the hour, including this one
   */
  countVisit?: (tx: Tx, companyId: string, ip: string) => Promise<number>
}

const UNCONFIRMED =
  'The operator has not compared the deposit addresses with the wallet yet: comptoir admin confirm-addresses.'

/** Without its network if that is not set up any more. */
type Placed = PlacedTransfer & { network: Network | undefined }

/** A chain that is no longer set up is not read: what arrived on it stays as it was recorded. */
const isFinalOf = ({ transfer, head, network }: Placed, units: bigint): boolean =>
  network ? isFinal(network, { units, transfer, head }) : transfer.finalAt !== null

/** @param total of all transfers: the rule for large amounts holds for each part of one */
function toSeen(placed: Placed, total: bigint): SeenTransfer {
  const { transfer, head, network } = placed
  return {
    network: transfer.chainId,
    txHash: transfer.txHash,
    from: transfer.fromAddress,
    units: transfer.units,
    at: transfer.blockAt,
    final: isFinalOf(placed, total),
    confirmations: Number(confirmationsOf(transfer, head)),
    needed: network ? confirmationsNeeded(network, total) : null,
  }
}

/** Transfers of one transaction are numbered per token, so tokens of one name are one sum. */
function othersOf(placed: readonly Placed[]): UnmatchedMoney[] {
  const sums = new Map<string, UnmatchedMoney>()
  for (const { transfer, isUsdc } of placed) {
    if (isUsdc) continue
    const { symbol: asset, txHash, nth, units } = transfer
    const reference = `${txHash}:${nth}`
    const key = `${reference} ${asset}`
    sums.set(key, { asset, units: units + (sums.get(key)?.units ?? 0n), reference })
  }
  return [...sums.values()]
}

/** Sums what the chains show for one address; finality is judged by the whole amount at stake. */
function reportOf(address: string, snapshot: readonly PlacedTransfer[], networks: readonly Network[]): SeenReport {
  const placed = snapshot
    .filter(({ transfer }) => transfer.status === 'seen')
    .map((one): Placed => ({ ...one, network: networks.find(({ chainId }) => chainId === one.transfer.chainId) }))
  const usdc = placed.filter(({ isUsdc }) => isUsdc)
  const total = usdc.reduce((sum, { transfer }) => sum + transfer.units, 0n)
  const seen = usdc.map((one) => toSeen(one, total))
  const final = seen.reduce((sum, { units, final: done }) => (done ? sum + units : sum), 0n)
  return {
    outcome: 'seen',
    providerReference: address,
    final,
    pending: total - final,
    payerAddresses: [...new Set(usdc.map(({ transfer }) => transfer.fromAddress))],
    transfers: seen,
    unmatched: othersOf(placed),
    providerStatus: `${usdc.length} transfers`,
  }
}

/** Native coin is not USDC: it is listed with the other tokens sent by mistake. */
function withNative(report: SeenReport, native: readonly NativeDeposit[], networks: readonly Network[]): SeenReport {
  const unmatched = native.flatMap(({ chainId, nth, units }) => {
    const network = networks.find((one) => one.chainId === chainId)
    return network ? [{ asset: network.coin, units, reference: `native:${chainId}:${nth}` }] : []
  })
  return unmatched.length === 0 ? report : { ...report, unmatched: [...report.unmatched, ...unmatched] }
}

/** How to pay this amount to this place. */
function instructionsFor(
  { chainId, usdcAddress }: Network,
  asset: Money['asset'],
  { address: to, units }: AssignedPlace,
) {
  const address = getAddress(to)
  const uri = paymentUri({ token: usdcAddress, chainId, to: address, units })
  return {
    ...NO_INSTRUCTIONS,
    qrData: uri,
    deepLink: uri,
    toAddress: address,
    tokenAmount: formatMoney({ asset, units }),
    tokenAddress: usdcAddress,
    network: chainId,
    paymentUri: uri,
    providerReference: address,
  }
}

/** The destination of a refund, which was obtained before the refund became ready. */
function readPlace(payable: readonly PayableNetwork[], refund: RefundRequest) {
  const chain = payable.find(({ network }) => network.chainId === refund.network)
  const { network: id } = refund
  if (!chain) {
    throw new AppError('CHANNEL_NOT_AVAILABLE', {
      message: `The chain ${id} is not set up here; give it back (CHAIN_${id}_RPC_URL, CHAIN_${id}_XPUB).`,
    })
  }
  if (refund.address === null) throw invalid('address', 'is not known yet')
  return { chain, payout: { id: refund.refundId, to: refund.address, units: refund.units } }
}

/**
 * The payer's own wallet: one deposit address per attempt, on every offered chain at once, watched by our scanners. It
 * reports what the scanners have recorded.
 */
export function openCryptoChannel(deps: WalletDeps): Channel {
  const { db, clock, payable, health, mustConfirm = false, assign, wallets, dustUnits = 0n } = deps
  const choices = payable.filter(({ network }) => deps.offered?.includes(network.chainId) ?? true)
  const ours = wallets && { wallets }
  const keyOf = ({ xpub }: PayableNetwork): string => parseXpub(xpub).id
  const listUnconfirmed = async (): Promise<PayableNetwork[]> => {
    if (!mustConfirm) return []
    const confirmed = await listConfirmedKeys(db, choices.map(keyOf))
    return choices.filter((one) => !confirmed.has(keyOf(one)))
  }
  /** A wallet that does not have the address says nothing about it. */
  const namedAt = (address: string, asked: number): number[] => {
    if (!deps.addresses?.includes(address)) return [asked]
    return deps.offered ? [...new Set([...deps.offered, asked])] : []
  }
  const reopen = async (chosen: PayableNetwork, ...[tx, wanted]: Parameters<Reopen>): ReturnType<Reopen> => {
    if (assign) return deps.reopen?.(tx, wanted)
    const { watchedUntil, due } = wanted
    const key = { companyId: wanted.companyId, reference: wanted.reference, keyId: keyOf(chosen) }
    const address = await extendDepositWatch(tx, key, { now: new Date(clock()), watchedUntil })
    return address === undefined ? undefined : { address, units: due.units }
  }
  const networks = payable.map(({ network }) => network)
  const usdc = usdcOf(networks)
  return {
    id: 'crypto',
    onChain: true,
    networks: choices.map(({ network }) => network.chainId),
    async findNetworkFaults() {
      const checks = (await health?.list()) ?? []
      const faults = checks.flatMap(({ chainId, ok, message }) => (ok ? [] : [{ network: chainId, reason: message }]))
      const unconfirmed = await listUnconfirmed()
      return [...faults, ...unconfirmed.map(({ network }) => ({ network: network.chainId, reason: UNCONFIRMED }))]
    },
    async findLimits() {
      return { min: dustUnits > 0n ? { asset: 'USDC', units: dustUnits } : null, max: null }
    },
    async createPayment(request: PaymentRequest) {
      const chosen = choices.find(({ network }) => network.chainId === request.network)
      if (!chosen) throw new AppError('CHANNEL_NOT_AVAILABLE')
      if ((await listUnconfirmed()).includes(chosen))
        throw new AppError('CHANNEL_NOT_AVAILABLE', { message: UNCONFIRMED })
      const { network, xpub } = chosen
      const { companyId, merchantReference: reference, due, payerIp, userAddress: sender } = request
      const watchedUntil = new Date(request.expiresAt.getTime() + WATCH_MS)
      const place = await db.tx(async (tx) => {
        if (assign) return assign(tx, { companyId, reference, due, payerIp, sender, watchedUntil })
        const { address } = await assignDepositAddress(tx, { companyId, reference, xpub, watchedUntil, ...ours })
        return { address, units: due.units }
      })
      return instructionsFor(network, due.asset, place)
    },
    async reopenPayment(tx, { companyId, merchantReference: reference, due, network: id, expiresAt }) {
      const chosen = choices.find(({ network }) => network.chainId === id)
      if (!chosen) return undefined
      const watchedUntil = new Date(expiresAt.getTime() + WATCH_MS)
      const place = await reopen(chosen, tx, { companyId, reference, due, network: id, watchedUntil })
      return place && instructionsFor(chosen.network, due.asset, place)
    },
    async fetchPayment({ companyId, merchantReference: reference, providerReference, network, tokenAddress = null }) {
      const asked = { network, tokenAddress, usdc }
      const native = await listNativeDeposits(db, providerReference)
      const reserved = assign && (await findReservation(db, { companyId, reference }))
      if (reserved) {
        if (reserved.networks === null && network !== null)
          await fixNetworks(db, reserved, { named: namedAt(reserved.address, network), usdc })
        const mine = await listPlacedById(db, await listReservedTransfers(db, reserved), asked)
        return reportOf(providerReference, mine, networks)
      }
      const placed = await listPlacedTransfers(db, [providerReference], asked)
      return withNative(reportOf(providerReference, placed, networks), native, networks)
    },
    refundNetworks: networks.map(({ chainId }) => chainId),
    async refundPayment(refund) {
      const { chain, payout } = readPlace(payable, refund)
      const payouts = refund.followOnly ? null : chain.payouts
      const go = (by: Payouts) => (refund.isChecked ? by.send(payout) : by.resume(payout))
      const sent = await (payouts ? go(payouts) : chain.watchPayout(payout.id))
      if (sent) return { reference: null, ...sent }
      const providerStatus = `send it by hand on ${chain.network.name}, then name the transaction`
      return { outcome: 'manual', reference: null, txHash: null, providerStatus }
    },
    async checkRefundTransaction(refund, txHash) {
      const { chain, payout } = readPlace(payable, refund)
      const { openedAt: notBefore, isFollowed = false } = refund
      const asked = { ...payout, isFollowed, ...(notBefore && { notBefore }) }
      return { reference: null, ...(await checkManualTransfer({ db, clock, ...chain }, asked, txHash)) }
    },
  }
}
