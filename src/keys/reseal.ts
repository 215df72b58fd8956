import type { Db } from '../db/db.ts'
import type { Vault } from '../kernel/vault.ts'
import { listSealedBy, SEALED_PLACES, updateSealed } from './reseal-queries.ts'

const BATCH = 100

/**
 * Re-seals with the current master key what an earlier one sealed, so that the earlier key can be retired.
 * @returns how many values were re-sealed
 */
export async function resealPlaces({ db, vault }: { db: Db; vault: Vault }): Promise<number> {
  let count = 0
  for (const place of vault.previousSealPrefixes.length === 0 ? [] : SEALED_PLACES) {
    const rows = await listSealedBy(db, place, { prefixes: vault.previousSealPrefixes, limit: BATCH })
    for (const row of rows) {
      const context = place.contextOf(row.id)
      await updateSealed(db, place, row, vault.seal(vault.open(row.sealed, context), context))
    }
    count += rows.length
  }
  return count
}
