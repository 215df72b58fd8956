import { openChainHealth } from '../chain/chain-health.ts'
import { usdcOf } from '../chain/networks.ts'
import { openChains } from '../chain/open-chains.ts'
import type { PayableNetwork } from '../channels/crypto/adapter.ts'
import { openDepositChecks } from '../channels/crypto/deposit-checks.ts'
import type { ButtonDeps } from '../companies/button-service.ts'
import { openSaleCache, type SaleCache } from '../companies/sale-cache.ts'
import { readsFrom } from '../db/stale-reads.ts'
import type { SettlementDeps } from '../ledger/settlements/settlement-service.ts'
import { openOrderExports } from '../orders/export/export-service.ts'
import { openCreateOrder } from '../orders/order-create.ts'
import { openCancelOrder } from '../orders/order-service.ts'
import { openAnnounce, openTransition, type TransitionOrder } from '../orders/order-transition.ts'
import { openOrderFeed } from '../pages/pay/live-updates.ts'
import { isStillDue } from '../payments/accept/still-due.ts'
import type { MispaymentDeps } from '../payments/mispayments/mispayment-service.ts'
import { openLargestOrder } from '../rates/euro.ts'
import { openRates, type Rates } from '../rates/rate-service.ts'
import type { MispaymentRefundDeps } from '../refunds/mispayment-refund.ts'
import { openRefundLinks } from '../refunds/refund-link.ts'
import { webhookUrlFault } from '../webhooks/outbox/webhook-url.ts'
import type { Accounts } from './accounts.ts'
import {
  type Chains,
  findPayoutHold,
  nameNetworks,
  openEndRelayed,
  openExplorer,
  openLossyAddresses,
  openPayoutPorts,
  settleOnAll,
} from './chains.ts'
import { openPaymentChannels } from './channels.ts'
import { openCompliance, openPayers } from './compliance.ts'
import { openAskForAddress, openMailReceipt, openMessages } from './messages/messages.ts'
import { countTransitions, openOrderMetrics } from './order-metrics.ts'
import { openPayments, openWakeEnded } from './payments.ts'
import { openScreening } from './screening.ts'
import type { PollWakes, SenderHandle, ServiceBase } from './service-base.ts'
import { openWatch } from './watch.ts'

type CompanyParts = {
  accounts: Accounts
  cache: SaleCache
  chains: Chains
  rates: Rates
  transition: TransitionOrder
}

function openCompanies(
  { config, db, clock }: ServiceBase,
  { accounts, cache, chains, rates, transition }: CompanyParts,
): ButtonDeps {
  const { audit, mailer, sessions, apiKeys } = accounts
  return {
    ...{ db, clock, audit, mailer, cache },
    payUrl: config.payUrl,
    fiatAssets: config.fiatAssets,
    largestOrder: openLargestOrder(rates),
    dustUnits: BigInt(config.orders.chainDustUnits),
    cancelOrder: openCancelOrder(transition),
    forgetActors() {
      sessions.forget()
      apiKeys.forget()
    },
    callbackFault: (url) => webhookUrlFault(url, config.webhooks),
    findLossyAddress: openLossyAddresses(chains),
  }
}

/** Rates, orders, payments, refunds, and the messages about them. */
export function openCommerce(base: ServiceBase, accounts: Accounts) {
  const { config, db, vault, clock, log, metrics } = base
  const { audit, mailer, alarm, webhookIdKey } = accounts
  const senderHandle: SenderHandle = { sender: undefined }
  const wake = (companyId?: string): void => senderHandle.sender?.wake(companyId)
  const wakes: PollWakes = { pollPayments: () => {}, pollRefunds: () => {}, pollScreenings: () => {} }
  const feed = openOrderFeed({ db, log })
  const chains = openChains({ ...base, findNamedHold: findPayoutHold, isStillDue })
  const networks = chains.map(({ network }) => network)
  const chainHealth = openChainHealth({ db, clock, networks, maxLagSeconds: config.chainMaxLagSeconds })
  const payable = chains.filter((chain): chain is typeof chain & PayableNetwork => chain.xpub !== null)
  const channels = openPaymentChannels(base, payable, { chains, health: chainHealth, onChange: feed.channelsChanged })
  const rates = openRates({ config: config.rates, fiatAssets: config.fiatAssets, db, clock, log, metrics })
  const transitionDeps = {
    ...{ clock, webhookIdKey, payUrl: config.payUrl },
    onTurn: openEndRelayed(clock),
    onPaid: openMailReceipt({ mailer, vault, payUrl: config.payUrl, log }),
    signals: { onDelivery: wake, onChange: feed.changed, onEnd: openWakeEnded(base, wakes) },
  }
  const announce = openAnnounce(transitionDeps)
  const transition = countTransitions(metrics, openTransition(transitionDeps, announce))
  openOrderMetrics(metrics, db)
  const cache = openSaleCache(db, clock)
  const createOrder = openCreateOrder({ db, clock, config, rates, cache, announce })
  const exportOrders = openOrderExports({ reads: base.reads ?? readsFrom(db), clock, config })
  const payers = openPayers(base, accounts, { rates, chains })
  const kyc = openCompliance(base, accounts, payers, wake)
  const links = openRefundLinks({ vault, payUrl: config.payUrl })
  const networkName = nameNetworks(chains)
  const books = openWatch(base, accounts, usdcOf(payable.map(({ network }) => network)))
  const screening = openScreening(base, { accounts, chains, alarm, wakes })
  const askForAddress = openAskForAddress({ mailer, clock, links, networkName })
  const desk: Omit<MispaymentRefundDeps, 'readReturnsAgain'> = {
    ...{ db, baseUrl: config.baseUrl, clock, channels, transition, payers, links, askForAddress, books, audit },
    ...{ ...openPayoutPorts(base, chains), screening: screening.gate },
  }
  const paid = openPayments(base, { desk, wakes, kyc, alarm, chains, ownWallets: channels.ownWallets })
  const settlements: SettlementDeps = { ...desk, limits: config.settlements, ...settleOnAll(base, chains) }
  const mispayments: MispaymentDeps = { ...paid.payments, audit, onDecided: ({ code }) => feed.changed(code) }
  const companies = openCompanies(base, { accounts, cache, chains, rates, transition })
  const messages = openMessages(base, accounts, { wake, payers })
  return {
    senderHandle,
    feed,
    chains,
    chainHealth,
    deposits: openDepositChecks(chains.map((chain) => ({ ...chain, db, log }))),
    rates,
    transition,
    createOrder,
    exportOrders,
    companies,
    payers,
    kyc,
    ...paid,
    channels,
    wakes,
    mispayments,
    networkName,
    explorerUrl: openExplorer(chains),
    settlements,
    alarm,
    screening,
    ...messages,
  }
}
export type Commerce = ReturnType<typeof openCommerce>
