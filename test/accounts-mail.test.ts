import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { SMTPServer } from 'smtp-server'
import { json, sql } from '../src/db/db.ts'
import { openJobQueue } from '../src/db/job-runner.ts'
import { DAY } from '../src/kernel/clock.ts'
import { LANGS } from '../src/kernel/lang.ts'
import { MAIL_CONTEXT, type MailOrder, openMailer } from '../src/mail/mail.ts'
import { openMailJob } from '../src/mail/mail-jobs.ts'
import { writeMail } from '../src/mail/mail-layout.ts'
import { deleteOldNotices } from '../src/mail/mailbox-queries.ts'
import { emailChangedNotice, kycNotice, receiptNotice, refundAddressNotice } from '../src/mail/notices.ts'
import { TEXTS } from '../src/texts/languages.ts'
import type { MailKind } from '../src/texts/mail-texts.ts'
import { de } from '../web/office/src/texts/de.ts'
import { en } from '../web/office/src/texts/en.ts'
import { es } from '../web/office/src/texts/es.ts'
import { fr } from '../web/office/src/texts/fr.ts'
import { it } from '../web/office/src/texts/it.ts'
import { Client, newEmail, PASSWORD, register } from './harness/accounts.ts'
import { eventually, startTestService, type TestService } from './harness/service.ts'

type Received = { to: string[]; from: string; raw: string }

let smtp: SMTPServer
let service: TestService
const received: Received[] = []
let refusals = 0
/** What the server says when it refuses a recipient `worded`. */
let words = ''
/** What the server owes an answer to: recipients for whom it hangs; null: it hangs no longer. */
let hung: (() => void)[] | null = []

before(async () => {
  smtp = new SMTPServer({
    authOptional: true,
    closeTimeout: 100,
    disabledCommands: ['STARTTLS'],
    onRcptTo({ address }, _session, done) {
      if (hung && address.startsWith('tarpit')) {
        hung.push(() => done(Object.assign(new Error('no such mailbox'), { responseCode: 550 })))
        return
      }
      if (address.startsWith('mistyped'))
        return done(Object.assign(new Error(`5.1.1 <${address}> no such user`), { responseCode: 550 }))
      if (address.startsWith('worded')) return done(Object.assign(new Error(words), { responseCode: 550 }))
      if (refusals > 0) {
        refusals -= 1
        return done(Object.assign(new Error(`<${address}> try later`), { responseCode: 451 }))
      }
      done()
    },
    onData(stream, session, done) {
      let raw = ''
      stream.on('data', (chunk: Buffer) => {
        raw += chunk.toString('utf8')
      })
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope
        received.push({ to: rcptTo.map(({ address }) => address), from: mailFrom ? mailFrom.address : '', raw })
        done()
      })
    },
  })
  await new Promise<void>((resolve) => smtp.listen(0, '127.0.0.1', resolve))
  const { port } = smtp.server.address() as AddressInfo
  service = await startTestService({
    workers: true,
    env: { SMTP_URL: `smtp://127.0.0.1:${port}`, MAIL_FROM: 'Comptoir <till@comptoir.example>', AUTO_APPROVE: 'false' },
  })
})
after(async () => {
  await service.stop()
  await new Promise<void>((resolve) => smtp.close(resolve))
})

const mailsTo = (email: string): Received[] => received.filter(({ to }) => to.includes(email))

test('a mail goes out by SMTP, in the language asked for, as text and HTML, and nothing is kept here', async () => {
  const email = newEmail()
  const body = { email, password: PASSWORD, firstName: 'Zoë', lastName: 'B', role: 'SimpleUser' }
  assert.equal((await new Client(service.baseUrl).post('auth/register?lang=fr', body)).status, 200)
  await eventually(
    async () => mailsTo(email).length,
    (count) => count === 1,
  )
  const [mail] = mailsTo(email)
  assert.equal(mail?.from, 'till@comptoir.example')
  assert.match(mail?.raw ?? '', /Subject: .*Confirmez/)
  assert.match(mail?.raw ?? '', /Content-Type: text\/plain/)
  assert.match(mail?.raw ?? '', /Content-Type: text\/html/)
  assert.match(mail?.raw ?? '', /Auto-Submitted: auto-generated/i)
  assert.equal((await fetch(`${service.baseUrl}/mailbox`)).status, 404)
  const { count } = await service.db.one<{ count: number }>({
    text: 'select count(*)::int as count from mails',
    values: [],
    name: '',
  })
  assert.equal(count, 0)
})

test('a mail whose recipient the server refuses for good is dropped, counted, and named in no log', async () => {
  const email = `mistyped-${newEmail()}`
  const body = { email, password: PASSWORD, firstName: 'Zoë', lastName: 'B', role: 'SimpleUser' }
  assert.equal((await new Client(service.baseUrl).post('auth/register', body)).status, 200)
  const dropped = () => service.logLines.filter((line) => /refuses the recipient for good/.test(line))
  await eventually(
    async () => dropped().length,
    (count) => count === 1,
  )
  const waiting = () =>
    service.db.one<{ count: number }>(sql`select count(*)::int as count from jobs where kind = 'mail'`)
  await eventually(waiting, ({ count }) => count === 0)
  assert.equal(dropped().join().includes(email), false)
  assert.match(await service.service.metrics.metrics(), /^comptoir_mails_refused_total 1$/m)
})

test('only what names the recipient ends a mail: what the server has against us is tried again', async () => {
  const { db, vault } = service
  const clock = Date.now
  const metrics = new Registry()
  const job = openMailJob({ db, vault, clock, metrics, log: pino({ level: 'silent' }), config: service.config })
  const run = (to: string, said: string) => {
    words = said
    const order: MailOrder = { to, lang: 'en', kind: 'notice', data: NOTICE }
    const sealed = vault.seal(JSON.stringify(order), MAIL_CONTEXT)
    return job.run({ sealed, expiresAt: new Date(clock() + DAY).toISOString() })
  }
  const to = newEmail('worded')
  for (const said of [
    '5.1.8 <pay@shop.example>: Sender address rejected: Domain not found',
    '5.1.0 <pay@shop.example>: Sender address rejected: User unknown in local recipient table',
    '5.1.2 <till@comptoir.example>: bad origin domain',
    '5.4.5 Daily user sending limit exceeded',
    '5.7.1 Relaying denied',
    'Sender verify failed',
    'Sender address does not exist',
    'MAIL FROM domain does not exist',
    'The domain of your return-path <till@comptoir.example> does not exist',
    'Verification failed for <till@comptoir.example>: unknown user',
    'Account Till@comptoir.example. does not exist',
    `Callback for ${to} failed: till@comptoir.example does not exist`,
    'Host HELO name does not exist (no DNS record)',
    'SMTP authentication is required',
    'Blocked - see https://www.spamhaus.org/query/ip/5.1.1.1',
    'Requested action not taken: mailbox unavailable',
    'No such user here',
  ])
    await assert.rejects(run(to, said), Error, said)
  const unknown = 'Recipient address rejected: User unknown in virtual mailbox table'
  const ended: [string, string][] = [
    [to, '5.1.1 <x@y.example>: Recipient address rejected: User unknown in relay recipient table'],
    [to, '5.1.10 Recipient not found'],
    [to, '5.2.1 disabled'],
    [to, `No such user here: ${to.toUpperCase()}.`],
    ...['worded-policy@insurer.example', 'worded-relay@club.example', 'worded.sender@x.example'].map(
      (name): [string, string] => [name, `5.1.1 <${name}>: ${unknown}`],
    ),
  ]
  for (const [name, said] of ended) await run(name, said)
  assert.match(await metrics.metrics(), new RegExp(`^comptoir_mails_refused_total ${ended.length}$`, 'm'))
})

test('a mail that the server refuses for now is sent later; the request did not wait for it', async () => {
  refusals = 1
  const { email } = await register(service.baseUrl, { role: 'SimpleUser' })
  await eventually(
    async () => mailsTo(email).length,
    (count) => count === 1,
    20_000,
  )
  const told = service.logLines.filter((line) => line.includes('job failed and will be retried')).join('\n')
  assert.match(told, /<…@…> try later/)
  assert.equal(told.includes(email), false, 'the log holds no address of a recipient')
})

test('a mail waits for its server for as long as it is valid, which is what the documents say', async () => {
  const { db, vault } = service
  const clock = Date.now
  const sent = openMailer({ jobs: openJobQueue({ clock }), vault, clock })
  const { payload } = await db.tx(async (tx) => {
    await sent.send(tx, { to: 'someone@shop.example', lang: 'en', kind: 'notice', data: NOTICE })
    return tx.one<{ payload: { expiresAt: string } }>(
      sql`delete from jobs where id = (select max(id) from jobs where kind = 'mail') returning payload`,
    )
  })
  const job = openMailJob({
    ...{ db, vault, clock, log: pino({ level: 'silent' }) },
    metrics: new Registry(),
    config: service.config,
  })
  assert.equal(job.until?.(payload).toISOString(), payload.expiresAt)
  assert.equal(Math.round((Date.parse(payload.expiresAt) - clock()) / DAY), 3)
})

const NOTICE = { subject: 'x', paragraphs: ['y'] }

const OFFICE = 'https://shop.example/app'
const OFFICE_WORDS = { en, fr, de, es, it }
/** What a mail about an account lets its owner look at. */
const LEADS: Partial<Record<MailKind, string>> = {
  ...{ accountApproved: '/', companyApproved: '/', passwordChanged: '/account', sessionStolen: '/account' },
  ...{ authenticatorAdded: '/account', authenticatorRemoved: '/account', passkeyAdded: '/account' },
  secondFactorReset: '/account',
  ...{ passkeyRemoved: '/account', recoveryCodeUsed: '/account', deviceLogin: '/keys' },
}

const DATA = {
  name: 'Zoë <b>',
  url: 'https://pay.example/x?token=1&y="2"',
  code: '123456',
  inviter: 'Ada',
  company: 'Test & Söhne',
  applicant: 'Ida',
  applicantEmail: 'ida@shop.example',
  role: 'Cashier',
  left: '9',
}

test('every mail exists in five languages, with a subject, both forms, a way into the back office where it is about an account, and every user-given word escaped', () => {
  for (const lang of LANGS) {
    for (const kind of Object.keys(TEXTS.en.mails.kinds) as MailKind[]) {
      const mail = writeMail({ to: 'a@b.example', lang, kind, data: DATA } as MailOrder, OFFICE)
      assert.ok(mail.subject.length > 5, `${lang} ${kind}`)
      assert.ok(mail.text.includes('Zoë <b>'), `${lang} ${kind}`)
      assert.ok(mail.html.includes(`<html lang="${lang}">`) && !mail.html.includes('<b>'), `${lang} ${kind}`)
      const path = LEADS[kind]
      if (path) assert.ok(mail.text.includes(`\n${OFFICE}${path}\n`), `${lang} ${kind} leads to ${path}`)
      if (lang !== 'en')
        assert.notEqual(mail.subject, writeMail({ to: '', lang: 'en', kind, data: DATA } as MailOrder, OFFICE).subject)
    }
  }
})

test('a mail calls a role what the back office calls it, in every language', () => {
  for (const lang of LANGS) {
    const { roles, moneyChange } = TEXTS[lang].mails
    assert.deepEqual(roles, OFFICE_WORDS[lang].roles, lang)
    const { text } = writeMail({ to: '', lang, kind: 'approvalNeeded', data: DATA } as MailOrder, OFFICE)
    const facts = { company: 'Bäckerei', person: 'Ida', role: 'Cashier', isDisabled: false }
    for (const words of [text, moneyChange.kinds.access(facts).text])
      assert.match(words, new RegExp(`[“„«]\\s?${roles.Cashier}\\s?[”“»]`), lang)
    assert.ok(moneyChange.kinds.attached(facts).text.includes(roles.SuperManager), lang)
  }
})

test('no name brings a link into a mail: neither its reader’s, nor the inviter’s, nor the company’s', () => {
  const asked = ['url', 'code', 'address', 'applicantEmail']
  const names = { ...DATA, computer: '', passkey: '', address: '2001:db8::1' }
  const data = Object.fromEntries(
    Object.entries(names).map(([fact, text]) => [fact, asked.includes(fact) ? text : 'now at evil.example/ok']),
  )
  for (const kind of Object.keys(TEXTS.en.mails.kinds) as MailKind[]) {
    const { subject, text, html } = writeMail({ to: '', lang: 'en', kind, data } as unknown as MailOrder, OFFICE)
    assert.doesNotMatch(subject + text + html, /evil\.example/, kind)
    assert.match(text, /evil\. example\/ok/)
    if (kind === 'deviceLogin') assert.match(text, /2001:db8::1/)
  }
})

test('nor does the name of a shop into a mail to a payer, and it stays readable', () => {
  const facts = { merchant: 'https://evil.example/ok', contact: 'help@shop.example', shortCode: 'AB12', url: OFFICE }
  const bought = { ...facts, amount: '50.00 EUR' }
  for (const lang of LANGS)
    for (const data of [
      receiptNotice(lang, bought),
      kycNotice(lang, { ...facts, closer: true }),
      refundAddressNotice(lang, { ...bought, network: 'Base' }),
      emailChangedNotice(lang, facts),
    ]) {
      const { subject, text, html } = writeMail({ to: '', lang, kind: 'notice', data }, OFFICE)
      assert.doesNotMatch(subject + text + html, /evil\.example|https:\/\/evil/)
      assert.match(text, /help@shop\.example/)
    }
  const { subject } = receiptNotice('en', { ...bought, merchant: 'shop.example GmbH' })
  assert.equal(subject, 'Your receipt from shop. example GmbH')
})

test('a long name of a company is not cut where it says whose mail it is', () => {
  const company = `Genossenschaft ${'der Bäckereien '.repeat(7)}`.trim()
  for (const kind of Object.keys(TEXTS.en.mails.kinds) as MailKind[]) {
    const write = (given: object) =>
      writeMail({ to: '', lang: 'en', kind, data: { ...DATA, ...given } } as MailOrder, OFFICE).text
    if (write({ company: 'Kurz' }).includes('Kurz')) assert.ok(write({ company }).includes(company), kind)
  }
})

test('a recipient for whom the mail server hangs delays the mails of no one else', async () => {
  const write = async (name: string): Promise<string> => {
    const email = newEmail(name)
    const body = { email, password: PASSWORD, firstName: 'Zoë', lastName: 'B', role: 'SimpleUser' }
    assert.equal((await new Client(service.baseUrl).post('auth/register', body)).status, 200)
    return email
  }
  for (let count = 0; count < 5; count += 1) await write('tarpit')
  const email = await write('person')
  try {
    await eventually(
      async () => mailsTo(email).length,
      (count) => count === 1,
      15_000,
    )
  } finally {
    const owed = hung ?? []
    hung = null
    for (const answer of owed) answer()
  }
})

test('a mail that was given up is kept until it expires; which daily mails were sent is forgotten after a month, but of a service that stood still not the last days', async () => {
  const { db, vault } = service
  const add = (key: string, days: number) =>
    db.run(sql`insert into notices_sent (key, sent_at) values (${key}, now() - make_interval(days => ${days}))`)
  const rest = async (): Promise<string[]> =>
    (await db.many<{ key: string }>(sql`select key from notices_sent where key like 'test:%' order by key`)).map(
      ({ key }) => key,
    )
  await add('test:29', 29)
  await add('test:31', 31)
  const giveUp = (id: string, days: number) =>
    db.run(sql`
      insert into jobs (id, kind, payload, run_at, created_at) values (${id}, 'mail', ${json({
        sealed: '',
        expiresAt: new Date(Date.now() + days * DAY).toISOString(),
      })}, 'infinity', now())`)
  await giveUp('test:expired', -1)
  await giveUp('test:waiting', 1)
  const node = await startTestService({ connectionString: db.connectionString, vault, workers: true })
  const parked = () => db.many<{ id: string }>(sql`select id from jobs where run_at = 'infinity'`)
  await eventually(
    async () => [...(await rest()), ...(await parked()).map(({ id }) => id)],
    (left) => !left.includes('test:31') && !left.includes('test:expired'),
  ).finally(() => node.stop())
  assert.deepEqual(await parked(), [{ id: 'test:waiting' }])
  assert.deepEqual(await rest(), ['test:29'])
  await db.run(sql`delete from notices_sent where key not like 'test:%'`)
  await add('test:35', 35)
  await add('test:37', 37)
  await deleteOldNotices(db, new Date(Date.now() - 20 * DAY))
  assert.deepEqual(await rest(), ['test:29', 'test:35'])
})
