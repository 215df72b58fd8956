import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { claimTransaction } from '../src/ledger/claim-queries.ts'
import { GWEI } from './harness/payout-world.ts'
import { createPaid, newAddress, payoutEnv, refundReaches, revert } from './harness/refunds.ts'
import { eventually } from './harness/service.ts'
import { openShop, type Shop } from './harness/shop.ts'

/* A person named the service's own transaction, and the service was stopped in the middle of that. */

let shop: Shop
before(async () => {
  shop = await openShop({ env: (chain) => payoutEnv(chain) })
})
after(() => shop?.stop())

const mineAt = async (baseFee: bigint): Promise<void> => {
  await shop.chain.call('anvil_setNextBlockBaseFeePerGas', `0x${baseFee.toString(16)}`)
  await shop.chain.mine()
}

test('a refund whose own transaction stayed named is sent on with higher fees', async () => {
  const { db } = shop.host
  const { companyId } = shop.merchant
  const order = await createPaid(shop)
  const toAddress = newAddress()
  await mineAt(GWEI)
  await revert(shop, order.code, { amount: '10', address: toAddress })
  const { _id: causeId } = await refundReaches(shop, order.orderId, 'submitted')
  const sent = await eventually(
    () =>
      db.maybe<{ txHash: string }>(
        sql`select present_tx_hash as tx_hash from chain_payouts where id = ${causeId} and status = 'sent'`,
      ),
    (row) => row !== undefined,
  )
  const { txHash } = sent ?? { txHash: '' }
  await db.tx((tx) => claimTransaction(tx, { companyId, network: shop.chain.chainId, txHash, causeId, toAddress }))
  const poll = async () => {
    await mineAt(40n * GWEI)
    await db.run(sql`update refunds set next_check_at = now() where id = ${causeId}`)
    return db.one<{ status: string; words: string }>(
      sql`select status, last_words as words from refunds where id = ${causeId}`,
    )
  }
  const { status } = await eventually(poll, (refund) => refund.status === 'settled')
  assert.equal(status, 'settled')
  assert.equal(await shop.chain.balanceOf(toAddress), 10_000_000n)
})
