import assert from 'node:assert/strict'
import { type Channel, NO_INSTRUCTIONS, paidReport, type RefundReport } from '../../src/channels/channel.ts'
import { json, sql } from '../../src/db/db.ts'
import { invalid } from '../../src/kernel/errors.ts'
import { claimTransaction } from '../../src/ledger/claim-queries.ts'
import { acceptOrder } from '../../src/payments/accept/accept-order.ts'
import { applyReport } from '../../src/payments/payment-report.ts'
import { findRefund, type Refund } from '../../src/refunds/refund-queries.ts'
import { revertOrder } from '../../src/refunds/refund-service.ts'
import { actorOf, contextFor, DUE, type ModelWorld } from './model-world.ts'
import type { Merchant } from './service.ts'

export const CHAIN = 31337
export async function createPaid(world: ModelWorld): Promise<{ merchant: Merchant; orderId: string; code: string }> {
  const merchant = await world.host.createMerchant()
  const { id: orderId, code } = await world.makeOrder(merchant)
  const context = contextFor(actorOf(merchant))
  await acceptOrder(world.payments, { context, code, body: { paymentChannel: 'binance' } })
  const { id, reference } = await world.host.db.one<{ id: string; reference: string }>(
    sql`select id, provider_reference as reference from payments where order_id = ${orderId}`,
  )
  const report = paidReport(reference, { final: DUE, providerStatus: 'PAID' })
  await applyReport(world.payments, { companyId: merchant.companyId, id }, report)
  return { merchant, orderId, code }
}

export async function startRefund(world: ModelWorld) {
  const { merchant, orderId, code } = await createPaid(world)
  const context = contextFor(actorOf(merchant))
  const { refundId } = await revertOrder(world.refunds, context, code, {})
  const address = `0x${'c'.repeat(40)}`
  const proof = { kind: 'payer', by: 'payer', at: '2026-01-01T00:00:00.000Z' }
  await world.host.db.run(sql`
    update refunds set channel = 'crypto', network = ${CHAIN}, address = ${address}, address_proof = ${json(proof)}
    where id = ${refundId}`)
  return { context, orderId, key: { companyId: merchant.companyId, id: refundId } }
}

/** A company that a SuperAdmin settles, with money that is owed to it. */
export async function startSettling(world: ModelWorld) {
  const { merchant } = await createPaid(world)
  const { companyId } = merchant
  await world.host.db.run(sql`
    update companies set settlement_address = ${`0x${'c'.repeat(40)}`}, settlement_network = ${CHAIN}
    where id = ${companyId}`)
  return { companyId, context: contextFor({ ...actorOf(merchant), role: 'SuperAdmin' }) }
}

export const REFUSED = { outcome: 'refused', reference: null, txHash: null, providerStatus: 'paid by hand' } as const
export const pending = (txHash: string): RefundReport => ({ ...REFUSED, outcome: 'pending', txHash })

export const BY_HAND = { ...REFUSED, outcome: 'manual', providerStatus: 'send it by hand' } as const

/** Pays from a wallet of ours, and checks what a person sent instead. */
export const walletOf = (parts: Pick<Channel, 'refundPayment' | 'checkRefundTransaction'>): Channel => ({
  id: 'binance',
  networks: [],
  createPayment: async ({ merchantReference }) => ({ ...NO_INSTRUCTIONS, providerReference: merchantReference }),
  fetchPayment: async ({ providerReference }) => ({ outcome: 'waiting', providerReference, providerStatus: 'WAITING' }),
  ...parts,
})

export async function read(world: ModelWorld, id: string): Promise<Refund> {
  const refund = await findRefund(world.host.db, id)
  assert.ok(refund)
  return refund
}

/** What naming a transaction commits first; then the process ends. */
export const beginNaming = (
  world: ModelWorld,
  { companyId, id: causeId }: { companyId: string; id: string },
  txHash: string,
) =>
  world.host.db.tx((tx) =>
    claimTransaction(tx, { companyId, network: CHAIN, txHash, causeId, toAddress: `0x${'c'.repeat(40)}` }),
  )
export const GONE = () => Promise.reject(invalid('txHash', 'is not known on Base'))
