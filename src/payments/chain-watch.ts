import { type ChangedAddress, listChangedAddresses, listChangedShared } from '../chain/transfer-queries.ts'
import { pollPayments } from './payment-jobs.ts'
import {
  findChainCursor,
  listPaymentsByDepositAddress,
  listPaymentsByTransfers,
  type Payment,
  updateChainCursor,
} from './payment-queries.ts'
import type { PaymentDeps } from './payment-service.ts'
import { inPages } from './transfer-changes.ts'

/** Changes that are read at once, and addresses or transfers of them that one statement is asked about. */
const WINDOW = 100_000
const PAGE = 500

/** A transfer to a shared address is news to the payments that it may pay, and to no other. */
async function listShared(
  { db }: PaymentDeps,
  of: { chainId: number; after: bigint; last: bigint },
): Promise<Payment[]> {
  const payments = new Map<string, Payment>()
  await inPages(await listChangedShared(db, of), PAGE, async (ids) => {
    for (const one of await listPaymentsByTransfers(db, ids)) payments.set(`${one.companyId} ${one.id}`, one)
  })
  return [...payments.values()]
}

/**
 * Passes what the scanner of one chain saw to the payments that wait for it: to each once, however many transfers came
 * to its address. The cursor moves only afterwards: a crash repeats work and loses none.
 * @returns whether there may be more
 */
export async function followChain(deps: PaymentDeps, chainId: number): Promise<boolean> {
  let cursor = await findChainCursor(deps.db, chainId)
  const { changed, isMore } = await listChangedAddresses(deps.db, { chainId, afterChange: cursor, limit: WINDOW })
  const process = async (part: readonly ChangedAddress[]): Promise<void> => {
    const addresses = part.map(({ address }) => address)
    const last = part.at(-1)?.change ?? cursor
    const alone = await listPaymentsByDepositAddress(deps.db, addresses)
    // also to addresses whose last news comes later: the cursor moves past these
    const shared = await listShared(deps, { chainId, after: cursor, last })
    await pollPayments(deps, [...alone, ...shared])
    await updateChainCursor(deps.db, chainId, last)
    cursor = last
  }
  await inPages(changed, PAGE, process)
  return isMore
}
