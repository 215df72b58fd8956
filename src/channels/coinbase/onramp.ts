import { SECOND } from '../../kernel/clock.ts'
import { textAt } from '../../kernel/json.ts'
import { formatMoney } from '../../kernel/money.ts'
import type { PaymentKey, PaymentRequest } from '../channel.ts'
import type { ChannelContext } from '../kind.ts'
import { ProviderRefusal, ProviderTrouble } from '../provider-errors.ts'
import type { CoinbaseApi } from './api.ts'
import { TEST_PREFIX } from './callback.ts'
import { publicAddress } from './public-address.ts'
import { type CoinbaseValues, V1, V2 } from './settings.ts'
import { type Hint, hintOf } from './transactions.ts'

/** Our currencies that a preset amount can be paid in. For an order in another one the payer pays euros. */
const PAYMENT_CURRENCIES: readonly string[] = ['USD', 'GBP', 'EUR']

const HINT_MS = 15 * SECOND
const MAX_HINTS = 1000

/** Sessions and transactions of one account. */
export function openOnramp(api: CoinbaseApi, values: CoinbaseValues, { live }: ChannelContext) {
  const statusBase = values.STATUS_BASE_URL || (values.BASE_URL === V2 ? V1 : values.BASE_URL)
  const referenceOf = ({ merchantReference }: PaymentKey): string => (live ? '' : TEST_PREFIX) + merchantReference

  const post = (session: object): Promise<unknown> =>
    api({ method: 'POST', url: `${values.BASE_URL}/v2/onramp/sessions`, body: session })

  return {
    async createSession(request: PaymentRequest, place: { address: string; networkName: string }): Promise<string> {
      const { due, fiat, payerIp, returnUrl } = request
      const clientIp = publicAddress(payerIp)
      const session = {
        purchaseCurrency: due.asset,
        purchaseAmount: formatMoney(due),
        // docs.cdp.coinbase.com, onramp/create-an-onramp-session: required together with a preset amount
        paymentCurrency: PAYMENT_CURRENCIES.includes(fiat.asset) ? fiat.asset : 'EUR',
        destinationNetwork: place.networkName,
        destinationAddress: place.address,
        partnerUserRef: referenceOf(request),
        ...(clientIp === null ? {} : { clientIp }),
      }
      const withReturn = returnUrl === null ? session : { ...session, redirectUrl: returnUrl }
      const answer = await post(withReturn).catch((error: unknown) => {
        // a redirect URL that is not on the account's list must not cost the sale
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

/** Null: Coinbase gave no answer. */
export type AskHint = (payment: PaymentKey, address: string) => Promise<Hint | null>

/** Pages poll every few seconds; Coinbase is queried a few times a minute, and at once after a callback. */
export function rememberHints(ask: AskHint, clock: () => number): { ask: AskHint; forget(reference: string): void } {
  const kept = new Map<string, { hint: Promise<Hint | null>; until: number }>()
  return {
    ask(payment, address) {
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
    },
    forget: (reference) => void kept.delete(reference),
  }
}
