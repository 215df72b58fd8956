import { randomBytes } from 'node:crypto'
import { word } from '../../sandbox/chain/rpc.ts'
import { DEPLOYER } from '../../sandbox/chain/throwaway-keys.ts'
import { mint } from '../../sandbox/chain/token.ts'
import { localSigner } from '../../src/chain/signer.ts'
import type { TestChain } from './chain.ts'
import { type Answer, eventually } from './service.ts'
import type { Payable, Shop } from './shop.ts'

export type RefundData = {
  _id: string
  orderId: string
  status: string
  amount: string
  excessAmount: string
  address: string | null
  txHash: string | null
  message: string | null
  addressUrl: string | null
}

const newKey = (): string => `0x${randomBytes(32).toString('hex')}`

export const newAddress = (): string => localSigner(newKey()).address

/** Keys that are made now, with test money and gas: the service then pays refunds and settlements by itself. */
export async function payoutEnv(chain: TestChain): Promise<Record<string, string>> {
  const [refundKey, relayerKey] = [newKey(), newKey()]
  await mint(chain.call, localSigner(refundKey).address, 1_000_000_000_000n)
  await chain.call('anvil_setBalance', localSigner(relayerKey).address, '0x56bc75e2d63100000')
  return { CHAIN_31337_REFUND_KEY: refundKey, CHAIN_31337_RELAYER_KEY: relayerKey }
}

/** The token's issuer blocks an address. */
export async function blacklist(chain: TestChain, address: string): Promise<void> {
  await chain.call('eth_sendTransaction', {
    from: DEPLOYER,
    to: chain.usdcAddress,
    data: `0xf9f92be4${word(address)}`,
  })
  await chain.mine()
}

/** An order that is paid, by `units` or its price. */
export async function createPaid(shop: Shop, body: Record<string, unknown> = {}, more = 0n): Promise<Payable> {
  const order = await shop.createAwaiting(body)
  await shop.chain.pay({ to: order.toAddress, units: order.units + more })
  await shop.makeFinal()
  await shop.reaches(order.code, 'PAID')
  return order
}

export const revert = (shop: Shop, code: string, body: Record<string, unknown> = {}): Promise<Answer<null>> =>
  shop.host.call('POST', `revert/${code}`, { as: shop.merchant, body })

export const listRefunds = (shop: Shop, orderId: string): Promise<RefundData[]> => listRefundsOf(shop, orderId)

export async function listRefundsOf(
  { host, merchant }: Pick<Shop, 'host' | 'merchant'>,
  orderId: string,
): Promise<RefundData[]> {
  const { data } = await host.call<RefundData[]>('GET', '/api/next/refunds?limit=100', { as: merchant })
  return data.filter((refund) => refund.orderId === orderId).toReversed()
}

/** The order's newest refund, once it is as wanted; blocks are mined while it is waited for. */
export async function refundReaches(shop: Shop, orderId: string, status: string, mine = true): Promise<RefundData> {
  const newest = async (): Promise<RefundData | undefined> => {
    if (mine) await shop.chain.mine()
    return (await listRefunds(shop, orderId)).at(-1)
  }
  const refund = await eventually(newest, (seen) => seen?.status === status)
  if (!refund) throw new Error('no refund')
  return refund
}
