import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { hasPhp, openPhpShop, type PhpShop } from './harness/php-shop.ts'

/* What the WooCommerce module keeps of how an order was paid, where WooCommerce's own facts do not agree. */

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

type Known = {
  answer: unknown
  status: string
  completed: number
  notes: string[]
  mails: string[]
  letters: string[]
  transaction: string
}

const tell = (command: Record<string, unknown>): Promise<Known> => php.tell<Known>(command)
const withPhp = hasPhp ? test : () => {}
const round = (order: number, set: Record<string, unknown> = {}, more: Record<string, unknown> = {}) =>
  tell({ do: 'catchUp', order, set, ...more })
const refundInFull = (code: string) =>
  php.shop.host.db.run(sql`update orders set status = 'FULL_REFUNDED' where code = ${code}`)

/** The money is there, and the shop has not heard of it yet. */
async function received(order: number): Promise<string> {
  const { answer } = await tell({ do: 'pay', order })
  const code = new URL((answer as { redirect: string }).redirect).searchParams.get('code') ?? ''
  await php.payUntilPaid(code)
  return code
}

async function paid(order: number): Promise<string> {
  const code = await received(order)
  assert.equal((await round(order)).status, 'processing')
  return code
}

for (const [order, status] of [
  [601, 'pending'],
  [602, 'on-hold'],
] as const) {
  withPhp(`where orders are posts, an order (${status}) whose status is not taken is completed next time`, async () => {
    const code = await received(order)
    const half = await round(order, { status }, { saves: 'metas' })
    assert.deepEqual([half.status, half.transaction], [status, code], 'the transaction is written all the same')
    const done = await round(order)
    assert.deepEqual([done.status, done.notes, done.mails], ['processing', [], []])
    assert.equal((await round(order)).completed, done.completed)
  })
}

for (const [order, status] of [
  [646, 'in-production'],
  [647, 'on-hold'],
] as const) {
  withPhp(`an order whose completion was cut short is not completed again in a later state (${status})`, async () => {
    const code = await received(order)
    const half = await round(order, {}, { saves: 'metas' })
    const later = await round(order, { status })
    assert.deepEqual([later.status, later.transaction], [status, code])
    assert.deepEqual([later.completed, later.notes, later.mails], [half.completed, [], []])
  })
}

withPhp('the customer of an order whose status was not taken is not sent to the shop', async () => {
  await received(603)
  await round(603, {}, { saves: 'metas' })
  const click = await tell({ do: 'pay', order: 603 })
  assert.deepEqual(
    [click.status, click.answer],
    ['processing', { result: 'success', redirect: 'https://shop.example/thanks/603' }],
  )
})

for (const [order, what, more] of [
  [604, 'and a process that died', { throws: 604 }],
  [605, 'and another plugin that threw', {}],
] as const) {
  withPhp(`an order with its status alone, ${what}, was paid by its only payment`, async () => {
    const code = await received(order)
    const half = await round(order, {}, { saves: 'row', ...more })
    assert.deepEqual([half.status, half.transaction], ['processing', ''])
    const done = await round(order)
    assert.deepEqual(
      [done.status, done.completed, done.mails, done.transaction],
      ['processing', half.completed, [], code],
    )
    await refundInFull(code)
    assert.equal((await round(order)).status, 'refunded')
  })
}

withPhp('an order that another plugin moves back at once is completed once', async () => {
  const code = await received(606)
  const seen = await round(606, { modified: Math.floor(Date.now() / 1000) - 100 }, { movesBack: true })
  assert.deepEqual([seen.status, seen.completed], ['pending', 1])
  const next = await round(606)
  assert.deepEqual([next.status, next.completed], ['pending', 1])
  assert.match(next.notes.join(), new RegExp(`^The payment ${code} .* paid this order before it was opened again`))
})

/** What a form of the back office sends that was opened before the payment. */
const FORM = { status: 'pending', transaction: '' }

withPhp('a form that was opened before the payment and saved after it takes no payment back', async () => {
  const code = await paid(611)
  const again = await round(611, FORM)
  assert.deepEqual([again.status, again.completed, again.transaction, again.mails], ['processing', 2, code, []])
  assert.match(again.notes.join(), new RegExp(`^The payment ${code} .* saved since, and put the old status back`))
  await refundInFull(code)
  assert.equal((await round(611, FORM)).status, 'refunded', 'its refund is the order’s')
})

withPhp('an order that such a form has overwritten, of another price by now, waits for a person', async () => {
  const code = await paid(612)
  const seen = await round(612, { ...FORM, total: '60.00' })
  assert.deepEqual([seen.status, seen.completed, seen.mails.length], ['on-hold', 1, 1])
  assert.match(seen.letters.join(), new RegExp(`^Paid 50.00 EUR by ${code}, which is not the total`))
  const later = await round(612)
  assert.deepEqual([later.status, later.notes], ['on-hold', seen.notes])
})

withPhp('a paid order that such a form has put on hold again says that it is paid, once', async () => {
  const code = await paid(613)
  const seen = await round(613, { ...FORM, status: 'on-hold' })
  assert.deepEqual([seen.status, seen.completed, seen.mails], ['on-hold', 1, []])
  assert.match(seen.notes.at(-1) ?? '', new RegExp(`^The payment ${code} .* has paid this order`))
  assert.deepEqual((await round(613)).notes, seen.notes)
})

withPhp(
  'an order that a person has opened again is not completed, though its transaction is deleted then',
  async () => {
    await paid(614)
    await round(614, { status: 'pending' })
    const seen = await round(614, { transaction: '' })
    assert.deepEqual([seen.status, seen.completed, seen.notes.length], ['pending', 1, 1])
  },
)

withPhp('an order that an earlier version saw paid, and a person opened again, is not completed', async () => {
  const code = await paid(615)
  const meta = { _comptoir_code: [code], _comptoir_said: ['x'] }
  const seen = await round(615, { status: 'pending', meta })
  assert.deepEqual([seen.status, seen.completed, seen.notes.length], ['pending', 1, 1])
})

const OTHER = [
  [621, 'a bank transfer, which has no transaction', { method: 'bacs', transaction: '' }],
  [622, 'a terminal for the difference', { transaction: 'terminal 4711', total: '60.00' }],
] as const
for (const [order, way, facts] of OTHER) {
  withPhp(
    `an order that is paid by ${way}, after its payment, is sent, and its first payment is no refund`,
    async () => {
      const code = await paid(order)
      await round(order, { status: 'pending' })
      const seen = await round(order, { status: 'processing', ...facts })
      assert.deepEqual(
        [seen.status, seen.mails],
        ['processing', [`shop@shop.example: Order ${order}: please check its payment`]],
      )
      assert.match(
        seen.letters.join(),
        new RegExp(`^The payment ${code} \\(50.00 EUR\\) paid this order first, and the order`),
      )
      assert.match(seen.letters.join(), /Compare both sums with the total/)
      assert.deepEqual((await round(order)).mails, [], 'once')
      await refundInFull(code)
      const back = await round(order, order === 622 ? { transaction: '0' } : {})
      assert.deepEqual([back.status, back.notes.at(-1)], ['processing', `The payment ${code} was refunded in full.`])
    },
  )
}

withPhp('an order that waits for a bank transfer in place of its payment is not completed by that', async () => {
  await paid(623)
  const seen = await round(623, { status: 'pending', method: 'bacs', transaction: '' })
  assert.deepEqual([seen.status, seen.completed], ['pending', 1])
})

withPhp(
  'an order on hold for a bank transfer, after its payment, is not paid another way before the money is there',
  async () => {
    const code = await paid(624)
    const seen = await round(624, { status: 'on-hold', method: 'bacs', transaction: '' })
    assert.deepEqual([seen.status, seen.mails], ['on-hold', []])
    assert.match(seen.notes.at(-1) ?? '', new RegExp(`^The payment ${code} .* paid this order before it was opened`))
    const back = await round(624, { status: 'processing', method: 'comptoir' })
    assert.deepEqual([back.status, back.mails, back.completed], ['processing', [], 1], 'it is no surplus')
    await round(624, { status: 'on-hold', method: 'bacs' })
    const bank = await round(624, { status: 'processing' })
    assert.deepEqual([bank.status, bank.mails.length], ['processing', 1])
    assert.match(bank.letters.join(), /Compare both sums with the total/)
  },
)

const STOPPED = [
  [631, 'cancels', () => tell({ do: 'cancel', order: 631 })],
  [632, 'refunds', () => tell({ do: 'cancel', order: 632, status: 'refunded' })],
  [633, 'holds', () => round(633, { status: 'on-hold' })],
] as const
for (const [order, what, stop] of STOPPED) {
  withPhp(`a paid order that a person ${what} is not completed by a form that was opened before`, async () => {
    const code = await paid(order)
    await stop()
    const seen = await round(order, FORM)
    assert.deepEqual([seen.status, seen.completed, seen.mails.length], ['on-hold', 1, 1])
    assert.match(
      seen.letters.join(),
      new RegExp(`^The payment ${code} .* It was on hold, cancelled or refunded before`),
    )
    const next = await round(order)
    assert.deepEqual([next.status, next.notes, next.mails], ['on-hold', seen.notes, []], 'once')
    await round(order, { status: 'processing' })
    const again = await round(order, FORM)
    assert.deepEqual([again.status, again.completed], ['processing', 2], 'a person has let it go on')
  })
}

withPhp('a paid order whose refund has begun is not completed by a form that was opened before', async () => {
  for (const [order, fields] of [
    [634, {}],
    [635, { total: '60.00' }],
  ] as const) {
    const code = await paid(order)
    await php.shop.host.db.run(sql`update orders set status = 'REFUNDING' where code = ${code}`)
    const seen = await round(order, { ...FORM, ...fields })
    assert.deepEqual([seen.status, seen.completed, seen.mails.length], ['on-hold', 1, 1])
    assert.match(seen.letters.join(), new RegExp(`A refund of the payment ${code} has begun in Comptoir\\.`))
  }
})

withPhp('a half completed order that is cancelled before the next look is put before a person', async () => {
  const code = await received(636)
  const half = await round(636, {}, { saves: 'metas' })
  assert.equal(half.status, 'pending')
  await tell({ do: 'cancel', order: 636 })
  const seen = await round(636)
  assert.deepEqual([seen.status, seen.completed, seen.mails.length], ['on-hold', half.completed, 1])
  assert.match(seen.letters.join(), new RegExp(`^Paid 50.00 EUR by ${code} after the order had been cancelled`))
  const next = await round(636)
  assert.deepEqual([next.status, next.notes], ['on-hold', seen.notes])
})
