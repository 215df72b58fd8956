import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { RemoteProvider } from '../src/compliance/identity-provider.ts'
import { kycPolls } from '../src/compliance/kyc-polls.ts'
import { lockKycOfPayer, lockPayer } from '../src/compliance/kyc-queries.ts'
import type { KycDeps } from '../src/compliance/kyc-service.ts'
import { openPayerKeys } from '../src/compliance/payer-key.ts'
import { findKycPolicy } from '../src/compliance/payer-queries.ts'
import { assess, openCountResealed } from '../src/compliance/payer-spending.ts'
import { openSumsubProvider } from '../src/compliance/sumsub/adapter.ts'
import { sql } from '../src/db/db.ts'
import { DAY, systemClock } from '../src/kernel/clock.ts'
import { openVault } from '../src/kernel/vault.ts'
import { resealPayers } from '../src/payers/payer-service.ts'
import { logIn, readMails } from './harness/accounts.ts'
import { type KycWorld, newPayer, openKycWorld } from './harness/kyc-world.ts'
import { eventually, startTestService, TEST_MASTER_KEY } from './harness/service.ts'

/* What is known of a payer after the decision: read again, erased, decided by another person, under another key. */
const OPERATOR = 'operator@comptoir.example'
let world: KycWorld
before(async () => {
  world = await openKycWorld({ env: { LIMIT_LINK_PER_MINUTE: '1000', OPERATOR_EMAIL: OPERATOR } })
})
after(() => world?.stop())

async function makeApproved(): Promise<{ id: string; payer: string }> {
  const payer = newPayer()
  const { id } = await world.ask(await world.createOrder('1500'), payer)
  await world.decide(id, 'approve')
  await world.reaches(id, { status: 'approved' })
  return { id, payer }
}
const nextOf = async (id: string): Promise<number> => {
  const row = sql`select next_check_at as at from kyc_records where id = ${id} and lease_until is null`
  const found = await eventually(
    () => world.host.db.maybe<{ at: Date | null }>(row),
    (one) => one?.at !== undefined && (one.at === null || one.at.getTime() > Date.now() + DAY / 2),
  )
  return (found?.at?.getTime() ?? 0) - Date.now()
}
const readNow = (id: string) => world.host.db.run(sql`update kyc_records set next_check_at = now() where id = ${id}`)

test('an approval is read again every day: one that was withdrawn without a callback holds orders', async () => {
  const { id, payer } = await makeApproved()
  const dueIn = await nextOf(id)
  assert.ok(dueIn > DAY * 0.9 && dueIn <= DAY, String(dueIn))
  await world.host.db.run(sql`update kyc_records set updated_at = now() - interval '90 days' where id = ${id}`)
  await readNow(id)
  const later = await nextOf(id)
  assert.ok(later > 2.9 * DAY && later < 3.1 * DAY, 'an old one is read less often')
  await world.tell('kyc-forged-callback')
  await world.decide(id, 'refuse')
  assert.equal((await world.read(id)).status, 'approved')
  // its payer comes back, and it is read before its time
  assert.equal((await world.accept(await world.createOrder('20'), { payerEmail: payer })).status, 200)
  await world.reaches(id, { status: 'refused' })
  const mails = () => readMails(world.host.baseUrl, OPERATOR)
  const [mail] = await eventually(
    async () => (await mails()).filter(({ subject }) => /Callbacks of the identity provider are refused/.test(subject)),
    (list) => list.length > 0,
  )
  assert.match(mail?.text ?? '', /KYC_SUMSUB_WEBHOOK_SECRET/)
})

test('an approved payer whose applicant is erased at the provider stays approved, and gets no other applicant', async () => {
  const { id } = await makeApproved()
  await nextOf(id)
  await world.host.db.run(sql`update kyc_records set applicant_id = 'gone', next_check_at = now() where id = ${id}`)
  assert.ok((await nextOf(id)) > DAY * 0.9)
  assert.equal((await world.read(id)).status, 'approved')
  assert.equal((await world.applicants()).filter(({ externalUserId }) => externalUserId === id).length, 1)
})

test('an enhanced check that a person completed stays, whatever its provider said before', async () => {
  const { id } = await makeApproved()
  assert.equal((await world.boss.client.post(`kyc/${id}/edd`, {})).status, 200)
  await world.decide(id, 'enhanced')
  await world.reaches(id, { eddStatus: 'pending' })
  const body = { outcome: 'approved', spendingLimit: '50000.00' }
  assert.equal((await world.admin.post(`kyc/${id}/edd/complete`, body)).status, 200)
  assert.ok((await nextOf(id)) > DAY * 0.9)
  await readNow(id)
  assert.ok((await nextOf(id)) > DAY * 0.9)
  const { eddStatus, spendingLimit } = await world.read(id)
  assert.deepEqual([eddStatus, spendingLimit], ['completed', '50000.00'])
})

test('a grant of a person stays while its payer finishes what he had open; a refusal on it counts', async () => {
  const { id } = await makeApproved()
  assert.equal((await world.boss.client.post(`kyc/${id}/edd`, {})).status, 200)
  await world.decide(id, 'enhanced')
  await world.reaches(id, { eddStatus: 'pending' })
  const body = { outcome: 'approved', spendingLimit: '50000.00', reason: 'known for years' }
  assert.equal((await world.admin.post(`kyc/${id}/edd/complete`, body)).status, 200)
  await nextOf(id)
  // a photo that is too dark, from the page that was open
  await world.decide(id, 'retry')
  await readNow(id)
  await eventually(
    async () => String((await world.read(id)).message),
    (message) => /RETRY/.test(message),
  )
  const { status, eddStatus, spendingLimit } = await world.read(id)
  assert.deepEqual([status, eddStatus, spendingLimit], ['approved', 'completed', '50000.00'])
  await nextOf(id)
  await world.decide(id, 'refuse')
  await readNow(id)
  await world.reaches(id, { status: 'approved', eddOutcome: 'refused', spendingLimit: '0.00' })
})

function providerAt(level: string): RemoteProvider {
  const access = { appToken: 'sbx:test-token', secretKey: 'test-secret-key', webhookSecret: 'test-webhook-secret' }
  const urls = { baseUrl: `${world.providersUrl}/sumsub`, sdkUrl: 'http://127.0.0.1/' }
  return openSumsubProvider({ ...access, ...urls, level, eddLevel: 'enhanced-kyc-level' }, systemClock)
}

test('a refusal that a node read under another name of the level is news once the name is right', async () => {
  const { id } = await makeApproved()
  await nextOf(id)
  await world.tell('kyc-forged-callback')
  await world.decide(id, 'refuse')
  const provider = providerAt('another-name')
  const { db } = world.host
  const polls = kycPolls({ db, clock: systemClock, provider } as unknown as KycDeps)
  await polls.work(db, { id, companyId: world.boss.companyId ?? '' })
  assert.equal((await world.read(id)).status, 'approved', 'it cannot know what the level stands for')
  await readNow(id)
  await world.reaches(id, { status: 'refused' })
})

test('what a provider says of a check that has moved to another one meanwhile is not heard', async () => {
  const { id } = await world.ask(await world.createOrder('1500'), newPayer())
  const { db } = world.host
  const isIdle = sql`
    update kyc_records set next_check_at = null where id = ${id} and applicant_id is not null and lease_until is null`
  await eventually(
    () => db.run(isIdle),
    (rows) => rows === 1,
  )
  const provider: RemoteProvider = {
    ...providerAt('basic-kyc-level'),
    async fetchReview() {
      await db.run(sql`update kyc_records set provider = 'manual', last_words = null where id = ${id}`)
      return { outcome: 'unknown', level: 'basic', providerStatus: 'late', payerMessage: null, reviewedAt: null }
    },
  }
  const polls = kycPolls({ db, clock: systemClock, provider } as unknown as KycDeps)
  await polls.work(db, { id, companyId: world.boss.companyId ?? '' })
  const row = sql`select provider, last_words as words, next_check_at as due from kyc_records where id = ${id}`
  assert.deepEqual(await db.one(row), { provider: 'manual', words: null, due: null })
})

test('what the provider writes to an erased payer is not kept', async () => {
  const code = await world.createOrder('1500')
  const { id } = await world.ask(code, newPayer())
  await world.applicantOf(id)
  assert.equal((await world.boss.client.call('DELETE', `confirm_conversion/payer-information/${code}`)).status, 200)
  await world.decide(id, 'retry')
  const row = () =>
    world.host.db.one<{ said: string | null; words: string | null }>(
      sql`select payer_message as said, last_words as words from kyc_records where id = ${id}`,
    )
  const { said } = await eventually(row, ({ words }) => /RETRY/.test(words ?? ''))
  assert.equal(said, null)
})

test('a decision about a check that a colleague has decided meanwhile is refused', async () => {
  const shop = await openKycWorld({ manual: true })
  try {
    const { id } = await shop.ask(await shop.createOrder('1500'), newPayer())
    const { updatedAt } = await shop.read(id)
    const refuse = { reason: 'forged passport', updatedAt }
    assert.equal((await shop.boss.client.post(`kyc/${id}/refuse`, refuse)).status, 200)
    const late = await shop.boss.client.post(`kyc/${id}/approve`, { updatedAt })
    assert.equal(late.error.code, 'OBJECT_CONFLICT')
    assert.equal((await shop.boss.client.post(`kyc/${id}/refuse`, refuse)).status, 200, 'the same once more')
    assert.equal((await shop.boss.client.post(`kyc/${id}/approve`, {})).status, 200)
    const edd = await shop.boss.client.post(`kyc/${id}/edd`, { updatedAt })
    assert.equal(edd.error.code, 'OBJECT_CONFLICT')
  } finally {
    await shop.stop()
  }
})

test('a node without the provider’s settings lets no manager approve what the provider refused', async () => {
  const { id } = await world.ask(await world.createOrder('1500'), newPayer())
  await world.decide(id, 'refuse')
  await world.reaches(id, { status: 'refused' })
  const node = await startTestService({ connectionString: world.host.connectionString })
  try {
    const boss = await logIn(node.baseUrl, world.boss.email)
    assert.equal((await boss.post(`kyc/${id}/approve`, {})).error.code, 'OBJECT_CONFLICT')
    assert.equal((await world.read(id)).status, 'refused')
  } finally {
    await node.stop()
  }
})

test('after a change of the master key, who was counted without a check is counted', async () => {
  const payer = newPayer()
  assert.equal((await world.accept(await world.createOrder('900'), { payerEmail: payer })).status, 200)
  const { db } = world.host
  const vault = openVault(Buffer.alloc(32, 9), [TEST_MASTER_KEY])
  const deps = { db, vault, onReseal: openCountResealed({ vault }) }
  while ((await resealPayers(deps)) > 0);
  const companyId = world.boss.companyId ?? ''
  const alone = openPayerKeys(openVault(Buffer.alloc(32, 9)))
  const { total, kyc } = await db.tx(async (tx) => {
    const name = await lockPayer(tx, companyId, alone(payer))
    const asked = {
      orderId: '0'.repeat(24),
      worth: 90_000n,
      policy: await findKycPolicy(tx, companyId),
      now: new Date(),
    }
    return { ...(await assess(tx, name, asked)), kyc: await lockKycOfPayer(tx, name) }
  })
  assert.deepEqual([total, kyc], [180_000n, undefined])
})
