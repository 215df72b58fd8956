import { SECOND } from '../../clock.ts'
import { textAt } from '../../json.ts'
import { formatMoney } from '../../money.ts'
import {
  type Channel,
  NO_INSTRUCTIONS,
  type PaymentKey,
  type PaymentReport,
  type PaymentRequest,
  type RefundRequest,
} from '../channel.ts'
import { baseUrl, type ChannelContext, defineChannel, plain, secret } from '../kind.ts'
import { ProviderRefusal, ProviderTrouble } from '../provider-errors.ts'
import { type CoinbaseApi, openCoinbaseApi } from './api.ts'
import { readCoinbaseCallback, TEST_PREFIX } from './callback.ts'
import { readCdpKey } from './jwt.ts'
import { publicAddress } from './public-address.ts'
import { type Hint, hintOf } from './transactions.ts'

const V2 = 'https://api.cdp.coinbase.com/platform'
const V1 = 'https://api.developer.coinbase.com'

/** Coinbase's names of chains; its simulated purchases on our test chain are said to be on base. */
const NETWORK_NAMES: Readonly<Record<number, string>> = {
  1: 'ethereum',
  10: 'optimism',
  137: 'polygon',
  8453: 'base',
  42161: 'arbitrum',
}
const TEST_CHAIN = 31337

const HINT_MS = 15 * SECOND
const MAX_HINTS = 1000

function keyFault(text: string): string | null {
  try {
    readCdpKey('', text)
    return null
  } catch (error) {
    return `is no CDP key: ${error instanceof Error ? error.message : 'unreadable'}`
  }
}

const settings = {
  BASE_URL: baseUrl(V2, 'where CDP v2 answers'),
  STATUS_BASE_URL: {
    means: `where Onramp v1 tells transactions; empty: ${V1}, or BASE_URL when that is not Coinbase's own`,
    fallback: '',
    fault: (text: string) => (text === '' || /^https?:\/\/./.test(text) ? null : 'must be an http(s) address'),
  },
  KEY_ID: plain('id of the CDP API key'),
  KEY_SECRET: { ...secret('the CDP API key: Ed25519 in Base64, or EC P-256 as PEM'), fault: keyFault },
  WEBHOOK_SECRET: secret('`secret` of the webhook subscription'),
  NETWORK: {
    ...plain('chain id that Coinbase delivers on; empty: the first one that is set up here', ''),
    fault: (text: string) => (/^\d*$/.test(text) ? null : 'must be a chain id'),
  },
}

type Values = Readonly<Record<keyof typeof settings, string>>

/** @throws Error for the operator: the chain is missing */
function choosePlace(values: Values, { wallet, live }: ChannelContext) {
  const nameOf = (chainId: number): string | undefined =>
    NETWORK_NAMES[chainId] ?? (chainId === TEST_CHAIN && !live ? 'base' : undefined)
  const offered = wallet?.networks.filter((chainId) => nameOf(chainId) !== undefined) ?? []
  const chainId = values.NETWORK === '' ? offered[0] : Number(values.NETWORK)
  if (wallet === undefined || chainId === undefined)
    throw new Error('Coinbase pays to a deposit address of ours: set up a chain (CHAIN_<id>_RPC_URL, CHAIN_<id>_XPUB)')
  if (!offered.includes(chainId))
    throw new Error(`Coinbase cannot deliver on chain ${chainId}; set up here: ${offered.join(', ') || 'none'}`)
  return { wallet, chainId, networkName: nameOf(chainId) ?? '' }
}

/** Sessions and transactions of one account. */
function openOnramp(api: CoinbaseApi, values: Values, { live }: ChannelContext) {
  const statusBase = values.STATUS_BASE_URL || (values.BASE_URL === V2 ? V1 : values.BASE_URL)
  const referenceOf = ({ merchantReference }: PaymentKey): string => (live ? '' : TEST_PREFIX) + merchantReference

  const post = (session: object): Promise<unknown> =>
    api({ method: 'POST', url: `${values.BASE_URL}/v2/onramp/sessions`, body: session })

  return {
    async createSession(request: PaymentRequest, place: { address: string; networkName: string }): Promise<string> {
      const { due, payerIp, returnUrl } = request
      const clientIp = publicAddress(payerIp)
      const session = {
        purchaseCurrency: due.asset,
        purchaseAmount: formatMoney(due),
        destinationNetwork: place.networkName,
        destinationAddress: place.address,
        partnerUserRef: referenceOf(request),
        ...(clientIp === null ? {} : { clientIp }),
      }
      const withReturn = returnUrl === null ? session : { ...session, redirectUrl: returnUrl }
      const answer = await post(withReturn).catch((error: unknown) => {
        // a shop's address that is not on the account's list must not cost the sale
        const isRedirect = error instanceof ProviderRefusal && /redirect/i.test(error.message)
        if (returnUrl === null || !isRedirect) throw error
        return post(session)
      })
      const url = textAt(answer, 'session', 'onrampUrl')
      if (url === undefined || !/^https?:\/\//.test(url))
        throw new ProviderTrouble('Coinbase answered without onrampUrl')
      return url
    },
    async fetchHint(payment: PaymentKey, address: string): Promise<Hint> {
      const path = `/onramp/v1/buy/user/${referenceOf(payment)}/transactions?page_size=50`
      return hintOf(await api({ method: 'GET', url: statusBase + path }), address)
    },
  }
}

/** Null: Coinbase could not say. */
type AskHint = (payment: PaymentKey, address: string) => Promise<Hint | null>

/** Pages look every few seconds; Coinbase is asked a few times a minute. */
function rememberHints(ask: AskHint, clock: () => number): AskHint {
  const kept = new Map<string, { hint: Promise<Hint | null>; until: number }>()
  return (payment, address) => {
    const key = payment.merchantReference
    const known = kept.get(key)
    if (known && clock() < known.until) return known.hint
    const hint = ask(payment, address).catch(() => null)
    kept.delete(key)
    kept.set(key, { hint, until: clock() + HINT_MS })
    for (const oldest of kept.keys()) {
      if (kept.size <= MAX_HINTS) break
      kept.delete(oldest)
    }
    return hint
  }
}

/**
 * Money on a chain decides alone; while there is none, Coinbase's word may say that it is on its way. Without an answer
 * nothing changes, so that an order does not go back and forth with Coinbase's availability.
 */
async function reportWith(onChain: PaymentReport, askHint: () => Promise<Hint | null>): Promise<PaymentReport> {
  const nothing =
    onChain.outcome === 'waiting' || (onChain.outcome === 'seen' && onChain.final + onChain.pending === 0n)
  if (!nothing) return onChain
  const hint = await askHint()
  if (hint === null) {
    if (onChain.outcome === 'seen' && onChain.strays.length > 0) return onChain
    const { providerReference } = onChain
    return { outcome: 'unknown', providerReference, words: `${onChain.words}; Coinbase gave no answer` }
  }
  return onChain.outcome === 'seen' ? { ...onChain, ...hint } : { ...onChain, words: hint.words }
}

/**
 * The payer buys USDC at Coinbase, which sends it to a deposit address of ours: the wallet's channel makes the address,
 * sees the money and sends it back.
 */
function openCoinbase(values: Values, context: ChannelContext): Channel {
  const { wallet, chainId, networkName } = choosePlace(values, context)
  const { http, clock, live } = context
  const onramp = openOnramp(openCoinbaseApi(http, clock, readCdpKey(values.KEY_ID, values.KEY_SECRET)), values, context)
  const fetchHint = rememberHints(onramp.fetchHint, clock)
  const placed = (refund: RefundRequest): RefundRequest => ({ ...refund, network: refund.network ?? chainId })
  const { refundPayment, checkRefundTransaction } = wallet
  return {
    id: 'coinbase',
    networks: [chainId],
    onChain: true,
    singleUseLink: true,
    async createPayment(request) {
      const { toAddress, providerReference, tokenAddress } = await wallet.createPayment({
        ...request,
        network: chainId,
      })
      const address = toAddress ?? providerReference
      const url = await onramp.createSession(request, { address, networkName })
      return {
        ...NO_INSTRUCTIONS,
        deepLink: url,
        checkoutUrl: url,
        toAddress: address,
        tokenAddress,
        network: chainId,
        providerReference,
      }
    },
    async fetchPayment(payment) {
      const onChain = await wallet.fetchPayment({ ...payment, network: payment.network ?? chainId })
      return reportWith(onChain, () => fetchHint(payment, payment.providerReference))
    },
    readCallback: async (callback) =>
      readCoinbaseCallback(callback, { secret: values.WEBHOOK_SECRET, nowMs: clock(), live }),
    acknowledgement: { contentType: 'text/plain', body: 'OK' },
    refundsToAddress: true,
    ...(refundPayment ? { refundPayment: (refund) => refundPayment.call(wallet, placed(refund)) } : {}),
    ...(checkRefundTransaction
      ? { checkRefundTransaction: (refund, txHash) => checkRefundTransaction.call(wallet, placed(refund), txHash) }
      : {}),
  }
}

export const coinbase = defineChannel({ id: 'coinbase', env: 'COINBASE', settings, open: openCoinbase })
