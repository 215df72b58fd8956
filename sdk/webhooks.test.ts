import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { signTestWebhook, verifyWebhook, type WebhookErrorCode, WebhookVerificationError } from './webhooks.ts'

const SECRET = `whsec_${Buffer.alloc(32, 5).toString('base64')}`
const PAYLOAD = { event: 'order.paid', code: 'abc', goods: { goodsName: 'Café ☕' } }
const EXAMPLES = join(import.meta.dirname, 'examples')

const refuses = (code: WebhookErrorCode) => (error: unknown) =>
  error instanceof WebhookVerificationError && error.code === code

test('a signed webhook is verified from text, bytes and ArrayBuffer, and its body returned', async () => {
  const { body, headers } = await signTestWebhook(PAYLOAD, SECRET)
  const bytes = new TextEncoder().encode(body)
  for (const raw of [body, bytes, bytes.buffer, Buffer.from(body)]) {
    assert.deepEqual(await verifyWebhook(raw, headers['service-signature'], SECRET), PAYLOAD)
  }
  assert.match(headers['service-webhook-id'] ?? '', /^[0-9a-f]{32}$/)
})

test('one changed character of body, t, v1 or secret is refused, in 500 random places', async () => {
  const { body, headers } = await signTestWebhook(PAYLOAD, SECRET)
  const header = headers['service-signature'] ?? ''
  const change = (text: string): string => {
    const index = Math.floor(Math.random() * text.length)
    const other = text[index] === '7' ? '8' : '7'
    return text.slice(0, index) + other + text.slice(index + 1)
  }
  for (let round = 0; round < 500; round += 1) {
    const which = round % 3
    const attempt = verifyWebhook(
      which === 0 ? change(body) : body,
      which === 1 ? change(header) : header,
      which === 2 ? change(SECRET) : SECRET,
    )
    await assert.rejects(attempt, WebhookVerificationError)
  }
})

test('the age limit is five minutes in both directions, and can be set', async () => {
  const nowMs = 1_800_000_000_000
  const at = (seconds: number) => signTestWebhook(PAYLOAD, SECRET, { atSeconds: nowMs / 1000 + seconds })
  for (const seconds of [-300, 0, 300]) {
    const { body, headers } = await at(seconds)
    assert.deepEqual(await verifyWebhook(body, headers['service-signature'], SECRET, { nowMs }), PAYLOAD)
  }
  for (const seconds of [-301, 301]) {
    const { body, headers } = await at(seconds)
    const attempt = verifyWebhook(body, headers['service-signature'], SECRET, { nowMs })
    await assert.rejects(attempt, refuses('TIMESTAMP_OUTSIDE_TOLERANCE'))
    await verifyWebhook(body, headers['service-signature'], SECRET, { nowMs, toleranceSeconds: 301 })
  }
})

test('a missing or malformed header says so; a second v1 may be the good one', async () => {
  const { body, headers } = await signTestWebhook(PAYLOAD, SECRET)
  const header = headers['service-signature'] ?? ''
  for (const missing of ['', null, undefined]) {
    await assert.rejects(verifyWebhook(body, missing, SECRET), refuses('HEADER_MISSING'))
  }
  for (const wrong of ['t=1', 'v1=ab', header.toUpperCase(), 't=x,v1=y', '{}']) {
    await assert.rejects(verifyWebhook(body, wrong, SECRET), refuses('HEADER_MALFORMED'))
  }
  await verifyWebhook(body, header.replace(',v1=', `,v1=${'0'.repeat(64)},v1=`), SECRET)
})

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as { port: number }
  probe.close()
  await once(probe, 'close')
  return port
}

async function startExample(file: string, port: number): Promise<ChildProcess> {
  const env = { ...process.env, WEBHOOK_SECRET: SECRET, PORT: String(port) }
  const child = spawn(process.execPath, [join(EXAMPLES, file)], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  return child
}

for (const file of ['plain.ts', 'fastify.ts']) {
  test(`the example ${file} answers 204 to a good webhook and 400 to a forged one`, async () => {
    const port = await freePort()
    const child = await startExample(file, port)
    try {
      const { body, headers } = await signTestWebhook(PAYLOAD, SECRET)
      const post = async (text: string): Promise<number> =>
        (await fetch(`http://127.0.0.1:${port}/webhooks`, { method: 'POST', headers, body: text })).status
      assert.equal(await post(body), 204)
      assert.equal(await post(body.replace('abc', 'abd')), 400)
    } finally {
      child.kill()
      await once(child, 'exit')
    }
  })
}

const LANGUAGES: [command: string, file: string][] = [
  ['python3', 'verify.py'],
  ['php', 'verify.php'],
]

for (const [command, file] of LANGUAGES.filter(([command]) => spawnSync(command, ['--version']).status === 0)) {
  test(`the example ${file} verifies a good webhook and refuses a forged and an old one`, async () => {
    const run = (input: string, signature: string): string => {
      const env = { ...process.env, SIGNATURE: signature, WEBHOOK_SECRET: SECRET }
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
    assert.equal(run(body, ''), 'refused')
  })
}

test('the reference shows the Python and PHP examples as they are', () => {
  const reference = readFileSync(join(import.meta.dirname, '../docs/webhooks.md'), 'utf8')
  for (const [, file] of LANGUAGES) assert.ok(reference.includes(readFileSync(join(EXAMPLES, file), 'utf8')), file)
})
