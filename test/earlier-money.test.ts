import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
import { auditDeposits as compareBalances } from '../src/chain/deposits/balance-audit.ts'
import { auditDeposits } from '../src/chain/deposits/deposit-audit.ts'
import { openEndpoints } from '../src/chain/endpoints/endpoints.ts'
import { createRpc, type Rpc, RpcError } from '../src/chain/endpoints/rpc.ts'
import { networkFor } from '../src/chain/networks.ts'
import { sql } from '../src/db/db.ts'
import { deriveAddress } from '../src/kernel/xpub.ts'
import { verifyLedger } from '../src/ledger/ledger-verify.ts'
import { listTransferDifferences } from '../src/ledger/transfer-verify-queries.ts'
import { logInSuperAdmin } from './harness/accounts.ts'
import { eventually } from './harness/service.ts'
import { openShop, type Payable, type Shop, TEST_XPUB } from './harness/shop.ts'

/* Another installation, or another program, uses the same key: its money is at an address before an order gets it. */

const EARLIER = 54_000_000n

let shop: Shop
let index = 0
before(async () => {
  shop = await openShop()
})
after(() => shop?.stop())

async function readUp(): Promise<void> {
  const latest = await shop.chain.blockNumber()
  const head = () => shop.host.db.one<{ number: bigint }>(sql`select number from chain_heads where chain_id = 31337`)
  await eventually(head, ({ number }) => number === latest)
}

/** An order at the next address, which got money before: so many hours before our records of the address begin. */
async function orderAfterMoney(hours = 0): Promise<Payable & { txHash: string }> {
  const address = deriveAddress(TEST_XPUB, index++)
  const txHash = await shop.chain.pay({ to: address, units: EARLIER })
  await shop.chain.mine(8)
  await readUp()
  const order = await shop.createAwaiting()
  assert.equal(order.toAddress, address, 'the address is used again')
  const { timestamp } = await shop.chain.call<{ timestamp: string }>('eth_getBlockByNumber', 'latest', false)
  const given = Number(timestamp) + 20 + 3600 * hours
  await shop.host.db.run(sql`
    update deposit_addresses set created_at = to_timestamp(${given}) where address = ${address.toLowerCase()}`)
  return { ...order, txHash }
}

/** In a block after the address was given to the order, whose time our clock may take for an earlier one. */
async function pay({ toAddress: to, units }: Payable): Promise<void> {
  await shop.chain.pay({ to, units })
  await shop.makeFinal()
}

type List = { transfers: { txHash: string; next: string; companyId: string | null; _id: string }[] }

const recorded = ({ toAddress }: Payable): Promise<number> =>
  shop.host.db.run(sql`select from chain_transfers where to_address = ${toAddress.toLowerCase()}`)

const statusOf = async ({ orderId }: Payable): Promise<string> => (await shop.story(orderId)).status

/** Those of the books, and of the balances. */
async function differences(): Promise<unknown[]> {
  const { db } = shop.host
  const usdc = { [shop.chain.chainId]: shop.chain.usdcAddress }
  const { difference } = await verifyLedger(db)
  const open = await db.many(sql`select address from deposit_differences where closed_at is null`)
  return [difference, await listTransferDifferences(db, shop.merchant.companyId, 10, usdc), open]
}

test('money that came to an address before an order had it does not pay the order, and waits for the operator', async () => {
  const order = await orderAfterMoney()
  const said = await shop.host.call('POST', `confirm/${order.code}`, { as: shop.merchant })
  assert.equal(said.status, 409, said.text)
  const body = { txHash: order.txHash }
  const name = () =>
    shop.host.call<{ counted: boolean; reason: string }>('POST', `transaction/${order.code}`, {
      ...{ as: shop.merchant, body },
    })
  const named = await name()
  assert.equal(named.data.counted, false, named.text)
  assert.match(named.data.reason, /before this order had the address/)
  const admin = await logInSuperAdmin(shop.host)
  const list = async () => (await admin.get<List>('unmatched-transfers')).data.transfers
  const [waiting] = await eventually(list, (found) => found.length === 1)
  assert.equal(waiting?.txHash, order.txHash)
  assert.match(waiting?.next ?? '', /before its address was given to an order/)
  const matched = await admin.post(`unmatched-transfers/${waiting?._id}/match`, { code: order.code })
  assert.equal(matched.status, 409, matched.text)
  assert.equal(await statusOf(order), 'AWAITING')
  assert.deepEqual(await differences(), [null, [], []])
  await pay(order)
  await shop.reaches(order.code, 'PAID')
  const { payments, mispayments } = await shop.story(order.orderId)
  assert.deepEqual([payments.map(({ receivedUnits }) => receivedUnits), mispayments], [[String(order.units)], []])
  assert.deepEqual(await differences(), [null, [], []])
})

/** The chain was last read so long ago, and is not read until `resume`. */
async function standStill(minutes: number): Promise<{ resume(): Promise<unknown> }> {
  const { db } = shop.host
  await db.run(sql`
    update chain_heads set lease_owner = 'another', lease_until = now() + interval '1 hour',
      scanned_at = now() - make_interval(mins => ${minutes}), block_at = now() - make_interval(mins => ${minutes})`)
  return { resume: () => db.run(sql`update chain_heads set lease_owner = null, lease_until = null`) }
}

/** An order whose address was given out so many minutes after the newest block. */
async function orderMinutesLater(address: string, minutes: number): Promise<Payable> {
  const order = await shop.createAwaiting()
  assert.equal(order.toAddress, address)
  const { timestamp } = await shop.chain.call<{ timestamp: string }>('eth_getBlockByNumber', 'latest', false)
  const given = Number(timestamp) + 60 * minutes
  await shop.host.db.run(sql`
    update deposit_addresses set created_at = to_timestamp(${given}) where address = ${address.toLowerCase()}`)
  return order
}

test('nor while its block was not read yet, as after a restart, and the reader was long behind', async () => {
  const address = deriveAddress(TEST_XPUB, index++)
  const { resume } = await standStill(30)
  const txHash = await shop.chain.pay({ to: address, units: EARLIER })
  await shop.chain.mine(8)
  const order = await orderMinutesLater(address, 11)
  await resume()
  await readUp()
  await shop.makeFinal()
  const admin = await logInSuperAdmin(shop.host)
  const list = async () => (await admin.get<List>('unmatched-transfers')).data.transfers
  const found = await eventually(list, (transfers) => transfers.some((one) => one.txHash === txHash))
  assert.match(found.find((one) => one.txHash === txHash)?.next ?? '', /before its address was given to an order/)
  assert.equal(await statusOf(order), 'AWAITING')
  assert.deepEqual(await differences(), [null, [], []])
})

test('a chain that stood still and was read all the time pays with a block whose time is old', async () => {
  const address = deriveAddress(TEST_XPUB, index++)
  const order = await orderMinutesLater(address, 20)
  await pay(order)
  await shop.reaches(order.code, 'PAID')
})

test('one of two nodes alone explains nothing: it could hide what is missing', async (t) => {
  const { toAddress } = await orderAfterMoney(1)
  const address = toAddress.toLowerCase()
  const { db } = shop.host
  const network = networkFor({ chainId: shop.chain.chainId, usdcAddress: shop.chain.usdcAddress })
  const rpc = createRpc({ url: shop.chain.rpcUrl })
  t.after(() => rpc.close())
  const asked: string[] = []
  const pruned: Rpc = {
    call: (method, ...params) => rpc.call(method, ...params),
    async batch(calls) {
      if (calls.some(({ params }) => JSON.stringify(params).includes('blockHash'))) asked.push(calls[0]?.method ?? '')
      // the state at the head is asked for once, then the one when the address was given out
      if (asked.filter((method) => method === 'eth_call').length > 1)
        throw new RpcError('definite', 'missing trie node')
      return rpc.batch(calls)
    },
    close: async () => {},
  }
  const log = pino({ level: 'silent' })
  const open = () => db.many(sql`select from deposit_differences where address = ${address} and closed_at is null`)
  await auditDeposits({ db, network, endpoints: openEndpoints(network, [rpc, pruned]), log }, [address])
  assert.equal((await open()).length, 1)
  await auditDeposits({ db, network, endpoints: openEndpoints(network, [rpc, rpc]), log }, [address])
  assert.equal((await open()).length, 0, 'two agree')
})

test('money that was there over an hour before is explained once, and a transfer that is missed later is not', async (t) => {
  const order = await orderAfterMoney(1)
  const address = order.toAddress.toLowerCase()
  const { db } = shop.host
  const network = networkFor({ chainId: shop.chain.chainId, usdcAddress: shop.chain.usdcAddress })
  const rpc = createRpc({ url: shop.chain.rpcUrl })
  t.after(() => rpc.close())
  const alarms: string[] = []
  const log = pino({ level: 'error' }, { write: (line: string) => void alarms.push(JSON.parse(line).msg) })
  const reader = { db, network, endpoints: openEndpoints(network, [rpc]), log }
  await auditDeposits(reader, [address])
  await auditDeposits(reader, [address])
  assert.equal(alarms.length, 1, alarms.join())
  assert.match(alarms.join(), /held money over an hour before/)
  assert.equal(await recorded(order), 0)
  assert.deepEqual([(await compareBalances(reader)).faults, await differences()], [[], [null, [], []]])
  await db.run(sql`update deposit_addresses set watched_until = now() where address = ${address}`)
  await shop.chain.call('evm_increaseTime', 30)
  await pay(order)
  await readUp()
  await auditDeposits(reader, [address])
  assert.equal(await recorded(order), 1, 'what was missed is found')
  await shop.reaches(order.code, 'PAID')
  assert.deepEqual(await differences(), [null, [], []])
  await db.run(sql`update chain_transfers set units = units - 1 where to_address = ${address}`)
  await auditDeposits(reader, [address])
  assert.equal((await db.many(sql`select from deposit_differences where closed_at is null`)).length, 1)
})
