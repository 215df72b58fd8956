import { Gauge, type Registry } from 'prom-client'
import { SECOND } from '../kernel/clock.ts'
import type { Channels } from './channel-set.ts'

/** Provider metrics: which circuits are open and why, and which clocks differ from ours. */
export function openChannelMetrics(registry: Registry, channels: Pick<Channels, 'healths'>): void {
  new Gauge({
    name: 'comptoir_channel_circuit_open',
    help: 'Accounts at a provider that are not called for a pause, by cause: trouble, busy, credentials, clock.',
    labelNames: ['channel', 'account', 'cause'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { channel, account, health } of channels.healths()) {
        const { state, cause } = health.circuit
        this.inc({ channel, account, cause: cause ?? 'none' }, state === 'open' ? 1 : 0)
      }
    },
  })
  new Gauge({
    name: 'comptoir_channel_clock_ahead_seconds',
    help: 'How far the clock of this server is ahead of the Date in the provider’s last answer; negative: behind.',
    labelNames: ['channel'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { channel, account, health } of channels.healths())
        if (account === 'operator' && health.clockAheadMs !== null) this.set({ channel }, health.clockAheadMs / SECOND)
    },
  })
}
