import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { openPayerTokens } from '../src/pages/shared/payer.ts'
import { insertPerson, newEmail, readMails, waitForMail } from './harness/accounts.ts'
import { type Listed, type MoneyDesk, openMoneyDesk } from './harness/money.ts'
import { wrongToken } from './harness/pay-states.ts'
import { createPaid, newAddress, payoutEnv, refundReaches, revert } from './harness/refunds.ts'
import { openShop, type Payable, type Shop } from './harness/shop.ts'

/* A payer asks on the order's page for money that did not pay it. The shop is told at once, and decides. */

let shop: Shop
let desk: MoneyDesk
const manager = newEmail('manager')

before(async () => {
  shop = await openShop({ env: payoutEnv })
  desk = await openMoneyDesk(shop)
  const { id } = await insertPerson(shop.host.db, { role: 'Manager', companyId: shop.merchant.companyId })
  await shop.host.db.run(sql`
    update users set email = ${manager}, email_key = ${manager}, verified_at = now(), approved_at = now() where id = ${id}`)
})
after(() => shop?.stop())

const MILLION = 1_000_000n
const BUTTON = /Ask for my money back/
const ASKED = /You asked for this money back, and .* has been told/

/** Presses the button. @returns the problem that the page names */
async function ask({ code }: Pick<Payable, 'code'>, token?: string): Promise<string | null> {
  const { baseUrl, vault } = shop.host
  const body = new URLSearchParams({ code, token: token ?? openPayerTokens(vault).of(code) })
  const answer = await fetch(`${baseUrl}/pay/ask-back`, { method: 'POST', body, redirect: 'manual' })
  assert.equal(answer.status, 303)
  return new URL(answer.headers.get('location') ?? '', baseUrl).searchParams.get('problem')
}

const askedOf = async (order: Payable): Promise<(string | null)[]> =>
  ((await desk.recordsOf(order)) as (Listed & { askedBackAt: string | null })[]).map(({ askedBackAt }) => askedBackAt)

const mailsOf = async ({ code }: Payable) => {
  const { shortCode } = await shop.host.db.one<{ shortCode: string }>(
    sql`select short_code from orders where code = ${code}`,
  )
  return (await readMails(shop.host.baseUrl, manager)).filter(({ subject }) => subject.includes(shortCode))
}

/** Money that came after the order's end. */
async function createLate(): Promise<Payable> {
  const order = await shop.createAwaiting()
  await shop.host.call('POST', `cancel/${order.code}`, { as: shop.merchant })
  await desk.payFinally(order, 20n * MILLION)
  await desk.openRecord(order, 'under', 20n * MILLION)
  return order
}

test('a payer whose money came too late asks for it once: page, list, audit log and one mail to the managers say so', async () => {
  const order = await createLate()
  assert.match(await desk.pageOf(order), BUTTON)
  assert.deepEqual(await askedOf(order), [null])
  assert.equal(await ask(order), null)
  const page = await desk.pageOf(order)
  assert.match(page, ASKED)
  assert.doesNotMatch(page, BUTTON)
  const [at] = await askedOf(order)
  assert.ok(at)
  const mail = await waitForMail(shop.host.baseUrl, manager, /asks for money back/)
  assert.match(mail.text, /did not pay it: 20\.00 USDC/)
  assert.match(mail.text, /\/app\/mispayments\?company=[0-9a-f]{24}&status=open/)
  await Promise.all(Array.from({ length: 8 }, () => ask(order)))
  assert.deepEqual(await askedOf(order), [at], 'asking again changes nothing')
  const { count } = await shop.host.db.one<{ count: number }>(sql`
    select count(*)::int as count from audit_log
    where action = 'mispayment.ask-back' and object = ${`order:${order.orderId}`} and actor = ${`payer:${order.code}`}`)
  assert.equal(count, 1)
  assert.equal((await mailsOf(order)).length, 1)
})

test('asking moves nothing: the record stays undecided, the books as they were, and the shop still accepts or refunds', async () => {
  const order = await createLate()
  const before = await desk.payable()
  await ask(order)
  assert.deepEqual(
    (await shop.story(order.orderId)).mispayments.map(({ kind, status, units }) => `${kind} ${status} ${units}`),
    ['under open 20000000'],
  )
  assert.equal(await desk.payable(), before)
  await desk.checkBooks()
  const [record] = await desk.recordsOf(order)
  assert.ok(record)
  const to = newAddress()
  assert.equal((await desk.refund(order, record, to)).status, 200)
  await refundReaches(shop, order.orderId, 'settled')
  const page = await desk.pageOf(order)
  assert.doesNotMatch(page, ASKED, 'it was answered')
  assert.doesNotMatch(page, BUTTON)
})

test('more money of the same order can be asked for again, and mails the managers no second time that day', async () => {
  const order = await createLate()
  await ask(order)
  await waitForMail(shop.host.baseUrl, manager, /asks for money back/)
  const [record] = await desk.recordsOf(order)
  assert.ok(record)
  assert.equal((await desk.ignore(record)).status, 200)
  await desk.payFinally(order, 5n * MILLION)
  await desk.openRecord(order, 'under', 5n * MILLION)
  assert.match(await desk.pageOf(order), BUTTON)
  assert.equal(await ask(order), null)
  assert.match(await desk.pageOf(order), ASKED)
  assert.equal((await askedOf(order)).filter((at) => at !== null).length, 2)
  assert.equal((await mailsOf(order)).length, 1)
})

test('what was sent above the price can be asked for until a refund takes it', async () => {
  const order = await createPaid(shop, {}, 3n * MILLION)
  await desk.openRecord(order, 'over', 3n * MILLION)
  assert.match(await desk.pageOf(order), BUTTON)
  assert.equal((await revert(shop, order.code, { address: newAddress() })).status, 200)
  assert.equal(await ask(order), 'ORDER_STATE_CONFLICT')
  await refundReaches(shop, order.orderId, 'settled')
  assert.doesNotMatch(await desk.pageOf(order), BUTTON)
})

test('a paid page with more to read does not lead back to the shop by itself', async () => {
  const order = await createPaid(shop, { returnUrl: 'https://shop.example/thanks' })
  const open = async () => (await fetch(`${shop.host.baseUrl}/pay?code=${order.code}`)).text()
  assert.match(await open(), /id="return"/)
  await wrongToken(shop, order.code)
  const page = await open()
  assert.doesNotMatch(page, /id="return"/)
  assert.match(page, /id="ask-back"/)
})

test('nobody asks where no money waits, and nobody with the proof of another order', async () => {
  const [paid, late] = [await createPaid(shop), await createLate()]
  assert.doesNotMatch(await desk.pageOf(paid), BUTTON)
  assert.equal(await ask(paid), 'ORDER_STATE_CONFLICT')
  assert.equal(await ask(late, openPayerTokens(shop.host.vault).of(paid.code)), 'CROSS_SITE_REQUEST')
  assert.deepEqual(await askedOf(late), [null])
})
