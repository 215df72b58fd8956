import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { claimIdempotencyKey } from '../src/http/idempotency/idempotency-queries.ts'
import { updateCounter } from '../src/http/limits/rate-limit-queries.ts'
import { HOUR, MINUTE, SECOND } from '../src/kernel/clock.ts'
import { newId } from '../src/kernel/ids.ts'
import { countRecentCodes } from '../src/sessions/factors/challenge-queries.ts'
import { Client, newEmail, registerManager } from './harness/accounts.ts'
import { startTestService, type TestService } from './harness/service.ts'

/* A node whose clock is an hour behind, beside one whose clock is right. */

const BEHIND_MS = HOUR
const env = { LIMIT_ADDRESS_PER_MINUTE: '40', LIMIT_COMPANY_PER_MINUTE: '0', TRUST_PROXY: '127.0.0.1' }
let right: TestService
let behind: TestService
let behindUrl = ''
before(async () => {
  right = await startTestService({ env })
  const { connectionString, vault } = right
  const clock = (): number => Date.now() - BEHIND_MS
  behind = await startTestService({ connectionString, vault, clock, env: { ...env, BASE_URL: right.baseUrl } })
  behindUrl = `http://127.0.0.1:${behind.config.port}`
})
after(async () => {
  await behind?.stop()
  await right?.stop()
})

const guess = (url: string, email: string, address: string) =>
  new Client(url).post(
    'auth/login/manager',
    { email, password: 'Wrong-Password-1!', origin: 'dashboard' },
    { 'x-forwarded-for': address },
  )

test('a limit goes on for all nodes, and refuses for a window at most on the one that is behind', async () => {
  const statusAt = async (url: string) => (await guess(url, newEmail(), '198.51.100.9')).status
  let served = 0
  for (let round = 0; round < 30; round += 1)
    for (const url of [right.baseUrl, right.baseUrl, behindUrl]) if ((await statusAt(url)) !== 429) served += 1
  assert.ok(served <= 40, `${served} were served`)
  const refused = await guess(behindUrl, newEmail(), '198.51.100.9')
  assert.equal(refused.status, 429)
  assert.ok(Number(refused.headers.get('retry-after')) <= 60)
  assert.equal(await statusAt(right.baseUrl), 429)
})

test('the node that is behind uses up no limit of its own accord, and ends no window', async () => {
  for (let count = 0; count < 20; count += 1)
    assert.equal((await guess(behindUrl, newEmail(), '198.51.100.10')).status, 400)
  const now = new Date()
  const use = { count: 0, now, endsAt: new Date(now.getTime() + MINUTE) }
  const counter = await right.db.one<{ key: string; used: bigint }>(sql`
    select key, used from rate_counters where key like 'address:%198.51.100.10%'`)
  assert.equal(counter.used, 20n)
  const { used, windowEndsAt } = await updateCounter(right.db, counter.key, use)
  assert.equal(used, 20n)
  assert.ok(windowEndsAt > now)
})

test('a login is locked for half an hour on all nodes, whichever of them gets the wrong passwords', async () => {
  for (const order of [
    [right, behind],
    [behind, right],
  ]) {
    const [email, said] = [newEmail(), new Map<string, number>()]
    for (let count = 0; count < 40; count += 1) {
      const node = order[count % 10 === 9 ? 1 : 0] === behind ? behindUrl : right.baseUrl
      const { error } = await guess(node, email, `192.0.2.${count}`)
      said.set(error.code, (said.get(error.code) ?? 0) + 1)
    }
    assert.deepEqual(Object.fromEntries(said), { INVALID_CREDENTIALS: 10, ACCOUNT_LOCKED: 30 })
    for (const url of [right.baseUrl, behindUrl]) {
      const locked = await guess(url, email, '192.0.2.99')
      assert.equal(locked.error.code, 'ACCOUNT_LOCKED')
      assert.ok(Number(locked.headers.get('retry-after')) <= 1800)
    }
  }
})

test('an idempotency key is claimed for 15 seconds on all nodes, whichever of them claimed it', async () => {
  const claimAt = (key: string, clockMs: number): Promise<boolean> =>
    claimIdempotencyKey(
      right.db,
      { companyId: 'c', scope: 's', key },
      {
        ...{ fingerprint: 'f', earlierFingerprints: [], claimedBy: newId(), now: new Date(clockMs) },
        lockedUntil: new Date(clockMs + 15 * SECOND),
        latest: new Date(clockMs + 45 * SECOND),
      },
    )
  for (const delayMs of [20 * SECOND, 50 * SECOND, HOUR]) {
    const nodes = { right: () => Date.now(), behind: () => Date.now() - delayMs }
    for (const [first, second] of [
      ['right', 'behind'],
      ['behind', 'right'],
    ] as const) {
      const key = newId()
      assert.equal(await claimAt(key, nodes[first]()), true)
      assert.equal(await claimAt(key, nodes[second]()), false)
      assert.equal(await claimAt(key, nodes[first]()), false)
      await right.db.run(sql`update idempotency_keys set locked_until = now() - interval '1 second' where key = ${key}`)
      assert.equal(await claimAt(key, nodes.behind()), true, 'a claim that ended is taken over there too')
      await right.db.run(sql`update idempotency_keys set locked_until = now() + interval '2 hours' where key = ${key}`)
      assert.equal(await claimAt(key, nodes.behind()), false)
      assert.equal(await claimAt(key, nodes.right()), false, 'what is shortened there goes on for the others')
    }
  }
})

test('the node that is behind counts the codes that others mailed', async () => {
  const { userId } = await registerManager(right.baseUrl)
  const challenge = newId()
  const now = new Date()
  await right.db.run(sql`
    insert into otp_challenges (id, token_hash, user_id, kind, code_sent_at, codes_sent, expires_at, created_at)
    values (${challenge}, ${challenge}, ${userId}, 'dashboard', ${now}, 3, ${new Date(now.getTime() + MINUTE)}, ${now})`)
  const nowMs = now.getTime() - BEHIND_MS
  const times = { now: new Date(nowMs), since: new Date(nowMs - HOUR), until: new Date(nowMs + 30 * SECOND) }
  assert.equal((await countRecentCodes(right.db, userId, times)).count, 3)
})
