import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { newId } from '../src/kernel/ids.ts'
import { LANGS } from '../src/kernel/lang.ts'
import { TEXTS } from '../src/texts/languages.ts'
import { registerManager } from './harness/accounts.ts'
import { type Merchant, startTestService, type TestService } from './harness/service.ts'

let host: TestService
let shop: Merchant
let visitors = 0

before(async () => {
  // an address makes 4 orders a minute, a link 40
  host = await startTestService({ env: { LIMIT_LINK_PER_MINUTE: '4', TRUST_PROXY: '127.0.0.1' } })
  shop = await host.createMerchant()
})
after(() => host?.stop())

type Link = { _id: string; code: string; url: string; posterUrl: string; orders: number; paid: number } & Record<
  string,
  unknown
>

const send = (body: Record<string, unknown>) =>
  host.call<Link | null>('POST', '/api/next/static-links', {
    as: shop,
    body: { name: 'Table 4', merchantIdentifier: shop.merchantIdentifier, currency: 'EUR', ...body },
  })
const change = (id: string, body: Record<string, unknown>) =>
  host.call<Link>('PUT', `/api/next/static-links/${id}`, { as: shop, body })
const read = async (id: string) => (await host.call<Link>('GET', `/api/next/static-links/${id}`, { as: shop })).data

async function makeLink(body: Record<string, unknown> = {}): Promise<Link> {
  const { data, text } = await send(body)
  if (!data) throw new Error(text)
  return data
}

/** A phone of its own. */
const newVisitor = () => {
  visitors += 1
  return { 'x-forwarded-for': `198.51.100.${visitors}` }
}

async function open(link: Link, headers: Record<string, string> = newVisitor()) {
  const answer = await fetch(link.url, { headers })
  const text = await answer.text()
  return { status: answer.status, text, headers: answer.headers, nonce: /name="nonce" value="([^"]+)"/.exec(text)?.[1] }
}

/** What the form of the page sends. @returns the order's code where it leads to one */
async function submit(link: Link, fields: Record<string, string>, headers: Record<string, string> = newVisitor()) {
  const body = new URLSearchParams(fields)
  const answer = await fetch(link.url, { method: 'POST', body, headers, redirect: 'manual' })
  const code = new URL(answer.headers.get('location') ?? '/', host.baseUrl).searchParams.get('code')
  return { status: answer.status, code, text: await answer.text() }
}

async function visit(link: Link, amount?: string) {
  const headers = newVisitor()
  const { nonce = '' } = await open(link, headers)
  return submit(link, { nonce, ...(amount === undefined ? {} : { amount }) }, headers)
}

const orderOf = async (code: string | null) =>
  (await host.call<Record<string, unknown>>('GET', `status/${code}`, { as: shop })).data
const countOrders = async (): Promise<number> =>
  (await host.db.one<{ count: number }>(sql`select count(*)::int as count from orders`)).count

test('each visit makes an order of its own at the till of the link; looking at it makes none', async () => {
  const link = await makeLink({
    amount: '12.50',
    webhookUrl: 'https://shop.example/hook',
    returnUrl: 'https://shop.example/ok',
  })
  const before = await countOrders()
  const page = await open(link)
  assert.equal(page.status, 200)
  assert.match(page.text, /€12\.50.*Table 4/)
  await fetch(link.url, { method: 'HEAD' })
  assert.equal(await countOrders(), before, 'previews and scanners of mails make nothing')
  const visits = [await visit(link), await visit(link)]
  assert.deepEqual(
    visits.map(({ status }) => status),
    [303, 303],
  )
  assert.equal(new Set(visits.map(({ code }) => code)).size, 2)
  const order = await orderOf(visits[0]?.code ?? null)
  const { fromAmount, fromAsset, status, merchantIdentifier, goods, returnUrl, cancelUrl, webhookUrl, alias } = order
  assert.deepEqual(
    { fromAmount, fromAsset, status, merchantIdentifier, goods, returnUrl, cancelUrl, webhookUrl, alias },
    {
      ...{ fromAmount: '12.50', fromAsset: 'EUR', status: 'INITIAL', merchantIdentifier: 'TILL-1', alias: null },
      ...{ goods: { goodsName: 'Table 4' }, returnUrl: 'https://shop.example/ok', cancelUrl: link.url },
      webhookUrl: 'https://shop.example/hook',
    },
  )
})

test('a second tap, also at the same moment, leads to the same order', async () => {
  const link = await makeLink({ amount: '3.00' })
  const headers = newVisitor()
  const { nonce = '' } = await open(link, headers)
  const before = await countOrders()
  const taps = await Promise.all([submit(link, { nonce }, headers), submit(link, { nonce }, headers)])
  taps.push(await submit(link, { nonce }, headers))
  assert.deepEqual(
    taps.map(({ status }) => status),
    [303, 303, 303],
  )
  assert.equal(new Set(taps.map(({ code }) => code)).size, 1)
  assert.equal(await countOrders(), before + 1)
})

test('the payer types the amount within the limits, as people type it, and reads what is wrong in his language', async () => {
  const link = await makeLink({ name: 'Donation', minAmount: '2.00', maxAmount: '500' })
  for (const [typed, amount] of [
    ...[
      ['12,5', '12.50'],
      ['12.50', '12.50'],
      [' 7 € ', '7.00'],
      ['2', '2.00'],
      ['500.00', '500.00'],
    ],
    ...[
      ['EUR 20', '20.00'],
      ['$50', null],
      ['50 chf', null],
      ['1.5e1', null],
      ['1.99', null],
      ['500.01', null],
      ['12.345', null],
      ['', null],
    ],
    ...[
      ['1,000', null],
      ['2.000', null],
      ['12,500', null],
      ['1.234,50', null],
      ['-5', null],
      ['0x10', null],
      ['٥', null],
      ['9'.repeat(90), null],
    ],
  ] as [string, string | null][]) {
    const { status, code, text } = await visit(link, typed)
    if (amount !== null) assert.equal((await orderOf(code)).fromAmount, amount, typed)
    else assert.equal(status, 422, `${typed} ${text}`)
  }
  for (const lang of LANGS) {
    const { locale, order } = TEXTS[lang]
    const least = new Intl.NumberFormat(locale, { style: 'currency', currency: 'EUR' }).format(2)
    const { text } = await submit({ ...link, url: `${link.url}?lang=${lang}` }, { nonce: 'a'.repeat(22), amount: '1' })
    assert.ok(text.includes(order.link.faults.low(least)), `${lang} ${text}`)
    assert.match(text, /aria-invalid="true"/)
    assert.match(text, /value="1"/)
  }
})

test('blanks and apostrophes group thousands or the amount is refused: francs and centimes apart are no hundredfold', async () => {
  const link = await makeLink({ currency: 'CHF', minAmount: '1.00', maxAmount: '50000.00' })
  for (const [typed, amount] of [
    ...[
      ['12 50', null],
      ['12 5', null],
      ['1 2', null],
      ['12\u201950', null],
      ["12'50", null],
      ['12 CHF 50', null],
      ['1 234\u2019567', null],
      ['0 500', null],
      ['1 2345', null],
      ['1 000 50', null],
    ],
    ...[
      ['1 250', '1250.00'],
      ['1\u00a0250,50', '1250.50'],
      ['1\u202f250.5', '1250.50'],
      ['12\u2019500', '12500.00'],
      ["12'500.00", '12500.00'],
      ['CHF 1 250', '1250.00'],
      [' 12.50\u00a0CHF ', '12.50'],
      ['12.-', '12.00'],
      ['12.\u2013', '12.00'],
      ["Fr. 1'200.\u2014", '1200.00'],
      ['Fr. 12.50', '12.50'],
      ['12.50 Fr', '12.50'],
      ['SFr. 12.50', '12.50'],
    ],
    ...[
      ['12-', null],
      ['12.5-', null],
      ['12.--', null],
      ['. 12.50', null],
      ['-12', null],
    ],
  ] as [string, string | null][]) {
    const { status, code, text } = await visit(link, typed)
    if (amount !== null) assert.equal((await orderOf(code)).fromAmount, amount, typed)
    else assert.equal(status, 422, `${typed} ${text}`)
  }
})

test('the example of an amount that cannot be read is accepted as it stands, and so is the currency’s own sign', async () => {
  const links = await Promise.all([
    makeLink(),
    makeLink({ minAmount: '2000.00', maxAmount: '3000.00' }),
    makeLink({ maxAmount: '5.00' }),
    makeLink({ currency: 'XPF', minAmount: '1000', maxAmount: '5000' }),
    makeLink({ currency: 'USD' }),
  ])
  for (const link of links)
    for (const lang of LANGS) {
      const inLang = { ...link, url: `${link.url}?lang=${lang}` }
      const { text } = await visit(inLang, 'abc')
      const fault = /id="fault" role="alert">([^<]*)</.exec(text)?.[1] ?? ''
      const [before = '', after = ''] = TEXTS[lang].order.link.faults.wrong('|').split('|')
      const example = fault.slice(before.length, fault.length - after.length)
      assert.match(example, /\d/, fault)
      const again = await visit(inLang, example)
      assert.equal(again.status, 303, `${lang} ${example} ${again.text}`)
    }
})

test('an amount without decimals stays without, and a link without limits takes what the company takes', async () => {
  const francs = await makeLink({ currency: 'XPF' })
  assert.equal((await orderOf((await visit(francs, '1500')).code)).fromAmount, '1500')
  assert.equal((await visit(francs, '15.5')).status, 422)
  const open = await makeLink()
  assert.equal((await visit(open, '100000')).status, 303)
  assert.equal((await visit(open, '100000.01')).status, 422)
})

test('what the payer typed stays in another language, and where the shop cannot take it now', async () => {
  const link = await makeLink()
  const amountIn = (text: string) => /id="amount" name="amount" value="([^"]*)"/.exec(text)?.[1]
  const { text } = await open(link)
  assert.match(text, /<form id="pay" method="post"/)
  const button = 'form="pay" formaction="[^"?]+" formmethod="get" formnovalidate name="lang"\\s+value="de"'
  assert.match(text, new RegExp(button))
  const inGerman = await fetch(
    `${link.url}?${new URLSearchParams({ nonce: 'of the form', amount: '37,50', lang: 'de' })}`,
  )
  assert.deepEqual([inGerman.headers.get('content-language'), amountIn(await inGerman.text())], ['de', '37,50'])
  const hostile = await (await fetch(`${link.url}?amount=${encodeURIComponent('"><script>')}`)).text()
  assert.equal(amountIn(hostile), '&quot;&gt;&lt;script&gt;')
  const { nonce = '' } = await open(link)
  const refused = await submit(link, { nonce, amount: '37.50' }, { origin: 'https://evil.example' })
  assert.deepEqual([refused.status, amountIn(refused.text)], [403, '37.50'])
})

test('after the company’s maximum was lowered, a link offers no more than that, and one that asks for more is closed', async () => {
  const strict = await host.createMerchant()
  const move = async (link: Link): Promise<Link> => {
    await host.db.run(sql`
      update static_links set company_id = ${strict.companyId}, collector_id = ${strict.collectorId}
      where id = ${link._id}`)
    return link
  }
  const typed = await move(await makeLink({ minAmount: '1.00', maxAmount: '500.00' }))
  const fixed = await move(await makeLink({ amount: '50.00' }))
  const { faults, between } = TEXTS.en.order.link
  const { nonce = '', text } = await open(typed)
  assert.ok(text.includes(between('€1.00', '€500.00')))
  assert.equal((await open(fixed)).status, 200)
  await host.db.run(
    sql`update companies set max_order_amount = 20, version = version + 1 where id = ${strict.companyId}`,
  )
  const above = await submit(typed, { nonce, amount: '300' })
  assert.equal(above.status, 422, 'also when the page was rendered before the limit changed')
  assert.ok(above.text.includes(faults.high('€20.00')), above.text)
  assert.ok((await open(typed)).text.includes(between('€1.00', '€20.00')))
  assert.equal((await visit(typed, '20')).status, 303)
  assert.equal((await open(fixed)).status, 410)
  assert.equal((await submit(fixed, { nonce })).status, 410)
})

test('only our own page makes orders, and only so many a minute for an address and for a link', async () => {
  const link = await makeLink({ amount: '1.00' })
  const before = await countOrders()
  const nonce = () => `${Math.random()}`.slice(2, 8).padEnd(22, 'n')
  for (const headers of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }, { origin: 'null' }]) {
    assert.equal((await submit(link, { nonce: nonce() }, headers)).status, 403)
  }
  assert.equal((await submit(link, { nonce: 'short' })).status, 404)
  assert.equal(await countOrders(), before)
  const headers = newVisitor()
  const statuses = []
  for (let count = 0; count < 6; count += 1) statuses.push((await submit(link, { nonce: nonce() }, headers)).status)
  assert.deepEqual(statuses, [303, 303, 303, 303, 429, 429])
  const crowd = await Promise.all(Array.from({ length: 45 }, () => submit(link, { nonce: nonce() })))
  assert.equal(crowd.filter(({ status }) => status === 303).length, 36, 'the link as a whole has its own limit')
  const busy = crowd.find(({ status }) => status === 429)
  assert.match(busy?.text ?? '', /One moment, please/)
})

test('orders of a buy button count with those of links: one visitor cannot flood a shop with either', async () => {
  const { client } = await registerManager(host.baseUrl)
  const site = { name: 'Tea', websiteUrl: 'https://tea.example', price: '5', currency: 'EUR' }
  const button = await client.post<{ _id: string }>('buy-buttons', site)
  const headers = { origin: host.baseUrl, ...newVisitor() }
  const press = (orderRef: string, from = headers) =>
    fetch(`${host.baseUrl}/buy-button/landing?id=${button.data._id}&orderRef=${orderRef}`, {
      method: 'POST',
      headers: from,
    })
  const before = await countOrders()
  const statuses = []
  for (let count = 0; count < 6; count += 1) statuses.push((await press(`FLOOD-${count}`)).status)
  assert.deepEqual(statuses, [200, 200, 200, 200, 429, 429])
  assert.equal(await countOrders(), before + 4)
  const crowd = await Promise.all(
    Array.from({ length: 45 }, (_, number) => press(`CROWD-${number}`, { ...headers, ...newVisitor() })),
  )
  assert.equal(crowd.filter(({ status }) => status === 200).length, 36, 'the button as a whole has its own limit')
})

test('a link that was turned off, or whose till is closed, says so and makes nothing', async () => {
  const link = await makeLink({ amount: '5.00' })
  await change(link._id, { active: false })
  const closed = await open(link)
  assert.equal(closed.status, 410)
  assert.match(closed.text, /This link is closed.*Test &amp; Söhne no longer takes payments here/)
  assert.equal((await submit(link, { nonce: 'b'.repeat(22) })).status, 410)
  await change(link._id, { active: true })
  await host.db.run(sql`update collectors set active = false where id = ${shop.collectorId}`)
  await host.db.run(sql`update companies set version = version + 1 where id = ${shop.companyId}`)
  assert.equal((await submit(link, { nonce: 'c'.repeat(22) })).status, 410)
  await host.db.run(sql`update collectors set active = true where id = ${shop.collectorId}`)
  assert.equal((await fetch(`${host.baseUrl}/link/nothing`, { headers: { accept: 'text/html' } })).status, 404)
})

test('what was changed holds for the next visit, not for the orders that exist; the link counts what it brought', async () => {
  const link = await makeLink({ amount: '4.00' })
  const { code } = await visit(link)
  assert.equal((await change(link._id, { amount: '6.00', name: 'Table 5' })).status, 200)
  assert.equal((await orderOf((await visit(link)).code)).fromAmount, '6.00')
  assert.equal((await orderOf(code)).fromAmount, '4.00')
  await host.db.run(sql`update orders set paid_at = now(), paid_units = to_units where code = ${code}`)
  const { orders, paid, paidAmount } = await read(link._id)
  assert.deepEqual({ orders, paid, paidAmount }, { orders: 2, paid: 1, paidAmount: '4.00' })
  const typed = await change(link._id, { amount: null, minAmount: '1.00' })
  assert.deepEqual([typed.data.amount, typed.data.minAmount], [null, '1.00'])
})

test('a link counts of a price what was paid of it, and nothing that came above', async () => {
  const link = await makeLink({ amount: '50.00' })
  /** Shares of the price: what came, and how much of that a record calls too much. */
  const pay = async (came: number, above: number): Promise<void> => {
    const { code } = await visit(link)
    await host.db.run(sql`
      update orders set paid_at = now(), payment_id = id, paid_units = to_units * ${came}::numeric where code = ${code}`)
    await host.db.run(sql`
      insert into mispayments (company_id, id, order_id, payment_id, kind, asset, units, source_reference, created_at,
        updated_at)
      select company_id, id, id, id, 'over', 'USDC', to_units * ${above}::numeric, id, now(), now()
      from orders where code = ${code} and ${above}::numeric > 0`)
  }
  for (const [came, above, counted] of [
    [0.5, 0, '25.00'],
    [2, 1, '75.00'],
    // half of the price was accepted, and as much came later
    [1, 0.5, '100.00'],
  ] as const) {
    await pay(came, above)
    assert.equal((await read(link._id)).paidAmount, counted)
  }
})

test('a link that cannot work is refused with the field and what to do', async () => {
  for (const [body, path] of [
    [{ amount: '0.05' }, 'amount'],
    [{ amount: '5.00', minAmount: '1.00' }, 'amount'],
    [{ minAmount: '5.00', maxAmount: '4.99' }, 'maxAmount'],
    [{ maxAmount: '100000.01' }, 'maxAmount'],
    [{ amount: '11933702', currency: 'XPF' }, 'amount'],
    [{ amount: '5.5', currency: 'XPF' }, 'amount'],
    [{ currency: 'USDC' }, 'currency'],
    [{ returnUrl: 'javascript:alert(1)' }, 'returnUrl'],
    [{ webhookUrl: 'http://169.254.169.254/' }, 'webhookUrl'],
    [{ name: '' }, 'name'],
    [{ name: '\u00a0' }, 'name'],
  ] as const) {
    const { status, error } = await send(body)
    assert.deepEqual([status, error?.details?.[0]?.path], [422, path], JSON.stringify(body))
  }
  assert.equal((await send({ merchantIdentifier: 'NONE' })).error.code, 'UNKNOWN_MERCHANT_IDENTIFIER')
})

test('a link that a later rule forbids can be turned off and renamed, but not changed to break the rule', async () => {
  const strict = await host.createMerchant()
  await host.db.run(sql`update companies set max_order_amount = 20 where id = ${strict.companyId}`)
  // of the time before these rules
  const { _id } = await makeLink({ amount: '50.00' })
  const webhookUrl = 'http://169.254.169.254/'
  await host.db.run(sql`
    update static_links set company_id = ${strict.companyId}, collector_id = ${strict.collectorId},
      webhook_url = ${webhookUrl} where id = ${_id}`)
  const put = (body: Record<string, unknown>) =>
    host.call<Link | null>('PUT', `/api/next/static-links/${_id}`, { as: strict, body })
  const faultOf = async (body: Record<string, unknown>) => (await put(body)).error?.details?.[0]?.path
  assert.equal(await faultOf({ amount: '50.01' }), 'amount')
  assert.equal(await faultOf({ webhookUrl: 'http://169.254.169.254/other' }), 'webhookUrl')
  const off = await put({ active: false })
  assert.deepEqual([off.status, off.data?.active, off.data?.amount], [200, false, '50.00'], off.text)
  // the office sends what its form holds
  const renamed = await put({ name: 'Old', amount: '50.00', minAmount: null, maxAmount: null, webhookUrl })
  assert.deepEqual([renamed.status, renamed.data?.name, renamed.data?.active], [200, 'Old', false], renamed.text)
  assert.equal(await faultOf({ name: ' ' }), 'name')
  assert.equal(await faultOf({ active: true }), 'amount', 'it could not work')
})

test('what a merchant writes is text on page and poster; no page may frame them, and the poster carries the address', async () => {
  const link = await makeLink({ name: '<img src=x onerror=alert(1)>"', amount: '5.00' })
  const page = await open(link)
  const poster = await fetch(link.posterUrl)
  for (const [text, headers] of [
    [page.text, page.headers],
    [await poster.text(), poster.headers],
  ] as const) {
    assert.ok(!text.includes('<img'))
    assert.ok(text.includes('&lt;img src=x onerror=alert(1)&gt;&quot;'))
    assert.match(headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/)
    assert.doesNotMatch(headers.get('content-security-policy') ?? '', /unsafe/)
  }
  const { text } = await fetch(link.posterUrl).then(async (answer) => ({ text: await answer.text() }))
  assert.ok(text.includes(`${link.url}</p>`))
})

test('a browser that comes back is led to the payment that it began before it can start another one', async () => {
  const link = await makeLink({ amount: '12.50' })
  const headers = newVisitor()
  const { nonce = '', text: first } = await open(link, headers)
  assert.doesNotMatch(first, /id="last"/)
  const body = new URLSearchParams({ nonce })
  const made = await fetch(link.url, { method: 'POST', body, headers, redirect: 'manual' })
  const code = new URL(made.headers.get('location') ?? '', host.baseUrl).searchParams.get('code') ?? ''
  const set = made.headers.get('set-cookie') ?? ''
  assert.match(set, new RegExp(`^lastPayment=${code}; Max-Age=86400; Path=/link/${link.code}; HttpOnly; SameSite=Lax$`))
  const back = { ...headers, cookie: `lastPayment=${code}` }
  for (const language of LANGS) {
    const { another, resume } = TEXTS[language].order.link.last
    const page = await (await fetch(`${link.url}?lang=${language}`, { headers: back })).text()
    assert.ok(page.includes(`/pay?code=${code}&amp;lang=${language}">${resume}</a>`), page)
    assert.ok(page.includes(`<button class="wide">${another}</button>`), page)
  }
  const again = await open(link, back)
  assert.match(again.text, /Your payment of €12\.50 is not finished/)
  const other = await submit(link, { nonce: again.nonce ?? '' }, back)
  assert.equal(other.status, 303)
  assert.notEqual(other.code, code, 'another one is a choice')
  await host.call('POST', `cancel/${code}`, { as: shop })
  const ended = await open(link, back)
  assert.match(ended.text, /See your last payment here: €12\.50<\/a>/)
  assert.match(ended.text, /<button class="main">Pay €12\.50<\/button>/)
  await host.db.run(sql`
    insert into mispayments (company_id, id, order_id, payment_id, kind, asset, units, source_reference, created_at, updated_at)
    select company_id, ${newId()}, id, ${newId()}, 'late', 'USDC', 13500000, 'late', now(), now() from orders where code = ${code}`)
  const late = await open(link, back)
  assert.match(late.text, /is not finished/, 'what came too late is not paid a second time')
  assert.doesNotMatch(late.text, /<button class="main">/)
  await change(link._id, { active: false })
  assert.match((await open(link, back)).text, /is not finished/)
})

test('a page shows no payment of another link, of another shop or of none, whatever the cookie says', async () => {
  const [link, other] = [await makeLink({ amount: '4.00' }), await makeLink({ amount: '4.00' })]
  const { code: foreign } = await visit(other)
  const body = { amount: 4, fromAsset: 'EUR', merchantIdentifier: shop.merchantIdentifier }
  const { data } = await host.call<{ code: string }>('POST', 'request', { as: shop, body })
  const { code: own } = await visit(link)
  assert.match((await open(link, { ...newVisitor(), cookie: `lastPayment=${own}` })).text, /id="last"/)
  for (const value of [foreign, data.code, 'A'.repeat(24), "x'--", ''])
    assert.doesNotMatch((await open(link, { ...newVisitor(), cookie: `lastPayment=${value}` })).text, /id="last"/)
})
