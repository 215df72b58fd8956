import type { ProviderPayment } from '../../sandbox/providers/imitation.ts'
import type { OrderFacts, PaymentRow, RefundRow } from '../world/oracle.ts'
import type { World } from '../world/world.ts'

/** The imitation that keeps a channel's payments. */
const PREFIX: Readonly<Record<string, string>> = {
  binance: 'binance',
  gatepay: 'gatepay',
  kucoinpay: 'kucoinpay',
  cryptopay: 'cryptopay',
  coinbase: 'coinbase',
  whitepay: 'whitepay',
  'whitepay-non-custody': 'whitepay',
}

export const unitsOf = (decimal: string): bigint => {
  const [whole = '0', rest = ''] = decimal.split('.')
  return BigInt(whole) * 1_000_000n + BigInt(rest.slice(0, 6).padEnd(6, '0'))
}

export function providerPayment({ providers }: World, payment: PaymentRow): ProviderPayment | undefined {
  const prefix = PREFIX[payment.channel]
  return prefix === undefined ? undefined : providers.findByMerchant(prefix, payment.merchant_reference)
}

/** What arrived for a payment, according to the chain or the provider, in USDC units. */
export function arrivedFor(world: World, payment: PaymentRow): bigint {
  if (payment.deposit_address !== null) return world.chain.balanceAt(payment.deposit_address)
  const kept = providerPayment(world, payment)
  // Gate never counts what arrives after its own deadline: it waits for a person, outside the order
  return kept?.state === 'paid' && kept.facts.late !== true ? unitsOf(kept.received) : 0n
}

/** What was sent back as a payment's refunds, according to the chain or the provider. */
export function sentBack(world: World, payment: PaymentRow, refunds: readonly RefundRow[]): bigint {
  const kept = providerPayment(world, payment)
  if (kept) {
    const settled = kept.refunds.filter(({ state }) => state === 'settled')
    return settled.reduce((sum, { amount }) => sum + unitsOf(amount), 0n)
  }
  const own = refunds.filter(({ payment_id: id }) => id === payment.id)
  const addresses = new Set(own.flatMap(({ address }) => (address === null ? [] : [address])))
  return [...addresses].reduce((sum, address) => sum + world.chain.balanceAt(address), 0n)
}

export const sum = (values: readonly bigint[]): bigint => values.reduce((total, value) => total + value, 0n)

/** What the books hold for an order. */
export const heldInBooks = ({ accounts }: OrderFacts): bigint =>
  BigInt(accounts.payer_clearing ?? 0) + BigInt(accounts.wallet ?? 0)
