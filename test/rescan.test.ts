import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Db, openDb, sql } from '../src/db/db.ts'
import { startTestChain, type TestChain } from './harness/chain.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'
import { newFolder, runOperator } from './harness/installation.ts'
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

const startOver = (args: string[], env: Record<string, string> = {}) =>
  runOperator(['rescan', '--chain', '31337', '--from', '0', '--new-chain', ...args], {
    ...{ ...chainEnv(chain), DATABASE_URL: database.connectionString, DATA_DIR: place.path },
    ...{ MASTER_KEY: TEST_MASTER_KEY.toString('base64'), ...env },
  })

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
