import { AppError } from '../errors.ts'
import type { Channel, ChannelId } from './channel.ts'

/** The channels that are set up here; one that is not is simply not offered. */
export type Channels = {
  readonly available: readonly ChannelId[]
  find(id: ChannelId): Channel | undefined
  /** @throws CHANNEL_NOT_AVAILABLE */
  get(id: ChannelId): Channel
}

/**
 * Waits for a provider. Whatever goes wrong on the way to it or back says nothing about the payment: the caller gets
 * CHANNEL_UNAVAILABLE, nothing is changed, and a job asks again.
 */
export async function askProvider<Answer>(ask: Promise<Answer>): Promise<Answer> {
  try {
    return await ask
  } catch (error) {
    if (error instanceof AppError) throw error
    throw new AppError('CHANNEL_UNAVAILABLE', { cause: error, retryAfter: 5 })
  }
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
