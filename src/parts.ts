import type { FastifyBaseLogger } from 'fastify'
import { Counter, type Registry } from 'prom-client'
import { openAudit } from './audit/audit.ts'
import { networkFor } from './chain/networks.ts'
import { checkManualTransfer } from './chain/payout/manual-transfer.ts'
import { openPayouts } from './chain/payout/payout.ts'
import { localSigner } from './chain/payout/signer.ts'
import { createRpc } from './chain/rpc.ts'
import { openChannelAccounts } from './channels/accounts.ts'
import { openChannelMetrics } from './channels/channel-metrics.ts'
import { openCryptoChannel, type PayableNetwork } from './channels/crypto/adapter.ts'
import { insertProviderCall } from './channels/provider-call-queries.ts'
import type { ProviderCallSink } from './channels/provider-calls.ts'
import type { ButtonDeps } from './companies/button-service.ts'
import { openSaleCache } from './companies/sale-cache.ts'
import type { IdentityProvider } from './compliance/identity-provider.ts'
import { askedLevel } from './compliance/kyc.ts'
import { type KycLinks, openKycLinks } from './compliance/kyc-links.ts'
import type { KycDeps } from './compliance/kyc-service.ts'
import { openForgetPayer } from './compliance/payer-erasure.ts'
import { openPayerGate } from './compliance/payer-gate.ts'
import { openPayerKeys } from './compliance/payer-key.ts'
import { openSumsubProvider } from './compliance/sumsub/adapter.ts'
import type { Config } from './config/config.ts'
import type { Db } from './db/db.ts'
import { openJobQueue } from './db/job-runner.ts'
import { openRateLimits } from './http/rate-limits.ts'
import { type Clock, DAY } from './kernel/clock.ts'
import { isLang } from './kernel/lang.ts'
import { formatDecimal } from './kernel/money.ts'
import type { Vault } from './kernel/vault.ts'
import { auditKeysOf, openServerKeys } from './keys/server-key-service.ts'
import type { SettlementChain, SettlementDeps } from './ledger/settlement-service.ts'
import { openMailer } from './mail/mail.ts'
import { kycNotice, langOfCountry, refundAddressNotice, webhookFailureNotice } from './mail/notices.ts'
import { openOrderExports } from './orders/export/export-service.ts'
import { openCreateOrder } from './orders/order-create.ts'
import { openAnnounce, openTransition } from './orders/order-transition.ts'
import { openOrderFeed } from './pages/pay/live-updates.ts'
import type { PayerDeps } from './payers/payer-service.ts'
import type { ChannelSettingsDeps } from './payments/accounts/channel-service.ts'
import type { CallbackDeps } from './payments/callback-service.ts'
import type { MispaymentDeps } from './payments/mispayments/mispayment-service.ts'
import { type Payment, wakePaymentOfOrder } from './payments/payment-queries.ts'
import type { PaymentDeps } from './payments/payment-service.ts'
import { openRates } from './rates/rate-service.ts'
import { noticeForeignRefund } from './refunds/foreign-refund.ts'
import type { MispaymentRefundDeps } from './refunds/mispayment-refund.ts'
import { openRefundLinks, type RefundLinks } from './refunds/refund-link.ts'
import { takeRefundNews } from './refunds/refund-news.ts'
import { findMerchant, wakeRefundsOfPayment } from './refunds/refund-queries.ts'
import { openAccessTokens } from './sessions/access-token.ts'
import type { ApiKeyDeps } from './sessions/api-keys/api-key-routes.ts'
import { openApiKeys } from './sessions/api-keys/api-key-service.ts'
import { openAuth } from './sessions/auth-service.ts'
import { openAuthenticate } from './sessions/authenticate.ts'
import { openSessions } from './sessions/session-service.ts'
import { openPasswords } from './users/password.ts'
import { readRefusedPasswords } from './users/refused-passwords.ts'
import type { SessionHooks, UserDeps } from './users/user-service.ts'
import type { WebhookDeps } from './webhooks/api/delivery-service.ts'
import type { RotationDeps } from './webhooks/api/subscription-service.ts'
import { webhookUrlFault } from './webhooks/outbox/webhook-url.ts'
import { AttemptSender } from './webhooks/sender/attempt.ts'
import { createWebhookAgent } from './webhooks/sender/connector.ts'
import type { Sender } from './webhooks/sender/sender.ts'
import type { FailureDeps } from './webhooks/sender/webhook-jobs.ts'

/** What the service stands on; the same for every part. */
export type Ground = { config: Config; db: Db; vault: Vault; clock: Clock; metrics: Registry; log: FastifyBaseLogger }

/** The sender starts with the workers; until then, and on nodes without workers, a wake-up goes nowhere. */
export type SenderSeat = { sender: Sender | undefined }

/** Who calls: accounts, sessions, keys, limits, mails, audit. */
export function openAccounts({ config, db, vault, clock }: Omit<Ground, 'log' | 'metrics'>) {
  const apiKeys = openApiKeys({ db, clock })
  const limits = openRateLimits({ db, clock, limits: config.limits })
  const jobs = openJobQueue({ clock })
  const mailer = openMailer({ jobs, vault, clock })
  const keys = openServerKeys({ db, vault, clock })
  const audit = openAudit({ db, clock, keys: auditKeysOf(keys) })
  const tokens = openAccessTokens({ keys, clock, issuer: config.baseUrl })
  const sessions = openSessions({ db, clock, vault, tokens, audit, mailer })
  const passwords = openPasswords()
  const refusedPasswords = readRefusedPasswords(config.passwordListFile)
  const base = { db, clock, vault, config, sessions, mailer, jobs, audit, limits }
  const auth = openAuth({ ...base, passwords, refusedPasswords })
  const hooks: SessionHooks = {
    endSessions: (tx, userId, reason) => sessions.endAll(tx, userId, reason),
    forgetSessions: sessions.forget,
    sendInvitation: auth.resets.invite,
    removeTwoFactor: auth.twoFactor.remove,
  }
  const apiKeyDeps: ApiKeyDeps = { db, clock, audit, apiKeys }
  const users: UserDeps = { db, clock, audit, mailer, config, hooks }
  return {
    users,
    apiKeyDeps,
    keys,
    apiKeys,
    limits,
    jobs,
    mailer,
    audit,
    sessions,
    auth,
    authenticate: openAuthenticate({ apiKeys, sessions }),
  }
}
export type Accounts = ReturnType<typeof openAccounts>

/** The chains that are set up, each with what can send money on it. */
export function openChains({ config, db, clock, log }: Pick<Ground, 'config' | 'db' | 'clock' | 'log'>) {
  return config.chains.map((chain) => {
    const network = networkFor(chain)
    const rpc = createRpc({ url: chain.rpcUrl })
    const { xpub, refundKey, relayerKey } = chain
    if (refundKey === null || relayerKey === null) return { network, rpc, xpub, payouts: null }
    const signers = { refundSigner: localSigner(refundKey), relayerSigner: localSigner(relayerKey) }
    return { network, rpc, xpub, payouts: openPayouts({ db, rpc, network, clock, log, ...signers }) }
  })
}

type Chains = ReturnType<typeof openChains>

/** A chain's name that payers know: "Base". */
const nameNetworks =
  (chains: Chains) =>
  (chainId: number): string =>
    chains.find(({ network }) => network.chainId === chainId)?.network.name ?? `Chain ${chainId}`

/** By mail, when the payer's address for it is known; the merchant sees the same link in the refund. */
function openAskForAddress(deps: {
  mailer: Accounts['mailer']
  links: RefundLinks
  networkName(chainId: number): string
}): MispaymentRefundDeps['askForAddress'] {
  return async (tx, order, refund, email) => {
    if (email === null) return
    const company = await findMerchant(tx, order.companyId)
    const lang = langOfCountry(company.country)
    const data = refundAddressNotice(lang, {
      merchant: company.name,
      amount: formatDecimal(refund.units, 6),
      network: refund.network === null ? 'USDC' : deps.networkName(refund.network),
      shortCode: order.shortCode,
      url: deps.links.urlOf(order.code, refund.id),
    })
    const expiresAt = new Date(refund.createdAt.getTime() + 30 * DAY)
    await deps.mailer.send(tx, { to: email, lang, kind: 'notice', data, expiresAt })
  }
}

/** By mail: the e-mail is what a payer is known by. */
function openAskPayer({ mailer, links }: { mailer: Accounts['mailer']; links: KycLinks }): KycDeps['askPayer'] {
  return async (tx, order, kyc, email) => {
    const company = await findMerchant(tx, order.companyId)
    const lang = langOfCountry(company.country)
    const url = links.urlOf(order.code, kyc.id)
    const facts = { merchant: company.name, shortCode: order.shortCode, url, closer: askedLevel(kyc) === 'enhanced' }
    await mailer.send(tx, { to: email, lang, kind: 'notice', data: kycNotice(lang, facts) })
  }
}

const openIdentityProvider = ({ config: { kyc }, clock }: Pick<Ground, 'config' | 'clock'>): IdentityProvider =>
  kyc.provider === 'sumsub' ? openSumsubProvider(kyc.sumsub, clock) : { id: 'manual' }

/** Who checks payers, and what they may spend. */
function openCompliance(
  ground: Ground,
  { audit, mailer }: Accounts,
  payers: PayerDeps,
  wake: WebhookDeps['wake'],
): KycDeps {
  const { config, db, vault, clock } = ground
  const links = openKycLinks({ vault, payUrl: config.payUrl })
  return {
    ...{ db, vault, clock, payers, links, audit },
    provider: openIdentityProvider(ground),
    payerKeyOf: openPayerKeys(vault),
    signals: { look: () => {} },
    onDelivery: wake,
    askPayer: openAskPayer({ mailer, links }),
  }
}

/** How settlements are paid on a chain. */
function settleOn(db: Db, chain: Chains[number]): SettlementChain {
  const { network, payouts } = chain
  return {
    network: network.chainId,
    pay: payouts ? (request) => payouts.send(request) : null,
    check: (request, txHash) => checkManualTransfer({ db, ...chain }, request, txHash),
    stop: (request) => (payouts ? payouts.withdraw(request, 'cancelled') : Promise.resolve(true)),
  }
}

/** What merchants' servers are told, with which secret, and what their people hear when that fails. */
function openMessages({ config, db, vault, clock }: Ground, { audit, mailer }: Accounts, wake: WebhookDeps['wake']) {
  const webhooks: WebhookDeps = { db, vault, clock, wake, audit }
  const attempts = new AttemptSender(createWebhookAgent(config.webhooks))
  const rotation: RotationDeps = { ...webhooks, attempts, rules: config.webhooks }
  const failures: FailureDeps = {
    db,
    async send(tx, { to, lang, facts }) {
      const known = isLang(lang) ? lang : 'en'
      const data = webhookFailureNotice(known, { ...facts, officeUrl: config.officeUrl })
      await mailer.send(tx, { to, lang: known, kind: 'notice', data })
    },
  }
  return { webhooks, rotation, failures }
}

/** The jobs that callbacks wake; until they run, and on nodes without them, a wake-up goes nowhere: the row says it. */
export type Rounds = { pollPayments(): void; pollRefunds(): void }

/** The payer's wallet where a chain is set up, the operator's accounts at providers, the companies' own. */
function openTradeChannels({ config, db, vault, clock, log, metrics }: Ground, payable: readonly PayableNetwork[]) {
  const calls = new Counter({
    name: 'comptoir_channel_calls_total',
    help: 'Calls of payment providers, by what came of them.',
    labelNames: ['channel', 'step', 'outcome'],
    registers: [metrics],
  })
  const sink: ProviderCallSink = (place, exchange) =>
    void insertProviderCall(db, place, exchange).catch((error: unknown) => {
      log.warn({ err: error, channel: place.channel }, 'an exchange with a provider could not be recorded')
    })
  const channels = openChannelAccounts({
    ...{ db, vault, clock },
    live: config.mode === 'live',
    provider: config.provider,
    wallet: payable.length > 0 ? openCryptoChannel({ db, payable }) : undefined,
    onFault: (companyId, channel, error) =>
      log.error({ err: error, companyId, channel }, 'an account of a company cannot be opened'),
    supervision: { clock, sink, count: (channel, step, outcome) => calls.inc({ channel, step, outcome }) },
  })
  openChannelMetrics(metrics, channels)
  return channels
}

/** An order ended: the attempt to pay it is closed at its provider without waiting for its turn. */
const openWakeEnded =
  ({ db, clock, log }: Ground, rounds: Rounds) =>
  (order: { companyId: string; paymentId: string | null }): void =>
    void wakePaymentOfOrder(db, order, new Date(clock()))
      .then(() => rounds.pollPayments())
      .catch((error: unknown) => log.warn({ err: error }, 'the payment of an ended order is closed later'))

/** Attempts to pay, what providers call back, and whose accounts are used. */
function openPayments(
  ground: Ground,
  { refunds, rounds, kyc }: { refunds: MispaymentRefundDeps; rounds: Rounds; kyc: KycDeps },
) {
  const { config, db, vault, clock, log } = ground
  const { payers, channels, transition, audit } = refunds
  const onRefunded = (payment: Payment, units: bigint): Promise<void> => noticeForeignRefund(refunds, payment, units)
  const gate = openPayerGate(kyc)
  const payments: PaymentDeps = { payers, gate, db, clock, vault, config, channels, transition, onRefunded }
  const callbacks: CallbackDeps = {
    ...payments,
    log,
    reportRefund: (payment, news) => takeRefundNews(refunds, payment, news),
    async wakeRefunds({ companyId, id }) {
      if ((await wakeRefundsOfPayment(db, companyId, id, new Date(clock()))) > 0) rounds.pollRefunds()
    },
  }
  const channelDesk: ChannelSettingsDeps = { ...payments, audit, provider: config.provider }
  return { payments, callbacks, channelDesk }
}

/** What is sold and paid: rates, orders, payments, refunds, and what is told of them. */
export function openTrade(ground: Ground, accounts: Accounts) {
  const { config, db, vault, clock, log, metrics } = ground
  const { audit, mailer, sessions, apiKeys } = accounts
  const seat: SenderSeat = { sender: undefined }
  const wake = (companyId?: string): void => seat.sender?.wake(companyId)
  const rounds: Rounds = { pollPayments: () => {}, pollRefunds: () => {} }
  const feed = openOrderFeed({ db, log })
  const chains = openChains(ground)
  const payable = chains.filter((chain): chain is typeof chain & PayableNetwork => chain.xpub !== null)
  const channels = openTradeChannels(ground, payable)
  const rates = openRates({ config: config.rates, db, clock, log, metrics })
  const transitionDeps = {
    clock,
    vault,
    payUrl: config.payUrl,
    signals: { onDelivery: wake, onChange: feed.changed, onEnd: openWakeEnded(ground, rounds) },
  }
  const announce = openAnnounce(transitionDeps)
  const transition = openTransition(transitionDeps, announce)
  const cache = openSaleCache(db, clock)
  const createOrder = openCreateOrder({ db, clock, config, rates, cache, announce })
  const exportOrders = openOrderExports({ db, clock, config, connectionString: db.connectionString })
  const payers: PayerDeps = { db, vault, clock, rates, forget: openForgetPayer({ vault }) }
  const kyc = openCompliance(ground, accounts, payers, wake)
  const links = openRefundLinks({ vault, payUrl: config.payUrl })
  const networkName = nameNetworks(chains)
  const askForAddress = openAskForAddress({ mailer, links, networkName })
  const refunds: MispaymentRefundDeps = {
    ...{ db, clock, channels, transition, payers, links, askForAddress },
    audit,
  }
  const paid = openPayments(ground, { refunds, rounds, kyc })
  const settlements: SettlementDeps = { db, clock, audit, chains: chains.map((chain) => settleOn(db, chain)) }
  const mispayments: MispaymentDeps = { db, clock, transition, audit }
  const companies: ButtonDeps = {
    db,
    clock,
    audit,
    mailer,
    cache,
    fiatAssets: config.fiatAssets,
    forgetActors() {
      sessions.forget()
      apiKeys.forget()
    },
    callbackFault: (url) => webhookUrlFault(url, config.webhooks),
  }
  const messages = openMessages(ground, accounts, wake)
  return {
    seat,
    feed,
    chains,
    rates,
    transition,
    createOrder,
    exportOrders,
    companies,
    payers,
    kyc,
    ...paid,
    channels,
    rounds,
    mispayments,
    networkName,
    settlements,
    refunds,
    ...messages,
  }
}
export type Trade = ReturnType<typeof openTrade>
