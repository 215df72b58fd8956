import { setTimeout as sleep } from 'node:timers/promises'
import { accepted, inDecimal, MINUTE, must, openRecord, SECOND } from './acts.ts'
import type { Journey } from './money-stories.ts'
import type { Instructions, OrderStory } from './order-story.ts'
import { unitsOf } from './truth.ts'

const PAID = ['PAID']
const MOVED = 1.015
const QUOTE_MINUTES = 5

/** A link whose shop takes a fresh price after five minutes, opened by its payer. This story now owns the price. */
async function openLink(story: OrderStory): Promise<Instructions> {
  const { market } = story.world
  while (market.isTaken) await sleep(10 * SECOND)
  market.isTaken = true
  await story.moveToOwnShop(5050, `INV-${story.code}`)
  const words = 'update companies set link_quote_minutes = $2, version = version + 1 where id = $1'
  await story.world.oracle.many(words, [story.shop.merchant.companyId, QUOTE_MINUTES])
  return accepted(story, 'crypto')
}

/** The price moves by less than its sources may differ, until the link's own price is too old. */
async function outlive({ world }: OrderStory): Promise<void> {
  world.market.move(MOVED)
  await sleep((QUOTE_MINUTES + 1) * MINUTE)
}

/** Other stories may move the price again once no rate of the service is older than this move. */
function moveBack({ world: { market } }: OrderStory): void {
  market.move(1 / MOVED)
  void sleep(2 * MINUTE).then(() => {
    market.isTaken = false
  })
}

/** The payer's current price; without a fresh rate the payer tries again later. */
async function ask(story: OrderStory, more: Record<string, unknown> = {}): Promise<Instructions> {
  for (let tries = 0; ; tries += 1) {
    const reply = await story.accept('crypto', more)
    if (reply.status === 200) return reply.data
    must(reply.code === 'INVALID_EXCHANGE_RATE' && tries < 30, `accept answers ${reply.text}`)
    await sleep(10 * SECOND)
  }
}

/** 11: a link that is valid for a month is paid at today's price, also through its old address. */
export const staleLink: Journey = async (story) => {
  const { world } = story
  const { toAddress: oldAddress } = await openLink(story)
  const old = story.due
  await outlive(story)
  const { tokenAmount } = await ask(story)
  moveBack(story)
  story.due = unitsOf(tokenAmount ?? '')
  must(story.due * 1000n > old * 1005n, `after six minutes a link still costs ${inDecimal(story.due)}`)
  world.chain.pay(oldAddress ?? '', old)
  for (let tries = 0; tries < 10; tries += 1) {
    must((await story.status()) !== 'PAID', 'the old price pays a link that has a new one')
    await sleep(2 * SECOND)
  }
  await openRecord(story, 'under')
  world.chain.pay(oldAddress ?? '', story.due - old)
  story.expected = 'paid'
  must(await story.reaches(PAID), 'a link paid at its new price is not PAID')
}

/** 11: a payer who has sent a part keeps the price: the rest pays the link, however old its rate is. */
export const partOfLink: Journey = async (story) => {
  const { world } = story
  const { toAddress } = await openLink(story)
  const part = story.due / 2n
  world.chain.pay(toAddress ?? '', part)
  await openRecord(story, 'under')
  await outlive(story)
  const { tokenAmount } = await ask(story)
  moveBack(story)
  must(unitsOf(tokenAmount ?? '') === story.due, `a link that is paid in part now costs ${tokenAmount}`)
  world.chain.pay(toAddress ?? '', story.due - part)
  story.expected = 'paid'
  must(await story.reaches(PAID), 'a link that is paid in two parts is not PAID')
}

/** An expired order is accepted again at a fresh price, and paid at its new address. */
export const requoted: Journey = async (story) => {
  const { world } = story
  const { toAddress: oldAddress } = await accepted(story, 'crypto')
  must(await story.reaches(['EXPIRED'], 20 * MINUTE), 'an order without money does not expire')
  const { toAddress, tokenAmount } = await ask(story, { requote: true })
  story.due = unitsOf(tokenAmount ?? '')
  must(toAddress !== oldAddress, 'an order at a fresh price has the address of its old one')
  world.chain.pay(toAddress ?? '', story.due)
  story.expected = 'paid'
  must(await story.reaches(PAID), 'an order paid at its fresh price is not PAID')
}
