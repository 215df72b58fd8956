import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { localSigner } from '../src/chain/payout/signer.ts'
import { sql } from '../src/db/db.ts'
import { verifyLedger } from '../src/ledger/ledger-verify.ts'
import { type Client, logInFormerSuperAdmin, logInSuperAdmin, newEmail, waitForMail } from './harness/accounts.ts'
import {
  blacklist,
  createPaid,
  createPaidBy,
  listRefunds,
  newAddress,
  payoutEnv,
  refundReaches,
  revert,
  revertPlainly,
} from './harness/refunds.ts'
import { ALL_CONNECTIONS, eventually } from './harness/service.ts'
import { type OrderData, openShop, type Shop } from './harness/shop.ts'

let shop: Shop
let admin: Client
/** That pay refunds and their gas. */
let wallets: string[]

before(async () => {
  let keys: Record<string, string> = {}
  shop = await openShop({
    connections: ALL_CONNECTIONS,
    env: async (chain) => {
      keys = await payoutEnv(chain)
      return keys
    },
    allEvents: true,
  })
  wallets = Object.values(keys).map((key) => localSigner(key).address)
  admin = await logInSuperAdmin(shop.host)
})
after(() => shop?.stop())

const orderOf = async (code: string): Promise<OrderData> =>
  (await shop.host.call<OrderData>('GET', `status/${code}`, { as: shop.merchant })).data

/** What one order's books say, by account. */
const booksOf = async (orderId: string): Promise<Record<string, string>> => {
  const rows = await shop.host.db.many<{ account: string; units: string }>(sql`
    select e.account, sum(e.units) as units from ledger_entries e
    join ledger_journals j on j.company_id = e.company_id and j.id = e.journal_id
    where j.order_id = ${orderId} group by e.account having sum(e.units) <> 0`)
  return Object.fromEntries(rows.map((row) => [row.account, row.units]))
}

test('a full refund reaches the payer, once, and the order is FULL_REFUNDED when it is final', async () => {
  const order = await createPaid(shop)
  const to = newAddress()
  assert.equal((await revert(shop, order.code, { address: to, reason: 'returned' })).status, 200)
  assert.equal((await orderOf(order.code)).status, 'REFUNDING')
  const submitted = await refundReaches(shop, order.orderId, 'submitted', false)
  assert.equal(submitted.amount, '54.000000')
  const refund = await refundReaches(shop, order.orderId, 'settled')
  assert.match(refund.txHash ?? '', /^0x[0-9a-f]{64}$/)
  assert.equal(await shop.chain.balanceOf(to), order.units)
  const after = await orderOf(order.code)
  assert.deepEqual([after.status, after.refundedAmount], ['FULL_REFUNDED', '54.000000'])
  assert.deepEqual(await booksOf(order.orderId), { payer_clearing: '54000000', wallet: '-54000000' })
  const { deliveries } = await shop.story(order.orderId)
  assert.deepEqual(
    deliveries.map(({ event }) => event).filter((event) => /refund/.test(event)),
    ['order.refunding', 'order.full_refunded'],
  )
})

test('partial refunds add up to the whole, each announced once; one unit more than is left is refused', async () => {
  const order = await createPaid(shop)
  const to = newAddress()
  assert.equal((await revert(shop, order.code, { amount: '20.5', address: to })).status, 200)
  await refundReaches(shop, order.orderId, 'settled')
  assert.deepEqual((await orderOf(order.code)).refundedAmount, '20.500000')
  const tooMuch = await revert(shop, order.code, { amount: '33.500001', address: to })
  assert.deepEqual([tooMuch.status, tooMuch.error.code], [400, 'REFUND_TOO_LARGE'])
  assert.equal((await revert(shop, order.code, { address: to })).status, 200)
  await eventually(
    async () => {
      await shop.chain.mine()
      return (await orderOf(order.code)).status
    },
    (status) => status === 'FULL_REFUNDED',
  )
  assert.equal(await shop.chain.balanceOf(to), order.units)
  const refunds = await listRefunds(shop, order.orderId)
  assert.deepEqual(
    refunds.map(({ amount, status }) => [amount, status]),
    [
      ['20.500000', 'settled'],
      ['33.500000', 'settled'],
    ],
  )
})

test('50 reverts at once give one refund, and never more than was paid', async () => {
  const order = await createPaid(shop)
  const to = newAddress()
  const answers = await Promise.all(Array.from({ length: 50 }, () => revert(shop, order.code, { address: to })))
  const codes = answers.map(({ status, error }) => (status === 200 ? 200 : error.code))
  assert.equal(codes.filter((code) => code === 200).length, 1)
  assert.deepEqual(new Set(codes), new Set([200, 'ORDER_STATE_CONFLICT']))
  await refundReaches(shop, order.orderId, 'settled')
  assert.equal((await listRefunds(shop, order.orderId)).length, 1)
  assert.equal(await shop.chain.balanceOf(to), order.units)
})

test('a destination that the issuer blocks is refused, and the order is PAID again', async () => {
  const order = await createPaid(shop)
  const to = newAddress()
  await blacklist(shop.chain, to)
  await revert(shop, order.code, { address: to })
  const refund = await refundReaches(shop, order.orderId, 'refused', false)
  assert.match(refund.message ?? '', /blocked/)
  assert.equal((await orderOf(order.code)).status, 'PAID')
  assert.deepEqual(await booksOf(order.orderId), { payer_clearing: '54000000', company_payable: '-54000000' })
  assert.equal((await revert(shop, order.code, { address: newAddress() })).status, 200)
  await refundReaches(shop, order.orderId, 'settled')
  assert.equal((await orderOf(order.code)).status, 'FULL_REFUNDED')
})

test('money above the price goes back first, and the company pays nothing of it', async () => {
  const order = await createPaid(shop, {}, 6_000_000n)
  const to = newAddress()
  assert.equal((await revert(shop, order.code, { amount: '6', address: to })).status, 200)
  const refund = await refundReaches(shop, order.orderId, 'settled')
  assert.deepEqual([refund.amount, refund.excessAmount], ['6.000000', '6.000000'])
  const books = { payer_clearing: '60000000', wallet: '-6000000', company_payable: '-54000000' }
  assert.deepEqual(await booksOf(order.orderId), books)
  assert.equal((await orderOf(order.code)).status, 'REFUNDED')
  const page = await (await fetch(`${shop.host.baseUrl}/pay?code=${order.code}&lang=en`)).text()
  assert.match(page, /6\.00 USDC of 60\.00 USDC have been sent back to you\./)
  await revert(shop, order.code, { address: to })
  const rest = await refundReaches(shop, order.orderId, 'submitted', false)
  assert.deepEqual([rest.amount, rest.excessAmount], ['54.000000', '0.000000'])
})

test('with approval on nothing is sent before a SuperAdmin says so; a rejected refund never is', async () => {
  const { companyId } = shop.merchant
  await shop.host.db.run(sql`update companies set refund_approval = true where id = ${companyId}`)
  const [approved, rejected] = [await createPaid(shop), await createPaid(shop)]
  const to = newAddress()
  for (const { code } of [approved, rejected]) assert.equal((await revert(shop, code, { address: to })).status, 200)
  await shop.host.db.run(sql`update companies set refund_approval = false where id = ${companyId}`)
  const refund = await refundReaches(shop, approved.orderId, 'needs_approval')
  const own = await shop.host.call('POST', `/api/next/refunds/${refund._id}/approve`, { as: shop.merchant })
  assert.equal(own.error.code, 'FORBIDDEN')
  const other = await refundReaches(shop, rejected.orderId, 'needs_approval')
  assert.equal((await admin.post(`refunds/${other._id}/reject`, { reason: 'not returned' })).status, 200)
  assert.equal((await orderOf(rejected.code)).status, 'PAID')
  assert.equal(await shop.chain.balanceOf(to), 0n)
  const former = await logInFormerSuperAdmin(shop.host)
  for (const act of ['approve', 'reject'])
    assert.equal((await former.post(`refunds/${refund._id}/${act}`, { reason: 'not returned' })).status, 401, act)
  assert.equal((await admin.post(`refunds/${refund._id}/approve`)).status, 200)
  await refundReaches(shop, approved.orderId, 'settled')
  assert.equal(await shop.chain.balanceOf(to), approved.units)
  assert.equal((await admin.post(`refunds/${refund._id}/reject`, { reason: 'too late' })).error.code, 'OBJECT_CONFLICT')
})

/** Addresses that are no payer's, as they are and in lower case. */
async function listForeign(depositAddress: string): Promise<string[]> {
  const other = await shop.createAwaiting()
  const nobody = ['0', '9', 'ff', '100'].map((number) => `0x${number.padStart(40, '0')}`)
  const foreign = [shop.chain.usdcAddress, depositAddress, other.toAddress, ...wallets]
  return [...nobody, ...foreign, ...foreign.map((address) => address.toLowerCase())]
}

test('an address where a refund would be lost, or would pay an order, is refused wherever one is given', async () => {
  const { host, merchant } = shop
  const order = await createPaid(shop)
  const asking = await createPaid(shop)
  await revertPlainly(shop, asking.code)
  const { _id: refundId } = await refundReaches(shop, asking.orderId, 'needs_address', false)
  const fresh = await shop.create()
  for (const address of await listForeign(order.toAddress)) {
    const message = new URLSearchParams({ code: order.code, address })
    const ways = {
      userAddress: await shop.accept(fresh.code, { network: shop.chain.chainId, userAddress: address }),
      'payerInformation.userAddress': await host.call('POST', 'payer-information', {
        as: merchant,
        body: { code: fresh.code, payerInformation: { userAddress: address } },
      }),
    }
    const refundWays = [
      await revertPlainly(shop, order.code, { address }),
      await host.call('POST', `/api/next/refunds/${refundId}/address`, { as: merchant, body: { address } }),
      await host.call('GET', `/api/next/refunds/address-message?${message}`, { as: merchant }),
    ]
    const answers = [...Object.entries(ways), ...refundWays.map((answer) => ['address', answer] as const)]
    for (const [path, { status, error, text }] of answers) {
      assert.deepEqual([status, error?.details?.[0]?.path], [422, path], `${address} ${text}`)
      assert.match(text, /is lost|of this service|would pay that order/)
    }
  }
  assert.equal((await orderOf(order.code)).status, 'PAID')
  assert.equal((await orderOf(fresh.code)).status, 'INITIAL')
})

test('an address that was stated before such addresses were refused is not used', async () => {
  const order = await createPaid(shop)
  await shop.host.db.run(sql`
    update payments set user_address = ${shop.chain.usdcAddress}, user_address_by = 'apiKey:1'
    where order_id = ${order.orderId}`)
  const refused = await revertPlainly(shop, order.code)
  assert.deepEqual([refused.status, refused.error.details?.[0]?.path], [422, 'address'])
  const to = newAddress()
  assert.equal((await revert(shop, order.code, { address: to })).status, 200)
  assert.equal((await refundReaches(shop, order.orderId, 'submitted', false)).address, to)
})

const postForm = (form: Record<string, string>): Promise<Response> =>
  fetch(`${shop.host.baseUrl}/refund`, { method: 'POST', redirect: 'manual', body: new URLSearchParams(form) })

test('without a destination the payer is asked by mail, sees the address twice, and gets the money there', async () => {
  const email = newEmail('payer')
  const order = await createPaidBy(shop, email)
  const { db } = shop.host
  const { companyId } = shop.merchant
  await db.run(sql`update companies set display_name = ${'Süßwarenmanufaktur '.repeat(6)} where id = ${companyId}`)
  await fetch(`${shop.host.baseUrl}/pay?code=${order.code}&lang=de`)
  await revert(shop, order.code)
  const refund = await refundReaches(shop, order.orderId, 'needs_address', false)
  const mail = await waitForMail(shop.host.baseUrl, email, /refund/)
  await db.run(sql`update companies set display_name = null where id = ${companyId}`)
  assert.match(mail.subject, /^Wohin soll Süßwarenmanufaktur .*… Ihr Geld zurückschicken\?$/)
  assert.ok(mail.subject.length <= 78, `${mail.subject.length} letters`)
  assert.match(mail.text, /erstattet Ihnen 54,00 USDC/, 'as the payer’s language writes it')
  const link = /https?:\S+\/refund\?\S+/.exec(mail.text)?.[0] ?? ''
  assert.deepEqual([refund.addressUrl, refund.askedByMail], [null, true], 'the link is the payer’s alone')
  const page = await fetch(link, { headers: { 'accept-language': 'fr' } })
  assert.deepEqual([page.status, page.headers.get('content-language')], [200, 'fr'])
  assert.match(await page.text(), /54,00/)
  const { code = '', token = '' } = Object.fromEntries(new URL(link).searchParams)
  const to = newAddress()
  const flip = (letter: string): string => (letter < 'a' ? letter.toLowerCase() : letter.toUpperCase())
  const mistyped = to.slice(0, 2) + to.slice(2).replace(/[a-f]/i, flip)
  for (const wrong of ['0x12', mistyped, ...(await listForeign(order.toAddress))])
    assert.equal((await postForm({ code, token, address: wrong })).status, 422, wrong)
  // as wallets copy it
  for (const copied of [` \n${to} `, `ethereum:${to}`, `ethereum:pay-${to}@31337`, `0x${to.slice(2).toUpperCase()}`])
    assert.match(
      await (await postForm({ code, token, address: copied })).text(),
      new RegExp(`whole mono">${to}`),
      copied,
    )
  assert.equal((await postForm({ code, token, address: `ethereum:${to}@1` })).status, 422, 'another network')
  const longest = Number(/id="address"[^>]* maxlength="(\d+)"/.exec(await (await fetch(link)).text())?.[1])
  assert.ok(longest > 100, 'a browser cuts the end off what is pasted with a space in front')
  const shown = await postForm({ code, token, address: to.toLowerCase() })
  assert.match(await shown.text(), new RegExp(to), 'the whole address, with its checksum')
  assert.equal((await refundReaches(shop, order.orderId, 'needs_address', false)).address, null)
  const other = await postForm({ code, token, address: to, confirmed: newAddress() })
  assert.equal(other.status, 200, 'a confirmation of another address is shown again')
  assert.equal((await postForm({ code, token, address: to, confirmed: to })).status, 303)
  assert.equal((await refundReaches(shop, order.orderId, 'settled')).address, to)
  assert.equal(await shop.chain.balanceOf(to), order.units)
  const done = (await (await fetch(link)).text()).replaceAll(/<[^>]*>/g, '')
  assert.match(done, new RegExp(to), 'the page still says where it went')
  await postForm({ code, token, address: newAddress(), confirmed: newAddress() })
  assert.equal((await refundReaches(shop, order.orderId, 'settled', false)).address, to)
})

test('a refund link works for its own refund only', async () => {
  const [order, other] = [await createPaid(shop), await createPaid(shop)]
  for (const { code } of [order, other]) await revert(shop, code)
  const link = new URL((await refundReaches(shop, order.orderId, 'needs_address', false)).addressUrl ?? '')
  const foreign = await refundReaches(shop, other.orderId, 'needs_address', false)
  const { token = '' } = Object.fromEntries(link.searchParams)
  const get = (code: string, with_: string) =>
    fetch(`${shop.host.baseUrl}/refund?${new URLSearchParams({ code, token: with_ })}`)
  assert.equal((await get(order.code, token)).status, 200)
  for (const [code, bad] of [
    [other.code, token],
    [order.code, `${token.startsWith('A') ? 'B' : 'A'}${token.slice(1)}`],
    [order.code, ''],
    ['nothing', token],
  ] as const)
    assert.equal((await get(code, bad)).status, 404)
  const address = newAddress()
  assert.equal((await postForm({ code: other.code, token, address, confirmed: address })).status, 404)
  assert.equal((await refundReaches(shop, other.orderId, 'needs_address', false)).address, foreign.address)
})

test('after all of this the books are right', async () => {
  assert.equal((await verifyLedger(shop.host.db)).difference, null)
})
