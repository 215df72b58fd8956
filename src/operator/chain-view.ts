import type { ChainHealth } from '../chain/chain-health.ts'
import { listStandings } from '../chain/chain-queries.ts'
import { askEndpoint } from '../chain/endpoints/endpoint-report.ts'
import { RpcError } from '../chain/endpoints/rpc.ts'
import type { OpenChain } from '../chain/open-chains.ts'
import { listFeeOverrides, listWalletLevels, type WalletName } from '../chain/payout/wallet-queries.ts'
import { type ChainPlan, planSweep, viewPlan } from '../chain/sweep/sweep-plan.ts'
import type { Db } from '../db/db.ts'
import { type Clock, DAY } from '../kernel/clock.ts'
import { formatDecimal } from '../kernel/money.ts'
import type { SettlementLimits } from '../ledger/settlements/settlement-limits.ts'
import { sumReleased } from '../ledger/settlements/settlement-queries.ts'

export type ChainViewDeps = {
  db: Db
  clock: Clock
  chains: readonly OpenChain[]
  chainHealth: ChainHealth
  limits: SettlementLimits
  /** Senders of a smaller total are not screened before a sweep. */
  dustUnits: bigint
}

const USDC_DIGITS = 6
const COIN_DIGITS = 18
const GWEI_DIGITS = 9
const usdc = (units: bigint): string => formatDecimal(units, USDC_DIGITS)

/** Each chain: what the scanner recorded, and how its endpoints answer now. */
export async function viewChains({ db, clock, chains, chainHealth }: ChainViewDeps) {
  const ids = chains.map(({ network }) => network.chainId)
  const [checks, standings] = await Promise.all([chainHealth.list(), listStandings(db, ids)])
  return Promise.all(
    chains.map(async ({ network, endpoints }) => {
      const { chainId, name } = network
      const check = checks.find((one) => one.chainId === chainId)
      const standing = standings.find((one) => one.chainId === chainId)
      const reports = await Promise.all(endpoints.all.map((endpoint) => askEndpoint(endpoint, network, clock)))
      return {
        ...{ network: chainId, name, ok: check?.ok ?? false, message: check?.message ?? '', fix: check?.fix ?? null },
        head: standing?.number == null ? null : Number(standing.number),
        blockAt: standing?.blockAt?.toISOString() ?? null,
        lagSeconds: standing?.lagSeconds == null ? null : Math.max(0, Math.round(standing.lagSeconds)),
        trouble: standing?.trouble ?? null,
        endpoints: reports.map(({ head, ...report }) => ({ ...report, head: head === null ? null : Number(head) })),
      }
    }),
  )
}

/** The configured wallets as last read; a new one has no level for a minute. */
async function viewLevels({ db, chains }: ChainViewDeps) {
  const levels = await listWalletLevels(db)
  return chains.flatMap(({ network, payouts, relayerSigner, minUnits }) => {
    const wallets: [WalletName, string | undefined][] = [
      ['payout', payouts?.address],
      ['relayer', relayerSigner?.address],
    ]
    return wallets.flatMap(([wallet, address]) => {
      if (address === undefined) return []
      const level = levels.find((one) => one.chainId === network.chainId && one.wallet === wallet)
      const digits = wallet === 'payout' ? USDC_DIGITS : COIN_DIGITS
      const text = (units: bigint | undefined) => (units === undefined ? null : formatDecimal(units, digits))
      const lasts = level !== undefined && level.dailyUnits > 0n
      return [
        {
          ...{ network: network.chainId, name: network.name, wallet, address },
          asset: wallet === 'payout' ? ('USDC' as const) : ('native' as const),
          balance: text(level?.units),
          perDay: text(level?.dailyUnits),
          runwayDays: lasts ? Number((level.units * 10n) / level.dailyUnits) / 10 : null,
          low: level?.low ?? false,
          warnBelow: wallet === 'payout' && minUnits > 0n ? usdc(minUnits) : null,
          checkedAt: level?.checkedAt.toISOString() ?? null,
        },
      ]
    })
  })
}

/** Balances of the wallets, and the limits on payouts. */
export async function viewWallets(deps: ChainViewDeps) {
  const { db, clock, chains, limits } = deps
  const [wallets, released, overrides] = await Promise.all([
    viewLevels(deps),
    sumReleased(db, new Date(clock() - DAY)),
    listFeeOverrides(db, new Date(clock())),
  ])
  return {
    wallets,
    limits: {
      dayLimit: limits.dayLimitUnits === null ? null : usdc(limits.dayLimitUnits),
      released: usdc(released),
      twoPersonsFrom: limits.twoPersonsFromUnits === null ? null : usdc(limits.twoPersonsFromUnits),
      allowList: [...limits.allowList],
    },
    gas: chains.map(({ network }) => {
      const override = overrides.find(({ chainId }) => chainId === network.chainId)
      return {
        ...{ network: network.chainId, name: network.name },
        maxGwei: formatDecimal(network.maxFeeWei, GWEI_DIGITS),
        override: override
          ? {
              ...{ maxGwei: formatDecimal(override.maxFeeWei, GWEI_DIGITS), until: override.until.toISOString() },
              ...{ allowedBy: override.allowedBy, reason: override.reason },
            }
          : null,
      }
    }),
  }
}

/** A smaller deposit costs more to move than it is worth, as in `comptoir sweep`. */
const MIN_UNITS = 1_000_000n
const MAX_DEPOSITS = 1000

/** What `comptoir sweep` would do now. Chains that do not answer are named. */
export async function viewSweepPlan({ db, chains, dustUnits }: ChainViewDeps) {
  const plans: ChainPlan[] = []
  const silent: string[] = []
  for (const chain of chains) {
    try {
      plans.push(await planSweep(db, chain, { minUnits: MIN_UNITS, screenFromUnits: dustUnits, limit: MAX_DEPOSITS }))
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      silent.push(chain.network.name)
    }
  }
  const { deposits, held, networks } = viewPlan(plans)
  return { deposits, held, networks, silent }
}
