import { randomBytes } from 'node:crypto'
import { privateKeyToAccount } from 'viem/accounts'
import { word } from '../../sandbox/chain/rpc.ts'
import { DEPLOYER } from '../../sandbox/chain/throwaway-keys.ts'
import { mint } from '../../sandbox/chain/token.ts'
import { localSigner } from '../../src/chain/payout/signer.ts'
import type { TestChain } from './chain.ts'
import { type Answer, eventually } from './service.ts'
import type { Payable, Shop } from './shop.ts'

export type Writer = { by: string; name: string | null; keyOf: string | null }

export type RefundData = {
  _id: string
  orderId: string
  code: string
  status: string
  amount: string
  excessAmount: string
  address: string | null
  txHash: string | null
  message: string | null
  addressUrl: string | null
  askedByMail: boolean
  emailWriter: Writer | null
  proposer: Writer | null
  proposedAddress: string | null
  proposedBy: string | null
  confirmedBy: string | null
  replacedAddress: string | null
  addressMessage: string | null
  addressProof: Record<string, string> | null
  approvalReason: string | null
}

const newKey = (): string => `0x${randomBytes(32).toString('hex')}`

const keys = new Map<string, string>()

/** Of a wallet that can sign: see `withProof`. */
export function newAddress(): string {
  const key = newKey()
  const { address } = localSigner(key)
  keys.set(address, key)
  return address
}

/** Signs as wallets do (EIP-191). @param address one of `newAddress` */
export function signAs(address: string, message: string): Promise<string> {
  const key = keys.get(address)
  if (key === undefined) throw new Error(`${address} is not one of newAddress`)
  return privateKeyToAccount(key as `0x${string}`).signMessage({ message })
}

type RefundOf = { code: string; amount?: string; mispaymentId?: string }

/** The text that the API gives out to be signed; undefined when the refund is not possible. */
export async function readMessage(shop: Shop, address: string, refund: RefundOf): Promise<string | undefined> {
  const query = new URLSearchParams({ ...refund, address })
  const path = `/api/next/refunds/address-message?${query}`
  return (await shop.host.call<{ message: string } | null>('GET', path, { as: shop.merchant })).data?.message
}

/** The body with a signature of the wallet that it names, as a payer would give it. */
export async function withProof<Body extends Record<string, unknown>>(
  shop: Shop,
  refund: RefundOf,
  body: Body,
): Promise<Body & { addressProof?: { signature: string } }> {
  const { address } = body
  if (typeof address !== 'string' || !keys.has(address)) return body
  const message = await readMessage(shop, address, refund)
  return message === undefined ? body : { ...body, addressProof: { signature: await signAs(address, message) } }
}

/** What the wallet that pays refunds and settlements holds at first. */
export const PURSE_UNITS = 1_000_000_000_000n

/** Keys that are made now, with test money and gas: the service then pays refunds and settlements by itself. */
export async function payoutEnv(chain: TestChain): Promise<Record<string, string>> {
  const [refundKey, relayerKey] = [newKey(), newKey()]
  await mint(chain.call, localSigner(refundKey).address, PURSE_UNITS)
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

/** Paid by a payer whose e-mail the shop's server gave before. */
export async function createPaidBy(shop: Shop, email: string): Promise<Payable> {
  const order = await shop.createAwaiting()
  const noted = await shop.host.call('POST', `email/${order.code}`, { as: shop.merchant, body: { email } })
  if (noted.status !== 200) throw new Error(noted.text)
  await shop.chain.pay({ to: order.toAddress, units: order.units })
  await shop.makeFinal()
  await shop.reaches(order.code, 'PAID')
  return order
}

/** The wallet that the body names signs for it. */
export async function revert(shop: Shop, code: string, body: Record<string, unknown> = {}): Promise<Answer<null>> {
  const amount = typeof body.amount === 'string' ? { amount: body.amount } : {}
  return revertPlainly(shop, code, await withProof(shop, { code, ...amount }, body))
}

/** Nothing but the body. */
export const revertPlainly = (shop: Shop, code: string, body: Record<string, unknown> = {}): Promise<Answer<null>> =>
  shop.host.call('POST', `revert/${code}`, { as: shop.merchant, body })

/** What a payer does with the link of the refund page: enters the address, checks it and confirms. */
export function answerRefundPage(url: string, address: string): Promise<Response> {
  const { origin, pathname, searchParams } = new URL(url)
  const body = new URLSearchParams([...searchParams, ['address', address], ['confirmed', address]])
  return fetch(`${origin}${pathname}`, { method: 'POST', redirect: 'manual', body })
}

export const listRefunds = (shop: Shop, orderId: string): Promise<RefundData[]> => listRefundsOf(shop, orderId)

export async function listRefundsOf(
  { host, merchant }: Pick<Shop, 'host' | 'merchant'>,
  orderId: string,
): Promise<RefundData[]> {
  const { data } = await host.call<{ refunds: RefundData[] }>('GET', '/api/next/refunds?limit=100', { as: merchant })
  return data.refunds.filter((refund) => refund.orderId === orderId).toReversed()
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
