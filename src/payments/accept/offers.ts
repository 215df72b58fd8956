import type { Channel, ChannelId, ChannelLimits } from '../../channels/channel.ts'
import type { ChannelSet } from '../../channels/channel-set.ts'
import { ProviderRefusal } from '../../channels/provider-errors.ts'
import { AppError } from '../../kernel/errors.ts'
import { formatMoney, type Money } from '../../kernel/money.ts'

/** One way to pay an order, or why it is hidden from the payer. */
export type Offer = { channel: ChannelId; networks: readonly number[]; available: boolean; reason: string | null }

export type OfferedPrice = { due: Money; fiat: Money }

const NO_LIMITS: ChannelLimits = { min: null, max: null }
/** A provider whose limits do not arrive in time is offered without them. */
const LIMITS_MS = 3000

/** @throws ProviderRefusal where the provider does not take this currency at all */
async function limitsOf(channel: Channel, price: OfferedPrice): Promise<ChannelLimits> {
  if (!channel.findLimits) return NO_LIMITS
  const withoutAnswer = (error: unknown): ChannelLimits => {
    if (error instanceof ProviderRefusal && error.reason === 'request') throw error
    return NO_LIMITS
  }
  const late = new Promise<ChannelLimits>((resolve) => setTimeout(() => resolve(NO_LIMITS), LIMITS_MS).unref())
  return Promise.race([channel.findLimits(price).catch(withoutAnswer), late])
}

const show = (money: Money): string => `${formatMoney(money)} ${money.asset}`

/** Whether a price lies within limits that are given in its fiat or in USDC; null: it does. */
function outside({ min, max }: ChannelLimits, { due, fiat }: OfferedPrice): string | null {
  const priceIn = (limit: Money): bigint | null =>
    limit.asset === fiat.asset ? fiat.units : limit.asset === due.asset ? due.units : null
  const low = min && priceIn(min)
  if (min && low !== null && low < min.units) return `it takes no less than ${show(min)}`
  const high = max && priceIn(max)
  if (max && high !== null && high > max.units) return `it takes no more than ${show(max)}`
  return null
}

/** Why the channel cannot take this price; null: it can. */
async function faultOf(channel: Channel, price: OfferedPrice): Promise<string | null> {
  try {
    return outside(await limitsOf(channel, price), price)
  } catch (error) {
    if (error instanceof ProviderRefusal) return error.message
    throw error
  }
}

async function readOffer(set: ChannelSet, id: ChannelId, price: OfferedPrice): Promise<Offer> {
  const channel = set.get(id)
  const health = set.health(id)
  const faults = (await channel.findNetworkFaults?.()) ?? []
  const networks = channel.networks.filter((chainId) => !faults.some(({ network }) => network === chainId))
  const cut = channel.networks.length > 0 && networks.length === 0 ? (faults[0]?.reason ?? null) : null
  const reason = health.available ? cut : health.reason
  const fault = reason ?? (await faultOf(channel, price))
  return { channel: id, networks, available: fault === null, reason: fault }
}

/** Every configured channel, with the reason if it cannot take this price now. */
export const listOffers = (set: ChannelSet, price: OfferedPrice): Promise<Offer[]> =>
  Promise.all(set.available.map((id) => readOffer(set, id, price)))

/** Why no new payment may use this chain now; null: it may. */
export async function findNetworkFault(channel: Channel, network: number | null): Promise<string | null> {
  if (network === null || !channel.findNetworkFaults) return null
  const faults = await channel.findNetworkFaults()
  return faults.find((fault) => fault.network === network)?.reason ?? null
}

export const unavailableNow = (id: ChannelId, reason: string): AppError => {
  const message = `${id} is not available now: ${reason}. Choose another channel, or try again in a moment.`
  return new AppError('CHANNEL_UNAVAILABLE', { message, retryAfter: 20 })
}

/** @throws CHANNEL_NOT_AVAILABLE for a price outside its limits, CHANNEL_UNAVAILABLE while the provider is down */
export async function checkOffer(set: ChannelSet, id: ChannelId, price: OfferedPrice): Promise<void> {
  const health = set.health(id)
  if (!health.available) throw unavailableNow(id, health.reason ?? 'it does not answer')
  const { reason, networks } = await readOffer(set, id, price)
  if (reason !== null && networks.length === 0 && set.get(id).networks.length > 0) throw unavailableNow(id, reason)
  if (reason !== null)
    throw new AppError('CHANNEL_NOT_AVAILABLE', {
      message: `${id} cannot take this amount: ${reason.replace(/\.$/, '')}.`,
    })
}
