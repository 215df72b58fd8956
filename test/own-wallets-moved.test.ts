import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { getAddress } from 'viem/utils'
import { sql } from '../src/db/db.ts'
import { verifyLedger } from '../src/ledger/ledger-verify.ts'
import { type Client, openCompany } from './harness/accounts.ts'
import { newTestXpub } from './harness/chain.ts'
import { eventually } from './harness/service.ts'
import { FINAL_AFTER, type Instructions, type OrderData, openShop, type Shop } from './harness/shop.ts'

// a company’s wallet changes while payers have an address of the one before on their screens

let shop: Shop
let manager: Client
let till: string

before(async () => {
  shop = await openShop()
  ;({ manager, till } = await openCompany(shop.host.baseUrl))
})
after(async () => {
  try {
    if (shop) assert.equal((await verifyLedger(shop.host.db)).difference, null)
  } finally {
    await shop?.stop()
  }
})

const newAddress = (): string => getAddress(`0x${randomBytes(20).toString('hex')}`)
const asPool = (...addresses: string[]) => ({ MODE: 'pool', ADDRESSES: addresses.join(',') })
async function save(settings: Record<string, string>, query = ''): Promise<number> {
  const path = `channel-accounts/crypto${query}`
  const saved = await manager.call<{ movedOrders: number }>('PUT', path, { settings })
  assert.equal(saved.status, 200, saved.text)
  return saved.data.movedOrders
}
const accept = (code: string) =>
  manager.post<Instructions>(`confirm_conversion/accept/${code}`, { paymentChannel: 'crypto' })
async function place() {
  const body = { amount: 50, fromAsset: 'EUR', merchantIdentifier: till, alias: crypto.randomUUID() }
  const { code, _id: orderId } = (await manager.post<{ order: OrderData }>('confirm_conversion/request', body)).data
    .order
  const { data, text } = await accept(code)
  assert.equal(data?.status, 'AWAITING', text)
  return { code, orderId, to: data.toAddress, units: BigInt(data.tokenAmount.replace('.', '')) }
}
const page = async (code: string): Promise<string> =>
  (await fetch(`${shop.host.config.payUrl}/pay?code=${code}`)).text()
/** What a page that asks to pay there has. */
const asking = (address: string): RegExp => new RegExp(`ethereum:|data-copy="${address}"`)
const statusOf = async (code: string): Promise<string> =>
  (await shop.host.call<OrderData>('GET', `status/${code}`)).data.status
const becomes = (code: string, status: string) =>
  eventually(
    () => statusOf(code),
    (seen) => seen === status,
  )
async function pay(to: string, units: bigint): Promise<void> {
  await shop.chain.pay({ to, units })
  await shop.chain.mine(FINAL_AFTER)
}
const recordsOf = (orderId: string) =>
  shop.host.db.many<{ kind: string; units: string }>(sql`
    select kind, units::text from mispayments where order_id = ${orderId} order by kind`)

test('nobody is asked to pay to an address that is no longer in the wallet: the payer chooses again and gets the present one', async () => {
  const [before, now] = [newAddress(), newAddress()]
  assert.equal(await save(asPool(before)), 0)
  const order = await place()
  assert.equal(order.to, before)

  assert.match(await page(order.code), asking(before))
  assert.equal(await save(asPool(now)), 1)
  const moved = await page(order.code)
  assert.doesNotMatch(moved, asking(before))
  assert.match(moved, new RegExp(`Do not send anything to ${before} `))
  assert.equal((await accept(order.code)).data.toAddress, now)
  assert.equal((await accept(order.code)).data.toAddress, now, 'a repeated accept gives the same')
  await pay(now, order.units)
  await becomes(order.code, 'PAID')
})

test('the key of the wallet is replaced: who has the old address open pays the order, once, and nothing is lost', async () => {
  await save({ MODE: 'xpub', XPUB: newTestXpub() })
  const [stays, both] = [await place(), await place()]
  assert.equal(await save({ MODE: 'xpub', XPUB: newTestXpub() }), 2)
  await pay(stays.to, stays.units)
  await becomes(stays.code, 'PAID')
  const again = (await accept(both.code)).data
  assert.notEqual(again.toAddress, both.to)
  await pay(both.to, both.units)
  await becomes(both.code, 'PAID')
  await pay(again.toAddress, both.units)
  await eventually(
    () => recordsOf(both.orderId),
    ([one]) => one?.units === String(both.units),
  )
})

test('who paid a part to an address that the wallet has no more is not asked for the rest there', async () => {
  await save(asPool(newAddress()))
  const order = await place()
  await pay(order.to, order.units / 2n)
  await eventually(
    () => page(order.code),
    (text) => text.includes('id="amount"') && text.includes(order.to.slice(-8)),
  )
  await eventually(
    () => shop.host.db.one<{ status: string }>(sql`select status from payments where order_id = ${order.orderId}`),
    ({ status }) => status === 'confirming',
  )
  await save(asPool(newAddress()))
  const text = await page(order.code)
  assert.ok(!text.includes(order.to.slice(-8)) && !text.includes('id="amount"'), text)
  const { status, error } = await accept(order.code)
  assert.deepEqual([status, error.code], [409, 'ORDER_STATE_CONFLICT'])
  assert.match(error.message, /do not pay the rest; ask the shop/)
})

test('a wallet that is taken away is offered no more; a pool that grows and a chain that is named keep their places', async () => {
  const address = newAddress()
  // the order above is open
  assert.equal(await save(asPool(address)), 1)
  const order = await place()
  assert.equal(await save({ ...asPool(newAddress(), address), NETWORKS: String(shop.chain.chainId) }), 1)
  assert.equal((await accept(order.code)).data.toAddress, address)
  const gone = await manager.call<{ movedOrders: number }>('DELETE', 'channel-accounts/crypto')
  assert.deepEqual([gone.status, gone.data.movedOrders], [200, 2])
  assert.doesNotMatch(await page(order.code), asking(address))
  const { toAddress } = (await accept(order.code)).data
  assert.notEqual(toAddress, address)
})

test('a place that was taken before the wallet changed, and not shown yet, is not shown afterwards', async () => {
  const [before, now] = [newAddress(), newAddress()]
  await save(asPool(before))
  const order = await place()
  // as if the node had died after it took the address
  await shop.host.db.tx(async (tx) => {
    await tx.run(sql`
      update payments set status = 'creating', instructions = null, provider_reference = null, deposit_address = null,
        next_check_at = now() + interval '1 hour' where order_id = ${order.orderId}`)
    await tx.run(sql`update orders set status = 'PENDING' where id = ${order.orderId}`)
  })
  await save(asPool(now))
  const refused = await accept(order.code)
  assert.deepEqual([refused.status, refused.error?.code], [400, 'CHANNEL_NOT_AVAILABLE'], refused.text)
  assert.equal((await accept(order.code)).data.toAddress, now)
})
