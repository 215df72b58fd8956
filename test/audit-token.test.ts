import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
import { listRecorded } from '../src/chain/deposits/balance-audit-queries.ts'
import { assignDepositAddress } from '../src/chain/deposits/deposit-addresses.ts'
import { readRecordedDeposits, upsertDepositFinding } from '../src/chain/deposits/deposit-audit-queries.ts'
import { noticeLookAlikes } from '../src/chain/deposits/look-alikes.ts'
import { recordNamedTransaction } from '../src/chain/named-transaction.ts'
import { networkFor, usdcOf } from '../src/chain/networks.ts'
import { rescan } from '../src/chain/rescan.ts'
import { TRANSFER_TOPIC, toTopic } from '../src/chain/transfer-logs.ts'
import { listTransfersTo, listUsdcAmong } from '../src/chain/transfer-queries.ts'
import { type Db, openDb, sql } from '../src/db/db.ts'
import { newTestXpub } from './harness/chain.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'
import { startScannedChain } from './harness/scanned-nodes.ts'

/* CHAIN_<id>_USDC names another contract: what left in the first one is no money of the second. */

const [FIRST, SECOND] = [`0x${'1'.repeat(40)}`, `0x${'2'.repeat(40)}`] as const
const chainId = 8453

let database: TestDatabase
let db: Db
let address: string
before(async () => {
  database = await createTestDatabase()
  db = openDb({ connectionString: database.connectionString, max: 2 })
  const key = { companyId: 'c'.repeat(24), reference: 'r', xpub: newTestXpub() }
  const assigned = await db.tx((tx) => assignDepositAddress(tx, { ...key, watchedUntil: new Date('2100-01-01') }))
  address = assigned.address.toLowerCase()
  await db.run(sql`insert into chain_heads (chain_id, number, hash, block_at) values (${chainId}, 100, '0xa', now())`)
})
after(async () => {
  await db?.close()
  await database?.drop()
})

async function outflowsIn(token: string) {
  const scope = { chainId, token, block: 100n, after: '', open: [], only: null, limit: 10 }
  const [recorded] = await listRecorded(db, scope)
  const { deposits } = (await readRecordedDeposits(db, { chainId, token, addresses: [address] }, null)) ?? assert.fail()
  const [deposit] = deposits
  return [recorded, deposit].map((one) => [one?.outflowUnits, one?.outflowTo])
}
const find = (token: string, outflowUnits: bigint, explained = true) =>
  upsertDepositFinding(db, {
    ...{ chainId, token, address, balanceUnits: 0n, recordedUnits: 0n, outflowUnits, blockNumber: 90n, explained },
  })

test('what left in an earlier contract explains nothing in the present one, and holds up no payout', async () => {
  await find(FIRST, 5_000_000n)
  assert.deepEqual(await outflowsIn(FIRST), [
    [5_000_000n, 90n],
    [5_000_000n, 90n],
  ])
  assert.deepEqual(await outflowsIn(SECOND), [
    [0n, 0n],
    [0n, 0n],
  ])
  await find(SECOND, 7n, false)
  assert.deepEqual(await outflowsIn(SECOND), [
    [0n, 0n],
    [0n, 0n],
  ])
})

test('what an earlier version counted is of the contract of its settings', async () => {
  await find(SECOND, 7n)
  await db.run(sql`update deposit_differences set token = null`)
  assert.deepEqual(await outflowsIn(SECOND), [
    [7n, 90n],
    [7n, 90n],
  ])
})

test('what arrives of an earlier contract is read for the orders that asked for it, and pays no other', async (t) => {
  const world = await startScannedChain()
  const { chain } = world
  const network = networkFor({ chainId: chain.chainId, usdcAddress: await chain.deployOtherToken() })
  const nodes = await world.openNodes(t, 2, network)
  t.after(() => world.stop())
  const reader = { db: world.db, network, endpoints: nodes.endpoints, log: pino({ level: 'silent' }) }
  const pay = async (id: string, token: string) => {
    const to = (await world.assign()).toLowerCase()
    await world.db.run(sql`
      insert into payments (company_id, id, order_id, number, channel, own_account, status, merchant_reference,
        due_asset, due_units, deposit_address, network, token_address, opened_at, updated_at)
      values (${'c'.repeat(24)}, ${id}, ${id}, 1, 'crypto', true, 'awaiting', ${id}, 'USDC', 1, ${to},
        ${chain.chainId}, ${token.toLowerCase()}, now(), now())`)
    return { to, txHash: await chain.pay({ to, units: 7n, token: chain.usdcAddress }) }
  }
  const [first, later] = [await pay('a'.repeat(24), chain.usdcAddress), await pay('b'.repeat(24), network.usdcAddress)]
  const check = async (how: string) => {
    const [paid, other] = [await listTransfersTo(world.db, [first.to]), await listTransfersTo(world.db, [later.to])]
    const all = [...paid, ...other]
    const ids = all.map(({ id }) => id)
    const counted = await listUsdcAmong(world.db, ids, usdcOf([network]))
    assert.deepEqual([paid.map(({ units }) => units), [...counted]], [[7n], paid.map(({ id }) => id)], how)
    for (const { symbol } of all) assert.match(symbol, /^USDC \(0x/, how)
  }
  await nodes.lookOn(1)
  await check('scanner')
  const forget = () => world.db.run(sql`delete from chain_transfers`)
  const to = (await world.head()) ?? 0n
  await forget()
  assert.equal(await rescan(reader, { addresses: [first.to, later.to], from: 0n, to }), 2)
  await check('rescan')
  await forget()
  const name = ({ to: address, txHash }: typeof first) =>
    recordNamedTransaction(reader, { addresses: [address], txHash })
  assert.deepEqual([(await name(first)).counted, (await name(later)).counted], [true, false])
  await check('named')
  await forget()
  assert.deepEqual(await noticeLookAlikes(reader, [first.to]), [first.to])
  await check('before its order ends')
  await forget()
  const { hash: blockHash } = await chain.call<{ hash: string }>('eth_getBlockByNumber', `0x${to.toString(16)}`, false)
  const place = { blockHash, blockNumber: `0x${to.toString(16)}`, transactionHash: `0x${'d'.repeat(64)}` }
  const topics = [TRANSFER_TOPIC, toTopic(`0x${'5'.repeat(40)}`), toTopic(first.to)]
  const data = `0x${'1'.padStart(64, '0')}`
  const made = { ...place, topics, address: chain.usdcAddress, data, logIndex: '0x7f' }
  nodes.proxy(1).faults.alter = ({ method }, result) =>
    method === 'eth_getLogs' && Array.isArray(result) ? [made] : result
  await assert.rejects(noticeLookAlikes(reader, [first.to]), /contradicts|disagree/)
  assert.deepEqual(await world.seen(first.to), [], 'what one of two invents')
})
