import { randomBytes } from 'node:crypto'
import { HDKey } from '@scure/bip32'
import { privateKeyToAddress } from 'viem/accounts'
import { startProviders } from '../../sandbox/providers/server.ts'
import { lockOrderByCode } from '../../src/orders/order-queries.ts'
import type { Trigger } from '../../src/orders/order-states.ts'
import { openAnnounce, openTransition } from '../../src/orders/order-transition.ts'
import { startTestChain, type TestChain } from './chain.ts'
import { eventually, type Merchant, startTestService, type TestService, webhookIdKeyOf } from './service.ts'

export type Accepted = { toAddress: string; tokenAmount: string; paymentUri: string }

/** Everything behind a pay page: a chain, the test wallet, the service with its workers, a merchant. */
export type PayWorld = {
  host: TestService
  chain: TestChain
  merchant: Merchant
  providersUrl: string
  /** @returns the code of a new order over 54 EUR, which are 58.32 USDC */
  createOrder(body?: Record<string, unknown>): Promise<string>
  accept(code: string): Promise<Accepted>
  /** An order that waits for money. */
  createAccepted(body?: Record<string, unknown>): Promise<{ code: string } & Accepted>
  /** Moves an order without a word to the node that shows it, as another node of the service would. */
  moveElsewhere(code: string, ...triggers: Trigger[]): Promise<void>
  pageUrl(code: string): string
  /** The same order at a node that no channel is set up at. */
  pageWithoutChannels(code: string): string
  /** Waits for the order's status. */
  reaches(code: string, status: string): Promise<void>
  stop(): Promise<void>
}

/** A throw-away account key: what is sent to its addresses only has to be seen. */
const XPUB = HDKey.fromMasterSeed(Buffer.alloc(32, 5)).derive("m/44'/60'/0'").publicExtendedKey

const unitsOf = (amount: string): bigint => {
  const [whole = '0', fraction = ''] = amount.split('.')
  return BigInt(whole + fraction.padEnd(6, '0'))
}

export async function startPayWorld(env: Record<string, string> = {}): Promise<PayWorld> {
  const chain = await startTestChain()
  const wallet = {
    chainId: chain.chainId,
    usdcAddress: chain.usdcAddress,
    payerAddress: chain.payer,
    pay: async ({ to, amount }: { to: string; amount: string }) => ({
      txHash: await chain.pay({ to, units: unitsOf(amount) }),
    }),
  }
  const providers = await startProviders({ port: 0, chain: wallet })
  const relayerKey = `0x${randomBytes(32).toString('hex')}` as const
  await chain.call('anvil_setBalance', privateKeyToAddress(relayerKey), '0x56bc75e2d63100000')
  const host = await startTestService({
    workers: true,
    env: {
      CHAIN_31337_RPC_URL: chain.rpcUrl,
      CHAIN_31337_USDC: chain.usdcAddress,
      CHAIN_31337_XPUB: XPUB,
      CHAIN_31337_RELAYER_KEY: relayerKey,
      // this chain has a new block only when a test makes one
      CHAIN_MAX_LAG_SECONDS: '86400',
      SANDBOX_PROVIDERS_URL: providers.url,
      ...env,
    },
  })
  const merchant = await host.createMerchant()
  const { connectionString } = host.db.pool.options as { connectionString: string }
  const bare = await startTestService({ connectionString, env })

  const createOrder = async (body: Record<string, unknown> = {}): Promise<string> => {
    const order = { amount: 54, fromAsset: 'EUR', merchantIdentifier: merchant.merchantIdentifier, ...body }
    const { data, text } = await host.call<{ code: string } | null>('POST', 'request', { as: merchant, body: order })
    if (!data) throw new Error(text)
    return data.code
  }
  const accept = async (code: string): Promise<Accepted> => {
    const body = { paymentChannel: 'crypto' }
    const { data, text } = await host.call<Accepted | null>('POST', `accept/${code}`, { as: merchant, body })
    if (!data) throw new Error(text)
    return data
  }
  return {
    host,
    chain,
    merchant,
    providersUrl: providers.url,
    createOrder,
    accept,
    async createAccepted(body) {
      const code = await createOrder(body)
      return { code, ...(await accept(code)) }
    },
    async moveElsewhere(code, ...triggers) {
      const { db, config } = host
      const signals = { onDelivery: () => {}, onChange: () => {} }
      const deps = { clock: Date.now, webhookIdKey: webhookIdKeyOf(host), payUrl: config.payUrl, signals }
      const transition = openTransition(deps, openAnnounce(deps))
      for (const trigger of triggers) {
        await db.tx(async (tx) => {
          const order = await lockOrderByCode(tx, code)
          if (!order) throw new Error(`there is no order ${code}`)
          await transition(tx, order, { trigger, actor: 'operator', requestId: null })
        })
      }
    },
    pageWithoutChannels: (code) => `${bare.config.payUrl}/pay?code=${code}`,
    async reaches(code, status) {
      const read = () => host.call<{ status: string }>('GET', `status/${code}`)
      await eventually(read, ({ data }) => data.status === status)
    },
    pageUrl: (code) => `${host.config.payUrl}/pay?code=${code}`,
    async stop() {
      await bare.stop()
      await host.stop()
      await providers.stop()
      await chain.stop()
    },
  }
}
