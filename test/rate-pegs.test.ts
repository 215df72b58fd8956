import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
import { openDb } from '../src/db/db.ts'
import { MINUTE } from '../src/kernel/clock.ts'
import { formatDecimal, RATE_EXPONENT } from '../src/kernel/money.ts'
import { openRates } from '../src/rates/rate-service.ts'

/* The sources of live mode: two of three count USDC as one dollar. */

const START = Date.parse('2026-03-06T10:00:00Z')

let server: Server
let url = ''
let nowMs = START
/** What one USDC costs at Kraken, or null: it does not answer. */
let ask: string | null = '1.0000'

before(async () => {
  server = createServer((request, response) => {
    response.setHeader('date', new Date(nowMs).toUTCString())
    const path = request.url ?? ''
    // EUR/USD is 1.15, whatever USDC costs
    const usdc = path.endsWith('EUR') ? '1.15' : '1.0'
    if (path.startsWith('/v2/')) return response.end(`{"data":{"rates":{"USDC":"${usdc}"}}}`)
    if (path.startsWith('/0/') && ask === null) return response.writeHead(503).end()
    if (path.startsWith('/0/')) return response.end(`{"error":[],"result":{"USDCUSD":{"a":["${ask}","1","1.0"]}}}`)
    const day = new Date(nowMs).toISOString().slice(0, 10)
    return response.end(`<Cube><Cube time='${day}'><Cube currency='USD' rate='1.15'/></Cube></Cube>`)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
after(() => server.close())

function openWorld(...sources: string[]) {
  nowMs = START
  const baseUrls = Object.fromEntries(sources.map((name) => [name, url]))
  const rules = { maxAgeSeconds: 60, minSources: 2, maxDeviationPercent: 2, fixed: {} }
  return openRates({
    config: { sources, baseUrls, ...rules },
    fiatAssets: ['USD', 'EUR'],
    // quotes that are not stored need none
    db: openDb({ connectionString: 'postgres://127.0.0.1:1/none', max: 1 }),
    clock: () => nowMs,
    log: pino({ level: 'silent' }),
  })
}

test('Coinbase always tells USDC as one dollar: after a day that is no feed that stands still, and Kraken’s would be', async () => {
  const rates = openWorld('kraken', 'coinbase', 'ecb')
  for (let turn = 0; turn <= 25 * 15; turn += 1) {
    ask = turn % 2 ? '1.0000' : '0.9999'
    const { sources } = await rates.quote('USD')
    assert.deepEqual(sources, ['kraken', 'coinbase', 'ecb'], `after ${turn * 4} minutes`)
    nowMs += 4 * MINUTE
  }
  ask = null
  assert.deepEqual((await rates.quote('USD')).sources, ['coinbase', 'ecb'])
  ask = '0.9998'
  for (let turn = 0; turn <= 25 * 15; turn += 1) {
    nowMs += 4 * MINUTE
    await rates.quote('USD')
  }
  assert.deepEqual((await rates.quote('USD')).sources, ['coinbase', 'ecb'], 'the market has not moved for a day')
})

test('while USDC is worth less on the market, two sources that count it as one dollar make no rate', async () => {
  ask = '0.9000'
  const rates = openWorld('kraken', 'coinbase', 'ecb')
  await assert.rejects(rates.quote('USD'), { code: 'INVALID_EXCHANGE_RATE' })
  ask = '0.9900'
  nowMs += MINUTE
  assert.equal(formatDecimal((await rates.quote('USD')).rate, RATE_EXPONENT).slice(0, 6), '1.0000')
  ask = '1.1000'
  nowMs += MINUTE
  assert.deepEqual(
    (await rates.quote('USD')).sources,
    ['coinbase', 'ecb'],
    'worth more: nobody is paid with too little',
  )
})

test('the same in euros, where Coinbase’s price moves with the dollar', async () => {
  // 0.88 USD
  ask = '0.7652'
  const rates = openWorld('kraken', 'coinbase', 'ecb')
  await assert.rejects(rates.quote('EUR'), { code: 'INVALID_EXCHANGE_RATE' })
  await assert.rejects(rates.quote('XPF'), { code: 'INVALID_EXCHANGE_RATE' })
  ask = '0.8696'
  nowMs += MINUTE
  assert.deepEqual((await rates.quote('EUR')).sources, ['kraken', 'coinbase', 'ecb'])
  ask = null
  nowMs += MINUTE
  assert.deepEqual((await rates.quote('EUR')).sources, ['coinbase', 'ecb'], 'where no market answers')
})
