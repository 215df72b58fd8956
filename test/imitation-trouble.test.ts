import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, before, test } from 'node:test'
import { type ImitationWorld, startImitations } from './harness/imitation.ts'

/* Stories that every imitation takes part in; no adapter of ours takes part. */
let world: ImitationWorld
before(async () => {
  world = await startImitations()
})
after(() => world?.stop())

type Binance = { status: number; code: string; date: number }

async function askBinance(timestamp = Date.now()): Promise<Binance> {
  const nonce = 'a'.repeat(32)
  const signature = createHmac('sha512', world.credential('CHANNEL_BINANCE_API_SECRET'))
    .update(`${timestamp}\n${nonce}\n{}\n`)
    .digest('hex')
    .toUpperCase()
  const answer = await fetch(`${world.credential('CHANNEL_BINANCE_BASE_URL')}/binancepay/openapi/certificates`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'BinancePay-Timestamp': String(timestamp),
      'BinancePay-Nonce': nonce,
      'BinancePay-Certificate-SN': world.credential('CHANNEL_BINANCE_API_KEY'),
      'BinancePay-Signature': signature,
    },
    body: '{}',
  })
  const date = Date.parse(answer.headers.get('date') ?? '')
  return { status: answer.status, code: ((await answer.json()) as { code: string }).code, date }
}
const askWhitepay = async (): Promise<number> => {
  const headers = { authorization: `Bearer ${world.credential('CHANNEL_WHITEPAY_TOKEN')}` }
  const url = `${world.credential('CHANNEL_WHITEPAY_BASE_URL')}/private-api/order-statuses`
  return (await fetch(url, { headers })).status
}

test('credentials are refused in the provider’s own way, for a while, at one provider or at all', async () => {
  await world.story('credentials-refused', { provider: 'binance', seconds: 10 })
  assert.deepEqual([(await askBinance()).status, (await askBinance()).code], [401, '400004'])
  assert.equal(await askWhitepay(), 200)
  await world.story('credentials-refused', { seconds: 10 })
  assert.equal(await askWhitepay(), 401)
  world.pass(10_001)
  assert.equal(await askWhitepay(), 200)
  assert.equal((await askBinance(world.now())).code, '000000')
})

test('a provider whose clock is ten minutes ahead refuses our time, and its Date header says why', async () => {
  await world.story('clock-skew', { provider: 'binance', seconds: 30 })
  const refused = await askBinance(world.now())
  assert.deepEqual([refused.status, refused.code], [406, '400003'])
  assert.ok(Math.abs(refused.date - world.now() - 600_000) < 3000)
  assert.equal((await askBinance(world.now() + 600_000)).code, '000000', 'the key is right')
  world.pass(30_001)
  assert.equal((await askBinance(world.now())).code, '000000')
})

test('every story and action has a name that the API lists; other names are 404 with the list', async () => {
  const stories = (await (await fetch(`${world.url}/stories`)).json()) as string[]
  for (const name of stories) assert.equal((await world.post(`/stories/${name}`, { seconds: 0.001 })).status, 200, name)
  const unknown = await world.post('/stories/rain')
  assert.equal(unknown.status, 404)
  assert.match(await unknown.text(), /refund-pending, /)
  assert.equal((await world.post('/payments/none/pay')).status, 404)
})
