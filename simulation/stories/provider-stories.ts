import { setTimeout as sleep } from 'node:timers/promises'
import { magicOf } from '../../sandbox/providers/stories.ts'
import { accepted, inDecimal, MINUTE, must, openRecord, pauseMs, pay, paymentAt, revert, SECOND } from './acts.ts'
import type { Journey } from './money-stories.ts'

const PAID = ['PAID']

/** 9: Coinbase requires the payer's currency together with a preset amount, as its specification says. */
export const paymentCurrency: Journey = async (story) => {
  const { world } = story
  const payment = paymentAt(story, await accepted(story, 'coinbase'))
  must(payment.facts.paymentCurrency === 'EUR', `Coinbase is asked for a price in ${payment.facts.paymentCurrency}`)
  await sleep(pauseMs(story, 60 * SECOND))
  await world.providers.pay(payment)
  story.expected = 'paid'
  must(await story.reaches(PAID), 'a purchase that reached the chain is not PAID')
}

/** 9: Gate uses its own status for an order that we closed, and its callback does not reach us. */
export const closedAtGate: Journey = async (story) => {
  const { world } = story
  const callbacks = '/api/next/channels/gatepay/callback'
  await world.staff('gatepay', { closedStatus: world.random.pick(['CANCELLED', 'CLOSED']) })
  world.deaf.add(callbacks)
  await accepted(story, 'gatepay')
  await sleep(pauseMs(story, 30 * SECOND))
  await accepted(story, 'crypto')
  const isClosed = async (): Promise<boolean> =>
    (await story.facts()).payments.some(({ channel, status }) => channel === 'gatepay' && status === 'closed')
  for (let waitedMs = 0; waitedMs < 3 * MINUTE && !(await isClosed()); waitedMs += 5 * SECOND) await sleep(5 * SECOND)
  const isRight = await isClosed()
  world.deaf.delete(callbacks)
  await world.staff('gatepay', { closedStatus: 'EXPIRED' })
  must(isRight, 'a payment that was closed at Gate Pay stays open')
  if (await pay(story, 'crypto')) story.expected = 'paid'
}

/** 9: KuCoin receives the version that its integrators send, and the identity of the selling shop. */
export const shopAtKucoin: Journey = async (story) => {
  const { version, subMerchantId } = paymentAt(story, await accepted(story, 'kucoinpay')).facts
  must(version === '3.8.1', `KuCoin Pay is asked with version ${version}`)
  must(/^[0-9a-f]{8}$/.test(String(subMerchantId)), `KuCoin Pay is told the sub-merchant ${subMerchantId}`)
  if (await pay(story, 'kucoinpay')) story.expected = 'paid'
}

/** 9: Gate Pay accepts money for an order that we closed there, reports it as delayed, and keeps it for a person. */
export const paidAfterClose: Journey = async (story) => {
  const { world } = story
  const payment = paymentAt(story, await accepted(story, 'gatepay'))
  // some amounts make the imitation act automatically
  if (magicOf(payment.amount) !== undefined) return
  const { status } = await story.post('cancel')
  must(status === 200, 'an order that nobody paid cannot be cancelled')
  for (let tries = 0; tries < 120 && world.providers.refresh(payment).state === 'open'; tries += 1) await sleep(SECOND)
  await sleep(pauseMs(story, 5 * MINUTE))
  // while the service could reach its database or Gate, it closed the order there; otherwise the money counts as late
  const kind = world.providers.refresh(payment).state === 'open' ? 'late' : 'wrong_token'
  await world.providers.pay(payment)
  story.expected = 'unpaid'
  // in another story Gate refuses our key for 150 s: a node asks it again two minutes after that, and the look that
  // failed meanwhile is repeated after five
  const { amount } = await openRecord(story, kind, world.weather.isBad ? 8 : 0)
  must(amount === inDecimal(story.due), `of ${inDecimal(story.due)} that came late the record says ${amount}`)
}

/** 9: someone refunds the rest from Binance's console while a refund of ours is on its way there. */
export const consoleRefund: Journey = async (story) => {
  const { world } = story
  const payment = paymentAt(story, await accepted(story, 'binance'))
  if (magicOf(payment.amount) !== undefined) return
  await world.providers.pay(payment)
  must(await story.reaches(PAID), 'a full payment is not PAID')
  await revert(story, { amount: inDecimal(story.due / 3n) })
  for (let tries = 0; tries < 600 && payment.refunds.length === 0; tries += 1) await sleep(100)
  await sleep(world.random.next() ** 2 * 10 * SECOND)
  const [id, amount] = [`console-${payment.reference}`, world.providers.refundable(payment)]
  world.providers.refund(payment, { id, requestId: id, amount })
  must(await story.reaches(['FULL_REFUNDED'], 10 * MINUTE), 'what left from Binance’s console is not in the books')
}
