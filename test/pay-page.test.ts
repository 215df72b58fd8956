import assert from 'node:assert/strict'
import { get } from 'node:http'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { LANGS } from '../src/kernel/lang.ts'
import { channelName, TEXTS } from '../src/texts/languages.ts'
import { refund, unanswered, wrongToken } from './harness/pay-states.ts'
import { type PayWorld, startPayWorld } from './harness/pay-world.ts'
import { eventually, startTestService } from './harness/service.ts'

let world: PayWorld

before(async () => {
  world = await startPayWorld()
})
after(() => world?.stop())

const read = async (path: string, headers: Record<string, string> = {}) => {
  const answer = await fetch(`${world.host.baseUrl}${path}`, { headers, redirect: 'manual' })
  return { status: answer.status, headers: answer.headers, text: await answer.text() }
}

const post = async (path: string, form: Record<string, string>, headers: Record<string, string> = {}) => {
  const body = new URLSearchParams(form)
  const answer = await fetch(`${world.host.baseUrl}${path}`, { method: 'POST', body, headers, redirect: 'manual' })
  return { status: answer.status, location: answer.headers.get('location') }
}

const statusOf = async (code: string): Promise<string> =>
  (await world.host.call<{ status: string }>('GET', `status/${code}`)).data.status

const tokenIn = (html: string): string => /name="token" value="([^"]+)"/.exec(html)?.[1] ?? ''

test('the page runs nothing but its own script, loads nothing from elsewhere, and is not kept', async () => {
  const { code } = await world.createAccepted()
  const { status, headers, text } = await read(`/pay?code=${code}`)
  assert.equal(status, 200)
  const policy = headers.get('content-security-policy') ?? ''
  assert.match(
    policy,
    /^default-src 'none'; style-src 'sha256-[^']+'; script-src 'sha256-[^']+' http[^ ]+\/pay\/wallet\.js; /,
  )
  assert.match(policy, /frame-ancestors 'none'/)
  assert.doesNotMatch(policy, /unsafe/)
  assert.equal(headers.get('cache-control'), 'no-store')
  assert.doesNotMatch(text, /(src|href)="https?:/)
})

test('what merchants write is text on the page, never markup', async () => {
  const evil = '<img src=x onerror=alert(1)>"\'&'
  const { code } = await world.createAccepted({ goods: { goodsName: evil } })
  const { text } = await read(`/pay?code=${code}&problem=%3Cscript%3E&lang=%22%3E`)
  assert.ok(!text.includes('<img'))
  assert.ok(text.includes('&lt;img src=x onerror=alert(1)&gt;&quot;&#39;&amp;'))
  assert.ok(!text.includes('<script>%') && !text.includes('&lt;script'))
})

test('a problem that no text knows gets the general words, whatever it is called', async () => {
  const code = await world.createOrder()
  for (const problem of ['NONE', 'toString', 'valueOf', 'constructor', '__proto__']) {
    const { text } = await read(`/pay?code=${code}&problem=${problem}`)
    assert.match(text, /role="alert">That did not work\. Please try again in a moment\.</, problem)
  }
})

test('the problem of an earlier step leaves the page once it may be untrue', async () => {
  const { code, toAddress } = await world.createAccepted()
  const alertOf = async (problem: string) => {
    const { text } = await read(`/pay?code=${code}&problem=${problem}`)
    return /id="problem"[^>]*>([^<]*)</.exec(text)?.[1] ?? ''
  }
  assert.match(await alertOf('CHANNEL_UNAVAILABLE'), /You have not been charged/)
  assert.match(await alertOf('PAYMENT_NOT_RECEIVED'), /has not reported a payment/)
  await world.chain.pay({ to: toAddress, units: 1_000_000n })
  await eventually(
    () => read(`/pay?code=${code}`),
    ({ text }) => text.includes('Part of your payment has arrived'),
  )
  assert.equal(await alertOf('CHANNEL_UNAVAILABLE'), '')
  assert.equal(await alertOf('PAYMENT_NOT_RECEIVED'), '')
  assert.match(await alertOf('TRANSACTION_UNKNOWN'), /knows this transaction yet/, 'the search is on the page')
  await world.chain.pay({ to: toAddress, units: 57_320_000n })
  await world.chain.mine(4)
  await world.reaches(code, 'PAID')
  for (const problem of ['CHANNEL_UNAVAILABLE', 'CHANNEL_NOT_AVAILABLE', 'TRANSACTION_UNKNOWN', 'CROSS_SITE_REQUEST'])
    assert.equal(await alertOf(problem), '', problem)
  assert.match(await alertOf('ORDER_STATE_CONFLICT'), /This page shows where your order stands now/)
})

test('a provider that answers late leaves no alarm above its code; where it stays silent, the earlier one keeps it', async () => {
  const { code } = await world.createAccepted()
  await world.host.db.run(sql`
    update payments set channel = 'coinbase', network = null where id = (select payment_id from orders where code = ${code})`)
  const alarmAfter = async (chosen: string): Promise<boolean> => {
    const { text } = await read(`/pay?code=${code}&problem=CHANNEL_UNAVAILABLE`, { cookie: `channel=${chosen}` })
    assert.match(text, /data-state="waiting"/)
    return text.includes('id="problem"')
  }
  assert.deepEqual([await alarmAfter('coinbase'), await alarmAfter('gatepay')], [false, true])
})

test('a till that follows the page learns whether money is there, and what is missing of the price, also beside what is on its way', async () => {
  const { code } = await world.createAccepted()
  const facts = async () =>
    /<div data-state="([^"]*)"[^>]*?( data-money="1")?(?: data-missing="([^"]*)")?>/
      .exec((await read(`/pay?code=${code}`)).text)
      ?.slice(1)
  assert.deepEqual(await facts(), ['waiting', undefined, undefined])
  await world.host.db.run(sql`
    update payments set channel = 'coinbase', network = null, status = 'confirming', next_check_at = null, pending_units = 10000000,
      instructions = instructions || '{"toAddress": null, "checkoutUrl": "https://pay.coinbase.example/1"}'
    where id = (select payment_id from orders where code = ${code})`)
  assert.deepEqual(await facts(), ['partly', ' data-money="1"', undefined])
  await world.host.db.run(sql`
    update payments set received_units = 20000000 where id = (select payment_id from orders where code = ${code})`)
  assert.deepEqual(await facts(), ['partly', ' data-money="1"', '38.32 USDC'])
})

test('after a part of an overpayment was sent back, the page says what else is the payer’s and how to get it', async () => {
  const { code, toAddress } = await world.createAccepted()
  const shown = async () => (await read(`/pay?code=${code}`)).text.replace(/\s+/g, ' ')
  await world.chain.pay({ to: toAddress, units: 78_320_000n })
  await world.chain.mine(4)
  await world.reaches(code, 'PAID')
  assert.match(await shown(), /You sent 20\.00 USDC too much/)
  await world.moveElsewhere(code, 'revert', 'refundPart')
  await refund(world, code, { status: 'settled', units: 5_000_000n, excess: 5_000_000n })
  const text = await shown()
  assert.match(text, /5\.00 USDC of 78\.32 USDC have been sent back/)
  assert.match(text, /You sent 15\.00 USDC too much.*To get it back, contact/)
  await refund(world, code, { status: 'settled', number: 2, units: 15_000_000n, excess: 15_000_000n })
  assert.doesNotMatch(await shown(), /too much/)
})

test('an unknown, short or missing code is 404 with words for a person', async () => {
  for (const path of [
    '/pay',
    '/pay?code=',
    '/pay?code=A',
    `/pay?code=${'A'.repeat(24)}`,
    `/pay?code=${"'".repeat(24)}`,
  ]) {
    const { status, headers, text } = await read(path)
    assert.equal(status, 404, path)
    assert.match(headers.get('content-type') ?? '', /text\/html/)
    assert.match(text, /We cannot find this order/)
  }
  assert.equal((await read(`/pay/events?code=${'A'.repeat(24)}`)).status, 404)
})

test('a form counts only with the token of its order, and only from our own page', async () => {
  const code = await world.createOrder()
  const other = await world.createOrder()
  const token = tokenIn((await read(`/pay?code=${code}`)).text)
  const foreign = tokenIn((await read(`/pay?code=${other}`)).text)
  const refused = `/pay?code=${code}&problem=CROSS_SITE_REQUEST`
  const cases: [Record<string, string>, Record<string, string>][] = [
    [{ code, token: 'x' }, {}],
    [{ code, token: foreign }, {}],
    [{ code, token }, { origin: 'https://evil.example' }],
    [{ code, token }, { origin: 'null' }],
    [{ code, token }, { 'sec-fetch-site': 'cross-site' }],
    [
      { code, token },
      { 'sec-fetch-site': 'same-site', origin: world.host.baseUrl },
    ],
  ]
  for (const [form, headers] of cases) {
    assert.deepEqual(await post('/pay/cancel', form, headers), { status: 303, location: refused })
    const accept = { ...form, paymentChannel: 'crypto' }
    assert.deepEqual(await post('/pay/accept', accept, headers), { status: 303, location: refused })
  }
  assert.equal(await statusOf(code), 'INITIAL')
  const back = { status: 303, location: `/pay?code=${code}` }
  const own = { origin: world.host.baseUrl, 'sec-fetch-site': 'same-origin' }
  assert.deepEqual(await post('/pay/accept', { code, token, paymentChannel: 'crypto', network: '31337' }, own), back)
  assert.equal(await statusOf(code), 'AWAITING')
  assert.deepEqual(await post('/pay/cancel', { code, token }, own), back)
  assert.equal(await statusOf(code), 'CANCELLED')
})

test('a step that is refused leads back to the page, which names the reason', async () => {
  const code = await world.createOrder()
  const token = tokenIn((await read(`/pay?code=${code}`)).text)
  const { location } = await post('/pay/accept', { code, token, paymentChannel: 'binance' })
  assert.equal(location, `/pay?code=${code}&problem=CHANNEL_NOT_AVAILABLE`)
  const { text } = await read(location ?? '')
  assert.match(text, /role="alert">This way to pay is no longer available/)
  assert.doesNotMatch(text, /data-auto/)
})

test('a form whose text nothing can keep is no unknown order: the page says what to do, and a form without its order is', async () => {
  const code = await world.createOrder()
  const token = tokenIn((await read(`/pay?code=${code}`)).text)
  const send = async (form: Record<string, string>) => {
    const body = new URLSearchParams(form)
    const answer = await fetch(`${world.host.baseUrl}/pay?lang=de`, { method: 'POST', body })
    return { status: answer.status, text: await answer.text() }
  }
  for (const firstName of ['Ma\0ud', 'x'.repeat(401)]) {
    const { status, text } = await send({ code, token, firstName })
    assert.equal(status, 400)
    assert.match(text, /Ihre Eingabe ist nicht lesbar/)
    assert.doesNotMatch(text, /Diese Bestellung gibt es nicht/)
  }
  assert.equal((await send({ firstName: 'Maud' })).status, 404)
})

test('the two codes of a wallet payment are one choice with a name, in the page’s language', async () => {
  const { code } = await world.createAccepted()
  for (const [lang, name] of [
    ['en', 'What the QR code holds'],
    ['fr', 'Contenu du code QR'],
  ]) {
    const { text } = await read(`/pay?code=${code}&lang=${lang}`)
    const [, group = ''] = new RegExp(`role="radiogroup" aria-label="${name}">(.*?)</div>`, 's').exec(text) ?? []
    assert.equal(group.match(/type="radio"/g)?.length, 2, lang)
  }
})

test('the sentence about a channel that does not answer names none: it is right for the payer’s own wallet as well', async () => {
  const code = await unanswered(world, (await world.createAccepted()).code, 60)
  for (const lang of LANGS) {
    const { text } = await read(`/pay?code=${code}&lang=${lang}`)
    const { title } = TEXTS[lang].order.situations.providerDown
    const [, sentence = ''] = new RegExp(`<h2>${title}</h2>.*?<p[^>]*>(.*?)</p>`, 's').exec(text) ?? []
    assert.ok(sentence.length > 20, text)
    assert.equal(sentence.includes(channelName(TEXTS[lang].pay, 'crypto')), false, sentence)
  }
})

/** Reads a stream until it ends or says what is waited for. */
function listen(path: string, isEnough: (text: string) => boolean, headers: Record<string, string> = {}) {
  return new Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; text: string; ended: boolean }>(
    (resolve, reject) => {
      const request = get(`${world.host.baseUrl}${path}`, { headers }, (answer) => {
        let text = ''
        const done = (ended: boolean): void => {
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text, ended })
          request.destroy()
        }
        answer.on('data', (chunk: Buffer) => {
          text += chunk.toString('utf8')
          if (isEnough(text)) done(false)
        })
        answer.on('end', () => done(true))
      })
      request.on('error', reject)
      request.setTimeout(10_000, () => request.destroy(new Error('the stream was silent for ten seconds')))
    },
  )
}

const idIn = (text: string): string => /^id: (.+)$/m.exec(text)?.[1] ?? ''

test('the stream says how the order stands, resumes without repeating, and ends with the order', async () => {
  const { code } = await world.createAccepted()
  const path = `/pay/events?code=${code}`
  const first = await listen(path, (text) => text.includes('\n\ndata') || text.endsWith('</div>\n\n'))
  assert.equal(first.headers['content-type'], 'text/event-stream; charset=utf-8')
  assert.equal(first.headers['cache-control'], 'no-cache, no-transform')
  assert.equal(first.headers['x-accel-buffering'], 'no')
  assert.match(first.text, /Waiting for your payment/)
  const id = idIn(first.text)
  const resumed = listen(path, (text) => text.includes('event: state'), { 'last-event-id': id })
  await new Promise((resolve) => setTimeout(resolve, 300))
  await world.host.call('POST', `cancel/${code}`, { as: world.merchant })
  await world.host.call('POST', `confirm/${code}`, { as: world.merchant })
  const { text } = await resumed
  assert.doesNotMatch(text, /Waiting for your payment/)
  assert.match(text, /This order was cancelled/)
  assert.notEqual(idIn(text), id)
})

test('an open page learns of money at the address from before a fresh price', async () => {
  const { code, toAddress } = await world.createAccepted()
  await world.moveElsewhere(code, 'expire')
  const body = { paymentChannel: 'crypto', requote: true }
  const again = await world.host.call('POST', `accept/${code}`, { as: world.merchant, body })
  assert.equal(again.status, 200, again.text)
  const news = listen(`/pay/events?code=${code}`, (text) => text.includes('Payment received, confirming'))
  await world.chain.pay({ to: toAddress, units: 58_320_000n })
  assert.match((await news).text, /Waiting for your payment/)
})

test('the stream of an order that is over ends by itself, and is not opened again', async () => {
  const code = await world.createOrder()
  await world.moveElsewhere(code, 'cancel')
  const path = `/pay/events?code=${code}`
  const { ended, text } = await listen(path, () => false)
  assert.equal(ended, true)
  assert.equal((await read(path, { 'last-event-id': idIn(text) })).status, 204)
})

test('all who watch an order get the same rendering', async () => {
  const { code } = await world.createAccepted()
  const texts = await Promise.all(
    Array.from({ length: 30 }, () => listen(`/pay/events?code=${code}`, (text) => text.endsWith('</div>\n\n'))),
  )
  // the time left may tick between two looks, and each stream begins with the time
  const withoutClock = texts.map(({ text }) => text.slice(text.indexOf('id:')).replaceAll(/>\d+:\d\d</g, '><'))
  assert.equal(new Set(withoutClock).size, 1)
})

test('one address watches an order twenty times and no more; another order is open to it, and a closed page gives its place back', async () => {
  const { code } = await world.createAccepted()
  const other = (await world.createAccepted()).code
  const watch = (of: string) =>
    new Promise<{ status: number; close(): void }>((resolve, reject) => {
      const request = get(`${world.host.baseUrl}/pay/events?code=${of}`, { agent: false }, (answer) => {
        answer.resume()
        resolve({ status: answer.statusCode ?? 0, close: () => request.destroy() })
      })
      request.on('error', reject)
    })
  const open = await Promise.all(Array.from({ length: 20 }, () => watch(code)))
  assert.deepEqual([...new Set(open.map(({ status }) => status))], [200])
  const refused = await watch(code)
  assert.equal(refused.status, 429)
  const beside = await watch(other)
  assert.equal(beside.status, 200)
  open[0]?.close()
  const again = await eventually(
    () => watch(code),
    ({ status }) => status === 200,
  )
  for (const one of [...open, beside, again]) one.close()
})

test('open streams do not keep a service that stops', async () => {
  const node = await startTestService()
  const merchant = await node.createMerchant()
  const body = { amount: 5, fromAsset: 'EUR', merchantIdentifier: merchant.merchantIdentifier }
  const { data } = await node.call<{ code: string }>('POST', 'request', { as: merchant, body })
  const answer = await fetch(`${node.baseUrl}/pay/events?code=${data.code}`)
  const reading = answer.text()
  const startedAt = Date.now()
  await node.stop()
  await reading
  assert.ok(Date.now() - startedAt < 4000)
})

test('live mode has no test wallet', async () => {
  const { code } = await world.createAccepted()
  assert.match((await read(`/pay?code=${code}`)).text, /\/wallet\/pay/)
  const env = {
    MODE: 'live',
    MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
    RATE_SOURCES: 'kraken',
    RATE_MIN_SOURCES: '1',
  }
  const urls = { BASE_URL: 'https://pay.example', PAY_URL: 'https://pay.example/shop' }
  const node = await startTestService({
    connectionString: (world.host.db.pool.options.connectionString ?? '') as string,
    env: { ...env, ...urls, OFFICE_URL: 'https://pay.example/app', SANDBOX_PROVIDERS_URL: world.providersUrl },
  })
  const answer = await fetch(`http://127.0.0.1:${node.config.port}/pay?code=${code}`)
  const text = await answer.text()
  assert.doesNotMatch(text, /\/wallet\/pay|Sandbox: /)
  assert.match(answer.headers.get('content-security-policy') ?? '', /form-action 'self';/)
  assert.match(text, /data-events="\/shop\/pay\/events/)
  await node.stop()
})

test('an expired order speaks of an old address only to a payer who was given one', async () => {
  const unseen = await world.createOrder()
  const { code } = await world.createAccepted()
  for (const each of [unseen, code]) await world.moveElsewhere(each, 'expire')
  const read = async (each: string) => (await (await fetch(world.pageUrl(each))).text()).split('I have not paid yet')[0]
  assert.match((await read(unseen)) ?? '', /You have not been charged\./)
  assert.doesNotMatch((await read(unseen)) ?? '', /old address/)
  assert.match((await read(code)) ?? '', /Do not send anything to the old address\./)
})

test('a cancelled order says that nothing was charged only to a payer who was never told where to pay', async () => {
  const { db } = world.host
  await db.run(sql`update companies set support_email = 'shop@example.com' where id = ${world.merchant.companyId}`)
  const unseen = await world.createOrder()
  const [{ code }, changed] = [await world.createAccepted(), await world.createAccepted()]
  // what the payer was told belongs to an earlier attempt
  await db.run(sql`update orders set payment_id = null where code = ${changed.code}`)
  for (const each of [unseen, code, changed.code]) await world.moveElsewhere(each, 'cancel')
  const none = (await read(`/pay?code=${unseen}`)).text
  assert.match(none, /You have not been charged\..*You do not need to do anything\./s)
  assert.doesNotMatch(none, /I have already paid|name="reference"/)
  for (const each of [code, changed.code]) {
    const { text } = await read(`/pay?code=${each}`)
    assert.match(
      text,
      /This order was cancelled.*do not pay for it any more.*Do not send anything to the old address\./s,
    )
    assert.match(text, /I have already paid.*name="reference".*mailto:shop%40example\.com/s)
    assert.doesNotMatch(text, /not been charged|do not need to do anything/)
  }
  const token = tokenIn((await read(`/pay?code=${code}`)).text)
  const { location } = await post('/pay/transaction', { code, token, reference: 'PAY-123' })
  assert.match((await read(location ?? '')).text, /role="alert">The provider has not reported a payment/)
})

test('another token stays on the page of an ended order until a person has decided about it', async () => {
  for (const trigger of ['cancel', 'expire'] as const) {
    const { code } = await world.createAccepted()
    await wrongToken(world, code)
    await world.moveElsewhere(code, trigger)
    const { text } = await read(`/pay?code=${code}`)
    assert.match(text, /Another token has arrived, and the order is not paid/)
    assert.match(text, /You sent USDT, but only USDC pays this order\..*To get it back, contact/s)
    assert.doesNotMatch(text, /not been charged/)
    assert.equal(text.includes('name="requote"'), trigger === 'expire')
  }
})

test('money that comes after the end is named on the page of the expired order', async () => {
  const { code, toAddress } = await world.createAccepted()
  await world.moveElsewhere(code, 'expire')
  await world.chain.pay({ to: toAddress, units: 1_000_000n })
  const { text } = await eventually(
    () => read(`/pay?code=${code}`),
    (page) => page.text.includes('Money has arrived'),
  )
  assert.match(text, /We received 1\.00 USDC, but not all of it in time/)
  assert.doesNotMatch(text, /name="requote"/, 'an order with money gets no fresh price')
})

test('a messenger that previews a link reads who is paid and how much, and a poster carries the same link', async () => {
  const code = await world.createOrder({ alias: `T-${Date.now()}`, goods: { goodsName: 'Two tickets' } })
  const { text } = await read(`/pay?code=${code}`)
  assert.match(text, /<meta property="og:title" content="Pay €54\.00 to Test &amp; Söhne">/)
  assert.match(text, /<meta property="og:description" content="Two tickets">/)
  const poster = await read(`/pay/poster?code=${code}&lang=fr`)
  assert.equal(poster.status, 200)
  assert.ok(poster.text.includes(`${world.pageUrl(code)}</p>`), 'the address stands below the code')
  assert.match(poster.text, /role="img" aria-label="http/)
  assert.match(poster.text, /Scannez le code/)
})

test('“I have paid” takes a provider’s number too: the provider is asked, and the page says what it answered', async () => {
  const { code } = await world.createAccepted()
  const token = tokenIn((await read(`/pay?code=${code}`)).text)
  const { status, location } = await post('/pay/transaction', { code, token, reference: 'PAY-123' })
  assert.equal(status, 303)
  assert.match(location ?? '', /^\/pay\?code=\w+&problem=PAYMENT_NOT_RECEIVED&typed=[\w.-]+$/)
  assert.doesNotMatch(location ?? '', /PAY-123/, 'addresses end up in logs')
  const { text } = await read(location ?? '')
  assert.match(text, /role="alert">The provider has not reported a payment/)
  assert.match(text, /<details id="help" open>/)
  assert.match(text, /name="reference"[^>]* value="PAY-123"/)
  const digits = 'aB'.repeat(32)
  for (const reference of [`0x${digits}`, digits, `https://basescan.org/tx/0x${digits}?a=1#logs`]) {
    const unknown = await post('/pay/transaction', { code, token, reference })
    assert.match(unknown.location ?? '', /problem=TRANSACTION_UNKNOWN/, reference)
  }
  for (const reference of [`0x${digits}a`, `0x${digits.slice(1)}`]) {
    const wrong = await post('/pay/transaction', { code, token, reference })
    assert.match(wrong.location ?? '', /problem=TRANSACTION_INVALID/, reference)
  }
  const other = await world.createAccepted()
  const copied = (location ?? '').replace(code, other.code)
  assert.doesNotMatch((await read(copied)).text, /PAY-123/, 'what was typed belongs to its order')
})

test('without a script a page loads itself anew, but never while something is being typed', async () => {
  const { code } = await world.createAccepted()
  const waiting = (await read(`/pay?code=${code}`)).text
  assert.match(waiting, /http-equiv="refresh"/)
  const [, link = ''] = /<noscript><a [^>]*href="([^"#]+)#reference">Look for my payment/.exec(waiting) ?? []
  const searching = (await read(link.replaceAll('&amp;', '&'))).text
  assert.doesNotMatch(searching, /http-equiv="refresh"/)
  assert.match(searching, /<details id="help" open>/)
})

test('document, style and script together weigh less than 10 kB in every language', async () => {
  const { code } = await world.createAccepted({ goods: { goodsName: 'Two tickets' } })
  for (const lang of LANGS) {
    const bytes = await new Promise<number>((resolve, reject) => {
      const options = { headers: { 'accept-encoding': 'br' } }
      get(`${world.host.baseUrl}/pay?code=${code}&lang=${lang}`, options, (answer) => {
        assert.equal(answer.headers['content-encoding'], 'br')
        let sum = 0
        answer.on('data', (chunk: Buffer) => {
          sum += chunk.length
        })
        answer.on('end', () => resolve(sum))
      }).on('error', reject)
    })
    assert.ok(bytes > 3000 && bytes < 10_000, `${lang}: ${bytes} bytes`)
  }
})
