import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { openVault } from '../src/kernel/vault.ts'
import { findOrderByCode } from '../src/orders/order-queries.ts'
import { findPayerContact } from '../src/payers/payer-service.ts'
import { newEmail, type Person, readMails, register, waitForMail } from './harness/accounts.ts'
import { wrongToken } from './harness/pay-states.ts'
import { listRefunds, newAddress, payoutEnv, type RefundData, revertPlainly, type Writer } from './harness/refunds.ts'
import { eventually, TEST_MASTER_KEY } from './harness/service.ts'
import { openShop, type Payable, type Shop } from './harness/shop.ts'

/*
 * At which e-mail a payer is asked where a refund goes: whoever reads that mailbox names the destination alone. So what
 * staff write never takes the place of what the payer or the shop's server wrote.
 */
let shop: Shop
let cashier: Person
let boss: Person

before(async () => {
  shop = await openShop({ env: payoutEnv })
  ;[cashier, boss] = [await join('Cashier'), await join('Manager')]
})
after(() => shop?.stop())

async function join(role: 'Manager' | 'Cashier'): Promise<Person> {
  const { companyId, collectorId } = shop.merchant
  const { db, baseUrl } = shop.host
  const person = await register(baseUrl, { role, companyName: role === 'Manager' ? 'X' : companyId })
  const { userId } = person
  await db.run(sql`update users set company_id = ${companyId}, approved_at = now() where id = ${userId}`)
  if (role === 'Cashier')
    await db.run(sql`insert into collector_cashiers (collector_id, user_id) values (${collectorId}, ${userId})`)
  await db.run(sql`update sessions set second_factor_at = now() where user_id = ${userId}`)
  return person
}

const byStaff = ({ client }: Person, { code }: Payable, email: string) =>
  client.post(`confirm_conversion/email/${code}`, { email })
const byServer = ({ code }: Payable, email: string) =>
  shop.host.call('POST', `email/${code}`, { as: shop.merchant, body: { email } })
/** As the pay page, which holds the order's link. */
async function byPayer({ code }: Payable, email: string): Promise<void> {
  const page = await (await fetch(`${shop.host.baseUrl}/pay?code=${code}`)).text()
  const token = /name="token" value="([^"]+)"/.exec(page)?.[1] ?? ''
  const body = new URLSearchParams({ code, token, email, firstName: 'A', lastName: 'B' })
  const { status } = await fetch(`${shop.host.baseUrl}/pay`, { method: 'POST', redirect: 'manual', body })
  assert.equal(status, 303)
}

const saveAddress = ({ code }: Payable, userAddress: string) =>
  shop.host.call('POST', 'payer-information', { as: shop.merchant, body: { code, payerInformation: { userAddress } } })

const isWritten = (answer: { status: number; text: string }): void => assert.equal(answer.status, 200, answer.text)

async function payAll(orders: readonly Payable[]): Promise<void> {
  for (const { toAddress, units } of orders) await shop.chain.pay({ to: toAddress, units })
  await shop.makeFinal()
  for (const { code } of orders) await shop.reaches(code, 'PAID')
}

/** Starts a refund of each, and reads it. */
const refundAll = (orders: readonly Payable[]): Promise<RefundData[]> =>
  Promise.all(
    orders.map(async ({ code, orderId }) => {
      isWritten(await revertPlainly(shop, code))
      const refund = (await listRefunds(shop, orderId)).at(-1)
      assert.ok(refund)
      return refund
    }),
  )

const isAsked = (email: string) => waitForMail(shop.host.baseUrl, email, /\/refund\?/)
const mailsTo = async (email: string) =>
  (await readMails(shop.host.baseUrl, email)).filter(({ text }) => /\/refund\?/.test(text)).length

test('an e-mail that staff write takes the place of none that the server or the payer wrote: that one is asked', async () => {
  const { db } = shop.host
  const { companyId } = shop.merchant
  const setThreshold = (euros: number) =>
    db.run(sql`
    update companies set identity_threshold_amount = ${euros}, version = version + 1 where id = ${companyId}`)
  const [served, sent, repeated] = [
    await shop.createAwaiting(),
    await shop.createAwaiting(),
    await shop.createAwaiting(),
  ]
  const emails = [newEmail('payer'), newEmail('payer'), newEmail('payer')] as const
  const evil = newEmail('evil')
  isWritten(await byServer(served, emails[0]))
  isWritten(await byServer(repeated, emails[2]))
  await setThreshold(10)
  const typed = await shop.create()
  await byPayer(typed as unknown as Payable, emails[1])
  await setThreshold(1000)
  const accepted = await shop.host.call<{ toAddress: string }>('POST', `accept/${typed.code}`, {
    ...{ as: shop.merchant, body: { paymentChannel: 'crypto', network: shop.chain.chainId } },
  })
  const own = { ...sent, code: typed.code, orderId: typed._id, toAddress: accepted.data.toAddress }
  for (const order of [served, own]) isWritten(await byStaff(cashier, order, evil))
  // the mail with the link, and the same address first, are no way round
  isWritten(await byStaff(cashier, repeated, emails[2].toUpperCase()))
  const link = { email: newEmail('evil') }
  isWritten(await boss.client.post(`confirm_conversion/send/${repeated.code}`, link))
  const orders = [served, own, repeated]
  await payAll(orders)
  const shown = await boss.client.get<{ email: string }>(`confirm_conversion/payer-information/${served.code}`)
  assert.equal(shown.data.email, evil, 'what is shown, and gets the receipt, did change')
  const refunds = await refundAll(orders)
  for (const email of emails) await isAsked(email)
  assert.deepEqual([await mailsTo(evil), await mailsTo(link.email)], [0, 0])
  assert.deepEqual(
    refunds.map(({ askedByMail, emailWriter }) => [askedByMail, emailWriter]),
    orders.map(() => [true, null]),
  )
})

test('from when money was first seen, what staff write is too late: no one is asked at it', async () => {
  const [waiting, part] = [await shop.createAwaiting(), await shop.createAwaiting()]
  await shop.chain.pay({ to: part.toAddress, units: 5_000_000n })
  await shop.chain.pay({ to: waiting.toAddress, units: waiting.units })
  await shop.reaches(waiting.code, 'WAITING_CHAIN_CONFIRMATION')
  await eventually(
    () =>
      shop.host.db.one<{ n: number }>(sql`
      select count(*)::int as n from payments where order_id = ${part.orderId} and pending_at is not null`),
    ({ n }) => n === 1,
  )
  const evil = newEmail('evil')
  for (const order of [waiting, part]) isWritten(await byStaff(cashier, order, evil))
  await shop.chain.pay({ to: part.toAddress, units: part.units - 5_000_000n })
  await shop.makeFinal()
  for (const { code } of [waiting, part]) await shop.reaches(code, 'PAID')
  const refunds = await refundAll([waiting, part])
  for (const { askedByMail, addressUrl, emailWriter } of refunds)
    assert.deepEqual([askedByMail, addressUrl !== null, emailWriter], [false, true, null])
  assert.equal(await mailsTo(evil), 0)
})

test('on an order that ended unpaid the same holds: only before any money, in whatever coin, an e-mail may be written', async () => {
  const [untouched, late, coin] = [
    await shop.createAwaiting(),
    await shop.createAwaiting(),
    await shop.createAwaiting(),
  ]
  for (const { code } of [untouched, late, coin])
    isWritten(await shop.host.call('POST', `expire/${code}`, { as: shop.merchant }))
  await shop.chain.pay({ to: late.toAddress, units: 5_000_000n })
  await shop.makeFinal()
  await wrongToken(shop, coin.code)
  await eventually(
    () => shop.story(late.orderId),
    ({ mispayments }) => mispayments.length > 0,
  )
  for (const order of [late, coin]) {
    for (const answer of [await byServer(order, newEmail('evil')), await byStaff(cashier, order, newEmail('evil'))])
      assert.deepEqual([answer.status, answer.error?.code], [403, 'FORBIDDEN'])
    isWritten(await saveAddress(order, newAddress()))
  }
  isWritten(await saveAddress(untouched, newAddress()))
  isWritten(await byStaff(cashier, untouched, newEmail('evil')))
  const email = newEmail('payer')
  isWritten(await byServer(untouched, email))
  isWritten(await byStaff(cashier, untouched, newEmail('evil')))
  const known = await Promise.all(
    [untouched, late, coin].map(async ({ code }) => {
      const order = await findOrderByCode(shop.host.db, code)
      assert.ok(order)
      const { asked, addressWritten } = await findPayerContact(
        { vault: openVault(TEST_MASTER_KEY) },
        shop.host.db,
        order,
      )
      return [asked.email, addressWritten?.isWord]
    }),
  )
  assert.deepEqual(known, [
    [email, true],
    [null, false],
    [null, false],
  ])
})

test('where staff typed the only e-mail the payer is asked there, and whoever decides reads who typed it', async () => {
  const [fresh, older] = [await shop.createAwaiting(), await shop.createAwaiting()]
  const email = newEmail('customer')
  for (const order of [fresh, older]) isWritten(await byStaff(cashier, order, email))
  await payAll([fresh, older])
  // neither a key nor anyone else hides it afterwards
  isWritten(await byServer(fresh, email.toUpperCase()))
  const writer: Writer = { by: `user:${cashier.userId}`, name: 'Ada Test', keyOf: null }
  const goal = await boss.client.get<{ emailWriter: Writer | null }>(`confirm_conversion/revert/${fresh.code}`)
  writer.name = goal.data.emailWriter?.name ?? null
  assert.ok(writer.name)
  assert.deepEqual(goal.data.emailWriter, writer)
  // as where the operator approves each refund
  const { companyId } = shop.merchant
  await shop.host.db.run(
    sql`update companies set refund_approval = true, version = version + 1 where id = ${companyId}`,
  )
  const [approvable] = await refundAll([fresh])
  await shop.host.db.run(
    sql`update companies set refund_approval = false, version = version + 1 where id = ${companyId}`,
  )
  assert.deepEqual([approvable?.status, approvable?.emailWriter], ['needs_approval', writer])
  const [refund] = await refundAll([older])
  assert.deepEqual([refund?.askedByMail, refund?.emailWriter], [true, writer])
  await isAsked(email)
})

test('an address that came through a key says through which, and who made it', async () => {
  const order = await shop.createAwaiting()
  await payAll([order])
  const made = await boss.client.post<{ _id: string; apiKey: string; apiSecret: string }>('api-keys', {
    ...{ name: 'shop server', scopes: ['refunds:write', 'orders:read'] },
  })
  const headers = { 'x-api-key': made.data.apiKey, 'x-api-secret': made.data.apiSecret }
  isWritten(await shop.host.call('POST', `revert/${order.code}`, { headers, body: { address: newAddress() } }))
  const [refund] = await listRefunds(shop, order.orderId)
  const { data } = await boss.client.get<{ firstName: string; lastName: string }>('users/me')
  assert.deepEqual(refund?.proposer, {
    by: `apiKey:${made.data._id}`,
    name: 'shop server',
    keyOf: `${data.firstName} ${data.lastName}`,
  })
})
