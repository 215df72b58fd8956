import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { resealKycs } from '../src/compliance/payer-erasure.ts'
import { openPayerKeys } from '../src/compliance/payer-key.ts'
import { sql } from '../src/db/db.ts'
import { openVault } from '../src/kernel/vault.ts'
import { Client, registerManager, waitForMail } from './harness/accounts.ts'
import { DEAD_CHAIN, type KycWorld, newPayer, openKycWorld, readPage } from './harness/kyc-world.ts'
import { eventually, startTestService, TEST_MASTER_KEY } from './harness/service.ts'

let world: KycWorld

before(async () => {
  world = await openKycWorld({ env: { LIMIT_LINK_PER_MINUTE: '1000' } })
})
after(() => world?.stop())

/** As the payer's browser does: a token of the page, the provider's frame, one of its buttons. */
async function goThrough(url: string, answer: string): Promise<void> {
  const { searchParams, origin } = new URL(url)
  const session = await fetch(`${origin}/kyc/session`, { method: 'POST', body: searchParams })
  assert.equal(session.status, 200)
  const { token } = (await session.json()) as { token: string }
  assert.equal((await readPage(`${world.providersUrl}/sumsub/websdk?token=${token}`)).status, 200)
  const body = new URLSearchParams({ token, answer })
  assert.equal((await fetch(`${world.providersUrl}/sumsub/websdk/answer`, { method: 'POST', body })).status, 200)
}

/** A payer who passed the check for an order of 1500 EUR, which is then accepted. */
async function makeApproved(payer = newPayer()): Promise<{ id: string; url: string; payer: string; code: string }> {
  const code = await world.createOrder('1500')
  const { id, url } = await world.ask(code, payer)
  await world.decide(id, 'approve')
  await world.reaches(id, { status: 'approved' })
  assert.equal((await world.accept(code)).status, 200)
  return { id, url, payer, code }
}

const statusOf = async (code: string): Promise<string> =>
  (await world.host.call<{ status: string }>('GET', `status/${code}`)).data.status

test('whoever has the link of a check asks the provider 12 times a minute: for sessions, and to look', async () => {
  const { url } = await world.ask(await world.createOrder('1500'), newPayer())
  const { origin, searchParams: body } = new URL(url)
  const statuses = []
  for (let count = 0; count < 14; count += 1) {
    const path = count % 2 ? '/kyc/look' : '/kyc/session'
    statuses.push((await fetch(`${origin}${path}`, { method: 'POST', body })).status)
  }
  assert.deepEqual(statuses, [...Array(6).fill([200, 204]).flat(), 429, 429])
})

test('threshold, link, check, callback, webhook: then the order can be accepted', async () => {
  const payer = newPayer()
  const small = await world.createOrder('999.99')
  assert.equal((await world.accept(small, { payerEmail: newPayer() })).status, 200)
  const code = await world.createOrder('1000')
  const { id, url } = await world.ask(code, payer)
  assert.equal(await statusOf(code), 'INITIAL')
  assert.equal((await world.told(code, 'kyc.pending')).status, 'pending')
  const mail = await waitForMail(world.host.baseUrl, payer, /check your identity/)
  assert.ok(mail.text.includes(new URL(url).origin) && mail.text.includes(`/kyc?code=${code}&token=`))
  const page = await readPage(url)
  assert.match(page.text, /Your identity needs to be checked/)
  const policy = page.headers.get('content-security-policy') ?? ''
  assert.ok(policy.includes(`script-src 'sha256-`) && policy.includes(`frame-src ${world.providersUrl}`), policy)
  assert.equal(
    (await readPage(url.replace(/token=./, (first) => (first === 'token=A' ? 'token=B' : 'token=A')))).status,
    404,
  )
  await goThrough(url, 'approve')
  await world.reaches(id, { status: 'approved' })
  const news = await world.told(code, 'kyc.approved')
  assert.deepEqual(Object.keys(news).sort(), ['alias', 'code', 'event', 'kycId', 'orderId', 'status', 'updatedAt'])
  assert.deepEqual([news.kycId, news.code, news.status], [id, code, 'approved'])
  assert.match((await readPage(url)).text, /Your identity is confirmed.*\/pay\?code=/s)
  const accepted = await world.accept(code)
  assert.equal(accepted.data.status, 'AWAITING', accepted.text)
  const { history, payer: who, orders } = (await world.boss.client.get<Record<string, never>>(`kyc/${id}`)).data
  assert.deepEqual(who, { email: payer })
  type Named = { shortCode: string; alias: string }
  const { shortCode, alias } = (await world.boss.client.get<Named>(`confirm_conversion/status/${code}`)).data
  assert.deepEqual(orders, [{ code, shortCode, alias }])
  assert.deepEqual(
    (history as unknown as { trigger: string; actor: string }[]).map(({ trigger, actor }) => [
      trigger,
      actor.split(':')[0],
    ]),
    [
      ['ask', 'user'],
      ['approved', 'provider'],
    ],
  )
})

test('an order that is marked anonymous is held to it as well; without an e-mail nobody can be checked', async () => {
  const code = await world.createOrder('1000', { anonymous: true })
  assert.equal((await world.accept(code)).error.code, 'PAYER_IDENTITY_REQUIRED')
  assert.equal((await world.boss.client.post('kyc', { code })).error.code, 'PAYER_IDENTITY_REQUIRED')
  assert.equal((await world.accept(code, { anonymous: true, payerEmail: newPayer() })).error.code, 'KYC_REQUIRED')
})

test('small orders of one payer count together, however the e-mail is written; another payer’s do not', async () => {
  const payer = newPayer()
  const buy = async (email: string) => world.accept(await world.createOrder('400'), { payerEmail: email })
  assert.deepEqual([(await buy(payer)).status, (await buy(payer.toUpperCase())).status], [200, 200])
  assert.equal((await buy(payer)).error.code, 'KYC_REQUIRED')
  assert.equal((await buy(newPayer())).status, 200)
  await world.host.db.run(sql`update kyc_spendings set accepted_at = accepted_at - interval '29 days'`)
  assert.equal((await buy(payer)).error?.code, 'KYC_REQUIRED', 'on day 29 it still counts')
  await world.host.db.run(sql`update kyc_spendings set accepted_at = accepted_at - interval '1 day 1 minute'`)
  await world.host.db.run(sql`
    update orders o set status = 'PAID', paid_at = s.accepted_at from kyc_spendings s where s.order_id = o.id`)
  assert.equal((await buy(payer)).status, 200, 'thirty days later')
})

test('what ended unpaid does not count, and accepting one order twice counts once', async () => {
  const payer = newPayer()
  const first = await world.createOrder('700')
  assert.equal((await world.accept(first, { payerEmail: payer })).status, 200)
  assert.equal((await world.accept(first, { payerEmail: payer })).status, 200)
  await world.boss.client.post(`confirm_conversion/cancel/${first}`)
  assert.equal((await world.accept(await world.createOrder('700'), { payerEmail: payer })).status, 200)
})

test('two orders that are accepted at once cannot both slip under the limit', async () => {
  const stranger = newPayer()
  const small = await Promise.all([1, 2, 3, 4].map(() => world.createOrder('600')))
  const unchecked = await Promise.all(small.map((code) => world.accept(code, { payerEmail: stranger })))
  assert.deepEqual(unchecked.map(({ status }) => status).sort(), [200, 400, 400, 400])
  const { payer } = await makeApproved()
  const large = await Promise.all([1, 2, 3, 4, 5].map(() => world.createOrder('4000')))
  const answers = await Promise.all(large.map((code) => world.accept(code, { payerEmail: payer })))
  assert.equal(answers.filter(({ status }) => status === 200).length, 2)
  const codes = new Set(answers.filter(({ status }) => status === 400).map(({ error }) => error.code))
  assert.deepEqual([...codes], ['SPENDING_LIMIT_EXCEEDED'])
})

test('other currencies count by their value in EUR', async () => {
  const dear = await world.createOrder('965', { fromAsset: 'CHF' })
  assert.equal((await world.accept(dear, { payerEmail: newPayer() })).error.code, 'KYC_REQUIRED')
  const cheap = await world.createOrder('1000', { fromAsset: 'USD' })
  assert.equal((await world.accept(cheap, { payerEmail: newPayer() })).status, 200)
})

test('a final refusal is told, shown and held; the internal comment is nowhere', async () => {
  await world.tell('kyc-refused')
  const code = await world.createOrder('1500')
  const { id, url } = await world.ask(code, newPayer())
  await goThrough(url, 'approve')
  await world.reaches(id, { status: 'refused' })
  assert.equal((await world.told(code, 'kyc.refused')).status, 'refused')
  assert.match((await readPage(url)).text, /could not confirm your identity/)
  const again = await world.accept(code)
  assert.deepEqual([again.error.code, /was refused/.test(again.error.message)], ['KYC_REQUIRED', true])
  const kept = await world.host.db.one<{ row: string }>(sql`
    select row_to_json(k)::text as row from kyc_records k where id = ${id}`)
  assert.equal(kept.row.includes('internal'), false)
})

test('a refusal for now leaves the check open and says what to do better, in the provider’s words for the payer', async () => {
  const { id, url } = await world.ask(await world.createOrder('1500'), newPayer())
  await goThrough(url, 'retry')
  const { text } = await eventually(
    () => readPage(url),
    (page) => page.text.includes('by daylight'),
  )
  assert.equal(text.includes('nervous'), false)
  assert.equal((await world.read(id)).status, 'pending')
  await goThrough(url, 'approve')
  await world.reaches(id, { status: 'approved' })
})

test('over the limit an enhanced check is asked for; what it grants is the limit from then on', async () => {
  const { id, url, payer } = await makeApproved()
  // its provider decides; a limit is granted by the operator
  assert.deepEqual((await world.read(id)).mayDo, ['requestEdd'])
  assert.deepEqual((await world.admin.get<{ mayDo: string[] }>(`kyc/${id}`)).data.mayDo, ['requestEdd', 'grantLimit'])
  const large = await world.createOrder('9000')
  const refused = await world.accept(large, { payerEmail: payer })
  assert.deepEqual([refused.status, refused.error.code], [400, 'SPENDING_LIMIT_EXCEEDED'])
  assert.match(refused.error.message, /10500\.00 EUR.*10000\.00 EUR/)
  const early = await world.admin.post(`kyc/${id}/edd/complete`, { outcome: 'approved', spendingLimit: '12000' })
  assert.equal(early.error.code, 'OBJECT_CONFLICT')
  assert.equal((await world.boss.client.post(`kyc/${id}/edd`, { spendingLimit: '99999' })).status, 403)
  assert.equal((await world.boss.client.post(`kyc/${id}/edd`, {})).status, 200)
  await waitForMail(world.host.baseUrl, payer, /larger purchases/)
  assert.match((await readPage(url)).text, /A further check is needed/)
  assert.equal((await world.boss.client.post(`kyc/${id}/edd/complete`, { outcome: 'approved' })).status, 403)
  await goThrough(url, 'approve')
  await world.reaches(id, { status: 'approved', eddStatus: 'pending' })
  assert.equal((await world.accept(large)).error.code, 'SPENDING_LIMIT_EXCEEDED')
  const unnamed = await world.admin.post(`kyc/${id}/edd/complete`, { outcome: 'approved' })
  assert.equal(unnamed.error.code, 'VALIDATION_FAILED')
  const done = await world.admin.post(`kyc/${id}/edd/complete`, { outcome: 'approved', spendingLimit: '12000' })
  assert.equal(done.status, 200, done.text)
  const { updatedAt, orderId, alias, ...news } = await world.told(large, 'kyc.edd_completed')
  const edd = { eddStatus: 'completed', eddOutcome: 'approved', spendingLimit: '12000.00' }
  assert.deepEqual(news, { event: 'kyc.edd_completed', kycId: id, code: large, status: 'approved', ...edd })
  assert.ok(updatedAt && orderId && alias)
  assert.equal((await world.accept(large)).status, 200)
  const more = await world.accept(await world.createOrder('1501'), { payerEmail: payer })
  assert.deepEqual([more.error.code, /12000\.00 EUR/.test(more.error.message)], ['SPENDING_LIMIT_EXCEEDED', true])
})

test('a limit that a SuperAdmin named before is granted by the provider’s word; a refused look leaves nothing', async () => {
  const [good, bad] = [await makeApproved(), await makeApproved()]
  for (const { id } of [good, bad])
    assert.equal((await world.admin.post(`kyc/${id}/edd`, { spendingLimit: '50000.50' })).status, 200)
  await world.decide(good.id, 'enhanced')
  await world.reaches(good.id, { status: 'approved', eddOutcome: 'approved', spendingLimit: '50000.50' })
  await goThrough(bad.url, 'refuse')
  await world.reaches(bad.id, { status: 'approved', eddOutcome: 'refused', spendingLimit: '0.00' })
  const next = await world.accept(await world.createOrder('10'), { payerEmail: bad.payer })
  assert.equal(next.error.code, 'SPENDING_LIMIT_EXCEEDED')
})

test('an approval that the provider takes back is pending again, and holds orders again', async () => {
  const { id, payer } = await makeApproved()
  await world.decide(id, 'reset')
  await world.reaches(id, { status: 'pending' })
  assert.equal((await world.accept(await world.createOrder('20'), { payerEmail: payer })).error.code, 'KYC_REQUIRED')
})

/* ---- callbacks that are not what they say ---- */

const FAR = '2099-01-01'
const isFar = async (id: string): Promise<boolean> => {
  const query = sql`select next_check_at = ${FAR}::timestamptz as far from kyc_records where id = ${id}`
  return (await world.host.db.one<{ far: boolean | null }>(query)).far === true
}
const putFar = (id: string) =>
  world.host.db.run(sql`update kyc_records set next_check_at = ${FAR}::timestamptz where id = ${id}`)
const timeText = (atMs: number): string => new Date(atMs).toISOString().replace('T', ' ').replace('Z', '')

/** The applicant exists, its first callback came, and the next visit is planned for later. */
const firstLook = (id: string) =>
  eventually(
    () =>
      world.host.db.one<{ done: boolean }>(sql`
        select applicant_id is not null and next_check_at > now() + interval '30 seconds'
          and exists (select 1 from kyc_callbacks c where c.applicant_id = k.applicant_id) as done
        from kyc_records k where id = ${id}`),
    ({ done }) => done,
  )

test('a forged, changed, old or repeated callback, or one of another algorithm, starts nothing', async () => {
  const { id } = await world.ask(await world.createOrder('1500'), newPayer())
  const applicant = await world.applicantOf(id)
  await firstLook(id)
  const say = (createdAt: number, extra = {}) =>
    JSON.stringify({
      ...{ applicantId: applicant.id, externalUserId: id, type: 'applicantReviewed', createdAtMs: timeText(createdAt) },
      ...{ reviewStatus: 'completed', reviewResult: { reviewAnswer: 'GREEN' }, sandboxMode: true, ...extra },
    })
  const now = Date.now()
  await putFar(id)
  const body = say(now)
  const refused = [
    await world.sendCallback(body, { digest: '0'.repeat(64) }),
    await world.sendCallback(body, { digest: '' }),
    await world.sendCallback(body, { algorithm: 'sha1', name: 'HMAC_SHA1_HEX' }),
    await world.sendCallback(body, { algorithm: 'sha512', name: 'HMAC_SHA512_HEX' }),
    await world.sendCallback('nonsense'),
    await world.sendCallback(''),
  ]
  assert.deepEqual(
    [...new Set(refused.map(({ status, error }) => `${status} ${error.code}`))],
    ['401 CALLBACK_REFUSED'],
  )
  assert.equal((await world.sendCallback(say(now - 3 * 86_400_000))).status, 200)
  assert.equal((await world.sendCallback(say(now + 3_600_000))).status, 200)
  assert.equal(await isFar(id), true, 'nothing of this was looked at')
  assert.equal((await world.sendCallback(body)).status, 200)
  assert.equal(await isFar(id), false, 'a genuine one is')
  await eventually(
    () =>
      world.host.db.one<{ later: boolean }>(
        sql`select next_check_at > now() + interval '30 seconds' as later from kyc_records where id = ${id}`,
      ),
    ({ later }) => later,
  )
  await putFar(id)
  assert.equal((await world.sendCallback(body)).status, 200)
  assert.equal(await isFar(id), true, 'a repeated one is not')
  assert.equal((await world.read(id)).status, 'pending', 'and what it claims was believed at no time')
})

test('callbacks that come twice, the wrong way round or with a wrong digest end in the same state', async () => {
  for (const story of ['kyc-duplicate-callbacks', 'kyc-reordered-callbacks', 'kyc-unknown-status', 'kyc-outage']) {
    const code = await world.createOrder('1500')
    const { id } = await world.ask(code, newPayer())
    await world.applicantOf(id)
    await world.tell(story)
    await world.decide(id, 'approve')
    // what the trouble swallowed is read at the next planned visit
    const soon = sql`update kyc_records set next_check_at = now() where id = ${id} and next_check_at > now() and status = 'pending'`
    await eventually(
      async () => {
        await world.host.db.run(soon)
        return world.read(id)
      },
      ({ status }) => status === 'approved',
    )
    assert.equal((await world.told(code, 'kyc.approved')).status, 'approved', story)
  }
  const { id } = await world.ask(await world.createOrder('1500'), newPayer())
  await firstLook(id)
  await world.tell('kyc-forged-callback')
  await world.decide(id, 'approve')
  await new Promise((resolve) => setTimeout(resolve, 1500))
  assert.equal((await world.read(id)).status, 'pending', 'a wrong digest makes nobody look')
  await world.host.db.run(sql`update kyc_records set next_check_at = now() where id = ${id}`)
  await world.reaches(id, { status: 'approved' })
})

test('a status that no document lists is shown while a check is pending, and takes back no approval', async () => {
  const { id } = await world.ask(await world.createOrder('1500'), newPayer())
  await firstLook(id)
  const visit = async () => {
    await world.tell('kyc-unknown-status')
    await world.host.db.run(sql`update kyc_records set next_check_at = now() where id = ${id}`)
    await firstLook(id)
    return world.read(id)
  }
  const pending = await visit()
  assert.equal(pending.status, 'pending')
  assert.match(String(pending.message), /ORBITING/)
  await world.decide(id, 'approve')
  await world.reaches(id, { status: 'approved' })
  const approved = await world.read(id)
  assert.match(String(approved.message), /completed GREEN/)
  assert.deepEqual(await visit(), approved, 'nothing of it changes, also not the words that approved it')
})

test('a time-out after the applicant was made ends in one applicant', async () => {
  await world.tell('kyc-timeout-after-acceptance')
  const { id } = await world.ask(await world.createOrder('1500'), newPayer())
  const state = sql`select applicant_id, creation_tried from kyc_records where id = ${id}`
  type State = { applicantId: string | null; creationTried: boolean }
  await eventually(
    () => world.host.db.one<State>(state),
    ({ creationTried }) => creationTried,
  )
  await world.applicantOf(id)
  await new Promise((resolve) => setTimeout(resolve, 700))
  assert.equal((await world.host.db.one<State>(state)).applicantId, null, 'nobody answered')
  await world.host.db.run(sql`update kyc_records set next_check_at = now() where id = ${id}`)
  const { applicantId } = await eventually(
    () => world.host.db.one<State>(state),
    (row) => row.applicantId !== null,
  )
  const mine = (await world.applicants()).filter(({ externalUserId }) => externalUserId === id)
  assert.deepEqual(
    mine.map((one) => one.id),
    [applicantId],
  )
})

test('a check that waits is asked about less and less often, also when the provider is out of order', async () => {
  const { id } = await world.ask(await world.createOrder('1500'), newPayer())
  await firstLook(id)
  const visited = async (checks: number): Promise<number> => {
    await world.host.db.run(sql`update kyc_records set next_check_at = now(), checks = ${checks} where id = ${id}`)
    const query = sql`
      select checks, extract(epoch from next_check_at - now())::int as seconds from kyc_records where id = ${id}`
    // a lease is a minute as well: what is planned is known once it has changed
    const { seconds } = await eventually(
      () => world.host.db.one<{ checks: number; seconds: number }>(query),
      (row) => row.checks === checks + 1 && row.seconds > 70,
    )
    return Math.round(seconds / 60)
  }
  assert.deepEqual([await visited(1), await visited(2), await visited(5), await visited(40)], [2, 5, 30, 60])
  await world.tell('kyc-outage')
  assert.equal(await visited(3), 10)
})

/* ---- whose checks they are ---- */

test('another company’s check is 404, in no list, and no page; a provider’s check is not decided by hand', async () => {
  const { id, payer } = await makeApproved()
  const stranger = (await registerManager(world.host.baseUrl)).client
  const calls = [
    await stranger.get(`kyc/${id}`),
    await stranger.post(`kyc/${id}/approve`, {}),
    await stranger.post(`kyc/${id}/refuse`, { reason: 'x' }),
    await stranger.post(`kyc/${id}/edd`, {}),
  ]
  assert.deepEqual([...new Set(calls.map(({ status, error }) => `${status} ${error.code}`))], ['404 OBJECT_NOT_FOUND'])
  const theirs = await stranger.get<{ checks: unknown[]; total: number }>('kyc')
  assert.deepEqual([theirs.data.checks, theirs.data.total], [[], 0])
  const own = await world.boss.client.get<{ checks: { _id: string; status: string }[] }>(
    'kyc?status=approved&limit=100',
  )
  assert.ok(own.data.checks.some(({ _id }) => _id === id))
  assert.deepEqual([...new Set(own.data.checks.map(({ status }) => status))], ['approved'])
  assert.equal(own.text.includes(payer), false, 'a list names nobody')
  assert.equal((await world.boss.client.post(`kyc/${id}/refuse`, { reason: 'x' })).error.code, 'OBJECT_CONFLICT')
})

test('who is behind a check is shown to those who may read payer information, and stands in clear nowhere', async () => {
  const { id, payer } = await makeApproved()
  const made = await world.boss.client.post<Record<string, never>>('api-keys', {
    name: 'k',
    scopes: ['orders:read'],
  })
  const headers = { 'x-api-key': made.data.apiKey ?? '', 'x-api-secret': made.data.apiSecret ?? '' }
  const seen = await world.host.call<{ payer: null }>('GET', `/api/next/kyc/${id}`, { headers })
  assert.deepEqual([seen.status, seen.data.payer, seen.text.includes(payer)], [200, null, false])
  for (const table of ['kyc_records', 'kyc_history', 'kyc_payers', 'kyc_spendings', 'kyc_orders', 'audit_log']) {
    const rows = await world.host.db.many<{ row: string }>({
      text: `select row_to_json(t)::text as row from ${table} t`,
      values: [],
      name: '',
    })
    assert.equal(
      rows.some(({ row }) => row.toLowerCase().includes(payer.toLowerCase())),
      false,
      table,
    )
  }
  assert.equal(world.host.logLines.join('').includes(payer), false)
})

test('an erased payer’s e-mail is forgotten here too; the decision stays and counts', async () => {
  const { id, payer, code } = await makeApproved()
  const erased = await world.boss.client.call('DELETE', `confirm_conversion/payer-information/${code}`)
  assert.equal(erased.status, 200, erased.text)
  const { status, payer: who } = await world.read(id)
  assert.deepEqual([status, who], ['approved', { email: null }])
  assert.equal((await world.accept(await world.createOrder('1500'), { payerEmail: payer })).status, 200)
})

test('the history of a check can be neither changed nor removed', async () => {
  await makeApproved()
  await assert.rejects(world.host.db.run(sql`update kyc_history set status = 'approved'`), /append-only/)
  await assert.rejects(world.host.db.run(sql`delete from kyc_history`), /append-only/)
})

test('under a new master key a payer is still known', async () => {
  const { id, payer } = await makeApproved()
  const next = openVault(Buffer.alloc(32, 9), [TEST_MASTER_KEY])
  assert.ok((await resealKycs({ db: world.host.db, vault: next })) > 0)
  assert.equal(await resealKycs({ db: world.host.db, vault: next }), 0)
  const back = openVault(TEST_MASTER_KEY, [Buffer.alloc(32, 9)])
  assert.ok((await resealKycs({ db: world.host.db, vault: back })) > 0)
  const rows = await world.host.db.many<{ sealed: string }>(
    sql`select email_sealed as sealed from kyc_records where id = ${id}`,
  )
  assert.equal(back.open(rows[0]?.sealed ?? '', `kyc:${id}:email`), payer)
  assert.equal((await world.accept(await world.createOrder('1500'), { payerEmail: payer })).status, 200)
})

test('while a change of the master key is under way, a payer is known, counted and erased all the same', async () => {
  const { id, url, payer, code } = await makeApproved()
  const { payer: forgotten } = await makeApproved()
  const stranger = newPayer()
  assert.equal((await world.accept(await world.createOrder('600'), { payerEmail: stranger })).status, 200)
  const { connectionString, config } = world.host
  const vault = openVault(Buffer.alloc(32, 9), [TEST_MASTER_KEY])
  const node = await startTestService({ env: DEAD_CHAIN, connectionString, vault })
  try {
    const boss = new Client(node.baseUrl)
    for (const [name, cookie] of world.boss.client.cookies) boss.cookies.set(name, cookie)
    boss.token = (await boss.post<{ token: string }>('auth/refresh-token')).data.token
    const accept = async (euro: string, payerEmail: string) =>
      boss.post(`confirm_conversion/accept/${await world.createOrder(euro)}`, { paymentChannel: 'crypto', payerEmail })
    assert.equal((await readPage(url.replace(config.baseUrl, node.baseUrl))).status, 200)
    assert.equal((await accept('1500', forgotten)).status, 200)
    assert.equal((await accept('600', stranger)).error?.code, 'KYC_REQUIRED')
    assert.equal((await boss.call('DELETE', `confirm_conversion/payer-information/${code}`)).status, 200)
    assert.deepEqual((await world.read(id)).payer, { email: null })
    assert.equal((await accept('1500', payer)).status, 200, 'the decision stays')
    const rows = await node.db.many(sql`
      select 1 from kyc_records where payer_key = ${openPayerKeys(openVault(TEST_MASTER_KEY))(payer).present}`)
    assert.equal(rows.length, 0, 'without an e-mail it is found under the new key alone')
  } finally {
    await node.stop()
  }
})
