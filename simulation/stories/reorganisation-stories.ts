import { setTimeout as sleep } from 'node:timers/promises'
import { accepted, HOUR, MINUTE, must, pay, paymentAt, revert, SECOND } from './acts.ts'
import type { Journey } from './money-stories.ts'
import { OrderStory } from './order-story.ts'

const PAID = ['PAID']

/**
 * A transfer leaves the chain as soon as the service has seen it, and is mined again after the story's action. The
 * service reads the blocks without it before that, meanwhile, or never.
 */
async function whileAway(
  story: OrderStory,
  toAddress: string | null,
  { mostAwayMs = 20 * SECOND, meanwhile }: { mostAwayMs?: number; meanwhile?: () => Promise<void> },
): Promise<void> {
  const { chain, random } = story.world
  const hash = chain.pay(toAddress ?? '', story.due)
  const isSeen = async (): Promise<boolean> => (await story.status()) !== 'AWAITING'
  for (let tries = 0; tries < 600 && !(await isSeen()); tries += 1) await sleep(100)
  // another reorganisation may have taken it
  for (let tries = 0; tries < 100 && !chain.find(hash)?.block; tries += 1) await sleep(SECOND)
  const lost = chain.lose(hash)
  await sleep(random.next() * 6 * SECOND)
  await meanwhile?.()
  await sleep(random.next() ** 2 * mostAwayMs)
  chain.resend(lost)
}

/** The shop cancels at that moment: it is refused, or the money that comes back waits for a person. */
export const cancelledMeanwhile: Journey = async (story) => {
  const { toAddress } = await accepted(story, 'crypto')
  await whileAway(story, toAddress, {
    async meanwhile() {
      const { status } = await story.post('cancel')
      // money that the service knows of keeps the order open, and then pays it
      story.expected = status === 200 ? 'either' : 'paid'
    },
  })
}

/** The payment deadline passes. */
export const expiredMeanwhile: Journey = async (story) => {
  const { toAddress } = await accepted(story, 'crypto')
  await sleep(15 * MINUTE - (4 + story.world.random.below(8)) * SECOND)
  await whileAway(story, toAddress, { mostAwayMs: 5 * MINUTE })
}

/** The payer pays through another channel; then both have the money. */
export const paidElsewhereMeanwhile: Journey = async (story) => {
  const { toAddress } = await accepted(story, 'crypto')
  await whileAway(story, toAddress, {
    async meanwhile() {
      const reply = await story.accept('binance')
      if (reply.status === 200) await story.world.providers.pay(paymentAt(story, reply.data))
    },
  })
  story.expected = 'paid'
}

type PayoutRow = { status: string; hash: string | null }

/** The payout of the order's refund. */
async function payoutOf(story: OrderStory): Promise<PayoutRow | undefined> {
  const words = `select p.status, p.tx_hash as hash from refunds r join chain_payouts p on p.id like '%' || r.id || '%'
    where r.company_id = $1 and r.order_id = $2`
  return (await story.world.oracle.many<PayoutRow>(words, [story.shop.merchant.companyId, story.id]))[0]
}

/** An order that is paid on the chain and refunded in full. */
async function payAndRevert(story: OrderStory): Promise<void> {
  while (!(await pay(story, 'crypto'))) {
    // the same story of another order may have let an hour pass
    must((await story.status()) === 'EXPIRED', 'the payer cannot pay')
    await story.leaveUnpaid()
    await story.createSold(4050)
  }
  must(await story.reaches(PAID), 'a full payment is not PAID')
  story.expected = 'paid'
  const asked = await revert(story)
  must(asked.status === 200, `a refund answers ${asked.text}`)
}

/**
 * A refund is final, and leaves the chain while the next one is in progress: that one must not wait for the account
 * nonce that no payout keeps any more, and the first is sent again.
 */
export const refundUndone: Journey = async (story) => {
  const { world } = story
  await story.moveToOwnShop(5050)
  await payAndRevert(story)
  must(await story.reaches(['FULL_REFUNDED']), 'a refund is not FULL_REFUNDED')
  const { hash } = (await payoutOf(story)) ?? {}
  must(typeof hash === 'string', 'a settled refund has no transaction')
  const next = new OrderStory(world, story.shop, 'refundUndone')
  await next.createSold(4050)
  await payAndRevert(next)
  const isUnderWay = async (): Promise<boolean> =>
    ['sent', 'mined', 'final'].includes((await payoutOf(next))?.status ?? '')
  // another order's lost transfer stops all payouts until a person has decided about it
  for (let tries = 0; tries < 6000 && !(await isUnderWay()); tries += 1) await sleep(100)
  must(await isUnderWay(), 'a refund is not sent within ten minutes')
  // another order's reorganisation may have taken it first
  if (world.chain.find(hash)?.block) world.chain.lose(hash)
  must(await next.reaches(['FULL_REFUNDED']), 'a refund waits behind one that left the chain')
  await next.end()
  // final payouts are rechecked every hour
  world.jump(HOUR + MINUTE)
  await sleep(3 * MINUTE)
}
