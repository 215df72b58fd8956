import { sql } from '../../src/db/db.ts'
import { newEmail } from './accounts.ts'
import {
  byAdmin,
  byCode,
  type Cases,
  cancelOpen,
  choice,
  late,
  order,
  type Place,
  paid,
  post,
  refund,
  session,
  settlement,
  tillOf,
} from './permission-objects.ts'
import { newId } from './permission-world.ts'
import { newAddress } from './refunds.ts'

/** Of a manager; `own`: of the caller, unless a manager may remove it anyway. */
async function note(place: Place, own = false): Promise<{ code: string; id: string }> {
  const { code } = await order(place)
  const { _id: id } = await post<{ _id: string }>(place, `confirm_conversion/notes/${code}`, {
    text: 'refund promised',
  })
  const { role, userId } = place.caller
  if (own && role === 'Cashier')
    await place.world.shop.host.db.run(sql`update order_notes set author = ${`user:${userId}`} where id = ${id}`)
  return { code, id }
}

export const ORDERS: Cases = {
  getSummary: { row: 'orders.summary', make: (place) => ({ query: choice(place), shows: 'paidAmount' }) },
  createOrder: {
    row: 'orders.create',
    foreign: { status: 400, code: 'UNKNOWN_MERCHANT_IDENTIFIER' },
    personal: true,
    async make(place) {
      const sale = { amount: '5.00', fromAsset: 'EUR' }
      if (place.caller.role !== 'SimpleUser') return { body: { ...sale, merchantIdentifier: tillOf(place) } }
      const { _id: sessionId } = await session(place)
      return { body: { ...sale, websiteUrl: 'https://shop.example', sessionId } }
    },
  },
  getOrderByCode: { row: 'orders.status', make: byCode },
  getOrderStory: { row: 'orders.history', personal: true, make: byCode },
  getOrderByReference: {
    row: 'orders.status',
    async make(place) {
      const alias = `A-${newId()}`
      await order(place, { alias })
      return { params: { reference: alias }, shows: alias }
    },
  },
  cancelOrder: { row: 'orders.cancel', personal: true, make: byCode },
  expireOrder: { row: 'orders.expire', personal: true, make: byCode },
  listOrders: { row: 'orders.list', ownOnly: true, make: async (place) => ({ shows: (await order(place)).code }) },
  findPayerOrders: {
    row: 'payers.read',
    ownOnly: true,
    silent: true,
    async make(place) {
      const { code, id } = await order(place)
      const payerEmail = `${id}@payers.example`
      await post(place, `confirm_conversion/email/${code}`, { email: payerEmail })
      return { body: { payerEmail }, shows: code }
    },
  },
  listPaymentLinks: {
    row: 'orders.links',
    ownOnly: true,
    make: async (place) => ({ shows: (await order(place, { alias: `A-${newId()}` })).code }),
  },
  downloadOrders: {
    row: 'orders.download',
    ownOnly: true,
    make: async (place) => ({ shows: (await order(place)).code }),
  },
  acceptOrder: {
    row: 'payments.accept',
    personal: true,
    make: async (place) => ({
      ...(await byCode(place)),
      body: { paymentChannel: 'crypto', network: place.world.shop.chain.chainId },
    }),
  },
  confirmOrder: {
    row: 'payments.confirm',
    silent: true,
    personal: true,
    async make(place) {
      if (place.colleague) return byCode(place)
      const order = paid(place, 'plain')
      place.home.stock.plain.unshift(order)
      return { params: { code: order.code } }
    },
  },
  nameTransaction: {
    row: 'payments.transaction',
    silent: true,
    personal: true,
    make: async (place) => ({ ...(await byCode(place)), body: { txHash: `0x${'1'.repeat(64)}` } }),
  },
  savePayerInformation: {
    row: 'orders.payer',
    personal: true,
    make: async (place) => ({ body: { code: (await order(place)).code, payerInformation: { lastName: 'L' } } }),
  },
  setPayerEmail: {
    row: 'orders.payer',
    personal: true,
    make: async (place) => ({ ...(await byCode(place)), body: { email: newEmail('other') } }),
  },
  sendOrderLink: {
    row: 'orders.send',
    personal: true,
    make: async (place) => ({ ...(await byCode(place)), body: { email: newEmail('payer') } }),
  },
  listOrderNotes: {
    row: 'notes.read',
    personal: true,
    async make(place) {
      const { code, id } = await note(place)
      return { params: { code }, shows: id }
    },
  },
  addOrderNote: {
    row: 'notes.write',
    personal: true,
    make: async (place) => ({ ...(await byCode(place)), body: { text: 'called, comes on Friday' } }),
  },
  removeOrderNote: { row: 'notes.write', personal: true, make: async (place) => ({ params: await note(place, true) }) },
  getPayerInformation: {
    row: 'payers.read',
    async make(place) {
      const { code, id } = await order(place)
      return { params: { code }, shows: `Ada-${id}` }
    },
  },
  erasePayerInformation: { row: 'payers.erase', make: byCode },
  listEvents: {
    row: 'orders.events',
    make: (place) => ({ query: choice(place), shows: 'order.initial' }),
  },
  listLatestEvents: {
    row: 'orders.events',
    make: (place) => ({ query: choice(place), shows: 'order.initial' }),
  },
  getExchangeInfo: {
    row: 'rates.read',
    make: () => ({ query: { fromAsset: 'EUR', toAsset: 'USDC' }, shows: 'price' }),
  },
}

const TINY_PDF = Buffer.from('%PDF-1.4\n%%EOF').toString('base64')

const NO_CHANNEL =
  'waits: its channel is not set up on the server. The operator sets it up again, or a person settles the refund by hand'

/** A refund that a person must settle: no node has had its channel for an hour. */
async function manual(place: Place): Promise<string> {
  const { id } = await refund(place, 'ready')
  const { db } = place.world.shop.host
  await db.run(sql`
    update refunds set channel = 'gatepay', last_words = ${NO_CHANNEL}, account_gone_at = now() - interval '1 hour'
    where id = ${id}`)
  await db.run(sql`
    update payments set channel = 'gatepay' where id = (select payment_id from refunds where id = ${id})`)
  return id
}

/** By company: a refund that takes a proof, used again without the last one. */
const proven = new Map<string, string>()

async function settledByHand(place: Place): Promise<string> {
  const { companyId } = place.home
  const known = proven.get(companyId)
  if (known !== undefined) {
    await place.world.shop.host.db.run(sql`delete from refund_proofs where refund_id = ${known}`)
    return known
  }
  const id = await manual(place)
  await byAdmin(place, `refunds/${id}/settle`, { reference: `R-${newId()}`, statement: 'sent by bank transfer' })
  proven.set(companyId, id)
  return id
}

export const MONEY: Cases = {
  revertOrder: { row: 'refunds.revert', make: (place) => ({ params: { code: paid(place, 'plain').code }, body: {} }) },
  getRefundable: {
    row: 'refunds.revert',
    async make(place) {
      const order = paid(place, 'plain')
      place.home.stock.plain.unshift(order)
      return { params: { code: order.code } }
    },
  },
  listRefunds: {
    row: 'refunds.read',
    ownOnly: true,
    make: async (place) => ({ query: { limit: '100' }, shows: (await refund(place, 'needs_address')).id }),
  },
  getRefund: {
    row: 'refunds.read',
    async make(place) {
      const { id } = await refund(place, 'needs_address')
      return { params: { id }, shows: id }
    },
  },
  getRefundAddressMessage: {
    row: 'refunds.revert',
    async make(place) {
      const order = paid(place, 'plain')
      place.home.stock.plain.unshift(order)
      return { query: { code: order.code, address: newAddress() }, shows: order.code }
    },
  },
  approveRefund: {
    row: 'refunds.decide',
    make: async (place) => ({ params: { id: (await refund(place, 'needs_approval')).id } }),
  },
  rejectRefund: {
    row: 'refunds.decide',
    make: async (place) => ({ params: { id: (await refund(place, 'needs_approval')).id }, body: { reason: 'no' } }),
  },
  setRefundAddress: {
    row: 'refunds.revert',
    make: async (place) => ({
      params: { id: (await refund(place, 'needs_address')).id },
      body: { address: newAddress() },
    }),
  },
  settleRefund: {
    row: 'refunds.settle',
    operatorsMoney: true,
    async make(place) {
      const id = await manual(place)
      return { params: { id }, body: { reference: `R-${newId()}`, statement: 'sent by bank transfer' } }
    },
  },
  addRefundProof: {
    row: 'refunds.settle',
    make: async (place) => ({ params: { id: await settledByHand(place) }, body: { file: TINY_PDF } }),
  },
  downloadRefundProof: {
    row: 'payers.read',
    async make(place) {
      const id = await settledByHand(place)
      await place.world.shop.host.db.run(sql`
        insert into refund_proofs (company_id, refund_id, mime, bytes, sha256, added_by, added_at)
        values (${place.home.companyId}, ${id}, 'application/pdf', ${Buffer.from(`%PDF-${id}`)}, ${'0'.repeat(64)}, 'user:x', now())`)
      return { params: { id }, shows: id }
    },
  },
  reportRefundTransaction: {
    row: 'refunds.revert',
    operatorsMoney: true,
    async make(place) {
      const { id, units } = await refund(place, 'ready')
      const { chain, host } = place.world.shop
      const { address } = await host.db.one<{ address: string }>(sql`select address from refunds where id = ${id}`)
      const txHash = await chain.pay({ to: address, units })
      return { params: { id }, body: { txHash } }
    },
  },
  listMispayments: {
    row: 'mispayments.read',
    ownOnly: true,
    async make(place) {
      const id = await late(place)
      place.home.stock.late.unshift(
        await place.world.shop.host.db.one(sql`
          select o.code, o.id from orders o join mispayments m on m.order_id = o.id where m.id = ${id}`),
      )
      return { query: { limit: '100' }, shows: id }
    },
  },
  acceptMispayment: {
    row: 'mispayments.decide',
    make: async (place) => ({ params: { id: await late(place) }, body: {} }),
  },
  ignoreMispayment: {
    row: 'mispayments.decide',
    make: async (place) => ({ params: { id: await late(place) }, body: { reason: 'too small' } }),
  },
  getMispaymentRefund: {
    row: 'mispayments.decide',
    async make(place) {
      const [next] = place.home.stock.late.slice(-1)
      const id = await late(place)
      // reading decides nothing
      if (next) place.home.stock.late.push(next)
      return { params: { id } }
    },
  },
  refundMispayment: {
    row: 'mispayments.decide',
    make: async (place) => ({ params: { id: await late(place) }, body: { address: newAddress() } }),
  },
  getBooksCheck: { row: 'ledger.read', make: (place) => ({ query: choice(place), shows: '"ok":' }) },
  listFees: { row: 'ledger.read', make: (place) => ({ query: choice(place), shows: '"feeBps":' }) },
  readLedger: { row: 'ledger.read', make: (place) => ({ query: choice(place), shows: 'company_payable' }) },
  createSettlement: {
    row: 'settlements.create',
    make: (place) => ({ body: choice(place) }),
    after: cancelOpen,
  },
  listSettlements: {
    row: 'settlements.read',
    ownOnly: true,
    make: async (place) => ({ shows: (await settlement(place, false))._id }),
    after: cancelOpen,
  },
  getSettlement: {
    row: 'settlements.read',
    make: async (place) => ({ params: { id: (await settlement(place, false))._id }, shows: '"network":' }),
    after: cancelOpen,
  },
  readSettlementStatement: {
    row: 'settlements.read',
    make: async (place) => ({ params: { id: (await settlement(place, false))._id }, shows: '"carriedOver":' }),
    after: cancelOpen,
  },
  approveSettlement: {
    row: 'settlements.approve',
    make: async (place) => ({ params: { id: (await settlement(place, false))._id } }),
    after: cancelOpen,
  },
  cancelSettlement: {
    row: 'settlements.cancel',
    make: async (place) => ({ params: { id: (await settlement(place, false))._id } }),
    after: cancelOpen,
  },
  reportSettlementPaid: {
    row: 'settlements.pay',
    async make(place) {
      const { _id: id, amount, address } = await settlement(place, true)
      const { chain } = place.world.shop
      const txHash = await chain.pay({ to: address, units: BigInt(amount.replace('.', '')) })
      await chain.mine(5)
      return { params: { id }, body: { txHash } }
    },
    after: cancelOpen,
  },
}
