import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { after, before, test } from 'node:test'
import { printSdk, readOpenApi } from '../scripts/print-sdk.ts'
import { Comptoir, type Ignored, isComptoirError, signTestWebhook, WaitError } from '../sdk/index.ts'
import { sql } from '../src/db/db.ts'
import { allows } from '../src/orders/order-states.ts'
import { sendBadUploads } from './harness/bad-uploads.ts'
import { freePort } from './harness/free-port.ts'
import { copySdk } from './harness/sdk-copy.ts'
import { openShop, type Shop } from './harness/shop.ts'

const ROOT = join(import.meta.dirname, '..')
const SECRET = `whsec_${Buffer.alloc(32, 5).toString('base64')}`

let shop: Shop
let client: Comptoir
let shopFolder: string | undefined

before(async () => {
  shop = await openShop({ allEvents: true })
  const { 'x-api-key': apiKey = '', 'x-api-secret': apiSecret = '' } = shop.merchant.headers
  client = new Comptoir({ baseUrl: shop.host.baseUrl, apiKey, apiSecret })
})
after(async () => {
  await shop?.stop()
  if (shopFolder !== undefined) rmSync(shopFolder, { recursive: true, force: true })
})

test('what is generated of the SDK is what the OpenAPI document says', async () => {
  const differ = Object.entries(printSdk(await readOpenApi())).flatMap(([file, text]) =>
    readFileSync(join(ROOT, file), 'utf8') === text ? [] : [file],
  )
  assert.deepEqual(differ, [], 'run: npm run sdk')
})

const order = { amount: '50.00', fromAsset: 'EUR' }

test('an order from creation to refund, by the comfortable methods', async () => {
  const { merchantIdentifier } = shop.merchant
  const alias = `INV ${crypto.randomUUID()}/1`
  const { code, paymentUrl } = await client.orders.create({ ...order, merchantIdentifier, alias })
  assert.match(paymentUrl, new RegExp(`/pay\\?code=${code}$`))
  assert.equal((await client.orders.getByReference(alias)).code, code)
  const instructions = await client.orders.accept(code, { paymentChannel: 'crypto' })
  const paid = client.orders.waitUntil(code, 'PAID', { timeoutMs: 30_000, pollMs: 100 })
  await shop.chain.pay({ to: instructions.toAddress ?? '', units: 54_000_000n })
  await shop.makeFinal()
  assert.equal((await paid).status, 'PAID')
  const { refundId } = await client.orders.refund(code, { amount: '4', reason: 'one cup was cold' })
  const refund = await client.refunds.get(refundId)
  assert.deepEqual([refund.amount, refund.reason], ['4.000000', 'one cup was cold'])
  assert.ok((await client.refunds.list().all()).some(({ _id }) => _id === refundId))
  assert.ok((await client.links.list().all()).some((link) => link.code === code))
  const told = (await client.events.list().all()).filter((event) => event.order.code === code).map(({ event }) => event)
  assert.deepEqual(told.slice(0, 3), ['order.initial', 'order.pending', 'order.awaiting'])
})

test('waiting for PAID ends at once on an order that is refunded', async () => {
  const { merchantIdentifier } = shop.merchant
  const { code } = await client.orders.create({ ...order, merchantIdentifier })
  await shop.host.db.run(sql`update orders set status = 'REFUNDED' where code = ${code}`)
  const companyId = shop.merchant.companyId
  const waiting = client.orders.waitUntil(code, 'PAID', { timeoutMs: 30_000, pollMs: 100, companyId })
  await assert.rejects(waiting, (error) => error instanceof WaitError && /REFUNDED and will not/.test(error.message))
  const further = client.orders.waitUntil(code, 'FULL_REFUNDED', { timeoutMs: 300, pollMs: 100 })
  await assert.rejects(further, /still REFUNDED/)
})

test('waiting ends with the order when it ends otherwise, and with the time when nothing happens', async () => {
  const { merchantIdentifier } = shop.merchant
  const { code } = await client.orders.create({ ...order, merchantIdentifier })
  const short = client.orders.waitUntil(code, 'PAID', { timeoutMs: 300, pollMs: 100 })
  await assert.rejects(short, (error) => error instanceof WaitError && error.order.status === 'INITIAL')
  const ended = client.orders.waitUntil(code, ['PAID'], { timeoutMs: 30_000, pollMs: 100 })
  await client.orders.cancel(code)
  await assert.rejects(ended, (error) => error instanceof WaitError && error.order.status === 'CANCELLED')
})

test('a wait that an ended order ends says what can still make it PAID, where a transition does', async () => {
  const { merchantIdentifier } = shop.merchant
  const { code } = await client.orders.create({ ...order, merchantIdentifier })
  for (const ended of ['CANCELLED', 'EXPIRED', 'ERROR', 'KYT_FAILED', 'FULL_REFUNDED'] as const) {
    await shop.host.db.run(sql`update orders set status = ${ended} where code = ${code}`)
    const error: unknown = await client.orders.waitUntil(code, 'PAID').catch((thrown: unknown) => thrown)
    assert.ok(error instanceof WaitError)
    const [late, again] = [allows(ended, 'payLate'), allows(ended, 'requote')]
    const said = [/money that comes late/, /a new quote/, /can still make it PAID/, /will not become PAID/]
    const found = said.map((words) => words.test(error.message))
    assert.deepEqual(found, [late, again, late || again, !late && !again], error.message)
  }
})

test('payment links are paged by cursor, each once, also when others arrive; the answer stays an array', async () => {
  const { merchantIdentifier } = shop.merchant
  const made: string[] = []
  for (let index = 0; index < 5; index += 1) {
    const created = await client.orders.create({ ...order, merchantIdentifier, alias: `page-${index}` })
    made.unshift(created.code)
  }
  const first = await shop.host.call('GET', '/api/next/confirm_conversion/links?limit=2&search=page-', {
    as: shop.merchant,
  })
  assert.ok(Array.isArray(first.data) && first.data.length === 2)
  const cursor = first.headers.get('comptoir-next-cursor') ?? ''
  assert.match(
    first.headers.get('link') ?? '',
    new RegExp(`^<http.+/links\\?limit=2&search=page-&cursor=${cursor}>; rel="next"$`),
  )
  await client.orders.create({ ...order, merchantIdentifier, alias: 'page-late' })
  const second = await shop.host.call(
    'GET',
    `/api/next/confirm_conversion/links?limit=9&search=page-&cursor=${cursor}`,
    { as: shop.merchant },
  )
  assert.deepEqual([second.headers.get('comptoir-next-cursor'), second.headers.get('link')], [null, null])
  const codes = [first, second].flatMap(({ data }) => (data as unknown as { code: string }[]).map(({ code }) => code))
  assert.deepEqual(codes, made)
})

test('a failure names its code, its request and the page about it', async () => {
  const failed: unknown = await client.orders
    .get('unknown', { requestId: 'my-request-1' })
    .catch((error: unknown) => error)
  assert.ok(isComptoirError(failed, 'ORDER_NOT_FOUND'))
  assert.deepEqual([failed.status, failed.requestId], [404, 'my-request-1'])
  assert.equal(failed.docs, `${shop.host.baseUrl}/docs/errors/ORDER_NOT_FOUND`)
})

test('a misspelt field of an order is named, and the order is made', async () => {
  const heard: unknown[] = []
  const { 'x-api-key': apiKey = '', 'x-api-secret': apiSecret = '' } = shop.merchant.headers
  const onIgnored = (ignored: Ignored): unknown => heard.push(ignored)
  const careful = new Comptoir({ baseUrl: shop.host.baseUrl, apiKey, apiSecret, onIgnored })
  const { merchantIdentifier } = shop.merchant
  const misspelt = { ...order, merchantIdentifier, returnURL: 'https://shop.example/thanks' }
  assert.match((await careful.orders.create(misspelt)).code, /^\w+$/)
  assert.deepEqual(heard, [{ operation: 'createOrder', names: ['returnURL'] }])
})

/* ---- the package, as a shop installs it ---- */

/** Every Node on this machine of another major version, besides the one that runs this. */
function nodes(): string[] {
  const places = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'node'))
  const versions = new Map([[process.versions.node.split('.')[0], process.execPath]])
  for (const place of places) {
    const { stdout, status } = spawnSync(place, ['--version'], { encoding: 'utf8' })
    const major = status === 0 ? stdout.slice(1).split('.')[0] : undefined
    if (major !== undefined && Number(major) >= 20 && !versions.has(major)) versions.set(major, place)
  }
  return [...versions.values()]
}

/** The folder of a shop that has the package; packed and installed once. */
function install(): string {
  if (shopFolder !== undefined) return shopFolder
  const folder = mkdtempSync(join(tmpdir(), 'comptoir-sdk-'))
  const run = (command: string, args: string[], cwd: string): void => {
    const done = spawnSync(command, args, { cwd, encoding: 'utf8' })
    assert.equal(done.status, 0, `${command} ${args.join(' ')}\n${done.stdout}\n${done.stderr}`)
  }
  const checkout = mkdtempSync(join(tmpdir(), 'comptoir-sdk-'))
  run('npm', ['pack', '--pack-destination', folder], copySdk(checkout))
  rmSync(checkout, { recursive: true })
  const [archive = ''] = readdirSync(folder)
  writeFileSync(join(folder, 'package.json'), '{"private":true}')
  run('npm', ['install', '--offline', '--no-audit', '--no-fund', join(folder, archive)], folder)
  assert.deepEqual(
    readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.')),
    ['@comptoir'],
  )
  shopFolder = folder
  return folder
}

const SHOP = `
const { createServer } = http
const client = new Comptoir({ baseUrl: process.env.URL, apiKey: process.env.KEY, apiSecret: process.env.SECRET })
const server = createServer(async (request, response) => {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  const event = await verifyWebhook(Buffer.concat(chunks), request.headers, process.env.WEBHOOK_SECRET)
  response.end()
  if (event.type === 'order.paid') {
    console.log('verified ' + event.type + ' ' + event.data.code)
    process.exit()
  }
}).listen(0, '127.0.0.1', async () => {
  const webhookUrl = 'http://127.0.0.1:' + server.address().port
  const { code } = await client.orders.create({ amount: '50.00', fromAsset: 'EUR', merchantIdentifier: 'TILL-1', webhookUrl })
  const { toAddress } = await client.orders.accept(code, { paymentChannel: 'crypto' })
  console.log('pay ' + toAddress + ' ' + code)
})`

/** Runs the shop's program; pays when it says where. @returns everything it printed */
async function runShop(node: string, file: string, cwd: string): Promise<string> {
  const { 'x-api-key': KEY = '', 'x-api-secret': SECRET = '' } = shop.merchant.headers
  const env = { URL: shop.host.baseUrl, KEY, SECRET, WEBHOOK_SECRET: shop.merchant.webhookSecret }
  const child = spawn(node, [file], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const timer = setTimeout(() => child.kill(), 60_000)
  let output = ''
  let paid = false
  child.stderr.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  for await (const chunk of child.stdout) {
    output += String(chunk)
    const to = /^pay (0x\w+)/m.exec(output)?.[1]
    if (to === undefined || paid) continue
    paid = true
    await shop.chain.pay({ to, units: 54_000_000n })
    await shop.makeFinal()
  }
  clearTimeout(timer)
  return output
}

test('packed and installed into an empty folder, ESM and CommonJS reach a verified webhook on every Node here', async () => {
  const folder = install()
  writeFileSync(
    join(folder, 'shop.mjs'),
    `import http from 'node:http'\nimport { Comptoir, verifyWebhook } from '@comptoir/sdk'\n${SHOP}`,
  )
  writeFileSync(
    join(folder, 'shop.cjs'),
    `const http = require('node:http')\nconst { Comptoir, verifyWebhook } = require('@comptoir/sdk')\n${SHOP}`,
  )
  const all = nodes()
  console.log(
    `Node ${all.map((node) => spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout.trim()).join(', ')}`,
  )
  for (const node of all) {
    for (const file of ['shop.mjs', 'shop.cjs']) {
      const output = await runShop(node, file, folder)
      const [, code] = /^pay \S+ (\w+)$/m.exec(output) ?? []
      assert.ok(code && output.includes(`verified order.paid ${code}`), `${node} ${file}: ${output}`)
    }
  }
})

/** Runs a receiver of the package's examples and posts to it; the status codes. */
async function tryExample(path: string, bodies: readonly string[], headers: Record<string, string>): Promise<number[]> {
  const port = await freePort()
  const env = { ...process.env, WEBHOOK_SECRET: SECRET, PORT: String(port) }
  const child = spawn(process.execPath, [path], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const closed = once(child, 'close')
  const ended = closed.then(([code]) => assert.fail(`${path} ended with ${code}`))
  await Promise.race([once(child.stdout, 'data'), ended])
  await sendBadUploads(port)
  const answers = bodies.map((body) => fetch(`http://127.0.0.1:${port}/webhooks`, { method: 'POST', headers, body }))
  const statuses = (await Promise.all(answers)).map(({ status }) => status)
  child.kill()
  await closed
  return statuses
}

test('the examples come with the package, run from there, and go on after an upload that is cut off or has no end', async () => {
  const folder = install()
  const examples = join(folder, 'node_modules/@comptoir/sdk/examples')
  symlinkSync(join(ROOT, 'node_modules/fastify'), join(folder, 'node_modules/fastify'))
  const { body, headers } = await signTestWebhook({ event: 'order.paid', code: 'abc' }, SECRET)
  const forged = body.replace('abc', 'abd')
  for (const file of ['plain.mjs', 'fastify.mjs'])
    assert.deepEqual(await tryExample(join(examples, file), [body, forged], headers), [204, 400], file)
  const env = { ...process.env, SIGNATURE: headers['service-signature'], WEBHOOK_SECRET: SECRET }
  const verify = (input: string): string =>
    spawnSync(process.execPath, [join(examples, 'verify.js')], { env, input, encoding: 'utf8' }).stdout.trim()
  assert.deepEqual([verify(body), verify(forged)], ['verified', 'refused'])
  // Express is not here to run it
  const express = spawnSync(process.execPath, ['--check', join(examples, 'express.mjs')], { encoding: 'utf8' })
  assert.equal(express.status, 0, express.stderr)
  const listed = readdirSync(examples).sort()
  assert.deepEqual(listed, ['express.mjs', 'fastify.mjs', 'plain.mjs', 'verify.js', 'verify.php', 'verify.py'])
})

const TYPED = `import { Comptoir, type ComptoirEvent, isComptoirError } from '@comptoir/sdk'
const client = new Comptoir({ baseUrl: 'https://pay.example', apiKey: 'a', apiSecret: 'b' })
export async function use(event: ComptoirEvent): Promise<string | null> {
  for await (const order of client.orders.list({ status: ['PAID'] })) order.code.length
  try { await client.orders.confirm('x') } catch (error) { if (isComptoirError(error, 'PAYMENT_NOT_RECEIVED')) return error.docs ?? null }
  switch (event.type) {
    case 'order.paid': return event.data.paidAt
    case 'kyc.approved': return event.data.kycId
    default: return null
  }
}
// @ts-expect-error no such state
void client.orders.waitUntil('x', 'PAYED')
// @ts-expect-error the amount is missing
void client.orders.create({ fromAsset: 'EUR' })
// @ts-expect-error no such code
export const wrong = isComptoirError(new Error(), 'ORDER_NOT_FOUNT')
`

test('its types hold in a strict project, as ESM and as CommonJS', () => {
  const folder = install()
  const files = ['use.mts', 'use.cts']
  for (const file of files) writeFileSync(join(folder, file), TYPED)
  const tsc = join(ROOT, 'node_modules/typescript-compiler/bin/tsc')
  const flags = '--strict --noEmit --ignoreConfig --target es2022 --lib es2022,dom --module nodenext'.split(' ')
  const done = spawnSync(process.execPath, [tsc, ...flags, ...files], { cwd: folder, encoding: 'utf8' })
  assert.equal(done.status, 0, done.stdout)
})
