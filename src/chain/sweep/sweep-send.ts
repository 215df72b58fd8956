import type { FastifyBaseLogger } from 'fastify'
import { getAddress } from 'viem/utils'
import type { Db, Tx } from '../../db/db.ts'
import type { PollSpec } from '../../db/polling.ts'
import type { Clock } from '../../kernel/clock.ts'
import { formatDecimal } from '../../kernel/money.ts'
import { pollGapMs } from '../../kernel/poll-gaps.ts'
import { type Hex, type Rpc, RpcError } from '../endpoints/rpc.ts'
import type { Network } from '../networks.ts'
import type { Agree } from '../payout/agreement.ts'
import { PAYOUT_LEASE_MS, PAYOUT_TIMES, type PayoutResult, viewPayout, workOn } from '../payout/payout.ts'
import { NOT_SUBMITTED } from '../payout/payout-follow.ts'
import { claimPayout, findPayout } from '../payout/payout-queries.ts'
import { listPayoutTransactions } from '../payout/relayer/transaction-queries.ts'
import { NOBODY, type Signer } from '../payout/signer.ts'
import { isAuthorizationUsed } from '../payout/usdc-token.ts'
import { isSignedByOwner, networkOf, type SweepBatch, type SweepDeposit } from './sweep-batch.ts'
import {
  findDepositOwner,
  findOpenSweep,
  findSweep,
  insertSweep,
  lockSweep,
  type NewSweep,
  SWEEP_POLLS,
  type Sweep,
  type SweepStatus,
  updateSweep,
  updateSweepOurs,
} from './sweep-queries.ts'

/** A chain, with the relayer that pays for gas on it. */
export type SendingChain = {
  network: Network
  rpc: Rpc
  agree: Agree
  relayerSigner: Signer | null
}

export type SweepDeps = {
  db: Db
  clock: Clock
  log: FastifyBaseLogger
  chains: readonly SendingChain[]
  /** Books the money's new place and the cost of moving it. */
  book(tx: Tx, sweep: Sweep, home: { feeWei: bigint | null; at: Date }): Promise<void>
}

/** Checks an entry of a signed batch against our tables and its chain. @throws Error naming what does not match */
async function readDeposit(deps: SweepDeps, batch: SweepBatch, deposit: SweepDeposit) {
  const { address, network: chainId, signature } = deposit
  const chain = deps.chains.find(({ network }) => network.chainId === chainId)
  if (!chain) throw new Error(`Chain ${chainId} is not set up here.`)
  const network = networkOf(batch, deposit)
  if (network.token.toLowerCase() !== chain.network.usdcAddress.toLowerCase())
    throw new Error(`${network.token} is not USDC on chain ${chainId}.`)
  if (signature === null) throw new Error(`${address} is not signed yet: comptoir sweep sign --in FILE …`)
  if (!(await isSignedByOwner(batch, deposit))) throw new Error(`The signature for ${address} is not its own.`)
  const owner = await findDepositOwner(deps.db, address.toLowerCase())
  if (!owner) throw new Error(`${address} is no deposit address of this service.`)
  return { chain, network, owner, signature }
}

const SENT_WORDS: Record<SweepStatus, string> = {
  sending: 'is on its way to',
  done: 'was sent to',
  failed: 'was to be sent to',
}

/** @throws Error when another file of the same number moves something else: that one counts */
async function checkKnown(
  { db }: SweepDeps,
  { status, toAddress, units, id }: Sweep,
  asked: { address: string; units: string; to: string; token: string },
): Promise<void> {
  const token = (await findPayout(db, id))?.tokenAddress ?? asked.token.toLowerCase()
  const isSame = toAddress === asked.to.toLowerCase() && units === BigInt(asked.units)
  if (isSame && token === asked.token.toLowerCase()) return
  throw new Error(
    `${formatDecimal(units, 6)} USDC of ${asked.address} ${SENT_WORDS[status]} ${getAddress(toAddress)} by another ` +
      'file, not as this one says. Nothing was sent: plan the sweep again.',
  )
}

/**
 * Stores a signed batch. From then on every worker sends it, and each address is swept once.
 * @param outside someone else submits it (a Safe): we only watch it
 * @returns the ids of its sweeps, including known ones
 * @throws Error naming the first entry that cannot be sent; nothing is stored then
 */
export async function storeBatch(
  deps: SweepDeps,
  batch: SweepBatch,
  { sentBy, outside }: { sentBy: string; outside: boolean },
): Promise<string[]> {
  const sweeps: NewSweep[] = []
  for (const deposit of batch.deposits) {
    const { chain, network, owner, signature } = await readDeposit(deps, batch, deposit)
    const { id } = deposit
    const address = deposit.address.toLowerCase() as Hex
    const known = await findSweep(deps.db, owner.companyId, id)
    if (known) await checkKnown(deps, known, { ...deposit, to: network.to, token: network.token })
    const open = await findOpenSweep(deps.db, network.network, address)
    if (open && open.id !== id) throw new Error(`Another sweep of ${deposit.address} is under way.`)
    const nonce = deposit.nonce as Hex
    if (!known && (await isAuthorizationUsed(chain.rpc, chain.network, { from: address, nonce })))
      throw new Error(`The money of ${deposit.address} was moved with this authorization before. Plan the sweep again.`)
    sweeps.push({
      ...{ companyId: owner.companyId, id, chainId: network.network, address, outside, sentBy },
      ...{ number: Number(id.slice(id.lastIndexOf(':') + 1)), toAddress: network.to.toLowerCase() as Hex },
      ...{ units: BigInt(deposit.units), authorizationNonce: nonce, signature: signature as Hex },
      token: network.token.toLowerCase() as Hex,
      validBefore: BigInt(deposit.validBefore),
    })
  }
  await deps.db.tx(async (tx) => {
    const now = new Date(deps.clock())
    for (const sweep of sweeps)
      if ((await insertSweep(tx, sweep, now)) === 0 && !outside) await updateSweepOurs(tx, sweep, now)
  })
  return sweeps.map(({ id }) => id)
}

/** `l1Fee`: of the OP Stack, in wei, beside the gas (docs.optimism.io/stack/transactions/fees). */
type GasReceipt = Partial<Record<'gasUsed' | 'effectiveGasPrice' | 'l1Fee', Hex | null>> & { from?: string | null }

/**
 * The fee that our relayer paid, whichever it was then; null when someone else submitted it. What was signed before a
 * restore is known by its sender alone.
 */
async function readFee({ db }: SweepDeps, chain: SendingChain, id: string, txHash: string): Promise<bigint | null> {
  const { rpc, relayerSigner } = chain
  const receipt = await rpc.call<GasReceipt | null>('eth_getTransactionReceipt', txHash)
  const isSignedHere = (await listPayoutTransactions(db, id)).some((one) => one.txHash === txHash)
  if (!receipt && !isSignedHere) return null
  const { from, gasUsed, effectiveGasPrice, l1Fee } = receipt ?? {}
  if (!isSignedHere && from && from.toLowerCase() !== relayerSigner?.address.toLowerCase()) return null
  if (!from || !gasUsed || !effectiveGasPrice)
    throw new RpcError('unknown', `the node does not say what ${txHash} cost`)
  return BigInt(gasUsed) * BigInt(effectiveGasPrice) + BigInt(l1Fee ?? 0)
}

/** Sends or follows the authorization of one sweep. */
async function advance(deps: SweepDeps, sweep: Sweep, chain: SendingChain): Promise<PayoutResult> {
  const { relayerSigner } = chain
  const waits = (providerStatus: string): PayoutResult => ({ outcome: 'pending', txHash: null, providerStatus })
  const now = deps.clock()
  const claimed = await claimPayout(deps.db, sweep.id, new Date(now), new Date(now + PAYOUT_LEASE_MS))
  if (!claimed) {
    const payout = await findPayout(deps.db, sweep.id)
    return payout ? viewPayout(payout) : waits('its authorization is missing')
  }
  const { db, clock, log } = deps
  // watching needs no relayer: it may be submitted elsewhere, cancelled by its owner, or run out
  const isWatched = sweep.outside || relayerSigner === null
  const wallets = { refundSigner: null, relayerSigner: relayerSigner ?? NOBODY, watchOnly: isWatched }
  const result = await workOn({ db, clock, log, ...chain, ...PAYOUT_TIMES, ...wallets }, claimed)
  const isHelpless = isWatched && !sweep.outside && result.providerStatus === NOT_SUBMITTED
  return isHelpless ? waits(`no relayer is set up on chain ${sweep.chainId} (docs/signers.md)`) : result
}

/** The sweep is final: books the money's new place and the cost. */
async function finish(
  deps: SweepDeps,
  key: Sweep,
  news: { txHash: string; providerStatus: string; feeWei: bigint | null },
) {
  await deps.db.tx(async (tx) => {
    const sweep = await lockSweep(tx, key.companyId, key.id)
    if (sweep?.status !== 'sending' || sweep.undone !== key.undone) return
    const at = new Date(deps.clock())
    await updateSweep(tx, sweep, { status: 'done', ...news, nextCheckAt: null }, at)
    await deps.book(tx, sweep, { feeWei: news.feeWei, at })
  })
}

/** Advances one sweep as far as possible now. */
export async function pollSweep(deps: SweepDeps, sweep: Sweep): Promise<void> {
  const chain = deps.chains.find(({ network }) => network.chainId === sweep.chainId)
  const absent: PayoutResult = { outcome: 'unknown', txHash: null, providerStatus: 'its chain is no longer set up' }
  const { outcome, txHash, providerStatus } = chain ? await advance(deps, sweep, chain) : absent
  if (outcome === 'settled' && txHash !== null && chain)
    return finish(deps, sweep, { txHash, providerStatus, feeWei: await readFee(deps, chain, sweep.id, txHash) })
  await deps.db.tx(async (tx) => {
    const current = await lockSweep(tx, sweep.companyId, sweep.id)
    if (current?.status !== 'sending' || current.undone !== sweep.undone) return
    const now = deps.clock()
    const over = outcome === 'refused'
    const nextCheckAt = over ? null : new Date(now + pollGapMs('sweep', current.checks))
    await updateSweep(
      tx,
      current,
      { status: over ? 'failed' : 'sending', txHash, providerStatus, nextCheckAt },
      new Date(now),
    )
  })
}

/** Sweeps without a final answer, for the polling engine. */
export const sweepPolls = (deps: SweepDeps): PollSpec => ({
  ...SWEEP_POLLS,
  async work(db, { companyId, id }) {
    const sweep = await findSweep(db, companyId, id)
    if (sweep?.status === 'sending') await pollSweep({ ...deps, db }, sweep)
  },
})
