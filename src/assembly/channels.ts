import { Counter, Histogram } from 'prom-client'
import type { ChainHealth } from '../chain/chain-health.ts'
import { openChannelAccounts } from '../channels/accounts.ts'
import { openChannelMetrics } from '../channels/channel-metrics.ts'
import { openCryptoChannel, type PayableNetwork } from '../channels/crypto/adapter.ts'
import { openOwnWallets } from '../channels/crypto/own-wallets.ts'
import { insertProviderCall } from '../channels/provider-call-queries.ts'
import type { ProviderCallSink } from '../channels/provider-calls.ts'
import type { Supervision } from '../channels/supervised.ts'
import { runningRequest } from '../http/tracing/tracing.ts'
import { SECOND } from '../kernel/clock.ts'
import type { ServiceBase } from './service-base.ts'

/** The payer's wallet where a chain is set up, the operator's accounts at providers, the companies' own. */
export function openPaymentChannels(
  { config, db, vault, clock, log, metrics, tracer }: ServiceBase,
  payable: readonly PayableNetwork[],
  health: ChainHealth,
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
  const wallet = { db, payable, health, mustConfirm: config.mode === 'live' }
  const ownWallets = payable.length > 0 ? openOwnWallets(wallet) : undefined
  const channels = openChannelAccounts({
    ...{ db, vault, clock },
    live: config.mode === 'live',
    provider: config.provider,
    wallet: payable.length > 0 ? openCryptoChannel(wallet) : undefined,
    ownWallets,
    onFault: (companyId, channel, error) =>
      log.error({ err: error, companyId, channel }, 'an account of a company cannot be opened'),
    supervision: { clock, sink, count },
  })
  openChannelMetrics(metrics, channels)
  return { ...channels, ownWallets }
}
