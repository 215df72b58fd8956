import type { Clock } from '../../kernel/clock.ts'
import { ownAt, textAt } from '../../kernel/json.ts'
import { EXPONENTS, formatMoney, type Money, parseDecimal } from '../../kernel/money.ts'
import { type Channel, type Instructions, NO_INSTRUCTIONS } from '../channel.ts'
import { ProviderRefusal, ProviderTrouble } from '../provider-errors.ts'
import type { WhitepayApi } from '../whitepay/api.ts'
import { expectOrder, type HostedOrders } from '../whitepay/orders.ts'
import { assertWithin, choosePrice, keepList, type Price } from '../whitepay/prices.ts'
import { isOver, type WhitepayOrder } from '../whitepay/status-map.ts'

type Options = { api: WhitepayApi; orders: HostedOrders; clock: Clock; slug: string; network: string }

/** Whitepay's names of chains, with their chain ids. */
const CHAIN_IDS: Readonly<Record<string, number>> = {
  BASE: 8453,
  ETH: 1,
  ERC20: 1,
  ETHEREUM: 1,
  POLYGON: 137,
  MATIC: 137,
  ARBITRUM: 42161,
  OPTIMISM: 10,
}

type Offer = Price & { currencyId: string }

/** USDC on the configured network, with the narrower of the two minimums. @throws ProviderRefusal */
function findOffer(rows: readonly unknown[], due: Money, network: string): Offer {
  const row = rows.find((one) => textAt(one, 'ticker')?.toUpperCase() === due.asset)
  const currencyId = textAt(row, 'id')
  if (currencyId === undefined) throw new ProviderRefusal('account', `Whitepay takes no ${due.asset} host to host.`)
  const networks = (row as { networks?: Record<string, unknown> }).networks ?? {}
  if (!Object.hasOwn(networks, network)) {
    const offered = Object.keys(networks).join(', ') || 'none'
    throw new ProviderRefusal('account', `Whitepay takes no ${due.asset} on ${network}; it offers: ${offered}.`)
  }
  const limits = networks[network] as Record<string, unknown>
  const ofNetwork = { ticker: due.asset, min_amount: limits.min_amount, max_amount: limits.max_amount }
  return { ...choosePrice([ofNetwork], { due, fiat: due }), currencyId }
}

/** Documented under `order.wallet`; older answers have it under `order` or at the root. */
const fieldOf = (body: unknown, { raw }: WhitepayOrder, name: 'address' | 'network' | 'memo'): string | undefined =>
  [textAt(raw, 'wallet', name), textAt(raw, name), textAt(body, 'wallet', name), textAt(body, name)].find(Boolean)

const DIGITS = 18

/** The amount to deposit, network fee included, rounded up to our digits. */
function depositOf({ expected, depositedCurrency }: WhitepayOrder, due: Money): Money {
  const exact = expected === undefined ? undefined : parseDecimal(expected, DIGITS)
  const isOurs = depositedCurrency === undefined || depositedCurrency === due.asset
  if (exact === undefined || !isOurs) return due
  const step = 10n ** BigInt(DIGITS - EXPONENTS[due.asset])
  return { asset: due.asset, units: (exact + step - 1n) / step }
}

/**
 * If the payer must enter a memo, Whitepay's page is needed: with only the address the money would be lost. The
 * documented answer has none; the order itself has it.
 * @throws ProviderRefusal if there is no page for it
 */
async function instructionsOf(
  body: unknown,
  due: Money,
  { findPage }: HostedOrders,
): Promise<Instructions & { providerReference: string }> {
  const order = expectOrder(body)
  const address = fieldOf(body, order, 'address')
  const hasMemo = fieldOf(body, order, 'memo') !== undefined
  const page = order.checkoutUrl ?? (hasMemo ? await findPage(order.id) : null)
  if (address === undefined) throw new ProviderTrouble('Whitepay has made no deposit address yet', { cause: body })
  const links = { ...NO_INSTRUCTIONS, deepLink: page, checkoutUrl: page, providerReference: order.id }
  if (hasMemo) {
    if (page === null) throw new ProviderRefusal('request', 'Whitepay wants a memo on this network and has no page.')
    return { ...links, qrData: page }
  }
  const tokenAmount = formatMoney(depositOf(order, due))
  const network = ownAt(CHAIN_IDS, (fieldOf(body, order, 'network') ?? '').toUpperCase()) ?? null
  return { ...links, qrData: address, toAddress: address, tokenAmount, network }
}

/**
 * The host-to-host family: Whitepay creates a deposit address, our page shows it. Documented, but public code of 2024
 * says that it is not available to everyone, so it is off by default. Its own answer about an order has neither our
 * reference nor the price (docs.whitepay.com, http-api/static-wallets), so payments are read like hosted orders.
 */
export function openWalletOrders({ api, orders, clock, slug, network }: Options) {
  const root = `/acquiring/${encodeURIComponent(slug)}`
  // one list under two names: documents and public code differ
  const offers = keepList(api, clock, { path: `${root}/currencies`, keys: ['currencies', 'crypto_currency'] })
  const read = (id: string): Promise<unknown> => api({ method: 'GET', path: `${root}/order/${encodeURIComponent(id)}` })
  return {
    async findLimits({ due }) {
      const { min, max } = findOffer(await offers.peek(), due, network)
      return { min, max }
    },
    async createPayment({ due, merchantReference }) {
      const offer = findOffer(await offers.read(), due, network)
      assertWithin(offer)
      const body = {
        amount: formatMoney(due),
        currency_id: offer.currencyId,
        external_order_id: merchantReference,
        method: 'WALLET',
        network,
      }
      const answer = await api({ method: 'POST', path: `${root}/pay`, body, missing: 'account' })
      const id = textAt(answer, 'order', 'id')
      if (id === undefined) throw new ProviderTrouble('Whitepay answered without an order', { cause: answer })
      return instructionsOf(await read(id), due, orders)
    },
    async recoverPayment({ due, merchantReference }) {
      const order = await orders.findByReference(merchantReference)
      if (order === null) return { outcome: 'absent' }
      if (isOver(order)) return { outcome: 'lost', providerReference: order.id }
      return { outcome: 'found', instructions: await instructionsOf(await read(order.id), due, orders) }
    },
  } satisfies Pick<Channel, 'findLimits' | 'createPayment' | 'recoverPayment'>
}
