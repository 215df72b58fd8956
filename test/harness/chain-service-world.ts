import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Db, openDb, sql } from '../../src/db/db.ts'
import { EVENTS } from '../../src/webhooks/outbox/events.ts'
import { startTestChain, type TestChain } from './chain.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { freePort } from './free-port.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import { type RpcProxy, startRpcProxy } from './rpc-proxy.ts'
import { type Served, startServed } from './served.ts'
import { type Merchant, startTestService, TEST_MASTER_KEY, type TestService } from './service.ts'
import { chainEnv } from './shop.ts'

/**
 * One merchant on a chain that is asked through three endpoints. A node answers the API; another one reads the chain,
 * applies what it saw, and sends webhooks: in this process, or as a process of its own that can be killed.
 */
export type ServiceWorld = {
  db: Db
  chain: TestChain
  /** Another chain of the same id. */
  other: TestChain
  proxies: RpcProxy[]
  receiver: Receiver
  front: TestService
  merchant: Merchant
  /** What the clock of the nodes of this process is ahead. */
  time: { aheadMs: number }
  /** What the worker of this process complained about last. */
  complaints(): string[]
  /** Stops the worker well, and starts it again. */
  restartWorker(): Promise<void>
  /** The worker becomes a process of its own. */
  moveWorkerOut(): Promise<void>
  /** Kills that process and goes on here. */
  killWorker(): Promise<void>
  stop(): Promise<void>
}

type Parts = Omit<
  ServiceWorld,
  'complaints' | 'restartWorker' | 'moveWorkerOut' | 'killWorker' | 'stop' | 'front' | 'merchant'
> & {
  database: TestDatabase
  env: Record<string, string>
  folder: string
}

async function openParts(): Promise<Parts> {
  const folder = mkdtempSync(join(tmpdir(), 'comptoir-chain-service-'))
  const [database, chain, receiver] = await Promise.all([createTestDatabase(), startTestChain(), startReceiver()])
  // the first block of a local chain differs by its second
  await new Promise((resolve) => setTimeout(resolve, 1100))
  const other = await startTestChain()
  await other.mine(40)
  const proxies = await Promise.all([1, 2, 3].map(() => startRpcProxy(chain.rpcUrl)))
  const env = {
    ...chainEnv(chain),
    CHAIN_31337_RPC_URL: proxies.map(({ url }) => url).join(),
    CHAIN_POLL_MS: '25',
    // blocks of a local chain may be minutes ahead of the clock
    ORDER_CHAIN_EXPIRY_MINUTES: '44640',
  }
  const db = openDb({ connectionString: database.connectionString, max: 3 })
  return { database, db, chain, other, proxies, receiver, env, folder, time: { aheadMs: 0 } }
}

export async function openServiceWorld(): Promise<ServiceWorld> {
  const parts = await openParts()
  const { database, db, chain, other, proxies, receiver, env, folder, time } = parts
  const { connectionString } = database
  const start = (workers: boolean) =>
    startTestService({ env, connectionString, workers, clock: () => Date.now() + time.aheadMs })
  const front = await start(false)
  const merchant = await front.createMerchant()
  await db.run(sql`update companies set optional_events = ${[...EVENTS]} where id = ${merchant.companyId}`)
  let worker: TestService | undefined = await start(true)
  let child: Served | undefined

  const stopWorker = async (): Promise<void> => {
    await worker?.stop()
    worker = undefined
  }
  return {
    ...{ db, chain, other, proxies, receiver, front, merchant, time },
    complaints: () => (worker?.logLines ?? []).filter((line) => !/"level":[123]0|clock is off/.test(line)).slice(-5),
    async restartWorker() {
      if (child) return
      await stopWorker()
      worker = await start(true)
    },
    async moveWorkerOut() {
      await stopWorker()
      const port = await freePort()
      const own = { DATABASE_URL: connectionString, DATA_DIR: folder, ROLES: 'worker' }
      const key = { MASTER_KEY: TEST_MASTER_KEY.toString('base64') }
      child = startServed({ ...env, ...own, ...key, PORT: `${port}`, BASE_URL: `http://127.0.0.1:${port}` })
      await child.ready()
    },
    async killWorker() {
      assert.ok(child)
      await child.end('SIGKILL')
      child = undefined
      // as if the minute had passed for which it kept what it was working on
      await db.run(sql`update chain_heads set lease_until = now()`)
      await db.run(sql`update payments set lease_until = null where lease_until is not null`)
      worker = await start(true)
    },
    async stop() {
      await child?.end()
      await stopWorker()
      await front.stop()
      for (const proxy of proxies) await proxy.stop()
      await Promise.all([chain.stop(), other.stop(), receiver.close(), db.close()])
      await database.drop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
