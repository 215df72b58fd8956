import type { FastifyInstance } from 'fastify'
import { logoFileRoutes } from '../companies/logo/logo-file-routes.ts'
import { keepsMails } from '../mail/mail-jobs.ts'
import { verifyRoutes } from '../pages/account/verify-routes.ts'
import { demoShopRoutes } from '../pages/button/demo-shop-routes.ts'
import { landingRoutes } from '../pages/button/landing-routes.ts'
import { sdkRoutes } from '../pages/button/sdk-routes.ts'
import { docsRoutes } from '../pages/docs/docs-routes.ts'
import { kycPageRoutes } from '../pages/identity/kyc-page-routes.ts'
import { linkRoutes } from '../pages/link/link-routes.ts'
import { mailboxRoutes } from '../pages/mailbox/mailbox-routes.ts'
import { officeRoutes } from '../pages/office/office-routes.ts'
import { payRoutes } from '../pages/pay/pay-routes.ts'
import { openReceiptUrl } from '../pages/receipt/receipt-link.ts'
import { receiptRoutes } from '../pages/receipt/receipt-routes.ts'
import { refundPageRoutes } from '../pages/refund/refund-page-routes.ts'
import { tillPageRoutes } from '../pages/till/till-routes.ts'
import { walletRoutes } from '../pages/wallet/wallet-routes.ts'
import { x402Routes } from '../pages/x402/x402-routes.ts'
import type { Accounts } from './accounts.ts'
import { listWalletNetworks, openChainRead } from './chains.ts'
import type { Commerce } from './commerce.ts'
import { openAskBack } from './messages/ask-back.ts'
import type { ServiceBase } from './service-base.ts'

/** Every page, by name. */
export async function registerPages(
  app: FastifyInstance,
  base: ServiceBase,
  accounts: Accounts,
  trade: Commerce,
): Promise<void> {
  const { config, db, vault, demoButtonId } = base
  const { auth, keys, limits } = accounts
  const { networkName, explorerUrl } = trade
  const { providersUrl } = config.sandbox
  const { deposits, feed } = trade
  const asking = openAskBack(base, accounts, trade)
  const shown = { networkName, explorerUrl, links: trade.refunds.links, receiptUrlOf: openReceiptUrl(config.payUrl) }
  const relays = trade.chains.flatMap(({ relay, xpub }) => (relay && xpub !== null ? [{ ...relay, xpub }] : []))
  const xpubs = new Map(trade.chains.map(({ network, xpub }) => [network.chainId, xpub]))
  const walletNetworks = listWalletNetworks(config, trade.chains)
  const payDeps = {
    ...{ ...trade.payments, ...shown, deposits, config, feed, limits, asking, providersUrl, walletNetworks },
    kycLinks: trade.kyc.links,
  }
  await app.register(payRoutes, payDeps)
  const readChain = openChainRead(db, trade.chains)
  await app.register(walletRoutes, { ...trade.payments, ...shown, config, relays, limits, readChain })
  await app.register(receiptRoutes, { ...trade.payments, ...shown, config, keys })
  await app.register(logoFileRoutes, { db })
  await app.register(x402Routes, { ...trade.payments, ...shown, config, relays, xpubs, limits })
  await app.register(refundPageRoutes, { ...trade.refunds, payUrl: config.payUrl, networkName })
  await app.register(kycPageRoutes, { ...trade.kyc, payUrl: config.payUrl, limits })
  const { companies, createOrder } = trade
  await app.register(landingRoutes, { ...companies, config, vault, limits, createOrder, pay: payDeps })
  await app.register(linkRoutes, { ...companies, config, limits, createOrder })
  await app.register(sdkRoutes, { config })
  if (demoButtonId !== undefined) await app.register(demoShopRoutes, { db, config, buttonId: demoButtonId })
  await app.register(docsRoutes)
  await app.register(verifyRoutes, auth)
  await app.register(tillPageRoutes, { db, config, receiptUrlOf: shown.receiptUrlOf })
  await app.register(officeRoutes)
  if (keepsMails(config)) await app.register(mailboxRoutes, { db })
}
