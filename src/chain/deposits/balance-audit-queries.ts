import { type Queryable, sql } from '../../db/db.ts'
import type { Hex } from '../endpoints/rpc.ts'
import type { AuthorizationKey } from '../payout/usdc-token.ts'

/** Incoming transfers that the scanner saw at one watched address, up to a block. */
export type Recorded = {
  companyId: string
  address: string
  units: bigint
  firstBlock: bigint | null
  /** Known outgoing units, up to the block `outflowTo`. */
  outflowUnits: bigint
  outflowTo: bigint
}

/**
 * Watched addresses in order, and those with an open difference, with their units of one token.
 * @param scope.only these addresses, or null: all after `after`
 */
export async function listRecorded(
  q: Queryable,
  scope: {
    chainId: number
    token: string
    block: bigint
    after: string
    /** Addresses with an open difference: the end of their watch explains nothing. */
    open: readonly string[]
    only: readonly string[] | null
    limit: number
  },
): Promise<Recorded[]> {
  type Row = Omit<Recorded, 'units' | 'outflowUnits'> & { units: string; outflowUnits: string }
  const rows = await q.many<Row>(sql`
    select d.company_id, d.address, coalesce(sum(t.units), 0) as units, min(t.block_number) as first_block,
      coalesce(f.outflow_units, 0)::text as outflow_units, coalesce(f.outflow_to, 0) as outflow_to
    from deposit_addresses d
    left join deposit_differences f on f.chain_id = ${scope.chainId} and f.address = d.address
      and coalesce(f.token, ${scope.token}) = ${scope.token}
    left join chain_transfers t on t.to_address = d.address and t.chain_id = ${scope.chainId} and t.token = ${scope.token}
      and t.status = 'seen' and t.block_number <= ${scope.block}
    where (d.watched_until > now() or d.address = any(${[...scope.open]}::text[])) and d.key_id is not null and d.address > ${scope.after}
      and (${scope.only === null} or d.address = any(${[...(scope.only ?? [])]}::text[]))
    group by d.company_id, d.address, f.outflow_units, f.outflow_to order by d.address limit ${scope.limit}`)
  return rows.map((row) => ({ ...row, units: BigInt(row.units), outflowUnits: BigInt(row.outflowUnits) }))
}

/** Wallets that have paid refunds or settlements on a chain. */
export async function listWallets(q: Queryable, chainId: number): Promise<string[]> {
  const rows = await q.many<{ address: string }>(sql`
    select distinct from_address as address from chain_payouts where chain_id = ${chainId} and kind = 'payout'`)
  return rows.map(({ address }) => address)
}

/** The block up to which all transfers of a wallet were found to be ours. */
export async function findAudited(q: Queryable, chainId: number, address: string): Promise<bigint | undefined> {
  const row = await q.maybe<{ blockNumber: bigint }>(sql`
    select block_number from wallet_audits where chain_id = ${chainId} and address = ${address}`)
  return row?.blockNumber
}

export const upsertAudited = (
  q: Queryable,
  audit: { chainId: number; address: string; block: bigint; balance: bigint },
): Promise<number> =>
  q.run(sql`
    insert into wallet_audits (chain_id, address, block_number, balance_units)
    values (${audit.chainId}, ${audit.address}, ${audit.block}, ${audit.balance})
    on conflict (chain_id, address)
    do update set block_number = excluded.block_number, balance_units = excluded.balance_units`)

/** A payout whose transaction this is, or may become. `keys`: the authorizations under which it may have left. */
export type OwnPayout = { txHash: string; toAddress: string; units: bigint; keys: AuthorizationKey[] }

/**
 * The payouts in these transactions, their authorizations as this wallet's. A payment by signature out of it is none:
 * the relayer submits for payers what any wallet's key signed, also a stolen one.
 */
export async function listOwnPayouts(
  q: Queryable,
  { chainId, wallet, hashes }: { chainId: number; wallet: string; hashes: readonly string[] },
): Promise<OwnPayout[]> {
  type Row = Omit<OwnPayout, 'units' | 'keys'> & { units: string; ownNonce: Hex; leftNonce: Hex | null }
  const rows = await q.many<Row>(sql`
    select found.tx_hash, p.to_address, p.units::text, p.authorization_nonce as own_nonce, p.left_nonce
    from (
      select tx_hash, payout_id from chain_payout_transactions
      where chain_id = ${chainId} and tx_hash = any(${[...hashes]}::text[]) and payout_id is not null
      union select tx_hash, id from chain_payouts where chain_id = ${chainId} and tx_hash = any(${[...hashes]}::text[])
    ) found join chain_payouts p on p.id = found.payout_id and p.kind <> 'payment'
    order by found.tx_hash, p.id`)
  const from = wallet.toLowerCase() as Hex
  return rows.map(({ txHash, toAddress, units, ownNonce, leftNonce }) => ({
    ...{ txHash, toAddress, units: BigInt(units) },
    keys: (leftNonce === null ? [ownNonce] : [ownNonce, leftNonce]).map((nonce) => ({ from, nonce })),
  }))
}
