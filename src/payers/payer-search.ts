import { lockActor } from '../companies/company-scope.ts'
import type { PayerSearch } from '../orders/payer-search.ts'
import { listUnkeyedPayers, updateEmailKey } from './payer-queries.ts'
import { keyOf, openPayer, openSearchKeys } from './payer-seal.ts'
import type { PayerDeps } from './payer-service.ts'

/**
 * Who looked for a payer's orders is in the audit log: of each company in which some were found, else of where was
 * searched. Never the e-mail, nor its key, which would outlive an erasure.
 */
export function openPayerSearch({ db, vault, audit }: Pick<PayerDeps, 'db' | 'vault' | 'audit'>): PayerSearch {
  return {
    keysOf: openSearchKeys(vault),
    async note(context, { companyIds, found }) {
      const [only = null] = companyIds?.length === 1 ? companyIds : []
      const where = only === null ? { companies: companyIds ?? 'all' } : {}
      const entries =
        found.length > 0
          ? found.map(({ companyId, orders }) => ({ companyId, detail: { found: orders } }))
          : [{ companyId: only, detail: { found: 0, ...where } }]
      await db.tx(async (tx) => {
        for (const { companyId } of entries) await lockActor(tx, context.actor, companyId)
        for (const entry of entries) await audit.write(tx, context, { action: 'payer.search', ...entry })
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
