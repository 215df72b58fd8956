import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { SMTPServer } from 'smtp-server'
import { sql } from '../src/db/db.ts'
import { newEmail } from './harness/accounts.ts'
import {
  answerRefundPage,
  createPaidBy,
  listRefunds,
  newAddress,
  payoutEnv,
  type RefundData,
  revertPlainly,
} from './harness/refunds.ts'
import { eventually } from './harness/service.ts'
import { openShop, type Payable, type Shop } from './harness/shop.ts'

/* The question where a refund goes, at a mail server that refuses some recipients for good. */

let shop: Shop
const asked: string[] = []
const smtp = new SMTPServer({
  authOptional: true,
  disabledCommands: ['STARTTLS'],
  onRcptTo({ address }, _session, done) {
    const isGone = address.startsWith('gone')
    if (address.startsWith('slow')) return done(Object.assign(new Error('4.2.0 later'), { responseCode: 450 }))
    done(isGone ? Object.assign(new Error(`5.1.1 <${address}> no such user`), { responseCode: 550 }) : null)
  },
  onData(stream, { envelope }, done) {
    let text = ''
    stream.on('data', (chunk: Buffer) => {
      text += chunk.toString('utf8')
    })
    stream.on('end', () => {
      if (/refund\?/.test(text)) asked.push(...envelope.rcptTo.map(({ address }) => address))
      done()
    })
  },
})

before(async () => {
  await new Promise<void>((resolve) => smtp.listen(0, '127.0.0.1', resolve))
  const { port } = smtp.server.address() as AddressInfo
  shop = await openShop({
    env: async (chain) => ({
      ...(await payoutEnv(chain)),
      SMTP_URL: `smtp://127.0.0.1:${port}`,
      MAIL_FROM: 'till@comptoir.example',
    }),
  })
})
after(async () => {
  await shop?.stop()
  await new Promise<void>((resolve) => smtp.close(resolve))
})

const newest = async ({ orderId }: Payable): Promise<RefundData> => {
  const refund = (await listRefunds(shop, orderId)).at(-1)
  if (!refund) throw new Error('no refund')
  return refund
}

/** Each of the payer's mails, whenever it was tried. */
const expireMails = ({ orderId }: Payable) =>
  shop.host.db.run(sql`
    update jobs set payload = jsonb_set(payload, '{expiresAt}', '"2020-01-01T00:00:00.000Z"'), run_at = '2020-01-01'
    where kind = 'mail' and payload->>'payerOf' = ${orderId} and attempts > 0`)

test('a refund whose question is refused for good gives its link to the shop; an answer there is a proposal', async () => {
  const order = await createPaidBy(shop, newEmail('gone'))
  await revertPlainly(shop, order.code)
  const refund = await eventually(
    () => newest(order),
    ({ askedByMail }) => !askedByMail,
  )
  const to = newAddress()
  assert.equal((await answerRefundPage(refund.addressUrl ?? '', to)).status, 303)
  const { status, proposedAddress, proposedBy } = await newest(order)
  assert.deepEqual([status, proposedAddress, proposedBy], ['needs_address', to, 'payer'])
})

test('a question that is asked again a month after the refund began goes out', async () => {
  const email = newEmail('late')
  const order = await createPaidBy(shop, email)
  await revertPlainly(shop, order.code)
  const timesAsked = async (): Promise<number> => asked.filter((one) => one === email).length
  await eventually(timesAsked, (times) => times === 1)
  const { _id } = await newest(order)
  await shop.host.db.run(sql`update refunds set created_at = created_at - interval '31 days' where id = ${_id}`)
  const proposed = await shop.host.call('POST', `/api/next/refunds/${_id}/address`, {
    ...{ as: shop.merchant, body: { address: newAddress() } },
  })
  assert.equal(proposed.status, 200, proposed.text)
  await eventually(timesAsked, (times) => times === 2)
  const { askedByMail, addressUrl } = await newest(order)
  assert.deepEqual([askedByMail, addressUrl], [true, null])
})

test('a question that expires before a mail server takes it gives its link to the shop', async () => {
  const email = newEmail('slow')
  const order = await createPaidBy(shop, email)
  await revertPlainly(shop, order.code)
  const { addressUrl } = await eventually(
    async () => {
      await expireMails(order)
      return newest(order)
    },
    ({ askedByMail }) => !askedByMail,
    60_000,
  )
  assert.ok(addressUrl)
  assert.ok(!asked.includes(email))
})

test('a refund whose question arrives keeps its link from the shop', async () => {
  const email = newEmail('payer')
  const order = await createPaidBy(shop, email)
  await revertPlainly(shop, order.code)
  await eventually(
    async () => asked,
    (list) => list.includes(email),
  )
  const { askedByMail, addressUrl } = await newest(order)
  assert.deepEqual([askedByMail, addressUrl], [true, null])
})

test('a refund whose payer has answered goes on, whatever becomes of the question', async () => {
  const order = await createPaidBy(shop, newEmail('slow'))
  await revertPlainly(shop, order.code)
  const { _id } = await newest(order)
  await shop.host.db.run(sql`
    update refunds set status = 'ready', next_check_at = now() + interval '1 hour' where id = ${_id}`)
  await eventually(
    async () => {
      await expireMails(order)
      return shop.host.db.many(sql`
        select 1 as row from jobs where kind = 'mail' and payload->>'payerOf' = ${order.orderId}`)
    },
    (mails) => mails.length === 0,
    60_000,
  )
  const left = await shop.host.db.one(sql`
    select status, next_check_at is not null as is_polled from refunds where id = ${_id}`)
  assert.deepEqual(left, { status: 'ready', isPolled: true })
})
