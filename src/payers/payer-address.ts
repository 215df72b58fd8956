import type { Queryable } from '../db/db.ts'
import { readAddress } from '../kernel/addresses.ts'
import { invalid } from '../kernel/errors.ts'

export type PayerAddressDeps = {
  /** Why an address cannot be a payer's, as words that follow the field's name; null: no reason known. */
  findAddressFault(q: Queryable, address: string): Promise<string | null>
}

/** @throws VALIDATION_FAILED at `path` for an address where a refund would be lost, or would pay an order */
export async function checkPayerAddress(
  deps: PayerAddressDeps,
  q: Queryable,
  path: string,
  address: string,
): Promise<void> {
  const fault = await deps.findAddressFault(q, address)
  if (fault !== null) throw invalid(path, `${fault}. Give an address of the payer’s own wallet`)
}

/** @throws VALIDATION_FAILED at `path` */
export async function readPayerAddress(
  deps: PayerAddressDeps,
  q: Queryable,
  path: string,
  text: string,
): Promise<string> {
  const address = readAddress(path, text)
  await checkPayerAddress(deps, q, path, address)
  return address
}
