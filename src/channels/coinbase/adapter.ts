import { type Channel, NO_INSTRUCTIONS, type PaymentReport, type RefundRequest } from '../channel.ts'
import { type ChannelContext, defineChannel } from '../kind.ts'
import { openCoinbaseApi } from './api.ts'
import { readCoinbaseCallback } from './callback.ts'
import { readCdpKey } from './jwt.ts'
import { openOnramp, rememberHints } from './onramp.ts'
import { type CoinbaseValues, settings } from './settings.ts'
import type { Hint } from './transactions.ts'

/** Coinbase's names of chains; simulated purchases on our test chain are reported as Base. */
const NETWORK_NAMES: Readonly<Record<number, string>> = {
  1: 'ethereum',
  10: 'optimism',
  137: 'polygon',
  8453: 'base',
  42161: 'arbitrum',
}
const TEST_CHAIN = 31337

/** @throws Error for the operator: the chain is missing */
function choosePlace(values: CoinbaseValues, { wallet, live }: ChannelContext) {
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

/**
 * Money on a chain is the only proof; until there is some, Coinbase may report that it is on its way. Without an answer
 * nothing changes, so that an order does not flip with Coinbase's availability.
 */
async function reportWith(onChain: PaymentReport, askHint: () => Promise<Hint | null>): Promise<PaymentReport> {
  const nothing =
    onChain.outcome === 'waiting' || (onChain.outcome === 'seen' && onChain.final + onChain.pending === 0n)
  if (!nothing) return onChain
  const hint = await askHint()
  if (hint === null) {
    if (onChain.outcome === 'seen' && onChain.unmatched.length > 0) return onChain
    const { providerReference } = onChain
    return {
      outcome: 'unknown',
      providerReference,
      providerStatus: `${onChain.providerStatus}; Coinbase gave no answer`,
    }
  }
  return onChain.outcome === 'seen' ? { ...onChain, ...hint } : { ...onChain, providerStatus: hint.providerStatus }
}

const openOwnOnramp = (values: CoinbaseValues, context: ChannelContext) =>
  openOnramp(
    openCoinbaseApi(context.http, context.clock, readCdpKey(values.KEY_ID, values.KEY_SECRET)),
    values,
    context,
  )

/**
 * The payer buys USDC at Coinbase, which sends it to one of our deposit addresses: the wallet's channel creates the
 * address, sees the money and refunds it.
 */
function openCoinbase(values: CoinbaseValues, context: ChannelContext): Channel {
  const { wallet, chainId, networkName } = choosePlace(values, context)
  const { clock, live } = context
  const onramp = openOwnOnramp(values, context)
  const hints = rememberHints(onramp.fetchHint, clock)
  const placed = (refund: RefundRequest): RefundRequest => ({ ...refund, network: refund.network ?? chainId })
  const { refundPayment, checkRefundTransaction } = wallet
  return {
    id: 'coinbase',
    networks: [chainId],
    onChain: true,
    singleUseLink: true,
    findNetworkFaults: async () =>
      ((await wallet.findNetworkFaults?.()) ?? []).filter(({ network }) => network === chainId),
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
      return reportWith(onChain, () => hints.ask(payment, payment.providerReference))
    },
    async readCallback(callback) {
      const news = readCoinbaseCallback(callback, { secret: values.WEBHOOK_SECRET, nowMs: clock(), live })
      if (news.merchantReference !== null) hints.forget(news.merchantReference)
      return news
    },
    acknowledgement: { contentType: 'text/plain', body: 'OK' },
    ...(wallet.refundNetworks && { refundNetworks: wallet.refundNetworks }),
    ...(refundPayment ? { refundPayment: (refund) => refundPayment.call(wallet, placed(refund)) } : {}),
    ...(checkRefundTransaction
      ? { checkRefundTransaction: (refund, txHash) => checkRefundTransaction.call(wallet, placed(refund), txHash) }
      : {}),
  }
}

export const coinbase = defineChannel({
  id: 'coinbase',
  env: 'COINBASE',
  settings,
  open: openCoinbase,
  probe: (values, context, payment) => openOwnOnramp(values, context).fetchHint(payment, ''),
})
