import { formatMoney } from '../../kernel/money.ts'
import { formatRate, type Order } from '../../orders/order.ts'
import type { RefundView } from '../pay/pay-money.ts'
import type { PayView } from '../pay/pay-service.ts'

/** What went back to the payer of the money that the receipt says was paid. */
export const refundsOf = ({ refunds }: PayView): RefundView[] =>
  refunds.filter(({ status, beside }) => status === 'settled' && !beside)

/** The signed content of a receipt. Amounts are decimal text. It does not name the payer. */
export const receiptOf = (order: Order, view: PayView, issuer: string) => {
  const { payment, shop, received } = view
  return {
    version: 1,
    issuer,
    order: order.shortCode,
    reference: order.alias,
    merchant: { name: shop.name, legalName: shop.legalName, siret: shop.siret, vatNumber: shop.vatNumber },
    goods: view.goodsName,
    price: { amount: formatMoney(view.fiat), currency: view.fiat.asset },
    due: { amount: formatMoney(view.due), asset: view.due.asset },
    paid: { amount: formatMoney(received.amount), asset: received.amount.asset },
    rate: { value: formatRate(view.rate), of: view.fiat.asset, in: view.due.asset },
    channel: payment?.channel ?? null,
    network: received.network,
    transactions: received.transactions.map(({ hash }) => hash),
    paidAt: order.paidAt?.toISOString() ?? null,
    refunds: refundsOf(view).map(({ amount, txHash, network }) => ({
      ...{ amount: formatMoney(amount), asset: amount.asset, transaction: txHash, network },
    })),
  }
}
export type Receipt = ReturnType<typeof receiptOf>
