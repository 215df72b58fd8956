import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { hasPhp, openPhpShop, type PhpShop } from './harness/php-shop.ts'

/* A copy of a WooCommerce shop has its keys and its orders, and must not touch them; a shop that moves goes on. */

const COPY = 'https://staging.shop.example'
let php: PhpShop

before(async () => {
  if (!hasPhp) return
  php = await openPhpShop('woocommerce', 'comptoir', ({ host, merchant }) => {
    const { 'x-api-key': api_key, 'x-api-secret': api_secret } = merchant.headers
    const options = { base_url: host.baseUrl, api_key, api_secret, till: 'TILL-1' }
    return { OPTIONS: { ...options, webhook_secret: merchant.webhookSecret } }
  })
  await tell({ do: 'test' })
})
after(() => php?.stop())

type Known<Data> = {
  answer: Data
  status: string
  completed: number
  notes: string[]
  mails: string[]
  letters: string[]
}

const tell = <Data>(command: Record<string, unknown>): Promise<Known<Data>> => php.tell<Known<Data>>(command)
const withPhp = hasPhp ? test : () => {}

async function pay(order: number, more: Record<string, unknown> = {}): Promise<string> {
  const { answer } = await tell<{ redirect: string }>({ do: 'pay', order, ...more })
  return new URL(answer.redirect).searchParams.get('code') ?? ''
}

const statusOf = async (code: string): Promise<string> =>
  (await php.shop.host.call<{ status: string }>('GET', `status/${code}`)).data.status

withPhp('a copy of the shop closes no payment of it, sends no money back, and offers nothing', async () => {
  const code = await pay(501)
  await php.choose(code)
  await tell({ do: 'timeOut', order: 501, shop: COPY })
  await tell({ do: 'cancel', order: 501, shop: COPY })
  await tell({ do: 'catchUp', shop: COPY })
  assert.equal(await statusOf(code), 'AWAITING')
  const paid = await pay(502)
  await php.payUntilPaid(paid)
  await tell({ do: 'webhook', order: 502, ...(await php.hookOf('order.paid', paid)) })
  const refund = await tell<{ message: string }>({ do: 'refund', order: 502, amount: 20, shop: COPY })
  assert.match(refund.answer.message, /^Comptoir is switched off here: its settings were saved for shop\.example/)
  assert.equal(await statusOf(paid), 'PAID')
  assert.equal((await tell<boolean>({ do: 'offer', currency: 'EUR', shop: COPY })).answer, false)
  assert.equal((await tell<{ result: string }>({ do: 'pay', order: 503, shop: COPY })).answer.result, 'failure')
  assert.equal((await tell<boolean>({ do: 'offer', currency: 'EUR' })).answer, true, 'the shop itself goes on')
})

withPhp('scheme and www are no move; a move is said in the back office and by mail, once', async () => {
  const isOffered = async (shop: string) => (await tell<boolean>({ do: 'offer', currency: 'EUR', shop })).answer
  assert.deepEqual(await Promise.all(['http://shop.example', 'https://www.Shop.example/'].map(isOffered)), [true, true])
  const moved = { shop: 'https://new.example' }
  assert.match(
    (await tell<string>({ do: 'notice', ...moved })).answer,
    /saved for shop\.example, and this shop is at new/,
  )
  assert.equal((await tell<string>({ do: 'notice' })).answer, '')
  assert.deepEqual((await tell({ do: 'catchUp', ...moved })).mails, [
    'shop@shop.example: Comptoir is switched off in your shop',
  ])
  assert.deepEqual((await tell({ do: 'catchUp', ...moved })).mails, [])
})

withPhp(
  'a copy whose settings were saved takes new orders and leaves the earlier ones alone; a move takes all',
  async () => {
    const [first, second] = [await pay(511), await pay(512)]
    // the shop was copied a minute after
    const old = { created: Math.floor(Date.now() / 1000) - 60 }
    await tell({ do: 'look', order: 511, set: old })
    await tell({ do: 'look', order: 512, set: old })
    const { answer: stored } = await tell<object>({ do: 'stored' })
    const saved = await tell<string[]>({ do: 'test', shop: COPY })
    assert.match(saved.answer[0] ?? '', /used here for new orders\. Those from before are left alone/)
    await tell({ do: 'cancel', order: 511, shop: COPY })
    await tell({ do: 'catchUp', shop: COPY })
    assert.equal(await statusOf(first), 'INITIAL')
    const own = await pay(513, { shop: COPY })
    await php.payUntilPaid(own)
    await tell({ do: 'catchUp', shop: COPY })
    assert.equal((await tell({ do: 'look', order: 513, shop: COPY })).status, 'processing')
    await tell({ do: 'store', order: 513, stored: { comptoir_copied: 0, ...stored } })
    await tell({ do: 'test', shop: 'https://new.example', options: { moved: 'yes' } })
    await php.payUntilPaid(second)
    await tell({ do: 'catchUp', shop: 'https://new.example' })
    assert.equal((await tell({ do: 'look', order: 512 })).status, 'processing')
  },
)

withPhp('after a move whose settings were saved without the tick, what is opened here is read here', async () => {
  const stored = (await tell<{ comptoir_place: string }>({ do: 'stored' })).answer
  await tell({
    do: 'store',
    order: 521,
    stored: { ...stored, comptoir_place: btoa('shop.example'), comptoir_copied: 0 },
  })
  const old = { created: Math.floor(Date.now() / 1000) - 60 }
  const before = await pay(521)
  await tell({ do: 'look', order: 521, set: old })
  await tell({ do: 'look', order: 522, set: old })
  const moved = { shop: 'https://forgotten.example' }
  await tell({ do: 'test', ...moved })
  await tell({ do: 'later', order: 521 })
  const kept = await tell<boolean>({ do: 'timeOut', order: 521, ...moved })
  assert.deepEqual([kept.answer, kept.status, await statusOf(before)], [false, 'pending', 'INITIAL'])
  assert.match(kept.notes.at(-1) ?? '', new RegExp(`^Comptoir does not know the payment ${before}, so this order`))
  const code = await pay(522, moved)
  await php.payUntilPaid(code)
  const heard = await tell({ do: 'webhook', order: 522, ...(await php.hookOf('order.paid', code)), ...moved })
  assert.deepEqual([heard.status, heard.mails], ['processing', []])
  await php.payUntilPaid(before)
  const early = await tell({ do: 'webhook', order: 521, ...(await php.hookOf('order.paid', before)), ...moved })
  assert.match(early.letters.join(), new RegExp(`payment ${before} of the order 521, .* If the shop has moved, tick`))
  await tell({ do: 'test', ...moved, options: { moved: 'yes' } })
  await tell({ do: 'catchUp', ...moved })
  assert.equal((await tell({ do: 'look', order: 521 })).status, 'processing', 'the tick may come later')
})

withPhp('a copy of a shop that has moved is no owner of what the shop opened before and after the move', async () => {
  const first = await pay(531, { shop: 'https://forgotten.example' })
  await tell({ do: 'test', shop: 'https://next.example', options: { moved: 'yes' } })
  const second = await pay(532, { shop: 'https://next.example' })
  await tell({ do: 'look', order: 531, set: { created: Math.floor(Date.now() / 1000) + 60 } })
  await tell({ do: 'test', shop: COPY })
  for (const order of [531, 532]) await tell({ do: 'cancel', order, shop: COPY })
  assert.deepEqual(await Promise.all([first, second].map(statusOf)), ['INITIAL', 'INITIAL'])
})
