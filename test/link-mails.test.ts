import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openLinkMails } from '../src/assembly/messages/link-mails.ts'
import { sql } from '../src/db/db.ts'
import { openJobQueue } from '../src/db/job-runner.ts'
import { DAY } from '../src/kernel/clock.ts'
import { openMailer } from '../src/mail/mail.ts'
import { MAILS_A_DAY, MAILS_OF_ORDER, remindPayers, type SentLink } from '../src/payers/link-mails.ts'
import type { PayerDeps } from '../src/payers/payer-service.ts'
import { newEmail } from './harness/accounts.ts'
import { type Answer, eventually } from './harness/service.ts'
import { type OrderData, openShop, type Shop } from './harness/shop.ts'
import { type SmtpReceiver, startSmtpReceiver } from './harness/smtp-receiver.ts'

/* A link to pay by mail, and the reminder before it ends. */

let shop: Shop
let smtp: SmtpReceiver

before(async () => {
  smtp = await startSmtpReceiver()
  shop = await openShop({
    env: async () => ({ SMTP_URL: smtp.url, MAIL_FROM: 'Comptoir <till@comptoir.example>' }),
  })
})
after(async () => {
  await shop?.stop()
  await smtp?.close()
})

const createLink = (body: Record<string, unknown> = {}): Promise<OrderData> =>
  shop.create({ alias: `INV-${crypto.randomUUID()}`, ...body })

const send = (
  { code }: Pick<OrderData, 'code'>,
  body: Record<string, unknown>,
  headers: Record<string, string> = {},
): Promise<Answer<SentLink>> => shop.host.call<SentLink>('POST', `send/${code}`, { as: shop.merchant, body, headers })

/** Until every queued mail has left. */
const isSent = () =>
  eventually(
    () => shop.host.db.one<{ count: number }>(sql`select count(*)::int as count from jobs where kind = 'mail'`),
    ({ count }) => count === 0,
    30_000,
  )

/** As a node does each minute, on two nodes at the same time. */
async function remindOnTwoNodes(nowMs = Date.now()): Promise<void> {
  const { db, vault, config } = shop.host
  const clock = Date.now
  const mailer = openMailer({ jobs: openJobQueue({ clock }), vault, clock })
  const payers = { db, vault, clock } as unknown as PayerDeps
  const deps = openLinkMails({ config }, { mailer }, payers)
  await Promise.all([remindPayers(deps, nowMs), remindPayers(deps, nowMs)])
}

const isDue = ({ _id }: OrderData) =>
  shop.host.db.run(sql`update link_mails set remind_at = now() where order_id = ${_id}`)

test('a link goes to the payer by mail: whose, how much, for what, until when, and where to pay', async () => {
  const order = await createLink({ goods: { goodsName: 'Two tickets' } })
  const email = newEmail('payer')
  const answer = await send(order, { email, language: 'fr' })
  assert.equal(answer.status, 200, answer.text)
  assert.deepEqual(answer.data, { sent: 1, left: 2, language: 'fr', remindAt: null })
  const [mail] = await smtp.waitFor(email, 1)
  assert.match(mail?.subject ?? '', /^Test & Söhne vous demande de payer 50,00\s€$/)
  const link = `${shop.host.config.payUrl}/pay?code=${order.code}&lang=fr`
  for (const words of [link, `Objet : Two tickets · ${order.alias}`, order.shortCode ?? '', 'jusqu’au', 'UTC'])
    assert.ok(mail?.text.replaceAll('\u00a0', ' ').includes(words), words)
  assert.match(await (await fetch(link)).text(), /<html lang="fr"/)
  const plain = await createLink()
  const other = newEmail('payer')
  await send(plain, { email: other })
  const [english] = await smtp.waitFor(other, 1)
  assert.match(english?.subject ?? '', /^Test & Söhne asks you to pay €50\.00$/)
})

test('the address is the payer’s e-mail: read as such, receipt included, erased with it, and in no audit entry', async () => {
  const { host, chain, merchant } = shop
  const email = newEmail('payer')
  const { code, orderId, toAddress, units } = await shop.createAwaiting()
  smtp.setAway(true)
  assert.equal((await send({ code }, { email, language: 'de' })).status, 200)
  const waiting = sql`select from jobs where kind = 'mail' and payload->>'payerOf' = ${orderId} and attempts > 0`
  await eventually(
    () => host.db.run(waiting),
    (count) => count === 1,
  )
  smtp.setAway(false)
  await host.db.run(sql`update jobs set run_at = now() where kind = 'mail' and owner is null`)
  await smtp.waitFor(email, 1)
  await chain.pay({ to: toAddress, units })
  await shop.makeFinal()
  await shop.reaches(code, 'PAID')
  const [, receipt] = await smtp.waitFor(email, 2)
  assert.match(receipt?.subject ?? '', /^Ihr Beleg von /)
  const entries = await host.db.many<{ action: string; text: string }>(sql`
    select action, row_to_json(a)::text as text from audit_log a where object = ${`order:${orderId}`} order by seq`)
  assert.deepEqual(
    entries.map(({ action }) => action),
    ['payer.send-link', 'payer.write'],
  )
  for (const { text } of entries) assert.ok(!text.includes(email), text)
  const { count } = await host.db.one<{ count: number }>(sql`
    select count(*)::int as count from payer_information where company_id = ${merchant.companyId}
      and order_id = ${orderId} and sealed not like ${`%${email}%`}`)
  assert.equal(count, 1)
})

test('three mails for an order, however many ask at once; a fourth is refused with the reason and sends nothing', async () => {
  const order = await createLink()
  const email = newEmail('payer')
  const answers = await Promise.all(Array.from({ length: 6 }, () => send(order, { email })))
  const statuses = answers.map(({ status }) => status).sort()
  assert.deepEqual(statuses, [200, 200, 200, 429, 429, 429])
  const refused = answers.find(({ status }) => status === 429)
  assert.match(refused?.error?.message ?? '', /mailed 3 times/)
  await isSent()
  assert.equal(smtp.mailsTo(email).length, MAILS_OF_ORDER)
})

test('a company mails two hundred links a day; the next one waits, and the mails of other companies do not', async () => {
  const { db } = shop.host
  const { companyId } = shop.merchant
  const order = await createLink()
  const key = `mail:link:${companyId}:day`
  const { used: before } = await db.one<{ used: bigint }>(sql`select used from rate_counters where key = ${key}`)
  await db.run(sql`update rate_counters set used = ${MAILS_A_DAY - 1} where key = ${key}`)
  const email = newEmail('payer')
  assert.equal((await send(order, { email })).status, 200)
  const refused = await send(order, { email })
  assert.equal(refused.status, 429)
  assert.match(refused.error?.message ?? '', /200 links within a day/)
  const seconds = Number(refused.headers.get('retry-after'))
  assert.ok(seconds > 0 && seconds <= DAY / 1000, `${seconds}`)
  const other = await shop.host.createMerchant()
  const made = await shop.host.call<{ code: string }>('POST', 'request', {
    as: other,
    body: { amount: 5, fromAsset: 'EUR', merchantIdentifier: other.merchantIdentifier },
  })
  const theirs = await shop.host.call('POST', `send/${made.data.code}`, { as: other, body: { email } })
  assert.equal(theirs.status, 200, theirs.text)
  await db.run(sql`update rate_counters set used = ${before} where key = ${key}`)
  const again = await send(order, { email })
  assert.deepEqual([again.status, again.data?.sent], [200, 2], 'a refused one does not count for the order')
})

test('an Idempotency-Key sends one mail, and answers twice', async () => {
  const order = await createLink()
  const email = newEmail('payer')
  const headers = { 'idempotency-key': crypto.randomUUID() }
  const [first, second] = [await send(order, { email }, headers), await send(order, { email }, headers)]
  assert.deepEqual(second.data, first.data)
  assert.equal(second.headers.get('idempotency-replayed'), 'true')
  await isSent()
  assert.equal(smtp.mailsTo(email).length, 1)
})

test('the link of an order that has ended is not mailed', async () => {
  const order = await createLink()
  await shop.host.call('POST', `cancel/${order.code}`, { as: shop.merchant })
  const late = await createLink()
  await shop.host.db.run(sql`update orders set expires_at = now() - interval '1 second' where id = ${late._id}`)
  for (const ended of [order, late]) {
    const email = newEmail('payer')
    const refused = await send(ended, { email })
    assert.equal(refused.status, 409, refused.text)
    assert.match(refused.error?.message ?? '', /only while it waits for a payment\. Nothing was sent/)
    await isSent()
    assert.deepEqual(smtp.mailsTo(email), [])
  }
})

test('no name and no address adds a header, a tag or a link to the mail', async () => {
  const { db } = shop.host
  const { companyId } = shop.merchant
  const order = await createLink({ alias: '<b>INV</b> http://evil.example/x', goods: { goodsName: '<img src=x>' } })
  for (const email of ['a@shop.example\r\nBcc: b@shop.example', 'a@shop.example, b@shop.example', 'a b@shop.example'])
    assert.equal((await send(order, { email })).status, 422, email)
  const name = 'Evil <script>\r\nBcc: eve@shop.example'
  await db.run(sql`update companies set display_name = ${name} where id = ${companyId}`)
  const email = newEmail('payer')
  assert.equal((await send(order, { email })).status, 200)
  const [mail] = await smtp.waitFor(email, 1)
  await db.run(sql`update companies set display_name = null where id = ${companyId}`)
  assert.doesNotMatch(mail?.headers ?? '', /^Bcc/im)
  assert.match(mail?.subject ?? '', /^Evil <script> Bcc: eve@ ?shop/)
  assert.doesNotMatch(mail?.html ?? '', /<script|<img|<b>|href="http:\/\/evil/)
  assert.match(mail?.html ?? '', /&lt;img src=x&gt; · &lt;b&gt;INV/)
  assert.doesNotMatch(mail?.text ?? '', /http:\/\/evil/)
  await isSent()
  assert.deepEqual(smtp.mailsTo('eve@shop.example'), [])
})

test('a payer is reminded once, a day before the end, of an order that is still unpaid', async () => {
  const order = await createLink()
  const email = newEmail('payer')
  const answer = await send(order, { email, language: 'es', remind: true })
  const endsAt = Date.parse(order.expiresAt ?? '')
  assert.equal(answer.data.remindAt, new Date(endsAt - DAY).toISOString())
  await remindOnTwoNodes(endsAt - DAY - 1000)
  await isSent()
  assert.equal(smtp.mailsTo(email).length, 1, 'not before')
  await isDue(order)
  await remindOnTwoNodes()
  await remindOnTwoNodes()
  await isSent()
  const [, reminder, ...more] = smtp.mailsTo(email)
  assert.match(reminder?.subject ?? '', /^Recordatorio: 50,00\s€ por pagar a /)
  assert.deepEqual(more, [])
  const soon = await createLink({ expiryMinutes: 60 })
  assert.equal((await send(soon, { email: newEmail('payer'), remind: true })).data.remindAt, null)
})

test('no reminder: the order was cancelled, the payer erased, or a later mail took it back', async () => {
  const { host, merchant } = shop
  const [cancelled, erased, takenBack] = [await createLink(), await createLink(), await createLink()]
  const emails: string[] = []
  for (const order of [cancelled, erased, takenBack]) {
    const email = newEmail('payer')
    emails.push(email)
    assert.equal((await send(order, { email, remind: true })).status, 200)
  }
  await host.call('POST', `cancel/${cancelled.code}`, { as: merchant })
  await host.db.run(sql`delete from payer_information where order_id = ${erased._id}`)
  const last = emails.at(-1) ?? ''
  assert.equal((await send(takenBack, { email: last })).data.remindAt, null)
  for (const order of [cancelled, erased]) assert.equal(await isDue(order), 1)
  await remindOnTwoNodes()
  await isSent()
  assert.deepEqual(
    emails.map((email) => smtp.mailsTo(email).length),
    [1, 1, 2],
  )
})
