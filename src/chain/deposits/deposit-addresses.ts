import { getAddress } from 'viem/utils'
import type { Tx } from '../../db/db.ts'
import { heedPromotion } from '../../db/restored-queries.ts'
import { deriveAddress, parseXpub } from '../../kernel/xpub.ts'
import {
  type DepositAddress,
  findDepositByReference,
  insertDepositAddress,
  isAddressTaken,
  lockDepositKey,
} from './deposit-queries.ts'

export type AssignedAddress = { address: string; index: number }

const toAssigned = (row: Pick<DepositAddress, 'address' | 'keyIndex'>): AssignedAddress => ({
  address: getAddress(row.address),
  index: Number(row.keyIndex),
})

/**
 * A fresh address of the merchant's own wallet, watched on every enabled chain at once until `watchedUntil`. It is
 * never assigned to another order, not even years later, because late payments arrive.
 * @param wallets our own addresses (in lower case) that may lie below the xpub: money sent to them pays no order
 * @param reference what the address is for, unique in the company: asking again returns the same address
 * @returns the address with EIP-55 checksum and its index below the xpub
 * @throws VALIDATION_FAILED for a bad xpub
 */
export async function assignDepositAddress(
  tx: Tx,
  {
    companyId,
    reference,
    xpub,
    watchedUntil,
    wallets = new Set(),
  }: { companyId: string; reference: string; xpub: string; watchedUntil: Date; wallets?: ReadonlySet<string> },
): Promise<AssignedAddress> {
  const key = parseXpub(xpub)
  const earlier = await findDepositByReference(tx, { companyId, reference })
  if (earlier) return toAssigned(earlier)
  // a standby that just took over may have forgotten which indexes are used
  await heedPromotion(tx)
  const keyIndex = await lockDepositKey(tx, key)
  // a concurrent request for the same reference has committed by now
  const meanwhile = await findDepositByReference(tx, { companyId, reference })
  if (meanwhile) return toAssigned(meanwhile)
  const fresh = await findFresh(tx, { xpub: key.text, from: keyIndex, wallets })
  await insertDepositAddress(tx, { ...fresh, companyId, reference, keyId: key.id, watchedUntil })
  return toAssigned(fresh)
}

/**
 * The first address from this index on that belongs to no pool, receives no company's settlements and is not our
 * wallet.
 */
async function findFresh(
  tx: Tx,
  { xpub, from, wallets }: { xpub: string; from: bigint; wallets: ReadonlySet<string> },
): Promise<{ address: string; keyIndex: bigint }> {
  for (let keyIndex = from; ; keyIndex += 1n) {
    const address = deriveAddress(xpub, Number(keyIndex)).toLowerCase()
    if (!wallets.has(address) && !(await isAddressTaken(tx, address))) return { address, keyIndex }
  }
}
