import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { kycPolls, openKycSession } from '../src/compliance/kyc-polls.ts'
import { findKyc } from '../src/compliance/kyc-queries.ts'
import type { KycDeps } from '../src/compliance/kyc-service.ts'
import { openSumsubProvider } from '../src/compliance/sumsub/adapter.ts'
import { raw, sql } from '../src/db/db.ts'
import { DAY, MINUTE, systemClock } from '../src/kernel/clock.ts'
import type { Alarm } from '../src/mail/operator-alarm.ts'
import { logInSuperAdmin, readMails } from './harness/accounts.ts'
import { type KycWorld, newPayer, openKycWorld, readPage } from './harness/kyc-world.ts'
import { eventually, startTestService } from './harness/service.ts'

/* What was decided is asked again: a second enhanced check, a demand of the provider, a refusal that is taken back. */
let world: KycWorld
before(async () => {
  world = await openKycWorld({ env: { LIMIT_LINK_PER_MINUTE: '1000' } })
})
after(() => world?.stop())

type Approved = { id: string; url: string; payer: string; code: string }
async function makeApproved(): Promise<Approved> {
  const payer = newPayer()
  const code = await world.createOrder('1500')
  const { id, url } = await world.ask(code, payer)
  await world.decide(id, 'approve')
  await world.reaches(id, { status: 'approved' })
  return { id, url, payer, code }
}

const provider = (baseUrl = `${world.providersUrl}/sumsub`) =>
  openSumsubProvider(
    {
      ...{ appToken: 'sbx:test-token', secretKey: 'test-secret-key', webhookSecret: 'test-webhook-secret' },
      ...{ baseUrl, sdkUrl: 'http://127.0.0.1/' },
      ...{ level: 'basic-kyc-level', eddLevel: 'enhanced-kyc-level' },
    },
    systemClock,
  )

/** The provider's frame on the payer's page. @returns its session */
async function openFrame(url: string): Promise<string> {
  const { searchParams, origin } = new URL(url)
  const session = await fetch(`${origin}/kyc/session`, { method: 'POST', body: searchParams })
  assert.equal(session.status, 200)
  const { token } = (await session.json()) as { token: string }
  assert.equal((await readPage(`${world.providersUrl}/sumsub/websdk?token=${token}`)).status, 200)
  return token
}
const handIn = async (token: string, answer: string): Promise<number> =>
  (
    await fetch(`${world.providersUrl}/sumsub/websdk/answer`, {
      method: 'POST',
      body: new URLSearchParams({ token, answer }),
    })
  ).status

const readNow = (id: string) => world.host.db.run(sql`update kyc_records set next_check_at = now() where id = ${id}`)

test('a further enhanced check is granted by what is handed in for it, and not by the one before', async () => {
  const { id, url } = await makeApproved()
  const ask = async (spendingLimit: string) => {
    const asked = await world.admin.post(`kyc/${id}/edd`, { spendingLimit })
    assert.equal(asked.status, 200, asked.text)
  }
  await ask('20000.00')
  assert.equal(await handIn(await openFrame(url), 'approve'), 200)
  await world.reaches(id, { eddStatus: 'completed', spendingLimit: '20000.00' })
  // the provider’s dates end with the second
  await new Promise((resolve) => setTimeout(resolve, 1100))
  await ask('900000.00')
  await eventually(
    () => world.applicantOf(id),
    ({ review }) => review.reviewStatus === 'init',
  )
  const { status, eddStatus, spendingLimit } = await world.read(id)
  assert.deepEqual([status, eddStatus, spendingLimit], ['approved', 'requested', null])
  assert.equal(await handIn(await openFrame(url), 'approve'), 200)
  await world.reaches(id, { status: 'approved', eddStatus: 'completed', spendingLimit: '900000.00' })
})

test('where the provider lets the app reset nobody, the check says so, the operator gets a mail, and its page opens', async () => {
  const { id } = await makeApproved()
  assert.equal((await world.admin.post(`kyc/${id}/edd`, { spendingLimit: '20000.00' })).status, 200)
  await world.reaches(id, { eddStatus: 'requested' })
  let resets = 0
  const former = {
    ...{ levelName: 'enhanced-kyc-level', reviewStatus: 'completed', reviewDate: '2020-01-01 00:00:00+0000' },
    reviewResult: { reviewAnswer: 'GREEN' },
  }
  const server = createServer((request, response) => {
    const isReset = request.url?.endsWith('/reset') ?? false
    if (isReset) resets += 1
    response.statusCode = isReset ? 403 : 200
    const body = isReset ? { description: 'Forbidden' } : request.method === 'POST' ? { token: 'a-token' } : former
    response.end(JSON.stringify(body))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const { db } = world.host
  const mails: Alarm[] = []
  const deps = {
    ...{ db, clock: systemClock, provider: provider(`http://127.0.0.1:${port}`), signals: { look: () => {} } },
    alarm: async (_tx: unknown, mail: Alarm) => void mails.push(mail),
  } as unknown as KycDeps
  // nobody else asks about it meanwhile
  const away = () => db.run(sql`update kyc_records set next_check_at = now() + interval '1 hour' where id = ${id}`)
  try {
    for (const round of [1, 2]) {
      await away()
      await kycPolls(deps).work(db, { id, companyId: world.boss.companyId ?? '' })
      await away()
      const { status, eddStatus, message } = await world.read(id)
      assert.deepEqual(
        [status, eddStatus, message],
        ['approved', 'requested', 'sumsub reset applicant: HTTP 403: Forbidden'],
      )
      assert.equal(resets, round)
    }
    const kyc = await findKyc(db, id)
    assert.deepEqual(kyc && (await openKycSession(deps, kyc)), { token: 'a-token' })
  } finally {
    server.close()
  }
  assert.equal(resets, 2, 'a page resets nobody')
  assert.deepEqual(
    mails.map(({ subject }) => subject),
    ['The identity provider starts no check again'],
  )
})

test('a final refusal at the enhanced level stays one there: asking again changes nothing until it is taken back', async () => {
  const { id, url } = await makeApproved()
  assert.equal((await world.admin.post(`kyc/${id}/edd`, { spendingLimit: '20000.00' })).status, 200)
  assert.equal(await handIn(await openFrame(url), 'refuse'), 200)
  await world.reaches(id, { eddStatus: 'completed', eddOutcome: 'refused', spendingLimit: '0.00' })
  await new Promise((resolve) => setTimeout(resolve, 1100))
  assert.equal((await world.admin.post(`kyc/${id}/edd`, { spendingLimit: '30000.00' })).status, 200)
  const due = sql`select next_check_at as at from kyc_records where id = ${id} and lease_until is null`
  await eventually(
    () => world.host.db.maybe<{ at: Date }>(due),
    (row) => row !== undefined && row.at.getTime() > Date.now() + 10_000,
  )
  assert.equal(await handIn(await openFrame(url), 'approve'), 409)
  const { eddStatus, eddOutcome, spendingLimit } = await world.read(id)
  assert.deepEqual([eddStatus, eddOutcome, spendingLimit], ['requested', 'refused', '0.00'])
  await world.decide(id, 'reset')
  assert.equal(await handIn(await openFrame(url), 'approve'), 200)
  await world.reaches(id, { eddOutcome: 'approved', spendingLimit: '30000.00' })
})

test('an enhanced check that the provider demands is not undone by the payer’s page', async () => {
  const { id, url } = await makeApproved()
  const { token } = await provider().openSession(id, 'enhanced')
  await readPage(`${world.providersUrl}/sumsub/websdk?token=${token}`)
  await world.reaches(id, { status: 'pending' })
  const session = await openFrame(url)
  assert.equal((await world.applicantOf(id)).levelName, 'enhanced-kyc-level')
  assert.equal(await handIn(session, 'approve'), 200)
  await world.reaches(id, { status: 'approved', message: 'enhanced-kyc-level completed GREEN -' })
})

test('a refusal that the provider takes back without a callback is read: by time, and when the payer comes back', async () => {
  const payer = newPayer()
  const { id } = await world.ask(await world.createOrder('1500'), payer)
  await world.decide(id, 'refuse')
  await world.reaches(id, { status: 'refused' })
  const row = sql`select next_check_at as at from kyc_records where id = ${id} and lease_until is null`
  const due = await eventually(
    () => world.host.db.maybe<{ at: Date | null }>(row),
    (one) => one !== undefined && (one.at === null || one.at.getTime() > Date.now() + DAY / 2),
  )
  assert.ok(due?.at, 'it is read again')
  // as an earlier version left it
  const { db } = world.host
  await db.run(sql`update kyc_records set next_check_at = null where id = ${id}`)
  const migration = new URL('../migrations/1930_refusals_read.sql', import.meta.url)
  await db.run(raw(readFileSync(migration, 'utf8')))
  const { at } = await db.one<{ at: Date | null }>(sql`select next_check_at as at from kyc_records where id = ${id}`)
  assert.ok(at && at.getTime() > Date.now() + DAY - MINUTE && at.getTime() < Date.now() + 2 * DAY + MINUTE)
  await db.run(sql`update kyc_records set next_check_at = null where id = ${id}`)
  await world.tell('kyc-forged-callback')
  await world.decide(id, 'approve')
  assert.equal((await world.accept(await world.createOrder('1500'), { payerEmail: payer })).error.code, 'KYC_REQUIRED')
  await world.reaches(id, { status: 'approved' })
})

test('a node without the provider’s settings leaves its last words, so what a SuperAdmin approves stays approved', async () => {
  const { id } = await world.ask(await world.createOrder('1500'), newPayer())
  await world.reaches(id, { message: 'basic-kyc-level init - -' })
  const { db } = world.host
  const polls = kycPolls({ db, clock: systemClock, provider: { id: 'manual' } } as unknown as KycDeps)
  await polls.work(db, { id, companyId: world.boss.companyId ?? '' })
  const node = await startTestService({ connectionString: world.host.connectionString })
  try {
    const admin = await logInSuperAdmin(node)
    assert.equal((await admin.post(`kyc/${id}/approve`, { reason: 'seen in the shop' })).status, 200)
  } finally {
    await node.stop()
  }
  await readNow(id)
  await eventually(
    () => db.one<{ at: Date }>(sql`select next_check_at as at from kyc_records where id = ${id}`),
    ({ at }) => at.getTime() > Date.now() + DAY / 2,
  )
  assert.equal((await world.read(id)).status, 'approved')
})

/** Decided by a SuperAdmin on a node without the provider’s settings. */
async function refuseByHand(id: string): Promise<void> {
  const node = await startTestService({ connectionString: world.host.connectionString })
  try {
    const admin = await logInSuperAdmin(node)
    const refused = await admin.post(`kyc/${id}/refuse`, { reason: 'forged passport' })
    assert.equal(refused.status, 200, refused.text)
  } finally {
    await node.stop()
  }
}
const isRead = (id: string) =>
  eventually(
    () =>
      world.host.db.maybe<{ at: Date | null }>(
        sql`select next_check_at as at from kyc_records where id = ${id} and lease_until is null`,
      ),
    (row) => row !== undefined && (row.at === null || row.at.getTime() > Date.now() + MINUTE / 2),
  )

test('a refusal by hand is not lifted by what its provider decided before, read or not, but by what it decides later', async () => {
  const payer = newPayer()
  const { db } = world.host
  const { id } = await world.ask(await world.createOrder('1500'), payer)
  await world.reaches(id, { message: 'basic-kyc-level init - -' })
  await isRead(id)
  await world.tell('kyc-forged-callback')
  await world.decide(id, 'approve')
  await refuseByHand(id)
  const migration = new URL('../migrations/1930_refusals_read.sql', import.meta.url)
  await db.run(raw(readFileSync(migration, 'utf8')))
  const { at } = await db.one<{ at: Date | null }>(sql`select next_check_at as at from kyc_records where id = ${id}`)
  assert.equal(at, null, 'the migration has refusals by hand read no more than before')
  // as an earlier version left it
  await db.run(sql`update kyc_records set last_words = 'sumsub is not set up here' where id = ${id}`)
  assert.equal((await world.accept(await world.createOrder('1500'), { payerEmail: payer })).error.code, 'KYC_REQUIRED')
  await world.reaches(id, { message: 'basic-kyc-level completed GREEN -' })
  assert.equal((await world.read(id)).status, 'refused')
  await isRead(id)
  // started again there: nothing is decided yet
  await world.decide(id, 'reset')
  await world.reaches(id, { message: 'basic-kyc-level init - -' })
  assert.equal((await world.read(id)).status, 'refused')
  // the provider’s dates end with the second
  await new Promise((resolve) => setTimeout(resolve, 1100))
  await world.decide(id, 'approve')
  await world.reaches(id, { status: 'approved' })
})

test('a refusal by hand while an enhanced check is open is not lifted by the approval before it', async () => {
  const { id } = await makeApproved()
  assert.equal((await world.admin.post(`kyc/${id}/edd`, {})).status, 200)
  await isRead(id)
  await refuseByHand(id)
  await readNow(id)
  await isRead(id)
  const { status, eddStatus } = await world.read(id)
  assert.deepEqual([status, eddStatus], ['refused', 'requested'])
})

test('orders that can still be paid count after 30 days, and a paid one from its payment', async () => {
  const payer = newPayer()
  const { db } = world.host
  const code = await world.createOrder('900')
  assert.equal((await world.accept(code, { payerEmail: payer })).status, 200)
  const of = sql`(select id from orders where code = ${code})`
  await db.run(sql`update kyc_spendings set accepted_at = now() - interval '200 days' where order_id = ${of}`)
  const next = await world.createOrder('200')
  const accept = async () => (await world.accept(next, { payerEmail: payer })).error?.code ?? 'accepted'
  assert.equal(await accept(), 'KYC_REQUIRED', 'it is open')
  await db.run(sql`update orders set status = 'PAID', paid_at = now() - interval '1 day' where code = ${code}`)
  assert.equal(await accept(), 'KYC_REQUIRED', 'it was paid yesterday')
  await db.run(sql`update orders set paid_at = now() - interval '30 days 1 minute' where code = ${code}`)
  assert.equal(await accept(), 'accepted')
})

test('the enhanced check of a payer whose e-mail was erased is mailed to the address of the order that needs it', async () => {
  const { id, payer, code } = await makeApproved()
  assert.equal((await world.boss.client.call('DELETE', `confirm_conversion/payer-information/${code}`)).status, 200)
  const large = await world.accept(await world.createOrder('10500'), { payerEmail: payer })
  assert.equal(large.error.code, 'SPENDING_LIMIT_EXCEEDED')
  assert.equal((await world.boss.client.post(`kyc/${id}/edd`, {})).status, 200)
  await eventually(
    () => readMails(world.host.baseUrl, payer),
    (mails) => mails.some(({ text }) => /larger purchases/.test(text)),
  )
})
