import type { FastifyBaseLogger } from 'fastify'
import { askedLevel } from '../../compliance/kyc.ts'
import type { KycLinks } from '../../compliance/kyc-links.ts'
import type { KycDeps } from '../../compliance/kyc-service.ts'
import type { Tx } from '../../db/db.ts'
import { type Clock, DAY } from '../../kernel/clock.ts'
import type { Vault } from '../../kernel/vault.ts'
import { emailChangedNotice, kycNotice, receiptNotice, refundAddressNotice } from '../../mail/notices.ts'
import { findPayerLanguage } from '../../mail/payer-language-queries.ts'
import type { Order } from '../../orders/order.ts'
import type { TransitionDeps } from '../../orders/order-transition.ts'
import { openReceiptUrl } from '../../pages/receipt/receipt-link.ts'
import { showFiat, showToken } from '../../pages/shared/format.ts'
import { findPayerContact, type PayerDeps } from '../../payers/payer-service.ts'
import { findPaymentPolicy } from '../../payments/payment-queries.ts'
import { minAcceptedUnits } from '../../payments/payment-rules.ts'
import type { MispaymentRefundDeps } from '../../refunds/mispayment-refund.ts'
import type { RefundLinks } from '../../refunds/refund-link.ts'
import { findMerchant } from '../../refunds/refund-queries.ts'
import { TEXTS } from '../../texts/languages.ts'
import type { WebhookDeps } from '../../webhooks/api/delivery-service.ts'
import type { RotationDeps } from '../../webhooks/api/subscription-service.ts'
import { AttemptSender } from '../../webhooks/sender/attempt.ts'
import { createWebhookAgent } from '../../webhooks/sender/connector.ts'
import type { Accounts } from '../accounts.ts'
import type { ServiceBase } from '../service-base.ts'
import { openLinkMails } from './link-mails.ts'
import { factsOf, langOf } from './payer-mail.ts'
import { openShopMails } from './shop-mails.ts'

/** By mail, if the payer's e-mail is known; the merchant sees the same link in the refund. */
export function openAskForAddress(deps: {
  mailer: Accounts['mailer']
  clock: Clock
  links: RefundLinks
  networkName(chainId: number): string
}): MispaymentRefundDeps['askForAddress'] {
  return async (tx, order, refund, email) => {
    if (email === null) return
    const company = await findMerchant(tx, order.companyId)
    const lang = (await findPayerLanguage(tx, order)) ?? langOf(company)
    const data = refundAddressNotice(lang, {
      ...factsOf(company, order),
      amount: `${showToken({ asset: 'USDC', units: refund.units }, TEXTS[lang].locale)} USDC`,
      network: refund.network === null ? 'USDC' : deps.networkName(refund.network),
      url: deps.links.urlOf(order.code, refund.id, 'mailed'),
    })
    // from the question, which may be asked again long after the refund began
    const expiresAt = new Date(deps.clock() + 30 * DAY)
    const about = { payerOf: order.id, refundId: refund.id }
    await deps.mailer.send(tx, { to: email, lang, kind: 'notice', data, expiresAt, ...about })
  }
}

/** Mails the receipt to the payer, if the e-mail is known. A mail that cannot be written never delays a payment. */
export function openMailReceipt(deps: {
  mailer: Accounts['mailer']
  vault: Vault
  payUrl: string
  log: FastifyBaseLogger
}): NonNullable<TransitionDeps['onPaid']> {
  const urlOf = openReceiptUrl(deps.payUrl)
  const readEmail = (tx: Tx, order: Order): Promise<string | null> =>
    findPayerContact(deps, tx, order).then(
      ({ email }) => email,
      (error: unknown) => {
        deps.log.error({ err: error, orderId: order.id }, 'no receipt was mailed: the payer information cannot be read')
        return null
      },
    )
  return async (tx, order) => {
    const to = await readEmail(tx, order)
    if (to === null) return
    const company = await findMerchant(tx, order.companyId)
    const lang = (await findPayerLanguage(tx, order)) ?? langOf(company)
    const { locale } = TEXTS[lang]
    const paid = { asset: order.to.asset, units: order.paidUnits }
    // a part that a person accepted has no price in the order's currency
    const isPart = paid.units < minAcceptedUnits(order.to.units, await findPaymentPolicy(tx, order.companyId))
    const amount = isPart ? `${showToken(paid, locale)} USDC` : showFiat(order.from, locale)
    const data = receiptNotice(lang, { ...factsOf(company, order), amount, url: urlOf(order) })
    await deps.mailer.send(tx, { to, lang, kind: 'notice', data, payerOf: order.id })
  }
}

/** Mails the address that the shop replaced after the payment, so that its owner notices. */
export const openTellEmailChanged =
  (mailer: Accounts['mailer']): PayerDeps['tellEmailChanged'] =>
  async (tx, order, oldEmail) => {
    const company = await findMerchant(tx, order.companyId)
    const lang = (await findPayerLanguage(tx, order)) ?? langOf(company)
    const data = emailChangedNotice(lang, factsOf(company, order))
    await mailer.send(tx, { to: oldEmail, lang, kind: 'notice', data, payerOf: order.id })
  }

/** By mail, because the e-mail identifies the payer. */
export function openAskPayer({ mailer, links }: { mailer: Accounts['mailer']; links: KycLinks }): KycDeps['askPayer'] {
  return async (tx, order, kyc, email) => {
    const company = await findMerchant(tx, order.companyId)
    const lang = (await findPayerLanguage(tx, order)) ?? langOf(company)
    const url = links.urlOf(order.code, kyc.id, 'mailed')
    const facts = { ...factsOf(company, order), url, closer: askedLevel(kyc) === 'enhanced' }
    const data = kycNotice(lang, facts)
    await mailer.send(tx, { to: email, lang, kind: 'notice', data, payerOf: order.id })
  }
}

/** Webhooks to merchants' servers, their secrets, and mails about failed deliveries. */
export function openMessages(
  base: ServiceBase,
  accounts: Accounts,
  { wake, payers }: Pick<WebhookDeps, 'wake'> & { payers: PayerDeps },
) {
  const { config, db, vault, clock } = base
  const { audit } = accounts
  const webhooks: WebhookDeps = { db, vault, clock, wake, audit }
  const attempts = new AttemptSender(createWebhookAgent(config.webhooks))
  const rotation: RotationDeps = { ...webhooks, attempts, rules: config.webhooks }
  const linkMails = openLinkMails(base, accounts, payers)
  const shopMails = openShopMails(base, accounts, linkMails)
  return { webhooks, rotation, shopMails, linkMails }
}
