import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, afterEach, before, test } from 'node:test'
import { Registry } from 'prom-client'
import type { Config } from '../src/config/config.ts'
import { sql } from '../src/db/db.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../src/kernel/clock.ts'
import { newId } from '../src/kernel/ids.ts'
import { type Fiat, formatDecimal, RATE_EXPONENT } from '../src/kernel/money.ts'
import { READ_EVERY_MS } from '../src/rates/rate-freshness.ts'
import type { Evidence } from '../src/rates/rate-median.ts'
import { insertQuote } from '../src/rates/rate-queries.ts'
import { openRates, type Quote, type Rates } from '../src/rates/rate-service.ts'
import { freePort } from './harness/free-port.ts'
import { startTestService, type TestService } from './harness/service.ts'

/** What a venue answers to a path that begins so: a body, or a whole answer. */
type Reply = string | { status: number; headers?: Record<string, string>; body: string }

let host: TestService
let venue: Server
let venueUrl: string
let replies: Record<string, Reply> = {}
let asked: IncomingMessage[] = []

function answer(request: IncomingMessage, response: ServerResponse): void {
  asked.push(request)
  const path = Object.keys(replies).find((start) => request.url?.startsWith(start))
  const reply = path === undefined ? { status: 404, body: '{"message":"NotFound"}' } : replies[path]
  const { status, headers, body } =
    typeof reply === 'object' ? { headers: {}, ...reply } : { status: 200, headers: {}, body: reply }
  response.writeHead(status, headers).end(body)
}

before(async () => {
  venue = createServer(answer).listen(0, '127.0.0.1')
  await once(venue, 'listening')
  venueUrl = `http://127.0.0.1:${(venue.address() as AddressInfo).port}`
  host = await startTestService()
})
afterEach(() => {
  replies = {}
  asked = []
})
after(async () => {
  await host.stop()
  venue.close()
})

const FRIDAY_NIGHT = Date.parse('2026-03-06T23:00:00Z')

const kraken = (ask: string, name = 'USDCEUR'): Record<string, Reply> => ({
  '/0/public/Ticker?pair=USDC': `{"error":[],"result":{"${name}":{"a":["${ask}","12345","12345.000"],"b":["0.9",
    "1","1.0"],"c":["0.91","50.1"],"v":["1","2"],"p":["1","2"],"t":[1,2],"l":["1","2"],"h":["1","2"],"o":"0.9"}}}`,
})
const coinbase = (rate: string): Record<string, Reply> => ({
  '/v2/exchange-rates?currency=': `{"data":{"currency":"EUR","rates":{"USDC":"${rate}","USD":"1.0812","CHF":"0.94"}}}`,
})
const binance = (bid: string): Record<string, Reply> => ({
  '/api/v3/ticker/bookTicker?symbol=EURUSDC': `{"symbol":"EURUSDC","bidPrice":"${bid}","bidQty":"1","askPrice":"9","askQty":"1"}`,
})
const bitstamp = (ask: string, atMs: number): Record<string, Reply> => ({
  '/api/v2/ticker/usdceur/': `{"timestamp":"${atMs / 1000}","last":"0.9","bid":"0.9","ask":"${ask}","high":"1","low":"0.9",
    "vwap":"0.9","volume":"1","open":"0.9","open_24":"0.9","percent_change_24":"0.1"}`,
})
const coingecko = (price: string, atMs: number): Record<string, Reply> => ({
  '/api/v3/simple/price?ids=usd-coin': `{"usd-coin":{"eur":${price},"last_updated_at":${atMs / 1000}}}`,
})
const ecb = (day: string): Record<string, Reply> => ({
  '/stats/eurofxref/eurofxref-daily.xml': `<?xml version="1.0" encoding="UTF-8"?>
    <gesmes:Envelope xmlns:gesmes="http://www.gesmes.org/xml/2002-08-01" xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref">
    <gesmes:subject>Reference rates</gesmes:subject><Cube><Cube time='${day}'><Cube currency='USD' rate='1.0825'/>
    <Cube currency='CHF' rate='0.9400'/><Cube currency='GBP' rate='0.8400'/></Cube></Cube></gesmes:Envelope>`,
})

type World = {
  rates: Rates
  quote(from?: Fiat): Promise<Quote>
  rate(from?: Fiat): Promise<string>
  metrics: Registry
  wait(ms: number): void
}

/** The rates as the service has them, with these sources, at a time that the test moves. */
function openWorld(sources: string, rules: Partial<Config['rates']> = {}): World {
  const names = sources.split(',')
  const config: Config['rates'] = {
    sources: names,
    baseUrls: Object.fromEntries(names.map((name) => [name, venueUrl])),
    fixed: {},
    ...{ maxAgeSeconds: 60, minSources: 1, maxDeviationPercent: 2, ...rules },
  }
  let now = FRIDAY_NIGHT
  const metrics = new Registry()
  const rates = openRates({
    config,
    fiatAssets: ['EUR', 'CHF'],
    db: host.db,
    clock: () => now,
    log: host.service.app.log,
    metrics,
  })
  return {
    rates,
    metrics,
    quote: (from = 'EUR') => rates.quote(from, { isForOrder: true }),
    rate: async (from = 'EUR') => formatDecimal((await rates.quote(from)).rate, RATE_EXPONENT),
    wait: (ms) => {
      now += ms
    },
  }
}

const NO_RATE = { code: 'INVALID_EXCHANGE_RATE' }

const reasonsOf = (evidence: readonly Evidence[]): Record<string, string | null> =>
  Object.fromEntries(evidence.map(({ source, reason }) => [source, reason]))

test('each source’s answer is read in its own direction', async () => {
  const now = FRIDAY_NIGHT
  const cases: [string, Record<string, Reply>, string][] = [
    ['kraken', kraken('0.92500000'), '1.081081081081'],
    ['kraken', kraken('0.92500000', 'ZUSDCZEUR'), '1.081081081081'],
    ['coinbase', coinbase('1.0815372'), '1.081537200000'],
    ['binance', binance('1.08108100'), '1.081081000000'],
    ['bitstamp', bitstamp('0.92500', now), '1.081081081081'],
    ['coingecko', coingecko('0.9250', now - MINUTE), '1.081081081081'],
    ['ecb', ecb('2026-03-06'), '1.082500000000'],
  ]
  for (const [source, shape, expected] of cases) {
    replies = shape
    assert.equal(await openWorld(source).rate(), expected, source)
  }
  replies = ecb('2026-03-06')
  assert.equal(await openWorld('ecb').rate('CHF'), '1.151595744680', 'a cross of two reference rates')
  assert.ok(asked.every(({ headers }) => headers['user-agent'] === 'comptoir'))
})

test('a currency that a source does not trade is not asked of it', async () => {
  replies = { ...kraken('0.85'), ...binance('1.08'), ...bitstamp('0.9', FRIDAY_NIGHT) }
  const { sources, evidence } = await openWorld('kraken,binance,bitstamp').quote('GBP')
  assert.deepEqual([sources, evidence.length], [['kraken'], 1])
  assert.deepEqual(
    asked.map(({ url }) => url),
    ['/0/public/Ticker?pair=USDCGBP'],
  )
})

test('what is no usable answer is no price: there is no rate, and never a default', async () => {
  const now = FRIDAY_NIGHT
  const cases: [string, Record<string, Reply>, RegExp][] = [
    ['kraken', { '/0': '{"error":["EQuery:Unknown asset pair"]}' }, /Unknown asset pair/],
    ['kraken', { '/0': '{"error":["EAPI:Rate limit exceeded"],"result":{}}' }, /Rate limit/],
    ['kraken', { '/0': '{"error":[],"result":{}}' }, /no price/],
    ['kraken', { '/0': 'null' }, /no price/],
    ['kraken', { '/0': '<html>maintenance</html>' }, /JSON|token/],
    ['kraken', kraken('0.00000000'), /no price/],
    ['kraken', kraken('-0.9'), /no price/],
    ['coinbase', coinbase('NaN'), /no price/],
    ['coinbase', { '/v2': { status: 500, body: '{}' } }, /HTTP 500/],
    ['coinbase', { '/v2': { status: 302, headers: { location: '/elsewhere' }, body: '' } }, /HTTP 302/],
    ['binance', { '/api': { status: 400, body: '{"code":-1121,"msg":"Invalid symbol."}' } }, /HTTP 400/],
    ['bitstamp', bitstamp('0.925', now - 6 * MINUTE), /360 s old/],
    ['bitstamp', { '/api': '{"ask":"0.925"}' }, /old/],
    ['coingecko', coingecko('9.25e-1', now), /no price/],
    ['coingecko', coingecko('0.925', now - 10 * MINUTE), /600 s old/],
    ['coingecko', { '/api': { status: 429, headers: { 'retry-after': '30' }, body: '' } }, /HTTP 429/],
    ['ecb', ecb('2026-02-28'), /2026-02-28/],
    ['ecb', { '/stats': '<Envelope/>' }, /no day/],
    ['coinbase', { '/v2': { status: 200, body: `"${'x'.repeat(1_100_000)}"` } }, /too large/],
    // one number that fills the answer: a pattern that tries each of its ends stands still for minutes
    ['coinbase', coinbase(`${'1'.repeat(1_000_000)}x`), /no price/],
    // its inverse is zero
    ['kraken', kraken(`1${'0'.repeat(23)}`), /no price/],
  ]
  for (const [source, shape, reason] of cases) {
    replies = shape
    host.logLines.length = 0
    await assert.rejects(openWorld(source).quote(), NO_RATE, `${source} ${JSON.stringify(shape).slice(0, 80)}`)
    assert.match(host.logLines.join(''), reason)
  }
})

test('reference rates of Friday are good over a weekend and over Easter, not longer', async () => {
  replies = ecb('2026-03-06')
  const world = openWorld('ecb')
  for (const days of [0, 1, 2, 2]) {
    world.wait(days * DAY)
    const { rate, evidence } = await world.quote()
    assert.deepEqual([rate, evidence[0]?.at], [1_082_500_000_000n, Date.parse('2026-03-06')])
  }
  world.wait(DAY)
  await assert.rejects(world.quote(), NO_RATE)
})

test('the rate is the median of the sources that agree; one that is 5 % off is dropped, with the reason kept', async () => {
  replies = {
    ...kraken('0.9250'),
    ...coinbase('1.0800'),
    ...binance('1.1350'),
    ...bitstamp('0.9200', FRIDAY_NIGHT - DAY),
  }
  const quote = await openWorld('kraken,coinbase,binance,bitstamp', { minSources: 2 }).quote()
  assert.equal(formatDecimal(quote.rate, RATE_EXPONENT), '1.080540540540')
  assert.deepEqual(quote.sources, ['kraken', 'coinbase'])
  assert.deepEqual(reasonsOf(quote.evidence), {
    kraken: null,
    coinbase: null,
    binance: 'more than 2 % from the median',
    bitstamp: 'bitstamp: the price is 86400 s old',
  })
})

test('a source that answers with bytes that no database takes does not stop the rate of the others', async () => {
  replies = { ...coinbase('1.0800'), '/0/public/Ticker': '\0\0 maintenance' }
  const quote = await openWorld('kraken,coinbase').quote()
  await insertQuote(host.db, { ...quote, id: newId() })
  assert.match(reasonsOf(quote.evidence).kraken ?? '', /maintenance/)
})

test('too few sources, or two that contradict each other, make no rate', async () => {
  replies = kraken('0.9250')
  await assert.rejects(openWorld('kraken,coinbase', { minSources: 2 }).quote(), NO_RATE)
  // 4 % apart: each is within 2 % of their middle, and neither is within 2 % of the other
  replies = { ...kraken('0.92500000'), ...coinbase('1.12432432') }
  await assert.rejects(openWorld('kraken,coinbase').quote(), NO_RATE)
  replies = { ...kraken('0.9250'), ...coinbase('1.1400') }
  await assert.rejects(openWorld('kraken,coinbase').quote(), NO_RATE)
  replies = { ...kraken('1.00000000'), ...coinbase('1.02') }
  assert.equal(await openWorld('kraken,coinbase').rate(), '1.010000000000', 'two per cent apart are allowed')
  replies = { ...kraken('1.00000000'), ...coinbase('1.020001') }
  await assert.rejects(openWorld('kraken,coinbase').quote(), NO_RATE)
})

test('of four, two that are left after the others were dropped must not contradict each other either', async () => {
  replies = { ...kraken('1.02040816'), ...coinbase('1.0200'), ...binance('0.9000'), ...bitstamp('0.89', FRIDAY_NIGHT) }
  const world = openWorld('kraken,coinbase,binance,bitstamp', { minSources: 2 })
  await assert.rejects(world.quote(), NO_RATE)
})

test('a price without a time of its own is at best as old as its answer: one that a cache kept is older', async () => {
  const kept = (seconds: number): Record<string, Reply> => ({
    '/v2/exchange-rates': {
      status: 200,
      headers: { age: String(seconds) },
      body: coinbase('1.08')['/v2/exchange-rates?currency='] as string,
    },
  })
  replies = kept(300)
  const world = openWorld('coinbase')
  assert.equal(await world.rate(), '1.080000000000')
  assert.match(await world.metrics.metrics(), /comptoir_rate_age_seconds\{from="EUR"\} 300\n/)
  replies = kept(301)
  await assert.rejects(openWorld('coinbase').quote(), NO_RATE)
  const written = new Date(FRIDAY_NIGHT - 302 * SECOND).toUTCString()
  replies = {
    '/v2/exchange-rates': { status: 200, headers: { date: written }, body: '{"data":{"rates":{"USDC":"1.08"}}}' },
  }
  await assert.rejects(openWorld('coinbase').quote(), NO_RATE)
})

test('a feed that answers and does not move for an hour is dropped, and taken again when it moves', async () => {
  const world = openWorld('coinbase,kraken')
  replies = { ...coinbase('1.08'), ...kraken('0.9250') }
  await world.quote()
  const look = async (minutes: number, ask: string): Promise<Quote> => {
    world.wait(minutes * MINUTE)
    replies = { ...coinbase('1.08'), ...kraken(ask) }
    return world.quote()
  }
  for (let turn = 1; turn <= 12; turn += 1) {
    const quote = await look(5, `0.92${String(turn).padStart(2, '0')}`)
    assert.deepEqual(quote.sources, ['coinbase', 'kraken'], `after ${turn * 5} minutes`)
  }
  const frozen = await look(2, '0.9250')
  assert.deepEqual(frozen.sources, ['kraken'])
  assert.equal(reasonsOf(frozen.evidence).coinbase, 'the price has not changed for 62 minutes')
  assert.match(await world.metrics.metrics(), /comptoir_rate_source_frozen\{source="coinbase",from="EUR"\} 1\n/)
  world.wait(2 * MINUTE)
  replies = { ...coinbase('1.0801'), ...kraken('0.9250') }
  assert.deepEqual((await world.quote()).sources, ['coinbase', 'kraken'])
})

test('while a shop is quiet its currencies are read again: a feed that does not move is known at its next order', async () => {
  await host.db.run(sql`delete from rate_quotes`)
  const world = openWorld('coinbase,kraken')
  replies = { ...coinbase('1.08'), ...kraken('0.9250') }
  await world.rates.readAgain()
  assert.equal(asked.length, 0, 'what no order was priced in is not read')
  await world.rates.store(await world.quote())
  asked = []
  await world.rates.readAgain()
  assert.equal(asked.length, 0, 'a caller has just read it')
  for (let turn = 0; turn <= 15; turn += 1) {
    world.wait(READ_EVERY_MS)
    replies = { ...coinbase('1.08'), ...kraken(`0.92${String(turn).padStart(2, '0')}`) }
    await world.rates.readAgain()
  }
  assert.equal(asked.length, 2 * 16, 'each source for EUR, and none for CHF')
  world.wait(2 * MINUTE)
  const next = await world.quote()
  assert.deepEqual(next.sources, ['kraken'])
  assert.equal(reasonsOf(next.evidence).coinbase, 'the price has not changed for 66 minutes')
  world.wait(7 * DAY)
  asked = []
  await world.rates.readAgain()
  assert.equal(asked.length, 0, 'a week without an order ends it')
})

test('what wakes the operator is a rate that is wanted in vain for two minutes, not one that no one wants', async () => {
  await host.db.run(sql`delete from rate_quotes`)
  const world = openWorld('coinbase')
  const missing = async (from = 'EUR'): Promise<number> =>
    Number(new RegExp(`rate_missing_seconds\\{from="${from}"\\} (\\S+)`).exec(await world.metrics.metrics())?.[1])
  replies = coinbase('1.08')
  await world.rates.store(await world.quote())
  const quiet: number[] = []
  for (let minute = 0; minute < 20; minute += 1) {
    if (minute % (READ_EVERY_MS / MINUTE) === 0) await world.rates.readAgain()
    quiet.push(await missing())
    world.wait(MINUTE)
  }
  assert.deepEqual([...new Set(quiet)], [0])
  replies = {}
  const down: number[] = []
  for (let minute = 0; minute < 4; minute += 1) {
    world.wait(MINUTE)
    await assert.rejects(world.quote(), NO_RATE)
    down.push(await missing())
  }
  assert.deepEqual(down, [0, 60, 120, 180])
  world.wait(HOUR)
  assert.ok(Number.isNaN(await missing()), 'no one asks any more')
  await assert.rejects(world.quote('CHF'), NO_RATE)
  for (const seconds of [240, 480, 0]) {
    if (seconds === 0) replies = coinbase('1.09')
    world.wait(READ_EVERY_MS)
    await world.rates.readAgain()
    assert.equal(await missing('CHF'), seconds, 'one order was refused: it is read until it is back')
  }
})

test('a source that fails while nobody buys stops no reading of the others, and no later one', async () => {
  const world = openWorld('coinbase')
  replies = coinbase('1.08')
  await world.rates.store(await world.quote())
  replies = {}
  world.wait(READ_EVERY_MS)
  await world.rates.readAgain()
  replies = coinbase('1.09')
  world.wait(READ_EVERY_MS)
  await world.rates.readAgain()
  asked = []
  assert.equal(await world.rate(), '1.090000000000')
  assert.equal(asked.length, 0)
})

test('a price that nobody looked at for a while may have moved: it is not called frozen', async () => {
  const world = openWorld('coinbase')
  replies = coinbase('1.08')
  await world.quote()
  world.wait(5 * DAY)
  assert.equal(await world.rate(), '1.080000000000')
})

test('francs of the Pacific follow the euro by their legal parity', async () => {
  replies = { ...kraken('0.9250'), ...coinbase('1.081081081081') }
  const quote = await openWorld('kraken,coinbase', { minSources: 2 }).quote('XPF')
  assert.equal(formatDecimal(quote.rate, RATE_EXPONENT), '0.009059459459')
  assert.deepEqual(quote.sources, ['kraken (EUR, parity)', 'coinbase (EUR, parity)'])
})

test('a quote is kept for its time, renewed in the background from half of it, and never used when older', async () => {
  replies = coinbase('1.08')
  const world = openWorld('coinbase')
  assert.equal((await Promise.all([1, 2, 3].map(() => world.rate()))).length, 3)
  assert.equal(asked.length, 1, 'callers at the same time share one question')
  replies = coinbase('1.09')
  world.wait(29 * SECOND)
  assert.equal(await world.rate(), '1.080000000000')
  assert.equal(asked.length, 1)
  world.wait(2 * SECOND)
  assert.equal(await world.rate(), '1.080000000000', 'nobody waits for the renewal')
  while ((await world.rate()) !== '1.090000000000') await new Promise((resolve) => setTimeout(resolve, 5))
  assert.equal(asked.length, 2)
  replies = coinbase('1.10')
  world.wait(-4 * MINUTE)
  assert.equal(await world.rate(), '1.100000000000', 'the clock was set back: the age of the other one is unknown')
  replies = {}
  world.wait(61 * SECOND)
  await assert.rejects(world.quote(), NO_RATE)
})

test('a source that fails three times in a row is left alone for half a minute, then tried once', async () => {
  const world = openWorld('coinbase')
  for (let turn = 0; turn < 5; turn += 1) await assert.rejects(world.quote(), NO_RATE)
  assert.equal(asked.length, 3)
  world.wait(29 * SECOND)
  await assert.rejects(world.quote(), NO_RATE)
  assert.equal(asked.length, 3)
  world.wait(SECOND)
  await assert.rejects(world.quote(), NO_RATE)
  await assert.rejects(world.quote(), NO_RATE)
  assert.equal(asked.length, 4, 'the one trial failed: closed for another half minute')
  world.wait(30 * SECOND)
  replies = coinbase('1.08')
  assert.equal(await world.rate(), '1.080000000000')
  world.wait(61 * SECOND)
  replies = {}
  for (let turn = 0; turn < 4; turn += 1) await assert.rejects(world.quote(), NO_RATE)
  assert.equal(asked.length, 8, 'after a good answer the count begins anew')
})

test('a source that says “not so often” is left alone for as long as it says', async () => {
  replies = { '/api': { status: 429, headers: { 'retry-after': '45' }, body: '' } }
  const world = openWorld('coingecko')
  await assert.rejects(world.quote(), NO_RATE)
  world.wait(44 * SECOND)
  await assert.rejects(world.quote(), NO_RATE)
  assert.equal(asked.length, 1)
  world.wait(SECOND)
  replies = coingecko('0.925', FRIDAY_NIGHT)
  assert.equal(await world.rate(), '1.081081081081')
})

test('an operator sees how old each source’s price is and how often it failed', async () => {
  replies = coinbase('1.08')
  const world = openWorld('coinbase,kraken')
  await world.quote()
  world.wait(20 * SECOND)
  const text = await world.metrics.metrics()
  assert.match(text, /comptoir_rate_age_seconds\{from="EUR"\} 20\n/)
  assert.match(text, /comptoir_rate_source_age_seconds\{source="coinbase"\} 20\n/)
  assert.match(text, /comptoir_rate_source_failures_total\{source="kraken"\} 1\n/)
})

test('the vectors: 100 EUR and 10 000 XPF at the ask of 0.9250, and 100 EUR at 1.0810810, rounded down', async () => {
  for (const [source, shape, body, expected] of [
    ['kraken', kraken('0.9250'), { amount: 100, fromAsset: 'EUR' }, '108.108108'],
    ['kraken', kraken('0.9250'), { amount: 10_000, fromAsset: 'XPF' }, '90.594594'],
    ['binance', binance('1.0810810'), { amount: 100, fromAsset: 'EUR' }, '108.108100'],
  ] as const) {
    replies = shape
    const env = { RATE_SOURCES: source, [`RATE_${source.toUpperCase()}_BASE_URL`]: venueUrl }
    const own = await startTestService({ env, connectionString: host.db.connectionString })
    try {
      const as = await own.createMerchant()
      const created = await own.call<{ order: { toAmount: string; code: string } }>('POST', 'request', {
        as,
        body: { ...body, merchantIdentifier: 'TILL-1' },
      })
      assert.equal(created.data.order.toAmount, expected)
      const { evidence } = await own.db.one<{ evidence: Evidence[] }>(sql`
        select q.evidence from orders o join rate_quotes q on q.id = o.quote_id where o.code = ${created.data.order.code}`)
      assert.equal(evidence[0]?.taken, true, 'the proof is stored with the order')
    } finally {
      await own.stop()
    }
  }
})

test('the service starts while no source answers: it is ready, refuses sales with a reason, and repeats an earlier answer', async () => {
  const dead = `http://127.0.0.1:${await freePort()}`
  const env = { RATE_SOURCES: 'kraken,ecb', RATE_KRAKEN_BASE_URL: dead, RATE_ECB_BASE_URL: dead }
  const own = await startTestService({ env, connectionString: host.db.connectionString })
  try {
    const as = await own.createMerchant()
    assert.equal((await own.call('GET', '/readyz')).status, 200)
    const missing = async () => /missing_seconds\{.*/.exec((await own.call('GET', '/metrics')).text)?.[0]
    const info = await own.call('GET', 'exchangeInfo?fromAsset=EUR&toAsset=USDC')
    assert.deepEqual([info.status, info.error.code], [400, 'INVALID_EXCHANGE_RATE'])
    assert.equal(await missing(), undefined, 'whoever only asks for a price wakes no operator')
    const body = { amount: 5, fromAsset: 'EUR', merchantIdentifier: 'TILL-1' }
    const refused = await own.call('POST', 'request', { as, body })
    assert.deepEqual([refused.status, refused.error.code], [400, 'INVALID_EXCHANGE_RATE'])
    assert.match((await missing()) ?? '', /from="EUR"/, 'an order needs the rate')
    const once = { as, body, headers: { 'idempotency-key': 'sold-before' } }
    const sold = await host.call('POST', 'request', once)
    assert.equal(sold.status, 200, sold.text)
    assert.equal((await own.call('POST', 'request', once)).text, sold.text)
    assert.equal((await own.db.many(sql`select 1 from orders where company_id = ${as.companyId}`)).length, 1)
  } finally {
    await own.stop()
  }
})

test('exchangeInfo says price, sources and time; an unknown pair or a missing asset is 422', async () => {
  const { status, data } = await host.call('GET', 'exchangeInfo?fromAsset=eur&toAsset=USDC')
  assert.equal(status, 200)
  assert.deepEqual([data.price, data.fromAsset, data.toAsset, data.source], [1.08, 'EUR', 'USDC', 'fixed'])
  assert.ok(Math.abs(Date.parse(String(data.updatedAt)) - Date.now()) < MINUTE)
  const refused = ['fromAsset=JPY&toAsset=USDC', 'fromAsset=EUR&toAsset=BTC', 'fromAsset=USDC&toAsset=USDC', '']
  for (const query of [...refused, 'fromAsset=EUR', 'fromAsset=EUR&toAsset=', 'toAsset=USDC'])
    assert.equal((await host.call('GET', `exchangeInfo?${query}`)).status, 422, query)
})
