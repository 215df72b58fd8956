import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { paidReport } from '../src/channels/channel.ts'
import { sql } from '../src/db/db.ts'
import { AppError } from '../src/kernel/errors.ts'
import { savePayer } from '../src/payers/payer-service.ts'
import { applyReport } from '../src/payments/payment-report.ts'
import { confirmRefundAddress, readAddressMessage } from '../src/refunds/destination/refund-address.ts'
import { approveRefund } from '../src/refunds/refund-decisions.ts'
import { refundPolls } from '../src/refunds/refund-jobs.ts'
import { listRefundsOfOrder } from '../src/refunds/refund-queries.ts'
import { findRefundable, revertOrder } from '../src/refunds/refund-service.ts'
import { openAttemptIn } from './harness/attempts.ts'
import { contextFor, DUE, type ModelWorld, personFor, startModelWorld } from './harness/model-world.ts'

/* What a provider took goes back through it, or by hand: no address is a destination unless it is proven. */

const FOREIGN = '0x52908400098527886E0F7030069857D2E4169EE7'
const OWN = '0x8617E340B3D01FA5F11F306F4090FD50E238070D'

let world: ModelWorld
before(async () => {
  const providerStatus = 'Binance takes no more refunds of this order: send it another way, with a proof'
  const manual = { outcome: 'manual', reference: null, txHash: null, providerStatus } as const
  world = await startModelWorld({ refundPayment: async () => manual })
})
after(() => world?.stop())

async function openPaid() {
  const attempt = await openAttemptIn(world)
  const { order, key, reference, context } = attempt
  const { db } = world.host
  await applyReport(world.payments, key, paidReport(reference, { final: DUE, providerStatus: 'PAID' }))
  const find = async () => {
    const [refund] = await listRefundsOfOrder(db, order.companyId, order.id)
    assert.ok(refund)
    return refund
  }
  return {
    ...attempt,
    find,
    /** A cashier writes it into the payer information. */
    async write(userAddress: string) {
      const { companyId, collectorId } = order
      const cashier = { ...(await personFor(db, { role: 'Cashier', companyId })), collectorIds: [collectorId ?? ''] }
      const body = { code: order.code, payerInformation: { userAddress } }
      await savePayer(world.payments.payers, contextFor(cashier), body)
    },
    revert: (body: { address?: string } = {}) => revertOrder(world.refunds, context, order.code, body),
    shown: () => findRefundable(world.refunds, context.actor, order.code),
    poll: async () =>
      refundPolls(world.refunds).work(db, { companyId: order.companyId, id: (await find()).id } as never),
  }
}

const isRefusedAt = (path: string) => (error: unknown) =>
  error instanceof AppError && error.code === 'VALIDATION_FAILED' && error.details?.[0]?.path === path

test('a refund that its provider hands to a person names no address, whoever wrote one', async () => {
  const { write, shown, revert, poll, find, order } = await openPaid()
  await write(FOREIGN)
  const { address, proposedAddress } = await shown()
  assert.deepEqual([address, proposedAddress], [null, null])
  await revert()
  await poll()
  const sent = await find()
  assert.deepEqual([sent.address, sent.addressProof, sent.toSendByHand, sent.heldBy], [null, null, true, 'operator'])
  // as versions before stored it
  await world.host.db.run(sql`update refunds set address = ${FOREIGN} where order_id = ${order.id}`)
  assert.equal((await find()).address, null, 'an older refund has no destination either')
})

test('an address for what goes back through its provider is refused, and starts nothing', async () => {
  const { order, revert, context } = await openPaid()
  await assert.rejects(revert({ address: OWN }), isRefusedAt('address'))
  const asked = readAddressMessage(world.refunds, context.actor, { code: order.code, address: OWN })
  await assert.rejects(asked, isRefusedAt('address'))
  const refunds = await listRefundsOfOrder(world.host.db, order.companyId, order.id)
  assert.deepEqual(refunds, [])
})

test('where a wallet paid a provider on a known chain, the payer is asked as on a chain, also after an approval', async () => {
  const { order, write, shown, revert, find } = await openPaid()
  const { db } = world.host
  await db.run(sql`
    update payments set channel = 'whitepay-non-custody', network = 8453 where order_id = ${order.id}`)
  await write(FOREIGN)
  const goal = await shown()
  assert.deepEqual([goal.network, goal.address, goal.proposedAddress], [8453, null, FOREIGN])
  await db.run(sql`
    update companies set refund_approval = true, version = version + 1 where id = ${order.companyId}`)
  await revert()
  // as versions before stored it
  await db.run(sql`update refunds set address = ${FOREIGN} where order_id = ${order.id}`)
  await approveRefund(world.refunds, await find(), contextFor(world.operator))
  const waiting = await find()
  assert.deepEqual([waiting.status, waiting.address], ['needs_address', null])
  const said = { address: OWN, link: 'mailed' } as const
  await confirmRefundAddress(world.refunds, waiting, said, contextFor(world.operator))
  const { status, address, addressProof } = await find()
  assert.deepEqual([status, address, addressProof?.kind], ['ready', OWN, 'payer'])
})
