import { listStandings } from '../chain/chain-queries.ts'
import { isUsedDeposit } from '../chain/deposits/deposit-queries.ts'
import { lockNamedAddresses } from '../chain/deposits/reservation-queries.ts'
import { KNOWN_ADDRESS_WORDS, openKnownAddresses } from '../chain/known-addresses.ts'
import { SANDBOX_CHAIN_ID } from '../chain/networks.ts'
import type { OpenChain } from '../chain/open-chains.ts'
import { checkManualTransfer } from '../chain/payout/manual-transfer.ts'
import { withdrawPayout } from '../chain/payout/payout.ts'
import type { FindNamedHold } from '../chain/payout/payout-deps.ts'
import { findOtherPayout } from '../chain/payout/payout-recheck.ts'
import { endRelayed } from '../chain/payout/relay.ts'
import { findRestoreHold, recognise } from '../chain/payout/state/after-restore.ts'
import {
  isPayoutOver,
  isPayoutSigned,
  isPayoutStarted,
  mayPayoutHaveLeft,
} from '../chain/payout/state/payout-answers.ts'
import { hasChangesAfter } from '../chain/transfer-queries.ts'
import type { WalletDeps } from '../channels/crypto/adapter.ts'
import { listCompaniesSettledAt } from '../companies/company-queries.ts'
import type { CompanyDeps } from '../companies/company-service.ts'
import type { Config } from '../config/config.ts'
import type { Db, Queryable } from '../db/db.ts'
import { type Clock, SECOND } from '../kernel/clock.ts'
import { AppError } from '../kernel/errors.ts'
import { isTransactionFollowed } from '../ledger/claim-queries.ts'
import { findNamedHold } from '../ledger/claims.ts'
import type { PayoutPorts } from '../ledger/payout-ports.ts'
import type { SettlementChain, SettlementDeps } from '../ledger/settlements/settlement-service.ts'
import type { TransitionDeps } from '../orders/order-transition.ts'
import type { WalletNetwork } from '../pages/wallet/wallet-panel.ts'
import type { ChainRead } from '../pages/wallet/wallet-routes.ts'
import type { PayerAddressDeps } from '../payers/payer-address.ts'
import { findChainCursor } from '../payments/payment-queries.ts'

export type Chains = readonly OpenChain[]

/** A chain's name as payers know it: "Base". */
export const nameNetworks =
  (chains: Chains) =>
  (chainId: number): string =>
    chains.find(({ network }) => network.chainId === chainId)?.network.name ?? `Chain ${chainId}`

/** The block explorer's page about a transaction; null if none is known. */
export const openExplorer =
  (chains: Chains) =>
  (chainId: number, txHash: string): string | null => {
    const base = chains.find(({ network }) => network.chainId === chainId)?.network.explorerUrl
    return base && /^0x[0-9a-f]{64}$/i.test(txHash) ? `${base}/tx/${txHash}` : null
  }

/** Payers say where refunds go; a refund to one of these addresses would never reach the payer. */
export function openAddressFaults(chains: Chains): PayerAddressDeps['findAddressFault'] {
  const findKnown = openKnownAddresses(chains, isUsedDeposit)
  return async (q, address) => {
    const known = await findKnown(q, address)
    return known && KNOWN_ADDRESS_WORDS[known]
  }
}

/**
 * Payouts to these addresses are lost. One of this service's wallets may be the shop's own, if one person runs both.
 */
export function openLossyAddresses(chains: Chains): CompanyDeps['findLossyAddress'] {
  const findKnown = openKnownAddresses(chains)
  return async (tx, address) => {
    await lockNamedAddresses(tx)
    const known = await findKnown(tx, address)
    return known && known !== 'wallet' ? KNOWN_ADDRESS_WORDS[known] : null
  }
}

const OWN_SETTLEMENTS =
  'receives your settlements, and a settlement would pay the order that has this address. Give another address here, ' +
  'or change your settlement address first'

/**
 * Payers' money must not arrive at these addresses: deposits that are swept, or settlements, would pay the orders of
 * the company that names them.
 */
export function openOwnAddressFaults(chains: Chains): NonNullable<WalletDeps['findOwnAddressFault']> {
  const findKnown = openKnownAddresses(chains)
  return async (q, companyId, address) => {
    const known = await findKnown(q, address)
    // the owner is checked together with the address
    if (known !== null && known !== 'deposit') return KNOWN_ADDRESS_WORDS[known]
    const settled = await listCompaniesSettledAt(q, address)
    if (settled.length === 0) return null
    return settled.includes(companyId) ? OWN_SETTLEMENTS : 'is in use by another account here'
  }
}

/**
 * What payers' wallets need to know about each chain. The sandbox's chain runs on this machine, and its URL is no
 * secret.
 */
export const listWalletNetworks = (
  { mode, chains: configured }: Pick<Config, 'mode' | 'chains'>,
  chains: Chains,
): WalletNetwork[] =>
  chains.map(({ network, relay }) => {
    const { chainId, name, usdcAddress: token, coin, explorerUrl, publicRpcUrl } = network
    const ours = configured.find((one) => one.chainId === chainId)?.rpcUrls[0] ?? null
    const rpcUrl = mode === 'sandbox' && chainId === SANDBOX_CHAIN_ID ? ours : publicRpcUrl
    return { chainId, name, token, coin, rpcUrl, explorerUrl, gaslessFrom: relay?.minUnits ?? null }
  })

/** Of a column. */
const LARGEST_ID = 2 ** 31 - 1

/**
 * Whether any node reads a chain: this one, or another with other settings, as while new ones reach all nodes. Where
 * nobody does, nobody learns what a payer sends.
 */
export const openIsChainRead =
  (db: Db, chains: Chains) =>
  async (chainId: number, q: Queryable = db): Promise<boolean> => {
    if (chains.some(({ network }) => network.chainId === chainId)) return true
    if (chainId > LARGEST_ID) return false
    const [standing] = await listStandings(q, [chainId])
    return standing?.isLeased === true
  }

/** How far a chain is read and its payments know of it; null while they do not know all of it. */
export const openChainRead = (db: Db, chains: Chains) => {
  const isChainRead = openIsChainRead(db, chains)
  return async (chainId: number): Promise<ChainRead | null> => {
    if (!(await isChainRead(chainId))) return { removed: true }
    const [{ number = null, lagSeconds = null } = {}] = await listStandings(db, [chainId])
    // what is read may wait behind others for its payment
    const isBehind = await hasChangesAfter(db, chainId, await findChainCursor(db, chainId))
    return number === null || lagSeconds === null || isBehind
      ? null
      : { block: Number(number), ageMs: Math.round(lagSeconds * SECOND) }
  }
}

/**
 * What a payer signed for an order and what was never submitted must not pay it after it ended, or beside another
 * channel. What may be on its way cannot be stopped: until then only time ends the order.
 */
export const openEndRelayed =
  (clock: Clock): NonNullable<TransitionDeps['onTurn']> =>
  async (tx, { id }, { trigger, actor }) => {
    const until = await endRelayed(tx, id, new Date(clock()))
    if (until === null || (trigger === 'expire' && actor === 'time')) return
    const retryAfter = Math.ceil((until.getTime() - clock()) / SECOND)
    throw new AppError('ORDER_STATE_CONFLICT', { message: underWay(until), retryAfter })
  }

const underWay = (until: Date): string =>
  'The payer signed a payment of this order, and it is on its way; it cannot be stopped any more. ' +
  `If it does not arrive, try again after ${until.toISOString()}.`

/** A payout has the id of its refund or settlement. */
export const findPayoutHold: FindNamedHold = (tx, { chainId: network, id: causeId }) =>
  findNamedHold(tx, { network, causeId })

type Base = { db: Db; clock: Clock }

/** What refunds and settlements ask of the payouts that may already be on their way. */
export const openPayoutPorts = (base: Base, chains: Chains): PayoutPorts => ({
  async recognisePayout({ network: chainId, ...asked }, since) {
    const chain = chains.find(({ network }) => network.chainId === chainId)
    if (chain) await recognise(base, chain, asked, since)
  },
  isPayoutOver,
  isPayoutSigned,
  isPayoutStarted,
  mayPayoutHaveLeft,
  // also on a chain that is no longer set up
  async withdrawPayout(tx, { network: chainId, hold, isRejected, ...request }, providerStatus) {
    if (hold !== null) throw new AppError('OBJECT_CONFLICT', { message: hold })
    const why = { by: isRejected ? 'canBeRejected' : 'canBeTakenBack', providerStatus } as const
    return withdrawPayout(tx, { ...request, chainId }, why, new Date(base.clock()))
  },
  findWithdrawalHold: ({ network: chainId, ...asked }) =>
    findRestoreHold(
      base,
      chains.find(({ network }) => network.chainId === chainId),
      { ...asked, chainId },
    ),
  findOtherPayout: (payout, listOthers) =>
    findOtherPayout({ ...base, chains, isFollowed: isTransactionFollowed }, payout, listOthers),
})

/** How settlements are paid on each chain. */
export const settleOnAll = (base: Base, chains: Chains): Pick<SettlementDeps, 'chains'> => ({
  chains: chains.map((chain) => settleOn(base, chain)),
})

function settleOn({ db, clock }: Base, chain: OpenChain): SettlementChain {
  const { network, payouts, watchPayout: watch } = chain
  return {
    network: network.chainId,
    pay: payouts && ((request, isChecked) => (isChecked ? payouts.send(request) : payouts.resume(request))),
    watch,
    check: (request, txHash, accepts) => checkManualTransfer({ db, clock, ...chain }, { ...request, accepts }, txHash),
  }
}
