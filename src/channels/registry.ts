import { AppError } from '../errors.ts'
import type { Channel, ChannelId } from './channel.ts'

/** The channels that are set up here; one that is not is simply not offered. */
export type Channels = {
  readonly available: readonly ChannelId[]
  find(id: ChannelId): Channel | undefined
  /** @throws CHANNEL_NOT_AVAILABLE */
  get(id: ChannelId): Channel
}

export function openChannels(channels: readonly Channel[]): Channels {
  const byId = new Map(channels.map((channel) => [channel.id, channel]))
  return {
    available: [...byId.keys()],
    find: (id) => byId.get(id),
    get(id) {
      const channel = byId.get(id)
      if (channel) return channel
      const offered = [...byId.keys()].join(', ') || 'none'
      throw new AppError('CHANNEL_NOT_AVAILABLE', {
        message: `The channel ${id} is not set up here. Available: ${offered}.`,
      })
    },
  }
}
