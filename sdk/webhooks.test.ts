import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import Stripe from 'stripe'
import { signTestWebhook, verifyWebhook, type WebhookErrorCode, WebhookVerificationError } from './webhooks.ts'

const SECRET = `whsec_${Buffer.alloc(32, 5).toString('base64')}`
const PAYLOAD = {
  event: 'order.paid',
  code: 'abc',
  goods: { goodsName: 'Café ☕' },
  updatedAt: '2026-07-03T09:30:00.000Z',
}
const EXAMPLES = join(import.meta.dirname, 'examples')

const refuses = (code: WebhookErrorCode) => (error: unknown) =>
  error instanceof WebhookVerificationError && error.code === code

type Headers = Record<string, string>

/** Only the headers of one scheme. */
const only = (scheme: 'service' | 'standard', headers: Headers): Headers =>
  Object.fromEntries(
    Object.entries(headers).filter(([name]) => name.startsWith(scheme === 'service' ? 'service-' : 'webhook-')),
  )

test('a signed webhook is verified from text, bytes and ArrayBuffer, by either scheme and from any kind of headers', async () => {
  const { body, headers } = await signTestWebhook(PAYLOAD, SECRET)
  const bytes = new TextEncoder().encode(body)
  for (const raw of [body, bytes, bytes.buffer, Buffer.from(body)]) {
    const event = await verifyWebhook(raw, headers, SECRET)
    assert.deepEqual([event.id, event.type, event.createdAt], [headers['webhook-id'], 'order.paid', PAYLOAD.updatedAt])
    assert.deepEqual(event.data, PAYLOAD)
  }
  const upper = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]]))
  const kinds = [new Headers(headers), new Map(Object.entries(headers)), upper]
  for (const kind of [...kinds, only('service', headers), only('standard', headers)]) {
    assert.equal((await verifyWebhook(body, kind, SECRET)).id, headers['webhook-id'])
  }
  assert.match(headers['service-webhook-id'] ?? '', /^[0-9a-f]{32}$/)
})

test('what is signed is what the libraries of Stripe and of Standard Webhooks verify', async () => {
  const { body, headers } = await signTestWebhook(PAYLOAD, SECRET)
  const stripe = new Stripe('sk_test_x').webhooks.constructEvent(body, headers['service-signature'] ?? '', SECRET)
  assert.equal((stripe as unknown as { event: string }).event, 'order.paid')
  assert.deepEqual(new StandardWebhook(SECRET).verify(body, headers), PAYLOAD)
})

test('a test event is verified, but has the type that no shop acts on, unless the caller asks for what it plays', async () => {
  const { body, headers } = await signTestWebhook({ ...PAYLOAD, test: true }, SECRET)
  const event = await verifyWebhook(body, headers, SECRET)
  assert.deepEqual([event.type, event.data.event, event.data.test], ['test', 'order.paid', true])
  assert.equal((await verifyWebhook(body, headers, SECRET, { testEvents: true })).type, 'order.paid')
  for (const given of [false, 'true', 1, null]) {
    const other = await signTestWebhook({ ...PAYLOAD, test: given }, SECRET)
    assert.equal((await verifyWebhook(other.body, other.headers, SECRET)).type, 'order.paid', JSON.stringify(given))
  }
})

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/** The text with one letter changed, at each position: once in the last bit that it carries in base64, once in more. */
function* changesOf(text: string): Generator<string> {
  for (let index = 0; index < text.length; index += 1) {
    const letter = text[index] === '7' ? '8' : '7'
    const place = BASE64.indexOf(text.charAt(index))
    const near = place < 0 ? '.' : BASE64.charAt(place ^ 1)
    for (const other of [letter, near].filter((one) => one !== text[index]))
      yield text.slice(0, index) + other + text.slice(index + 1)
  }
}

test('one changed character of body, signature, t, id or secret is refused, at each place', async () => {
  const { body, headers } = await signTestWebhook(PAYLOAD, SECRET)
  const refused = (attempt: Promise<unknown>, what: string) => assert.rejects(attempt, WebhookVerificationError, what)
  for (const name of ['service-signature', 'webhook-signature', 'webhook-timestamp', 'webhook-id'] as const) {
    for (const changed of changesOf(headers[name] ?? ''))
      await refused(verifyWebhook(body, { ...headers, [name]: changed }, SECRET), `${name}: ${changed}`)
  }
  for (const changed of changesOf(body)) {
    await refused(verifyWebhook(changed, headers, SECRET), changed)
    await refused(verifyWebhook(changed, only('service', headers), SECRET), changed)
  }
  for (const changed of changesOf(SECRET)) await refused(verifyWebhook(body, headers, changed), changed)
})

/** What a setting that was forgotten or cut may hold: anyone could sign with it. */
const NO_SECRETS = ['', 'whsec_', 'whsec_YWJj', `whsec_${'*'.repeat(28)}`, SECRET.slice(1), `${SECRET}\n`]

test('a secret that is none of Comptoir’s verifies nothing, by either scheme', async () => {
  const { body, headers } = await signTestWebhook(PAYLOAD, SECRET)
  const at = headers['webhook-timestamp'] ?? ''
  for (const secret of NO_SECRETS) {
    const hmac = createHmac('sha256', secret).update(`${at}.${body}`).digest('hex')
    const forged = { ...only('service', headers), 'service-signature': `t=${at},v1=${hmac}` }
    for (const one of [forged, only('standard', headers), headers])
      await assert.rejects(verifyWebhook(body, one, secret), refuses('SIGNATURE_MISMATCH'), JSON.stringify(secret))
    await assert.rejects(signTestWebhook(PAYLOAD, secret), WebhookVerificationError)
  }
})

test('the age limit is five minutes in both directions, and can be set', async () => {
  const nowMs = 1_800_000_000_000
  const at = (seconds: number) => signTestWebhook(PAYLOAD, SECRET, { atSeconds: nowMs / 1000 + seconds })
  for (const scheme of ['service', 'standard'] as const) {
    for (const seconds of [-300, 0, 300]) {
      const { body, headers } = await at(seconds)
      assert.deepEqual((await verifyWebhook(body, only(scheme, headers), SECRET, { nowMs })).data, PAYLOAD)
    }
    for (const seconds of [-301, 301]) {
      const { body, headers } = await at(seconds)
      const attempt = verifyWebhook(body, only(scheme, headers), SECRET, { nowMs })
      await assert.rejects(attempt, refuses('TIMESTAMP_OUTSIDE_TOLERANCE'))
      await verifyWebhook(body, only(scheme, headers), SECRET, { nowMs, toleranceSeconds: 301 })
    }
  }
})

test('a missing or malformed header says so; a second v1 may be the good one', async () => {
  const { body, headers } = await signTestWebhook(PAYLOAD, SECRET)
  const header = headers['service-signature'] ?? ''
  for (const missing of [{}, { 'service-signature': '' }, new Headers()]) {
    await assert.rejects(verifyWebhook(body, missing, SECRET), refuses('HEADER_MISSING'))
  }
  for (const wrong of ['t=1', 'v1=ab', header.toUpperCase(), 't=x,v1=y', '{}']) {
    await assert.rejects(verifyWebhook(body, { 'service-signature': wrong }, SECRET), refuses('HEADER_MALFORMED'))
  }
  await assert.rejects(
    verifyWebhook(body, { 'webhook-signature': headers['webhook-signature'] }, SECRET),
    refuses('HEADER_MALFORMED'),
  )
  const second = header.replace(',v1=', `,v1=${'0'.repeat(64)},v1=`)
  await verifyWebhook(body, { 'service-signature': second }, SECRET)
})

const LANGUAGES: [command: string, file: string][] = [
  [process.execPath, 'verify.js'],
  ['python3', 'verify.py'],
  ['php', 'verify.php'],
]

/** Missing, malformed, not ASCII. */
const badHeaders = (t: number): (string | undefined)[] => {
  const mac = 'a'.repeat(64)
  const parts = ['', 'garbage', '=', ',,', 'v1=', 'v1=zz', `v2=${mac}`, `v1=${mac}`].map((part) => `t=${t},${part}`)
  return [undefined, '', 'garbage', '=', ',,', `v1=${mac}`, `t=x,v1=${mac}`, `t[]=1,v1[]=${mac}`, 't=1,v1=é', ...parts]
}

for (const [command, file] of LANGUAGES.filter(([command]) => spawnSync(command, ['--version']).status === 0)) {
  test(`the example ${file} verifies a good webhook and refuses a forged and an old one`, async () => {
    const run = (input: string, signature?: string, secret = SECRET): string => {
      const env = { ...process.env, SIGNATURE: signature, WEBHOOK_SECRET: secret }
      return spawnSync(command, [join(EXAMPLES, file)], { env, input })
        .stdout.toString()
        .trim()
    }
    const { body, headers } = await signTestWebhook(PAYLOAD, SECRET)
    const signature = headers['service-signature'] ?? ''
    assert.equal(run(body, signature), 'verified')
    assert.equal(run(body.replace('abc', 'abd'), signature), 'refused')
    const old = await signTestWebhook(PAYLOAD, SECRET, { atSeconds: 1_700_000_000 })
    assert.equal(run(old.body, old.headers['service-signature'] ?? ''), 'refused')
    for (const header of badHeaders(Math.floor(Date.now() / 1000))) assert.equal(run(body, header), 'refused', header)
    const at = Math.floor(Date.now() / 1000)
    for (const secret of ['', 'whsec_']) {
      const forged = createHmac('sha256', secret).update(`${at}.${body}`).digest('hex')
      assert.equal(run(body, `t=${at},v1=${forged}`, secret), 'refused', 'a secret that is not set')
    }
  })
}

test('the reference shows the examples without a client as they are', () => {
  const reference = readFileSync(join(import.meta.dirname, '../docs/webhooks.md'), 'utf8')
  for (const [, file] of LANGUAGES) assert.ok(reference.includes(readFileSync(join(EXAMPLES, file), 'utf8')), file)
})
