import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openSaleMails } from '../src/assembly/messages/sale-mails.ts'
import { sql } from '../src/db/db.ts'
import { openJobQueue } from '../src/db/job-runner.ts'
import { openMailer } from '../src/mail/mail.ts'
import { mailSales, SALES_AN_HOUR, type SaleMailDeps } from '../src/orders/sale-mails/sale-mails.ts'
import { Client, insertPerson, newEmail, PASSWORD, passwordHash } from './harness/accounts.ts'
import { createPaid, newAddress, payoutEnv, refundReaches, revert } from './harness/refunds.ts'
import { eventually } from './harness/service.ts'
import { openShop, type Payable, type Shop } from './harness/shop.ts'
import { type ReceivedMail, type SmtpReceiver, startSmtpReceiver } from './harness/smtp-receiver.ts'
import { recordWork } from './harness/statement-companies.ts'

/* A mail for each sale, for the people of a shop who asked for it. */

let shop: Shop
let smtp: SmtpReceiver

before(async () => {
  smtp = await startSmtpReceiver()
  shop = await openShop({
    env: async (chain) => ({
      ...(await payoutEnv(chain)),
      SMTP_URL: smtp.url,
      MAIL_FROM: 'Comptoir <till@comptoir.example>',
      OFFICE_URL: 'https://office.example/app',
    }),
  })
})
after(async () => {
  await shop?.stop()
  await smtp?.close()
})

type Colleague = { id: string; email: string; client: Client }

/** Without a second factor. */
async function logInPlainly(email: string): Promise<Client> {
  const client = new Client(shop.host.baseUrl)
  const answer = await client.post<{ token: string }>('auth/login/manager', {
    ...{ email, password: PASSWORD, origin: 'dashboard' },
  })
  assert.equal(answer.status, 200, answer.text)
  client.token = answer.data.token
  return client
}

/** Someone of the shop, logged in. */
async function join(role: 'Manager' | 'Cashier' | 'Observer', lang = 'en'): Promise<Colleague> {
  const { host, merchant } = shop
  const { id } = await insertPerson(host.db, { role, companyId: merchant.companyId })
  const email = newEmail(role.toLowerCase())
  await host.db.run(sql`
    update users set email = ${email}, email_key = ${email}, password_hash = ${await passwordHash()}, lang = ${lang},
      verified_at = now(), approved_at = now(), two_factor_enabled = false where id = ${id}`)
  return { id, email, client: await logInPlainly(email) }
}

async function choose({ client }: Colleague, saleMails: boolean): Promise<void> {
  const answer = await client.call<{ saleMails: boolean }>('PUT', 'users/me', { saleMails })
  assert.equal(answer.status, 200, answer.text)
  assert.equal(answer.data.saleMails, saleMails)
}

async function joinReader(role: 'Manager' | 'Cashier' | 'Observer', lang = 'en'): Promise<Colleague> {
  const person = await join(role, lang)
  await choose(person, true)
  return person
}

const shortCodeOf = async ({ orderId }: Payable): Promise<string> =>
  (await shop.host.db.one<{ shortCode: string }>(sql`select short_code from orders where id = ${orderId}`)).shortCode

const about = (mails: readonly ReceivedMail[], shortCode: string): ReceivedMail[] =>
  mails.filter(({ subject }) => subject.includes(shortCode))

/** Every event before now was looked at, for everyone who could get a mail. */
const isTold = () =>
  eventually(
    () =>
      shop.host.db.one<{ count: number }>(sql`
        select count(*)::int as count from sale_mails s join users u on u.id = s.user_id
        where (s.told < ${SALES_AN_HOUR} or s.since < now() - interval '1 hour')
          and exists (select from event_feed f where f.company_id = u.company_id
            and (f.position, f.order_id, f.seq) > (s.position, s.order_id, s.seq))`),
    ({ count }) => count === 0,
    30_000,
  )

/** Until every queued mail has left. */
const isSent = () =>
  eventually(
    () => shop.host.db.one<{ count: number }>(sql`select count(*)::int as count from jobs where kind = 'mail'`),
    ({ count }) => count === 0,
    30_000,
  )

/** As the service writes them, at the hands of the test. */
function openByHand(): SaleMailDeps {
  const { db, vault, config } = shop.host
  const clock = Date.now
  const mailer = openMailer({ jobs: openJobQueue({ clock }), vault, clock })
  const base = { db, vault, config, clock, log: { error: () => {} } }
  return openSaleMails(base as unknown as Parameters<typeof openSaleMails>[0], { mailer })
}

const SECRET = 'Ada-of-the-payers'

test('who asked for it gets one mail for a paid order, in the own language, and nobody else of the shop does', async () => {
  const [fr, en, silent] = [await joinReader('Manager', 'fr'), await joinReader('Observer'), await join('Manager')]
  const order = await shop.createAwaiting({ alias: 'INV-7 www.shop.example' })
  const payer = newEmail('payer')
  const given = await shop.host.call('POST', 'payer-information', {
    as: shop.merchant,
    body: { code: order.code, payerInformation: { email: payer, firstName: SECRET, lastName: 'L' } },
  })
  assert.equal(given.status, 200, given.text)
  await shop.chain.pay({ to: order.toAddress, units: order.units })
  await shop.makeFinal()
  await shop.reaches(order.code, 'PAID')
  const shortCode = await shortCodeOf(order)
  const [mail] = await smtp.waitFor(en.email, 1)
  assert.equal(mail?.subject, `Sale of €50.00 (order ${shortCode})`)
  for (const words of [
    'for €50.00 has been paid.',
    /Received: 5\d\.\d+ USDC\./,
    'Paid with: Wallet (USDC).',
    'Your reference: INV-7 www. shop. example',
    `https://office.example/app/orders/${order.code}`,
    'under “Your account”',
  ])
    assert.ok(typeof words === 'string' ? mail?.text.includes(words) : words.test(mail?.text ?? ''), `${words}`)
  const [lettre] = await smtp.waitFor(fr.email, 1)
  assert.match(lettre?.subject ?? '', /^Vente de 50,00\s€ \(commande /)
  assert.match(lettre?.text ?? '', /Portefeuille \(USDC\)/)
  await smtp.waitFor(payer, 1)
  await isSent()
  assert.equal(smtp.mailsTo(en.email).length, 1)
  assert.deepEqual(smtp.mailsTo(silent.email), [])
  for (const { text, html, headers } of [mail, lettre].filter((one) => one !== undefined))
    for (const part of [text, html, headers]) assert.ok(!part.includes(SECRET) && !part.includes(payer), part)
})

test('what was paid before the choice, and what is paid after it was taken back, is not mailed', async () => {
  const early = await createPaid(shop)
  const person = await joinReader('Manager')
  const chosen = await createPaid(shop)
  await smtp.waitFor(person.email, 1)
  await isTold()
  await choose(person, false)
  const late = await createPaid(shop)
  const other = await joinReader('Manager')
  await createPaid(shop)
  await smtp.waitFor(other.email, 1)
  await isSent()
  const mails = smtp.mailsTo(person.email)
  for (const [order, count] of [
    [early, 0],
    [chosen, 1],
    [late, 0],
  ] as const)
    assert.equal(about(mails, await shortCodeOf(order)).length, count)
})

test('an order is mailed once, whatever follows: a refund that is dropped, another, several nodes at the same time', async () => {
  const person = await joinReader('Manager')
  const order = await createPaid(shop)
  const byHand = openByHand()
  await Promise.all(Array.from({ length: 8 }, () => mailSales(byHand)))
  assert.equal((await revert(shop, order.code, { address: newAddress(), amount: '1.00' })).status, 200)
  await refundReaches(shop, order.orderId, 'settled')
  await isTold()
  await Promise.all(Array.from({ length: 8 }, () => mailSales(byHand)))
  await isSent()
  assert.equal(about(smtp.mailsTo(person.email), await shortCodeOf(order)).length, 1)
})

test('a process that ends while it writes mails neither loses nor repeats one', async () => {
  await isTold()
  const person = await joinReader('Manager')
  // the service's own rounds meet a locked row until the test lets them go on
  const orders: Payable[] = []
  const { db } = shop.host
  await db.tx(async (tx) => {
    await tx.run(sql`select from sale_mails where user_id = ${person.id} for update`)
    for (let left = 2; left > 0; left -= 1) orders.push(await createPaid(shop))
  })
  const byHand = openByHand()
  let written = 0
  await mailSales({
    ...byHand,
    async tellSale(tx, reader, sale) {
      written += 1
      await byHand.tellSale(tx, reader, sale)
      if (written === 2) throw new Error('the process ends here')
    },
  })
  await isTold()
  await isSent()
  for (const order of orders) assert.equal(about(smtp.mailsTo(person.email), await shortCodeOf(order)).length, 1)
})

test('a cashier is told of the own tills, and no one of what he may no longer see', async () => {
  const { db } = shop.host
  const [mine, foreign, gone, moved] = [
    await joinReader('Cashier'),
    await joinReader('Cashier'),
    await joinReader('Manager'),
    await joinReader('Manager'),
  ]
  await db.run(
    sql`insert into collector_cashiers (collector_id, user_id) values (${shop.merchant.collectorId}, ${mine.id})`,
  )
  await db.run(sql`update users set disabled_at = now() where id = ${gone.id}`)
  await db.run(sql`update users set role = 'SuperManager' where id = ${moved.id}`)
  const order = await createPaid(shop)
  await smtp.waitFor(mine.email, 1)
  await isTold()
  // what was sold meanwhile is not made up for
  await db.run(sql`update users set disabled_at = null where id = ${gone.id}`)
  const next = await createPaid(shop)
  await smtp.waitFor(gone.email, 1)
  await isSent()
  assert.equal(about(smtp.mailsTo(mine.email), await shortCodeOf(order)).length, 1)
  assert.deepEqual(
    [foreign, moved].flatMap(({ email }) => smtp.mailsTo(email)),
    [],
  )
  const [mail, more] = smtp.mailsTo(gone.email)
  assert.deepEqual([mail?.subject.includes(await shortCodeOf(next)), more], [true, undefined])
})

type Waiting = { mispayments: { _id: string; kind: string; status: string }[] }

/** A part of the price that a person accepted as the payment. */
async function sellPart(units: bigint): Promise<void> {
  const { client: manager } = await join('Manager')
  const order = await shop.createAwaiting()
  await shop.chain.pay({ to: order.toAddress, units })
  await shop.makeFinal()
  const part = await eventually(
    async () => (await manager.get<Waiting>(`mispayments?code=${order.code}`)).data.mispayments[0],
    (one) => one?.kind === 'under' && one.status === 'open',
  )
  const accepted = await manager.post(`mispayments/${part?._id}/accept`, { reason: 'enough' })
  assert.equal(accepted.status, 200, accepted.text)
}

test('after twenty mails in an hour the rest of the hour is one mail, with the number of sales and their sum', async () => {
  const { db } = shop.host
  await isTold()
  const person = await joinReader('Manager')
  const tell = async (sales: number): Promise<void> => {
    const paid = sql`select from orders where status = 'PAID'`
    const before = await db.run(paid)
    const orders: Payable[] = []
    for (let left = sales; left > 0; left -= 1) orders.push(await shop.createAwaiting())
    for (const { toAddress: to, units } of orders) await shop.chain.pay({ to, units })
    await shop.makeFinal()
    await eventually(
      () => db.run(paid),
      (count) => count === before + sales,
      60_000,
    )
    await isTold()
  }
  await tell(SALES_AN_HOUR + 3)
  await isSent()
  assert.equal(smtp.mailsTo(person.email).length, SALES_AN_HOUR)
  await tell(1)
  assert.equal(smtp.mailsTo(person.email).length, SALES_AN_HOUR, 'within the hour')
  await sellPart(20_000_000n)
  await isTold()
  const pass = () => db.run(sql`update sale_mails set since = since - interval '1 hour' where user_id = ${person.id}`)
  await pass()
  const [summary, ...others] = (await smtp.waitFor(person.email, SALES_AN_HOUR + 1)).slice(SALES_AN_HOUR)
  assert.deepEqual(others, [])
  assert.match(summary?.subject ?? '', /^5 more sales at /)
  assert.match(summary?.text ?? '', /There were 5 more sales at .* since the last email: €218\.52\./)
  assert.match(summary?.text ?? '', /After 20 emails within an hour/)
  assert.match(summary?.text ?? '', /https:\/\/office\.example\/app\/orders\r\n/)
  await tell(1)
  const [, single] = (await smtp.waitFor(person.email, SALES_AN_HOUR + 2)).slice(SALES_AN_HOUR)
  assert.match(single?.subject ?? '', /^Sale of €50\.00/)
})

test('while the mail server is away the mails wait, and then arrive once', async () => {
  const person = await joinReader('Manager')
  smtp.setAway(true)
  const order = await createPaid(shop)
  await eventually(
    () =>
      shop.host.db.one<{ count: number }>(
        sql`select count(*)::int as count from jobs where kind = 'mail' and attempts > 0`,
      ),
    ({ count }) => count > 0,
  )
  smtp.setAway(false)
  await shop.host.db.run(sql`update jobs set run_at = now() where kind = 'mail' and owner is null`)
  await smtp.waitFor(person.email, 1)
  await isSent()
  assert.equal(about(smtp.mailsTo(person.email), await shortCodeOf(order)).length, 1)
})

test('only people of a company may choose; default is none, and the audit log has the choice', async () => {
  const { db } = shop.host
  const person = await join('Observer')
  const me = await person.client.get<{ saleMails: boolean }>('users/me')
  assert.equal(me.data.saleMails, false)
  await choose(person, true)
  const { count } = await db.one<{ count: number }>(sql`
    select count(*)::int as count from audit_log where action = 'user.change-profile'
      and object = ${`user:${person.id}`} and detail::text like '%saleMails%'`)
  assert.equal(count, 1)
  await db.run(sql`update users set role = 'SuperManager' where id = ${person.id}`)
  const operator = await logInPlainly(person.email)
  for (const [wanted, status] of [
    [false, 200],
    [true, 422],
  ] as const)
    assert.equal((await operator.call('PUT', 'users/me', { saleMails: wanted })).status, status)
})

test('what was sold since the last round is found by the feed’s index, however long the company’s history is', async () => {
  const { host } = shop
  await joinReader('Manager')
  const recording = recordWork()
  await createPaid(shop)
  await isTold()
  recording.stop()
  const texts = new Set(recording.works.flatMap((work) => work.texts))
  const read = [...texts].filter((text) => /materialized .*sale_mails s|'order.paid' and/s.test(text))
  assert.ok(read.length >= 2, read.join('\n'))
  const client = await host.db.pool.connect()
  try {
    // of a small table any way is as good: until the rollback, the feed's index is the only one
    await client.query(`begin; set local enable_seqscan = off;
      update pg_index set indisvalid = false where indrelid::regclass::text like 'order_events%'
        and pg_get_indexdef(indexrelid) not like '%(company_id, "position", order_id, seq)%'`)
    for (const text of read) {
      const { rows } = await client.query(`explain (generic_plan, format json) ${text}`)
      const plan = JSON.stringify(rows)
      assert.match(plan, /"Index Name":"order_events/, text)
      assert.doesNotMatch(plan, /"Node Type":"Seq Scan"[^{}]*"Relation Name":"order_events/, text)
    }
  } finally {
    client.release(true)
  }
})
