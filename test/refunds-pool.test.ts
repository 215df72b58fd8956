import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { localSigner } from '../src/chain/payout/signer.ts'
import { sql } from '../src/db/db.ts'
import { idFrom } from '../src/kernel/ids.ts'
import { cancelAuthorization } from './harness/authorizations.ts'
import { createPaid, newAddress, refundReaches, revert } from './harness/refunds.ts'
import { openRestoredShop, type RestoredShop, restoreNow } from './harness/restored.ts'
import { eventually } from './harness/service.ts'

/* Refunds whose transaction waits in a pool that the database knows nothing about, or is overtaken there. */

let keys: Record<string, string> = {}
let world: RestoredShop
before(async () => {
  world = await openRestoredShop(async (given) => {
    keys = given
    return {}
  })
})
after(() => world?.stop())

const numbered = (orderId: string, number: number) => idFrom('refund', world.shop.merchant.companyId, orderId, number)
const reject = ({ _id }: { _id: string }) =>
  world.admin.post(`refunds/${_id}/reject`, { reason: 'the customer keeps it' })
const pollNow = ({ _id }: { _id: string }) =>
  world.shop.host.db.run(sql`update refunds set next_check_at = now() where id = ${_id}`)

test('after a restore, what may wait in a pool is neither rejected nor paid by hand before it has run out', async (t) => {
  const { shop } = world
  const back = await restoreNow(shop.host.db)
  t.after(back)
  const order = await createPaid(shop)
  const payer = newAddress()
  const asked = { id: numbered(order.orderId, 1), to: payer, units: 10_000_000n }
  const lost = world.openLost()
  await lost.send(asked)
  // another node keeps it
  await shop.chain.call('anvil_dropAllTransactions')
  await revert(shop, order.code, { amount: '10' })
  const first = await refundReaches(shop, order.orderId, 'needs_address')
  const refused = await reject(first)
  assert.equal(refused.status, 409)
  assert.match(
    JSON.stringify(refused.error),
    /may still wait in the pool of a node and pay it until 20\d\d-.*Z, by the/,
  )
  await lost.send(asked)
  await shop.chain.mine()
  const unfinal = await reject(first)
  assert.match(JSON.stringify(unfinal.error), /in a transaction that is not final yet/)
  await shop.chain.mine(4)
  assert.equal((await reject(first)).status, 200, 'it has left, and the next refund asks for it')
  const unused = await createPaid(shop)
  await revert(shop, unused.code, { amount: '10' })
  const waiting = await refundReaches(shop, unused.orderId, 'needs_address')
  assert.equal((await reject(waiting)).status, 409)
  await back()
  assert.equal((await reject(waiting)).status, 200, 'nothing that was signed before can pay it any more')
  await restoreNow(shop.host.db)
})

test('a refund that was named in a block, and undone, is neither rejected nor paid by hand, and is paid once', async (t) => {
  const { shop, node } = world
  const back = await restoreNow(shop.host.db)
  t.after(back)
  const order = await createPaid(shop)
  const payer = newAddress()
  const asked = { id: numbered(order.orderId, 1), to: payer, units: 10_000_000n }
  const lost = world.openLost()
  t.after(() => node.heal())
  // authorizationState
  node.faults.refuses = ({ params }) => JSON.stringify(params).includes('0xe94a0102')
  await revert(shop, order.code, { amount: '10', address: payer })
  const first = await world.refundWaits(order.orderId, /^waits: Sandbox chain: /)
  await lost.send(asked)
  await shop.chain.mine()
  const { txHash } = await lost.send(asked)
  node.heal()
  assert.equal((await world.nameRefund(first, txHash)).status, 200)
  await shop.chain.reorg(1)
  await shop.chain.call('anvil_dropAllTransactions')
  const refused = await eventually(
    () => reject(first),
    ({ error }) => !/was named for this/.test(JSON.stringify(error)),
  )
  assert.deepEqual([refused.status, /may still wait in the pool/.test(JSON.stringify(refused.error))], [409, true])
  const byHand = await shop.chain.pay({ to: payer, units: 10_000_000n })
  await shop.chain.mine(4)
  assert.equal((await world.nameRefund(first, byHand)).status, 409)
  // the pool of another node still had it
  await lost.send(asked)
  await shop.chain.mine(4)
  await pollNow(first)
  assert.equal((await refundReaches(shop, order.orderId, 'settled')).txHash, txHash)
  assert.equal(await shop.chain.balanceOf(payer), 20_000_000n, 'and what the person sent too early')
})

test('a refund whose authorization was cancelled on the chain while it was sent is rejected', async () => {
  const { shop } = world
  const order = await createPaid(shop)
  const payer = newAddress()
  // the node takes the transaction and does not answer; meanwhile the operator cancels it with the wallet's key
  world.node.faults.hangsOn = 'eth_sendRawTransaction'
  await revert(shop, order.code, { amount: '10', address: payer })
  const refund = { _id: numbered(order.orderId, 1) }
  await eventually(
    () => shop.host.db.maybe<{ status: string }>(sql`select status from chain_payouts where id = ${refund._id}`),
    (row) => row?.status === 'signed',
  )
  const { rpc } = world
  await cancelAuthorization(shop.chain, rpc, localSigner(keys.CHAIN_31337_REFUND_KEY ?? ''), refund._id)
  await shop.chain.mine(10)
  world.node.faults.hangsOn = null
  await eventually(
    async () => {
      await pollNow(refund)
      return refundReaches(shop, order.orderId, 'submitted')
    },
    ({ message }) => /has cancelled its authorization/.test(message ?? ''),
  )
  assert.equal((await reject(refund)).status, 200)
  assert.equal(await shop.chain.balanceOf(payer), 0n)
})
