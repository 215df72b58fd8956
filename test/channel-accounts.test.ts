import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, before, test } from 'node:test'
import { accountContext, openChannelAccounts, resealAccounts } from '../src/channels/accounts.ts'
import { sql } from '../src/db/db.ts'
import { newId } from '../src/kernel/ids.ts'
import { openVault } from '../src/kernel/vault.ts'
import { verifyLedger } from '../src/ledger/ledger-verify.ts'
import { type Client, logIn, registerManager } from './harness/accounts.ts'
import { type DeskView, type Market, type MarketInstructions, openMarket } from './harness/market.ts'
import { eventually, TEST_MASTER_KEY } from './harness/service.ts'
import { FINAL_AFTER, type OrderData } from './harness/shop.ts'

let market: Market
let manager: Client
let till: string

type Account = { channel: string; own: boolean; hints: Record<string, string>; callbackUrl: string }

before(async () => {
  // the operator has no account at Binance: only a company's own can make it appear
  market = await openMarket({ env: { CHANNEL_BINANCE_API_KEY: '', CHANNEL_BINANCE_API_SECRET: '' } })
  const person = await registerManager(market.host.baseUrl)
  manager = await logIn(market.host.baseUrl, person.email)
  const { data } = await manager.get<{ collectors: { identifier: string }[] }>('collectors/list')
  till = data.collectors[0]?.identifier ?? ''
})
after(() => market?.stop())

const own = (): Record<string, string> => {
  const { CHANNEL_BINANCE_API_KEY: key = '', CHANNEL_BINANCE_API_SECRET: secret = '' } = market.providers.credentials
  return { API_KEY: key, API_SECRET: secret }
}
const save = (settings: Record<string, string>, channel = 'binance') =>
  manager.call('PUT', `channel-accounts/${channel}`, { settings })
/** Secrets that Binance refuses. */
const saveRefused = () => save({ ...own(), API_SECRET: 'another-secret-0123456789' }, 'binance?force=true')
const accountOf = async (channel: string): Promise<Account | undefined> =>
  (await manager.get<Account[]>('channel-accounts')).data.find((one) => one.channel === channel)

test('a wrong setting is named, an address cannot be chosen, an unknown channel is 404', async () => {
  const missing = await save({ API_KEY: 'key' })
  assert.deepEqual([missing.status, missing.error.details?.[0]?.path], [422, 'settings.API_SECRET'])
  const elsewhere = await save({ ...own(), BASE_URL: 'http://169.254.169.254' })
  assert.deepEqual([elsewhere.status, elsewhere.error.details?.[0]?.path], [422, 'settings.BASE_URL'])
  for (const name of ['toString', 'constructor', '__proto__', 'hasOwnProperty']) {
    const odd = await save(JSON.parse(`{"${name}":"x"}`))
    // a body with __proto__ is refused before anything reads it
    const refusal = name === '__proto__' ? [400, 'MALFORMED_JSON'] : [422, 'VALIDATION_FAILED']
    assert.deepEqual([odd.status, odd.error?.code], refusal, name)
  }
  assert.equal((await save(own(), 'nobody')).status, 404)
  assert.equal((await accountOf('binance'))?.own, false)
})

test('a company’s own account is used for its orders, called back at its own address, and shown without secrets', async () => {
  const none = await market.accept((await market.create()).code, 'binance')
  assert.equal(none.error.code, 'CHANNEL_NOT_AVAILABLE')
  assert.equal((await save(own())).status, 200)
  const account = await accountOf('binance')
  assert.equal(account?.own, true)
  assert.ok(!JSON.stringify(account).includes(own().API_SECRET ?? '-'))
  const [row] = await market.host.db.many<{ sealed: string }>(sql`select sealed from channel_accounts`)
  assert.ok(row && !row.sealed.includes(own().API_SECRET ?? '-'), 'it is encrypted')

  const body = { amount: 50, fromAsset: 'EUR', merchantIdentifier: till }
  const { data } = await manager.post<{ order: OrderData }>('confirm_conversion/request', body)
  const accepted = await manager.post<MarketInstructions>(`confirm_conversion/accept/${data.order.code}`, {
    paymentChannel: 'binance',
  })
  assert.equal(accepted.data?.status, 'AWAITING', accepted.text)
  const [payment] = await market.paymentsOf(data.order._id)
  assert.equal((payment as DeskView & { callbackUrl: string }).callbackUrl, account?.callbackUrl)
  await market.act(payment?.reference ?? '', 'pay')
  await market.reaches(data.order.code, 'PAID')
  const delivered = (await market.callbacksOf('binance')).filter(({ acknowledged }) => acknowledged)
  assert.ok(delivered.length > 0, 'its callbacks are taken')
  const other = await market.accept((await market.create()).code, 'binance')
  assert.equal(other.error.code, 'CHANNEL_NOT_AVAILABLE', 'no other company pays through it')

  const held = async (): Promise<Record<string, string>> => {
    const rows = await market.host.db.many<{ account: string; units: string }>(sql`
      select e.account, sum(e.units) as units from ledger_entries e
      join ledger_journals j on j.company_id = e.company_id and j.id = e.journal_id
      where j.order_id = ${data.order._id} group by e.account having sum(e.units) <> 0`)
    return Object.fromEntries(rows.map((row) => [row.account, row.units]))
  }
  assert.deepEqual(await held(), { own_account: '54000000', company_payable: '-54000000' })
  await market.host.db.run(sql`
    update companies set settlement_address = '0x52908400098527886E0F7030069857D2E4169EE7',
      settlement_network = ${market.chain.chainId} where id = (select company_id from orders where id = ${data.order._id})`)
  const settled = await manager.post('settlements', {})
  assert.equal(settled.error?.code, 'OBJECT_CONFLICT')
  assert.match(settled.error.message, /less what it holds/, 'the company has that money already')
  assert.deepEqual((await manager.get('settlements')).data, [], 'nothing was reserved')
  assert.equal((await manager.post(`confirm_conversion/revert/${data.order.code}`, { amount: '14' })).status, 200)
  await market.reaches(data.order.code, 'REFUNDED')
  assert.deepEqual(await held(), { own_account: '40000000', company_payable: '-40000000' })
  assert.equal((await verifyLedger(market.host.db)).difference, null)
})

test('a live check says whether the provider takes the account, and changes nothing', async () => {
  const check = (channel: string) =>
    manager.post<{ outcome: string; reason: string | null }>(`channel-accounts/${channel}/check`)
  assert.deepEqual((await check('binance')).data, { outcome: 'accepted', reason: null })
  assert.equal((await saveRefused()).status, 200)
  const { data } = await check('binance')
  assert.equal(data.outcome, 'refused')
  assert.ok(data.reason && !data.reason.includes('another-secret'), data.reason ?? 'no reason')
  assert.equal((await check('gatepay')).status, 404, 'the operator’s account is not the company’s to check')
  await save(own())
})

test('a callback for another company’s account is refused, and one company’s never speaks for another', async () => {
  const callback = (await market.callbacksOf('binance')).at(-1)
  assert.ok(callback)
  const send = (url: string) => fetch(url, { method: 'POST', headers: callback.headers, body: callback.body })
  const { merchant, host } = market
  assert.equal((await send(`${host.baseUrl}/api/next/channels/binance/callback/${merchant.companyId}`)).status, 404)
  assert.equal((await send(`${host.baseUrl}/api/next/channels/binance/callback`)).status, 404)
})

type Offer = { paymentChannel: string; available: boolean; reason: string | null; reasonCode?: string; limit?: object }
type Rule = { channel: string; offered: boolean; minAmount: string | null; maxAmount: string | null; texts: unknown }

const rule = (channel: string, change: Record<string, unknown>) =>
  manager.call<Rule>('PUT', `channel-rules/${channel}`, change)
const order = async (amount: string, fromAsset = 'EUR'): Promise<OrderData> =>
  (
    await manager.post<{ order: OrderData }>('confirm_conversion/request', {
      amount,
      fromAsset,
      merchantIdentifier: till,
    })
  ).data.order
const offersFor = async (code: string): Promise<Offer[]> => (await manager.get<Offer[]>(`channels?code=${code}`)).data
const take = (code: string, paymentChannel: string, more = {}) =>
  manager.post(`confirm_conversion/accept/${code}`, { paymentChannel, ...more })
const payPage = async (code: string, lang: string): Promise<string> =>
  (await fetch(`${market.host.baseUrl}/pay?code=${code}&lang=${lang}`, { headers: { accept: 'text/html' } })).text()
/** Channels of the page's forms, top to bottom. */
const shown = (page: string): string[] =>
  [...page.matchAll(/name="paymentChannel" value="([\w-]+)"/g)].map(([, name = '']) => name)

/** What an open pay page is told, one state after the other. */
async function openPage(code: string) {
  const signal = AbortSignal.timeout(30_000)
  const answer = await fetch(`${market.host.baseUrl}/pay/events?code=${code}`, { signal })
  const reader = (answer.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  return {
    async next(): Promise<string> {
      while (!/^event: state.*?\n\n/ms.test(text)) text += (await reader.read()).value ?? assert.fail('it ended')
      const [state = ''] = /^event: state.*?\n\n/ms.exec(text) ?? []
      text = text.slice(text.indexOf(state) + state.length)
      return state
    },
    close: () => reader.cancel(),
  }
}

test('a shop sorts its channels and names them: the list and the pay page follow, in the payer’s language', async () => {
  const plain = shown(await payPage((await order('50')).code, 'en'))
  assert.deepEqual(plain.slice(0, 2), ['binance', 'whitepay'], 'our own order, where an own account changes nothing')
  const sorted = await manager.call<Rule[]>('PUT', 'channel-rules', { order: ['crypto', 'kucoinpay', 'gatepay'] })
  assert.deepEqual(
    sorted.data.map(({ channel }) => channel),
    ['crypto', 'kucoinpay', 'gatepay', 'binance', 'whitepay', 'whitepay-non-custody', 'cryptopay', 'coinbase'],
  )
  const texts = { de: { label: 'Eigene <b>Wallet</b>', hint: 'Ohne Gebühr' }, fr: { hint: 'Sans frais' } }
  assert.equal((await rule('crypto', { texts })).status, 200)
  const { code } = await order('50')
  assert.deepEqual((await offersFor(code)).map(({ paymentChannel }) => paymentChannel).slice(0, 3), [
    ...['crypto', 'kucoinpay', 'gatepay'],
  ])
  const german = await payPage(code, 'de')
  const groups = [
    ['crypto', 'whitepay-non-custody'],
    ['kucoinpay', 'gatepay', 'binance', 'whitepay', 'cryptopay'],
  ]
  assert.deepEqual(shown(german), [...groups.flat(), 'coinbase'], 'groups stay, the first one is the shop’s')
  assert.match(german, /<b>Eigene &lt;b&gt;Wallet&lt;\/b&gt;<\/b>/)
  assert.match(german, /Ohne Gebühr/)
  const french = await payPage(code, 'fr')
  assert.match(french, /Sans frais/)
  assert.doesNotMatch(french, /Eigene|Ohne Gebühr/)
  assert.doesNotMatch(await payPage(code, 'it'), /Eigene|Sans frais/)
  const { data } = await rule('crypto', { texts: { fr: null } })
  assert.deepEqual(data.texts, { de: texts.de }, 'the other language stays')
})

test('limits hide a channel from smaller and larger orders, in every currency, and accept refuses it', async () => {
  assert.equal((await rule('gatepay', { minAmount: '20', maxAmount: '100' })).data.maxAmount, '100.00')
  const cases = [
    ['19.99', 'EUR', 'shopLeast', '20.00'],
    ['20', 'EUR', null, ''],
    ['100', 'EUR', null, ''],
    ['100.01', 'EUR', 'shopMost', '100.00'],
    ['2000', 'XPF', 'shopLeast', '20.00'],
    ['6000', 'XPF', null, ''],
    ['12000', 'XPF', 'shopMost', '100.00'],
  ] as const
  for (const [amount, asset, fault, limit] of cases) {
    const { code } = await order(amount, asset)
    const offer = (await offersFor(code)).find(({ paymentChannel }) => paymentChannel === 'gatepay')
    assert.equal(offer?.available, fault === null, `${amount} ${asset}: ${offer?.reason}`)
    assert.equal(shown(await payPage(code, 'en')).includes('gatepay'), fault === null)
    if (fault === null) continue
    assert.match(`${offer?.reason}`, new RegExp(`^the shop takes no (less|more) than ${limit} EUR through it$`))
    assert.deepEqual([offer?.reasonCode, offer?.limit], [fault, { amount: limit, asset: 'EUR' }])
    const refused = await take(code, 'gatepay')
    assert.deepEqual([refused.status, refused.error.code], [400, 'CHANNEL_NOT_AVAILABLE'])
    assert.match(refused.error.message, /Choose another channel/)
  }
})

test('a channel that is turned off takes no new payment, also of a server; one that has begun goes on', async () => {
  const begun = await order('50')
  assert.equal((await take(begun.code, 'gatepay')).status, 200)
  const undecided = await order('50')
  const open = await openPage(undecided.code)
  assert.ok(shown(await open.next()).includes('gatepay'))
  assert.equal((await rule('gatepay', { offered: false })).status, 200)
  assert.deepEqual(shown(await open.next()).includes('gatepay'), false, 'a page that stays open learns of it')
  await open.close()
  assert.equal((await take(begun.code, 'gatepay')).status, 200, 'the same instructions again')
  const [payment] = await market.paymentsOf(begun._id)
  await market.act(payment?.reference ?? '', 'pay')
  await market.reaches(begun.code, 'PAID')
  const fresh = await order('50')
  const refused = await take(fresh.code, 'gatepay')
  assert.deepEqual([refused.status, refused.error.code], [400, 'CHANNEL_NOT_AVAILABLE'])
  // an attempt that is over is no way around
  assert.equal((await take(fresh.code, 'kucoinpay')).status, 200)
  assert.equal((await rule('kucoinpay', { offered: false })).status, 200)
  const [attempt] = await market.paymentsOf(fresh._id)
  await market.host.db.run(sql`update payments set status = 'closed' where order_id = ${fresh._id}`)
  assert.ok(attempt)
  assert.equal((await take(fresh.code, 'kucoinpay')).error?.code, 'CHANNEL_NOT_AVAILABLE')
  assert.deepEqual(shown(await payPage(fresh.code, 'en')).includes('kucoinpay'), false)
  await rule('kucoinpay', { offered: true })
  assert.equal((await take(fresh.code, 'kucoinpay')).status, 200, 'back on')
})

test('a rule that makes no sense is named, no text leads payers away, and every change is in the audit log', async () => {
  const address = '0x52908400098527886E0F7030069857D2E4169EE7'
  for (const [change, path] of [
    [{ minAmount: '200' }, 'minAmount'],
    [{ maxAmount: '19.99' }, 'maxAmount'],
    [{ minAmount: '0.00' }, 'minAmount'],
    [{ minAmount: '1.234' }, 'minAmount'],
    [{ texts: { de: { label: 'Geld an https://böse.example' } } }, 'texts.de.label'],
    [{ texts: { en: { hint: `or send it to ${address}` } } }, 'texts.en.hint'],
    [{ texts: { en: { label: 'x'.repeat(41) } } }, 'texts.en.label'],
  ] as const) {
    const wrong = await rule('gatepay', change)
    assert.deepEqual([wrong.status, wrong.error?.details?.[0]?.path], [422, path], JSON.stringify(change))
  }
  assert.equal((await rule('nobody', { offered: false })).status, 404)
  const unknown = await manager.call('PUT', 'channel-rules', { order: ['gatepay', 'toString'] })
  assert.deepEqual([unknown.status, unknown.error.details?.[0]?.path], [422, 'order.1'])
  // both changes of two people at once stay
  await Promise.all([rule('whitepay', { minAmount: '5' }), rule('whitepay', { maxAmount: '50' })])
  const { data } = await manager.get<Rule[]>('channel-rules')
  const both = data.find(({ channel }) => channel === 'whitepay')
  assert.deepEqual([both?.minAmount, both?.maxAmount], ['5.00', '50.00'])
  const stored = await market.host.db.many<{ detail: string }>(sql`
    select detail::text from audit_log where action = 'channel.rule_changed' order by seq`)
  const turnedOff = stored.filter(({ detail }) => /gatepay.*"offered\\*":true.*"offered\\*":false/.test(detail))
  assert.equal(turnedOff.length, 1, JSON.stringify(stored))
})

test('an account that cannot be opened takes no other channel away; one of an older master key is sealed again', async () => {
  const { db, vault } = market.host
  const [row] = await db.many<{ companyId: string; sealed: string }>(
    sql`select company_id, sealed from channel_accounts`,
  )
  assert.ok(row)
  const older = openVault(Buffer.alloc(32, 9))
  const context = accountContext(row.companyId, 'binance')
  const plain = vault.open(row.sealed, context)
  await db.run(
    sql`update channel_accounts set sealed = ${older.seal(plain, context)}, updated_at = updated_at + interval '1 s'`,
  )
  const offers = () => manager.get<{ paymentChannel: string }[]>('channels')
  const gone = await eventually(offers, ({ data }) => !data.some(({ paymentChannel }) => paymentChannel === 'binance'))
  assert.ok(gone.data.some(({ paymentChannel }) => paymentChannel === 'gatepay'))
  const rotated = openVault(TEST_MASTER_KEY, [Buffer.alloc(32, 9)])
  assert.equal(await resealAccounts({ db, vault: rotated }), 1)
  assert.equal(await resealAccounts({ db, vault: rotated }), 0)
  const [after] = await db.many<{ sealed: string }>(sql`select sealed from channel_accounts`)
  assert.equal(vault.open(after?.sealed ?? '', context), plain)
})

test('a provider that refuses our credentials says nothing of a payment: 502, and nothing changes', async () => {
  assert.equal((await save(own())).status, 200)
  const body = { amount: 50, fromAsset: 'EUR', merchantIdentifier: till }
  const { data } = await manager.post<{ order: OrderData }>('confirm_conversion/request', body)
  const { code } = data.order
  const accepted = await manager.post(`confirm_conversion/accept/${code}`, { paymentChannel: 'binance' })
  assert.equal(accepted.status, 200, accepted.text)
  assert.equal((await saveRefused()).status, 200)
  // as where Binance has revoked the key since
  await market.host.db.run(sql`
    update channel_accounts set account_marks = account_marks
      || (select account_mark from payments where order_id = ${data.order._id})`)
  const confirmed = await manager.post(`confirm_conversion/confirm/${code}`)
  assert.deepEqual([confirmed.status, confirmed.error.code], [502, 'CHANNEL_UNAVAILABLE'], confirmed.text)
  // the key that callbacks are verified with cannot be had either: it comes again
  const headers = { timestamp: String(Date.now()), nonce: 'n'.repeat(32), 'certificate-sn': 'sn', signature: 'AAAA' }
  const named = Object.entries(headers).map(([name, value]) => [`binancepay-${name}`, value])
  const url = (await accountOf('binance'))?.callbackUrl ?? ''
  const told = await fetch(url, { method: 'POST', headers: Object.fromEntries(named), body: '{}' })
  assert.equal(told.status, 502, await told.text())
  assert.equal((await market.order(code)).status, 'AWAITING')
})

test('a company’s account is removed while a payment needs it only if a person says so; then it is no longer offered', async () => {
  const refused = await manager.call('DELETE', 'channel-accounts/binance')
  assert.deepEqual([refused.status, refused.error.code], [409, 'ACCOUNT_IN_USE'], refused.text)
  assert.match(refused.error.message, /\(open payments: 1, unfinished refunds: 0\).* Wait until .* send force=true/)
  assert.equal((await accountOf('binance'))?.own, true)
  assert.equal((await manager.call('DELETE', 'channel-accounts/binance?force=true')).status, 200)
  const [logged] = await market.host.db.many<{ detail: string }>(sql`
    select detail from audit_log where action = 'channel.account_removed' order by seq`)
  const { before, ...facts } = JSON.parse(logged?.detail ?? '')
  assert.match(before, /^API_KEY ….{4}, API_SECRET ….{4}$/)
  const counts = { movedOrders: 0, forced: true, openPayments: 1, unfinishedRefunds: 0 }
  assert.deepEqual(facts, { channel: 'binance', after: null, ...counts })
  assert.equal((await manager.call('DELETE', 'channel-accounts/binance')).status, 404)
  const offers = () => manager.get<{ paymentChannel: string }[]>('channels')
  const { data } = await eventually(offers, (answer) => answer.status === 200)
  assert.ok(!data.some(({ paymentChannel }) => paymentChannel === 'binance'))
})

test('callbacks name whatever company they like: of those with nothing of their own a bounded number is kept', async () => {
  const { db, vault } = market.host
  const { companyId = '' } = (await registerManager(market.host.baseUrl)) as { companyId: string }
  let now = 1
  const clock = (): number => now
  const channels = openChannelAccounts({
    ...{ db, vault, clock, live: false, provider: {}, wallet: undefined, mostPlain: 10 },
    ...{ onFault: assert.fail, isChainRead: assert.fail, supervision: { clock, sink: () => {}, count: () => {} } },
  })
  const isPlain = async (): Promise<boolean> => (await channels.of(companyId)) === channels.operator
  assert.equal(await isPlain(), true)
  await db.run(sql`
    insert into channel_rules (company_id, channel, offered, updated_at) values (${companyId}, 'gatepay', false, now())`)
  assert.equal(await isPlain(), true, 'kept for some seconds')
  for (let count = 0; count < 10; count += 1) await channels.of(newId())
  assert.equal(await isPlain(), false, 'ten others took its place')
  for (let count = 0; count < 20; count += 1) await channels.of(newId())
  await db.run(sql`delete from channel_rules where company_id = ${companyId}`)
  assert.equal(await isPlain(), false, 'what is of a company itself stays')
  now = 0
  assert.equal(await isPlain(), true, 'the clock was set back')
  await channels.close()
})

/** A company's own account at a provider that signs callbacks with a secret which the company knows. */
async function openForger() {
  const person = await registerManager(market.host.baseUrl)
  const client = await logIn(market.host.baseUrl, person.email)
  const { data } = await client.get<{ collectors: { identifier: string }[] }>('collectors/list')
  const { CHANNEL_GATEPAY_CLIENT_ID: CLIENT_ID = '', CHANNEL_GATEPAY_SECRET = '' } = market.providers.credentials
  const { CHANNEL_CRYPTOPAY_SECRET_KEY: SECRET_KEY = '' } = market.providers.credentials
  const known = 'known-to-the-forger-0123456789'
  const keep = (channel: string, settings: Record<string, string>) =>
    client.call('PUT', `channel-accounts/${channel}`, { settings })
  assert.equal((await keep('gatepay', { CLIENT_ID, SECRET: CHANNEL_GATEPAY_SECRET })).status, 200)
  assert.equal((await keep('cryptopay', { SECRET_KEY, WEBHOOK_SECRET: known })).status, 200)
  const seconds = String(Math.floor(Date.now() / 1000))
  const hmac = (algorithm: string, secret: string, text: string) =>
    createHmac(algorithm, secret).update(text).digest('hex')
  const signed = {
    gatepay: (body: string) => ({
      ...{ 'x-gatepay-timestamp': `${seconds}000`, 'x-gatepay-nonce': 'n' },
      'x-gatepay-signature': hmac('sha512', known, `${seconds}000\nn\n${body}\n`),
    }),
    cryptopay: (body: string) => ({
      'pay-signature': `t=${seconds},v1=${hmac('sha256', known, `${seconds}.${body}`)}`,
    }),
  }
  return {
    keep,
    remove: (channel: string) => client.call('DELETE', `channel-accounts/${channel}`),
    /** From now on the imitation takes no call of this account: it is another one than the operator’s. */
    part: () => keep('gatepay', { CLIENT_ID, SECRET: known }),
    async order(): Promise<OrderData> {
      const body = { amount: 50, fromAsset: 'EUR', merchantIdentifier: data.collectors[0]?.identifier }
      return (await client.post<{ order: OrderData }>('confirm_conversion/request', body)).data.order
    },
    accept: (code: string, paymentChannel: string) =>
      client.post<MarketInstructions>(`confirm_conversion/accept/${code}`, { paymentChannel }),
    async sign(channel: 'gatepay' | 'cryptopay', content: object): Promise<number> {
      const body = JSON.stringify(content)
      const url = `${market.host.baseUrl}/api/next/channels/${channel}/callback/${person.companyId}`
      const headers = { 'content-type': 'application/json', ...signed[channel](body) }
      return (await fetch(url, { method: 'POST', headers, body })).status
    },
  }
}

test('with its own keys a company signs what it likes about its own payments, and about no other company’s', async () => {
  const forger = await openForger()
  const victim = await market.createAwaiting('gatepay')
  const mine = await forger.order()
  assert.equal((await forger.accept(mine.code, 'gatepay')).status, 200)
  const [own] = await market.paymentsOf(mine._id)
  assert.equal((await forger.part()).status, 200)
  const block = (prepayId: string, merchantTradeNo?: string) =>
    forger.sign('gatepay', {
      bizType: 'PAY',
      bizId: prepayId,
      bizStatus: 'PAY_BLOCK',
      data: { merchantTradeNo, prepayId },
    })
  assert.equal(await block(victim.reference, own?.merchantReference), 200)
  assert.equal(await block(victim.reference), 200)
  assert.equal((await market.order(victim.order.code)).status, 'AWAITING', 'a payer of another shop pays on')
  assert.equal((await market.order(mine.code)).status, 'AWAITING', 'its two names are of two orders')
  assert.equal(await block(own?.reference ?? '', own?.merchantReference), 200)
  assert.equal((await market.order(mine.code)).status, 'KYT_FAILED')
  await market.act(victim.reference, 'pay')
  await market.reaches(victim.order.code, 'PAID')
})

test('callbacks that name ever new payments of one order make a bounded number of them; the same one fifty times makes one', async () => {
  const forger = await openForger()
  const orders: { id: string; say(prepayId: string): Promise<number> }[] = []
  for (const _ of [1, 2, 3]) {
    const { _id: id, code } = await forger.order()
    assert.equal((await forger.accept(code, 'gatepay')).status, 200)
    const [own] = await market.paymentsOf(id)
    const data = { merchantTradeNo: own?.merchantReference }
    const say = (prepayId: string) =>
      forger.sign('gatepay', { bizType: 'PAY', bizId: '1', bizStatus: 'PAY_SUCCESS', data: { ...data, prepayId } })
    orders.push({ id, say })
  }
  assert.equal((await forger.part()).status, 200)
  const count = async (id: string): Promise<number> => {
    const { db } = market.host
    return (await db.one<{ total: number }>(sql`select count(*)::int as total from payments where order_id = ${id}`))
      .total
  }
  const [one, other, third] = orders
  assert.ok(one && other && third)
  const same = await Promise.all(Array.from({ length: 50 }, () => one.say('7001')))
  assert.deepEqual([[...new Set(same)], await count(one.id)], [[200], 2])
  assert.deepEqual([await one.say('7'.repeat(3000)), await count(one.id)], [200, 2])
  for (let index = 2; index <= 10; index += 1) assert.equal(await one.say(`700${index}`), 200)
  assert.deepEqual([await one.say('7999'), await one.say('7001'), await count(one.id)], [429, 200, 11])
  const logged = market.host.logLines.filter((line) => line.includes('names a further payment'))
  assert.ok(logged.some((line) => line.includes('7999') && line.includes(one.id)))
  assert.equal(await other.say('8001'), 200)
  await market.host.db.run(sql`update rate_counters set used = 100 where key like 'second-payments:%'`)
  assert.deepEqual([await third.say('9001'), await count(third.id)], [429, 1])
})

test('a company that gives its own payment another’s id at the provider does not take that one’s callbacks', async () => {
  const forger = await openForger()
  await market.tell('refund-pending', { provider: 'cryptopay' })
  const victim = await market.createAwaiting('cryptopay')
  await market.act(victim.reference, 'pay')
  await market.reaches(victim.order.code, 'PAID')
  const revert = await market.host.call('POST', `revert/${victim.order.code}`, { as: market.merchant })
  assert.equal(revert.status, 200)
  const sent = () => market.paymentsOf(victim.order._id)
  await eventually(sent, (payments) => payments.some(({ refunds }) => refunds.length > 0), 30_000)
  const mine = await forger.order()
  assert.equal((await forger.accept(mine.code, 'gatepay')).status, 200)
  await market.tell('outage', { provider: 'cryptopay', seconds: 1 })
  await forger.accept(mine.code, 'cryptopay')
  const { reference } = await market.host.db.one<{ reference: string }>(sql`
    select merchant_reference as reference from payments
    where order_id = ${mine._id} and channel = 'cryptopay' and provider_reference is null`)
  const object = { id: victim.reference, order_id: reference, status: 'pending', live_mode: false }
  assert.equal(await forger.sign('cryptopay', { object_type: 'event', type: 'payment.created', data: { object } }), 200)
  await market.act(victim.reference, 'refund-settle')
  await market.reaches(victim.order.code, 'FULL_REFUNDED')
})

test('what is bought through a company’s own Coinbase account comes to our wallet, also once that account is removed', async () => {
  const forger = await openForger()
  const { CHANNEL_COINBASE_KEY_ID: KEY_ID = '', CHANNEL_COINBASE_KEY_SECRET: KEY_SECRET = '' } =
    market.providers.credentials
  assert.equal((await forger.keep('coinbase', { KEY_ID, KEY_SECRET, WEBHOOK_SECRET: 'own' })).status, 200)
  const { _id, code } = await forger.order()
  const { data } = await forger.accept(code, 'coinbase')
  assert.ok(typeof data.toAddress === 'string')
  const { own } = await market.host.db.one<{ own: boolean }>(
    sql`select own_account as own from payments where order_id = ${_id}`,
  )
  assert.equal(own, true)
  assert.equal((await forger.remove('coinbase')).status, 200)
  await market.chain.pay({ to: data.toAddress, units: 54_000_000n })
  await market.chain.mine(FINAL_AFTER)
  await market.reaches(code, 'PAID')
})
