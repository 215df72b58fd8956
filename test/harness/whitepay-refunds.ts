import assert from 'node:assert/strict'
import { sql } from '../../src/db/db.ts'
import { settleByHand } from '../../src/refunds/manual-refund.ts'
import { dropRefund } from '../../src/refunds/refund-decisions.ts'
import { refundPolls } from '../../src/refunds/refund-jobs.ts'
import { listRefundsOfOrder } from '../../src/refunds/refund-queries.ts'
import { revertOrder } from '../../src/refunds/refund-service.ts'
import { contextFor, type ModelWorld } from './model-world.ts'
import { openWhitepayIn, type Transaction } from './whitepay-attempts.ts'

/* Whitepay has no call for refunds: a person makes them in its CRM, and the order lists what went back. */

export const came = (value: string): Transaction => ['DEPOSIT', value]
export const kept = (value: string): Transaction => ['ROLLBACK_TO_MERCHANT', value]
export const back = (value: string, status = 'COMPLETE'): Transaction => ['ROLLBACK_TO_CLIENT', value, status]
export const madeAt = (value: string, atMs: number): Transaction => ['ROLLBACK_TO_CLIENT', value, 'COMPLETE', atMs]

/** An attempt with what a person does about its refunds. */
export async function openRefundedIn(world: ModelWorld, coin?: { asset: string; expected: string }) {
  const attempt = await openWhitepayIn(world, coin)
  const { companyId, id: orderId, code } = attempt.order
  const { db } = world.host
  const operator = contextFor(world.operator)
  let proofs = 0
  const refunds = () => listRefundsOfOrder(db, companyId, orderId)
  const last = async () => {
    const refund = (await refunds()).at(-1)
    assert.ok(refund)
    return refund
  }
  return {
    ...attempt,
    /** Units and status of each refund, and who started it where that was nobody here. */
    refunds: async () =>
      (await refunds()).map(
        ({ units, status, requestedBy }) =>
          `${units / 1_000_000n} ${status}${requestedBy.startsWith('channel:') ? ' console' : ''}`,
      ),
    revert: async (amount?: string) => {
      await revertOrder(world.refunds, attempt.context, code, amount ? { amount } : {})
      await refundPolls(world.refunds).work(db, { companyId, id: (await last()).id } as never)
    },
    settle: async () => {
      proofs += 1
      const proof = { reference: `wp-${proofs}`, statement: 'returned in the CRM', file: null }
      await settleByHand(world.refunds, operator, await last(), proof)
    },
    reject: async () =>
      dropRefund(world.refunds, await last(), {
        ...{ status: 'rejected', providerStatus: 'no', by: operator, vanished: null, hold: null },
      }),
    /** Accounts of the company that are not 0, and what the books miss. */
    books: async () => {
      const accounts = await db.many<{ account: string; units: string }>(sql`
        select account, (sum(units) / 1000000)::int::text as units from ledger_entries where company_id = ${companyId}
        group by 1 having sum(units) <> 0 order by 1`)
      const differences = await db.many<{ expected: string }>(
        sql`select expected from ledger_differences where company_id = ${companyId} and status = 'open'`,
      )
      return [...accounts.map(({ account, units }) => `${account} ${units}`), ...differences.map((one) => one.expected)]
    },
  }
}
