import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { readOpenApi } from '../scripts/print-sdk.ts'
import { type OpenApi, operationsOf, type Schema } from '../src/http/openapi/document.ts'

/* What the one-file clients send, and what their errors say of it. No service: a server that notes what comes. */

const SDK = join(import.meta.dirname, '../sdk')
const isThere = (command: string): boolean => spawnSync(command, ['--version']).status === 0

type Sent = { url: string; key: string | undefined; body: string }

/** What a program sends to a server that answers nothing, 503 and BUSY, or an empty list; and what it prints. */
async function run(command: string, args: string[], env = {}): Promise<{ sent: Sent[]; out: string }> {
  const sent: Sent[] = []
  const server = createServer(async (request: IncomingMessage, response) => {
    const body = Buffer.concat(await request.toArray()).toString()
    const { url = '', headers } = request
    sent.push({ url, key: headers['idempotency-key']?.toString(), body })
    const json = { 'content-type': 'application/json', 'retry-after': '0' }
    const isFirst = sent.filter((one) => one.url === url).length === 1
    const isLost = url.includes('/lost') || (isFirst && /\/(proxied|signedOut|older|undone)/.test(url))
    if (isLost) return response.destroy()
    if (url.includes('/proxied')) return response.writeHead(404, { 'content-type': 'text/html' }).end('<html>')
    const refusal = (code: string): string => JSON.stringify({ error: { code, message: 'No.' } })
    if (url.includes('/signedOut')) return response.writeHead(401, json).end(refusal('UNAUTHORIZED'))
    if (url.includes('/older')) return response.writeHead(404, json).end(refusal('NOT_FOUND'))
    if (url.includes('/undone')) return response.writeHead(409, json).end(refusal('ORDER_STATE_CONFLICT'))
    if (url.includes('/busy')) return response.writeHead(503, json).end('{"error":{"code":"BUSY","message":"Busy."}}')
    response.writeHead(200, json).end('{"data":{"orders":[],"nextCursor":null}}')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const child = spawn(command, args, {
    env: { ...process.env, ...env, URL: url },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const out = Buffer.concat(await child.stdout.toArray()).toString()
  server.closeAllConnections()
  server.close()
  return { sent, out }
}

const runPhp = (code: string) =>
  run('php', ['-r', `require '${SDK}/php/Comptoir.php'; $api = new Comptoir(getenv('URL'), 'k', 's', 5, 0); ${code}`])
const runPython = (code: string, env = {}) => {
  const head = `import datetime, os, sys\nsys.path.insert(0, "${SDK}/python")\nfrom comptoir import Comptoir, ComptoirError\n`
  return run('python3', ['-c', `${head}api = Comptoir(os.environ["URL"], "k", "s", max_retries=0)\n${code}`], env)
}

const REPEATS = {
  php: () =>
    runPhp(`
      $api = new Comptoir(getenv('URL'), 'k', 's', 5, 1);
      foreach (['lost', 'busy', 'proxied', 'signedOut', 'older', 'undone'] as $code) {
        try { $api->refundOrder($code, ['amount' => '4.00']); }
        catch (ComptoirError $error) {
          echo json_encode([$error->idempotencyKey, $error->mayBeDone, $error->getMessage()]), "\\n";
        }
      }`),
  python3: () =>
    runPython(`
import json
api.max_retries = 1
for code in ("lost", "busy", "proxied", "signedOut", "older", "undone"):
    try:
        api.refund_order(code, amount="4.00")
    except ComptoirError as error:
        print(json.dumps([error.idempotency_key, error.may_be_done, str(error)]))
`),
}

for (const [command, repeat] of Object.entries(REPEATS)) {
  if (!isThere(command)) continue
  test(`${command}: the error of a refund without an answer names the key under which it is made once`, async () => {
    const { sent, out } = await repeat()
    const errors = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as [string, boolean, string])
    assert.deepEqual(
      errors.map(([key, mayBeDone]) => [key, mayBeDone]),
      // a proxy's page, and a refusal of before the key is looked up, say nothing of the try that was lost
      [true, false, true, true, true, false].map((mayBeDone, index) => [sent[2 * index]?.key, mayBeDone]),
    )
    const [lost, busy] = errors
    // shops show the message of the PHP client to people who repeat nothing
    const how = new RegExp(` It may have been done\\. .*repeat it with the idempotency_key ${lost?.[0]}\\.$`)
    assert.equal(how.test(lost?.[2] ?? ''), command !== 'php')
    assert.equal(busy?.[2], 'Busy.')
  })
}

/** Names whose values are objects, anywhere in a body. */
function objectNames(document: OpenApi): string[] {
  const names = new Set<string>()
  const visit = (given: Schema | undefined, name = ''): void => {
    const schema = given?.$ref ? document.components.schemas[given.$ref.split('/').at(-1) ?? ''] : given
    if (schema === undefined) return
    for (const part of [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])]) visit(part, name)
    if (name !== '' && [schema.type].flat().includes('object')) names.add(name)
    for (const [inner, field] of Object.entries(schema.properties ?? {})) visit(field, inner)
    visit(schema.items)
    if (typeof schema.additionalProperties === 'object') visit(schema.additionalProperties)
  }
  for (const { operation } of operationsOf(document)) visit(operation.requestBody?.content['application/json']?.schema)
  return [...names].sort()
}

test('PHP: a try that the deadline left no time for was not sent, so nothing may be done', {
  skip: !isThere('php'),
}, async () => {
  const { sent, out } = await runPhp(`
    $api = new Comptoir(getenv('URL'), 'k', 's', 5, 1, 0.05);
    usleep(60_000);
    try { $api->refundOrder('c'); } catch (ComptoirError $error) { echo json_encode($error->mayBeDone); }`)
  assert.deepEqual([sent, out], [[], 'false'])
})

test('the PHP client knows each field of a body that is an object', async () => {
  const list = /const OBJECTS = \[([^\]]*)\]/.exec(readFileSync(join(SDK, 'php/Comptoir.php'), 'utf8'))?.[1] ?? ''
  assert.deepEqual(
    [...list.matchAll(/'(\w+)'/g)].map(([, name]) => name),
    objectNames(await readOpenApi()),
  )
})

test('PHP: maps go out as objects, whatever their names, and lists as lists', { skip: !isThere('php') }, async () => {
  const { sent } = await runPhp(`
    $api->createOrder(['metadata' => []]);
    $api->createOrder(['metadata' => ['a', 'b'], 'goods' => ['name' => 'Tea']]);
    $api->call('PUT', '/api/next/x', ['scopes' => [], 'events' => ['order.paid'], 'texts' => ['de' => []]]);
    $api->confirmOrder('c');`)
  assert.deepEqual(
    sent.map(({ body }) => body),
    [
      '{"metadata":{}}',
      '{"metadata":{"0":"a","1":"b"},"goods":{"name":"Tea"}}',
      '{"scopes":[],"events":["order.paid"],"texts":{"de":{}}}',
      '{}',
    ],
  )
})

test('Python: a time without a zone is the machine’s, one with a zone its own', {
  skip: !isThere('python3'),
}, async () => {
  const { sent } = await runPython(
    `
at = datetime.datetime(2026, 1, 1, 12)
for to in (at, at.replace(tzinfo=datetime.timezone.utc), at.date()):
    list(api.list_orders(to=to))
`,
    { TZ: 'Asia/Kolkata' },
  )
  const times = sent.map(({ url }) => new URL(url, 'http://x').searchParams.get('to'))
  assert.deepEqual(times, ['2026-01-01T12:00:00+05:30', '2026-01-01T12:00:00+00:00', '2026-01-01'])
})
