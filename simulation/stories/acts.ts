import { setTimeout as sleep } from 'node:timers/promises'
import type { ProviderPayment } from '../../sandbox/providers/imitation.ts'
import { magicOf } from '../../sandbox/providers/stories.ts'
import type { ChainTransaction } from '../world/chain.ts'
import type { Reply } from '../world/shops.ts'
import { count, type World } from '../world/world.ts'
import type { Instructions, OrderStory } from './order-story.ts'

export const SECOND = 1000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE

export const pauseMsOf = ({ random }: World, mostMs: number): number => random.next() ** 4 * mostMs
export const pauseMs = ({ world }: OrderStory, mostMs: number): number => pauseMsOf(world, mostMs)

export const PROVIDERS = ['binance', 'gatepay', 'kucoinpay'] as const
export const channelOf = ({ world }: OrderStory): string =>
  world.random.chance(0.5) ? 'crypto' : world.random.pick(PROVIDERS)

/** A fault that no invariant of a single order reveals. */
export class Broken extends Error {
  override readonly name = 'Broken'
}

export function must(isRight: boolean, words: string): asserts isRight {
  if (!isRight) throw new Broken(words)
}

/** Accepts an order; the story needs this to succeed. */
export async function accepted(story: OrderStory, channel: string): Promise<Instructions> {
  const reply = await story.accept(channel)
  must(reply.status === 200, `accept by ${channel} answers ${reply.text}`)
  return reply.data
}

export function paymentAt({ world }: OrderStory, { providerReference }: Instructions): ProviderPayment {
  const payment = world.providers.find(providerReference ?? '')
  must(payment !== undefined, `no provider knows ${providerReference}`)
  return payment
}

/**
 * The payer pays according to the instructions, through the accepted channel. A careless payer may permanently lose the
 * transfer in a reorganisation. @returns whether payment was possible
 */
export async function pay(story: OrderStory, channel: string, { isCareless = false } = {}): Promise<boolean> {
  const { world } = story
  const reply: Reply<Instructions> = await story.accept(channel)
  if (reply.status !== 200) {
    count(world, `accept refused: ${reply.code}`)
    return false
  }
  await sleep(pauseMs(story, 60 * SECOND))
  const { toAddress } = reply.data
  if (channel === 'crypto' && toAddress !== null) {
    const hash = world.chain.pay(toAddress, story.due)
    if (isCareless) world.chain.careless.add(hash)
    return true
  }
  const payment = world.providers.refresh(paymentAt(story, reply.data))
  // some amounts make an imitation act automatically
  if (payment.state !== 'open' || magicOf(payment.amount) !== undefined) return false
  await world.providers.pay(payment)
  return true
}

export type MispaymentView = { _id: string; kind: string; status: string; amount: string }

/**
 * In bad weather other stories slow the chain's nodes down, one after another, and remove blocks meanwhile: each answer
 * then takes six seconds, and a reorganisation about fifteen answers.
 */
export const minutesToRead = ({ weather }: World): number => (weather.isBad ? 6 : 2)

/**
 * The record, once it exists: when the chain has been read and the money is final.
 * @param minutes for its provider, if only that one knows of the money
 */
export async function openRecord(story: OrderStory, kind: string, minutes = 0): Promise<MispaymentView> {
  const { shop, world } = story
  const untilMs = Date.now() + (2 + minutesToRead(world) + minutes) * MINUTE
  while (Date.now() < untilMs) {
    const token = await world.desk.token()
    const path = `/api/next/mispayments?code=${story.code}`
    const { data } = await shop.call<{ mispayments: MispaymentView[] }>('GET', path, { token })
    const found = data.mispayments.find((one) => one.kind === kind && one.status === 'open')
    if (found) return found
    await sleep(2 * SECOND)
  }
  throw new Broken(`no open record "${kind}" of the order ${story.id} appears`)
}

export async function decide<Data = unknown>(
  story: OrderStory,
  path: string,
  body: Record<string, unknown>,
): Promise<Reply<Data>> {
  const token = await story.world.desk.token()
  return story.shop.call<Data>('POST', `/api/next/${path}`, { body, token })
}

/**
 * Decides about the order's record. If another story's lost transfer closed it meanwhile, decides about the next one.
 */
export async function decideRecord(
  story: OrderStory,
  kind: string,
  { way, ...body }: { way: 'bear' | 'ignore'; by?: 'operator' | 'company'; reason?: string },
): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    const record = await openRecord(story, kind)
    const reply = await decide(story, `mispayments/${record._id}/${way}`, body)
    if (reply.code === 'OBJECT_CONFLICT' && tries < 10) continue
    must(reply.status === 200, `${way} answers ${reply.text}`)
    return
  }
}

/** A transfer leaves the chain, and the service has read the chain without it. */
export async function loseFromChain({ world }: OrderStory, hash: string): Promise<ChainTransaction> {
  const { chain, oracle } = world
  const minutes = minutesToRead(world)
  const lost = chain.lose(hash)
  const target = chain.head.number
  for (let tries = 0; tries < minutes * 60; tries += 1) {
    const [head] = await oracle.many<{ number: string; hash: string }>('select number, hash from chain_heads')
    const number = Number(head?.number)
    if (number >= target && chain.blocks[number]?.hash === head?.hash) return lost
    await sleep(SECOND)
  }
  throw new Broken(`block ${target} is not read within ${minutes} minutes of a reorganisation`)
}

export const inDecimal = (units: bigint): string =>
  `${units / 1_000_000n}.${String(units % 1_000_000n).padStart(6, '0')}`

/**
 * Another story's lost transfer removes this one's from the chain for some seconds too, and stops all payouts of the
 * company until a person has decided about it; diverging prices stop sales. Retries refusals that pass without
 * intervention.
 */
export async function patiently<Data>(
  ask: () => Promise<Reply<Data>>,
  passing: readonly string[],
): Promise<Reply<Data>> {
  for (let tries = 0; ; tries += 1) {
    const reply = await ask()
    if (tries === 100 || !passing.includes(reply.code)) return reply
    await sleep(3 * SECOND)
  }
}

/** The shop refunds the payment, or a part of it. */
export const revert = (story: OrderStory, part: { amount?: string } = {}): Promise<Reply<null>> =>
  patiently(() => story.post('revert', { reason: 'it broke', ...part }), ['BOOKS_DIFFER', 'PAYMENT_ORPHANED'])
