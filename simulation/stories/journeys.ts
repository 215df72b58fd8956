import { setTimeout as sleep } from 'node:timers/promises'
import type { Shop } from '../world/shops.ts'
import { count, type World } from '../world/world.ts'
import { channelOf, inDecimal, MINUTE, must, pauseMs, pay, SECOND } from './acts.ts'
import * as money from './money-stories.ts'
import { OrderStory } from './order-story.ts'

type Journey = money.Journey

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
  const part = world.random.chance(0.5) ? { amount: inDecimal(story.due / 3n) } : {}
  const reply = await story.post('revert', { reason: 'it broke', ...part })
  count(world, `revert ${reply.status} ${reply.code}`)
  const path = `/api/next/refunds?code=${story.code}`
  const { data } = await story.shop.call<{ refunds: { code: string }[]; total: number }>('GET', path)
  const isRight = data.total === data.refunds.length && data.refunds.every(({ code }) => code === story.code)
  must(isRight && (reply.status !== 200 || data.total === 1), `the list of its refunds is ${JSON.stringify(data)}`)
}

/** Journeys and how often they are drawn; 0: only by name, because they turn the clock of everyone. */
const JOURNEYS: readonly [Journey, number][] = [
  [abandon, 15],
  [cancel, 8],
  [buy, 58],
  [changeMind, 7],
  [refund, 8],
  [money.decidedUnder, 1],
  [money.orphaned, 0.5],
  [money.emptyLogs, 0.02],
  [money.foreignNode, 0.02],
  [money.lastMinute, 0.02],
  [money.settledFirst, 0.3],
  [money.hangingProvider, 0.02],
  [money.otherCoin, 1],
  [money.refundUnderWay, 0.3],
  [money.lastAttempt, 0.3],
  [money.refusedKey, 0.02],
  [money.pricesApart, 0.02],
  [money.dust, 0.5],
  [money.takenBack, 0],
]
const SHORT: readonly Journey[] = [cancel, buy, changeMind, refund]

/** Which stories a run tells. */
export type Repertoire = { isShort: boolean; only: string | null }

function draw({ random }: World, { isShort, only }: Repertoire): Journey {
  const named = JOURNEYS.find(([journey]) => journey.name === only)
  if (only !== null) {
    if (named) return named[0]
    throw new Error(`There is no story "${only}": ${JOURNEYS.map(([{ name }]) => name).join(', ')}`)
  }
  const journeys = isShort ? JOURNEYS.filter(([journey]) => SHORT.includes(journey)) : JOURNEYS
  let at = random.next() * journeys.reduce((total, [, weight]) => total + weight, 0)
  for (const [journey, weight] of journeys) {
    at -= weight
    if (at < 0) return journey
  }
  return buy
}

/** One order, from the shop's request to the last webhook. */
export async function tellStory(world: World, shop: Shop, repertoire: Repertoire): Promise<void> {
  const journey = draw(world, repertoire)
  count(world, `story ${journey.name}`)
  const story = new OrderStory(world, shop, journey.name)
  if (!(await story.create(world.random.below(300) * 100 + 120 + world.random.below(80))))
    return count(world, 'nothing sold: no rate')
  await journey(story)
  await sleep(20 * SECOND)
  await story.end()
}
