import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
import { findHead } from '../src/chain/chain-queries.ts'
import { assignDepositAddress } from '../src/chain/deposits/deposit-addresses.ts'
import { auditDeposits } from '../src/chain/deposits/deposit-audit.ts'
import { openEndpoints } from '../src/chain/endpoints/endpoints.ts'
import { createRpc, RpcError } from '../src/chain/endpoints/rpc.ts'
import { recordNamedTransaction } from '../src/chain/named-transaction.ts'
import { networkFor } from '../src/chain/networks.ts'
import { rescan } from '../src/chain/rescan.ts'
import { startScanner } from '../src/chain/scanner.ts'
import { blockCall, TRANSFER_TOPIC, toTopic } from '../src/chain/transfer-logs.ts'
import { listTransfersTo, upsertTransfers } from '../src/chain/transfer-queries.ts'
import { rescanAll } from '../src/commands/rescan.ts'
import { type Db, openDb, sql } from '../src/db/db.ts'
import { newTestXpub, startTestChain, type TestChain } from './harness/chain.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'
import { newFolder, runOperator } from './harness/installation.ts'
import { type RpcProxy, startRpcProxy } from './harness/rpc-proxy.ts'
import { startScannedChain } from './harness/scanned-nodes.ts'
import { TEST_MASTER_KEY } from './harness/service.ts'
import { chainEnv } from './harness/shop.ts'

/** A chain that was reset loses its past here; one that was not must keep it. */

const place = newFolder()
let chain: TestChain
let database: TestDatabase

before(async () => {
  ;[chain, database] = await Promise.all([startTestChain(), createTestDatabase()])
})
after(async () => {
  await Promise.all([chain?.stop(), database?.drop()])
  place.remove()
})

const OTHER = `0x${'ab'.repeat(32)}`

async function withDb<Result>(work: (db: Db) => Promise<Result>): Promise<Result> {
  const db = openDb({ connectionString: database.connectionString, max: 1 })
  try {
    return await work(db)
  } finally {
    await db.close()
  }
}

const wasRead = (genesis: string) =>
  withDb((db) =>
    db.run(sql`
      insert into chain_heads (chain_id, genesis_hash, number, hash) values (31337, ${genesis}, 1, ${OTHER})
      on conflict (chain_id) do update set genesis_hash = excluded.genesis_hash, number = 1`),
  )

const remembered = () =>
  withDb((db) => db.one<{ genesisHash: string | null }>(sql`select genesis_hash from chain_heads`))

const LIVE = { MODE: 'live', BASE_URL: 'https://pay.example', OFFICE_URL: 'https://pay.example/app' }

const runRescan = (args: string[], env: Record<string, string> = {}) =>
  runOperator(['rescan', '--chain', '31337', ...args], {
    ...{ ...chainEnv(chain), DATABASE_URL: database.connectionString, DATA_DIR: place.path },
    ...{ MASTER_KEY: TEST_MASTER_KEY.toString('base64'), ...env },
  })
const startOver = (args: string[], env: Record<string, string> = {}) =>
  runRescan(['--from', '0', '--new-chain', ...args], env)

test('a chain that was not reset, was never read, or does not answer is never forgotten, not even with --yes', async () => {
  const unread = await startOver(['--yes'])
  assert.deepEqual([unread.code, /was never read\. There is nothing to forget/.test(unread.err)], [1, true], unread.err)
  const first = await chain.call<{ hash: string }>('eth_getBlockByNumber', '0x0', false)
  await wasRead(first.hash)
  const same = await startOver(['--yes'])
  assert.equal(same.code, 1, same.out)
  assert.match(
    same.err,
    /was not reset: its first block is the same\. Nothing was done\. .*rescan --chain 31337 --from/,
  )
  await wasRead(OTHER)
  const silent = await startOver(['--yes'], { CHAIN_31337_RPC_URL: 'http://127.0.0.1:1' })
  assert.deepEqual([silent.code, /may be the same chain\. Nothing was done/.test(silent.err)], [1, true], silent.err)
  assert.deepEqual(await remembered(), { genesisHash: OTHER })
})

test('a block that was not read yet is refused: reading nothing is no success', async () => {
  const first = await chain.call<{ hash: string }>('eth_getBlockByNumber', '0x0', false)
  await wasRead(first.hash)
  const beyond = await runRescan(['--from', '999999999'])
  assert.deepEqual([beyond.code, beyond.out], [1, ''])
  assert.match(beyond.err, /read up to block 1, not to 999999999\. Name an earlier block/)
})

test('a chain that was reset is forgotten after a yes, which the audit log keeps', async () => {
  await wasRead(OTHER)
  const asked = await startOver([])
  assert.deepEqual([asked.code, asked.out], [1, ''])
  assert.match(asked.err, /All transfers of chain 31337 will be forgotten.*Nothing was done: add --yes/)
  const live = await startOver([], LIVE)
  assert.deepEqual([live.code, /Nothing was done: live mode wants --yes/.test(live.err)], [1, true], live.err)
  assert.deepEqual(await remembered(), { genesisHash: OTHER })
  const done = await startOver(['--yes', '--json'])
  assert.equal(done.code, 0, done.err)
  assert.deepEqual(JSON.parse(done.out), { chainId: 31337, orphaned: 0 })
  assert.deepEqual(await remembered(), { genesisHash: null })
  const noted = await withDb((db) =>
    db.one<{ object: string }>(sql`select object from audit_log where action = 'chain.forget'`),
  )
  assert.equal(noted.object, 'chain:31337')
})

test('one of two endpoints that invents a transfer pays nothing where it is asked again: by an audit, by a named transaction; nor is a recorded one dropped while they disagree', async () => {
  const own = await createTestDatabase()
  const db = openDb({ connectionString: own.connectionString, max: 4 })
  const proxies = await Promise.all([startRpcProxy(chain.rpcUrl), startRpcProxy(chain.rpcUrl)])
  const rpcs = proxies.map(({ url }) => createRpc({ url }))
  const network = networkFor({ chainId: chain.chainId, usdcAddress: chain.usdcAddress })
  const endpoints = openEndpoints(network, rpcs, { clock: Date.now })
  const log = pino({ level: 'silent' })
  const reader = { db, network, endpoints, log }
  const scanner = startScanner({ ...reader, pollMs: 0, onChange: () => {}, clock: Date.now })
  try {
    const wanted = {
      companyId: 'c'.repeat(24),
      reference: 'r',
      xpub: newTestXpub(),
      watchedUntil: new Date('2100-01-01'),
    }
    const { address } = await db.tx((tx) => assignDepositAddress(tx, wanted))
    await scanner.tick()
    await chain.mine()
    await scanner.tick()
    const head = (await findHead(db, chain.chainId))?.number ?? 0n
    const [block] = (await rpcs[0]?.batch<{ hash: string; number: string }>([blockCall(head)])) ?? []
    const txHash = `0x${'d'.repeat(64)}`
    const topics = [TRANSFER_TOPIC, toTopic(`0x${'5'.repeat(40)}`), toTopic(address)]
    const place = { blockHash: block?.hash, blockNumber: block?.number, transactionHash: txHash }
    const made = { ...place, topics, address: chain.usdcAddress, data: `0x${'1'.padStart(64, '0')}`, logIndex: '0x7f' }
    const alter = (lie: RpcProxy['faults']['alter']) => {
      if (proxies[0]) proxies[0].faults.alter = lie
    }
    alter(({ method }, result) =>
      method === 'eth_getTransactionReceipt' ? { ...place, status: '0x1', logs: [made] } : result,
    )
    const said = await recordNamedTransaction(reader, { addresses: [address], txHash })
    assert.deepEqual([said.counted, await listTransfersTo(db, [address])], [false, []], said.reason)
    alter(({ method }, result) => (method === 'eth_getLogs' && Array.isArray(result) ? [...result, made] : result))
    assert.equal(await rescan(reader, { addresses: [address.toLowerCase()], from: head, to: head }), 0)
    assert.deepEqual(await listTransfersTo(db, [address]), [])
    assert.equal(endpoints.all[0]?.fault(), 'outvoted')
    // what a reorganisation left, deeper than the blocks that are remembered
    await db.run(sql`delete from chain_blocks where number < ${head}`)
    const kept = { chainId: chain.chainId, txHash, logIndex: 0, token: network.usdcAddress, symbol: 'USDC' }
    const to = { toAddress: address.toLowerCase(), fromAddress: `0x${'5'.repeat(40)}`, units: 1n }
    const left = { ...kept, ...to, blockNumber: head - 1n, blockHash: OTHER, blockAt: new Date() }
    await db.tx((tx) => upsertTransfers(tx, [left]))
    const again = () => rescan(reader, { addresses: [to.toAddress], from: 0n, to: head })
    alter(({ method, params }, result) =>
      method === 'eth_getBlockByNumber' && BigInt(params[0] as string) === head - 1n
        ? { ...(result as object), hash: OTHER }
        : result,
    )
    const statusOf = async () => (await listTransfersTo(db, [address])).map(({ status }) => status)
    await assert.rejects(again(), /endpoints \d and \d disagree about 1 blocks/)
    assert.deepEqual(await statusOf(), ['seen'])
    alter(null)
    await again()
    assert.deepEqual(await statusOf(), ['orphaned'])
  } finally {
    await scanner.stop()
    await Promise.all([...rpcs.map((rpc) => rpc.close()), ...proxies.map((one) => one.stop()), db.close()])
    await own.drop()
  }
})

test('balances are compared through nodes that are some blocks behind, at a block that one has', async () => {
  const own = await createTestDatabase()
  const db = openDb({ connectionString: own.connectionString, max: 4 })
  const lagging = await Promise.all([startRpcProxy(chain.rpcUrl), startRpcProxy(chain.rpcUrl)])
  const rpc = createRpc({ url: chain.rpcUrl })
  const network = networkFor({ chainId: chain.chainId, usdcAddress: chain.usdcAddress })
  const log = pino({ level: 'silent' })
  const reading = { db, network, log, onChange: () => {} }
  const scanner = startScanner({ ...reading, endpoints: openEndpoints(network, [rpc]), pollMs: 0 })
  try {
    const wanted = {
      companyId: 'c'.repeat(24),
      reference: 'r',
      xpub: newTestXpub(),
      watchedUntil: new Date('2100-01-01'),
    }
    const { address } = await db.tx((tx) => assignDepositAddress(tx, wanted))
    await scanner.tick()
    await chain.pay({ to: address, units: 5n })
    const paidIn = await chain.blockNumber()
    await chain.mine(6)
    await scanner.tick()
    const head = (await findHead(db, chain.chainId))?.number ?? 0n
    assert.equal(head, paidIn + 6n)
    const newer = (await db.many<{ hash: string }>(sql`select hash from chain_blocks where number > ${head - 3n}`)).map(
      ({ hash }) => hash,
    )
    for (const { faults } of lagging) {
      faults.knowsUpTo = head - 3n
      faults.refusalCode = -32000
      faults.refuses = ({ method, params }) =>
        method === 'eth_call' && newer.includes((params[1] as { blockHash?: string }).blockHash ?? '')
      // so that only the balance shows what is missing
      faults.hidesLogs = true
    }
    await db.run(sql`delete from chain_transfers`)
    const auditedOn = async (...urls: string[]) => {
      const endpoints = openEndpoints(
        network,
        urls.map((url) => createRpc({ url })),
      )
      await rescanAll({ db, network, log, endpoints }, { from: head - 3n, to: head - 3n }, () => {})
      return db.many(sql`select block_number, balance_units, recorded_units from deposit_differences`)
    }
    const [first, second] = lagging.map(({ url }) => url)
    const found = { balanceUnits: '5', recordedUnits: '0' }
    assert.deepEqual(await auditedOn(first ?? ''), [{ blockNumber: head - 3n, ...found }])
    const hiding = await startRpcProxy(chain.rpcUrl)
    lagging.push(hiding)
    hiding.faults.hidesLogs = true
    // those that are behind may know what is missing at the head
    await assert.rejects(auditedOn(first ?? '', second ?? '', hiding.url), /endpoint 1 is behind: it has no block/)
    assert.deepEqual(await auditedOn(hiding.url), [{ blockNumber: head, ...found }])
    // an address that was audited later already is left as it is
    assert.deepEqual(await auditedOn(first ?? ''), [{ blockNumber: head, ...found }])
    // one that is asked before an order ends says nothing about the blocks that it lacks
    const endpoints = openEndpoints(network, [createRpc({ url: first ?? '' })])
    await assert.rejects(auditDeposits({ db, network, log, endpoints }, [address]), RpcError)
  } finally {
    await scanner.stop()
    await Promise.all([rpc.close(), ...lagging.map((one) => one.stop()), db.close()])
    await own.drop()
  }
})

test('through nodes of which one lacks the last block, nothing is a success, and what they show counts', async (t) => {
  const world = await startScannedChain()
  const nodes = await world.openNodes(t, 2)
  t.after(() => world.stop())
  const address = (await world.payNew(7n)).toLowerCase()
  await world.chain.mine(4)
  await nodes.lookOn(1)
  const head = (await world.head()) ?? 0n
  await world.db.run(sql`delete from chain_transfers`)
  for (const number of [1, 2]) nodes.proxy(number).faults.knowsUpTo = head - 3n
  const reader = { db: world.db, network: world.network, endpoints: nodes.endpoints, log: pino({ level: 'silent' }) }
  const again = () => rescanAll(reader, { from: 0n, to: head }, () => {})
  await assert.rejects(again(), new RegExp(`endpoint 1 is behind: it has no block ${head} yet`))
  assert.deepEqual(await world.seen(address), ['7 seen'])
  nodes.proxy(2).heal()
  await assert.rejects(again(), { endpoint: 1, message: `endpoint 1 is behind: it has no block ${head} yet` })
  nodes.proxy(1).heal()
  assert.deepEqual(await again(), { checked: 1, missed: 0 })
})
