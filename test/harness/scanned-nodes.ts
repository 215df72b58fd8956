import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { pino } from 'pino'
import { type ChainTrouble, findHead, listStandings } from '../../src/chain/chain-queries.ts'
import { assignDepositAddress } from '../../src/chain/deposits/deposit-addresses.ts'
import type { EndpointFault } from '../../src/chain/endpoints/endpoint.ts'
import { type Endpoints, openEndpoints } from '../../src/chain/endpoints/endpoints.ts'
import { createRpc } from '../../src/chain/endpoints/rpc.ts'
import { type Network, networkFor } from '../../src/chain/networks.ts'
import { startScanner } from '../../src/chain/scanner.ts'
import { listTransfersTo } from '../../src/chain/transfer-queries.ts'
import { type Db, openDb, sql } from '../../src/db/db.ts'
import { SECOND } from '../../src/kernel/clock.ts'
import { newTestXpub, startTestChain, type TestChain } from './chain.ts'
import { createTestDatabase } from './database.ts'
import { type RpcProxy, startRpcProxy } from './rpc-proxy.ts'

type Test = { after(work: () => unknown): void }
type Nodes = {
  endpoints: Endpoints
  /** The test's clock; looks turn it. */
  time: { nowMs: number }
  /** The node of this number, from 1. */
  proxy(number: number): RpcProxy
  /** Looks once a second for so long; a look that fails is made again. */
  lookOn(seconds: number): Promise<void>
  faults(): (EndpointFault | null)[]
  alarms(): string[]
  warnings(): string[]
}

export type ScannedChain = {
  chain: TestChain
  db: Db
  network: Network
  /** A scanner with so many nodes, all honest until their faults are set, after its first look. */
  openNodes(t: Test, count: number, network?: Network, timeoutMs?: number): Promise<Nodes>
  /** A new deposit address. */
  assign(): Promise<string>
  /** So many addresses are watched in all, at least. */
  watch(count: number): Promise<void>
  payNew(units: bigint): Promise<string>
  seen(address: string): Promise<string[]>
  head(): Promise<bigint | undefined>
  trouble(): Promise<ChainTrouble | null | undefined>
  stop(): Promise<void>
}

/** A chain and a database of their own, and scanners that read the chain through nodes with faults. */
export async function startScannedChain(): Promise<ScannedChain> {
  const database = await createTestDatabase()
  const db = openDb({ connectionString: database.connectionString, max: 4 })
  const chain = await startTestChain()
  const network = networkFor({ chainId: chain.chainId, usdcAddress: chain.usdcAddress })
  const xpub = newTestXpub()
  const watched = { companyId: 'c'.repeat(24), xpub, watchedUntil: new Date('2100-01-01') }
  const assign = async (): Promise<string> => {
    const reference = randomBytes(6).toString('hex')
    return (await db.tx((tx) => assignDepositAddress(tx, { ...watched, reference }))).address
  }
  return {
    ...{ chain, db, network, assign },
    openNodes: (t, count, its = network, timeoutMs = 10 * SECOND) =>
      openNodes(t, { db, network: its, rpcUrl: chain.rpcUrl, count, timeoutMs }),
    // what no payment comes to need not be derived from a key
    watch: async (count) =>
      void (await db.run(sql`
        insert into deposit_addresses (address, company_id, reference, watched_until)
        select '0x' || left(encode(sha256(reference::bytea), 'hex'), 40), ${watched.companyId}, reference,
          ${watched.watchedUntil}
        from (
          select gen_random_uuid()::text as reference
          from generate_series(1, ${count} - (select count(*)::integer from deposit_addresses))
        ) as missing`)),
    payNew: async (units) => {
      const address = await assign()
      await chain.pay({ to: address, units })
      return address
    },
    seen: async (address) => (await listTransfersTo(db, [address])).map(({ units, status }) => `${units} ${status}`),
    head: async () => (await findHead(db, chain.chainId))?.number,
    trouble: async () => (await listStandings(db, [chain.chainId]))[0]?.trouble,
    stop: async () => {
      await chain.stop()
      await db.close()
      await database.drop()
    },
  }
}

async function openNodes(
  t: Test,
  {
    db,
    network,
    rpcUrl,
    count,
    timeoutMs,
  }: { db: Db; network: Network; rpcUrl: string } & Record<'count' | 'timeoutMs', number>,
): Promise<Nodes> {
  const proxies = await Promise.all(Array.from({ length: count }, () => startRpcProxy(rpcUrl)))
  const rpcs = proxies.map(({ url }) => createRpc({ url, timeoutMs }))
  const lines: { level: number; msg: string }[] = []
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const time = { nowMs: Date.now() }
  const clock = () => time.nowMs
  const endpoints = openEndpoints(network, rpcs, { clock })
  const scanner = startScanner({ db, network, endpoints, log, pollMs: 0, onChange: () => {}, clock })
  t.after(async () => {
    await scanner.stop()
    for (const rpc of rpcs) await rpc.close()
    for (const proxy of proxies) await proxy.stop()
    await db.run(sql`truncate chain_heads, chain_blocks, chain_transfers cascade`)
  })
  await scanner.tick()
  return {
    ...{ endpoints, time },
    proxy: (number) => proxies[number - 1] as RpcProxy,
    lookOn: async (seconds) => {
      for (let second = 0; second < seconds; second += 1) {
        await scanner.tick().catch((error: Error) => assert.equal(error.name, 'RpcError'))
        time.nowMs += SECOND
      }
    },
    faults: () => endpoints.all.map((endpoint) => endpoint.fault()),
    alarms: () => lines.filter(({ level }) => level >= 50).map(({ msg }) => msg),
    warnings: () => lines.filter(({ level }) => level === 40).map(({ msg }) => msg),
  }
}
