import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { bareEnv } from './harness/bare-env.ts'

/* A key is sent only to its own instance, and never over plain http, except on this computer. */

const BIN = join(import.meta.dirname, '../bin/comptoir.cjs')
const ENV_KEY = { COMPTOIR_API_KEY: 'pk_env', COMPTOIR_API_SECRET: 'sk_env' }

let folder: string
let server: Server
let port: number
let here: string
let secrets: string[] = []
/** Where the server sends its visitors instead of answering. */
let elsewhere: string | undefined

before(async () => {
  server = createServer((request, response) => {
    secrets.push(String(request.headers['x-api-secret']))
    if (elsewhere !== undefined && request.headers.host !== new URL(elsewhere).host)
      return void response.writeHead(307, { location: `${elsewhere}${request.url}` }).end()
    response.end(request.url?.includes('/download') ? '_id\r\n' : '{"data":{"orders":[],"nextCursor":null}}')
  }).listen(0, '0.0.0.0')
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
  here = `http://127.0.0.1:${port}`
})
beforeEach(() => {
  secrets = []
  elsewhere = undefined
  folder = mkdtempSync(join(tmpdir(), 'comptoir-keys-'))
})
afterEach(() => rmSync(folder, { recursive: true }))
after(() => server.close())

async function run(args: string[], env: Record<string, string>): Promise<{ code: number; err: string }> {
  const own = { HOME: folder, XDG_CONFIG_HOME: join(folder, 'config'), COMPTOIR_LOGIN_FILE: join(folder, 'login.json') }
  const child = spawn(process.execPath, [BIN, ...args], { cwd: folder, env: { ...bareEnv(), ...own, ...env } })
  child.stdin.end('secret\n')
  const [err, [code]] = await Promise.all([child.stderr.toArray(), once(child, 'close')])
  return { code, err: Buffer.concat(err).toString() }
}

const LIST = ['orders', 'list']

const putLogins = (...logins: { url: string; apiKey: string; apiSecret: string }[]): void =>
  writeFileSync(join(folder, 'login.json'), JSON.stringify({ current: logins[0]?.url, logins }))

const putSandbox = (): void => {
  mkdirSync(join(folder, 'data'))
  const file = { baseUrl: here, apiKey: 'pk_sandbox', apiSecret: 'sk_sandbox' }
  writeFileSync(join(folder, 'data/sandbox.json'), JSON.stringify(file))
}

test('no key goes over plain http to another computer, wherever it is from', async () => {
  const own = Object.values(networkInterfaces())
    .flat()
    .find((one) => one?.family === 'IPv4' && !one.internal)?.address
  // without a network, one for documents (RFC 5737): it must be refused before anything is sent
  const address = own ?? '192.0.2.1'
  const url = `http://${address}:${port}`
  putLogins({ url, apiKey: 'pk_login', apiSecret: 'sk_login' })
  for (const env of [{ COMPTOIR_URL: url, ...ENV_KEY }, {}]) {
    const { code, err } = await run(LIST, env)
    assert.deepEqual([code, secrets], [2, []])
    assert.match(err, /^Use https for http:/)
  }
})

test('the key of the environment goes to COMPTOIR_URL alone; another --url takes its own login', async () => {
  const env = { COMPTOIR_URL: 'https://pay.example', ...ENV_KEY }
  const refused = await run([...LIST, '--url', here], env)
  assert.deepEqual([refused.code, secrets], [2, []])
  assert.equal(refused.err.split('\n')[0], `No key for ${here} is known here. Run "comptoir login --url ${here}".`)
  putLogins({ url: here, apiKey: 'pk_login', apiSecret: 'sk_login' })
  assert.equal((await run([...LIST, '--url', `${here}/`], env)).code, 0)
  assert.equal((await run([...LIST, '--url', here], { ...ENV_KEY, COMPTOIR_URL: `${here}/` })).code, 0)
  assert.deepEqual(secrets, ['sk_login', 'sk_env'])
})

test('a key without COMPTOIR_URL is refused, and a sandbox in the folder does not draw it to itself', async () => {
  putSandbox()
  const { code, err } = await run(LIST, ENV_KEY)
  assert.deepEqual([code, secrets], [2, []])
  assert.match(err, /^COMPTOIR_API_KEY is set, but COMPTOIR_URL is not/)
  const other = await run([...LIST, '--url', 'http://127.0.0.1:1'], ENV_KEY)
  assert.deepEqual([other.code, other.err], [2, err], 'it is no key of another address either')
  assert.equal((await run([...LIST, '--url', here], ENV_KEY)).code, 0)
  assert.equal((await run(LIST, {})).code, 0)
  assert.deepEqual(secrets, ['sk_sandbox', 'sk_sandbox'])
})

test('a damaged data/sandbox.json is named', async () => {
  mkdirSync(join(folder, 'data'))
  for (const text of ['{"baseUrl":', 'null', '{}']) {
    writeFileSync(join(folder, 'data/sandbox.json'), text)
    const { code, err } = await run(LIST, {})
    assert.deepEqual([code, err.split('\n')[0]?.split('. ')[0]], [2, 'data/sandbox.json is damaged'], text)
    assert.equal((await run(LIST, { COMPTOIR_URL: here, ...ENV_KEY })).code, 0, 'the environment needs no sandbox')
  }
  const paying = await run(['orders', 'pay', 'x'], { COMPTOIR_URL: here, ...ENV_KEY })
  assert.match(paying.err, /^data\/sandbox\.json is damaged/)
})

test('half a key in the environment is refused, and no other key takes its place', async () => {
  putLogins({ url: here, apiKey: 'pk_login', apiSecret: 'sk_login' })
  for (const [set, missing] of [
    ['COMPTOIR_API_KEY', 'COMPTOIR_API_SECRET'],
    ['COMPTOIR_API_SECRET', 'COMPTOIR_API_KEY'],
  ] as const)
    for (const env of [{ COMPTOIR_URL: here, [set]: 'x' }, { [set]: 'x' }] as Record<string, string>[]) {
      const { code, err } = await run(LIST, env)
      assert.deepEqual([code, err.split('\n')[0]], [2, `${set} is set, but ${missing} is not. Set both, or neither.`])
    }
  assert.deepEqual(secrets, [])
})

test('a redirect takes neither key nor password to another host', async () => {
  elsewhere = `http://localhost:${port}`
  const env = { COMPTOIR_URL: here, ...ENV_KEY }
  for (const args of [LIST, ['orders', 'export', 'all.csv']])
    assert.equal((await run(args, env)).code, 1, args.join(' '))
  const login = await run(['login', '--url', here, '--email', 'ann@shop.example'], {})
  assert.equal(login.code, 1)
  assert.match(login.err, /answered with a redirect\. Is --url right\?/)
  assert.deepEqual(secrets, ['sk_env', 'sk_env', 'undefined'], 'each asked once')
})

test('login says what is wrong with an address', async () => {
  const { code, err } = await run(['login', '--url', 'foo'], {})
  assert.deepEqual(
    [code, err.split('\n')[0]],
    [2, '"foo" is not the address of a service. Write it like https://pay.example.'],
  )
})
