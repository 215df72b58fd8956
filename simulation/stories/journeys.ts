import { setTimeout as sleep } from 'node:timers/promises'
import type { Shop } from '../world/shops.ts'
import { count, type World } from '../world/world.ts'
import { OrderStory } from './order-story.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND

type Journey = (story: OrderStory) => Promise<void>

const pauseMs = ({ world }: OrderStory, mostMs: number): number => world.random.next() ** 2 * mostMs

const PROVIDERS = ['binance', 'gatepay', 'kucoinpay'] as const
const channelOf = ({ world }: OrderStory): string =>
  world.random.chance(0.5) ? 'crypto' : world.random.pick(PROVIDERS)

/** The payer pays what the instructions say, by the channel that was accepted. */
async function pay(story: OrderStory, channel: string, units = story.due): Promise<boolean> {
  const { world } = story
  const reply = await story.accept(channel)
  if (reply.status !== 200) {
    count(world, `accept refused: ${reply.code}`)
    return false
  }
  await sleep(pauseMs(story, 60 * SECOND))
  const { toAddress, providerReference } = reply.data
  if (toAddress !== null && channel === 'crypto') world.chain.pay(toAddress, units)
  else {
    const payment = world.providers.find(providerReference ?? '')
    if (!payment) throw new Error(`${channel} does not know ${providerReference}`)
    world.providers.refresh(payment)
    if (payment.state !== 'open') return false
    await world.providers.pay(payment)
  }
  return true
}

const abandon: Journey = async (story) => {
  story.expected = 'unpaid'
  if (story.world.random.chance(0.5)) await story.accept(channelOf(story))
  await sleep(6 * MINUTE)
}

const cancel: Journey = async (story) => {
  story.expected = 'unpaid'
  if (story.world.random.chance(0.5)) await story.accept(channelOf(story))
  await sleep(pauseMs(story, 30 * SECOND))
  await story.post('cancel')
}

const buy: Journey = async (story) => {
  if (await pay(story, channelOf(story))) story.expected = 'paid'
}

/** The payer changes his mind, and pays by the second channel. */
const changeMind: Journey = async (story) => {
  await story.accept(channelOf(story))
  await sleep(pauseMs(story, 20 * SECOND))
  if (await pay(story, channelOf(story))) story.expected = 'paid'
}

const refund: Journey = async (story) => {
  const { world } = story
  await buy(story)
  if (!(await story.reaches(['PAID']))) return
  await sleep(pauseMs(story, 2 * MINUTE))
  const left = story.due / 3n
  const isPart = world.random.chance(0.5)
  const amount = `${left / 1_000_000n}.${String(left % 1_000_000n).padStart(6, '0')}`
  const reply = await story.post('revert', { reason: 'it broke', ...(isPart ? { amount } : {}) })
  count(world, `revert ${reply.status} ${reply.code}`)
}

const JOURNEYS: readonly [Journey, number][] = [
  [abandon, 15],
  [cancel, 8],
  [buy, 60],
  [changeMind, 7],
  [refund, 10],
]

function draw({ random }: World, isShort: boolean): Journey {
  const journeys = isShort ? JOURNEYS.filter(([journey]) => journey !== abandon) : JOURNEYS
  let at = random.next() * journeys.reduce((total, [, weight]) => total + weight, 0)
  for (const [journey, weight] of journeys) {
    at -= weight
    if (at < 0) return journey
  }
  return buy
}

/** One order, from the shop's request to the last webhook. */
export async function tellStory(world: World, shop: Shop, isShort: boolean): Promise<void> {
  const journey = draw(world, isShort)
  const story = new OrderStory(world, shop, journey.name)
  await story.create(100 + world.random.below(30_000))
  await journey(story)
  await sleep(20 * SECOND)
  await story.end()
}
