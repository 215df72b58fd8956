import assert from 'node:assert/strict'
import { type Providers, startProviders } from '../../sandbox/providers/server.ts'
import { sql } from '../../src/db/db.ts'
import { EVENTS } from '../../src/webhooks/outbox/events.ts'
import { startTestChain, type TestChain } from './chain.ts'
import { freePort } from './free-port.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import { payoutEnv } from './refunds.ts'
import { type Answer, eventually, type Merchant, startTestService, type TestService } from './service.ts'
import { chainEnv, FINAL_AFTER, type OrderData, type OrderStory, tellStory } from './shop.ts'

export type MarketInstructions = Record<string, string | number | null> & { status: string; providerReference: string }

/** A payment as its provider keeps it. */
export type DeskView = {
  reference: string
  provider: string
  merchantReference: string
  amount: string
  currency: string
  received: string
  state: string
  /** Milliseconds since 1970. */
  expiresAt: number
  refunds: { id: string; amount: string; state: string }[]
}

export type CallbackView = {
  provider: string
  url: string
  headers: Record<string, string>
  body: string
  status: number | null
  acknowledged: boolean
}

/** A merchant, and every provider that he could be paid through. */
export type Market = {
  host: TestService
  chain: TestChain
  receiver: Receiver
  merchant: Merchant
  providers: Providers
  create(body?: Record<string, unknown>): Promise<OrderData>
  accept(code: string, paymentChannel: string, more?: object): Promise<Answer<MarketInstructions>>
  /** A new order that waits for its money at a provider. */
  createAwaiting(channel: string, body?: Record<string, unknown>): Promise<{ order: OrderData; reference: string }>
  order(code: string): Promise<OrderData>
  reaches(code: string, status: string): Promise<OrderData>
  story(orderId: string): Promise<OrderStory>
  /** What a person does at the provider. */
  act(reference: string, action: string, body?: Record<string, unknown>): Promise<DeskView>
  tell(story: string, body?: Record<string, unknown>): Promise<void>
  /** Payments that a provider keeps for an order, newest first. */
  paymentsOf(orderId: string): Promise<DeskView[]>
  callbacksOf(provider: string): Promise<CallbackView[]>
  /** Webhook events that reached the merchant's server for an order. */
  eventsOf(code: string): string[]
  stop(): Promise<void>
}

const unitsOf = (text: string): bigint => {
  const [whole = '0', fraction = ''] = text.split('.')
  return BigInt(whole + fraction.padEnd(6, '0'))
}

async function readJson<Data>(url: string, init?: RequestInit): Promise<Data> {
  const answer = await fetch(url, { redirect: 'manual', ...init })
  const text = await answer.text()
  assert.ok(answer.ok, `${url}: ${answer.status} ${text}`)
  return JSON.parse(text) as Data
}

const json = (body: unknown): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body ?? {}),
})

export async function openMarket(
  options: {
    env?: Record<string, string>
    /** What needs the imitations' own addresses. */
    envOf?(credentials: Record<string, string>): Promise<Record<string, string>>
  } = {},
): Promise<Market> {
  const chain = await startTestChain()
  const port = await freePort()
  const wallet = {
    chainId: chain.chainId,
    usdcAddress: chain.usdcAddress,
    payerAddress: chain.payer,
    pay: async ({ to, amount }: { to: string; amount: string }) => {
      const txHash = await chain.pay({ to, units: unitsOf(amount) })
      await chain.mine(FINAL_AFTER - 1)
      return { txHash }
    },
  }
  const providers = await startProviders({ port: 0, chain: wallet, callbackBase: `http://127.0.0.1:${port}` })
  const env = { ...chainEnv(chain), ...(await payoutEnv(chain)), ...providers.credentials, PORT: String(port) }
  const more = await options.envOf?.(providers.credentials)
  const host = await startTestService({ env: { ...env, ...options.env, ...more }, workers: true })
  const receiver = await startReceiver()
  const merchant = await host.createMerchant()
  await host.db.run(sql`update companies set optional_events = ${[...EVENTS]} where id = ${merchant.companyId}`)

  const order: Market['order'] = async (code) => (await host.call<OrderData>('GET', `status/${code}`)).data
  const create: Market['create'] = async (body = {}) => {
    const plain = { amount: 50, fromAsset: 'EUR', merchantIdentifier: merchant.merchantIdentifier }
    const webhookUrl = `${receiver.url}/${crypto.randomUUID()}`
    const request = { as: merchant, body: { ...plain, webhookUrl, ...body } }
    const answer = await host.call<{ order: OrderData }>('POST', 'request', request)
    assert.equal(answer.status, 200, answer.text)
    return answer.data.order
  }
  const accept: Market['accept'] = (code, paymentChannel, more = {}) =>
    host.call('POST', `accept/${code}`, { as: merchant, body: { paymentChannel, ...more } })
  return {
    ...{ host, chain, receiver, merchant, providers, create, accept, order },
    async createAwaiting(channel, body) {
      const made = await create(body)
      const { data, text } = await accept(made.code, channel)
      assert.equal(data?.status, 'AWAITING', text)
      const [payment] = await paymentsOf(made._id)
      assert.ok(payment, 'the provider knows the payment')
      return { order: made, reference: payment.reference }
    },
    reaches: (code, status) =>
      eventually(
        () => order(code),
        (seen) => seen.status === status,
        20_000,
      ),
    story: (orderId) => tellStory(host, orderId),
    act: (reference, action, body) =>
      readJson(`${providers.url}/payments/${encodeURIComponent(reference)}/${action}`, json(body)),
    tell: async (story, body) => void (await readJson(`${providers.url}/stories/${story}`, json(body))),
    paymentsOf,
    callbacksOf: async (provider) =>
      (await readJson<CallbackView[]>(`${providers.url}/callbacks`)).filter((one) => one.provider === provider),
    eventsOf: (code) =>
      receiver.received
        .map(({ body }) => JSON.parse(body) as { code: string; event: string })
        .filter((event) => event.code === code)
        .map(({ event }) => event),
    async stop() {
      await host.stop()
      await providers.stop()
      await receiver.close()
      await chain.stop()
    },
  }

  async function paymentsOf(orderId: string): Promise<DeskView[]> {
    const all = await readJson<DeskView[]>(`${providers.url}/payments`)
    return all.filter(({ merchantReference }) => merchantReference.includes(orderId))
  }
}
