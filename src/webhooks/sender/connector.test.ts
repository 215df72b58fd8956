import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { request } from 'undici'
import { createWebhookAgent } from './connector.ts'
import { createResolver, DnsError, type ResolvedAddress } from './resolver.ts'

let secretServer: Server
let port = 0
let reached = 0

before(async () => {
  secretServer = createServer((_request, response) => {
    response.end('secret')
  })
  // count connections, not requests: even connecting is forbidden
  secretServer.on('connection', () => {
    reached += 1
  })
  await new Promise<void>((resolve) => secretServer.listen(0, resolve)) // every address of this machine
  port = (secretServer.address() as AddressInfo).port
})

after(() => {
  secretServer.closeAllConnections()
  secretServer.close()
})

const PUBLIC: ResolvedAddress = { address: '192.0.0.9', family: 4 }
const LOOPBACK: ResolvedAddress = { address: '127.0.0.1', family: 4 }

const codeOf = async (
  url: string,
  resolve?: () => Promise<ResolvedAddress[]>,
  allowedRanges: string[] = [],
): Promise<string> => {
  const dispatcher = createWebhookAgent({ allowedRanges, timeoutMs: 200, ...(resolve ? { resolve } : {}) })
  try {
    const { body } = await request(url, { dispatcher, method: 'POST', body: '{}' })
    await body.dump()
    return 'reached'
  } catch (error) {
    return (error as { code: string }).code
  } finally {
    await dispatcher.destroy()
  }
}

test('a literal private address is refused although no look-up happens for one', async () => {
  for (const host of ['127.0.0.1', '[::1]', '[::ffff:127.0.0.1]', '2130706433', '0177.0.0.1', '[::]', '0.0.0.0']) {
    assert.equal(await codeOf(`http://${host}:${port}/`), 'ADDRESS_REFUSED', host)
  }
  assert.equal(reached, 0)
})

test('a name at a private address is refused, also when only one of its addresses is private', async () => {
  assert.equal(await codeOf(`http://evil.example:${port}/`, async () => [LOOPBACK]), 'ADDRESS_REFUSED')
  const elsewhere: ResolvedAddress = { address: '127.0.0.9', family: 4 }
  const allowed = ['127.0.0.9/32']
  for (const mixed of [
    [elsewhere, LOOPBACK],
    [LOOPBACK, elsewhere],
  ]) {
    assert.equal(await codeOf(`http://evil.example:${port}/`, async () => mixed, allowed), 'ADDRESS_REFUSED')
  }
  assert.equal(await codeOf(`http://evil.example:${port}/`, async () => []), 'ADDRESS_REFUSED')
  assert.equal(await codeOf(`http://localhost:${port}/`), 'ADDRESS_REFUSED')
  assert.equal(reached, 0)
})

test('a name that answers an allowed address first, loopback next, never reaches loopback in 1 000 tries', async () => {
  let turn = 0
  const resolve = async (): Promise<ResolvedAddress[]> => {
    turn += 1
    return turn % 2 === 1 ? [PUBLIC] : [LOOPBACK]
  }
  // the allowed address has no listener, so every try resolves the name again
  const dispatcher = createWebhookAgent({ allowedRanges: ['192.0.0.9/32'], timeoutMs: 20, resolve })
  const tries = Array.from({ length: 1000 }, () =>
    request(`http://rebind.example:${port}/`, { dispatcher, method: 'POST', body: '{}' }).then(
      () => 'reached',
      () => 'refused',
    ),
  )
  assert.deepEqual(new Set(await Promise.all(tries)), new Set(['refused']))
  await dispatcher.destroy()
  assert.ok(turn >= 1000)
  assert.equal(reached, 0)
})

test('an allowed range is reached, by literal and by name', async () => {
  assert.equal(await codeOf(`http://127.0.0.1:${port}/`, undefined, ['127.0.0.0/8']), 'reached')
  assert.equal(await codeOf(`http://shop.example:${port}/`, async () => [LOOPBACK], ['127.0.0.0/8']), 'reached')
  assert.equal(await codeOf(`http://localhost:${port}/`, undefined, ['127.0.0.0/8', '::1/128']), 'reached')
  const translated: ResolvedAddress = { address: '64:ff9b::7f00:1', family: 6 }
  const both = async () => [LOOPBACK, translated]
  assert.equal(await codeOf(`http://shop.example:${port}/`, both, ['127.0.0.0/8']), 'reached', 'with DNS64')
})

test('a name server that never answers is told apart from a name that does not exist', async () => {
  const silent = createSocket('udp4')
  await new Promise<void>((resolve) => silent.bind(0, '127.0.0.1', resolve))
  const resolve = createResolver({ servers: [`127.0.0.1:${silent.address().port}`], timeoutMs: 100 })
  await assert.rejects(resolve('shop.example'), (error) => error instanceof DnsError && error.code === 'ETIMEOUT')
  silent.close()
  assert.deepEqual((await resolve('LOCALHOST.')).map(({ address }) => address).includes('127.0.0.1'), true)
})

test('the name servers of the machine are read again when their file is written or replaced, and kept while it is away', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'comptoir-servers-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const [serversPath, draft] = [join(folder, 'resolv.conf'), join(folder, 'draft')]
  writeFileSync(serversPath, 'nameserver 127.0.0.2')
  // c-ares reads its own path only, so what counts is which of its resolvers is asked
  const asked: Resolver[] = []
  t.mock.method(Resolver.prototype, 'resolve4', async function (this: Resolver) {
    asked.push(this)
    return ['93.184.216.34']
  })
  t.mock.method(Resolver.prototype, 'resolve6', async () => [])
  const resolve = createResolver({ serversPath })
  const isNew = async (): Promise<boolean> => {
    await resolve('shop.example')
    return asked.at(-1) !== asked.at(-2)
  }
  await resolve('shop.example')
  assert.equal(await isNew(), false)
  writeFileSync(serversPath, 'nameserver 127.0.0.33')
  assert.equal(await isNew(), true, 'written')
  writeFileSync(draft, 'nameserver 127.0.0.44')
  renameSync(draft, serversPath)
  assert.equal(await isNew(), true, 'replaced')
  rmSync(serversPath)
  assert.equal(await isNew(), false, 'away')
  writeFileSync(serversPath, 'nameserver 127.0.0.5')
  assert.equal(await isNew(), true, 'back')
  assert.equal(await isNew(), false)
})
