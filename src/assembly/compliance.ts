import type { IdentityProvider } from '../compliance/identity-provider.ts'
import { openKycLinks } from '../compliance/kyc-links.ts'
import type { KycDeps } from '../compliance/kyc-service.ts'
import { openForgetPayer } from '../compliance/payer-erasure.ts'
import { openPayerKeys } from '../compliance/payer-key.ts'
import { openCountKnown, openCountResealed } from '../compliance/payer-spending.ts'
import { openSumsubProvider } from '../compliance/sumsub/adapter.ts'
import { deletePayerMails } from '../mail/mailbox-queries.ts'
import type { PayerDeps } from '../payers/payer-service.ts'
import { existsMoney } from '../payments/accept/requote-queries.ts'
import { listMispaymentsOfOrder } from '../payments/mispayments/mispayment-queries.ts'
import { eraseUserAddress } from '../payments/payment-queries.ts'
import type { Rates } from '../rates/rate-service.ts'
import { eraseProofsOfOrder } from '../refunds/proof/proof-queries.ts'
import type { WebhookDeps } from '../webhooks/api/delivery-service.ts'
import type { Accounts } from './accounts.ts'
import { type Chains, openAddressFaults } from './chains.ts'
import { openAskPayer, openTellEmailChanged } from './messages/messages.ts'
import type { ServiceBase } from './service-base.ts'

const openIdentityProvider = ({ config: { kyc }, clock }: Pick<ServiceBase, 'config' | 'clock'>): IdentityProvider =>
  kyc.provider === 'sumsub' ? openSumsubProvider(kyc.sumsub, clock) : { id: 'manual' }

/** Erased with the payer of an order: the identity check's e-mail, the wallet, files that may show the payer, mails. */
function openForget({ vault, clock }: ServiceBase): NonNullable<PayerDeps['forget']> {
  const forgetPayer = openForgetPayer({ vault })
  return async (tx, order, email) => {
    const check = await forgetPayer(tx, order, email)
    const wallet = (await eraseUserAddress(tx, order)) > 0
    const files = (await eraseProofsOfOrder(tx, order, new Date(clock()))) > 0
    return { check, wallet, files, mails: (await deletePayerMails(tx, order.id)) > 0 }
  }
}

/** What is known of payers. */
export function openPayers(
  base: ServiceBase,
  { audit, mailer }: Accounts,
  { rates, chains }: { rates: Rates; chains: Chains },
): PayerDeps {
  const { config, db, vault, clock } = base
  const dustUnits = BigInt(config.orders.chainDustUnits)
  return {
    ...{ db, vault, clock, rates, audit, tellEmailChanged: openTellEmailChanged(mailer) },
    // another coin is refunded too, though it pays no order
    hasMoney: async (tx, order) =>
      (await existsMoney(tx, order, dustUnits, 'ended')) ||
      (await listMispaymentsOfOrder(tx, order.companyId, order.id)).length > 0,
    ...{ forget: openForget(base), onEmail: openCountKnown(base), onReseal: openCountResealed(base) },
    findAddressFault: openAddressFaults(chains),
  }
}

/** Identity checks of payers and their spending limits. */
export function openCompliance(
  base: ServiceBase,
  { audit, mailer, alarm, webhookIdKey }: Accounts,
  payers: PayerDeps,
  wake: WebhookDeps['wake'],
): KycDeps {
  const { config, db, vault, clock } = base
  const links = openKycLinks({ vault, payUrl: config.payUrl })
  return {
    ...{ db, vault, webhookIdKey, clock, payers, links, audit, alarm },
    provider: openIdentityProvider(base),
    payerKeysOf: openPayerKeys(vault),
    signals: { look: () => {} },
    onDelivery: wake,
    askPayer: openAskPayer({ mailer, links }),
  }
}
