import type { Channel } from '../../src/channels/channel.ts'
import { type Channels, channelSet } from '../../src/channels/channel-set.ts'
import { HEALTHY } from '../../src/channels/supervised.ts'

/** Every company sees the same channels, unsupervised. */
export function openChannels(channels: readonly Channel[]): Channels {
  const operator = channelSet(
    channels.map((channel) => ({ supervised: { channel, health: () => HEALTHY }, own: false, accountMarks: [] })),
  )
  return {
    operator,
    of: async () => operator,
    forPayer: async ({ channel }) => operator.find(channel),
    forPayment: async ({ channel }) => operator.find(channel),
    healths: () => [],
    forget: () => {},
  }
}
