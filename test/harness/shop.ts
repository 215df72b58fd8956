import assert from 'node:assert/strict'
import { sql } from '../../src/db/db.ts'
import { EVENTS } from '../../src/webhooks/outbox/events.ts'
import { startTestChain, type TestChain } from './chain.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import { type Answer, eventually, type Merchant, startTestService, type TestService } from './service.ts'

/** An account key for tests alone: none of them signs for its addresses, and nothing of worth may ever come to them. */
export const TEST_XPUB =
  'xpub6CatWdiZiodmUeTDp8LT5or8nmbKNcuyvz7WyksVFkKB4RHwCD3XyuvPEbvqAQY3rAPshWcMLoP2fMFMKHPJ4ZeZXYVUhLv1VMrjPC7PW6V'

/** Confirmations after which a transfer is final on the local chain. */
export const FINAL_AFTER = 3

export type OrderData = Record<string, string | null> & { code: string; status: string; _id: string; toAmount: string }
export type Instructions = Record<string, string | number | null> & { toAddress: string; tokenAmount: string }
export type Payable = { code: string; orderId: string; toAddress: string; units: bigint }

/** What the tables say of one order; events and deliveries in the order in which they happened. */
export type OrderStory = {
  status: string
  paidUnits: string
  history: { seq: number; trigger: string; fromStatus: string | null; toStatus: string; event: string | null }[]
  deliveries: { event: string; status: string }[]
  payments: { number: number; status: string; receivedUnits: string; network: number | null }[]
  mispayments: { kind: string; asset: string; units: string; status: string }[]
}

export type Shop = {
  host: TestService
  chain: TestChain
  receiver: Receiver
  merchant: Merchant
  create(body?: Record<string, unknown>): Promise<OrderData>
  accept(code: string, body?: Record<string, unknown>): Promise<Answer<Instructions>>
  /** A new order that waits for its money on the chain; its webhooks go to `/<code>` of the receiver. */
  createAwaiting(body?: Record<string, unknown>): Promise<Payable>
  /** The order has this status now or within seconds; fails with what it has. */
  reaches(code: string, status: string): Promise<void>
  /** Mines what makes the newest transfer final. */
  makeFinal(): Promise<void>
  story(orderId: string): Promise<OrderStory>
  stop(): Promise<void>
}

/** What the service needs to take payments on a test chain instead of starting a sandbox. */
export const chainEnv = (chain: TestChain): Record<string, string> => ({
  CHAIN_31337_RPC_URL: chain.rpcUrl,
  CHAIN_31337_USDC: chain.usdcAddress,
  CHAIN_31337_XPUB: TEST_XPUB,
  // a test's chain has a new block only when the test makes one
  CHAIN_MAX_LAG_SECONDS: '86400',
})

export async function tellStory({ db }: TestService, orderId: string): Promise<OrderStory> {
  const order = await db.one<Pick<OrderStory, 'status' | 'paidUnits'>>(
    sql`select status, paid_units from orders where id = ${orderId}`,
  )
  const history = await db.many<OrderStory['history'][number]>(
    sql`select seq, trigger, from_status, to_status, event from order_events where order_id = ${orderId} order by seq`,
  )
  const deliveries = await db.many<OrderStory['deliveries'][number]>(
    sql`select event, status from delivery_states where order_id = ${orderId} order by created_at, id`,
  )
  const payments = await db.many<OrderStory['payments'][number]>(
    sql`select number, status, received_units, network from payments where order_id = ${orderId} order by number`,
  )
  const mispayments = await db.many<OrderStory['mispayments'][number]>(
    sql`select kind, asset, units, status from mispayments where order_id = ${orderId} order by kind, asset`,
  )
  return { ...order, history, deliveries, payments, mispayments }
}

/** A merchant with the whole service, a chain without blocks of its own, and a server that receives webhooks. */
export async function openShop(
  options: {
    env?: (chain: TestChain) => Promise<Record<string, string>>
    allEvents?: boolean
    connections?: number
  } = {},
): Promise<Shop> {
  const chain = await startTestChain()
  const env = { ...chainEnv(chain), ...(await options.env?.(chain)) }
  const host = await startTestService({ env, workers: true, connections: options.connections })
  const receiver = await startReceiver()
  const merchant = await host.createMerchant()
  if (options.allEvents) {
    await host.db.run(sql`update companies set optional_events = ${[...EVENTS]} where id = ${merchant.companyId}`)
  }
  const create: Shop['create'] = async (body = {}) => {
    const plain = { amount: 50, fromAsset: 'EUR', merchantIdentifier: merchant.merchantIdentifier }
    const answer = await host.call<{ order: OrderData }>('POST', 'request', {
      as: merchant,
      body: { ...plain, ...body },
    })
    assert.equal(answer.status, 200, answer.text)
    return answer.data.order
  }
  const accept: Shop['accept'] = (code, body = {}) =>
    host.call('POST', `accept/${code}`, { as: merchant, body: { paymentChannel: 'crypto', ...body } })
  return {
    ...{ host, chain, receiver, merchant, create, accept },
    async createAwaiting(body) {
      const path = `/${crypto.randomUUID()}`
      const { code, _id: orderId } = await create({ webhookUrl: receiver.url + path, ...body })
      const { data, text } = await accept(code, { network: chain.chainId })
      assert.equal(data?.status, 'AWAITING', text)
      return { code, orderId, toAddress: data.toAddress, units: BigInt(data.tokenAmount.replace('.', '')) }
    },
    async reaches(code, status) {
      const look = async () => (await host.call<OrderData>('GET', `status/${code}`)).data.status
      await eventually(look, (seen) => seen === status)
    },
    makeFinal: () => chain.mine(FINAL_AFTER - 1),
    story: (orderId) => tellStory(host, orderId),
    async stop() {
      await host.stop()
      await receiver.close()
      await chain.stop()
    },
  }
}
