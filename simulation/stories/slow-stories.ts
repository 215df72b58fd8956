import { setTimeout as sleep } from 'node:timers/promises'
import {
  accepted,
  Broken,
  decide,
  decideRecord,
  HOUR,
  inDecimal,
  loseFromChain,
  MINUTE,
  must,
  openRecord,
  patiently,
  pay,
  paymentAt,
  revert,
  SECOND,
} from './acts.ts'
import type { Journey } from './money-stories.ts'
import { OrderStory } from './order-story.ts'

const PAID = ['PAID']

type Made = { _id: string; amount: string }

const settle = (story: OrderStory) => decide<Made>(story, 'settlements', { companyId: story.shop.merchant.companyId })

/** Settles everything owed to the company. @returns the amount, as decimal text */
async function settleAll(story: OrderStory): Promise<string> {
  const { world, shop } = story
  const made = await patiently(() => settle(story), ['BOOKS_DIFFER', 'OBJECT_CONFLICT'])
  must(made.status === 200, `a settlement answers ${made.text}`)
  // a reorganisation may remove a payment for some blocks, and then it must not be paid out
  const approve = () => decide(story, `settlements/${made.data._id}/approve`, {})
  const approved = await patiently(approve, ['BOOKS_DIFFER', 'OBJECT_CONFLICT'])
  must(approved.status === 200, `its approval answers ${approved.text}`)
  const before = world.chain.balanceAt(shop.settlementAddress)
  const status = async (): Promise<string> => {
    const words = 'select status from settlements where company_id = $1 and id = $2'
    return (await world.oracle.one<{ status: string }>(words, [shop.merchant.companyId, made.data._id])).status
  }
  const explain = async (): Promise<string> => {
    const words = `select to_jsonb(s) as settlement,
      (select jsonb_agg(to_jsonb(p)) from chain_payouts p where p.id like '%' || s.id || '%') as payouts
      from settlements s where s.company_id = $1 and s.id = $2`
    return JSON.stringify(await world.oracle.one(words, [shop.merchant.companyId, made.data._id]))
  }
  const mostTries = world.weather.isBad ? 200 : 100
  for (let tries = 0; tries < mostTries && (await status()) !== 'paid'; tries += 1) await sleep(3 * SECOND)
  if ((await status()) !== 'paid') throw new Broken(`an approved settlement is not paid: ${await explain()}`)
  const got = inDecimal(world.chain.balanceAt(shop.settlementAddress) - before)
  must(got === made.data.amount, `${got} were settled, not ${made.data.amount}`)
  return got
}

/** 6: everything was settled; a refund has no cover, and is refused with the reason. */
export const settledFirst: Journey = async (story) => {
  await story.moveToOwnShop(5050)
  must(await pay(story, 'crypto'), 'the payer cannot pay')
  must(await story.reaches(PAID), 'a full payment is not PAID')
  story.expected = 'paid'
  await settleAll(story)
  const refused = await revert(story)
  must(refused.code === 'REFUND_NOT_COVERED', `a refund without cover answers ${refused.status} ${refused.code}`)
}

/** Pays on the chain, and loses the payment again when it is PAID. */
async function payAndLose(story: OrderStory, meanwhile: () => Promise<unknown> = async () => {}): Promise<void> {
  const { world } = story
  const { toAddress } = await accepted(story, 'crypto')
  const hash = world.chain.pay(toAddress ?? '', story.due)
  must(await story.reaches(PAID), 'a full payment is not PAID')
  story.expected = 'paid'
  await meanwhile()
  await sleep(5 * SECOND)
  await loseFromChain(story, hash)
}

/** 2: money that left the chain is not settled, until a person decides. */
export const lostThenSettled: Journey = async (story) => {
  await story.moveToOwnShop(5050)
  await payAndLose(story)
  await openRecord(story, 'orphaned')
  const refused = await settle(story)
  must(refused.status === 409, `money that left the chain is settled: ${refused.status} ${refused.text}`)
  await decideRecord(story, 'orphaned', { way: 'bear', by: 'operator' })
}

/** 2: the money leaves the chain after it was settled; the company bears the loss, out of its next earnings. */
export const lossAfterSettlement: Journey = async (story) => {
  await story.moveToOwnShop(5050)
  const got: string[] = []
  await payAndLose(story, async () => got.push(await settleAll(story)))
  await decideRecord(story, 'orphaned', { way: 'bear', by: 'company' })
  const next = new OrderStory(story.world, story.shop, 'lossAfterSettlement')
  await next.createSold(25_050)
  must(await pay(next, 'crypto'), 'the payer cannot pay')
  next.expected = 'paid'
  must(await next.reaches(PAID), 'a full payment is not PAID')
  const settled = await settleAll(story)
  const { accounts } = await next.facts()
  const earned = -BigInt(accounts.company_payable ?? 0)
  must(settled === inDecimal(earned - story.due), `${settled} were settled of ${earned}, after a loss of ${story.due}`)
  await next.end()
}

/** 7: a provider is slow with a refund. No other node sends it meanwhile (the network watches that). */
export const slowRefund: Journey = async (story) => {
  const { world } = story
  must(await pay(story, 'binance'), 'the payer cannot pay')
  must(await story.reaches(PAID), 'a full payment is not PAID')
  story.expected = 'paid'
  world.slow.set('/binance', 9 * SECOND)
  await revert(story)
  await sleep(30 * SECOND)
  world.slow.delete('/binance')
  must(await story.reaches(['FULL_REFUNDED']), 'a refund at a slow provider never ends')
}

/** 8: a deposit that needs a memo is paid on the provider's page; with only the address the money would be lost. */
export const memo: Journey = async (story) => {
  const { world } = story
  world.memo = '7700131'
  const { toAddress, checkoutUrl } = await accepted(story, 'whitepay-non-custody')
  world.memo = null
  must(toAddress === null, `the payer is shown the address ${toAddress} without its memo`)
  must(checkoutUrl !== null, 'the payer has no page that shows the memo')
  await story.post('cancel')
  story.expected = 'unpaid'
}

/** 9: the franc Pacifique has no decimals, and Crypto.com does not support it. */
export const noDecimals: Journey = async (story) => {
  const francs = new OrderStory(story.world, story.shop, 'noDecimals')
  await francs.createSold(6000, 'XPF')
  must(francs.fromAmount === '6000', `6000 XPF become ${francs.fromAmount}`)
  must(francs.due > 45_000_000n && francs.due < 65_000_000n, `6000 XPF cost ${francs.due} units of USDC`)
  const asked = '/api/next/channels?amount=6000&fromAsset=XPF'
  const { data } = await patiently(
    () => story.shop.call<{ paymentChannel: string; available: boolean }[]>('GET', asked),
    ['INVALID_EXCHANGE_RATE'],
  )
  const isOffered = data.some(({ paymentChannel, available }) => paymentChannel === 'cryptopay' && available)
  must(!isOffered, 'Crypto.com is offered for a price in XPF')
  const refused = await francs.accept('cryptopay')
  must(refused.code === 'CHANNEL_NOT_AVAILABLE', `Crypto.com takes XPF: ${refused.status} ${refused.code}`)
  must(await pay(francs, 'binance'), 'the payer cannot pay')
  francs.expected = 'paid'
  must(await francs.reaches(PAID), 'a full payment is not PAID')
  await francs.end()
  await story.post('cancel')
  story.expected = 'unpaid'
}

/** 11: one price source answers in time and never moves. After an hour sales stop. */
export const frozenFeed: Journey = async (story) => {
  const { world, shop } = story
  await story.post('cancel')
  story.expected = 'unpaid'
  world.market.isFrozen = true
  const isSold = async (): Promise<boolean> => {
    const late = new OrderStory(world, shop, 'frozenFeed')
    if (!(await late.create(4050))) return false
    await late.post('cancel')
    await late.end()
    return true
  }
  for (let minutes = 0; minutes < 100; minutes += 5) {
    world.jump(5 * MINUTE)
    await sleep(2 * SECOND)
    // a node counts only while it looks at the price, so each node gets requests
    for (let tries = 0; tries < 16; tries += 1) await shop.call('GET', '/api/next/channels?amount=6.00&fromAsset=EUR')
    for (let tries = 0; tries < 4; tries += 1)
      if (!(await isSold())) {
        world.market.isFrozen = false
        must(minutes >= HOUR / MINUTE / 2, `nothing is sold after ${minutes} minutes of one price`)
        return
      }
  }
  world.market.isFrozen = false
  // who starts anew counts anew, and in bad weather no node may live for an hour
  must(world.weather.isBad, 'a price that has not moved for 100 minutes is sold by')
}

/** 3: a provider reverses a payment. Its money is not paid out until that is explained. */
export const takenBack: Journey = async (story) => {
  const { world } = story
  await story.moveToOwnShop(5050)
  const payment = paymentAt(story, await accepted(story, 'binance'))
  await world.providers.pay(payment)
  must(await story.reaches(PAID), 'a full payment is not PAID')
  story.expected = 'paid'
  payment.state = 'closed'
  world.jump(25 * HOUR)
  await sleep(3 * MINUTE)
  const refused = await settle(story)
  must(refused.code === 'BOOKS_DIFFER', `money that a provider denies is settled: ${refused.status} ${refused.code}`)
  payment.state = 'paid'
  world.jump(25 * HOUR)
  await sleep(3 * MINUTE)
  const made = await settle(story)
  must(made.status === 200, `after the explanation, a settlement answers ${made.text}`)
}
