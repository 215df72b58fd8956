import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { after, before, test } from 'node:test'
import { runChecks } from '../src/checks/check.ts'
import { credentialChecks } from '../src/checks/credential-checks.ts'
import { type ProviderWorld, startProviderWorld } from './harness/providers.ts'

let world: ProviderWorld

before(async () => {
  world = await startProviderWorld()
})
after(() => world?.stop())

const check = (changes: Record<string, string> = {}) =>
  runChecks(credentialChecks({ provider: { ...world.providers.credentials, ...changes }, live: false }))

test('doctor asks every provider that is set up, and all accept right credentials', async () => {
  const results = await check()
  const names = results.map(({ name }) => name).sort()
  assert.deepEqual(
    names,
    ['binance', 'coinbase', 'cryptopay', 'gatepay', 'kucoinpay', 'whitepay', 'whitepay-non-custody'].map(
      (id) => `credentials ${id}`,
    ),
  )
  assert.deepEqual(
    results.filter(({ ok }) => !ok),
    [],
  )
})

test('a wrong secret is named with the variables to look at, and not printed', async () => {
  const coinbaseKey = generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
  const wrong = {
    CHANNEL_COINBASE_KEY_SECRET: coinbaseKey,
    CHANNEL_BINANCE_API_SECRET: 'wrong-secret-of-binance',
    CHANNEL_WHITEPAY_TOKEN: 'wrong-token',
  }
  const failed = (await check(wrong)).filter(({ ok }) => !ok)
  const named = failed.map(({ name, fix }) => `${name}: ${fix}`).sort()
  assert.deepEqual(named, [
    'credentials binance: Check the CHANNEL_BINANCE_ variables.',
    'credentials coinbase: Check the CHANNEL_COINBASE_ variables.',
    'credentials whitepay-non-custody: Check the CHANNEL_WHITEPAY_ variables.',
    'credentials whitepay: Check the CHANNEL_WHITEPAY_ variables.',
  ])
  assert.doesNotMatch(JSON.stringify(failed), /wrong-secret|wrong-token/)
})
