import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openLinkMails } from '../src/assembly/messages/link-mails.ts'
import type { ServiceBase } from '../src/assembly/service-base.ts'
import { sql } from '../src/db/db.ts'
import { openJobQueue } from '../src/db/job-runner.ts'
import { MOST_MAILS_AN_HOUR } from '../src/http/limits/mail-limits.ts'
import { DAY, HOUR } from '../src/kernel/clock.ts'
import { openMailer } from '../src/mail/mail.ts'
import { upsertPayerLanguage } from '../src/mail/payer-language-queries.ts'
import { MAILS_A_DAY, MAILS_OF_ORDER, remindPayers, type SentLink } from '../src/payers/link-mails.ts'
import type { PayerDeps } from '../src/payers/payer-service.ts'
import { Client, insertPerson, newEmail, PASSWORD, passwordHash } from './harness/accounts.ts'
import { type Answer, eventually } from './harness/service.ts'
import { type OrderData, openShop, type Payable, type Shop } from './harness/shop.ts'
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

/** A manager of the shop, logged in with the password alone. */
async function enterAsManager(): Promise<Client> {
  const { db, baseUrl } = shop.host
  const { id } = await insertPerson(db, { role: 'Manager', companyId: shop.merchant.companyId })
  const email = newEmail('manager')
  await db.run(sql`
    update users set email = ${email}, email_key = ${email}, password_hash = ${await passwordHash()},
      verified_at = now(), approved_at = now(), two_factor_enabled = false where id = ${id}`)
  const client = new Client(baseUrl)
  const login = { email, password: PASSWORD, origin: 'dashboard' }
  client.token = (await client.post<{ token: string }>('auth/login/manager', login)).data.token
  return client
}

/** Until every queued mail has left. */
const isSent = () =>
  eventually(
    () => shop.host.db.one<{ count: number }>(sql`select count(*)::int as count from jobs where kind = 'mail'`),
    ({ count }) => count === 0,
    30_000,
  )

type Logged = { orderId: string }

/** As nodes do each minute. @returns what each says, and what they logged */
async function remindOn(nodes: number, nowMs: number): Promise<{ more: boolean[]; logged: Logged[] }> {
  const { db, vault, config } = shop.host
  const clock = Date.now
  const logged: Logged[] = []
  const log = { error: (fields: Logged) => void logged.push(fields) } as unknown as ServiceBase['log']
  const mailer = openMailer({ jobs: openJobQueue({ clock }), vault, clock })
  const payers = { db, vault, clock } as unknown as PayerDeps
  const deps = openLinkMails({ config, log }, { mailer }, payers)
  const more = await Promise.all(Array.from({ length: nodes }, () => remindPayers(deps, nowMs)))
  return { more, logged }
}
const remindOnTwoNodes = (nowMs = Date.now()) => remindOn(2, nowMs)

const idOf = (order: OrderData | Payable): string => ('orderId' in order ? String(order.orderId) : String(order._id))

const isDue = (order: OrderData | Payable, ago = '1 s') =>
  shop.host.db.run(sql`update link_mails set remind_at = now() - ${ago}::interval where order_id = ${idOf(order)}`)

const remindAtOf = async (order: OrderData | Payable): Promise<Date | null> =>
  (
    await shop.host.db.one<{ remindAt: Date | null }>(
      sql`select remind_at from link_mails where order_id = ${idOf(order)}`,
    )
  ).remindAt

const subjectsTo = async (email: string): Promise<string[]> => {
  await isSent()
  return smtp.mailsTo(email).map(({ subject }) => subject)
}

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
  assert.deepEqual(statuses, [200, 200, 200, 409, 409, 409])
  const refused = answers.find(({ status }) => status === 409)
  assert.match(refused?.error?.message ?? '', /mailed 3 times/)
  assert.equal(refused?.headers.get('retry-after'), null, 'waiting does not help')
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

test('one mailbox gets ten links an hour, whoever sends them and however it is written; a reminder waits for the next', async () => {
  const email = newEmail('payer')
  const reminded = await createLink()
  assert.equal((await send(reminded, { email, remind: true })).status, 200)
  for (let sent = 1; sent < MOST_MAILS_AN_HOUR; sent += 1) {
    const to = email.replace('@', `+${sent}@`)
    assert.equal((await send(await createLink(), { email: to })).status, 200)
  }
  const eleventh = await createLink()
  const refused = await send(eleventh, { email })
  assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '3600'])
  assert.match(refused.error?.message ?? '', /^This address was mailed 10 links within an hour/)
  assert.equal((await send(eleventh, { email: newEmail('payer') })).data.sent, 1, 'another address is free')
  await isDue(reminded)
  const nowMs = Date.now() + 1000
  assert.deepEqual((await remindOn(1, nowMs)).logged, [], 'a limit is no fault')
  assert.equal((await remindAtOf(reminded))?.getTime(), nowMs + HOUR)
  assert.equal((await subjectsTo(email)).length, 1)
  await remindOn(1, nowMs + HOUR)
  assert.match((await subjectsTo(email))[1] ?? '', /^Reminder: pay €50\.00 to /)
})

test('reminders count for the two hundred of a day', async () => {
  const used = async () =>
    shop.host.db.one<{ used: bigint }>(
      sql`select used from rate_counters where key = ${`mail:link:${shop.merchant.companyId}:day`}`,
    )
  const order = await createLink()
  await send(order, { email: newEmail('payer'), remind: true })
  const before = (await used()).used
  await isDue(order)
  await remindOnTwoNodes()
  assert.equal((await used()).used, before + 1n)
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

test('a mail says again whether there is a reminder: not mentioned it stays, and `false` takes it back', async () => {
  const order = await createLink()
  const email = newEmail('payer')
  const first = await send(order, { email, remind: true })
  assert.notEqual(first.data.remindAt, null)
  assert.equal((await send(order, { email })).data.remindAt, first.data.remindAt)
  assert.equal((await send(order, { email, remind: false })).data.remindAt, null)
  assert.equal(await remindAtOf(order), null)
})

test('no reminder: the order was cancelled, or the payer erased, before it was written or before it left', async () => {
  const { host, merchant } = shop
  const orders = [await createLink(), await createLink(), await createLink()] as const
  const [cancelled, early, late] = orders
  const emails: string[] = []
  for (const order of orders) {
    const email = newEmail('payer')
    emails.push(email)
    assert.equal((await send(order, { email, remind: true })).status, 200)
  }
  await isSent()
  const manager = await enterAsManager()
  const erase = async ({ code }: OrderData) =>
    assert.deepEqual((await manager.call('DELETE', `confirm_conversion/payer-information/${code}`)).data, {
      erased: true,
      notes: 0,
    })
  await host.call('POST', `cancel/${cancelled.code}`, { as: merchant })
  await erase(early)
  for (const order of orders) assert.equal(await isDue(order), 1)
  const queued = sql`select from jobs where kind = 'mail' and payload->>'payerOf' = ${late._id}`
  smtp.setAway(true)
  try {
    await remindOnTwoNodes()
    assert.equal(await host.db.run(queued), 1)
    await erase(late)
    assert.equal(await host.db.run(queued), 0)
  } finally {
    smtp.setAway(false)
  }
  await isSent()
  assert.deepEqual(
    emails.map((email) => smtp.mailsTo(email).length),
    [1, 1, 1],
  )
})

test('no reminder to a payer who has paid a part: it would ask for the whole amount', async () => {
  const email = newEmail('payer')
  const order = await shop.createAwaiting()
  assert.equal((await send(order, { email })).status, 200)
  await shop.chain.pay({ to: order.toAddress, units: order.units / 2n })
  await shop.makeFinal()
  await eventually(
    () => shop.story(order.orderId),
    ({ mispayments }) => mispayments.some(({ kind }) => kind === 'under'),
  )
  assert.equal((await shop.story(order.orderId)).status, 'AWAITING')
  await isDue(order)
  await remindOnTwoNodes()
  assert.equal((await subjectsTo(email)).length, 1)
  assert.equal(await remindAtOf(order), null)
})

test('a reminder that cannot be written is logged and tried each hour, and keeps no other back', async () => {
  const { db } = shop.host
  const [bad, good, ending] = [await createLink(), await createLink(), await createLink({ expiryMinutes: 30 })]
  const email = newEmail('payer')
  for (const order of [bad, ending]) {
    await send(order, { email: newEmail('payer') })
    await db.run(sql`update payer_information set sealed = 'unreadable' where order_id = ${order._id}`)
    await isDue(order, '1 hour')
  }
  await send(good, { email })
  await isDue(good)
  const nowMs = Date.now() + 1000
  const { logged } = await remindOn(1, nowMs)
  assert.deepEqual(logged.map(({ orderId }) => orderId).toSorted(), [bad._id, ending._id].toSorted())
  assert.match((await subjectsTo(email))[1] ?? '', /^Reminder/)
  assert.equal((await remindAtOf(bad))?.getTime(), nowMs + HOUR)
  assert.equal(await remindAtOf(ending), null, 'the order will have ended')
  assert.deepEqual((await remindOn(1, nowMs + 1000)).logged, [], 'not before the hour is over')
})

test('a round of reminders of which all fail does not ask for the next one at once', async () => {
  const { db } = shop.host
  await db.run(sql`insert into link_mails (company_id, order_id, sent, lang, remind_at)
    select ${shop.merchant.companyId}, 'missing-' || n, 1, 'en', now() - interval '1 day' from generate_series(1, 100) n`)
  const { more, logged } = await remindOn(1, Date.now())
  assert.deepEqual([more, logged.length], [[false], 100])
  assert.equal(await db.run(sql`select from link_mails where order_id like 'missing-%' and remind_at is not null`), 0)
})

test('the shop’s last choice of a language counts for the receipt too, and the payer’s own for the reminder', async () => {
  const { host, merchant, chain } = shop
  const email = newEmail('payer')
  const paid = await shop.createAwaiting()
  for (const language of ['de', 'fr']) await send(paid, { email, language })
  assert.equal((await send(paid, { email })).data.language, 'fr')
  await chain.pay({ to: paid.toAddress, units: paid.units })
  await shop.makeFinal()
  await shop.reaches(paid.code, 'PAID')
  const receipt = (await smtp.waitFor(email, 4))[3]
  assert.match(receipt?.subject ?? '', /^Votre reçu de /)
  const [spanish, newer] = [await createLink(), await createLink()]
  const [to, other] = [newEmail('payer'), newEmail('payer')]
  await send(spanish, { email: to, language: 'de', remind: true })
  await upsertPayerLanguage(host.db, { companyId: merchant.companyId, id: idOf(spanish) }, 'es')
  await send(spanish, { email: to, language: 'fr' })
  await send(newer, { email: other, remind: true })
  await host.db.run(sql`update link_mails set lang = 'xx' where order_id = ${newer._id}`)
  for (const order of [spanish, newer]) await isDue(order)
  await remindOnTwoNodes()
  assert.deepEqual(
    (await subjectsTo(to)).map((subject) => subject.replace(/\s/g, ' ')),
    [
      'Test & Söhne bittet um Zahlung von 50,00 €',
      'Test & Söhne vous demande de payer 50,00 €',
      'Recordatorio: 50,00 € por pagar a Test & Söhne',
    ],
  )
  assert.match((await subjectsTo(other))[1] ?? '', /^Reminder/, 'a language that only a newer node knows')
})

test('the goods and the reference are too short for a letter in our name', async () => {
  const email = newEmail('payer')
  const goodsName = `Two tickets ${'for a long evening '.repeat(12)}and a last word`
  const order = await createLink({ alias: `INV-${crypto.randomUUID()}${'-x'.repeat(30)}`, goods: { goodsName } })
  await send(order, { email })
  const [mail] = await smtp.waitFor(email, 1)
  const purpose = /It is for: (.*)/.exec(mail?.text.replace(/\s+/g, ' ') ?? '')?.[1] ?? ''
  const [goods = '', alias = ''] = purpose.split(' You can pay')[0]?.split(' · ') ?? []
  for (const [short, whole] of [
    [goods, goodsName],
    [alias, String(order.alias)],
  ] as const) {
    assert.ok(short.endsWith('…') && [...short].length <= 60, short)
    assert.ok(whole.startsWith(short.slice(0, -1)), short)
  }
})
