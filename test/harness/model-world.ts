import assert from 'node:assert/strict'
import { openAddressFaults, openPayoutPorts } from '../../src/assembly/chains.ts'
import type { Audit } from '../../src/audit/audit.ts'
import { type Channel, NO_INSTRUCTIONS } from '../../src/channels/channel.ts'
import { type Db, sql } from '../../src/db/db.ts'
import type { Actor } from '../../src/http/actor.ts'
import type { RequestContext } from '../../src/http/request-context.ts'
import { newId } from '../../src/kernel/ids.ts'
import { type Books, openBooks } from '../../src/ledger/books.ts'
import type { SettlementDeps } from '../../src/ledger/settlements/settlement-service.ts'
import type { Order } from '../../src/orders/order.ts'
import { insertOrders } from '../../src/orders/order-insert-queries.ts'
import { openAnnounce, openTransition } from '../../src/orders/order-transition.ts'
import type { MispaymentDeps } from '../../src/payments/mispayments/mispayment-service.ts'
import { returnBlock } from '../../src/payments/mispayments/way-queries.ts'
import { type PaymentDeps, readReturnsAgain } from '../../src/payments/payment-service.ts'
import { openWords } from '../../src/payments/reconcile.ts'
import { openRates } from '../../src/rates/rate-service.ts'
import { noticeForeignRefund } from '../../src/refunds/foreign/foreign-refund.ts'
import type { MispaymentRefundDeps } from '../../src/refunds/mispayment-refund.ts'
import { openRefundLinks } from '../../src/refunds/refund-link.ts'
import type { DecisionDeps } from '../../src/screening/screening-decisions.ts'
import { openScreeningGate } from '../../src/screening/screening-gate.ts'
import { insertPerson } from './accounts.ts'
import { openChannels } from './one-channel-set.ts'
import { type Merchant, startTestService, type TestService, webhookIdKeyOf } from './service.ts'

/** Of each order of the model. */
export const DUE = 54_000_000n

/** The parts of the service, put together around a clock that stands still and a provider that says what it is told. */
export type ModelWorld = {
  host: TestService
  clock: { nowMs: number }
  payments: PaymentDeps
  refunds: MispaymentRefundDeps
  mispayments: MispaymentDeps
  screenings: DecisionDeps
  settlements: SettlementDeps
  books: Books
  /** A SuperAdmin. */
  operator: Actor
  makeOrder(merchant: Merchant, own?: Partial<Order>): Promise<Order>
  stop(): Promise<void>
}

/** A request of that caller; what it answers is kept nowhere. */
export const contextFor = (actor: Actor): RequestContext => ({
  ...{ actor, requestId: 'model', ip: null, userAgent: null },
  remember: async () => {},
})

const NO_AUDIT: Audit = { write: async () => {}, verify: async () => ({ entries: 0, lost: [], fault: null }) }

export const actorOf = ({ companyId }: Pick<Merchant, 'companyId'>): Actor => ({
  kind: 'apiKey',
  id: 'model',
  role: 'Service',
  companyId,
  companyIds: [],
  collectorIds: [],
  scopes: null,
  valid: true,
  sessionId: null,
  secondFactorAt: null,
})

/** A person of that role, with a session. */
export async function personFor(db: Db, is: Pick<Actor, 'role' | 'companyId'>): Promise<Actor> {
  return { ...actorOf({ companyId: '' }), kind: 'user', ...is, ...(await insertPerson(db, is)) }
}

/** A provider that answers at once; what it says of a payment is what the test reports. */
export const MODEL_PROVIDER: Channel = {
  id: 'binance',
  networks: [],
  createPayment: async ({ merchantReference }) => ({ ...NO_INSTRUCTIONS, providerReference: merchantReference }),
  fetchPayment: async ({ providerReference }) => ({ outcome: 'waiting', providerReference, providerStatus: 'WAITING' }),
}

/** A chain on which nobody sends: the test says what is paid. */
const CHAIN = {
  network: 31337,
  pay: null,
  watch: async () => null,
  check: async () => ({ outcome: 'unknown' as const, txHash: null, providerStatus: 'model' }),
}

export async function startModelWorld(own: Partial<Channel> = {}): Promise<ModelWorld> {
  const host = await startTestService()
  const { db, vault, config } = host
  const time = { nowMs: Date.now() }
  const clock = (): number => time.nowMs
  const { log } = host.service.app
  const signals = { onDelivery: () => {}, onChange: () => {} }
  const deps = { clock, webhookIdKey: webhookIdKeyOf(host), payUrl: config.payUrl, signals }
  const transition = openTransition(deps, openAnnounce(deps))
  const payers = {
    db,
    vault,
    clock,
    rates: openRates({ fiatAssets: ['EUR'], config: config.rates, db, clock, log }),
    audit: NO_AUDIT,
    tellEmailChanged: async () => {},
    hasMoney: async () => false,
    findAddressFault: openAddressFaults([]),
  }
  const channels = openChannels([{ ...MODEL_PROVIDER, ...own }])
  const books = openBooks({ db, clock, log, alarm: async () => {}, usdc: {} })
  const payouts = openPayoutPorts({ db, clock }, [])
  const nothing = async (): Promise<void> => {}
  const screening = openScreeningGate({
    ...{ clock, screens: false, wake: () => {}, alarm: nothing, findListing: () => null },
  })
  const desk = { db, clock, transition, audit: NO_AUDIT, screening }
  const gate = { admit: async () => null, admitLate: async () => true }
  const links = openRefundLinks({ vault, payUrl: config.payUrl })
  const refunds: MispaymentRefundDeps = {
    ...{ ...desk, baseUrl: config.baseUrl, channels, payers, books, ...payouts, askForAddress: nothing, links },
    readReturnsAgain: (tx, payment) => readReturnsAgain(payments, tx, payment),
  }
  const payments: PaymentDeps = {
    ...{ db, clock, vault, config, channels, transition, payers, dustUnits: 10_000n },
    ...{ screening, gate, onLoss: nothing, onGivenUp: async () => true, onSoldTwice: nothing },
    onRefunded: (tx, payment, report) => noticeForeignRefund(refunds, tx, payment, report),
    words: openWords(books),
  }
  return {
    ...{ host, clock: time, books, refunds, payments },
    operator: await personFor(db, { role: 'SuperAdmin', companyId: null }),
    screenings: { ...{ db, clock, audit: NO_AUDIT }, wakeSubject: nothing, returnBlock },
    mispayments: { ...desk, payers, gate, dustUnits: 10_000n, onDecided: () => {} },
    settlements: {
      ...{ ...desk, books, ...payouts, chains: [CHAIN] },
      limits: { dayLimitUnits: null, twoPersonsFromUnits: null, allowList: [] },
    },
    async makeOrder(merchant, own) {
      const order = { ...newOrder(merchant, time.nowMs), ...own }
      const { version } = await db.one<{ version: bigint }>(
        sql`select version from companies where id = ${merchant.companyId}`,
      )
      const made = await insertOrders(
        db,
        [
          {
            order,
            companyVersion: version,
            tillWebhookUrl: null,
            actor: 'model',
            atTill: null,
            soldBy: null,
            idempotency: null,
          },
        ],
        { wait: true },
      )
      assert.ok(made.has(order.id))
      return order
    },
    stop: () => host.stop(),
  }
}

function newOrder({ companyId, collectorId }: Merchant, nowMs: number): Order {
  const [id, code] = [newId(), newId()]
  const at = new Date(nowMs)
  return {
    companyId,
    id,
    code,
    shortCode: id.slice(4, 20).toUpperCase(),
    status: 'INITIAL',
    alias: null,
    from: { asset: 'EUR', units: 5000n },
    to: { asset: 'USDC', units: DUE },
    rate: 1_080_000_000_000n,
    quoteId: 'model',
    paymentChannel: null,
    paymentId: null,
    collectorId,
    merchantIdentifier: 'TILL-1',
    websiteUrl: null,
    buttonSessionId: null,
    webhookUrl: 'http://127.0.0.1:8099/model',
    cancelUrl: null,
    returnUrl: null,
    goods: null,
    metadata: null,
    anonymous: true,
    createdBy: 'model',
    requestId: null,
    createdAt: at,
    updatedAt: at,
    expiresAt: new Date(nowMs + 300_000),
    paidAt: null,
    paidUnits: 0n,
    refundedUnits: 0n,
    version: 1,
  }
}
