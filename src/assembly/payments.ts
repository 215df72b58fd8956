import type { FastifyInstance } from 'fastify'
import { usdcOf } from '../chain/networks.ts'
import type { OwnWallets } from '../channels/crypto/own-wallets.ts'
import type { KycDeps } from '../compliance/kyc-service.ts'
import { openPayerGate } from '../compliance/payer-gate.ts'
import type { RaiseAlarm } from '../mail/operator-alarm.ts'
import { noteRoutes } from '../orders/notes/note-routes.ts'
import type { ListDeps } from '../orders/order-service.ts'
import { payerSearchRoutes } from '../orders/payer-search-routes.ts'
import { linkMailRoutes } from '../payers/link-mail-routes.ts'
import type { LinkMailDeps } from '../payers/link-mails.ts'
import { payerRoutes } from '../payers/payer-routes.ts'
import { openPayerSearch } from '../payers/payer-search.ts'
import type { PayerDeps } from '../payers/payer-service.ts'
import { wakePaymentOfOrder } from '../payments/abandoned-queries.ts'
import type { ChannelSettingsDeps } from '../payments/accounts/channel-service.ts'
import type { CallbackDeps } from '../payments/callbacks/callback-service.ts'
import { openGivenUpAlarm } from '../payments/given-up-alarm.ts'
import { openLossAlarm } from '../payments/loss-alarm.ts'
import { mispaymentRoutes } from '../payments/mispayments/mispayment-routes.ts'
import type { MispaymentDeps } from '../payments/mispayments/mispayment-service.ts'
import { type PaymentDeps, readReturnsAgain } from '../payments/payment-service.ts'
import { openWords } from '../payments/reconcile.ts'
import { openSoldTwiceAlarm } from '../payments/sold-twice-alarm.ts'
import { unmatchedRoutes } from '../payments/unmatched/unmatched-routes.ts'
import type { UnmatchedDeps } from '../payments/unmatched/unmatched-service.ts'
import { noticeForeignRefund } from '../refunds/foreign/foreign-refund.ts'
import { recordedRefundRoutes } from '../refunds/foreign/recorded-refund-routes.ts'
import type { MispaymentRefundDeps } from '../refunds/mispayment-refund.ts'
import { takeRefundNews } from '../refunds/refund-news.ts'
import { refundRoutes } from '../refunds/refund-routes.ts'
import {
  countRefundsOfAccount,
  wakeRefundsHandedOver,
  wakeRefundsOfAccount,
  wakeRefundsOfPayment,
} from '../refunds/waiting/wake-queries.ts'
import { type Chains, openExplorer } from './chains.ts'
import type { PollWakes, ServiceBase } from './service-base.ts'

/** Closes the payment of an ended order at its provider at once, ahead of the next poll. */
export const openWakeEnded =
  ({ db, clock, log }: ServiceBase, wakes: PollWakes) =>
  (order: { companyId: string; paymentId: string | null }): void =>
    void wakePaymentOfOrder(db, order, new Date(clock()))
      .then(() => wakes.pollPayments())
      .catch((error: unknown) =>
        log.warn({ err: error }, 'closing the payment of an ended order failed; the next poll retries'),
      )

/** Payments, provider callbacks and channel accounts. */
export function openPayments(
  base: ServiceBase,
  {
    desk,
    wakes,
    kyc,
    alarm,
    chains,
    ownWallets,
  }: {
    desk: Omit<MispaymentRefundDeps, 'readReturnsAgain'>
    wakes: PollWakes
    kyc: KycDeps
    alarm: RaiseAlarm
    chains: Chains
    ownWallets: OwnWallets | undefined
  },
) {
  const { config, db, vault, clock, log } = base
  const { payers, channels, transition, audit, screening } = desk
  const refunds: MispaymentRefundDeps = {
    ...desk,
    readReturnsAgain: (tx, payment) => readReturnsAgain(payments, tx, payment),
  }
  const onRefunded: PaymentDeps['onRefunded'] = (tx, payment, report) =>
    noticeForeignRefund(refunds, tx, payment, report)
  const gate = openPayerGate(kyc)
  const alarmOfLoss = openLossAlarm({ alarm, log })
  const onLoss: PaymentDeps['onLoss'] = async (tx, loss) => {
    await wakeRefundsHandedOver(tx, loss.order, new Date(clock()))
    await alarmOfLoss(tx, loss)
  }
  const alarms = {
    onLoss,
    onGivenUp: openGivenUpAlarm({ alarm, log, clock }),
    onSoldTwice: openSoldTwiceAlarm({ alarm, log, clock }),
  }
  const reports = { dustUnits: BigInt(config.orders.chainDustUnits), ...alarms, screening }
  const news = { onRefunded, words: openWords(desk.books) }
  const payments: PaymentDeps = { payers, gate, db, clock, vault, config, channels, transition, ...news, ...reports }
  const callbacks: CallbackDeps = {
    ...payments,
    log,
    reportRefund: (payment, news) => takeRefundNews(refunds, payment, news),
    async wakeRefunds({ companyId, id }) {
      if ((await wakeRefundsOfPayment(db, companyId, id, new Date(clock()))) > 0) wakes.pollRefunds()
    },
  }
  const channelDesk: ChannelSettingsDeps = {
    ...payments,
    audit,
    provider: config.provider,
    live: config.mode === 'live',
    wakeRefunds: wakeRefundsOfAccount,
    countRefunds: countRefundsOfAccount,
    ownWallets,
  }
  const unmatched: UnmatchedDeps = {
    ...{ ...payments, audit, explorerUrl: openExplorer(chains) },
    usdc: usdcOf(chains.map(({ network }) => network)),
  }
  return { payments, refunds, callbacks, channelDesk, unmatched }
}

/** Money that is refunded, does not fit its order, or matches none. */
export async function registerMoney(
  scope: FastifyInstance,
  {
    refunds,
    mispayments,
    unmatched,
  }: { refunds: MispaymentRefundDeps; mispayments: MispaymentDeps; unmatched: UnmatchedDeps },
): Promise<void> {
  await scope.register(refundRoutes, refunds)
  await scope.register(recordedRefundRoutes, refunds)
  await scope.register(mispaymentRoutes, mispayments)
  await scope.register(unmatchedRoutes, unmatched)
}

/** Who pays an order and what else they ordered, the mail that asks for it, and what the staff note down. */
export async function registerPayers(
  scope: FastifyInstance,
  lists: ListDeps,
  { payers, linkMails }: { payers: PayerDeps; linkMails: LinkMailDeps },
): Promise<void> {
  await scope.register(payerRoutes, payers)
  await scope.register(payerSearchRoutes, { ...lists, payers: openPayerSearch(payers) })
  await scope.register(linkMailRoutes, linkMails)
  await scope.register(noteRoutes, payers)
}
