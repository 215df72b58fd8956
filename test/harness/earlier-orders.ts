import { randomBytes } from 'node:crypto'
import { type Db, raw, sql } from '../../src/db/db.ts'

/* Orders at addresses of a company's wallet: money on a network that no test reads, and nodes of an earlier version. */

type Placed = { toAddress: string; units: bigint }

/** Records a final transfer on Base, or on another network. @returns its id */
export async function payOnBase(db: Db, { toAddress }: Placed, units: bigint, chainId = 8453): Promise<string> {
  const id = randomBytes(12).toString('hex')
  await db.run(sql`
    insert into chain_heads (chain_id, number, hash) values (${chainId}, 1000, '0x1') on conflict do nothing`)
  await db.run(sql`
    insert into chain_transfers (id, chain_id, tx_hash, nth, log_index, block_number, block_hash, block_at, token,
      symbol, from_address, to_address, units, status, final_at, change, is_usdc)
    values (${id}, ${chainId}, ${id}, 0, 0, 1, 'x', now(), 'x', 'USDC', 'x', ${toAddress.toLowerCase()}, ${units}, 'seen',
      now(), 0, true)`)
  return id
}

/** As if a node of the version before had placed the order: it does not know the networks of a reservation. */
export async function placeAsBefore(db: Db, { toAddress, units }: Placed): Promise<void> {
  const known = 'company_id, reference, address, units, asked_units, sender, from_at, until_at'
  await db.run(sql`
    with placed as (delete from deposit_reservations where address = ${toAddress.toLowerCase()}
      and asked_units = ${String(units)}::numeric returning *)
    insert into deposit_reservations (${raw(known)}) select ${raw(known)} from placed`)
}

/** As if the order's price were so old, and no other order's with it: orders of the same seconds share a quote. */
export async function quotedAgo(db: Db, orderId: string, seconds: number): Promise<void> {
  await db.run(sql`
    with copied as (
      insert into rate_quotes (id, from_asset, to_asset, rate, evidence, created_at)
      select substr(md5(random()::text), 1, 24), from_asset, to_asset, rate, evidence,
        now() - make_interval(secs => ${seconds})
      from rate_quotes where id = (select quote_id from orders where id = ${orderId}) returning id)
    update orders set quote_id = copied.id from copied where orders.id = ${orderId}`)
}
