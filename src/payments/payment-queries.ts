import { listTakers } from '../chain/deposits/reservation-queries.ts'
import { type ChannelId, type Instructions, ON_CHAIN_CHANNELS } from '../channels/channel.ts'
import { hasMoney, pendingUnits, toldUnits } from '../companies/order-money-queries.ts'
import { json, type Queryable, sql, type Tx } from '../db/db.ts'
import type { PollTopic } from '../db/polling.ts'
import { parseDecimal } from '../kernel/money.ts'
import { longestGapMs } from '../kernel/poll-gaps.ts'
import type { Order } from '../orders/order.ts'
import { goneAfter } from './mispayments/on-its-way.ts'
import { findWay } from './mispayments/way-queries.ts'

export type PaymentStatus = 'creating' | 'awaiting' | 'confirming' | 'paid' | 'failed' | 'closing' | 'closed'

export type Payment = {
  companyId: string
  id: string
  orderId: string
  number: number
  channel: ChannelId
  /** Opened with the company's own account at the provider, not the operator's. */
  ownAccount: boolean
  /** Tells that account from others of the company; null: unknown. */
  accountMark: string | null
  status: PaymentStatus
  merchantReference: string
  providerReference: string | null
  instructions: Instructions | null
  network: number | null
  /** Of the instructions, in lower case. */
  tokenAddress: string | null
  dueUnits: bigint
  /** Final units that arrived. */
  receivedUnits: bigint
  /** Seen at the last report, and not final. */
  toldUnits: bigint
  /** Of these, what its provider did not freeze. */
  pendingUnits: bigint
  /** Since when `toldUnits` have been the same; null: nothing was seen, or by an older node. */
  pendingAt: Date | null
  /** The part booked as the order's price; null while this payment has not paid its order. */
  priceUnits: bigint | null
  /** The company's fee at the time of booking, in hundredths of a percent. */
  feeBps: number | null
  userAddress: string | null
  /** Who provided the address (`payer-word.ts`); null: unknown. */
  userAddressBy: string | null
  cancelUrl: string | null
  returnUrl: string | null
  checks: number
  nextCheckAt: Date | null
  openedAt: Date
  /** Its order ended or is paid otherwise, so it is to be closed at its provider; null: not, or by an older node. */
  abandonedAt: Date | null
  /** Its provider's last report listed returns (`kept-report.ts`). */
  keepsReturns: boolean
  /** Since when an event of its provider waits for the provider's total (`told-event.ts`); null: none does. */
  unansweredEventAt: Date | null
}

type Row = Omit<Payment, 'dueUnits' | 'receivedUnits' | 'toldUnits' | 'pendingUnits' | 'priceUnits'> & {
  dueUnits: string
  receivedUnits: string
  toldUnits: string
  pendingUnits: string
  priceUnits: string | null
}

const QUIET_MS = 1.2 * longestGapMs('deposit')
/** A hundredth of its age is shorter than that. */
const IS_JUST_ABANDONED = sql`(t.status = 'closing' and coalesce(t.abandoned_at, t.opened_at) > now() - interval '1 day')`

/** One lane per account at a provider. */
export const PAYMENT_POLLS: PollTopic = {
  kind: 'payment',
  table: {
    table: sql`payments`,
    lane: sql`(t.channel || case when t.own_account then ':' || t.company_id else '' end)`,
  },
  // an abandoned one may wait for a hundredth of its age, any other that is over only for the gap of an ended one
  longest: [
    { ms: longestGapMs('ended') },
    { ms: QUIET_MS, of: sql`t.status not in ('closing', 'closed', 'failed', 'paid')` },
    { ms: QUIET_MS, kind: 'ended', of: sql`(t.status in ('closed', 'failed', 'paid') or ${IS_JUST_ABANDONED})` },
  ],
}

const COLUMNS = sql`company_id, id, order_id, number, channel, own_account, account_mark, status, merchant_reference,
  provider_reference, instructions, network, token_address, due_units, received_units, pending_at, price_units, fee_bps,
  user_address, user_address_by, cancel_url, return_url, checks, next_check_at, opened_at, abandoned_at,
  unanswered_event_at, returns_told is not null as keeps_returns, ${toldUnits(sql`payments`)} as told_units,
  ${pendingUnits(sql`payments`)} as pending_units`

const toPayment = (row: Row): Payment => ({
  ...row,
  dueUnits: BigInt(row.dueUnits),
  receivedUnits: BigInt(row.receivedUnits),
  toldUnits: BigInt(row.toldUnits),
  pendingUnits: BigInt(row.pendingUnits),
  priceUnits: row.priceUnits === null ? null : BigInt(row.priceUnits),
})

export async function findPayment(q: Queryable, companyId: string, id: string): Promise<Payment | undefined> {
  const row = await q.maybe<Row>(sql`select ${COLUMNS} from payments where company_id = ${companyId} and id = ${id}`)
  return row && toPayment(row)
}

export async function lockPayment(tx: Tx, companyId: string, id: string): Promise<Payment | undefined> {
  const row = await tx.maybe<Row>(
    sql`select ${COLUMNS} from payments where company_id = ${companyId} and id = ${id} for update`,
  )
  return row && toPayment(row)
}

export async function countPayments(q: Queryable, companyId: string, orderId: string): Promise<number> {
  const { total } = await q.one<{ total: bigint }>(sql`
    select count(*) as total from payments where company_id = ${companyId} and order_id = ${orderId}`)
  return Number(total)
}

/** Attempts of an order that callbacks created; references that we make contain no hyphen. */
export async function countSecondPayments(q: Queryable, companyId: string, orderId: string): Promise<number> {
  const { total } = await q.one<{ total: bigint }>(sql`
    select count(*) as total from payments
    where company_id = ${companyId} and order_id = ${orderId} and merchant_reference like '%-%'`)
  return Number(total)
}

export type NewPayment = {
  companyId: string
  id: string
  orderId: string
  number: number
  channel: ChannelId
  ownAccount: boolean
  accountMark: string | null
  merchantReference: string
  network: number | null
  dueUnits: bigint
  userAddress: string | null
  userAddressBy: string | null
  /** The till's own number. */
  pos: string | null
  pastOrders: string[] | null
  cancelUrl: string | null
  returnUrl: string | null
  nextCheckAt: Date
  at: Date
}

export async function insertPayment(tx: Tx, payment: NewPayment): Promise<void> {
  await tx.run(sql`
    insert into payments (company_id, id, order_id, number, channel, own_account, account_mark, status, merchant_reference, network,
      due_asset, due_units, user_address, user_address_by, pos, past_orders, cancel_url, return_url, next_check_at,
      opened_at, updated_at)
    values (${payment.companyId}, ${payment.id}, ${payment.orderId}, ${payment.number}, ${payment.channel}, ${payment.ownAccount},
      ${payment.accountMark}, 'creating', ${payment.merchantReference}, ${payment.network}, 'USDC', ${payment.dueUnits}, ${payment.userAddress},
      ${payment.userAddressBy},
      ${payment.pos}, ${json(payment.pastOrders)}, ${payment.cancelUrl}, ${payment.returnUrl},
      ${payment.nextCheckAt}, ${payment.at}, ${payment.at})`)
}

/** Stores the provider's instructions and the time of the next poll. */
export async function updatePaymentInstructions(
  tx: Tx,
  payment: Payment,
  instructions: Instructions & { providerReference: string },
  { nextCheckAt, now }: { nextCheckAt: Date | null; now: Date },
): Promise<void> {
  // a wallet may tell payments apart by the amount
  const exact = payment.channel === 'crypto' ? parseDecimal(instructions.tokenAmount ?? '', 6) : undefined
  const dueUnits = exact ?? payment.dueUnits
  // a provider's own address is not ours to watch
  const depositAddress = ON_CHAIN_CHANNELS.includes(payment.channel) ? instructions.toAddress : null
  await tx.run(sql`
    update payments set status = 'awaiting', instructions = ${json(instructions)},
      provider_reference = ${instructions.providerReference}, due_units = ${dueUnits}, deposit_address = lower(${depositAddress}),
      token_address = lower(${instructions.tokenAddress}), network = coalesce(${instructions.network}, network),
      next_check_at = ${nextCheckAt}, checks = 0, updated_at = ${now}
    where company_id = ${payment.companyId} and id = ${payment.id}`)
}

export type PaymentChange = {
  status: PaymentStatus
  receivedUnits?: bigint
  /** Seen and not final, frozen or not, without what a person decided about. */
  toldUnits?: bigint
  providerStatus: string
  nextCheckAt: Date | null
  checks?: number
}

/** Since when these units are told to be on their way. What was seen and is no longer named keeps its time. */
export const pendingSince = (
  payment: Pick<Payment, 'toldUnits' | 'pendingAt'>,
  units: bigint,
  now: Date,
): Date | null =>
  units === 0n || units === payment.toldUnits ? (payment.pendingAt ?? (units === 0n ? null : now)) : now

export async function updatePayment(tx: Tx, payment: Payment, change: PaymentChange, now: Date): Promise<void> {
  const { toldUnits: units = payment.toldUnits } = change
  const told = change.toldUnits?.toString() ?? null
  const gone = units === payment.toldUnits ? null : goneAfter(await findWay(tx, payment), units)
  await tx.run(sql`
    update payments set status = ${change.status}, last_words = ${change.providerStatus}, next_check_at = ${change.nextCheckAt},
      received_units = coalesce(${change.receivedUnits?.toString() ?? null}::numeric, received_units),
      pending_units = coalesce(${told}::numeric, pending_units), told_units = coalesce(${told}::numeric, told_units),
      frozen_gone_units = coalesce(${gone?.toString() ?? null}::numeric, frozen_gone_units),
      pending_at = ${pendingSince(payment, units, now)},
      closed_at = case when ${change.status} in ('closed', 'failed', 'paid') then coalesce(closed_at, ${now}) end,
      abandoned_at = case when ${change.status} <> 'closing' then abandoned_at
        when closed_at is null then coalesce(abandoned_at, ${now}) else ${now} end,
      checks = coalesce(${change.checks ?? null}, checks), updated_at = ${now}
    where company_id = ${payment.companyId} and id = ${payment.id}`)
}

/** Stores the booked price, with the company's fee at that time. */
export async function updatePaymentBooked(
  tx: Tx,
  payment: Payment,
  { priceUnits, feeBps }: { priceUnits: bigint; feeBps: number },
): Promise<void> {
  await tx.run(sql`
    update payments set price_units = ${priceUnits}, fee_bps = ${feeBps}
    where company_id = ${payment.companyId} and id = ${payment.id}`)
}

/** A person accepted what arrived. */
export async function updatePaymentAccepted(
  tx: Tx,
  payment: Payment,
  providerStatus: string,
  now: Date,
): Promise<void> {
  await tx.run(sql`
    update payments set status = 'paid', last_words = ${providerStatus}, next_check_at = null,
      closed_at = coalesce(closed_at, ${now}), updated_at = ${now}
    where company_id = ${payment.companyId} and id = ${payment.id}`)
}

export const updatePaymentReceived = (tx: Tx, { companyId, id }: Payment, units: bigint): Promise<number> =>
  tx.run(sql`update payments set received_units = ${units} where company_id = ${companyId} and id = ${id}`)

/** Of these orders no money that came is left, unless a mispayment holds it. */
const WITHOUT_MONEY = ['EXPIRED', 'CANCELLED', 'ERROR', 'KYT_FAILED', 'FULL_REFUNDED']

/** Erases the wallet given at accept, unless money of the order may still go back to it. @returns how many */
export const eraseUserAddress = async (tx: Tx, { companyId, id, status }: Order): Promise<number> =>
  WITHOUT_MONEY.includes(status)
    ? tx.run(sql`
        update payments set user_address = null, user_address_by = null
        where company_id = ${companyId} and order_id = ${id} and user_address is not null and not exists (
          select from mispayments m where m.company_id = ${companyId} and m.order_id = ${id} and m.status = 'open')`)
    : 0

/** Erases wallets given at accept before that time, of every company. @returns how many */
export const eraseOldUserAddresses = (q: Queryable, before: Date, limit: number): Promise<number> =>
  q.run(sql`
    update payments set user_address = null, user_address_by = null where (company_id, id) in
      (select company_id, id from payments where user_address is not null and opened_at < ${before} limit ${limit})`)

/** A person decided about part of its money: it is polled again at once, and another channel may be chosen. */
export async function reconsiderPayment(tx: Tx, payment: Payment, now: Date): Promise<void> {
  await tx.run(sql`
    update payments set next_check_at = ${now}, status = case when status = 'confirming' then 'awaiting' else status end
    where company_id = ${payment.companyId} and id = ${payment.id}`)
}

/**
 * Ends an abandoned attempt; one that was paid or failed meanwhile keeps its status.
 * @param isAsked its provider knows it: the next poll stays, and finds out whether anything of it still waits
 */
export async function updatePaymentClosed(
  q: Queryable,
  payment: Payment,
  { now, isAsked }: { now: Date; isAsked: boolean },
): Promise<void> {
  await q.run(sql`
    update payments set status = 'closed', last_words = 'closed by us', closed_at = ${now}, updated_at = ${now},
      next_check_at = case when ${isAsked} or status = 'closed' then next_check_at end
    where company_id = ${payment.companyId} and id = ${payment.id} and status not in ('paid', 'failed')`)
}

/** Stores the provider's id, from a callback or from a creation that was found again. @returns whether it had none */
export const updatePaymentReference = async (
  q: Queryable,
  payment: Payment,
  providerReference: string,
): Promise<boolean> =>
  (await q.run(sql`
    update payments set provider_reference = ${providerReference}
    where company_id = ${payment.companyId} and id = ${payment.id} and provider_reference is null`)) > 0

/**
 * A single-use link was replaced by a fresh one to the same payment. Its payer is about to pay: it is polled as a new
 * one, so that the page soon says so, and offers no second purchase.
 */
export async function updatePaymentLinks(tx: Tx, payment: Payment, instructions: Instructions): Promise<void> {
  await tx.run(sql`
    update payments set instructions = ${json(instructions)}, next_check_at = now(), checks = 0,
      poll_again = lease_until is not null
    where company_id = ${payment.companyId} and id = ${payment.id} and status in ('awaiting', 'confirming')`)
}

/** The reference in a callback: ours, or the provider's. */
export type NamedPayment = {
  merchantReference: string | null
  providerReference: string | null
  channels: readonly ChannelId[]
  /** The company whose own account the callback addresses; null: the operator's. */
  accountOf: string | null
}

/** Searches only that account's payments, because the holder of a company's keys can sign anything about all others. */
export async function findPaymentByReference(q: Queryable, by: NamedPayment): Promise<Payment | undefined> {
  const row = await q.maybe<Row>(sql`
    select ${COLUMNS} from payments
    where channel = any(${[...by.channels]})
      and (merchant_reference = ${by.merchantReference} or provider_reference = ${by.providerReference})
      and own_account = ${by.accountOf !== null} and company_id = coalesce(${by.accountOf}, company_id)
    order by merchant_reference = ${by.merchantReference} desc nulls last, number desc limit 1`)
  return row && toPayment(row)
}

/** All attempts of an order, oldest first. */
export async function listPaymentsOfOrder(q: Queryable, companyId: string, orderId: string): Promise<Payment[]> {
  const rows = await q.many<Row>(sql`
    select ${COLUMNS} from payments where company_id = ${companyId} and order_id = ${orderId} order by number`)
  return rows.map(toPayment)
}

/** Whether another attempt of the order has money. */
export async function existsMoneyOfOthers(
  q: Queryable,
  { companyId, id, orderId }: Pick<Payment, 'companyId' | 'id' | 'orderId'>,
  dustUnits: bigint,
): Promise<boolean> {
  const { found } = await q.one<{ found: boolean }>(sql`
    select exists (select 1 from payments p
      where p.company_id = ${companyId} and p.order_id = ${orderId} and p.id <> ${id}
        and ${hasMoney(dustUnits)}) as found`)
  return found
}

/** Reschedules the payment's next poll; null: it is not polled any more. */
export async function updatePaymentNextCheck(q: Queryable, payment: Payment, nextCheckAt: Date | null): Promise<void> {
  await q.run(sql`
    update payments set next_check_at = ${nextCheckAt} where company_id = ${payment.companyId} and id = ${payment.id}`)
}

/**
 * Payments that have these deposit addresses alone, including those whose order ended, because money can come late. A
 * shared address has weeks of payments: what comes there has news only for those that take it.
 */
export async function listPaymentsByDepositAddress(q: Queryable, addresses: readonly string[]): Promise<Payment[]> {
  const rows = await q.many<Row>(sql`
    select ${COLUMNS} from payments where deposit_address = any(${addresses})
      and not exists (select 1 from deposit_reservations r where r.company_id = payments.company_id
        and r.reference = payments.merchant_reference)`)
  return rows.map(toPayment)
}

/** Payments that these transfers may pay. At a shared address, those that one of the transfers is for. */
export async function listPaymentsByTransfers(q: Queryable, transferIds: readonly string[]): Promise<Payment[]> {
  const takers = await listTakers(q, transferIds)
  const rows = await q.many<Row>(sql`
    select ${COLUMNS} from payments where deposit_address in (select d.address from deposit_addresses d
      join chain_transfers t on t.to_address = d.address where t.id = any(${[...transferIds]}::text[]) and d.key_id is not null)
    union all
    select ${COLUMNS} from payments where (merchant_reference, company_id) in (
      select * from unnest(${takers.map(({ reference }) => reference)}::text[],
        ${takers.map(({ companyId }) => companyId)}::text[])) and deposit_address in (
      select address from deposit_addresses where key_id is null)`)
  return rows.map(toPayment)
}

export type PaymentPolicy = {
  toleranceBps: number
  toleranceMaxUnits: string
  lateAcceptHours: number
  lateAfterCancel: string
  feeBps: number
}

export async function findPaymentPolicy(q: Queryable, companyId: string): Promise<PaymentPolicy> {
  return q.one<PaymentPolicy>(sql`
    select tolerance_bps, tolerance_max_units, late_accept_hours, late_after_cancel, fee_bps from companies where id = ${companyId}`)
}

/** The last change of a chain's transfers that was passed to its payments. */
export async function findChainCursor(q: Queryable, chainId: number): Promise<bigint> {
  const row = await q.maybe<{ afterChange: bigint }>(sql`
    select after_change from payment_chain_cursors where chain_id = ${chainId}`)
  return row?.afterChange ?? 0n
}

export async function updateChainCursor(q: Queryable, chainId: number, afterChange: bigint): Promise<void> {
  await q.run(sql`
    insert into payment_chain_cursors as c (chain_id, after_change) values (${chainId}, ${afterChange})
    on conflict (chain_id) do update set after_change = greatest(c.after_change, excluded.after_change)`)
}
