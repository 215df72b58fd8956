import { type Queryable, sql, type Tx } from '../../db/db.ts'
import type { Hex } from '../endpoints/rpc.ts'
import { inToken, type Network, tokenOf } from '../networks.ts'

/** `payout` holds USDC, in units; `relayer` native coin, in wei. */
export type WalletName = 'payout' | 'relayer'

export type WalletLevel = {
  chainId: number
  wallet: WalletName
  address: string
  units: bigint
  /** Average daily outflow over the last seven days. */
  dailyUnits: bigint
  low: boolean
}

/** A level, and when it was read from the chain. */
export type KnownLevel = WalletLevel & { checkedAt: Date }

type Row = Omit<KnownLevel, 'units' | 'dailyUnits'> & { units: string; dailyUnits: string }

export async function listWalletLevels(q: Queryable): Promise<KnownLevel[]> {
  const rows = await q.many<Row>(sql`
    select chain_id, wallet, address, units, daily_units, low, checked_at from wallet_levels order by chain_id, wallet`)
  return rows.map((row) => ({ ...row, units: BigInt(row.units), dailyUnits: BigInt(row.dailyUnits) }))
}

/** @returns whether it was low before; locks the row, so that one node warns */
export async function lockWalletLow(tx: Tx, chainId: number, wallet: WalletName): Promise<boolean> {
  const row = await tx.maybe<{ low: boolean }>(sql`
    select low from wallet_levels where chain_id = ${chainId} and wallet = ${wallet} for update`)
  return row?.low ?? false
}

export const upsertWalletLevel = (tx: Tx, level: WalletLevel, now: Date): Promise<number> =>
  tx.run(sql`
    insert into wallet_levels (chain_id, wallet, address, units, daily_units, low, checked_at)
    values (${level.chainId}, ${level.wallet}, ${level.address}, ${level.units}, ${level.dailyUnits}, ${level.low}, ${now})
    on conflict (chain_id, wallet) do update set address = excluded.address, units = excluded.units,
      daily_units = excluded.daily_units, low = excluded.low, checked_at = excluded.checked_at`)

/** Remembers a wallet that pays refunds and settlements; a later one does not replace it. */
export const insertPayingWallet = (q: Queryable, chainId: number, address: string): Promise<number> =>
  q.run(sql`
    insert into paying_wallets (chain_id, address) values (${chainId}, ${address.toLowerCase()}) on conflict do nothing`)

/** The wallets that pay on a chain, or did, in lower case. @param present the one whose key is set up here */
export async function listPayingWallets(q: Queryable, chainId: number, present: string | undefined): Promise<Hex[]> {
  const rows = await q.many<{ address: Hex }>(sql`
    select address from paying_wallets where chain_id = ${chainId} order by address`)
  const now = present === undefined ? [] : [present.toLowerCase() as Hex]
  return [...new Set([...now, ...rows.map(({ address }) => address)])]
}

/** Remembers a token in which a chain's wallets pay; a later one does not replace it. */
export const insertPayingToken = (q: Queryable, chainId: number, token: Hex): Promise<number> =>
  q.run(sql`
    insert into paying_tokens (chain_id, token_address) values (${chainId}, ${token}) on conflict do nothing`)

/** The chain in each token in which its wallets pay, or did: as the settings name it first. */
export async function listPayingTokens(q: Queryable, network: Network): Promise<Network[]> {
  const rows = await q.many<{ tokenAddress: string }>(sql`
    select token_address from paying_tokens
    where chain_id = ${network.chainId} and token_address <> ${tokenOf(network)} order by token_address`)
  return [network, ...rows.map(({ tokenAddress }) => inToken(network, tokenAddress))]
}

/** The chains on which a wallet pays, or did. */
export async function listPayingChains(q: Queryable): Promise<number[]> {
  const rows = await q.many<{ chainId: number }>(sql`select distinct chain_id from paying_wallets order by chain_id`)
  return rows.map(({ chainId }) => chainId)
}

/** Outflow of a wallet since then: USDC units of payouts, and the number of transactions that its relayer paid for. */
export async function sumPayouts(
  q: Queryable,
  chainId: number,
  since: Date,
): Promise<{ units: bigint; transactions: bigint }> {
  const row = await q.one<{ units: string; transactions: bigint }>(sql`
    select coalesce(sum(units) filter (where kind = 'payout'), 0) as units, count(*) as transactions
    from chain_payouts where chain_id = ${chainId} and status in ('mined', 'final') and updated_at > ${since}`)
  return { units: BigInt(row.units), transactions: row.transactions }
}

/** The raised gas price limit that is in force, in wei per gas. */
export async function findFeeOverride(q: Queryable, chainId: number, now: Date): Promise<bigint | undefined> {
  const row = await q.maybe<{ maxFeeWei: string }>(sql`
    select max_fee_wei from fee_overrides where chain_id = ${chainId} and until > ${now}`)
  return row && BigInt(row.maxFeeWei)
}

export type FeeOverride = { chainId: number; maxFeeWei: bigint; until: Date; allowedBy: string; reason: string }

/** Chains whose gas price limit is raised above the settings now. */
export async function listFeeOverrides(q: Queryable, now: Date): Promise<FeeOverride[]> {
  const rows = await q.many<Omit<FeeOverride, 'maxFeeWei'> & { maxFeeWei: string }>(sql`
    select chain_id, max_fee_wei, until, allowed_by, reason from fee_overrides where until > ${now} order by chain_id`)
  return rows.map((row) => ({ ...row, maxFeeWei: BigInt(row.maxFeeWei) }))
}

export const upsertFeeOverride = (tx: Tx, override: FeeOverride, now: Date): Promise<number> =>
  tx.run(sql`
    insert into fee_overrides (chain_id, max_fee_wei, until, allowed_by, reason, created_at)
    values (${override.chainId}, ${override.maxFeeWei}, ${override.until}, ${override.allowedBy}, ${override.reason}, ${now})
    on conflict (chain_id) do update set max_fee_wei = excluded.max_fee_wei, until = excluded.until,
      allowed_by = excluded.allowed_by, reason = excluded.reason, created_at = excluded.created_at`)
