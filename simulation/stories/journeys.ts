import { setTimeout as sleep } from 'node:timers/promises'
import type { Shop } from '../world/shops.ts'
import { count, type World } from '../world/world.ts'
import { channelOf, inDecimal, MINUTE, must, pauseMs, pauseMsOf, pay, revert, SECOND } from './acts.ts'
import * as money from './money-stories.ts'
import { OrderStory } from './order-story.ts'
import * as outage from './outage-stories.ts'
import * as price from './price-stories.ts'
import * as provider from './provider-stories.ts'
import * as reorganisation from './reorganisation-stories.ts'
import * as slow from './slow-stories.ts'

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
  if (await pay(story, channelOf(story), { isCareless: true })) story.expected = 'paid'
}

/** The payer changes his mind, and pays by the second channel. */
const changeMind: Journey = async (story) => {
  await story.accept(channelOf(story))
  await sleep(pauseMs(story, 20 * SECOND))
  if (await pay(story, channelOf(story), { isCareless: true })) story.expected = 'paid'
}

const refund: Journey = async (story) => {
  const { world } = story
  await buy(story)
  if (!(await story.reaches(['PAID']))) return
  await sleep(pauseMs(story, 2 * MINUTE))
  const part = world.random.chance(0.5) ? { amount: inDecimal(story.due / 3n) } : {}
  const reply = await revert(story, part)
  count(world, `revert ${reply.status} ${reply.code}`)
  const path = `/api/next/refunds?code=${story.code}`
  const { data } = await story.shop.call<{ refunds: { code: string }[]; total: number }>('GET', path)
  const isRight = data.total === data.refunds.length && data.refunds.every(({ code }) => code === story.code)
  must(isRight && (reply.status !== 200 || data.total === 1), `the list of its refunds is ${JSON.stringify(data)}`)
}

/** Journeys and their frequencies. */
const JOURNEYS: readonly [Journey, number][] = [
  [abandon, 15],
  [cancel, 8],
  [buy, 58],
  [changeMind, 7],
  [refund, 8],
  [money.decidedUnder, 1],
  [money.orphaned, 0.5],
  [slow.settledFirst, 0.3],
  [slow.lostThenSettled, 0.1],
  [slow.lossAfterSettlement, 0.1],
  [slow.noDecimals, 0.3],
  [money.otherCoin, 1],
  [money.refundUnderWay, 0.3],
  [money.lastAttempt, 0.3],
  [money.dust, 0.5],
  [provider.paymentCurrency, 0.5],
  [provider.shopAtKucoin, 0.5],
  [provider.paidAfterClose, 0.3],
  [provider.consoleRefund, 0.3],
  [price.requoted, 0.3],
  [reorganisation.cancelledMeanwhile, 0.2],
  [reorganisation.expiredMeanwhile, 0.2],
  [reorganisation.paidElsewhereMeanwhile, 0.2],
  [outage.receiverDown, 0.1],
]
/** These affect everyone, so they run one after another. */
const TROUBLES: readonly Journey[] = [
  money.emptyLogs,
  money.foreignNode,
  money.lastMinute,
  money.hangingProvider,
  money.refusedKey,
  money.pricesApart,
  slow.slowRefund,
  slow.memo,
  provider.closedAtGate,
  outage.nodeDies,
  outage.chainAway,
  outage.slowChain,
  outage.databaseAway,
]
/** These move everyone's price for eight minutes: one after another, next to the troubles. */
const PRICES: readonly Journey[] = [price.staleLink, price.partOfLink]
/** These move everyone's clock, which exhausts other stories' timeouts: they run alone. */
const ALONE: readonly Journey[] = [
  slow.takenBack,
  reorganisation.refundUndone,
  slow.frozenFeed,
  outage.receiverDownForHours,
]
const TROUBLE_PAUSE_MS = MINUTE
const SHORT: readonly Journey[] = [cancel, buy, changeMind, refund]

/** The stories that a run includes. */
export type Repertoire = { isShort: boolean; only: string | null }

function draw({ random }: World, { isShort, only }: Repertoire): Journey {
  if (only !== null) {
    const all = [...JOURNEYS.map(([journey]) => journey), ...TROUBLES, ...PRICES, ...ALONE]
    const named = all.find(({ name }) => name === only)
    if (named) return named
    throw new Error(`There is no story "${only}": ${all.map(({ name }) => name).join(', ')}`)
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
export const tellStory = (world: World, shop: Shop, repertoire: Repertoire): Promise<void> =>
  tell(world, shop, draw(world, repertoire))

async function tell(world: World, shop: Shop, journey: Journey): Promise<void> {
  count(world, `story ${journey.name}`)
  const story = new OrderStory(world, shop, journey.name)
  if (!(await story.create(world.random.below(300) * 100 + 120 + world.random.below(80))))
    return count(world, 'nothing sold: no rate')
  const told = async (): Promise<void> => {
    await journey(story)
    await sleep(20 * SECOND)
    await story.end()
  }
  await told().catch(async (error: unknown) => {
    throw await story.explain(error)
  })
}

/** Runs the stories that affect everyone, in a loop, until the end. */
export function makeTrouble(world: World, { isShort, only }: Repertoire): { end(): Promise<void> } {
  let isOver = isShort || only !== null
  const loop = async (journeys: readonly Journey[]): Promise<void> => {
    // starts at a random one: a run too short for all of them includes others with another seed
    for (let number = world.random.below(journeys.length); !isOver; number += 1) {
      await sleep(pauseMsOf(world, TROUBLE_PAUSE_MS))
      const journey = journeys[number % journeys.length]
      if (isOver || !journey) continue
      const end = world.conditions.noteTrouble(journey.name)
      await tell(world, world.random.pick(world.shops.slice(-8)), journey)
      end()
    }
  }
  const told = [TROUBLES, PRICES].map((journeys) =>
    loop(journeys).catch((error: unknown) => world.scheduler.fail(error)),
  )
  return {
    async end() {
      isOver = true
      await Promise.all(told)
    },
  }
}

/**
 * Runs every story: first concurrently those that do not interfere, then the others, one after another.
 * @param times how often each of the former @returns the number of stories told
 */
export async function tellEach(world: World, times: number): Promise<number> {
  const shop = (): Shop => world.random.pick(world.shops)
  const inTurn = async (journeys: readonly Journey[]): Promise<void> => {
    for (const journey of journeys) await tell(world, shop(), journey)
  }
  const quiet = JOURNEYS.flatMap(([journey]) => Array.from({ length: times }, () => tell(world, shop(), journey)))
  await Promise.all([...quiet, inTurn(TROUBLES), inTurn(PRICES)])
  await inTurn(ALONE)
  return quiet.length + TROUBLES.length + PRICES.length + ALONE.length
}
