import { type Queryable, type Sql, sql, type Tx } from '../../db/db.ts'
import type { PollTopic } from '../../db/polling.ts'
import type { Hex } from '../endpoints/rpc.ts'
import { CAME_BEFORE } from '../transfer-queries.ts'

/** `failed`: it moved nothing and never will. */
export type SweepStatus = 'sending' | 'done' | 'failed'

/** The sweep of one deposit address; addresses in lower case. */
export type Sweep = {
  companyId: string
  id: string
  chainId: number
  address: Hex
  number: number
  toAddress: Hex
  units: bigint
  status: SweepStatus
  outside: boolean
  txHash: string | null
  feeWei: bigint | null
  providerStatus: string | null
  checks: number
  /** How often a reorganisation undid it after it was done. */
  undone: number
}

type Row = Omit<Sweep, 'units' | 'feeWei'> & { units: string; feeWei: string | null }

/** One lane per chain, because the chain's relayer pays for gas. */
export const SWEEP_POLLS: PollTopic = {
  kind: 'sweep',
  table: { table: sql`sweeps`, lane: sql`t.chain_id::text` },
}

const COLUMNS = sql`company_id, id, chain_id, address, number, to_address, units, status, outside, tx_hash, fee_wei,
  last_words as provider_status, checks, undone`

const toSweep = (row: Row): Sweep => ({
  ...row,
  units: BigInt(row.units),
  feeWei: row.feeWei === null ? null : BigInt(row.feeWei),
})

/** Excludes money in companies' own wallets: it is not the operator's to move. */
const isOperators = (key: Sql): Sql =>
  sql`exists (select 1 from deposit_keys k where k.id = ${key} and k.company_id is null)`

/** A deposit address that holds final money, according to our tables. */
export type Sweepable = {
  address: Hex
  /** The contract of that money: `CHAIN_<id>_USDC` may have named another one when it came. */
  token: Hex
  companyId: string
  keyId: string
  keyIndex: bigint
  /** Final USDC that arrived, minus what was swept. */
  units: bigint
  /** The number of its next sweep. */
  number: number
  underWay: boolean
  /** The status of an order that keeps it from being moved; null: it may be moved. */
  heldBy: string | null
  /**
   * The screening of a payment by someone who sent to it, or a listing that a sweep has met since. Null: nothing
   * against it. What was said for a payout, or longer ago for a sweep, is asked again before the money moves: nobody
   * can decide about it, and a listing may be corrected.
   */
  doubt: 'listed' | 'waiting' | null
}

/**
 * Deposit addresses with final money that has not been swept. Money stays while its order is open, and after a failed
 * screening: funds from a sanctioned address must not be mixed with ours. So does what came before a payment had the
 * address: it is not in our books. Money in contracts that the settings named before is listed, too.
 */
export async function listSweepable(
  q: Queryable,
  { chainId, token, screenFromUnits }: { chainId: number; token: string; screenFromUnits: bigint },
): Promise<Sweepable[]> {
  const present = token.toLowerCase()
  const asked = (address: Sql): Sql => sql`
    (select p.token_address from payments p where p.deposit_address = ${address} and p.network = ${chainId} limit 1)`
  const rows = await q.many<Omit<Sweepable, 'units'> & { units: string }>(sql`
    with arrived as (
      select e.address, t.token, e.company_id, e.key_id, e.key_index, sum(t.units) as units
      from chain_transfers t join deposit_addresses e on e.address = t.to_address
      where t.chain_id = ${chainId} and t.status = 'seen' and t.final_at is not null and not ${CAME_BEFORE}
        and (t.token = ${present} or t.token = ${asked(sql`t.to_address`)}
          or t.token in (select token_address from paying_tokens where chain_id = ${chainId}))
      group by e.address, t.token
    ), home as (
      -- an older version did not store the contract: it was the one that the payer was asked for
      select s.address, coalesce(o.token_address, ${asked(sql`s.address`)}, ${present}) as token, sum(s.units) as units
      from sweeps s left join chain_payouts o on o.id = s.id
      where s.chain_id = ${chainId} and s.status = 'done' group by 1, 2
    ), moved as (
      select address, max(number) as number, bool_or(status = 'sending') as under_way
      from sweeps where chain_id = ${chainId} group by address
    )
    select a.address, a.token, a.company_id, a.key_id, a.key_index, (a.units - coalesce(h.units, 0))::text as units,
      coalesce(m.number, 0) + 1 as number, coalesce(m.under_way, false) as under_way,
      (select o.status from payments p join orders o on o.company_id = p.company_id and o.id = p.order_id
        where p.deposit_address = a.address and (o.status = 'KYT_FAILED'
          or o.status in ('INITIAL', 'PENDING', 'AWAITING', 'WAITING_CHAIN_CONFIRMATION')) limit 1) as held_by,
      (select case when bool_or(s.status = 'blocked') then 'listed' when count(*) > 0 then 'waiting' end
        from (select from_address from chain_transfers
          where chain_id = ${chainId} and to_address = a.address and token = a.token and status = 'seen'
          group by from_address having sum(units) >= ${screenFromUnits}) t
        join screenings s on s.company_id = a.company_id and s.address = t.from_address
        where s.purpose = 'payment' and s.status in ('blocked', 'checking', 'held')
          or s.purpose = 'sweep' and s.status = 'blocked' and s.updated_at > now() - interval '1 day') as doubt
    from arrived a
    left join home h on h.address = a.address and h.token = a.token
    left join moved m on m.address = a.address
    where a.units > coalesce(h.units, 0) and ${isOperators(sql`a.key_id`)}
    order by a.key_id, a.key_index, a.token`)
  return rows.map((row) => ({ ...row, units: BigInt(row.units) }))
}

/** A sender of money to a deposit address that is to be swept. */
export type DepositSender = {
  companyId: string
  deposit: Hex
  sender: Hex
  cleared: boolean
  /** The screening of the payment itself that a person released, however long ago. */
  releasedId: string | null
}

/**
 * Senders of final money to these deposit addresses (lower case). `cleared`: by an answer, or a person's release of
 * the payment or a sweep, since `since`, while no screening of the sender is against him and none for a payout or a
 * sweep is open.
 * @param screenFromUnits senders of a smaller total are left out: dust from a listed address must not block another
 * payer's money
 */
export const listDepositSenders = (
  q: Queryable,
  from: { chainId: number; token: string; deposits: readonly string[]; screenFromUnits: bigint; since: Date },
): Promise<DepositSender[]> =>
  q.many<DepositSender>(sql`
    select d.company_id, t.to_address as deposit, t.from_address as sender,
      exists (select from screenings s where s.company_id = d.company_id and s.address = t.from_address
        and s.updated_at > ${from.since}
        and (s.status = 'clean' or s.status = 'released' and (s.purpose = 'sweep' or s.subject_id in (
          select id from payments where company_id = d.company_id and deposit_address = t.to_address))))
        and not exists (select from screenings b where b.company_id = d.company_id and b.address = t.from_address
          and (b.status in ('blocked', 'returned')
            or b.status in ('checking', 'held') and b.purpose <> 'payment')) as cleared,
      (select r.id from screenings r
        where r.company_id = d.company_id and r.address = t.from_address and r.status = 'released' and r.subject_id in (
          select id from payments where company_id = d.company_id and deposit_address = t.to_address)
        order by r.updated_at desc limit 1) as released_id
    from chain_transfers t join deposit_addresses d on d.address = t.to_address
    where t.chain_id = ${from.chainId} and t.token = ${from.token.toLowerCase()} and t.status = 'seen'
      and t.final_at is not null and t.to_address = any(${[...from.deposits]}::text[])
    group by d.company_id, t.to_address, t.from_address having sum(t.units) >= ${from.screenFromUnits}
    order by t.from_address, t.to_address`)

/** Owner of the wallet that an address belongs to; undefined: not one of our deposit addresses. */
export const findDepositOwner = (
  q: Queryable,
  address: string,
): Promise<{ companyId: string; keyIndex: bigint } | undefined> =>
  q.maybe(
    sql`select company_id, key_index from deposit_addresses where address = ${address} and ${isOperators(sql`key_id`)}`,
  )

export type NewSweep = Pick<
  Sweep,
  'companyId' | 'id' | 'chainId' | 'address' | 'number' | 'toAddress' | 'units' | 'outside'
> & { token: Hex; authorizationNonce: Hex; signature: Hex; validBefore: bigint; sentBy: string }

/**
 * Inserts it together with the payout that carries its authorization. @returns 1 when it is new, 0 when its id is known
 */
export async function insertSweep(tx: Tx, sweep: NewSweep, now: Date): Promise<number> {
  const added = await tx.run(sql`
    insert into sweeps (company_id, id, chain_id, address, number, to_address, units, status, outside, sent_by,
      last_words, next_check_at, created_at, updated_at)
    values (${sweep.companyId}, ${sweep.id}, ${sweep.chainId}, ${sweep.address}, ${sweep.number}, ${sweep.toAddress},
      ${sweep.units}, 'sending', ${sweep.outside}, ${sweep.sentBy}, 'signed', ${now}, ${now}, ${now})
    on conflict (company_id, id) do nothing`)
  if (added === 0) return 0
  await tx.run(sql`
    insert into chain_payouts (id, kind, chain_id, from_address, to_address, units, authorization_nonce,
      token_address, status, signature, valid_before, words, created_at, updated_at)
    values (${sweep.id}, 'sweep', ${sweep.chainId}, ${sweep.address}, ${sweep.toAddress}, ${sweep.units},
      ${sweep.authorizationNonce}, ${sweep.token}, 'reserved', ${sweep.signature}, ${sweep.validBefore},
      'signed', ${now}, ${now})`)
  return added
}

/** It was written to a file for someone else to submit, and is ours to send from now on, if it is not over. */
export const updateSweepOurs = (
  tx: Tx,
  { companyId, id }: Pick<Sweep, 'companyId' | 'id'>,
  now: Date,
): Promise<number> =>
  tx.run(sql`
    update sweeps set outside = false, next_check_at = ${now}, updated_at = ${now}
    where company_id = ${companyId} and id = ${id} and outside and status = 'sending'`)

export async function findSweep(q: Queryable, companyId: string, id: string): Promise<Sweep | undefined> {
  const row = await q.maybe<Row>(sql`select ${COLUMNS} from sweeps where company_id = ${companyId} and id = ${id}`)
  return row && toSweep(row)
}

export async function lockSweep(tx: Tx, companyId: string, id: string): Promise<Sweep | undefined> {
  const row = await tx.maybe<Row>(sql`
    select ${COLUMNS} from sweeps where company_id = ${companyId} and id = ${id} for update`)
  return row && toSweep(row)
}

/** The unfinished sweep of this address: the last one, if an earlier one was undone meanwhile. */
export async function findOpenSweep(q: Queryable, chainId: number, address: string): Promise<Sweep | undefined> {
  const row = await q.maybe<Row>(sql`
    select ${COLUMNS} from sweeps where chain_id = ${chainId} and address = ${address} and status = 'sending'
    order by number desc limit 1`)
  return row && toSweep(row)
}

/** The sweeps with these ids. */
export async function listSweeps(q: Queryable, ids: readonly string[]): Promise<Sweep[]> {
  const rows = await q.many<Row>(sql`
    select ${COLUMNS} from sweeps where id = any(${[...ids]}::text[]) order by chain_id, address, number`)
  return rows.map(toSweep)
}

export type SweepChange = {
  status: SweepStatus
  txHash: string | null
  feeWei?: bigint | null
  providerStatus: string
  nextCheckAt: Date | null
}

export const updateSweep = (
  tx: Tx,
  { companyId, id }: Pick<Sweep, 'companyId' | 'id'>,
  change: SweepChange,
  now: Date,
): Promise<number> =>
  tx.run(sql`
    update sweeps set status = ${change.status}, tx_hash = coalesce(${change.txHash}, tx_hash),
      fee_wei = coalesce(${change.feeWei?.toString() ?? null}::numeric, fee_wei), last_words = ${change.providerStatus},
      next_check_at = ${change.nextCheckAt}, updated_at = ${now},
      done_at = case when ${change.status} = 'done' then ${now}::timestamptz end
    where company_id = ${companyId} and id = ${id}`)

/** It is not over yet, though it was done, or had failed. Its address may have another one under way by now. */
export const updateSweepAgain = (
  tx: Tx,
  { companyId, id }: Pick<Sweep, 'companyId' | 'id'>,
  { undone, providerStatus }: Pick<Sweep, 'undone'> & { providerStatus: string },
  now: Date,
): Promise<number> =>
  tx.run(sql`
    update sweeps set status = 'sending', undone = ${undone}, reopened = true, last_words = ${providerStatus},
      fee_wei = null, checks = 0, done_at = null, next_check_at = ${now}, updated_at = ${now}
    where company_id = ${companyId} and id = ${id}`)
