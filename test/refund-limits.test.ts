import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { type Client, inParallel, logInSuperAdmin, register } from './harness/accounts.ts'
import { createPaid, listRefunds, payoutEnv, type RefundData, refundReaches } from './harness/refunds.ts'
import type { Answer } from './harness/service.ts'
import { ALL_CONNECTIONS } from './harness/service.ts'
import { openShop, type Payable, type Shop } from './harness/shop.ts'

let shop: Shop
let admin: Client

before(async () => {
  shop = await openShop({ env: payoutEnv, connections: ALL_CONNECTIONS })
  admin = await logInSuperAdmin(shop.host)
})
after(() => shop?.stop())

const companyPath = (): string => `companies/${shop.merchant.companyId}`
const setLimits = (refundLimits: unknown, by = admin): Promise<Answer<Company>> =>
  by.call('PUT', companyPath(), { refundLimits })

type Company = { refundLimits: Record<string, { single: string | null; day: string | null }> }

beforeEach(async () => {
  const none = { SuperManager: null, Manager: null, Association: null, Service: null }
  assert.equal((await setLimits(none)).status, 200)
})

type Role = 'Manager' | 'Association' | 'SuperManager'

/** Somebody of the shop's company, who has just given a second factor or has not. */
async function join(role: Role, fresh = true): Promise<Client> {
  const { baseUrl, db } = shop.host
  const { companyId } = shop.merchant
  const name = { Manager: { companyName: 'X' }, Association: { associationName: 'X' }, SuperManager: {} }[role]
  const { client, userId } = await register(baseUrl, { role, ...name }, role === 'SuperManager' ? admin : undefined)
  if (role === 'SuperManager') await admin.call('PUT', `users/${userId}/companies`, { companies: [companyId] })
  else await db.run(sql`update users set company_id = ${companyId} where id = ${userId}`)
  if (fresh) await db.run(sql`update sessions set second_factor_at = now() where user_id = ${userId}`)
  return client
}

/** Paid orders of 10.80 USDC. */
async function createPaidMany(count: number): Promise<Payable[]> {
  const orders = await inParallel(count, () => shop.createAwaiting({ amount: 10 }))
  for (const { toAddress, units } of orders) await shop.chain.pay({ to: toAddress, units })
  await shop.makeFinal()
  for (const { code } of orders) await shop.reaches(code, 'PAID')
  return orders
}

const refund = (by: Client, { code }: Payable, amount: string): Promise<Answer<null>> =>
  by.post(`confirm_conversion/revert/${code}`, { amount })

const refundByKey = ({ code }: Payable, amount: string, headers = shop.merchant.headers): Promise<Answer<null>> =>
  shop.host.call('POST', `revert/${code}`, { headers, body: { amount } })

/** What became of an order's newest refund: the payer is asked where it goes, or somebody has to approve it. */
async function fateOf({ orderId }: Payable): Promise<[string | undefined, string | null | undefined]> {
  const last = (await listRefunds(shop, orderId)).at(-1)
  return [last?.status, last?.approvalReason]
}

const ALONE = ['needs_address', null]
const WAITS = ['needs_approval', 'limit']

test('up to its limit each role refunds by itself; above it the refund waits until a SuperAdmin approves it', async () => {
  for (const role of ['Manager', 'Association', 'SuperManager'] as const) {
    const person = await join(role)
    assert.equal((await setLimits({ [role]: { single: '5' } })).status, 200)
    const [fits, above] = (await createPaidMany(2)) as [Payable, Payable]
    assert.equal((await refund(person, fits, '5')).status, 200, role)
    assert.deepEqual(await fateOf(fits), ALONE, role)
    assert.equal((await refund(person, above, '5.000001')).status, 200, role)
    assert.deepEqual(await fateOf(above), WAITS, role)
    const order = await shop.host.call<{ status: string }>('GET', `status/${above.code}`)
    assert.equal(order.data.status, 'REFUNDING')
    const [waiting] = await listRefunds(shop, above.orderId)
    assert.equal((await person.post(`refunds/${waiting?._id}/approve`)).error.code, 'FORBIDDEN')
    assert.equal((await admin.post(`refunds/${waiting?._id}/approve`)).status, 200)
    assert.equal((await fateOf(above))[0], 'needs_address')
  }
})

test('a SuperAdmin has no limit, and a role without one none either', async () => {
  assert.equal((await setLimits({ SuperManager: { single: '0', day: '0' } })).status, 200)
  const [one, other] = (await createPaidMany(2)) as [Payable, Payable]
  assert.equal((await refund(admin, one, '10')).status, 200)
  assert.deepEqual(await fateOf(one), ALONE)
  assert.equal((await refund(await join('Manager'), other, '10')).status, 200)
  assert.deepEqual(await fateOf(other), ALONE)
})

test('splitting does not help: a day’s refunds of one person add up, until 24 hours are over', async () => {
  const [person, colleague] = [await join('Manager'), await join('Manager')]
  await setLimits({ Manager: { single: '8', day: '12' } })
  const [first, second, third, fourth, fifth, sixth, seventh] = (await createPaidMany(7)) as [
    Payable,
    Payable,
    ...Payable[],
  ]
  await refund(person, first, '7')
  await refund(person, second, '5')
  assert.deepEqual([await fateOf(first), await fateOf(second)], [ALONE, ALONE])
  await refund(person, third as Payable, '0.000001')
  assert.deepEqual(await fateOf(third as Payable), WAITS)
  await refund(colleague, fourth as Payable, '8')
  assert.deepEqual(await fateOf(fourth as Payable), ALONE, 'another person has a day of her own')
  const [dropped] = await listRefunds(shop, second.orderId)
  assert.equal((await admin.post(`refunds/${dropped?._id}/reject`, { reason: 'not returned' })).status, 200)
  await refund(person, fifth as Payable, '5')
  assert.deepEqual(await fateOf(fifth as Payable), ALONE, 'what was rejected and what waits does not count')
  await shop.host.db.run(sql`update refunds set created_at = created_at - interval '23 hours'`)
  await refund(person, seventh as Payable, '1')
  assert.deepEqual(await fateOf(seventh as Payable), WAITS, 'in hour 23 the day is not over')
  await shop.host.db.run(sql`update refunds set created_at = created_at - interval '1 hour 1 second'`)
  await refund(person, sixth as Payable, '8')
  assert.deepEqual(await fateOf(sixth as Payable), ALONE)
})

test('50 refunds at once do not pass the limit of the day', async () => {
  const person = await join('Manager')
  await setLimits({ Manager: { day: '50' } })
  const orders = await createPaidMany(50)
  const answers = await Promise.all(orders.map((order) => refund(person, order, '5')))
  assert.ok(answers.every(({ status }) => status === 200))
  const fates = await Promise.all(orders.map(fateOf))
  assert.equal(fates.filter(([status]) => status === 'needs_address').length, 10)
  assert.equal(fates.filter(([, reason]) => reason === 'limit').length, 40)
})

test('above its limit an API key is refused and nothing is started; another key of the company does not help', async () => {
  await setLimits({ Service: { single: '6', day: '20' } })
  const manager = await join('Manager')
  const body = { name: 'second', scopes: ['refunds:write', 'orders:read'] }
  const made = await manager.post<{ apiKey: string; apiSecret: string }>('api-keys', body)
  const second = { 'x-api-key': made.data.apiKey, 'x-api-secret': made.data.apiSecret }
  const orders = await createPaidMany(20)
  const refused = await refundByKey(orders[0] as Payable, '6.000001')
  assert.deepEqual([refused.status, refused.error.code], [403, 'FORBIDDEN'])
  assert.match(refused.error.message, /6\.000000 USDC at once/)
  assert.deepEqual(await listRefunds(shop, orders[0]?.orderId ?? ''), [])
  const answers = await Promise.all(
    orders.map((order, index) => refundByKey(order, '5', index % 2 === 0 ? second : shop.merchant.headers)),
  )
  assert.equal(answers.filter(({ status }) => status === 200).length, 4)
  const rest = answers.filter(({ status }) => status === 403)
  assert.deepEqual([rest.length, new Set(rest.map(({ error }) => error.code))], [16, new Set(['FORBIDDEN'])])
  assert.match(rest[0]?.error.message ?? '', /20\.000000 USDC in 24 hours/)
})

/** What was refunded before is of another day. */
const ageRefunds = () => shop.host.db.run(sql`update refunds set created_at = created_at - interval '2 days'`)

/** Somebody of the shop's company whose account that one made. */
async function joinFrom(maker: Client): Promise<Client> {
  const person = await join('Manager')
  await shop.host.db.run(sql`update users set made_by = ${maker.userId} where id = ${person.userId}`)
  return person
}

type Headers = Record<string, string>

async function makeKey(by: Client): Promise<Headers> {
  const body = { name: 'of one', scopes: ['refunds:write', 'orders:read'] }
  const { data } = await by.post<{ apiKey: string; apiSecret: string }>('api-keys', body)
  return { 'x-api-key': data.apiKey, 'x-api-secret': data.apiSecret }
}

test('the accounts that one of the staff made, and the keys of all of them, share one day, also at once', async () => {
  await ageRefunds()
  await setLimits({ Manager: { day: '20' } })
  const founder = await join('Manager')
  const [staff, colleague] = [await joinFrom(founder), await joinFrom(founder)]
  const second = await joinFrom(staff)
  const key = await makeKey(second)
  const orders = await createPaidMany(14)
  const ways = [
    (order: Payable) => refund(staff, order, '5'),
    (order: Payable) => refund(second, order, '5'),
    (order: Payable) => refundByKey(order, '5', key),
  ]
  const many = orders.slice(0, 12)
  await Promise.all(many.map((order, index) => ways[index % 3]?.(order)))
  const fates = await Promise.all(many.map(fateOf))
  assert.equal(fates.filter(([status]) => status === 'needs_address').length, 4, JSON.stringify(fates))
  const [one, another] = orders.slice(12) as [Payable, Payable]
  await refund(colleague, one, '8')
  assert.deepEqual(await fateOf(one), ALONE, 'whom the founder invited has a day of her own')
  await refund(founder, another, '8')
  assert.deepEqual(await fateOf(another), ALONE)
})

test('what people spend themselves and through their keys fits the larger of the two limits', async () => {
  await ageRefunds()
  const staff = await joinFrom(await join('Manager'))
  const key = await makeKey(staff)
  const orders = (await createPaidMany(7)) as [Payable, Payable, Payable, Payable, Payable, Payable, Payable]
  await setLimits({ Manager: { day: '10' }, Service: { day: '6' } })
  await refund(staff, orders[0], '9')
  assert.deepEqual(await fateOf(orders[0]), ALONE)
  const refused = await refundByKey(orders[1], '2', key)
  assert.deepEqual(
    [refused.status, /9\.000000 USDC are used, those of the person/.test(refused.error.message)],
    [403, true],
  )
  assert.equal((await refundByKey(orders[1], '5')).status, 200, 'a key of the shop that another person made')
  // a busy server takes nothing from the people who made its key
  await setLimits({ Manager: { day: '15' }, Service: { day: '100' } })
  assert.equal((await refundByKey(orders[2], '10', key)).status, 200)
  await refund(staff, orders[3], '6')
  assert.deepEqual(await fateOf(orders[3]), ALONE)
  await refund(staff, orders[4], '0.000001')
  assert.deepEqual(await fateOf(orders[4]), WAITS)
  // what her key spent counts for her, too
  await ageRefunds()
  await setLimits({ Manager: { day: '15' }, Service: { day: '6' } })
  assert.equal((await refundByKey(orders[5], '6', key)).status, 200)
  await refund(staff, orders[6], '10')
  assert.deepEqual(await fateOf(orders[6]), WAITS)
})

test('a key without a limit of its own has the limit of the managers, who can make keys', async () => {
  await setLimits({ Manager: { single: '5' } })
  const [order] = (await createPaidMany(1)) as [Payable]
  assert.equal((await refundByKey(order, '5.1')).error.code, 'FORBIDDEN')
  await shop.host.db.run(sql`update refunds set created_at = created_at - interval '2 days'`)
  assert.equal((await refundByKey(order, '5')).status, 200)
})

test('a limit of the managers binds an Association too, and the other way round, unless it has its own', async () => {
  const [manager, association] = [await join('Manager'), await join('Association')]
  const [one, two, three] = (await createPaidMany(3)) as [Payable, Payable, Payable]
  await setLimits({ Manager: { single: '5' } })
  assert.equal((await refund(association, one, '5.1')).status, 200)
  assert.deepEqual(await fateOf(one), WAITS)
  await setLimits({ Manager: { single: '5' }, Association: { single: '6' } })
  assert.equal((await refund(association, two, '5.1')).status, 200)
  assert.deepEqual(await fateOf(two), ALONE)
  await setLimits({ Manager: null, Association: { single: '5' } })
  assert.equal((await refund(manager, three, '5.1')).status, 200)
  assert.deepEqual(await fateOf(three), WAITS)
})

test('above the step-up limit, which the operator sets, a refund needs a person with a fresh second factor', async () => {
  const [stale, fresh] = [await join('Manager', false), await join('Manager')]
  const set = (refundStepUpLimit: string, by = admin): Promise<Answer<{ refundStepUpLimit: string }>> =>
    by.call('PUT', companyPath(), { refundStepUpLimit })
  assert.equal((await set('5000', fresh)).error.code, 'FORBIDDEN')
  assert.equal((await set('7')).data.refundStepUpLimit, '7.000000')
  await setLimits({ Manager: { single: '5' }, Service: { single: '100' } })
  const [order, other] = (await createPaidMany(2)) as [Payable, Payable]
  const [refused, taken] = [await refund(stale, order, '7.1'), await refund(fresh, order, '7.1')]
  assert.deepEqual([refused.error?.code, taken.status], ['STEP_UP_REQUIRED', 200])
  assert.deepEqual(await fateOf(order), WAITS)
  assert.match((await refundByKey(other, '7.1')).error.message, /Refunds above 7\.000000 USDC need a person/)
  assert.equal((await set('1000.00')).data.refundStepUpLimit, '1000.000000')
  assert.equal((await refundByKey(other, '7.1')).status, 200)
  assert.deepEqual(await fateOf(other), ALONE)
})

test('refunds of mispayments count, and wait above the limit', async () => {
  const person = await join('Manager')
  await setLimits({ Manager: { day: '10' } })
  const refundOver = async (units: bigint): Promise<RefundData> => {
    const order = await createPaid(shop, {}, units)
    const list = await admin.get<{ mispayments: { _id: string }[] }>(`mispayments?code=${order.code}`)
    const answer = await person.post(`mispayments/${list.data.mispayments[0]?._id}/refund`, {})
    assert.equal(answer.status, 200, answer.text)
    return (await listRefunds(shop, order.orderId)).at(-1) as RefundData
  }
  assert.equal((await refundOver(8_000_000n)).status, 'needs_address')
  const second = await refundOver(3_000_000n)
  assert.deepEqual([second.status, second.approvalReason], WAITS)
  assert.equal((await admin.post(`refunds/${second._id}/approve`)).status, 200)
  await refundReaches(shop, second.orderId, 'needs_address', false)
})

test('nobody raises his own limit: a SuperAdmin sets all, a SuperManager those below, with a fresh second factor', async () => {
  const [manager, above] = [await join('Manager'), await join('SuperManager')]
  const raise = { Manager: { single: '1000000' } }
  for (const by of [manager, await join('Association')])
    assert.equal((await setLimits(raise, by)).error.code, 'FORBIDDEN')
  const path = `/api/next/${companyPath()}`
  const byKey = await shop.host.call('PUT', path, { as: shop.merchant, body: { refundLimits: raise } })
  assert.equal(byKey.error.code, 'FORBIDDEN')
  const own = await setLimits({ ...raise, SuperManager: { single: '9' } }, above)
  assert.deepEqual([own.error.code, /SuperAdmin/.test(own.error.message)], ['FORBIDDEN', true])
  const set = await setLimits({ Manager: { single: '10.5', day: '20' }, Service: { day: '7' } }, above)
  assert.deepEqual([set.status, set.data.refundLimits], [200, limitsAfter], set.text)
  const seen = (await manager.get<Company>(companyPath())).data
  assert.deepEqual(seen.refundLimits, limitsAfter)
  const { data } = await admin.get<{ entries: { actor: string; detail: Record<string, unknown> }[] }>(
    'audit-log?action=company.change&limit=1',
  )
  assert.deepEqual(
    [data.entries[0]?.actor, data.entries[0]?.detail.fields, JSON.parse(String(data.entries[0]?.detail.refundLimits))],
    [`user:${above.userId}`, ['refundLimits'], limitsAfter],
  )
  const stale = await join('SuperManager', false)
  assert.equal((await setLimits({ Manager: null }, stale)).error.code, 'STEP_UP_REQUIRED')
})

const limitsAfter = {
  Manager: { single: '10.500000', day: '20.000000' },
  Service: { single: null, day: '7.000000' },
}

test('a limit that makes no sense is refused at its field, and nothing is changed', async () => {
  await setLimits({ Manager: { single: '3' } })
  for (const [limits, path] of [
    [{ Cashier: { single: '1' } }, 'refundLimits.Cashier'],
    [{ SuperAdmin: { single: '1' } }, 'refundLimits.SuperAdmin'],
    [{ Manager: { single: '-1' } }, 'refundLimits.Manager.single'],
    [{ Manager: { single: '1,5' } }, 'refundLimits.Manager.single'],
    [{ Manager: { day: '1.0000001' } }, 'refundLimits.Manager.day'],
    [{ Service: { single: '10', day: '9.99' } }, 'refundLimits.Service.day'],
    [{ Service: {} }, 'refundLimits.Service'],
  ] as const) {
    const { status, error } = await setLimits({ ...limits, Association: { single: '1' } })
    assert.deepEqual([status, error?.details?.[0]?.path], [422, path])
  }
  assert.equal((await setLimits({ Manager: { single: 5 } })).status, 422, 'a number is no amount')
  const { data } = await admin.get<Company>(companyPath())
  assert.deepEqual(data.refundLimits, { Manager: { single: '3.000000', day: null } })
})
