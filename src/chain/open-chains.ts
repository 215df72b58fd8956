import { createHash } from 'node:crypto'
import type { FastifyBaseLogger } from 'fastify'
import { Counter, type Registry } from 'prom-client'
import type { ChainConfig } from '../config/config.ts'
import type { Db } from '../db/db.ts'
import { openStoredGauge, shareFigures } from '../db/metrics/stored-gauge.ts'
import { type Clock, SECOND } from '../kernel/clock.ts'
import { listStandings } from './chain-queries.ts'
import { listEndpointLimits, upsertEndpointLimits } from './endpoints/endpoint-queries.ts'
import { type Endpoints, openEndpoints } from './endpoints/endpoints.ts'
import { createRpc, type Rpc } from './endpoints/rpc.ts'
import { type Network, networkFor } from './networks.ts'
import { type Agree, openAgree } from './payout/agreement.ts'
import { openSigner } from './payout/chain-signers.ts'
import {
  openPayouts,
  openRechecks,
  openWatchPayout,
  type PayoutRechecks,
  type Payouts,
  type WatchPayout,
} from './payout/payout.ts'
import type { FindNamedHold } from './payout/payout-deps.ts'
import { type IsStillDue, openRelay, type Relay } from './payout/relay.ts'
import type { Signer } from './payout/signer.ts'

/** One configured chain, with its readers and what can send money on it. */
export type OpenChain = {
  network: Network
  endpoints: Endpoints
  /** WebSocket addresses that announce new blocks. */
  headUrls: readonly string[]
  /** The first endpoint that answers. */
  rpc: Rpc
  /** Asks all endpoints; used for everything that counts money. */
  agree: Agree
  xpub: string | null
  /** Pays for gas; null if it is not configured. */
  relayerSigner: Signer | null
  /** Submits payers' authorizations; null if no relayer is configured. */
  relay: Relay | null
  /** The operator is warned when the paying wallet holds less USDC than this. */
  minUnits: bigint
  /** Null if its keys are not configured and a person sends. */
  payouts: Payouts | null
  /** `payouts`, or what is left of them without the keys. */
  rechecks: PayoutRechecks
  /** Where the keys are not configured, but a payout may be under way. */
  watchPayout: WatchPayout
}

export type ChainDeps = {
  config: { chains: readonly ChainConfig[] }
  db: Db
  clock: Clock
  log: FastifyBaseLogger
  metrics: Registry
  /** Absent: for commands, which start no payouts. */
  findNamedHold?: FindNamedHold
  /** Absent: the same. */
  isStillDue?: IsStillDue
}

const hashOf = (url: string): string => createHash('sha256').update(url).digest('hex').slice(0, 32)

/** Chain metrics. Endpoints have numbers: their addresses may hold secrets. */
function openMetrics({ config, db, clock, metrics }: ChainDeps): { countError(chain: number, endpoint: number): void } {
  const ids = config.chains.map(({ chainId }) => chainId)
  const openedMs = clock()
  const standings = shareFigures(() => listStandings(db, ids))
  const registers = [metrics]
  openStoredGauge(
    {
      name: 'comptoir_chain_head',
      help: 'Number of the newest block that was read.',
      labelNames: ['chain'],
      registers,
    },
    standings,
    (gauge, known) => {
      for (const { chainId, number } of known) if (number !== null) gauge.set({ chain: chainId }, Number(number))
    },
  )
  openStoredGauge(
    {
      name: 'comptoir_chain_lag_seconds',
      help: 'Seconds without a new block, or age of the newest one read, whichever is more; before any, since the start.',
      labelNames: ['chain'],
      registers,
    },
    standings,
    (gauge, known) => {
      // a chain that was never read is behind since this process waits for it
      const upSeconds = (clock() - openedMs) / SECOND
      for (const chain of ids) {
        const lagSeconds = known.find(({ chainId }) => chainId === chain)?.lagSeconds ?? upSeconds
        gauge.set({ chain }, Math.max(0, lagSeconds))
      }
    },
  )
  openStoredGauge(
    {
      name: 'comptoir_chain_stopped',
      help: '1 while the chain is not read: it is another one, or its endpoints disagree or do not fit together.',
      labelNames: ['chain'],
      registers,
    },
    standings,
    (gauge, known) => {
      for (const { chainId, trouble } of known) gauge.set({ chain: chainId }, trouble === null ? 0 : 1)
    },
  )
  const errors = new Counter({
    name: 'comptoir_rpc_errors_total',
    help: 'Questions to a chain endpoint that were refused or got no answer.',
    labelNames: ['chain', 'endpoint'],
    registers: [metrics],
  })
  for (const { chainId, rpcUrls } of config.chains)
    for (const index of rpcUrls.keys()) errors.inc({ chain: chainId, endpoint: index + 1 }, 0)
  return { countError: (chain, endpoint) => errors.inc({ chain, endpoint }) }
}

/** The endpoints of one chain, with the limits learned before. */
function openNodes(deps: ChainDeps, network: Network, urls: readonly string[], countError: (n: number) => void) {
  const { db, clock, log } = deps
  const { chainId } = network
  let saving: Promise<unknown> = Promise.resolve()
  const endpoints = openEndpoints(
    network,
    urls.map((url) => createRpc({ url })),
    {
      clock,
      events: {
        onError: countError,
        onLearned(number, limits) {
          const urlHash = hashOf(urls[number - 1] ?? '')
          // one after the other, so that the newest wins
          saving = saving
            .then(() => upsertEndpointLimits(db, { chainId, urlHash }, limits))
            .catch((error: unknown) =>
              log.warn(
                { err: error, chainId, endpoint: number },
                'the learned limits of an endpoint could not be stored',
              ),
            )
        },
      },
    },
  )
  void listEndpointLimits(db, chainId)
    .then((known) => {
      for (const endpoint of endpoints.all) {
        const limits = known.find(({ urlHash }) => urlHash === hashOf(urls[endpoint.number - 1] ?? ''))
        if (limits) endpoint.limits = limits
      }
    })
    .catch((error: unknown) =>
      log.warn({ err: error, chainId }, 'the stored limits of the endpoints could not be read; they are learned again'),
    )
  return endpoints
}

/** The chains that are set up. */
export function openChains(deps: ChainDeps): OpenChain[] {
  const { config, db, clock, log, findNamedHold, isStillDue } = deps
  const { countError } = openMetrics(deps)
  return config.chains.map((chain) => {
    const network = networkFor(chain)
    const { xpub, chainId } = chain
    const endpoints = openNodes(deps, network, chain.rpcUrls, (endpoint) => countError(chainId, endpoint))
    const { rpc } = endpoints
    const [refundSigner, relayerSigner] = [openSigner(chain, 'refund'), openSigner(chain, 'relayer')]
    const minUnits = chain.relayMinUnits ?? network.relayMinUnits
    const agree = openAgree({ endpoints, network, log })
    const relaying = { db, rpc, agree, network, minUnits, clock, log, isStillDue }
    const relay = relayerSigner && openRelay({ ...relaying, relayerSigner })
    const paying = { db, rpc, agree, network, clock, log }
    const opened = {
      watchPayout: openWatchPayout({
        ...{ ...paying, relayerSigner, findNamedHold },
        ownWallet: refundSigner?.address.toLowerCase(),
      }),
      relay,
      network,
      endpoints,
      headUrls: chain.headUrls,
      rpc,
      agree,
      xpub,
      relayerSigner,
      minUnits: chain.walletMinUnits ?? 0n,
    }
    if (refundSigner === null || relayerSigner === null)
      return { ...opened, payouts: null, rechecks: openRechecks({ ...paying, relayerSigner }) }
    const payouts = openPayouts({ ...paying, refundSigner, relayerSigner, findNamedHold })
    return { ...opened, payouts, rechecks: payouts }
  })
}
