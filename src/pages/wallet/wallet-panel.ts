import { type Html, html } from '../../kernel/html.ts'
import type { Lang } from '../../kernel/lang.ts'
import type { Money } from '../../kernel/money.ts'
import { TEXTS } from '../../texts/languages.ts'
import { showToken } from '../shared/format.ts'
import { WALLET_APPS } from './wallet-apps.ts'

/** Drives wallets in the payer's browser; the pay page's only script in a separate file. */
export const WALLET_SCRIPT_PATH = '/pay/wallet.js'

/** What a wallet in the browser needs to know about a chain. */
export type WalletNetwork = {
  chainId: number
  name: string
  token: string
  /** The native coin, which pays for gas. */
  coin: string
  /** For a wallet that does not know the chain; null: the payer adds it. */
  rpcUrl: string | null
  explorerUrl: string | null
  /** From this many units of USDC on, the payer may sign instead of send, and our relayer pays for gas. Null: never. */
  gaslessFrom: bigint | null
}

type Asked = {
  code: string
  language: Lang
  payUrl: string
  to: string
  missing: Money
  /** Whom a payer asks whose network the service reads no more, and what to quote. */
  shop: { name: string; supportEmail: string | null; supportPhone: string | null }
  shortCode: string
}

/** Links that open this page inside a wallet app. They need a URL that a phone can reach. */
function appLinks({ code, language, payUrl }: Asked): Html | null {
  if (!payUrl.startsWith('https://')) return null
  const url = `${payUrl}/pay?code=${code}&lang=${language}`
  return html`<details class="app" id="apps"><summary>${TEXTS[language].wallet.apps}</summary>
    ${WALLET_APPS.map(({ name, link }) => html`<a class="button wide" href="${link(url)}" rel="noopener noreferrer">${name}</a>`)}
  </details>`
}

const helpOf = ({ shop, shortCode }: Asked) => ({
  ...{ shop: shop.name, reference: shortCode },
  ...(shop.supportEmail !== null && { email: shop.supportEmail }),
  ...(shop.supportPhone !== null && { phone: shop.supportPhone }),
})

/** For a place to which no wallet can pay any more: the script only says what this browser sent there. */
export function closedWalletPanel({ id: chain, name }: { id: number; name: string }, asked: Asked): Html {
  const { code, to, missing } = asked
  const facts = { code, chain, name, to, units: String(missing.units), closed: true, ...helpOf(asked) }
  return html`<div id="wallet" data-pay="${JSON.stringify(facts)}"></div>`
}

/** Where the script `/pay/wallet.js` shows the wallets of this browser; empty if there is none. */
export function walletPanel(network: WalletNetwork, asked: Asked): Html {
  const { chainId, name, token, coin, rpcUrl, explorerUrl, gaslessFrom } = network
  const { code, to, missing } = asked
  const gasless = gaslessFrom !== null && missing.units >= gaslessFrom
  const amount = showToken(missing, TEXTS[asked.language].locale)
  const facts = {
    ...{ code, chain: chainId, name, token, to, units: String(missing.units), amount, coin },
    ...(rpcUrl && { rpc: rpcUrl }),
    ...(explorerUrl && { explorer: explorerUrl }),
    ...(gasless && { gasless }),
    ...helpOf(asked),
  }
  return html`<div id="wallet" data-pay="${JSON.stringify(facts)}"></div>${appLinks(asked)}`
}
