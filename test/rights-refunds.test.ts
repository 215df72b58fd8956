import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import {
  type Client,
  logIn,
  logInSuperAdmin,
  newEmail,
  PASSWORD,
  type Person,
  readMails,
  register,
  waitForMail,
} from './harness/accounts.ts'
import {
  answerRefundPage,
  createPaid,
  createPaidBy,
  listRefunds,
  newAddress,
  payoutEnv,
  type RefundData,
  refundReaches,
  revertPlainly,
} from './harness/refunds.ts'
import { openShop, type Payable, type Shop } from './harness/shop.ts'

/*
 * Who may say where a refund goes. Before PAID the payer and the shop's server speak for the payer; what staff write is
 * a proposal at any time, and so is what anyone writes after PAID.
 */
let shop: Shop
let admin: Client

before(async () => {
  shop = await openShop({ env: payoutEnv })
  admin = await logInSuperAdmin(shop.host)
})
after(() => shop?.stop())

/** Somebody of the shop; `fresh` has just given a second factor. */
async function join(role: 'Manager' | 'Cashier', fresh = false): Promise<Person> {
  const names = role === 'Manager' ? { companyName: 'X' } : { companyName: shop.merchant.companyId }
  const person = await register(shop.host.baseUrl, { role, ...names })
  await shop.host.db.run(sql`
    update users set company_id = ${shop.merchant.companyId}, approved_at = now() where id = ${person.userId}`)
  if (role === 'Cashier')
    await shop.host.db.run(sql`
      insert into collector_cashiers (collector_id, user_id) values (${shop.merchant.collectorId}, ${person.userId})`)
  if (fresh) await shop.host.db.run(sql`update sessions set second_factor_at = now() where user_id = ${person.userId}`)
  return person
}

const payIt = async (order: Payable): Promise<Payable> => {
  await shop.chain.pay({ to: order.toAddress, units: order.units })
  await shop.makeFinal()
  await shop.reaches(order.code, 'PAID')
  return order
}

const newest = async ({ orderId }: Payable): Promise<RefundData> => {
  const refund = (await listRefunds(shop, orderId)).at(-1)
  if (!refund) throw new Error('no refund')
  return refund
}

const saveAddress = (client: Client, code: string, userAddress: string) =>
  client.post('confirm_conversion/payer-information', { code, payerInformation: { userAddress } })

type Entry = { actor: string; action: string; ip: string | null; detail: Record<string, unknown> }
const entriesOf = async (orderId: string, wanted: string): Promise<Entry[]> =>
  (await admin.get<{ entries: Entry[] }>(`audit-log?object=order:${orderId}`)).data.entries
    .filter(({ action }) => action === wanted)
    .toReversed()
const writesOf = (orderId: string): Promise<Entry[]> => entriesOf(orderId, 'payer.write')

test('after PAID an address from a Cashier or a key is a proposal with its true writer; no refund goes there', async () => {
  const cashier = await join('Cashier')
  const order = await createPaid(shop)
  const mine = newAddress()
  assert.equal((await saveAddress(cashier.client, order.code, mine)).status, 200)
  assert.equal((await revertPlainly(shop, order.code, { amount: '10' })).status, 200)
  const refund = await newest(order)
  assert.deepEqual(
    [refund.status, refund.address, refund.proposedAddress, refund.proposedBy, refund.addressProof],
    ['needs_address', null, mine, `user:${cashier.userId}`, null],
  )
  await shop.chain.mine(5)
  assert.equal(await shop.chain.balanceOf(mine), 0n)
  const other = await createPaid(shop)
  const body = { code: other.code, payerInformation: { userAddress: mine } }
  assert.equal((await shop.host.call('POST', 'payer-information', { as: shop.merchant, body })).status, 200)
  await revertPlainly(shop, other.code, { address: mine })
  const byKey = await newest(other)
  assert.deepEqual([byKey.status, byKey.address, byKey.proposedAddress], ['needs_address', null, mine])
  assert.match(byKey.proposedBy ?? '', /^apiKey:/)
  const [write] = await writesOf(order.orderId)
  assert.deepEqual(
    [write?.actor, write?.detail.fields, write?.detail.beforePaid, write?.ip],
    [`user:${cashier.userId}`, ['userAddress'], false, '127.0.0.1'],
  )
})

test('what a person of the shop writes is a proposal before PAID too; the server’s and the payer’s word is believed', async () => {
  const cashier = await join('Cashier')
  const mine = newAddress()
  const staffed = await shop.createAwaiting()
  await saveAddress(cashier.client, staffed.code, mine)
  await payIt(staffed)
  await revertPlainly(shop, staffed.code)
  const proposed = await newest(staffed)
  assert.deepEqual([proposed.status, proposed.proposedBy], ['needs_address', `user:${cashier.userId}`])
  const { code, _id: orderId } = await shop.create()
  const accepted = await cashier.client.post<{ toAddress: string }>(`confirm_conversion/accept/${code}`, {
    paymentChannel: 'crypto',
    network: shop.chain.chainId,
    userAddress: mine,
  })
  assert.equal(accepted.status, 200, accepted.text)
  const order = { code, orderId, toAddress: accepted.data.toAddress, units: 54_000_000n }
  await payIt(order)
  await revertPlainly(shop, code)
  const atTill = await newest(order)
  assert.deepEqual([atTill.status, atTill.proposedAddress], ['needs_address', mine])
  const own = newAddress()
  const served = await shop.createAwaiting({})
  const body = { code: served.code, payerInformation: { userAddress: own } }
  await shop.host.call('POST', 'payer-information', { as: shop.merchant, body })
  await saveAddress(cashier.client, served.code, own)
  await payIt(served)
  await revertPlainly(shop, served.code)
  assert.equal((await newest(served)).status, 'needs_address', 'a colleague wrote last: a proposal again')
  assert.equal(await shop.chain.balanceOf(mine), 0n)
})

test('a second person confirms what a colleague proposed; neither the proposer nor the maker of a proposing key can', async () => {
  const [first, second] = [await join('Manager', true), await join('Manager', true)]
  const order = await createPaid(shop)
  const to = newAddress()
  await saveAddress(first.client, order.code, to)
  await revertPlainly(shop, order.code)
  const { _id: id } = await newest(order)
  const vouch = { address: to, addressProof: { statement: 'The payer asked for it.', evidence: 'ticket 1' } }
  const own = await first.client.post<RefundData>(`refunds/${id}/address`, vouch)
  assert.deepEqual([own.data.status, own.data.address], ['needs_address', null])
  const confirmed = await second.client.post<RefundData>(`refunds/${id}/address`, vouch)
  assert.deepEqual([confirmed.status, confirmed.data.addressProof?.by], [200, `user:${second.userId}`])
  const settled = await refundReaches(shop, order.orderId, 'settled')
  assert.deepEqual([settled.address, await shop.chain.balanceOf(to)], [to, order.units])
  const keyed = await createPaid(shop)
  await revertPlainly(shop, keyed.code, { address: to })
  const refund = await newest(keyed)
  const keyId = (refund.proposedBy ?? '').split(':')[1] ?? ''
  await shop.host.db.run(sql`update api_keys set created_by = ${first.userId} where id = ${keyId}`)
  const maker = await first.client.post<RefundData>(`refunds/${refund._id}/address`, vouch)
  assert.deepEqual([maker.status, maker.data.status], [200, 'needs_address'], 'his key’s proposal is his own')
  const other = await second.client.post<RefundData>(`refunds/${refund._id}/address`, vouch)
  assert.deepEqual([other.status, other.data.address], [200, to])
})

test('the word of a person who was thrown out since, and the proposal of a revoked key, do not count', async () => {
  const { db } = shop.host
  const change = (person: Person, body: unknown) => admin.call('PUT', `users/${person.userId}`, body)
  const leave = ({ userId }: Person) => db.run(sql`update users set company_id = null where id = ${userId}`)
  const outs: ((person: Person) => Promise<unknown>)[] = [
    (person) => change(person, { disabled: true }),
    (person) => change(person, { role: 'Observer' }),
    // the account keeps its former company, and no longer belongs to it
    (person) => change(person, { role: 'SuperManager' }),
    (person) => change(person, { role: 'SimpleUser' }),
    leave,
  ]
  const words = async (order: Payable, to: string, persons: Person[]): Promise<string[]> => {
    const { _id: id } = await newest(order)
    const vouch = { address: to, addressProof: { statement: 'The payer asked for it.', evidence: 'ticket 1' } }
    const outcomes: string[] = []
    for (const { client } of persons) {
      const { data, error } = await client.post<RefundData>(`refunds/${id}/address`, vouch)
      outcomes.push(data?.status ?? error.code)
    }
    return outcomes
  }
  for (const throwOut of outs) {
    const [thief, one, another] = [
      await join('Manager', true),
      await join('Manager', true),
      await join('Manager', true),
    ]
    const [confirmed, proposed] = [await createPaid(shop), await createPaid(shop)]
    const to = newAddress()
    await revertPlainly(shop, confirmed.code)
    await answerRefundPage((await newest(confirmed)).addressUrl ?? '', to)
    assert.deepEqual(await words(confirmed, to, [thief]), ['needs_address'])
    await saveAddress(thief.client, proposed.code, to)
    await revertPlainly(shop, proposed.code)
    await throwOut(thief)
    assert.deepEqual(await words(confirmed, to, [one, another]), ['needs_address', 'ready'], `${throwOut}`)
    assert.deepEqual(await words(proposed, to, [one, another]), ['needs_address', 'ready'], `${throwOut}`)
  }
  const keyed = await createPaid(shop)
  const to = newAddress()
  const [maker, one, another] = [await join('Manager', true), await join('Manager', true), await join('Manager', true)]
  await revertPlainly(shop, keyed.code, { address: to })
  const keyId = ((await newest(keyed)).proposedBy ?? '').split(':')[1] ?? ''
  const setKey = (createdBy: string | null, isRevoked: boolean) =>
    db.run(sql`
      update api_keys set created_by = ${createdBy}, revoked_at = ${isRevoked ? new Date() : null} where id = ${keyId}`)
  const { createdBy } = await db.one<{ createdBy: string | null }>(
    sql`select created_by from api_keys where id = ${keyId}`,
  )
  await setKey(createdBy, true)
  assert.deepEqual(await words(keyed, to, [one]), ['needs_address'], 'the key was revoked')
  await setKey(maker.userId, false)
  await change(maker, { disabled: true })
  assert.deepEqual(await words(keyed, to, [one, another]), ['needs_address', 'ready'], 'its maker was disabled')
  await setKey(createdBy, false)
})

test('two persons of one shop confirm under the same Idempotency-Key: each word is its own; a repetition is none', async () => {
  const order = await createPaid(shop)
  await revertPlainly(shop, order.code)
  const { _id: id, addressUrl } = await newest(order)
  const to = newAddress()
  await answerRefundPage(addressUrl ?? '', to)
  const vouch = { address: to, addressProof: { statement: 'The payer stood at the counter.', evidence: 'receipt 12' } }
  const outcomes: unknown[] = []
  const [first, second] = [await join('Manager', true), await join('Manager', true)]
  for (const { client } of [first, first, second]) {
    const key = { 'idempotency-key': 'kept by the tab' }
    const { data, headers } = await client.post<RefundData>(`refunds/${id}/address`, vouch, key)
    outcomes.push([data.status, headers.get('idempotency-replayed')])
  }
  assert.deepEqual(outcomes, [
    ['needs_address', null],
    ['needs_address', 'true'],
    ['ready', null],
  ])
})

/** Invites a person, who accepts, logs in and has just given a second factor. */
async function invite(by: Person): Promise<Person> {
  const email = newEmail('invited')
  const made = await by.client.post<{ _id: string }>('users', {
    email,
    firstName: 'Ida',
    lastName: 'Neu',
    role: 'Manager',
  })
  assert.equal(made.status, 200, made.text)
  const { text } = await waitForMail(shop.host.baseUrl, email, /invites you/)
  const token = /invitation\?token=(\S+)/.exec(text)?.[1]
  assert.equal((await admin.post('auth/reset-password/change', { token, newPassword: PASSWORD })).status, 200)
  const client = await logIn(shop.host.baseUrl, email)
  const { _id: userId } = made.data
  await shop.host.db.run(sql`update sessions set second_factor_at = now() where user_id = ${userId}`)
  return { client, email, userId, companyId: shop.merchant.companyId }
}

/** One proposes an address, the other vouches for it. @returns the answer, and whether the refund still waits */
async function vouches(proposer: Person, other: Person) {
  const order = await createPaid(shop)
  const to = newAddress()
  await saveAddress(proposer.client, order.code, to)
  await revertPlainly(shop, order.code)
  const { _id: id } = await newest(order)
  const addressProof = { statement: 'The payer asked for it.', evidence: 'ticket 1' }
  const answer = await other.client.post(`refunds/${id}/address`, { address: to, addressProof })
  const { status } = await newest(order)
  return [answer.status, answer.error?.code, status === 'needs_address'] as const
}

/** Changes the role; the person logs in again and has just given a second factor. */
async function setRole(by: Person, person: Person, role: string): Promise<Person> {
  const { userId, email } = person
  const { status, text } = await by.client.call('PUT', `users/${userId}`, { role })
  assert.equal(status, 200, text)
  const client = await logIn(shop.host.baseUrl, email)
  await shop.host.db.run(sql`update sessions set second_factor_at = now() where user_id = ${userId}`)
  return { ...person, client }
}

test('an account that staff made is no second person for its maker; for who founded the company it is', async () => {
  const founder = await join('Manager', true)
  const staff = await invite(founder)
  const colleague = await invite(founder)
  const accomplices = [await invite(staff), await invite(staff)]
  const [one, another] = accomplices as [Person, Person]
  for (const [proposer, other] of [
    [staff, one],
    [one, staff],
    [one, another],
  ] as const)
    assert.deepEqual(await vouches(proposer, other), [409, 'OBJECT_CONFLICT', true])
  assert.deepEqual(await vouches(one, colleague), [200, undefined, false], 'the founder made neither for himself')
  assert.deepEqual(await vouches(founder, staff), [200, undefined, false])
  // a cashier who came by himself is the staff's own once they made him a Manager
  const cashier = await join('Cashier', true)
  assert.equal((await staff.client.call('PUT', `users/${cashier.userId}`, { role: 'Manager' })).status, 200)
  const promoted = { ...cashier, client: await logIn(shop.host.baseUrl, cashier.email) }
  await shop.host.db.run(sql`update sessions set second_factor_at = now() where user_id = ${cashier.userId}`)
  assert.deepEqual(await vouches(staff, promoted), [409, 'OBJECT_CONFLICT', true])
  // one who was only let in proposes what the staff then vouches for
  const applicant = await join('Cashier')
  await shop.host.db.run(sql`update users set approved_at = null where id = ${applicant.userId}`)
  assert.equal((await staff.client.post(`users/${applicant.userId}/approve`)).status, 200)
  assert.deepEqual(await vouches(applicant, staff), [409, 'OBJECT_CONFLICT', true])
  assert.deepEqual(await vouches(applicant, colleague), [200, undefined, false])
})

test('accounts that one made stay that one’s own, even if they give each other their roles', async () => {
  const staff = await invite(await join('Manager', true))
  let one = await invite(staff)
  let other = await invite(staff)
  for (const role of ['Observer', 'Manager']) other = await setRole(one, other, role)
  for (const role of ['Observer', 'Manager']) one = await setRole(other, one, role)
  assert.deepEqual(await vouches(staff, one), [409, 'OBJECT_CONFLICT', true])
  assert.deepEqual(await vouches(other, staff), [409, 'OBJECT_CONFLICT', true])
})

test('an applicant who is let in by a new role is the account of whoever gave it', async () => {
  const staff = await invite(await join('Manager', true))
  const { companyId } = shop.merchant
  const applicant = await register(shop.host.baseUrl, { role: 'Observer', companyName: companyId })
  const cashier = await setRole(staff, applicant, 'Cashier')
  const cashiers = [cashier.userId]
  const given = await staff.client.call('PUT', `collectors/${shop.merchant.collectorId}`, { cashiers })
  assert.equal(given.status, 200, given.text)
  assert.deepEqual(await vouches(cashier, staff), [409, 'OBJECT_CONFLICT', true])
})

test('after PAID only a Manager with a fresh second factor changes the e-mail, and the old address is told', async () => {
  const old = newEmail('payer')
  const order = await createPaidBy(shop, old)
  const cashier = await join('Cashier')
  const [stale, fresh] = [await join('Manager'), await join('Manager', true)]
  const evil = newEmail('evil')
  const path = `confirm_conversion/email/${order.code}`
  const byKey = await shop.host.call('POST', `email/${order.code}`, { as: shop.merchant, body: { email: evil } })
  assert.deepEqual([byKey.status, byKey.error.code], [403, 'FORBIDDEN'])
  // true of both: it may be over without a payment
  assert.match(byKey.error.message, /^Once an order is paid, or over with money, only a Manager may change /)
  const byCashier = await cashier.client.post(path, { email: evil })
  assert.deepEqual([byCashier.status, byCashier.error.code], [403, 'FORBIDDEN'])
  const information = { code: order.code, payerInformation: { firstName: 'A', email: evil } }
  const another = await cashier.client.post('confirm_conversion/payer-information', information)
  assert.equal(another.error.code, 'FORBIDDEN', 'the other endpoint is no way round')
  const noFactor = await stale.client.post(path, { email: evil })
  assert.deepEqual([noFactor.status, noFactor.error.code], [403, 'STEP_UP_REQUIRED'])
  const read = async () =>
    (await fresh.client.get<{ email: string }>(`confirm_conversion/payer-information/${order.code}`)).data.email
  assert.equal(await read(), old)
  assert.deepEqual(await readMails(shop.host.baseUrl, evil), [])
  const next = newEmail('payer')
  assert.equal((await fresh.client.post(path, { email: next })).status, 200)
  assert.equal(await read(), next)
  const told = await waitForMail(shop.host.baseUrl, old, /was changed/)
  assert.equal(told.text.includes(next), false, 'the new address is not told to the old one')
  await revertPlainly(shop, order.code, { address: newAddress() })
  await waitForMail(shop.host.baseUrl, old, /\/refund\?/)
  assert.deepEqual(await readMails(shop.host.baseUrl, next), [], 'the link goes to the e-mail known before PAID')
  const writers = (await writesOf(order.orderId)).map(({ actor, detail }) => [actor.split(':')[0], detail.beforePaid])
  assert.deepEqual(writers, [
    ['apiKey', true],
    ['user', false],
  ])
})

test('a session that has just ended names no payer by choosing how to pay; without one the sale goes on', async () => {
  const { client, userId } = await join('Manager', true)
  const order = await shop.createAwaiting()
  const accept = (payer: Record<string, string>) =>
    client.post(`confirm_conversion/accept/${order.code}`, { paymentChannel: 'crypto', ...payer })
  assert.equal((await accept({ payerEmail: newEmail('payer') })).status, 200)
  const before = await writesOf(order.orderId)
  // as another node ends it: this one still holds the session
  await shop.host.db.run(sql`update sessions set revoked_at = now() where user_id = ${userId}`)
  for (const payer of [{ payerEmail: newEmail('evil') }, { userAddress: newAddress() }]) {
    const { status, text } = await accept(payer)
    assert.equal(status, 401, text)
  }
  assert.deepEqual(await writesOf(order.orderId), before)
  assert.equal((await accept({})).status, 200)
})

test('sending the same e-mail again after PAID changes nothing and is no refusal', async () => {
  const email = newEmail('payer')
  const order = await createPaidBy(shop, email)
  const again = await shop.host.call('POST', `email/${order.code}`, {
    as: shop.merchant,
    body: { email: email.toUpperCase() },
  })
  assert.equal(again.status, 200, again.text)
})

test('an e-mail that the shop gave wins over one typed on the page, in either order', async () => {
  const identityThreshold = sql`update companies set identity_threshold_amount = 10, version = version + 1
    where id = ${shop.merchant.companyId}`
  await shop.host.db.run(identityThreshold)
  const { code } = await shop.create()
  const page = await (await fetch(`${shop.host.baseUrl}/pay?code=${code}`)).text()
  const token = /name="token" value="([^"]+)"/.exec(page)?.[1] ?? ''
  const type = (email: string) =>
    fetch(`${shop.host.baseUrl}/pay`, {
      method: 'POST',
      redirect: 'manual',
      body: new URLSearchParams({ code, token, email, firstName: 'A', lastName: 'B' }),
    })
  const boss = await join('Manager')
  const read = async () =>
    (await boss.client.get<{ email: string }>(`confirm_conversion/payer-information/${code}`)).data.email
  assert.equal((await type('typed@example.org')).status, 303)
  assert.equal(await read(), 'typed@example.org')
  const body = { code, payerInformation: { email: 'shop@example.org' } }
  await shop.host.call('POST', 'payer-information', { as: shop.merchant, body })
  assert.equal(await read(), 'shop@example.org')
  await type('late@example.org')
  assert.equal(await read(), 'shop@example.org')
  await shop.host.db.run(sql`
    update companies set identity_threshold_amount = 1000, version = version + 1 where id = ${shop.merchant.companyId}`)
})

test('nobody writes the notes of who wrote what: forged ones send no question about a refund to a stranger', async () => {
  const cashier = await join('Cashier')
  const order = await createPaid(shop)
  const evil = newEmail('evil')
  const notes = { askAt: evil, email: { by: `payer:${order.code}`, at: '2026-01-01T00:00:00Z', isWord: true } }
  const body = { code: order.code, payerInformation: { country: 'FR', notes } }
  assert.equal((await cashier.client.post('confirm_conversion/payer-information', body)).status, 200)
  assert.equal((await revertPlainly(shop, order.code)).status, 200)
  assert.equal((await newest(order)).status, 'needs_address')
  const asked = await shop.host.db.one<{ count: number }>(
    sql`select count(*)::int as count from refunds where order_id = ${order.orderId} and asked_by_mail`,
  )
  assert.deepEqual([asked.count, (await readMails(shop.host.baseUrl, evil)).length], [0, 0])
})

test('who erased payer information stands in the audit log, without what it was', async () => {
  const [boss, email] = [await join('Manager'), newEmail('payer')]
  const { code, _id: orderId } = await shop.create()
  await shop.host.call('POST', `email/${code}`, { as: shop.merchant, body: { email } })
  const erase = async () => (await boss.client.call('DELETE', `confirm_conversion/payer-information/${code}`)).data
  assert.deepEqual(
    [await erase(), await erase()],
    [
      { erased: true, notes: 0 },
      { erased: false, notes: 0 },
    ],
  )
  const entries = await entriesOf(orderId, 'payer.erase')
  assert.deepEqual(
    entries.map(({ actor, detail }) => [actor, detail]),
    [
      [
        `user:${boss.userId}`,
        { payer: true, check: false, wallet: false, files: false, mails: false, status: 'INITIAL', notes: 0 },
      ],
    ],
  )
})
