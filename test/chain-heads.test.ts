import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { pino } from 'pino'
import { assignDepositAddress } from '../src/chain/deposits/deposit-addresses.ts'
import { openEndpoints } from '../src/chain/endpoints/endpoints.ts'
import { type HeadFeed, type HeadTimes, listenForHeads } from '../src/chain/endpoints/heads.ts'
import { createRpc, type Rpc } from '../src/chain/endpoints/rpc.ts'
import { networkFor } from '../src/chain/networks.ts'
import { type Scanner, startScanner } from '../src/chain/scanner.ts'
import { listTransfersTo } from '../src/chain/transfer-queries.ts'
import { readConfig } from '../src/config/config.ts'
import { type Db, openDb } from '../src/db/db.ts'
import { newTestXpub, startTestChain, type TestChain } from './harness/chain.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'
import { type HeadServer, headOf, SUBSCRIBED, startHeadServer, textFrame } from './harness/head-server.ts'
import { type RpcProxy, startRpcProxy } from './harness/rpc-proxy.ts'
import { eventually } from './harness/service.ts'

/* Blocks that a node announces over WebSocket: a reason to look at once, and nothing more. */

const XPUB = newTestXpub()
const QUICK: Partial<HeadTimes> = { openingMs: 300, silenceMs: 300, firstPauseMs: 20, maxPauseMs: 40, timeOutMs: 5000 }

let database: TestDatabase
let db: Db
let chain: TestChain
let proxy: RpcProxy
let rpc: Rpc
let server: HeadServer
let scanner: Scanner
let feed: HeadFeed
let reasons: string[] = []
let wakes = 0

const log = pino({ level: 'info' }, { write: (line: string) => void reasons.push(JSON.parse(line).reason ?? '') })

before(async () => {
  database = await createTestDatabase()
  db = openDb({ connectionString: database.connectionString, max: 4 })
  chain = await startTestChain()
  proxy = await startRpcProxy(chain.rpcUrl)
  rpc = createRpc({ url: proxy.url })
})
after(async () => {
  await rpc?.close()
  await proxy?.stop()
  await chain?.stop()
  await db?.close()
  await database?.drop()
})
beforeEach(async () => {
  server = await startHeadServer()
  reasons = []
  wakes = 0
})
afterEach(async () => {
  await feed?.stop()
  await scanner?.stop()
  await server.stop()
})

/** A scanner that polls so often, beside a node that announces blocks. */
function open(url: string, pollMs: number): void {
  const network = networkFor({ chainId: chain.chainId, usdcAddress: chain.usdcAddress })
  const endpoints = openEndpoints(network, [rpc])
  scanner = startScanner({ db, network, endpoints, log, pollMs, onChange: () => {} })
  const onHead = (): void => {
    wakes += 1
    scanner.wake()
  }
  feed = listenForHeads({ url, log, name: { chainId: chain.chainId, heads: 1 }, onHead, times: QUICK })
}

let nth = 0
async function assign(): Promise<string> {
  nth += 1
  const wanted = { companyId: 'c', reference: `${nth}`, xpub: XPUB, watchedUntil: new Date('2100-01-01') }
  return (await db.tx((tx) => assignDepositAddress(tx, wanted))).address
}

async function paidIsSeen(): Promise<void> {
  const address = await assign()
  await chain.pay({ to: address, units: 5n })
  await eventually(
    () => listTransfersTo(db, [address]),
    (transfers) => transfers.length === 1,
  )
}

test('each block that a node announces is read at once, long before the next poll', async () => {
  open(chain.rpcUrl.replace('http:', 'ws:'), 600_000)
  await eventually(
    async () => feed.isOpen(),
    (isOpen) => isOpen,
  )
  for (let block = 0; block < 3; block += 1) await paidIsSeen()
})

test('what came while the connection was away is read when the subscription is taken again', async () => {
  open(server.url, 600_000)
  server.behave(({ text, socket }) => {
    text(SUBSCRIBED)
    socket.end()
  })
  await eventually(
    async () => reasons.length,
    (ends) => ends > 0,
  )
  server.behave(() => {})
  const address = await assign()
  await chain.pay({ to: address, units: 5n })
  server.behave(({ text }) => text(SUBSCRIBED))
  await eventually(
    () => listTransfersTo(db, [address]),
    (transfers) => transfers.length === 1,
  )
})

test('a node that lies about its blocks makes us look, at most ten times a second, and nothing of it is recorded', async () => {
  open(server.url, 100)
  server.behave(({ text }) => {
    text(SUBSCRIBED)
    for (let block = 0; block < 150; block += 1) text(headOf(`0x${block}`))
  })
  await eventually(
    async () => wakes,
    (count) => count > 0,
  )
  assert.ok(wakes <= 3, `${wakes} wakes`)
  await paidIsSeen()
})

/** Each hurts no one: the payment is seen by polling, and the connection is given up with a reason. */
const HOSTILE: { what: string; behave: Parameters<HeadServer['behave']>[0]; reason: RegExp; rests: boolean }[] = [
  { what: 'never takes the subscription', behave: () => {}, reason: /did not take the subscription/, rests: false },
  { what: 'falls silent', behave: ({ text }) => text(SUBSCRIBED), reason: /silent for too long/, rests: false },
  { what: 'closes', behave: ({ socket }) => socket.end(), reason: /closed|failed/, rests: false },
  {
    what: 'floods',
    behave: ({ text, socket }) => {
      text(SUBSCRIBED)
      const frames = Buffer.concat(Array.from({ length: 500 }, () => textFrame(headOf('0x1'))))
      const pump = (): void => {
        while (!socket.destroyed && socket.write(frames));
        if (!socket.destroyed) socket.once('drain', pump)
      }
      pump()
    },
    reason: /more messages than any chain/,
    rests: true,
  },
  {
    what: 'sends a giant frame',
    behave: ({ text, socket }) => {
      text(SUBSCRIBED)
      socket.write(textFrame('{"method":', 8 * 1024 ** 3))
      const fill = (): void => {
        while (!socket.destroyed && socket.write(Buffer.alloc(65_536)));
        if (!socket.destroyed) socket.once('drain', fill)
      }
      fill()
    },
    reason: /closed|failed/,
    rests: false,
  },
  {
    what: 'offers no subscription',
    behave: ({ text }) => text('{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method"}}'),
    reason: /offers no subscription/,
    rests: true,
  },
  { what: 'speaks no JSON', behave: ({ text }) => text('<html>'), reason: /does not speak JSON-RPC/, rests: true },
]

for (const { what, behave, reason, rests } of HOSTILE) {
  test(`a node that ${what} is given up, ${rests ? 'for a while' : 'and connected again'}; polling goes on`, async () => {
    server.behave(behave)
    const heapBefore = process.memoryUsage().rss
    open(server.url, 50)
    await paidIsSeen()
    await eventually(
      async () => reasons,
      (seen) => seen.some((one) => reason.test(one)),
    )
    if (rests) {
      await new Promise((resolve) => setTimeout(resolve, 150))
      assert.equal(server.opened(), 1)
    } else
      await eventually(
        async () => server.opened(),
        (count) => count > 1,
      )
    assert.ok(process.memoryUsage().rss - heapBefore < 200 * 1024 * 1024)
    server.behave(({ text }) => {
      text(SUBSCRIBED)
      text(headOf('0xa'))
    })
    if (!rests)
      await eventually(
        async () => wakes,
        (count) => count > 0,
      )
  })
}

test('a node that is not there costs nothing but log lines', async () => {
  open('ws://127.0.0.1:1', 50)
  await paidIsSeen()
  assert.equal(feed.isOpen(), false)
})

test('CHAIN_<id>_RPC_URL takes WebSocket addresses beside others, never alone', () => {
  const read = (url: string) => readConfig({ CHAIN_31337_RPC_URL: url })
  const { config } = read('http://a:1,wss://b/secret , https://c')
  assert.deepEqual(config.chains[0]?.rpcUrls, ['http://a:1', 'https://c'])
  assert.deepEqual(config.chains[0]?.headUrls, ['wss://b/secret'])
  for (const url of ['wss://secret', 'http://a,ftp://secret', '']) {
    const { faults } = read(url)
    if (url !== '') assert.match(faults.join(), /CHAIN_31337_RPC_URL: must be one or more URLs/)
    assert.doesNotMatch(faults.join(), /secret/)
  }
})
