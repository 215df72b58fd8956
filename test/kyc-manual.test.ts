import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, before, test } from 'node:test'
import { openKycNews } from '../cli/kyc-news.ts'
import { Comptoir } from '../sdk/index.ts'
import { eraseKycsOlderThan } from '../src/compliance/payer-erasure.ts'
import { type Sql, sql } from '../src/db/sql.ts'
import { LANGS, type Lang } from '../src/kernel/lang.ts'
import { TEXTS } from '../src/texts/languages.ts'
import { logInFormerSuperAdmin, waitForMail } from './harness/accounts.ts'
import { type KycWorld, newPayer, openKycWorld, readPage } from './harness/kyc-world.ts'
import { startTestService } from './harness/service.ts'

let world: KycWorld

before(async () => {
  world = await openKycWorld({ manual: true })
})
after(() => world?.stop())

test('without a provider a manager decides: asked by the API, shown to the payer, told by webhook', async () => {
  const payer = newPayer()
  const code = await world.createOrder('1500')
  await world.boss.client.post(`confirm_conversion/email/${code}`, { email: payer })
  const started = await world.boss.client.post<{ kycId: string; url: string; status: string }>('kyc', { code })
  assert.deepEqual([started.status, started.data.status], [200, 'pending'])
  const { kycId, url } = started.data
  assert.equal((await world.boss.client.post<{ kycId: string }>('kyc', { code })).data.kycId, kycId)
  const mail = await waitForMail(world.host.baseUrl, payer, /check your identity/)
  assert.ok(mail.text.includes(`/kyc?code=${code}&token=`))
  const page = await readPage(url, { 'accept-language': 'de-CH,de;q=0.9' })
  assert.match(page.text, /Ihre Identität muss geprüft werden.*fragt Sie per E-Mail/s)
  assert.equal(/frame-src|https?:/.test(page.headers.get('content-security-policy') ?? ''), false)
  const session = await fetch(url.replace('/kyc?', '/kyc/session?'), {
    method: 'POST',
    body: new URL(url).searchParams,
  })
  assert.equal(session.status, 409)
  assert.equal((await world.ask(code, payer)).id, kycId)
  assert.equal((await world.boss.client.post(`kyc/${kycId}/edd`, {})).error.code, 'OBJECT_CONFLICT')
  assert.equal((await world.boss.client.post(`kyc/${kycId}/refuse`, {})).status, 422)
  assert.equal((await world.boss.client.post(`kyc/${kycId}/refuse`, { reason: 'no document' })).status, 200)
  assert.equal((await world.told(code, 'kyc.refused')).status, 'refused')
  assert.equal((await world.accept(code)).error.code, 'KYC_REQUIRED')
  const former = await logInFormerSuperAdmin(world.host)
  assert.equal((await former.post(`kyc/${kycId}/approve`, { reason: 'document came' })).status, 401)
  assert.equal((await world.boss.client.post(`kyc/${kycId}/approve`, { reason: 'document came' })).status, 200)
  assert.equal((await world.boss.client.post(`kyc/${kycId}/approve`, {})).status, 200)
  assert.equal((await world.told(code, 'kyc.approved')).status, 'approved')
  assert.equal((await world.accept(code)).status, 200)
  const { history } = (
    await world.boss.client.get<{ history: { trigger: string; reason: string | null }[] }>(`kyc/${kycId}`)
  ).data
  assert.deepEqual(
    history.map(({ trigger, reason }) => [trigger, reason]),
    [
      ['ask', null],
      ['refuse', 'no document'],
      ['approve', 'document came'],
    ],
  )
  const log = await world.boss.client.get<{ entries: { action: string }[] }>(`audit-log?object=kyc:${kycId}`)
  assert.deepEqual(
    log.data.entries.map(({ action }) => action),
    ['payer.read', 'kyc.approve', 'kyc.refuse', 'kyc.ask'],
    'the look at the e-mail, too',
  )
})

test('a payer whose money has arrived is not told on the page or in the mail of the check that he was not charged', async () => {
  const payer = newPayer()
  const code = await world.createOrder('20')
  await world.boss.client.post(`confirm_conversion/email/${code}`, { email: payer })
  assert.equal((await world.accept(code)).status, 200)
  const { data } = await world.boss.client.post<{ kycId: string; url: string }>('kyc', { code })
  const page = async (lang: Lang) => (await readPage(`${data.url}&lang=${lang}`)).text
  const setOrder = (values: Sql) => world.host.db.run(sql`update orders set ${values} where code = ${code}`)
  const arrived = (units: number) =>
    world.host.db.run(sql`
    update payments p set received_units = ${units} from orders o
    where o.id = p.order_id and o.company_id = p.company_id and o.code = ${code}`)
  const decide = async (word: 'approve' | 'refuse') =>
    assert.equal((await world.boss.client.post(`kyc/${data.kycId}/${word}`, { reason: 'seen' })).status, 200)
  const stages = {
    open: () => setOrder(sql`status = 'AWAITING'`),
    ended: () => setOrder(sql`status = 'EXPIRED'`),
    partly: async () => {
      await setOrder(sql`status = 'AWAITING'`)
      await arrived(1)
    },
    confirming: async () => {
      await arrived(0)
      await setOrder(sql`status = 'WAITING_CHAIN_CONFIRMATION'`)
    },
    paid: () => setOrder(sql`status = 'PAID', paid_at = now()`),
  }
  for (const decision of [null, 'refuse', 'approve'] as const) {
    if (decision !== null) await decide(decision)
    await setOrder(sql`paid_at = null`)
    for (const [stage, set] of Object.entries(stages)) {
      await set()
      for (const lang of LANGS) {
        const { kyc } = TEXTS[lang]
        const text = await page(lang)
        const isPaid = stage !== 'open' && stage !== 'ended'
        const unpaid = [kyc.notCharged, kyc.cannotPay, kyc.startAgain('|').split('|')[1] ?? '']
        const said = unpaid.filter((sentence) => text.includes(sentence)).length
        assert.deepEqual([text.includes(kyc.paid), text.includes(kyc.toPaid)], [isPaid, isPaid], `${decision} ${stage}`)
        assert.equal(
          said,
          isPaid || (decision === 'approve' && stage === 'open') ? 0 : 1,
          `${decision} ${stage} ${lang}`,
        )
      }
    }
    await arrived(0)
  }
  const mail = await waitForMail(world.host.baseUrl, payer, /check your identity/)
  assert.doesNotMatch(mail.text, /charged|Before you can pay/)
})

test('who may not pay is asked for nothing where no threshold is set; settings are the operator’s', async () => {
  const path = `companies/${world.boss.companyId}`
  assert.equal((await world.boss.client.call('PUT', path, { kycThreshold: null })).status, 403)
  assert.equal((await world.admin.call('PUT', path, { kycThreshold: '0.00' })).status, 422)
  const off = await world.admin.call<{ kycThreshold: null; kycLimit: string }>('PUT', path, { kycThreshold: null })
  assert.deepEqual([off.data.kycThreshold, off.data.kycLimit], [null, '10000.00'])
  assert.equal((await world.accept(await world.createOrder('50000'))).status, 200)
  assert.equal((await world.admin.call('PUT', path, { kycThreshold: '1000' })).status, 200)
})

test('orders whose payer is named after accept count as well', async () => {
  const payer = newPayer()
  for (const euro of ['500', '499']) {
    const code = await world.createOrder(euro)
    assert.equal((await world.accept(code)).status, 200)
    assert.equal((await world.boss.client.post(`confirm_conversion/email/${code}`, { email: payer })).status, 200)
  }
  await world.ask(await world.createOrder('1'), payer)
})

/** A payer whose check was approved for an order of 1500 EUR, which is then accepted. */
async function makeApproved(): Promise<{ id: string; payer: string; code: string }> {
  const payer = newPayer()
  const code = await world.createOrder('1500')
  const { id } = await world.ask(code, payer)
  assert.equal((await world.boss.client.post(`kyc/${id}/approve`, {})).status, 200)
  assert.equal((await world.accept(code)).status, 200)
  return { id, payer, code }
}
const erase = (code: string) =>
  world.boss.client.call<{ erased: boolean; notes: number }>('DELETE', `confirm_conversion/payer-information/${code}`)

test('the e-mail of a repeated accept is saved and counts', async () => {
  const payer = newPayer()
  const code = await world.createOrder('999')
  assert.equal((await world.accept(code)).status, 200)
  assert.equal((await world.accept(code, { payerEmail: payer })).status, 200)
  const saved = await world.boss.client.get(`confirm_conversion/payer-information/${code}`)
  assert.deepEqual(saved.data, { email: payer })
  const look = await world.host.db.one<{ actor: string; object: string; detail: string }>(sql`
    select actor, object, detail from audit_log where action = 'payer.read' and object like 'order:%'
    order by seq desc limit 1`)
  const { id } = await world.host.db.one<{ id: string }>(sql`select id from orders where code = ${code}`)
  assert.deepEqual(look, {
    ...{ actor: `user:${world.boss.userId}`, object: `order:${id}`, detail: '{"fields":["email"]}' },
  })
  await world.ask(await world.createOrder('1'), payer)
})

test('a check refused after accept withholds the instructions', async () => {
  const { id, code } = await makeApproved()
  assert.equal((await world.boss.client.post(`kyc/${id}/refuse`, { reason: 'forged' })).status, 200)
  const { error } = await world.accept(code)
  assert.deepEqual([error?.code, /was refused/.test(error?.message)], ['KYC_REQUIRED', true])
})

test('an enhanced check that staff requested waits in the list of those who decide it', async () => {
  const { id } = await makeApproved()
  const waits = async () => {
    const { data } = await world.admin.get<{ checks: { _id: string }[] }>('kyc?status=waiting&limit=100')
    return data.checks.some(({ _id }) => _id === id)
  }
  const needs = async () =>
    (await world.boss.client.get<{ needs: { identity: number } }>('summary')).data.needs.identity
  const before = await needs()
  assert.equal(await waits(), false)
  assert.equal((await world.boss.client.post(`kyc/${id}/edd`, {})).status, 200)
  assert.deepEqual([await waits(), await needs()], [true, before + 1])
  const done = { outcome: 'approved', spendingLimit: '20000.00' }
  assert.equal((await world.admin.post(`kyc/${id}/edd/complete`, done)).status, 200)
  assert.deepEqual([await waits(), await needs()], [false, before])
})

test('a refused enhanced check stays refused until the next one is completed', async () => {
  const { id, payer } = await makeApproved()
  const ask = () => world.boss.client.post(`kyc/${id}/edd`, {})
  const complete = (body: unknown) => world.admin.post(`kyc/${id}/edd/complete`, body)
  assert.equal((await ask()).status, 200)
  assert.equal((await complete({ outcome: 'refused' })).status, 200)
  assert.equal((await ask()).status, 200)
  const { eddStatus, eddOutcome, spendingLimit } = await world.read(id)
  assert.deepEqual([eddStatus, eddOutcome, spendingLimit], ['requested', 'refused', '0.00'])
  const code = await world.createOrder('10')
  assert.equal((await world.accept(code, { payerEmail: payer })).error?.code, 'SPENDING_LIMIT_EXCEEDED')
  assert.equal((await complete({ outcome: 'approved', spendingLimit: '2000' })).status, 200)
  assert.equal((await world.accept(code)).status, 200)
})

test('a check says what each person may do with it, and the service does just that', async () => {
  const id = (await world.ask(await world.createOrder('1500'), newPayer())).id
  const mayDo = async (client = world.boss.client) => (await client.get<{ mayDo: string[] }>(`kyc/${id}`)).data.mayDo
  const as = async (client: typeof world.admin, step: string, body: unknown) =>
    assert.equal((await client.post(`kyc/${id}/${step}`, body)).status, 200, step)
  const { boss, admin } = world
  assert.deepEqual(await mayDo(), ['approve', 'refuse'])
  await as(boss.client, 'refuse', { reason: 'by mistake' })
  assert.deepEqual(await mayDo(), ['approve'])
  await as(boss.client, 'approve', {})
  assert.deepEqual(await mayDo(), ['refuse', 'requestEdd'])
  assert.deepEqual(await mayDo(admin), ['refuse', 'requestEdd'], 'no provider would grant a limit')
  await as(boss.client, 'edd', {})
  assert.deepEqual(await mayDo(), ['refuse'])
  assert.deepEqual(await mayDo(admin), ['refuse', 'completeEdd'])
  await as(admin, 'edd/complete', { outcome: 'approved', spendingLimit: '20000' })
  assert.deepEqual(await mayDo(), ['refuse', 'requestEdd'], 'for a higher limit, once more')
  await as(boss.client, 'edd', {})
  await world.host.db.run(sql`update kyc_records set provider = 'sumsub' where id = ${id}`)
  assert.deepEqual(await mayDo(), [], 'not set up here: only the operator decides')
  assert.deepEqual(await mayDo(admin), ['refuse', 'completeEdd'])
})

test('no enhanced check is completed for a payer whose check is refused', async () => {
  const { id } = await makeApproved()
  assert.equal((await world.boss.client.post(`kyc/${id}/edd`, {})).status, 200)
  assert.equal((await world.boss.client.post(`kyc/${id}/refuse`, { reason: 'forged' })).status, 200)
  const done = await world.admin.post(`kyc/${id}/edd/complete`, { outcome: 'approved', spendingLimit: '50000' })
  assert.equal(done.error?.code, 'OBJECT_CONFLICT')
  const { status, eddStatus } = await world.read(id)
  assert.deepEqual([status, eddStatus], ['refused', 'requested'])
})

test('every order that waits for a check is told the decision, however many there are', async () => {
  const code = await world.createOrder('1500')
  const { id } = await world.ask(code, newPayer())
  await world.host.db.run(sql`
    with made as (
      insert into orders (company_id, id, code, short_code, status, from_asset, from_units, to_asset, to_units, rate,
        quote_id, webhook_url, created_at, updated_at, expires_at)
      select company_id, lpad(to_hex(n), 24, '0'), lpad(to_hex(n), 24, '0'), 'KYC' || n, 'INITIAL', 'EUR', 150000,
        'USDC', to_units, rate, quote_id, webhook_url, now(), now(), now() + interval '1 hour'
      from orders, generate_series(1, 250) n where code = ${code} returning company_id, id)
    insert into kyc_orders (company_id, order_id, kyc_id, created_at) select company_id, id, ${id}, now() from made`)
  assert.equal((await world.boss.client.post(`kyc/${id}/approve`, {})).status, 200)
  const told = await world.host.db.one<{ n: bigint }>(sql`
    select count(*) as n from delivery_states d join kyc_orders k on k.order_id = d.order_id
    where d.event = 'kyc.approved' and k.kyc_id = ${id}`)
  assert.equal(told.n, 251n)
})

test('the command line hears of a decision about the oldest of many checks', async () => {
  const { host } = world
  const merchant = await host.createMerchant()
  const post = async <Data>(path: string, body: unknown) =>
    (await host.call<Data>('POST', `/api/next/${path}`, { as: merchant, body })).data
  const sale = { amount: '20', fromAsset: 'EUR', merchantIdentifier: merchant.merchantIdentifier }
  const { code } = await post<{ code: string }>('confirm_conversion/request', sale)
  await post(`confirm_conversion/email/${code}`, { email: newPayer() })
  const { kycId } = await post<{ kycId: string }>('kyc', { code })
  await host.db.run(sql`
    insert into kyc_records (company_id, id, payer_key, provider, status, created_at, updated_at)
    select ${merchant.companyId}, 'f' || lpad(to_hex(n), 23, '0'), lpad(to_hex(n), 64, '0'), 'manual', 'pending',
      now(), now() from generate_series(1, 120) n`)
  const { 'x-api-key': apiKey = '', 'x-api-secret': apiSecret = '' } = merchant.headers
  const read = await openKycNews(new Comptoir({ baseUrl: host.baseUrl, apiKey, apiSecret }))
  assert.deepEqual(await read(), [])
  const { status } = await world.admin.call('POST', `kyc/${kycId}/approve`, {})
  assert.equal(status, 200)
  assert.deepEqual(
    (await read()).map((news) => [news.event, news.kycId, news.code]),
    [['kyc.approved', kycId, code]],
  )
  assert.deepEqual(await read(), [])
})

test('an order that moves to the check of another payer leaves no e-mail behind, unless another order needs it', async () => {
  const [wrong, shared, right] = [newPayer(), newPayer(), newPayer()]
  const code = await world.createOrder('1500')
  const first = await world.ask(code, wrong)
  const second = await world.ask(code, shared)
  assert.deepEqual((await world.read(first.id)).payer, { email: null })
  await world.ask(await world.createOrder('1500'), shared)
  const last = await world.ask(code, right)
  assert.deepEqual((await world.read(second.id)).payer, { email: shared })
  assert.equal((await erase(code)).data.erased, true)
  assert.deepEqual((await world.read(last.id)).payer, { email: null })
})

test('an erasure says when it erased only the e-mail of the check, and leaves an audit entry', async () => {
  const { id, payer, code } = await makeApproved()
  assert.deepEqual((await erase(code)).data, { erased: true, notes: 0 })
  assert.deepEqual((await erase(code)).data, { erased: false, notes: 0 })
  const other = await world.createOrder('9000')
  assert.equal((await world.accept(other, { payerEmail: payer })).error?.code, 'SPENDING_LIMIT_EXCEEDED')
  assert.equal((await world.boss.client.post('kyc', { code: other })).status, 200)
  assert.deepEqual((await world.read(id)).payer, { email: payer })
  assert.deepEqual((await erase(code)).data, { erased: true, notes: 0 })
  assert.deepEqual((await world.read(id)).payer, { email: null })
  const { detail } = await world.host.db.one<{ detail: string }>(sql`
    select detail from audit_log where action = 'payer.erase' order by seq desc limit 1`)
  const nothingElse = { payer: false, wallet: false, files: false, mails: false }
  assert.deepEqual(JSON.parse(detail), { ...nothingElse, check: true, status: 'AWAITING', notes: 0 })
})

test('the identity form counts only with the token of its order and from our own page, and asks only what is missing', async () => {
  const path = `companies/${world.boss.companyId}`
  await world.admin.call('PUT', path, { kycThreshold: null, identityThresholdAmount: '1000' })
  const [code, other] = [await world.createOrder('1500'), await world.createOrder('1500')]
  const { baseUrl } = world.host
  const tokenOf = async (one: string): Promise<string> =>
    /name="token" value="([^"]+)"/.exec((await readPage(`${baseUrl}/pay?code=${one}`)).text)?.[1] ?? ''
  const post = async (form: Record<string, string>, headers: Record<string, string> = {}) => {
    const body = new URLSearchParams({ code, firstName: 'Ada', lastName: 'L', email: 'ada@example.org', ...form })
    const answer = await fetch(`${baseUrl}/pay?code=${code}`, { method: 'POST', body, headers, redirect: 'manual' })
    return { status: answer.status, location: answer.headers.get('location') ?? '' }
  }
  const saved = async () => (await world.boss.client.get(`confirm_conversion/payer-information/${code}`)).data
  const token = await tokenOf(code)
  const names = { firstName: ' Ada ', lastName: '\u00a0' }
  await world.boss.client.post('confirm_conversion/payer-information', { code: other, payerInformation: names })
  assert.deepEqual((await world.boss.client.get(`confirm_conversion/payer-information/${other}`)).data, {
    firstName: 'Ada',
  })
  for (const [form, headers] of [
    [{ token: 'x' }, {}],
    [{ token: await tokenOf(other) }, {}],
    [{ token }, { origin: 'https://evil.example' }],
    [{ token }, { 'sec-fetch-site': 'cross-site' }],
  ] as [Record<string, string>, Record<string, string>][]) {
    const { status, location } = await post(form, headers)
    assert.deepEqual([status, /problem=CROSS_SITE_REQUEST/.test(location)], [303, true])
  }
  assert.deepEqual(await saved(), {})
  for (const form of [
    ...['jean,dupont@c.fr', 'a@b.fr,c', 'a"b@c.fr', '<x@y.fr>'].map((email) => ({ email })),
    ...['\u00a0', '\u200b', '-'].map((firstName) => ({ firstName })),
  ]) {
    const { status, location } = await post({ token, ...form })
    assert.deepEqual([status, /typed=/.test(location)], [303, true], JSON.stringify(form))
    assert.deepEqual(await saved(), {}, JSON.stringify(form))
  }
  await world.boss.client.post(`confirm_conversion/email/${code}`, { email: 'known@example.org' })
  assert.equal((await post({ token })).status, 303)
  assert.deepEqual(await saved(), { firstName: 'Ada', lastName: 'L', email: 'known@example.org' })
  await post({ token, firstName: 'Eve', email: 'eve@example.org' })
  assert.deepEqual(
    await saved(),
    { firstName: 'Ada', lastName: 'L', email: 'known@example.org' },
    'nothing is missing any more',
  )
  await world.admin.call('PUT', path, { kycThreshold: '1000', identityThresholdAmount: '90000' })
})

test('e-mails of checks that nobody touched are forgotten when their time is over; decisions stay', async () => {
  const { id } = await world.ask(await world.createOrder('1500'), newPayer())
  const later = (days: number) => ({ db: world.host.db, clock: () => Date.now() + days * 86_400_000 })
  assert.equal(await eraseKycsOlderThan(later(29), 30), 0)
  assert.ok((await eraseKycsOlderThan(later(31), 30)) > 0)
  const { status, payer } = await world.read(id)
  assert.deepEqual([status, payer], ['pending', { email: null }])
})

test('the e-mail of a payer who comes back is kept for the whole time again', async () => {
  const { id, payer, code } = await makeApproved()
  await world.host.db.run(sql`
    update kyc_records set updated_at = updated_at - interval '40 days', email_sealed = null where id = ${id}`)
  assert.equal((await world.boss.client.post('kyc', { code })).status, 200)
  await eraseKycsOlderThan({ db: world.host.db, clock: Date.now }, 30)
  assert.deepEqual((await world.read(id)).payer, { email: payer })
})

test('without a provider that calls back there is no address for callbacks', async () => {
  assert.equal((await world.sendCallback('{}')).error.code, 'NOT_FOUND')
})

test('live mode believes no callback about people who were made for tests', async () => {
  const env = {
    ...{
      MODE: 'live',
      MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
      RATE_SOURCES: 'kraken',
      RATE_MIN_SOURCES: '1',
    },
    ...{ BASE_URL: 'https://a.example', PAY_URL: 'https://a.example', OFFICE_URL: 'https://a.example/app' },
    ...{ KYC_SUMSUB_BASE_URL: 'https://sumsub.example', KYC_SUMSUB_APP_TOKEN: 'prd:x' },
    ...{ KYC_SUMSUB_SECRET_KEY: 'k', KYC_SUMSUB_WEBHOOK_SECRET: 'w' },
  }
  const live = await startTestService({ env })
  const send = async (sandboxMode: boolean): Promise<number> => {
    const createdAtMs = new Date().toISOString().replace('T', ' ').replace('Z', '')
    const body = JSON.stringify({ applicantId: 'a', type: 'applicantReviewed', createdAtMs, sandboxMode })
    const digest = createHmac('sha256', 'w').update(body).digest('hex')
    const headers = {
      'content-type': 'application/json',
      'x-payload-digest-alg': 'HMAC_SHA256_HEX',
      'x-payload-digest': digest,
    }
    const url = `http://127.0.0.1:${live.config.port}/api/next/kyc/sumsub/callback`
    return (await fetch(url, { method: 'POST', headers, body })).status
  }
  assert.deepEqual([await send(true), await send(false)], [403, 200])
  await live.stop()
})
