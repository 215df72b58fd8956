import type { Channel, ChannelId, ChannelLimits } from '../../channels/channel.ts'
import type { ChannelRule } from '../../channels/channel-rules.ts'
import type { ChannelSet } from '../../channels/channel-set.ts'
import { ProviderRefusal } from '../../channels/provider-errors.ts'
import type { Health } from '../../channels/supervised.ts'
import { AppError } from '../../kernel/errors.ts'
import { convert, formatMoney, type Money, parseMoney } from '../../kernel/money.ts'

/**
 * Why a channel is hidden: the shop turned it off or limits it, the provider takes no such amount or currency, our
 * chain is behind or not confirmed, or the provider is not called for a while.
 */
export const OFFER_FAULTS = [
  'off',
  'noRate',
  'shopLeast',
  'shopMost',
  'least',
  'most',
  'currency',
  'network',
  'trouble',
  'busy',
  'credentials',
  'clock',
] as const

/** `limit`: the one that the price violates. `sentence` is English, without its first capital. */
export type OfferFault = { code: (typeof OFFER_FAULTS)[number]; sentence: string; limit: Money | null }

/** One way to pay an order, or why it is hidden from the payer. */
export type Offer = {
  channel: ChannelId
  networks: readonly number[]
  available: boolean
  fault: OfferFault | null
  rule: ChannelRule
}

const faultWith = (code: OfferFault['code'], sentence: string): OfferFault => ({ code, sentence, limit: null })

export type OfferedPrice = {
  due: Money
  fiat: Money
  /** Units of USDC for one EUR, or null without a fresh rate. Called only if a limit in EUR needs it. */
  euroRate(): Promise<bigint | null>
}

const NO_LIMITS: ChannelLimits = { min: null, max: null }
/** If a provider's limits do not arrive in time, it is offered without them. */
const LIMITS_MS = 3000

/** @throws ProviderRefusal when the provider does not support this currency */
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

type Bound = { is: 'least' | 'most'; limit: Money }

/** The limit, in its own currency, that the price violates; null: none. Limits are in fiat or USDC. */
function outside({ min, max }: ChannelLimits, { due, fiat }: Pick<OfferedPrice, 'due' | 'fiat'>): Bound | null {
  const priceIn = (limit: Money): bigint | null =>
    limit.asset === fiat.asset ? fiat.units : limit.asset === due.asset ? due.units : null
  const low = min && priceIn(min)
  if (min && low !== null && low < min.units) return { is: 'least', limit: min }
  const high = max && priceIn(max)
  if (max && high !== null && high > max.units) return { is: 'most', limit: max }
  return null
}

/** "no less than 5.00 EUR" */
const sayBound = ({ is, limit }: Bound): string => `no ${is === 'least' ? 'less' : 'more'} than ${show(limit)}`

/** Cents of EUR for an amount of USDC, rounded up, so that rounding never lets a price past a limit. */
const inEuro = (due: Money, euroRate: bigint): Money => {
  const cent = convert({ asset: 'EUR', units: 1_000_000n }, euroRate, 'USDC').units
  return { asset: 'EUR', units: (due.units * 1_000_000n + cent - 1n) / cent }
}

const NOT_OFFERED = faultWith('off', 'the shop does not offer it')
const NO_RATE = faultWith('noRate', 'the shop limits it in EUR, and there is no rate for EUR at the moment')

/** Why the company's rules exclude this price from the channel; null: they allow it. Its limits are in EUR. */
export async function findRuleFault(rule: ChannelRule, price: OfferedPrice): Promise<OfferFault | null> {
  if (!rule.offered) return NOT_OFFERED
  if (rule.minAmount === null && rule.maxAmount === null) return null
  const read = (text: string | null): Money | null => (text === null ? null : parseMoney(text, 'EUR'))
  const limits = { min: read(rule.minAmount), max: read(rule.maxAmount) }
  const isEuro = price.fiat.asset === 'EUR'
  const rate = isEuro ? null : await price.euroRate()
  // hiding it for a moment is better than exceeding a limit
  if (!isEuro && rate === null) return NO_RATE
  const fiat = rate === null ? price.fiat : inEuro(price.due, rate)
  const bound = outside(limits, { due: price.due, fiat })
  if (bound === null) return null
  const code = bound.is === 'least' ? 'shopLeast' : 'shopMost'
  return { code, sentence: `the shop takes ${sayBound(bound)} through it`, limit: bound.limit }
}

/** Why the channel cannot take this price; null: it can. */
async function faultOf(channel: Channel, price: OfferedPrice): Promise<OfferFault | null> {
  try {
    const bound = outside(await limitsOf(channel, price), price)
    return bound && { code: bound.is, sentence: `it takes ${sayBound(bound)}`, limit: bound.limit }
  } catch (error) {
    if (error instanceof ProviderRefusal) return faultWith('currency', error.message)
    throw error
  }
}

const healthFault = ({ reason, circuit }: Health): OfferFault | null =>
  reason === null ? null : faultWith(circuit.cause ?? 'trouble', reason)

async function readOffer(set: ChannelSet, id: ChannelId, price: OfferedPrice): Promise<Offer> {
  const channel = set.get(id)
  const health = set.health(id)
  const rule = set.rule(id)
  const ruleFault = await findRuleFault(rule, price)
  // no need to ask the provider about a price that the company's rules exclude
  if (ruleFault !== null) return { channel: id, networks: channel.networks, available: false, fault: ruleFault, rule }
  const faults = (await channel.findNetworkFaults?.()) ?? []
  const networks = channel.networks.filter((chainId) => !faults.some(({ network }) => network === chainId))
  const cut = channel.networks.length > 0 && networks.length === 0 ? faults[0] : undefined
  const fault = healthFault(health) ?? (cut ? faultWith('network', cut.reason) : await faultOf(channel, price))
  return { channel: id, networks, available: fault === null, fault, rule }
}

/** Every configured channel in the company's order, with the reason if it cannot take this price now. */
export const listOffers = (set: ChannelSet, price: OfferedPrice): Promise<Offer[]> =>
  Promise.all(set.available.map((id) => readOffer(set, id, price)))

/** Why no new payment may use this chain now; null: it can be used. */
export async function findNetworkFault(channel: Channel, network: number | null): Promise<string | null> {
  if (network === null || !channel.findNetworkFaults) return null
  const faults = await channel.findNetworkFaults()
  return faults.find((fault) => fault.network === network)?.reason ?? null
}

export const unavailableNow = (id: ChannelId, reason: string): AppError => {
  const message = `${id} is not available now: ${reason}. Choose another channel, or try again in a moment.`
  return new AppError('CHANNEL_UNAVAILABLE', { message, retryAfter: 20 })
}

export const notAvailable = (id: ChannelId, reason: string): AppError =>
  new AppError('CHANNEL_NOT_AVAILABLE', {
    message: `${id} cannot be used for this order: ${reason.replace(/\.$/, '')}. Choose another channel.`,
  })

/** @throws CHANNEL_NOT_AVAILABLE for a price outside its limits, CHANNEL_UNAVAILABLE while the provider is down */
export async function checkOffer(set: ChannelSet, id: ChannelId, price: OfferedPrice): Promise<void> {
  const health = set.health(id)
  if (!health.available) throw unavailableNow(id, health.reason ?? 'it does not answer')
  const { fault, networks } = await readOffer(set, id, price)
  if (fault === null) return
  if (networks.length === 0 && set.get(id).networks.length > 0) throw unavailableNow(id, fault.sentence)
  throw notAvailable(id, fault.sentence)
}
