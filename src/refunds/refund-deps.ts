import type { Audit } from '../audit/audit.ts'
import type { Channels } from '../channels/channel-set.ts'
import type { Db, Tx } from '../db/db.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Books } from '../ledger/books.ts'
import type { PayoutPorts } from '../ledger/payout-ports.ts'
import type { Order } from '../orders/order.ts'
import type { TransitionOrder } from '../orders/order-transition.ts'
import type { PayerDeps } from '../payers/payer-service.ts'
import type { Payment } from '../payments/payment-queries.ts'
import type { ScreeningGate } from '../screening/screening-gate.ts'
import type { NewRefund } from './refund-queries.ts'

export type RefundDeps = PayoutPorts & {
  db: Db
  /** Where providers call back. */
  baseUrl: string
  clock: Clock
  channels: Channels
  transition: TransitionOrder
  payers: PayerDeps
  audit: Audit
  /** Blocks refunds while the books differ from the facts. */
  books: Books
  /** Screens the destination of a refund before it is sent. */
  screening: ScreeningGate
  /**
   * A refund of the payment is over: the returns that its provider lists are read again, in the same transaction.
   * @returns false: it lists none
   */
  readReturnsAgain(tx: Tx, payment: Payment): Promise<boolean>
  /** Asks the payer for an address. Runs in the refund’s transaction, so it only writes a job. */
  askForAddress(tx: Tx, order: Order, refund: NewRefund, email: string | null): Promise<void>
}
