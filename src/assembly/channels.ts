import { createHash } from 'node:crypto'
import { Counter, Histogram } from 'prom-client'
import type { ChainHealth } from '../chain/chain-health.ts'
import { walletsOf } from '../chain/known-addresses.ts'
import { openChannelAccounts } from '../channels/accounts.ts'
import { openChannelMetrics } from '../channels/channel-metrics.ts'
import { openCryptoChannel, type PayableNetwork, type WalletDeps } from '../channels/crypto/adapter.ts'
import { openOwnWallets } from '../channels/crypto/own-wallets.ts'
import { insertProviderCall } from '../channels/provider-call-queries.ts'
import type { ProviderCallSink } from '../channels/provider-calls.ts'
import type { Supervision } from '../channels/supervised.ts'
import { networkOf } from '../http/address.ts'
import { updateCounter } from '../http/limits/rate-limit-queries.ts'
import { runningRequest } from '../http/tracing/tracing.ts'
import { HOUR, SECOND } from '../kernel/clock.ts'
import { type Chains, openIsChainRead, openOwnAddressFaults } from './chains.ts'
import type { ServiceBase } from './service-base.ts'

/** Stored for an hour, as a digest. */
const openCountVisit =
  (clock: ServiceBase['clock']): NonNullable<WalletDeps['countVisit']> =>
  async (tx, companyId, ip) => {
    const digest = createHash('sha256')
      .update(`${companyId} ${networkOf(ip)}`)
      .digest('base64url')
    const now = clock()
    const use = { count: 1, now: new Date(now), endsAt: new Date(now + HOUR) }
    return Number((await updateCounter(tx, `own-wallet:${digest}`, use)).used)
  }

/** The payer's wallet if a chain is configured, the operator's accounts at providers, and the companies' own. */
export function openPaymentChannels(
  { config, db, vault, clock, log, metrics, tracer }: ServiceBase,
  payable: readonly PayableNetwork[],
  {
    chains,
    health,
    onChange,
  }: {
    chains: Chains
    health: ChainHealth
    /** A company's accounts or rules changed on this node. */
    onChange(companyId: string): void
  },
) {
  const calls = new Counter({
    name: 'comptoir_channel_calls_total',
    help: 'Calls to payment providers, by outcome.',
    labelNames: ['channel', 'step', 'outcome'],
    registers: [metrics],
  })
  const latency = new Histogram({
    name: 'comptoir_channel_call_seconds',
    help: 'How long calls to payment providers took.',
    labelNames: ['channel', 'step'],
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [metrics],
  })
  const count: Supervision['count'] = ({ channel, step, outcome, durationMs }) => {
    calls.inc({ channel, step, outcome })
    latency.observe({ channel, step }, durationMs / SECOND)
    tracer?.record({
      ...{ name: `${channel} ${step}`, kind: 'client', requestId: runningRequest() },
      ...{ startMs: Date.now() - durationMs, durationMs, fault: outcome === 'trouble' ? outcome : null },
      attributes: { 'comptoir.channel': channel, 'comptoir.step': step, 'comptoir.outcome': outcome },
    })
  }
  const sink: ProviderCallSink = (place, exchange) =>
    void insertProviderCall(db, place, exchange).catch((error: unknown) => {
      log.warn({ err: error, channel: place.channel }, 'a provider call could not be recorded')
    })
  const dustUnits = BigInt(config.orders.chainDustUnits)
  const wallets = walletsOf(chains)
  const wallet = { db, clock, payable, health, dustUnits, mustConfirm: config.mode === 'live', wallets }
  const own = { countVisit: openCountVisit(clock), findOwnAddressFault: openOwnAddressFaults(chains) }
  const ownWallets = payable.length > 0 ? openOwnWallets({ ...wallet, ...own }) : undefined
  const channels = openChannelAccounts({
    ...{ db, vault, clock },
    live: config.mode === 'live',
    provider: config.provider,
    wallet: payable.length > 0 ? openCryptoChannel(wallet) : undefined,
    ownWallets,
    isChainRead: openIsChainRead(db, chains),
    onFault: (companyId, channel, error) =>
      log.error({ err: error, companyId, channel }, 'an account of a company cannot be opened'),
    supervision: { clock, sink, count },
  })
  openChannelMetrics(metrics, channels)
  const forget = (companyId: string): void => {
    channels.forget(companyId)
    onChange(companyId)
  }
  return { ...channels, forget, ownWallets }
}
