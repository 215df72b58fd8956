/** A wallet app that can open our page in its built-in browser, where it pays like an extension. */
type WalletApp = { name: string; link(url: string): string }

const encoded = encodeURIComponent

/**
 * Where each form of link comes from; read on 2026-11-22, tried with none of the apps.
 * - MetaMask: docs.metamask.io, "Use deeplinks": the address without its scheme, not encoded
 * - Trust Wallet: developer.trustwallet.com, "Deep Linking": coin 60 is Ethereum (SLIP-44)
 * - Coinbase Wallet: github.com/rainbow-me/rainbow/issues/4600 quotes the form; Coinbase documents none now
 * - Rabby: github.com/RabbyHub/Rabby/issues/3222, which says that Android's app did not open with it in October 2025
 * - OKX: web3.okx.com/build/docs/waas/app-universal-link
 */
export const WALLET_APPS: readonly WalletApp[] = [
  { name: 'MetaMask', link: (url) => `https://link.metamask.io/dapp/${url.replace(/^https:\/\//, '')}` },
  { name: 'Trust Wallet', link: (url) => `https://link.trustwallet.com/open_url?coin_id=60&url=${encoded(url)}` },
  { name: 'Coinbase Wallet', link: (url) => `https://go.cb-w.com/dapp?cb_url=${encoded(url)}` },
  { name: 'Rabby', link: (url) => `https://go.rabby.io/mobile?_cmd=open-dapp&dapp=${encoded(url)}` },
  {
    name: 'OKX Wallet',
    link: (url) => `https://web3.okx.com/download?deeplink=${encoded(`okx://wallet/dapp/url?dappUrl=${encoded(url)}`)}`,
  },
]
