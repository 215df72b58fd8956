import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql, type Tx } from '../src/db/db.ts'
import { DAY } from '../src/kernel/clock.ts'
import { type AskedOperator, refundAlarm } from '../src/mail/refund-alarm.ts'
import { mailWaiting, type WaitingMail } from '../src/orders/summary/waiting-mails.ts'
import { type Client, logInSuperAdmin, type Person, registerManager } from './harness/accounts.ts'
import {
  createPaid,
  listRefunds,
  newAddress,
  type RefundData,
  refundReaches,
  revert,
  revertPlainly,
} from './harness/refunds.ts'
import { eventually } from './harness/service.ts'
import { openShop, type Shop } from './harness/shop.ts'

/* Who is asked about a refund that waits for a person: the operator, the shop, or whoever holds its money. */

let shop: Shop
let operator: Client

before(async () => {
  shop = await openShop()
  operator = await logInSuperAdmin(shop.host)
})
after(() => shop?.stop())

async function joinManager(): Promise<Person> {
  const { baseUrl, db } = shop.host
  const person = await registerManager(baseUrl)
  await db.run(sql`
    update users set company_id = ${shop.merchant.companyId}, approved_at = now() where id = ${person.userId}`)
  await db.run(sql`update sessions set second_factor_at = now() where user_id = ${person.userId}`)
  return person
}

const name = ({ _id }: RefundData, txHash: string) =>
  operator.post<RefundData>(`refunds/${_id}/transaction`, { txHash })

async function revertPaid(): Promise<RefundData> {
  const order = await createPaid(shop)
  assert.equal((await revert(shop, order.code, { address: newAddress() })).status, 200)
  return refundReaches(shop, order.orderId, 'ready', false)
}

/** What the job mails at a time: to the operator, and about the refunds that the company has to send. */
async function mailAt(nowMs: number): Promise<{ asked: AskedOperator[]; byHand: number[]; refunds: number[] }> {
  const asked: AskedOperator[] = []
  const mails: WaitingMail[] = []
  const send = async (_: Tx, mail: WaitingMail) => void mails.push(mail)
  await mailWaiting({ db: shop.host.db, send, askOperator: async (_, one) => void asked.push(one) }, nowMs)
  const some = (pick: 'byHand' | 'refunds') => mails.map(({ facts }) => facts[pick]).filter((count) => count > 0)
  return { asked, byHand: some('byHand'), refunds: some('refunds') }
}
const QUIET = { asked: [], byHand: [], refunds: [] }

/** A refund that a person has to send, and a check that holds it, or not. */
async function startByHand(): Promise<RefundData> {
  const refund = await revertPaid()
  await eventually(
    async () => (await operator.get<{ toSendByHand: boolean }>(`refunds/${refund._id}`)).data,
    ({ toSendByHand }) => toSendByHand,
  )
  return refund
}
const hold = ({ _id }: RefundData, until: Date | null) =>
  shop.host.db.run(sql`update refunds set next_check_at = ${until} where id = ${_id}`)

test('a refund that only a person can send waits for the operator, who holds its money, and no payer reads “on its way”', async () => {
  const { baseUrl } = shop.host
  const { client } = await joinManager()
  const refund = await startByHand()
  const needsOf = async (one: Client, of = '') =>
    (await one.get<{ needs: { refunds: number } }>(`summary?days=7${of}`)).data.needs.refunds
  const waitsAll = async () => {
    const { toSendByHand, heldBy } = (
      await client.get<RefundData & { toSendByHand: boolean; heldBy: string }>(`refunds/${refund._id}`)
    ).data
    const page = await (await fetch(`${baseUrl}/pay?code=${refund.code}&lang=en`)).text()
    const words = /Your refund is (?:on its way|being prepared)/.exec(page)?.[0]
    return [toSendByHand, heldBy, await needsOf(operator, `&companyId=${shop.merchant.companyId}`), words] as const
  }
  const asked = await waitsAll()
  assert.deepEqual([asked[0], asked[1], asked[3]], [true, 'operator', 'Your refund is being prepared'])
  assert.equal(await needsOf(client), 0, 'the manager has nothing to send')
  const story = await client.get<{ entries: { kind: string; facts: Record<string, unknown> }[] }>(
    `confirm_conversion/story/${refund.code}`,
  )
  assert.equal(story.data.entries.find(({ kind }) => kind === 'refund')?.facts.waitsFor, 'person')
  // held by a check again, it is not to be sent
  await hold(refund, new Date(Date.now() + DAY))
  assert.deepEqual(await waitsAll(), [false, 'operator', asked[2] - 1, 'Your refund is on its way'])
  await hold(refund, null)
  assert.deepEqual(await waitsAll(), asked)
  assert.deepEqual((await mailAt(Date.now())).asked, [{ asks: 'send', refunds: 1, companies: 1 }])
  assert.equal(refundAlarm({ asks: 'send', refunds: 2, companies: 1 }).subject, '2 refunds have to be sent by hand')
  assert.deepEqual(await mailAt(Date.now() + DAY), QUIET, 'mailed once, and not to the company')
  const txHash = await shop.chain.pay({ to: refund.address ?? '', units: 54_000_000n })
  assert.equal((await name(refund, txHash)).status, 200)
  assert.deepEqual((await waitsAll()).slice(0, 3), [false, 'operator', asked[2] - 1])
})

test('nobody but the operator says that the operator’s money was sent: it would be booked as sent by him', async () => {
  const { client } = await joinManager()
  const refund = await startByHand()
  const txHash = await shop.chain.pay({ to: refund.address ?? '', units: 54_000_000n })
  const path = `/api/next/refunds/${refund._id}/transaction`
  const answers = [
    await client.post(`refunds/${refund._id}/transaction`, { txHash }),
    await client.post(`refunds/${refund._id}/settle`, { reference: 'bank-1', statement: 'sent by bank transfer' }),
    await shop.host.call('POST', path, { as: shop.merchant, body: { txHash } }),
  ]
  for (const { status, error } of answers) {
    assert.deepEqual([status, error.code], [403, 'FORBIDDEN'])
    assert.match(error.message, /Do not send it yourself\. If you have sent it, tell the operator/)
  }
  await refundReaches(shop, refund.orderId, 'ready', false)
  assert.equal((await name(refund, txHash)).status, 200)
})

test('a refund that the company has to send is mailed to it once, also where a check holds it at the hour of the mail', async (t) => {
  const { db } = shop.host
  const own = (isOwn: boolean) =>
    db.run(sql`
    update payments set own_account = ${isOwn} where id = (select payment_id from refunds where id = ${refund._id})`)
  await joinManager()
  const refund = await startByHand()
  await own(true)
  t.after(() => own(false))
  const day = Math.floor(Date.now() / DAY) * DAY + 10 * DAY
  const hour = DAY / 24
  await mailAt(day - hour)
  const noted = () => db.one<{ at: Date | null }>(sql`select by_hand_since as at from refunds where id = ${refund._id}`)
  await db.run(sql`update refunds set by_hand_since = null where id = ${refund._id}`)
  await hold(refund, new Date(day + DAY))
  assert.deepEqual([(await mailAt(day + hour)).asked, (await noted()).at], [[], null], 'held, it is not to be sent')
  await hold(refund, null)
  assert.deepEqual(await mailAt(day + 9 * hour), QUIET)
  // the books differ over the night, at the hour of the mail
  await hold(refund, new Date(day + 2 * DAY))
  const mails: number[][] = []
  for (const days of [1, 2, 3]) mails.push((await mailAt(day + days * DAY + hour)).byHand)
  const [first = [], ...others] = mails
  assert.ok(first.length > 0 && first.every((count) => count === 1), 'every manager, about this one')
  assert.deepEqual(others, [[], []])
})

test('a refund that only the operator can approve is asked of him, not of the manager who may not; the shop is asked for its address', async () => {
  const { db } = shop.host
  const { companyId } = shop.merchant
  const { client } = await joinManager()
  const needsOf = async () => (await client.get<{ needs: { refunds: number } }>('summary?days=7')).data.needs.refunds
  const before = await needsOf()
  const approval = (isOn: boolean) =>
    db.run(sql`update companies set refund_approval = ${isOn}, version = version + 1 where id = ${companyId}`)
  const order = await createPaid(shop)
  await approval(true)
  assert.equal((await revertPlainly(shop, order.code)).status, 200)
  await approval(false)
  const [refund] = await listRefunds(shop, order.orderId)
  assert.equal(refund?.status, 'needs_approval')
  assert.equal((await client.post(`refunds/${refund._id}/approve`)).status, 403)
  const day = Math.floor(Date.now() / DAY) * DAY + 20 * DAY
  assert.deepEqual((await mailAt(day)).asked, [{ asks: 'approve', refunds: 1, companies: 1 }])
  assert.equal(refundAlarm({ asks: 'approve', refunds: 1, companies: 1 }).subject, 'A refund waits for your approval')
  for (const days of [1, 2]) assert.deepEqual(await mailAt(day + days * DAY), QUIET, 'the manager cannot decide it')
  assert.equal(await needsOf(), before)
  assert.equal((await operator.post(`refunds/${refund._id}/approve`)).status, 200)
  await refundReaches(shop, order.orderId, 'needs_address', false)
  assert.equal(await needsOf(), before + 1)
  assert.deepEqual(await mailAt(day + 3 * DAY), QUIET)
  const { asked, refunds } = await mailAt(day + 4 * DAY)
  assert.deepEqual(asked, [])
  assert.ok(
    refunds.length > 0 && refunds.every((count) => count === 1),
    'every manager, now that it is the shop’s turn',
  )
  assert.deepEqual(await mailAt(day + 5 * DAY), QUIET)
})
