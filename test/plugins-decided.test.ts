import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { hasPhp, openPhpShop, type PhpShop } from './harness/php-shop.ts'
import { waitFor } from './harness/receiver.ts'

/* What a person decides about a WooCommerce order is not undone by news that the module has acted on before. */

let php: PhpShop

before(async () => {
  if (!hasPhp) return
  php = await openPhpShop('woocommerce', 'comptoir', ({ host, merchant }) => {
    const { 'x-api-key': api_key, 'x-api-secret': api_secret } = merchant.headers
    const options = { base_url: host.baseUrl, api_key, api_secret, till: 'TILL-1' }
    return { OPTIONS: { ...options, webhook_secret: merchant.webhookSecret } }
  })
})
after(() => php?.stop())

type Known<Data> = {
  answer: Data
  status: string
  completed: number
  notes: string[]
  mails: string[]
  notices: string[]
}

const tell = <Data>(command: Record<string, unknown>): Promise<Known<Data>> => php.tell<Known<Data>>(command)
const withPhp = hasPhp ? test : () => {}

async function pay(order: number, set: Record<string, unknown> = {}): Promise<string> {
  const { answer } = await tell<{ redirect: string }>({ do: 'pay', order, set })
  return new URL(answer.redirect).searchParams.get('code') ?? answer.redirect
}

const round = (order: number, set: Record<string, unknown> = {}, more: Record<string, unknown> = {}) =>
  tell({ do: 'catchUp', order, set, ...more })
const statusOf = async (code: string): Promise<string> =>
  (await php.shop.host.call<{ status: string }>('GET', `status/${code}`)).data.status
const refundInFull = (code: string) =>
  php.shop.host.db.run(sql`update orders set status = 'FULL_REFUNDED' where code = ${code}`)

async function paid(order: number): Promise<string> {
  const code = await pay(order)
  await php.payUntilPaid(code)
  assert.equal((await round(order)).status, 'processing')
  return code
}

async function refunded(order: number): Promise<string> {
  const code = await paid(order)
  await refundInFull(code)
  assert.equal((await round(order)).status, 'refunded')
  return code
}

const METAS = ['_comptoir_code', '_comptoir_said', '_comptoir_surplus', '_comptoir_refund', '_comptoir_open_refunds']

/** The order as 0.4.0 left it: no value names its owner, and no news but its sentences. */
async function asOld(order: number, sentence: string): Promise<void> {
  const { answer } = await tell<Record<string, string[]>>({ do: 'meta', order })
  const old = Object.entries(answer).filter(([name]) => METAS.includes(name) && name !== '_comptoir_said')
  const texts = old.map(([name, values]) => [name, values.map((value) => value.split(' ').slice(2).join(' '))])
  await tell({ do: 'look', order, set: { meta: { ...Object.fromEntries(texts), _comptoir_said: [sentence] } } })
}

withPhp('a refunded order that a person opens again is paid by its new payment, which nobody closes', async () => {
  const first = await refunded(301)
  const next = await pay(301, { status: 'pending' })
  const seen = await round(301)
  assert.deepEqual([seen.status, await statusOf(next)], ['pending', 'INITIAL'])
  await php.payUntilPaid(next)
  const again = await round(301)
  assert.deepEqual([again.status, again.completed, again.mails], ['processing', 2, []])
  assert.equal((await round(301)).notes.filter((note) => note.includes(first)).length, 1, 'its refund is said once')
  await refundInFull(next)
  assert.equal((await round(301)).status, 'refunded', 'the refund of the second one is news')
})

withPhp('an order that is opened again before the shop hears of the refund keeps its new payment open', async () => {
  const first = await paid(302)
  await refundInFull(first)
  const next = await pay(302, { status: 'pending' })
  const seen = await round(302)
  assert.deepEqual([seen.status, await statusOf(next)], ['pending', 'INITIAL'])
  assert.equal(seen.notes.at(-1), `The payment ${first} was refunded in full.`)
  await refundInFull(await paid(309))
  assert.equal((await round(309, { status: 'pending' })).status, 'pending', 'also before its customer is back')
})

withPhp('a refunded order that the bank paid keeps its status, also after an upgrade', async () => {
  await refunded(303)
  assert.equal((await round(303, { status: 'processing' })).status, 'processing')
  await asOld(303, 'Refunded through Comptoir.')
  const upgraded = await round(303)
  assert.deepEqual([upgraded.status, upgraded.notes.length], ['processing', 1])
})

withPhp(
  'a failed order that a person puts on hold for a bank transfer stays there, also after an upgrade',
  async () => {
    const code = await pay(304)
    await php.expire(code)
    assert.equal((await round(304)).status, 'failed')
    assert.equal((await round(304, { status: 'on-hold' })).status, 'on-hold')
    await asOld(304, `The payment ${code} ended unpaid.`)
    const upgraded = await round(304)
    assert.deepEqual([upgraded.status, upgraded.notes.length], ['on-hold', 1])
  },
)

withPhp(
  'a paid order that is opened again is not completed by its payment, and the shop is told so, once',
  async () => {
    const code = await paid(305)
    const paidBefore = `The payment ${code} (50.00 EUR) paid this order before it was opened again.`
    for (const status of ['failed', 'pending', 'on-hold']) {
      const seen = await round(305, { status })
      assert.deepEqual([seen.status, seen.completed, seen.notes.length], [status, 1, 1])
      assert.equal(
        seen.notes[0],
        `${paidBefore} It is not asked for again here: set the status back, or ask for a difference another way.`,
      )
    }
    await round(305, { status: 'processing' })
    const second = await round(305, { status: 'pending' })
    assert.deepEqual([second.status, second.notes.length], ['pending', 2], 'each time that it is opened')
    assert.equal((await tell<boolean>({ do: 'timeOut', order: 305, set: { status: 'pending' } })).answer, false)
    assert.equal(await statusOf(code), 'PAID')
  },
)

withPhp('the customer of an order that is opened again is not thanked for a second payment', async () => {
  await paid(312)
  const click = await tell<{ result: string; redirect?: string }>({
    ...{ do: 'pay', order: 312 },
    set: { status: 'pending', total: '60.00' },
  })
  assert.deepEqual([click.answer, click.status, click.notes.length], [{ result: 'failure' }, 'pending', 1])
  assert.match(click.notices.join(), /^This order has been paid already, .* Please ask the shop/)
  const back = await tell<{ redirect: string }>({ do: 'pay', order: 312, set: { status: 'processing' } })
  assert.equal(back.answer.redirect, 'https://shop.example/thanks/312')
})

withPhp('a payment of another price that a person has decided about pays nothing by itself later', async () => {
  const code = await pay(311)
  await php.payUntilPaid(code)
  assert.equal((await round(311, { total: '60.00' })).status, 'on-hold')
  await round(311, { status: 'cancelled' })
  const again = await round(311, { status: 'pending', total: '50.00' })
  assert.deepEqual([again.status, again.completed, again.mails], ['pending', 0, []])
})

withPhp('other news of a payment is acted on, though the same was news before', async () => {
  const code = await pay(306)
  const payLate = await php.choose(code)
  await php.shop.host.call('POST', `cancel/${code}`, { as: php.shop.merchant })
  assert.equal((await round(306)).status, 'failed')
  await payLate()
  await waitFor('the late money', async () => {
    const path = `/api/next/mispayments?code=${code}&status=open`
    return (await php.shop.host.call<{ total: number }>('GET', path, { as: php.shop.merchant })).data.total > 0
  })
  assert.equal((await round(306)).status, 'on-hold')
  assert.equal((await round(306, { status: 'pending' })).status, 'pending', 'a person asks for another payment')
  await php.shop.host.db.run(sql`update mispayments set status = 'ignored' where order_id in
    (select id from orders where code = ${code})`)
  assert.equal((await round(306)).status, 'failed', 'the money is no longer held')
})

withPhp('a status that WooCommerce could not change is changed by the next look', async () => {
  const code = await pay(307)
  await php.expire(code)
  const stuck = await round(307, {}, { completes: false })
  assert.deepEqual([stuck.status, stuck.notes], ['pending', []])
  // WooCommerce says true of a row that its database did not take
  assert.equal((await round(307, {}, { saves: false })).status, 'pending')
  assert.equal((await round(307)).status, 'failed')
  const late = await pay(308)
  await php.payUntilPaid(late)
  await tell({ do: 'look', order: 308, set: { status: 'cancelled' } })
  assert.equal((await round(308, {}, { completes: false })).status, 'cancelled')
  assert.deepEqual((await round(308, {}, { saves: false })).mails, [])
  const told = await round(308)
  assert.deepEqual([told.status, told.completed, told.mails.length], ['on-hold', 0, 1])
  assert.deepEqual((await round(308)).mails, [])
  const back = await paid(313)
  await refundInFull(back)
  assert.equal((await round(313, {}, { saves: false })).status, 'processing')
  assert.equal((await round(313)).status, 'refunded')
})

withPhp('a paid order whose transaction WooCommerce empties is still paid by its payment, not twice', async () => {
  const code = await paid(321)
  await round(321, { status: 'completed' })
  for (const transaction of ['0', '']) {
    const seen = await round(321, { transaction })
    assert.deepEqual([seen.status, seen.notes, seen.mails], ['completed', [], []])
  }
  assert.equal((await tell<boolean>({ do: 'refund', order: 321, amount: 20 })).answer, true)
  await refundInFull(code)
  assert.equal((await round(321)).status, 'refunded', 'its refund is the order’s')
  await paid(322)
  await asOld(322, 'x')
  assert.deepEqual((await round(322, { transaction: '0' })).mails, [], 'its customer was forgotten before an upgrade')
})

withPhp(
  'an order that is paid by card after its payment went to a person keeps its state, also forgotten',
  async () => {
    const code = await paid(323)
    const card = { status: 'processing', method: 'stripe', transaction: 'pi_card' }
    assert.equal((await round(323, card)).mails.length, 1, 'paid a second time')
    await round(323, { status: 'processing', transaction: '0' })
    await refundInFull(code)
    const seen = await round(323)
    assert.deepEqual([seen.status, seen.mails], ['processing', []])
  },
)

withPhp(
  'a payment of which WooCommerce only says that it completed the order completes it with the next look',
  async () => {
    const code = await pay(324)
    await php.payUntilPaid(code)
    assert.equal((await round(324, {}, { saves: false })).status, 'pending')
    const seen = await round(324)
    assert.deepEqual([seen.status, seen.completed], ['processing', 1])
  },
)

withPhp('a status that another plugin moves back at once is changed once, and its news is told', async () => {
  const code = await pay(314)
  await php.expire(code)
  const seen = await round(314, { modified: Math.floor(Date.now() / 1000) - 100 }, { movesBack: true })
  assert.deepEqual([seen.status, seen.notes], ['pending', [`The payment ${code} ended unpaid.`]])
  assert.equal((await round(314)).status, 'pending')
})
