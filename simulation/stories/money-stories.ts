import { setTimeout as sleep } from 'node:timers/promises'
import { readMetric } from '../world/gauges.ts'
import {
  accepted,
  Broken,
  decide,
  decideRecord,
  inDecimal,
  loseFromChain,
  MINUTE,
  must,
  openRecord,
  patiently,
  pauseMs,
  pay,
  paymentAt,
  revert,
  SECOND,
} from './acts.ts'
import { OrderStory } from './order-story.ts'

export type Journey = (story: OrderStory) => Promise<void>

const PAID = ['PAID']

/** 1: a part is paid and decided about; the rest alone does not pay the order. */
export const decidedUnder: Journey = async (story) => {
  const { world } = story
  const { toAddress } = await accepted(story, 'crypto')
  const part = (story.due * 55n) / 100n
  world.chain.pay(toAddress ?? '', part)
  await decideRecord(story, 'under', { way: 'ignore', reason: 'the shop keeps it' })
  await sleep(pauseMs(story, 10 * SECOND))
  world.chain.pay(toAddress ?? '', story.due - part)
  story.expected = 'unpaid'
  await sleep(16 * MINUTE)
}

/** 2: final money leaves the chain after PAID, and none of it is paid out. It comes back, or a person decides. */
export const orphaned: Journey = async (story) => {
  const { world } = story
  const { toAddress } = await accepted(story, 'crypto')
  const hash = world.chain.pay(toAddress ?? '', story.due)
  must(await story.reaches(PAID), 'a full payment is not PAID')
  story.expected = 'paid'
  await sleep(5 * SECOND)
  const lost = await loseFromChain(story, hash)
  await openRecord(story, 'orphaned')
  const refused = await story.post('revert', { reason: 'it broke' })
  must(refused.status !== 200, 'a refund of money that left the chain is accepted')
  const isBack = world.random.chance(0.5)
  if (isBack) world.chain.resend(lost)
  else await decideRecord(story, 'orphaned', { way: 'bear', by: 'operator' })
}

/** 4: both nodes serve another chain for a moment. Nothing that was read before is discarded. */
export const foreignNode: Journey = async (story) => {
  const { world } = story
  const { losses } = world.chain
  must(await pay(story, 'crypto'), 'the payer cannot pay')
  story.expected = 'paid'
  must(await story.reaches(PAID), 'a full payment is not PAID')
  for (const node of world.endpoints) node.trouble = 'foreign'
  await sleep(6 * SECOND)
  for (const node of world.endpoints) node.trouble = 'none'
  // what an operator would do about it; the new node knows nothing of what the others saw
  world.cluster.kill()
  await world.cluster.add()
  await sleep(90 * SECOND)
  must(await isOfferedAgain(story, 'crypto'), 'a chain that is well again is not offered')
  const { mispayments } = await story.facts()
  // another story's deep reorganisation removes this payment from the chain too
  const isOwn = world.chain.losses === losses
  must(mispayments.length === 0 || !isOwn, `another chain made the records ${JSON.stringify(mispayments)}`)
}

/** Whether another order can be accepted by this channel within two minutes. */
async function isOfferedAgain({ world, shop, kind }: OrderStory, channel: string): Promise<boolean> {
  const later = new OrderStory(world, shop, kind)
  later.expected = 'unpaid'
  await later.createSold(4050)
  let isOffered = false
  for (let tries = 0; tries < 24 && !isOffered; tries += 1) {
    const body = { paymentChannel: channel, network: world.chain.chainId, userAddress: shop.settlementAddress }
    isOffered = (await shop.once('POST', `accept/${later.code}`, body))?.status === 200
    await sleep(5 * SECOND)
  }
  await later.post('cancel')
  await later.end()
  return isOffered
}

/** 4: both nodes return no logs for the block of the payment, whose header shows them. */
export const emptyLogs: Journey = async (story) => {
  const { world } = story
  const { toAddress } = await accepted(story, 'crypto')
  for (const node of world.endpoints) node.trouble = 'empty'
  world.chain.pay(toAddress ?? '', story.due)
  story.expected = 'paid'
  await sleep(8 * SECOND)
  for (const node of world.endpoints) node.trouble = 'none'
  must(await story.reaches(PAID, 2 * MINUTE), 'a payment in a block without logs is not seen')
}

/** 5: the nodes are down at the payment deadline; the payer was in time. */
export const lastMinute: Journey = async (story) => {
  const { world } = story
  const { toAddress } = await accepted(story, 'crypto')
  await sleep(15 * MINUTE - 12 * SECOND)
  for (const node of world.endpoints) node.trouble = 'down'
  const lastMs = Date.now() + 12 * SECOND
  const hash = world.chain.pay(toAddress ?? '', story.due)
  story.expected = 'paid'
  await sleep(90 * SECOND)
  for (const node of world.endpoints) node.trouble = 'none'
  must(await story.reaches(PAID), 'a payment in time is not PAID after the outage')
  const { events } = await story.facts()
  // a reorganisation may have put it into a later block
  const isInTime = (world.chain.find(hash)?.block?.timestamp ?? 0) * 1000 <= lastMs
  must(
    !isInTime || !events.some(({ trigger }) => trigger === 'expire'),
    'an order expired while its chain was not read',
  )
}

/** 7: one provider hangs with many refunds; another provider's refund proceeds. */
export const hangingProvider: Journey = async (story) => {
  const { world, shop } = story
  const others = await Promise.all(
    Array.from({ length: 6 }, async () => {
      const other = new OrderStory(world, shop, 'hangingProvider')
      await other.createSold(4050)
      must(await pay(other, 'binance'), 'the payer cannot pay')
      must(await other.reaches(PAID), 'a full payment is not PAID')
      return other
    }),
  )
  must(await pay(story, 'gatepay'), 'the payer cannot pay')
  must(await story.reaches(PAID), 'a full payment is not PAID')
  world.hanging.add('/binance')
  await Promise.all(others.map((other) => revert(other)))
  await sleep(3 * SECOND)
  await revert(story)
  const isThrough = await story.reaches(['FULL_REFUNDED'], 20 * SECOND)
  world.hanging.clear()
  must(isThrough, 'a refund waits for another provider, which hangs')
  await Promise.all(others.map((other) => other.end()))
}

/** 8: paid in full, in another coin than the requested one. */
export const otherCoin: Journey = async (story) => {
  const { world } = story
  const payment = paymentAt(story, await accepted(story, 'whitepay'))
  const currency = world.random.pick(['USDT', 'BTC'])
  const isPart = world.random.chance(0.2)
  if (isPart) await world.providers.pay(payment, { currency, amount: currency === 'BTC' ? '0.00000100' : '0.500000' })
  else await world.providers.pay(payment, { currency })
  story.isConverted = true
  if (isPart) {
    story.expected = 'unpaid'
    return sleep(7 * MINUTE).then(() => undefined)
  }
  story.expected = 'paid'
  must(await story.reaches(PAID, 2 * MINUTE), `an order paid in full in ${currency} is not PAID`)
}

/** A person looks up in Crypto.com's dashboard what its API does not report, and enters it. */
async function settleByHand(story: OrderStory, reference: string, statement: string): Promise<void> {
  const { refunds } = await story.facts()
  const settle = `refunds/${refunds[0]?.id}/settle`
  const settled = await patiently(() => decide(story, settle, { reference, statement }), ['OBJECT_CONFLICT'])
  must(settled.status === 200, `a refund that only a person knows of cannot be settled by hand: ${settled.text}`)
  must(await story.reaches(['FULL_REFUNDED']), 'a refund that was settled by hand is not FULL_REFUNDED')
}

/** The refund request was lost on its way: Crypto.com has none, and a person sends the money another way. */
function settleLost(story: OrderStory): Promise<void> {
  const { stories } = story.world.providers
  // nothing of this refund reaches the provider any more: the next one must not consume what was prepared for it
  for (const name of ['refund-pending', 'refund-timeout-after-acceptance'] as const) stories.take(name, 'cryptopay')
  return settleByHand(story, `by hand for ${story.code}`, 'Crypto.com has no refund: sent from our wallet')
}

/** 9: Crypto.com accepted a refund and has not transferred it; and its answer may be lost. */
export const refundUnderWay: Journey = async (story) => {
  const { world } = story
  must(await pay(story, 'cryptopay'), 'the payer cannot pay')
  story.isConverted = true
  must(await story.reaches(PAID), 'a full payment is not PAID')
  const payment = world.providers.list().find(({ merchantReference }) => merchantReference.startsWith(story.id))
  must(payment !== undefined, 'Crypto.com does not know the payment')
  world.providers.stories.arm('refund-pending', { provider: 'cryptopay' })
  const isLost = world.random.chance(0.5)
  if (isLost) world.providers.stories.arm('refund-timeout-after-acceptance', { provider: 'cryptopay' })
  const asked = await revert(story)
  must(asked.status === 200, `a refund by Crypto.com answers ${asked.text}`)
  await sleep(3 * MINUTE)
  if (payment.refunds.length === 0 && world.weather.isBad) return settleLost(story)
  const [refund, ...others] = payment.refunds
  must(refund !== undefined && others.length === 0, `Crypto.com was asked for ${payment.refunds.length} refunds`)
  must((await story.status()) === 'REFUNDING', `it is ${await story.status()} before Crypto.com transferred anything`)
  world.providers.settleRefund(payment, refund)
  if (await story.reaches(['FULL_REFUNDED'])) return
  // it reports the transfer once
  must(world.weather.isBad, 'a transferred refund is not FULL_REFUNDED')
  await settleByHand(story, refund.id, 'The dashboard shows it as transferred.')
}

/** 9: the last refund attempt that Binance allows refunds everything that is left. */
export const lastAttempt: Journey = async (story) => {
  const payment = paymentAt(story, await accepted(story, 'binance'))
  payment.facts.refundAttempts = 1
  await story.world.providers.pay(payment)
  must(await story.reaches(PAID), 'a full payment is not PAID')
  await revert(story, { amount: inDecimal(story.due / 3n) })
  must(await story.reaches(['FULL_REFUNDED', 'REFUNDED'], 5 * MINUTE), 'Binance’s last refund never ends')
}

/** 10: a provider refuses our credentials for a moment; its channel recovers without intervention. */
export const refusedKey: Journey = async (story) => {
  const { world, shop } = story
  world.providers.stories.arm('credentials-refused', { provider: 'gatepay', seconds: 150 })
  const labels = { channel: 'gatepay', cause: 'credentials' }
  const isShut = async (): Promise<boolean> =>
    (await readMetric(world, 'comptoir_channel_circuit_open', labels)).includes(1)
  // longer than the first pause, so that a trial fails too
  let isShown = false
  for (let tries = 0; tries < 30; tries += 1) {
    await shop.once('POST', `accept/${story.code}`, { paymentChannel: 'gatepay' })
    await sleep(5 * SECOND)
    isShown ||= await isShut()
  }
  must(isShown, 'no node’s metrics say that Gate Pay refuses our credentials')
  // the second pause is two minutes
  for (let tries = 0; tries < 30; tries += 1) {
    const later = new OrderStory(world, shop, 'refusedKey')
    await later.createSold(4050)
    const reply = await shop.once<{ status: string }>('POST', `accept/${later.code}`, { paymentChannel: 'gatepay' })
    const isBack = reply?.data?.status === 'AWAITING'
    await later.post('cancel')
    await sleep(8 * SECOND)
    await later.end()
    // on every node: each has a circuit of its own
    if (isBack && !(await isShut())) return
  }
  throw new Broken('a channel that was refused once stays away')
}

/** 11: two price sources are 4 % apart: nothing is sold. */
export const pricesApart: Journey = async (story) => {
  const { world } = story
  world.market.distance = 1.04
  await sleep(3 * MINUTE)
  const late = new OrderStory(world, story.shop, 'pricesApart')
  const isMade = await late.create(4050)
  world.market.distance = 1
  must(!isMade, 'an order was made although the prices are 4 % apart')
  await sleep(2 * MINUTE)
}

/** 11: dust at an address locks no channel. */
export const dust: Journey = async (story) => {
  const { world } = story
  const { toAddress } = await accepted(story, 'crypto')
  world.chain.pay(toAddress ?? '', 5000n)
  await sleep(15 * SECOND)
  const { status, text } = await story.accept('binance')
  must(status === 200, `after dust, another channel answers ${text}`)
  if (await pay(story, 'binance')) story.expected = 'paid'
  must(await story.reaches(PAID), 'a full payment is not PAID')
}
