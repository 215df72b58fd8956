import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Client, logInSuperAdmin, register } from './harness/accounts.ts'
import { type Market, openMarket } from './harness/market.ts'

type Offer = {
  paymentChannel: string
  available: boolean
  reason: string | null
  reasonCode: string | null
  circuit: { state: string; cause: string | null; openUntil: string | null; clockAheadSeconds: number | null } | null
}

let market: Market
let admin: Client

before(async () => {
  market = await openMarket()
  admin = await logInSuperAdmin(market.host)
})
after(() => market?.stop())

const offerOf = async (channel: string, who: Client = admin): Promise<Offer | undefined> =>
  (await who.get<Offer[]>('channels')).data.find(({ paymentChannel }) => paymentChannel === channel)
const acceptNew = async (channel: string) => market.accept((await market.create()).code, channel)
const metrics = async (): Promise<string> => (await market.host.call('GET', '/metrics')).text

test('refused credentials: the payer chooses another way, and the operator reads which channel and why', async () => {
  await market.tell('credentials-refused', { provider: 'gatepay', seconds: 3600 })
  const refused = await acceptNew('gatepay')
  assert.deepEqual([refused.status, refused.error.code], [502, 'CHANNEL_UNAVAILABLE'])
  const offer = await offerOf('gatepay')
  assert.deepEqual([offer?.available, offer?.circuit?.state, offer?.circuit?.cause], [false, 'open', 'credentials'])
  assert.match(offer?.reason ?? '', /refuses our credentials/)
  assert.equal(offer?.reasonCode, 'credentials')
  const waitMs = Date.parse(offer?.circuit?.openUntil ?? '') - Date.now()
  assert.ok(waitMs > 30_000 && waitMs <= 60_000, 'a trial follows within a minute')
  assert.match(
    await metrics(),
    /comptoir_channel_circuit_open\{channel="gatepay",account="operator",cause="credentials"\} 1/,
  )
  const asked = market.host.logLines.length
  const again = await acceptNew('gatepay')
  assert.equal(again.error.code, 'CHANNEL_UNAVAILABLE')
  assert.ok(market.host.logLines.length >= asked)
})

test('a wrong clock is named as such, with how far it is off', async () => {
  await market.tell('clock-skew', { provider: 'binance', seconds: 3600 })
  const refused = await acceptNew('binance')
  assert.deepEqual([refused.status, refused.error.code], [502, 'CHANNEL_UNAVAILABLE'])
  const offer = await offerOf('binance')
  assert.equal(offer?.circuit?.cause, 'clock')
  assert.match(offer?.reason ?? '', /clock is (59\d|60\d) s behind the provider’s/)
  const ahead = offer?.circuit?.clockAheadSeconds ?? 0
  assert.ok(ahead < -590 && ahead > -610, String(ahead))
  assert.match(await metrics(), /comptoir_channel_clock_ahead_seconds\{channel="binance"\} -\d+/)
})

test('a merchant and a visitor with an account read that a channel is away, not the state of the operator’s account', async () => {
  const { data } = await market.host.call<Offer[]>('GET', '/api/next/channels', { as: market.merchant })
  const offer = data.find(({ paymentChannel }) => paymentChannel === 'gatepay')
  assert.deepEqual([offer?.available, offer?.circuit], [false, null])
  const { client } = await register(market.host.baseUrl, { role: 'SimpleUser' })
  const seen = await offerOf('gatepay', client)
  assert.deepEqual([seen?.available, seen?.circuit], [false, null])
})

test('a currency that a provider does not take is not offered', async () => {
  const ask = (query: string) =>
    market.host.call<Offer[]>('GET', `/api/next/channels?${query}`, { as: market.merchant })
  const inFrancs = (await ask('amount=6000&fromAsset=XPF')).data.find((one) => one.paymentChannel === 'cryptopay')
  assert.equal(inFrancs?.available, false)
  assert.match(inFrancs?.reason ?? '', /XPF/)
  const inEuros = (await ask('amount=50&fromAsset=EUR')).data.find((one) => one.paymentChannel === 'cryptopay')
  assert.equal(inEuros?.available, true)
})
