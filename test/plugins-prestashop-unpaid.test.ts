import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { logInSuperAdmin } from './harness/accounts.ts'
import { hasPhp, openPhpShop, type PhpShop, startSick } from './harness/php-shop.ts'

/* PrestaShop orders that nobody pays, payments of an account before, and what the shop's log and its mails say. */

let php: PhpShop

before(async () => {
  if (!hasPhp) return
  php = await openPhpShop('prestashop', 'comptoirpay', ({ host, merchant }) => {
    const { 'x-api-key': key, 'x-api-secret': secret } = merchant.headers
    const access = { COMPTOIR_BASE_URL: host.baseUrl, COMPTOIR_API_KEY: key, COMPTOIR_API_SECRET: secret }
    return { SETTINGS: { ...access, COMPTOIR_TILL: 'TILL-1', COMPTOIR_WEBHOOK_SECRET: merchant.webhookSecret } }
  })
  await ask({ do: 'install' })
})
after(() => php?.stop())

type Presta = {
  answer: unknown
  orders: Record<string, { state: number; states: number[]; note: string }>
  logged: string[]
  mailed: string[]
}
const STATES = { bankWire: 1, paid: 2, error: 3, cancelled: 4, outOfStock: 9, waiting: 20 }
const HOUR_MS = 3_600_000

const ask = (command: Record<string, unknown>): Promise<Presta> => php.tell<Presta>(command)
const withPhp = hasPhp ? test : () => {}

async function order(): Promise<{ id: number; code: string }> {
  const { answer, orders } = await ask({ do: 'pay' })
  const code = new URL((answer as [string])[0]).searchParams.get('code') ?? ''
  return { id: Math.max(...Object.keys(orders).map(Number)), code }
}

/** PrestaShop's text of a time: PHP's clock runs in UTC here. */
const ago = (ms: number): string => new Date(Date.now() - ms).toISOString().slice(0, 19).replace('T', ' ')
const age = (id: number, ms: number, more: Record<string, unknown> = {}) =>
  ask({ do: 'set', order: id, set: { date_upd: ago(ms), ...more } })
const takeIn = async (event: string, code: string) => ask({ do: 'webhook', ...(await php.hookOf(event, code)) })
const statusOf = async (code: string): Promise<string> =>
  (await php.shop.host.call<{ status: string }>('GET', `status/${code}`)).data.status

/** Pages of the back office until every order had its turn. */
async function inTurn(more: Record<string, unknown> = {}): Promise<Presta> {
  for (let pages = 0; pages < 6; pages += 1) await ask({ do: 'catchUp', ...more })
  return ask({ do: 'known' })
}

withPhp('an order that nobody paid in an hour is cancelled, and its payment can bring no money any more', async () => {
  const [old, fresh, backOrder] = [await order(), await order(), await order()]
  await age(old.id, 1.1 * HOUR_MS)
  await age(fresh.id, 0.9 * HOUR_MS)
  await age(backOrder.id, 1.1 * HOUR_MS, { current_state: STATES.outOfStock })
  const { orders } = await inTurn()
  const states = [old, fresh, backOrder].map(({ id }) => orders[id]?.state)
  assert.deepEqual(states, [STATES.cancelled, STATES.waiting, STATES.cancelled])
  const statuses = await Promise.all([old, fresh, backOrder].map(({ code }) => statusOf(code)))
  assert.deepEqual(statuses, ['CANCELLED', 'INITIAL', 'CANCELLED'])
  assert.equal(orders[old.id]?.note, `The payment ${old.code} ended unpaid.`)
  // a person sets it back
  await ask({ do: 'state', order: old.id, state: STATES.waiting })
  await age(old.id, 2 * HOUR_MS)
  assert.equal((await inTurn()).orders[old.id]?.state, STATES.waiting)
})

withPhp('an order that a person has set back to waiting, or made in the back office, is left alone', async () => {
  const [back, made] = [await order(), await order()]
  await ask({ do: 'state', order: back.id, state: STATES.bankWire })
  await ask({ do: 'state', order: back.id, state: STATES.waiting })
  await age(back.id, 2 * HOUR_MS)
  await ask({ do: 'unpaid', order: made.id })
  await age(made.id, 2 * HOUR_MS, { employees: [7] })
  const { orders } = await inTurn()
  assert.deepEqual(
    [back, made].map(({ id }) => orders[id]?.state),
    [STATES.waiting, STATES.waiting],
  )
  assert.equal(await statusOf(back.code), 'INITIAL')
})

withPhp('an order stays whose money is there or on its way, or that a person has moved on', async () => {
  const [paid, coming, moved] = [await order(), await order(), await order()]
  await php.payUntilPaid(paid.code)
  const { data } = await php.shop.accept(coming.code, { network: php.shop.chain.chainId })
  await php.shop.chain.pay({ to: data.toAddress, units: 54_000_000n })
  await php.shop.reaches(coming.code, 'WAITING_CHAIN_CONFIRMATION')
  for (const { id } of [paid, coming]) await age(id, 2 * HOUR_MS)
  await age(moved.id, 2 * HOUR_MS, { current_state: STATES.bankWire })
  const { orders } = await inTurn()
  const states = [paid, coming, moved].map(({ id }) => orders[id]?.state)
  assert.deepEqual(states, [STATES.paid, STATES.waiting, STATES.bankWire])
  assert.equal(await statusOf(moved.code), 'INITIAL')
})

withPhp('the shop chooses the minutes; 0 cancels none, and what is no number is an hour', async () => {
  const { id } = await order()
  await age(id, 1.1 * HOUR_MS)
  const stateWith = async (minutes: string) =>
    (await inTurn({ known: { COMPTOIR_MINUTES: minutes } })).orders[id]?.state
  assert.equal(await stateWith('0'), STATES.waiting)
  assert.equal(await stateWith('120'), STATES.waiting)
  assert.equal(await stateWith('soon'), STATES.cancelled)
  const { answer } = await ask({ do: 'save', post: {} })
  assert.match((answer as string[])[0] ?? '', /Minutes after which [^<]*<br><input type="text" [^>]*value="60"/)
})

withPhp('late money for an order that was cancelled for want of it is put before a person', async () => {
  const { id, code } = await order()
  const payLate = await php.choose(code)
  await age(id, 2 * HOUR_MS)
  assert.equal((await inTurn()).orders[id]?.state, STATES.cancelled)
  await payLate()
  let told: Presta | undefined
  for (let times = 0; times < 40 && !/54\.000000 USDC/.test(told?.orders[id]?.note ?? ''); times += 1)
    told = await inTurn()
  assert.equal(told?.orders[id]?.state, STATES.cancelled)
  assert.match(told?.orders[id]?.note ?? '', new RegExp(`payment ${code} with 54\\.000000 USDC is held`))
})

withPhp(
  'an order is cancelled, too, whose payment was never kept; in a copy of the shop it is left alone',
  async () => {
    const lost = await order()
    await ask({ do: 'unpaid', order: lost.id })
    await age(lost.id, 2 * HOUR_MS)
    const { orders } = await inTurn()
    assert.deepEqual(orders[lost.id]?.state, STATES.cancelled)
    assert.equal(orders[lost.id]?.note, 'No payment was opened for this order, so it was cancelled.')
    await ask({ do: 'state', order: lost.id, state: STATES.waiting })
    await age(lost.id, 2 * HOUR_MS)
    assert.equal((await inTurn()).orders[lost.id]?.state, STATES.waiting, 'a person set it back')
    const copied = await order()
    await age(copied.id, 2 * HOUR_MS, { date_add: ago(3 * HOUR_MS) })
    const hidden = await inTurn({ known: { COMPTOIR_COPIED: ago(HOUR_MS) } })
    await ask({ do: 'known', known: { COMPTOIR_COPIED: '' } })
    assert.deepEqual([hidden.orders[copied.id]?.state, await statusOf(copied.code)], [STATES.waiting, 'INITIAL'])
  },
)

withPhp('an order whose payment is in the account before is left to a person, and so is its cancellation', async () => {
  const before = await order()
  const { merchant, host } = php.shop
  const other = await host.createMerchant()
  const keysOf = ({ headers }: typeof merchant) => ({
    COMPTOIR_API_KEY: headers['x-api-key'],
    COMPTOIR_API_SECRET: headers['x-api-secret'],
  })
  await age(before.id, 2 * HOUR_MS)
  const { orders } = await inTurn({ known: keysOf(other) })
  assert.equal(orders[before.id]?.state, STATES.waiting)
  assert.match(orders[before.id]?.note ?? '', new RegExp(`^Comptoir does not know the payment ${before.code}, so`))
  const cancelled = await ask({ do: 'state', order: before.id, state: STATES.cancelled })
  assert.match(cancelled.logged.join(), new RegExp(`The payment ${before.code} of this order was opened in another`))
  await ask({ do: 'known', known: keysOf(merchant) })
  assert.equal(await statusOf(before.code), 'INITIAL')
})

withPhp('while the key is wrong, news is refused and no order is called unknown', async () => {
  const [paid, unpaid] = [await order(), await order()]
  await php.payUntilPaid(paid.code)
  const news = await php.hookOf('order.paid', paid.code)
  await age(unpaid.id, 2 * HOUR_MS)
  const refused = await ask({ do: 'webhook', ...news, known: { COMPTOIR_API_SECRET: 'sk_revoked' } })
  assert.deepEqual([refused.answer, refused.orders[paid.id]?.state], [503, STATES.waiting])
  const { orders } = await inTurn()
  const seen = [paid, unpaid].map(({ id }) => [orders[id]?.state, orders[id]?.note])
  assert.deepEqual(seen, Array(2).fill([STATES.waiting, '']))
  const secret = php.shop.merchant.headers['x-api-secret']
  const done = await ask({ do: 'webhook', ...news, known: { COMPTOIR_API_SECRET: secret } })
  assert.deepEqual([done.answer, done.orders[paid.id]?.state], [200, STATES.paid])
  assert.equal((await inTurn()).orders[unpaid.id]?.state, STATES.cancelled)
})

withPhp('an order whose late payment a person accepted is refunded from it, each slip with its own entry', async () => {
  const { id, code: first } = await order()
  const payFirst = await php.choose(first)
  await php.expire(first)
  await takeIn('order.expired', first)
  await ask({ do: 'open', order: id })
  await payFirst()
  await php.shop.reaches(first, 'PAID')
  assert.equal((await takeIn('order.paid', first)).orders[id]?.state, STATES.error)
  await ask({ do: 'state', order: id, state: STATES.paid })
  const rows = { total_products_tax_incl: 20, total_products_tax_excl: 20, total_shipping_tax_incl: 0, amount: 20 }
  const slip = { do: 'slip', order: id, slip: { ...rows, order_slip_type: 0 } }
  const lost = { COMPTOIR_BASE_URL: 'http://127.0.0.1:1' }
  const unknown = [await ask({ ...slip, known: lost }), await ask(slip)]
  await ask({ do: 'known', known: { COMPTOIR_BASE_URL: php.shop.host.baseUrl } })
  for (const { logged } of unknown)
    assert.match(logged.join(), /it is not known whether the credit slip \d+ of 20\.00 EUR/)
  assert.match((await ask(slip)).logged.join(), /refund \w+ of 20\.00 EUR has started/)
})

withPhp('a fault that lasts is mailed when it begins or changes, not every five minutes', async () => {
  const look = async (shop?: string) => (await ask({ do: 'catchUp', shop: shop ?? 'http://shop.example/' })).mailed
  assert.equal((await look('https://new.example/')).length, 1)
  assert.deepEqual(await look('https://new.example/'), [])
  assert.equal((await look('https://newer.example/')).length, 1)
  assert.deepEqual(await look(), [])
  const again = await ask({ do: 'catchUp', shop: 'https://new.example/' })
  assert.deepEqual([again.mailed.length, again.logged.length], [1, 1], 'it began again')
  await look()
})

withPhp('while Comptoir does not work, many orders make one entry and one mail, however it fails', async () => {
  const { id } = await order()
  await ask({ do: 'copies', order: id, count: 61 })
  const sick = await startSick([503, 502, 0, 504])
  const told: string[] = []
  for (let pages = 0; pages < 30; pages += 1) {
    const { mailed } = await ask({ do: 'catchUp', known: { COMPTOIR_BASE_URL: sick.url } })
    told.push(...mailed)
  }
  sick.stop()
  assert.match(
    told.join('\n'),
    /^Comptoir: Comptoir does not work now, so what became of payments is not known here\..*$/,
  )
  await ask({ do: 'catchUp', known: { COMPTOIR_BASE_URL: php.shop.host.baseUrl } })
  await ask({ do: 'forget', after: id })
})

withPhp(
  'while Comptoir fails for each order, or refuses the key, many orders make one mail each, and the key a notice',
  async () => {
    const { id } = await order()
    await ask({ do: 'copies', order: id, count: 61 })
    const rounds = async (known: Record<string, string>): Promise<string[]> => {
      const told: string[] = []
      for (let pages = 0; pages < 30; pages += 1) told.push(...(await ask({ do: 'catchUp', known })).mailed)
      return told
    }
    const failing = await startSick([500])
    assert.match(
      (await rounds({ COMPTOIR_BASE_URL: failing.url })).join('\n'),
      /^Comptoir: order \d+, and maybe others, .*$/,
    )
    failing.stop()
    const refused = await rounds({ COMPTOIR_BASE_URL: php.shop.host.baseUrl, COMPTOIR_API_SECRET: 'sk_revoked' })
    assert.match(refused.join('\n'), /^Comptoir: Comptoir does not accept the API key of this shop any more\..*$/)
    const top = async () => String((await ask({ do: 'top' })).answer)
    assert.match(await top(), /does not accept the API key of this shop any more/)
    await ask({ do: 'catchUp', known: { COMPTOIR_API_SECRET: php.shop.merchant.headers['x-api-secret'] } })
    assert.equal(await top(), '')
    await ask({ do: 'forget', after: id })
  },
)

withPhp('an order that cannot be changed, and money that no order keeps, are mailed once', async () => {
  const stuck = await order()
  await php.payUntilPaid(stuck.code)
  let mails = 0
  for (let pages = 0; pages < 12; pages += 1) mails += (await ask({ do: 'catchUp', throws: stuck.id })).mailed.length
  assert.equal(mails, 1)
  await ask({ do: 'unpaid', order: stuck.id })
  const told = [await takeIn('order.paid', stuck.code), await takeIn('order.paid', stuck.code)]
  assert.deepEqual(
    told.map(({ mailed }) => mailed.length),
    [1, 0],
  )
})

withPhp('an order is not cancelled for which a part came, until a person has decided about the part', async () => {
  const [part, early] = [await order(), await order()]
  const { data } = await php.shop.accept(part.code, { network: php.shop.chain.chainId })
  const payMore = (units: bigint) => php.shop.chain.pay({ to: data.toAddress, units })
  await payMore(20_000_000n)
  await php.shop.makeFinal()
  const record = await php.partOf(part.code)
  const { data: other } = await php.shop.accept(early.code, { network: php.shop.chain.chainId })
  await php.shop.chain.pay({ to: other.toAddress, units: 20_000_000n })
  await php.confirms(early.code)
  for (const { id } of [part, early]) await age(id, 2 * HOUR_MS)
  const kept = await inTurn()
  assert.deepEqual(
    [part, early].map(({ id }) => kept.orders[id]?.state),
    [STATES.waiting, STATES.waiting],
  )
  assert.deepEqual([await statusOf(part.code), await statusOf(early.code)], ['AWAITING', 'AWAITING'])
  const noteOf = (came: string, code: string) =>
    `Nobody paid this order in time, but ${came} came for its payment ${code}, which is still open. So it is not ` +
    'cancelled by itself: decide about the money in Comptoir, or cancel the order here.'
  assert.equal(kept.orders[part.id]?.note, noteOf('20.000000 USDC', part.code))
  assert.equal(kept.orders[early.id]?.note, noteOf('an amount that is not final yet', early.code))
  await age(part.id, 2 * HOUR_MS)
  assert.equal((await inTurn()).orders[part.id]?.note, noteOf('20.000000 USDC', part.code), 'said once')
  // the rest of one comes, and the part of the other is decided about
  await php.shop.chain.pay({ to: other.toAddress, units: 34_000_000n })
  await php.shop.makeFinal()
  await php.shop.reaches(early.code, 'PAID')
  const admin = await logInSuperAdmin(php.shop.host)
  assert.equal((await admin.post(`mispayments/${record}/ignore`, { reason: 'a gift' })).status, 200)
  await age(part.id, 2 * HOUR_MS)
  const { orders } = await inTurn()
  assert.deepEqual(
    [part, early].map(({ id }) => orders[id]?.state),
    [STATES.cancelled, STATES.paid],
  )
})
