import type { Data } from '../../api/call.ts'
import { fromUnits, toUnits } from '../../kit/decimal.ts'
import { useTexts } from '../../texts/lang.ts'
import { texts } from './texts.ts'

export type Ledger = Data<'readLedger'>
export type Account = Ledger['balances'][number]['account']

export function useAccountWords(): Record<Account, string> {
  const t = useTexts(texts)
  return {
    payer_clearing: t.clearing,
    own_account: t.own,
    wallet: t.wallet,
    company_payable: t.payable,
    fees: t.fees,
    refunds: t.refunded,
    suspense: t.suspense,
    rounding: t.rounding,
    losses: t.losses,
    settlement_transit: t.transit,
  }
}

/** What the shop has or owes is shown as a positive number: in the books, debts and income are on the credit side. */
const CREDIT_SIDE: readonly Account[] = [
  'company_payable',
  'fees',
  'suspense',
  'settlement_transit',
  'refunds',
  'rounding',
]
export const isCredit = (account: Account): boolean => CREDIT_SIDE.includes(account)
export const balanceOf = (account: Account, amount: string): string =>
  isCredit(account) ? fromUnits(-toUnits(amount)) : amount
