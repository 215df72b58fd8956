import type { Db } from '../db/db.ts'
import { type Clock, isYounger, SECOND } from '../kernel/clock.ts'
import { type ChainStanding, listStandings } from './chain-queries.ts'
import type { Network } from './networks.ts'

/** Whether payments on a chain are seen quickly; `message` says what is wrong, `fix` what to do. */
export type ChainCheck = { chainId: number; ok: boolean; message: string; fix: string | null }

export type ChainHealth = {
  /** All configured chains, at most a second old. */
  list(): Promise<ChainCheck[]>
}

const CACHE_MS = SECOND

function judge(
  { chainId, name, testnet }: Network,
  standing: ChainStanding | undefined,
  { maxLagSeconds, upSeconds }: { maxLagSeconds: number; upSeconds: number },
): ChainCheck {
  const where = `${name} (chain ${chainId})`
  const bad = (message: string, fix: string): ChainCheck => ({
    chainId,
    ok: false,
    message: `${where} ${message}`,
    fix,
  })
  const variable = `CHAIN_${chainId}_RPC_URL`
  if (standing?.trouble === 'foreign') {
    const reset = testnet ? ` If it was reset: comptoir rescan --chain ${chainId} --from 0 --new-chain` : ''
    const fix = `Let ${variable} name nodes of this chain, and CHAIN_${chainId}_USDC its USDC.${reset}`
    return bad('is served as another chain, or its token is not USDC; nothing of it is believed', fix)
  }
  if (standing?.trouble === 'disagreement')
    return bad('has endpoints that contradict each other', `Find out which endpoint of ${variable} is wrong.`)
  if (standing?.trouble === 'doubt')
    return bad(
      'is not read on: the answers of its endpoints do not fit together, or are refused',
      `The log says what is missing. Find out which endpoint of ${variable} lags, lacks blocks or refuses questions.`,
    )
  // for a chain that was never read, count from our start
  const lag = Math.round(standing?.lagSeconds ?? upSeconds)
  if (lag > maxLagSeconds)
    return bad(`has had no new block for ${lag} seconds`, `Check ${variable}, or add a second endpoint to it.`)
  return { chainId, ok: true, message: `${where} is read up to block ${standing?.number ?? 'none yet'}`, fix: null }
}

export function openChainHealth(deps: {
  db: Db
  clock: Clock
  networks: readonly Network[]
  maxLagSeconds: number
}): ChainHealth {
  const { db, clock, networks, maxLagSeconds } = deps
  const startedAt = clock()
  const ids = networks.map(({ chainId }) => chainId)
  let known: { checks: Promise<ChainCheck[]>; readAt: number } | undefined
  const read = async (): Promise<ChainCheck[]> => {
    const standings = await listStandings(db, ids)
    return networks.map((network) => {
      const standing = standings.find(({ chainId }) => chainId === network.chainId)
      return judge(network, standing, { maxLagSeconds, upSeconds: (clock() - startedAt) / SECOND })
    })
  }
  return {
    list() {
      if (known && isYounger(known.readAt, CACHE_MS, clock())) return known.checks
      const checks = read()
      known = { checks, readAt: clock() }
      checks.catch(() => {
        known = undefined
      })
      return checks
    },
  }
}
