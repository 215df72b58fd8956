import type { Db, Tx } from '../db/db.ts'
import { type Clock, DAY } from '../kernel/clock.ts'
import type { Vault } from '../kernel/vault.ts'
import type { Order } from '../orders/order.ts'
import { openPayerKeys, sealContext } from './payer-key.ts'
import * as queries from './payer-queries.ts'

/** Erases the payer of an order, in the caller's transaction; decisions stay. @returns whether there was an e-mail */
export type ForgetPayer = (tx: Tx, order: Order, email: string | null) => Promise<boolean>

export function openForgetPayer({ vault }: { vault: Vault }): ForgetPayer {
  const payerKeysOf = openPayerKeys(vault)
  return async (tx, order, email) => {
    const ofOrder = await queries.eraseKycEmailOfOrder(tx, order.companyId, order.id)
    const ofPayer = email === null ? 0 : await queries.eraseKycEmail(tx, order.companyId, payerKeysOf(email))
    return ofOrder + ofPayer > 0
  }
}

const BATCH = 500

/** Erases e-mails saved that many days ago, of checks unchanged since then. @returns how many were erased */
export const eraseKycsOlderThan = ({ db, clock }: { db: Db; clock: Clock }, days: number): Promise<number> =>
  queries.eraseOldKycEmails(db, new Date(clock() - days * DAY), BATCH)

/**
 * Reseals, a batch at a time, what an older master key sealed, and recomputes the payers' lookup keys.
 * @returns how many were resealed
 */
export async function resealKycs({ db, vault }: { db: Db; vault: Vault }): Promise<number> {
  const payerKeysOf = openPayerKeys(vault)
  const rows = await queries.listKycsSealedOtherwise(db, vault.sealPrefix, 200)
  for (const row of rows) {
    const context = sealContext(row.id)
    const email = vault.open(row.sealed, context)
    const next = { sealed: vault.seal(email, context), payerKey: payerKeysOf(email).present }
    await db.tx((tx) => queries.updateKycSeal(tx, row, next))
  }
  return rows.length
}
