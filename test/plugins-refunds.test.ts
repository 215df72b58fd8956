import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { logInSuperAdmin } from './harness/accounts.ts'
import { hasPhp, openPhpShop, type PhpShop, startInFront } from './harness/php-shop.ts'
import { refundReaches } from './harness/refunds.ts'
import type { OrderData } from './harness/shop.ts'

/* Refunds that a shop began in WooCommerce: said again, rejected, or unknown to Comptoir. */

const PAYER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

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

type Known<Data> = { answer: Data; status: string; completed: number; notes: string[]; mails: string[] }

const tell = <Data>(command: Record<string, unknown>): Promise<Known<Data>> => php.tell<Known<Data>>(command)
const withPhp = hasPhp ? test : () => {}

async function paid(order: number): Promise<string> {
  const { answer } = await tell<{ redirect: string }>({ do: 'pay', order })
  const code = new URL(answer.redirect).searchParams.get('code') ?? ''
  await php.payUntilPaid(code)
  await tell({ do: 'webhook', order, ...(await php.hookOf('order.paid', code)) })
  return code
}

/** The first value that the module keeps, without its owner and its place. */
const textOf = (values: string[] | undefined): string => values?.[0]?.split(' ').slice(2).join(' ') ?? '{}'

async function refundsOf(code: string): Promise<{ _id: string; amount: string }[]> {
  const path = `/api/next/refunds?code=${code}`
  type List = { refunds: { _id: string; amount: string }[] }
  return (await php.shop.host.call<List>('GET', path, { as: php.shop.merchant })).data.refunds
}

withPhp('a refund whose answer was lost, tried again with another reason, is the same refund', async () => {
  const code = await paid(401)
  await tell({ do: 'refund', order: 401, amount: 20, reason: 'Cold', lost: true })
  const again = await tell<boolean>({ do: 'refund', order: 401, amount: 20, reason: 'Arrived cold' })
  assert.equal(again.answer, true)
  assert.deepEqual(
    (await refundsOf(code)).map(({ amount }) => amount),
    ['21.600000'],
  )
})

/** Pays a little less than the 54 USDC of an order, which the shop's tolerance takes. */
async function paidShort(order: number) {
  const { host, chain, merchant } = php.shop
  const { answer } = await tell<{ redirect: string }>({ do: 'pay', order })
  const code = new URL(answer.redirect).searchParams.get('code') ?? ''
  const { data } = await php.shop.accept(code, { network: chain.chainId, userAddress: PAYER })
  await chain.pay({ to: data.toAddress, units: 53_800_000n })
  await php.shop.makeFinal()
  await php.shop.reaches(code, 'PAID')
  await tell({ do: 'webhook', order, ...(await php.hookOf('order.paid', code)) })
  const { _id: id } = (await host.call<OrderData>('GET', `status/${code}`, { as: merchant })).data
  const refund = async (amount: number, more = {}) => {
    const { answer: done } = await tell<boolean>({ do: 'refund', order, amount, ...more })
    return done
  }
  return { code, refund, settled: () => refundReaches(php.shop, id, 'settled') }
}

withPhp(
  'a part of a price that did not arrive whole is the same part of what arrived, and the last takes the rest',
  async () => {
    const { code, refund, settled } = await paidShort(405)
    await refund(20, { lost: true })
    assert.equal(await refund(20), true, 'the same click, while it is under way')
    await settled()
    assert.equal(await refund(5), true)
    await settled()
    await refund(25, { lost: true })
    assert.equal(await refund(25), true)
    const amounts = (await refundsOf(code)).map(({ amount }) => amount)
    assert.deepEqual(amounts.sort(), ['21.520000', '26.900000', '5.380000'])
  },
)

withPhp(
  'after a part of the price, as earlier versions took, the last part is what is left; a larger one is none',
  async () => {
    const { code, refund, settled } = await paidShort(406)
    const revert = await php.shop.host.call('POST', `revert/${code}`, { as: php.shop.merchant, body: { amount: '27' } })
    assert.equal(revert.status, 200, revert.text)
    await settled()
    assert.notEqual(await refund(30), true)
    assert.equal(await refund(25), true)
    assert.deepEqual((await refundsOf(code)).map(({ amount }) => amount).sort(), ['26.800000', '27.000000'])
  },
)

withPhp('a refund that Comptoir does not know is not called rejected; after days a person is told, once', async () => {
  await paid(402)
  assert.equal((await tell<boolean>({ do: 'refund', order: 402, amount: 20 })).answer, true)
  const other = await php.shop.host.createMerchant()
  const { 'x-api-key': api_key, 'x-api-secret': api_secret } = other.headers
  const options = { api_key, api_secret, webhook_secret: other.webhookSecret }
  assert.deepEqual((await tell({ do: 'catchUp', order: 402, options })).mails, [])
  const { answer: meta } = await tell<Record<string, string[]>>({ do: 'meta', order: 402 })
  const open: Record<string, { account: string; unknownSince: number }> = JSON.parse(
    textOf(meta._comptoir_open_refunds),
  )
  const [id = '', refund] = Object.entries(open)[0] ?? []
  assert.ok((refund?.unknownSince ?? 0) > 0)
  const old = JSON.stringify({ [id]: { ...refund, unknownSince: (refund?.unknownSince ?? 0) - 4 * 86_400 } })
  const set = { meta: { ...meta, _comptoir_open_refunds: [old] } }
  const told = await tell({ do: 'catchUp', order: 402, options, set })
  assert.deepEqual(told.mails, ['shop@shop.example: Order 402: please check its payment'])
  const key = php.shop.merchant.headers['x-api-key']
  assert.match(told.notes.at(-1) ?? '', new RegExp(`^Comptoir does not know the refund ${id}, .* key ${key} at http`))
  assert.match(told.notes.at(-1) ?? '', /look in the books of that account before you refund again/)
  assert.deepEqual((await tell({ do: 'catchUp', order: 402, options })).mails, [])
  const rejected = await (await logInSuperAdmin(php.shop.host)).post(`refunds/${id}/reject`, { reason: 'a mistake' })
  assert.equal(rejected.status, 200)
  assert.match((await tell({ do: 'catchUp', order: 402 })).notes.at(-1) ?? '', /was rejected in Comptoir/)
})

withPhp('an upgrade from 0.3.0 keeps the open refunds with their orders, and forgets the events’ place', async () => {
  const code = await paid(403)
  assert.equal((await tell<boolean>({ do: 'refund', order: 403, amount: 20 })).answer, true)
  const { answer: meta } = await tell<Record<string, string[]>>({ do: 'meta', order: 403 })
  const { _comptoir_open_refunds: _, ...before } = meta
  const id = (await refundsOf(code))[0]?._id ?? ''
  const stored = {
    comptoir_refunds: { [id]: 403, ['f'.repeat(24)]: 9999 },
    comptoir_cursor: 'abc',
    comptoir_later: [code],
  }
  await tell({ do: 'store', order: 403, set: { meta: before }, stored })
  await tell({ do: 'catchUp', order: 403, lock: '0' })
  const busy = (await tell<{ comptoir_refunds: object }>({ do: 'stored' })).answer
  assert.deepEqual(busy.comptoir_refunds, stored.comptoir_refunds, 'nothing is lost while the order is busy')
  await tell({ do: 'catchUp', order: 403 })
  const left = Object.keys((await tell<object>({ do: 'stored' })).answer)
  assert.deepEqual(
    left.filter((name) => name in stored),
    [],
  )
  const kept = (await tell<Record<string, string[]>>({ do: 'meta', order: 403 })).answer._comptoir_open_refunds
  assert.deepEqual(Object.keys(JSON.parse(textOf(kept))), [id])
})

withPhp('a refund that may have started is not called failed, and the same click finds it', async (t) => {
  const code = await paid(404)
  const front = await startInFront(php.shop.host.baseUrl, [502, 409, 502, 429, 422])
  t.after(front.stop)
  const refund = { do: 'refund', order: 404, amount: 20 }
  const said = async () =>
    (await tell<{ message: string }>({ ...refund, options: { base_url: front.url } })).answer.message
  for (const _ of ['still running', 'too many'])
    assert.match(
      await said(),
      /^It is not known whether this refund has started: Wait a moment\. Refund the same amount/,
    )
  assert.equal(await said(), 'Wait a moment.', 'what was refused did not start')
  assert.equal((await tell<boolean>(refund)).answer, true)
  assert.equal((await refundsOf(code)).length, 1)
})

/** A payment that ended, the one after it, and how to pay the first one late. */
async function opened(order: number): Promise<{ first: string; second: string; payFirst: () => Promise<void> }> {
  const open = async () => {
    const { answer } = await tell<{ redirect: string }>({ do: 'pay', order })
    return new URL(answer.redirect).searchParams.get('code') ?? ''
  }
  const first = await open()
  const payFirst = await php.choose(first)
  await php.expire(first)
  await tell({ do: 'catchUp' })
  return { first, second: await open(), payFirst }
}

withPhp(
  'an order whose late payment a person accepted is refunded from that payment, not from its newest',
  async () => {
    const { first, second, payFirst } = await opened(407)
    await tell({ do: 'cancel', order: 407 })
    await payFirst()
    await php.shop.reaches(first, 'PAID')
    const late = await tell({ do: 'webhook', order: 407, ...(await php.hookOf('order.paid', first)) })
    assert.equal(late.status, 'on-hold')
    await tell({ do: 'look', order: 407, set: { status: 'processing' } })
    assert.equal((await tell<boolean>({ do: 'refund', order: 407, amount: 20 })).answer, true)
    const amounts = async (code: string) => (await refundsOf(code)).map(({ amount }) => amount)
    assert.deepEqual([await amounts(first), await amounts(second)], [['21.600000'], []])
  },
)

withPhp('of several payments that have paid an order, none is chosen for a refund', async () => {
  const { first, second, payFirst } = await opened(408)
  await php.payUntilPaid(second)
  await payFirst()
  await php.acceptLate(first, second)
  // a person marked the order as paid before the shop heard of either
  const refund = { do: 'refund', order: 408, amount: 20, set: { status: 'processing', method: 'bacs' } }
  const { message } = (await tell<{ message: string }>(refund)).answer
  assert.equal(
    message,
    `Several payments have paid this order: ${first} and ${second}. Choose in Comptoir which of them is refunded.`,
  )
  assert.deepEqual([await refundsOf(first), await refundsOf(second)], [[], []])
})
