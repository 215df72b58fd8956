import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { createPaid, newAddress, type RefundData, refundReaches, revert } from './harness/refunds.ts'
import type { Answer } from './harness/service.ts'
import { openShop, type Shop } from './harness/shop.ts'

/** No keys are set: a person sends the money and names the transaction. */
let shop: Shop

before(async () => {
  shop = await openShop()
})
after(() => shop?.stop())

const name = (refund: RefundData, txHash: string): Promise<Answer<RefundData>> =>
  shop.host.call('POST', `/api/next/refunds/${refund._id}/transaction`, { as: shop.merchant, body: { txHash } })

const startRefund = async (to: string): Promise<RefundData> => {
  const order = await createPaid(shop)
  assert.equal((await revert(shop, order.code, { address: to })).status, 200)
  return refundReaches(shop, order.orderId, 'ready', false)
}

test('a refund that a person sent is settled by its transaction when that is final; who named it is written down', async () => {
  const to = newAddress()
  const refund = await startRefund(to)
  const txHash = await shop.chain.pay({ to, units: 54_000_000n })
  const early = await name(refund, txHash)
  assert.deepEqual([early.status, early.data.status], [200, 'submitted'])
  const settled = await refundReaches(shop, refund.orderId, 'settled')
  assert.equal(settled.txHash, txHash)
  const entries = await shop.host.db.many<{ actor: string; action: string; detail: string }>(
    sql`select actor, action, detail from audit_log where object = ${`refund:${refund._id}`} order by seq`,
  )
  assert.deepEqual(
    entries.map(({ action }) => action),
    ['refund.revert', 'refund.transaction'],
  )
  assert.match(entries[1]?.actor ?? '', /^apiKey:/)
  assert.equal(JSON.parse(entries[1]?.detail ?? '{}').txHash, txHash)
})

test('a transaction that pays something else is refused and says why; one pays one refund', async () => {
  const to = newAddress()
  const [first, second] = [await startRefund(to), await startRefund(to)]
  const wrongUnits = await shop.chain.pay({ to, units: 53_999_999n })
  const wrongPlace = await shop.chain.pay({ to: newAddress(), units: 54_000_000n })
  const other = await shop.chain.deployOtherToken()
  const wrongToken = await shop.chain.pay({ to, units: 54_000_000n, token: other })
  await shop.chain.mine(3)
  for (const txHash of [wrongUnits, wrongPlace, wrongToken, `0x${'ab'.repeat(32)}`, '0x12']) {
    const { status, error } = await name(first, txHash)
    assert.deepEqual([status, error?.details?.[0]?.path], [422, 'txHash'], txHash)
  }
  const right = await shop.chain.pay({ to, units: 54_000_000n })
  await shop.chain.mine(3)
  const answers = await Promise.all([first, second].map((refund) => name(refund, right)))
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 422])
  const refused = answers.find(({ status }) => status === 422)
  assert.match(JSON.stringify(refused?.error.details), /another refund or settlement/)
})
