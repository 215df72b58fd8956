import { type Queryable, type Sql, sql, type Tx } from '../db/db.ts'

/** Locks the company’s balance until the transaction ends. */
export async function lockCompanyBalance(tx: Tx, companyId: string): Promise<void> {
  await tx.run(sql`select 1 from companies where id = ${companyId} for update`)
}

/** Payments whose money the company holds itself, as `holderOf` says it. */
const IS_OWN = sql`p.own_account and p.channel <> 'coinbase'`

/**
 * What was paid of a price in the order's currency: all of it, or of a part that was accepted its share, rounded to the
 * currency's smallest unit. Every list of sales counts it so, or their sums differ.
 * @param price in the order's currency and in USDC, and what was paid of it in USDC, without money above it
 */
export const paidOfPrice = ({ fromUnits, toUnits, paid }: Record<'fromUnits' | 'toUnits' | 'paid', Sql>): Sql => sql`
  case when ${paid} < ${toUnits} then round(${fromUnits}::numeric * ${paid} / ${toUnits}) else ${fromUnits} end`

export const HOLDERS = ['company', 'operator'] as const

/** Who holds the money of a refund, named like its table, and so sends it where a person has to. */
export const heldBy = (refund: Sql): Sql => sql`(select case when ${IS_OWN} then 'company' else 'operator' end
  from payments p where p.company_id = ${refund}.company_id and p.id = ${refund}.payment_id)`

/**
 * What a company holds at its own accounts but was never owed: money that pays nothing (undecided, ignored, above the
 * price), and refunds that it has yet to send.
 */
const KEPT = (companyId: string): Sql => sql`
  select coalesce(sum(units), 0) from (
    select m.units from mispayments m join payments p on p.company_id = m.company_id and p.id = m.payment_id
    where m.company_id = ${companyId} and ${IS_OWN} and m.kind in ('under', 'late', 'duplicate', 'held', 'over')
      and m.status in ('open', 'ignored', 'refunded')
    union all
    select case when r.status = 'settled' then 0 else r.units end - r.excess_units
    from refunds r join payments p on p.company_id = r.company_id and p.id = r.payment_id
    where r.company_id = ${companyId} and ${IS_OWN} and r.status not in ('rejected', 'refused')) as kept`

/** A company's balance, in USDC units. */
export type Payable = {
  /** What the books owe it. */
  owed: bigint
  /** The part of it that the company already holds, at its own accounts. */
  own: bigint
  /** Money that left the chain, until a decision who bears the loss. */
  undecided: bigint
}

const PAYABLE = (companyId: string): Sql => sql`
  (select coalesce(-sum(units), 0) from ledger_entries
    where company_id = ${companyId} and account = 'company_payable' and asset = 'USDC') as owed,
  (select coalesce(sum(units), 0) from ledger_entries
    where company_id = ${companyId} and account = 'own_account' and asset = 'USDC') - (${KEPT(companyId)}) as own,
  (select coalesce(sum(units), 0) from mispayments
    where company_id = ${companyId} and kind = 'orphaned' and status = 'open') as undecided`

type PayableRow = Record<keyof Payable, string>

const toPayable = ({ owed, own, undecided }: PayableRow): Payable => ({
  owed: BigInt(owed),
  own: BigInt(own),
  undecided: BigInt(undecided),
})

/** What the operator owes the company beside what it holds itself. Negative: the company owes the operator. */
export const balanceOf = ({ owed, own }: Payable): bigint => owed - own

/** What may be paid out to the company: nothing of what is lost, as long as nobody has decided who bears it. */
export const settleableOf = (payable: Payable): bigint => balanceOf(payable) - payable.undecided

export const findPayable = async (q: Queryable, companyId: string): Promise<Payable> =>
  toPayable(await q.one<PayableRow>(sql`select ${PAYABLE(companyId)}`))

export const findSettleable = async (q: Queryable, companyId: string): Promise<bigint> =>
  settleableOf(await findPayable(q, companyId))

/** The balance, and the bookings that it contains from an id on. One statement, so that both are from one snapshot. */
export async function findPayableWith(
  q: Queryable,
  companyId: string,
  firstId: string,
): Promise<Payable & { journals: string[] }> {
  const { journals, ...row } = await q.one<PayableRow & { journals: string[] }>(sql`
    select ${PAYABLE(companyId)},
      (select coalesce(array_agg(id order by id), '{}') from ledger_journals
        where company_id = ${companyId} and id >= ${firstId}) as journals`)
  return { ...toPayable(row), journals }
}

/** What the operator keeps back at each settlement as cover for refunds. */
export async function findReserve(q: Queryable, companyId: string): Promise<bigint> {
  const { units } = await q.one<{ units: string }>(
    sql`select reserve_units as units from companies where id = ${companyId}`,
  )
  return BigInt(units)
}

/**
 * What a settlement would pay out now, and what it would keep back: nothing of a debt. What is lost and undecided
 * lowers what is ready to nothing at most; only a balance below zero is a debt, and `ready` then is all of it.
 */
export async function findPayout(
  q: Queryable,
  companyId: string,
): Promise<Record<'ready' | 'kept' | 'owed' | 'undecided', bigint>> {
  const payable = await findPayable(q, companyId)
  const reserve = await findReserve(q, companyId)
  const [owed, free] = [balanceOf(payable), settleableOf(payable)]
  const kept = free <= 0n ? 0n : free < reserve ? free : reserve
  const debt = owed < 0n ? owed : 0n
  return { ready: free > 0n ? free - kept : debt, kept, owed, undecided: payable.undecided }
}

/**
 * Fees that lowered a company's balance since its last settlement although they never leave the operator: on refunds,
 * and on payments to the company's own accounts. A refund of such a payment leaves the balance as it is, so its fee
 * counts only with the payment.
 */
export async function sumOpenFees(q: Queryable, companyId: string): Promise<bigint> {
  const fee = sql`div(p.price_units * p.fee_bps, 10000)`
  const { units } = await q.one<{ units: string }>(sql`
    with settled as (
      select coalesce(max(created_at), '-infinity') as at from settlements
      where company_id = ${companyId} and status <> 'cancelled'
    )
    select (select coalesce(sum(ceil((r.units - r.excess_units) * ${fee} / p.price_units)), 0)
        from refunds r join payments p on p.company_id = r.company_id and p.id = r.payment_id
        where r.company_id = ${companyId} and r.mispayment_id is null and r.status not in ('rejected', 'refused')
          and not (${IS_OWN}) and p.price_units > 0 and r.created_at > settled.at)
      + (select coalesce(sum(${fee}), 0)
        from payments p join orders o on o.company_id = p.company_id and o.payment_id = p.id
        where p.company_id = ${companyId} and ${IS_OWN} and p.price_units > 0
          and o.paid_at > settled.at) as units
    from settled`)
  return BigInt(units)
}
