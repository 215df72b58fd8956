import { lockActor } from '../companies/company-scope.ts'
import type { PayerSearch } from '../orders/payer-search.ts'
import { listUnkeyedPayers, updateEmailKey } from './payer-queries.ts'
import { keyOf, openPayer, openSearchKeys } from './payer-seal.ts'
import type { PayerDeps } from './payer-service.ts'

/** An entry names at most so many of the companies in which orders were found. */
const MOST_COMPANIES = 20

/** Who looked for a payer's orders is in the audit log: where, and how many were found, never the e-mail. */
export function openPayerSearch({ db, vault, audit }: Pick<PayerDeps, 'db' | 'vault' | 'audit'>): PayerSearch {
  return {
    keysOf: openSearchKeys(vault),
    async note(context, { companyIds, found, as }) {
      const searched = found.length > 0 ? found.map(({ companyId }) => companyId) : (companyIds ?? [])
      const companyId = searched.length === 1 ? (searched[0] ?? null) : null
      const total = found.reduce((sum, { orders }) => sum + orders, 0)
      const several = companyId === null ? { companies: searched.slice(0, MOST_COMPANIES) } : {}
      await db.tx(async (tx) => {
        await lockActor(tx, context.actor, companyId)
        const detail = { found: total, as, ...several }
        await audit.write(tx, context, { action: 'payer.search', companyId, detail })
      })
    },
  }
}

type KeyDeps = Pick<PayerDeps, 'db' | 'vault'> & { log: { error(fields: object, text: string): void } }

const BATCH = 200

/**
 * Keys, a batch at a time, what was saved before the search was there, or by an older node since.
 * @returns how many were keyed
 */
export async function keyPayers({ db, vault, log }: KeyDeps): Promise<number> {
  // what an unknown master key sealed stays unkeyed until that key is set
  const rows = await listUnkeyedPayers(db, [vault.sealPrefix, ...vault.previousSealPrefixes], BATCH)
  for (const row of rows) {
    const { orderId, sealed } = row
    let emailKey: string | null = null
    try {
      emailKey = keyOf(vault, sealed, openPayer(vault, orderId, sealed))
    } catch (error) {
      // keyed as one without an e-mail, so that it does not come first again, before all others
      log.error({ err: error, orderId }, 'payer information cannot be read: its e-mail does not find the order')
    }
    await updateEmailKey(db, row, emailKey)
  }
  return rows.length
}
