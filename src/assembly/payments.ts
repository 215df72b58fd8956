import type { KycDeps } from '../compliance/kyc-service.ts'
import { openPayerGate } from '../compliance/payer-gate.ts'
import type { ChannelDeskDeps } from '../payments/accounts/channel-service.ts'
import type { CallbackDeps } from '../payments/callback-service.ts'
import { type Payment, wakePaymentOfOrder } from '../payments/payment-queries.ts'
import type { PaymentDeps } from '../payments/payment-service.ts'
import { noticeForeignRefund } from '../refunds/foreign-refund.ts'
import type { RefundDeskDeps } from '../refunds/mispayment-refund.ts'
import { wakeRefundsOfPayment } from '../refunds/refund-queries.ts'
import type { Ground, Rounds } from './ground.ts'

/** An order ended: the attempt to pay it is closed at its provider without waiting for its turn. */
export const openWakeEnded =
  ({ db, clock, log }: Ground, rounds: Rounds) =>
  (order: { companyId: string; paymentId: string | null }): void =>
    void wakePaymentOfOrder(db, order, new Date(clock()))
      .then(() => rounds.pollPayments())
      .catch((error: unknown) => log.warn({ err: error }, 'the payment of an ended order is closed later'))

/** Attempts to pay, what providers call back, and whose accounts are used. */
export function openPayments(
  ground: Ground,
  { refunds, rounds, kyc }: { refunds: RefundDeskDeps; rounds: Rounds; kyc: KycDeps },
) {
  const { config, db, vault, clock, log } = ground
  const { payers, channels, transition, audit } = refunds
  const onRefunded = (payment: Payment, units: bigint): Promise<void> => noticeForeignRefund(refunds, payment, units)
  const gate = openPayerGate(kyc)
  const payments: PaymentDeps = { payers, gate, db, clock, vault, config, channels, transition, onRefunded }
  const callbacks: CallbackDeps = {
    ...payments,
    log,
    async wakeRefunds({ companyId, id }) {
      if ((await wakeRefundsOfPayment(db, companyId, id, new Date(clock()))) > 0) rounds.pollRefunds()
    },
  }
  const channelDesk: ChannelDeskDeps = { ...payments, audit, provider: config.provider }
  return { payments, callbacks, channelDesk }
}
