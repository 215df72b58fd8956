import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { getAddress } from 'viem/utils'
import { listPlacedTransfers, upsertTransfers } from '../src/chain/transfer-queries.ts'
import { sql } from '../src/db/db.ts'
import { logIn, registerManager } from './harness/accounts.ts'
import { eventually } from './harness/service.ts'
import { type Instructions, type OrderData, openShop, type Shop } from './harness/shop.ts'

/* Anyone can send thousands of small transfers to an address, for the gas of a few transactions. */

const DUST = 6_000
const FINAL_AFTER = 12

let shop: Shop
before(async () => {
  shop = await openShop({ env: async () => ({ CHAIN_31337_CONFIRMATIONS: String(FINAL_AFTER) }) })
})
after(() => shop?.stop())

/** What the scanner writes when it finds so many transfers in the newest block. */
async function sendDust(to: string, count = DUST): Promise<void> {
  await shop.chain.mine()
  await isRead()
  type Block = { number: string; hash: string; timestamp: string }
  const block = await shop.chain.call<Block>('eth_getBlockByNumber', 'latest', false)
  const txHash = `0x${randomBytes(32).toString('hex')}`
  const rows = Array.from({ length: count }, (_, nth) => ({
    ...{ chainId: 31337, txHash, logIndex: nth, blockNumber: BigInt(block.number), blockHash: block.hash },
    ...{ blockAt: new Date(Number(block.timestamp) * 1000), token: shop.chain.usdcAddress.toLowerCase() },
    ...{ symbol: 'USDC', fromAddress: `0x${'12'.repeat(20)}`, toAddress: to.toLowerCase(), units: 1n },
  }))
  await shop.host.db.tx((tx) => upsertTransfers(tx, rows))
}

const newest = async (): Promise<bigint> => BigInt(await shop.chain.call<string>('eth_blockNumber'))
async function readHead(): Promise<bigint> {
  const { number } = await shop.host.db.one<{ number: bigint }>(sql`select number from chain_heads`)
  return number
}

/** Until every block is read. */
async function isRead(): Promise<void> {
  const number = await newest()
  await eventually(readHead, (read) => read === number)
}

/** The changes of one address, and the last one of all that payments were polled for. */
const readChanges = (address: string) =>
  shop.host.db.one<{ times: bigint; last: bigint; final: bigint; cursor: bigint }>(sql`
    select count(distinct change) as times, max(change) as last, count(*) filter (where final_at is not null) as final,
      (select after_change from payment_chain_cursors) as cursor
    from chain_transfers where to_address = ${address.toLowerCase()}`)
const isFollowed = (address: string) =>
  eventually(
    () => readChanges(address),
    ({ cursor, last }) => cursor >= last,
  )

/** How often an order's payment was polled. */
async function countPolls({ orderId }: { orderId: string }): Promise<number> {
  const { polls } = await shop.host.db.one<{ polls: bigint }>(
    sql`select lease_epoch as polls from payments where order_id = ${orderId}`,
  )
  return Number(polls)
}

test('thousands of small transfers to one address are one poll, and no news again until they are final', async () => {
  const [crowded, honest] = [await shop.createAwaiting(), await shop.createAwaiting()]
  const before = await countPolls(crowded)
  await sendDust(crowded.toAddress)
  const { last } = await isFollowed(crowded.toAddress)
  const polled = (await countPolls(crowded)) - before
  assert.ok(polled <= 2, `its payment was polled ${polled} times`)
  await shop.chain.pay({ to: honest.toAddress, units: honest.units })
  await shop.reaches(honest.code, 'WAITING_CHAIN_CONFIRMATION')
  await shop.chain.mine(FINAL_AFTER - 4)
  await isRead()
  const open = await readChanges(crowded.toAddress)
  assert.deepEqual([open.last, open.final], [last, 0n], 'no block is news of dust')
  await shop.chain.mine(3)
  await shop.reaches(honest.code, 'PAID')
  const first = await eventually(
    () => readChanges(crowded.toAddress),
    ({ final }) => final > 0n,
  )
  assert.equal(first.final, 5_000n, 'as many as one block may make final')
  await shop.chain.mine()
  await eventually(
    () => readChanges(crowded.toAddress),
    ({ final }) => final === BigInt(DUST),
  )
  await isFollowed(crowded.toAddress)
  assert.equal((await shop.host.call<OrderData>('GET', `status/${crowded.code}`)).data.status, 'AWAITING')
  const asked = { network: 31337, tokenAddress: null, usdc: {} }
  const placed = await listPlacedTransfers(shop.host.db, [crowded.toAddress], asked)
  assert.deepEqual(
    placed.map(({ transfer }) => transfer.units),
    [5_000n, 1_000n],
    'a poll reads sums',
  )
  await shop.chain.pay({ to: crowded.toAddress, units: crowded.units })
  await shop.chain.mine(FINAL_AFTER - 1)
  await shop.reaches(crowded.code, 'PAID')
})

test('each order at an address that all of a shop share hears of its own transfer among thousands', async () => {
  const person = await registerManager(shop.host.baseUrl)
  const manager = await logIn(shop.host.baseUrl, person.email)
  const settings = { MODE: 'static', ADDRESSES: getAddress(`0x${randomBytes(20).toString('hex')}`) }
  assert.equal((await manager.call('PUT', 'channel-accounts/crypto', { settings })).status, 200)
  const { data } = await manager.get<{ collectors: { identifier: string }[] }>('collectors/list')
  const place = async () => {
    const order = { amount: 50, fromAsset: 'EUR', merchantIdentifier: data.collectors[0]?.identifier }
    const created = await manager.post<{ order: OrderData }>('confirm_conversion/request', order)
    const { code, _id: orderId } = created.data.order
    const way = { paymentChannel: 'crypto' }
    const { toAddress, tokenAmount } = (await manager.post<Instructions>(`confirm_conversion/accept/${code}`, way)).data
    return { code, orderId, toAddress, units: BigInt(tokenAmount.replace('.', '')) }
  }
  const [first, second, quiet] = [await place(), await place(), await place()]
  const before = await countPolls(quiet)
  await sendDust(first.toAddress, 3_000)
  for (const { toAddress: to, units } of [first, second]) await shop.chain.pay({ to, units })
  for (const { code } of [first, second]) await shop.reaches(code, 'WAITING_CHAIN_CONFIRMATION')
  await shop.chain.mine(FINAL_AFTER)
  for (const { code } of [first, second]) await shop.reaches(code, 'PAID')
  await isFollowed(first.toAddress)
  assert.equal(await countPolls(quiet), before, 'no transfer is for it')
})
