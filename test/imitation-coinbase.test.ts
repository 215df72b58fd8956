import assert from 'node:assert/strict'
import { createPrivateKey, sign } from 'node:crypto'
import { after, before, test } from 'node:test'
import { type ImitationWorld, startImitations } from './harness/imitation.ts'

/* Sessions at the imitation of Coinbase Onramp against its OpenAPI document; no adapter of ours takes part. */
let world: ImitationWorld
before(async () => {
  world = await startImitations()
})
after(() => world?.stop())

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** A CDP token for one request. */
function tokenFor(uri: string): string {
  const kid = world.credential('CHANNEL_COINBASE_KEY_ID')
  const bytes = Buffer.from(world.credential('CHANNEL_COINBASE_KEY_SECRET'), 'base64')
  const [d, x] = [bytes.toString('base64url', 0, 32), bytes.toString('base64url', 32)] as const
  const key = createPrivateKey({ key: { kty: 'OKP', crv: 'Ed25519', d, x }, format: 'jwk' })
  const now = Math.floor(world.now() / 1000)
  const head = encode({ alg: 'EdDSA', kid, typ: 'JWT', nonce: 'ab'.repeat(16) })
  const body = encode({ sub: kid, iss: 'cdp', uris: [uri], iat: now, nbf: now, exp: now + 120 })
  return `${head}.${body}.${sign(null, Buffer.from(`${head}.${body}`), key).toString('base64url')}`
}

type Session = { session?: { onrampUrl: string }; quote?: Record<string, unknown>; errorMessage?: string }

let nth = 0
async function open(more: Record<string, unknown> = {}): Promise<[number, Session, string]> {
  nth += 1
  const destinationAddress = `0x${nth.toString(16).padStart(40, '7')}`
  const { host } = new URL(world.url)
  const answer = await fetch(`${world.url}/coinbase/platform/v2/onramp/sessions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${tokenFor(`POST ${host}/coinbase/platform/v2/onramp/sessions`)}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({
      purchaseCurrency: 'USDC',
      purchaseAmount: '54.00',
      destinationNetwork: 'base',
      destinationAddress,
      partnerUserRef: `sandbox-${nth}`,
      ...more,
    }),
  })
  return [answer.status, (await answer.json()) as Session, destinationAddress]
}

test('a preset amount with its paymentCurrency is taken and kept; other currencies are refused', async () => {
  const [status, , address] = await open({ paymentCurrency: 'EUR' })
  assert.equal(status, 201)
  const kept = (await (await fetch(`${world.url}/payments/${address}`)).json()) as { facts: Record<string, unknown> }
  assert.equal(kept.facts.paymentCurrency, 'EUR')
  for (const paymentCurrency of ['CHF', 'XPF', 'eur', ''])
    assert.deepEqual((await open({ paymentCurrency })).slice(0, 1), [400], paymentCurrency)
})

test('a preset amount without paymentCurrency is refused', async () => {
  const [status, { errorMessage }] = await open()
  assert.deepEqual([status, errorMessage], [400, 'paymentCurrency is required with a preset amount'])
})

test('a quote comes only with amount, currency, method and country', async () => {
  const full = { paymentCurrency: 'EUR', paymentMethod: 'CARD', country: 'FR' }
  const [, { quote }] = await open(full)
  assert.deepEqual([quote?.purchaseAmount, quote?.paymentCurrency], ['54.00', 'EUR'])
  assert.equal((await open({ ...full, country: undefined }))[1].quote, undefined)
  assert.equal((await open({ ...full, paymentMethod: 'CASH' }))[0], 400)
})
