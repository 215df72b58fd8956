import type { IdentityProvider } from '../compliance/identity-provider.ts'
import { openKycLinks } from '../compliance/kyc-links.ts'
import type { KycDeps } from '../compliance/kyc-service.ts'
import { openPayerKeys } from '../compliance/payer-key.ts'
import { openSumsubProvider } from '../compliance/sumsub/adapter.ts'
import type { PayerDeps } from '../payers/payer-service.ts'
import type { WebhookDeps } from '../webhooks/api/delivery-service.ts'
import type { Accounts } from './accounts.ts'
import { openAskPayer } from './messages/messages.ts'
import type { ServiceBase } from './service-base.ts'

const openIdentityProvider = ({ config: { kyc }, clock }: Pick<ServiceBase, 'config' | 'clock'>): IdentityProvider =>
  kyc.provider === 'sumsub' ? openSumsubProvider(kyc.sumsub, clock) : { id: 'manual' }

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
