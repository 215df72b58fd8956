import type { FastifyBaseLogger } from 'fastify'
import type { Registry } from 'prom-client'
import { OFFICE_PATHS } from '../../config/office-paths.ts'
import type { Db, Tx } from '../../db/db.ts'
import { openStoredGauge, shareFigures } from '../../db/metrics/stored-gauge.ts'
import { type Clock, DAY, HOUR, isRecent } from '../../kernel/clock.ts'
import { formatDecimal } from '../../kernel/money.ts'
import type { Hex, Rpc } from '../endpoints/rpc.ts'
import { type Network, tokenOf } from '../networks.ts'
import { PAYOUT_GAS } from './relayer/attempts.ts'
import { readDataFee } from './relayer/data-fee.ts'
import { readGasPrice } from './relayer/gas-price.ts'
import { readBalance } from './usdc-token.ts'
import {
  insertPayingToken,
  insertPayingWallet,
  listWalletLevels,
  lockWalletLow,
  sumPayouts,
  upsertWalletLevel,
  type WalletLevel,
} from './wallet-queries.ts'

export type WatchedChain = {
  network: Network
  rpc: Rpc
  payouts: { readonly address: string } | null
  relayerSigner: { readonly address: string } | null
  /** Below this balance the operator is warned, whatever the outflow. */
  minUnits: bigint
}

export type WalletWatchDeps = {
  db: Db
  clock: Clock
  log: FastifyBaseLogger
  chains: readonly WatchedChain[]
  alarm(tx: Tx, alarm: { subject: string; paragraphs: string[]; path: string }): Promise<void>
}

const WEEK_DAYS = 7n
/** The operator is warned when fewer days than this remain at the pace of the last week. */
const RUNWAY_DAYS = 3n
/** A relayer is low when it cannot pay for this many payouts at the current fee. */
const RELAYER_PAYOUTS = 20n

const isShort = (units: bigint, dailyUnits: bigint): boolean => dailyUnits > 0n && units < dailyUnits * RUNWAY_DAYS

async function readLevels({ db, clock }: WalletWatchDeps, chain: WatchedChain): Promise<WalletLevel[]> {
  const { network, rpc, payouts, relayerSigner, minUnits } = chain
  const { chainId } = network
  const left = await sumPayouts(db, chainId, new Date(clock() - Number(WEEK_DAYS) * DAY))
  const levels: WalletLevel[] = []
  if (payouts) {
    const units = await readBalance(rpc, network, payouts.address)
    const dailyUnits = left.units / WEEK_DAYS
    const low = units < minUnits || isShort(units, dailyUnits)
    levels.push({ chainId, wallet: 'payout', address: payouts.address, units, dailyUnits, low })
  }
  if (relayerSigner) {
    const { baseFee, tip } = await readGasPrice(rpc)
    const cost = PAYOUT_GAS * (baseFee + tip) + (await readDataFee(rpc, network))
    const units = BigInt(await rpc.call<Hex>('eth_getBalance', relayerSigner.address, 'latest'))
    const dailyUnits = (left.transactions * cost) / WEEK_DAYS
    const low = units < cost * RELAYER_PAYOUTS || isShort(units, dailyUnits)
    levels.push({ chainId, wallet: 'relayer', address: relayerSigner.address, units, dailyUnits, low })
  }
  return levels
}

function words({ name }: Network, { wallet, address, units, dailyUnits }: WalletLevel) {
  const text = (value: bigint): string =>
    wallet === 'payout' ? `${formatDecimal(value, 6)} USDC` : `${formatDecimal(value, 18)} of the native coin`
  const what = wallet === 'payout' ? 'pays refunds and settlements' : 'pays for gas'
  const pace = dailyUnits === 0n ? [] : [`By the last week, ${text(dailyUnits)} leave it on a day.`]
  return {
    subject: `A wallet on ${name} is running low`,
    paragraphs: [
      `The wallet that ${what} on ${name}, ${address}, holds ${text(units)}.`,
      ...pace,
      wallet === 'payout'
        ? 'Fund it, or bring deposits home: comptoir sweep. Payouts wait while it is empty and go on by themselves.'
        : 'Send native coin to it. Payouts wait while it is empty and go on by themselves.',
    ],
    path: OFFICE_PATHS.wallets,
  }
}

/**
 * Remembers the paying wallet and token of each chain and reads the wallets’ balances; warns once when one runs low,
 * and again after it recovered.
 */
export async function watchWallets(deps: WalletWatchDeps): Promise<undefined> {
  for (const chain of deps.chains) {
    try {
      if (chain.payouts) await insertPayingWallet(deps.db, chain.network.chainId, chain.payouts.address)
      const levels = await readLevels(deps, chain)
      // a contract that answered
      if (chain.payouts) await insertPayingToken(deps.db, chain.network.chainId, tokenOf(chain.network))
      for (const level of levels)
        await deps.db.tx(async (tx) => {
          const wasLow = await lockWalletLow(tx, level.chainId, level.wallet)
          await upsertWalletLevel(tx, level, new Date(deps.clock()))
          if (level.low && !wasLow) await deps.alarm(tx, words(chain.network, level))
        })
    } catch (error) {
      deps.log.warn({ err: error, chainId: chain.network.chainId }, 'the wallet balances could not be read')
    }
  }
}

/** A level that no node has read for so long is of a wallet, or a chain, that was taken out of the settings. */
const READ_MS = HOUR

/** Reads from the database at each scrape, whichever node queried the chain. */
export function openWalletMetrics({ metrics: registry, db, clock }: { metrics: Registry; db: Db; clock: Clock }): void {
  const levels = shareFigures(async () =>
    (await listWalletLevels(db)).filter(({ checkedAt }) => isRecent(checkedAt.getTime(), READ_MS, clock())),
  )
  const registers = [registry]
  openStoredGauge(
    {
      name: 'comptoir_wallet_units',
      help: 'USDC units of each wallet that pays, as of the last minute.',
      labelNames: ['chain', 'wallet'],
      registers,
    },
    levels,
    (gauge, known) => {
      for (const { chainId, wallet, units } of known)
        if (wallet === 'payout') gauge.set({ chain: chainId, wallet }, Number(units))
    },
  )
  openStoredGauge(
    {
      name: 'comptoir_relayer_wei',
      help: 'Native coin of each wallet that pays for gas, as of the last minute.',
      labelNames: ['chain'],
      registers,
    },
    levels,
    (gauge, known) => {
      for (const { chainId, wallet, units } of known)
        if (wallet === 'relayer') gauge.set({ chain: chainId }, Number(units))
    },
  )
  openStoredGauge(
    {
      name: 'comptoir_wallet_runway_days',
      help: 'For how many days a wallet lasts at the pace of the last week; absent while nothing leaves it.',
      labelNames: ['chain', 'wallet'],
      registers,
    },
    levels,
    (gauge, known) => {
      for (const { chainId, wallet, units, dailyUnits } of known)
        if (dailyUnits > 0n) gauge.set({ chain: chainId, wallet }, Number((units * 100n) / dailyUnits) / 100)
    },
  )
}
