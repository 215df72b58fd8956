import { Counter } from 'prom-client'
import type { ChainHealth } from '../chain/chain-health.ts'
import { openChannelAccounts } from '../channels/accounts.ts'
import { openChannelMetrics } from '../channels/channel-metrics.ts'
import { openCryptoChannel, type PayableNetwork } from '../channels/crypto/adapter.ts'
import { insertProviderCall } from '../channels/provider-call-queries.ts'
import type { ProviderCallSink } from '../channels/provider-calls.ts'
import type { ServiceBase } from './service-base.ts'

/** The payer's wallet where a chain is set up, the operator's accounts at providers, the companies' own. */
export function openPaymentChannels(
  { config, db, vault, clock, log, metrics }: ServiceBase,
  payable: readonly PayableNetwork[],
  health: ChainHealth,
) {
  const calls = new Counter({
    name: 'comptoir_channel_calls_total',
    help: 'Calls to payment providers, by outcome.',
    labelNames: ['channel', 'step', 'outcome'],
    registers: [metrics],
  })
  const sink: ProviderCallSink = (place, exchange) =>
    void insertProviderCall(db, place, exchange).catch((error: unknown) => {
      log.warn({ err: error, channel: place.channel }, 'a provider call could not be recorded')
    })
  const channels = openChannelAccounts({
    ...{ db, vault, clock },
    live: config.mode === 'live',
    provider: config.provider,
    wallet:
      payable.length > 0 ? openCryptoChannel({ db, payable, health, mustConfirm: config.mode === 'live' }) : undefined,
    onFault: (companyId, channel, error) =>
      log.error({ err: error, companyId, channel }, 'an account of a company cannot be opened'),
    supervision: { clock, sink, count: (channel, step, outcome) => calls.inc({ channel, step, outcome }) },
  })
  openChannelMetrics(metrics, channels)
  return channels
}
