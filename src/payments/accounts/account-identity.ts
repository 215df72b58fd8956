import { randomBytes } from 'node:crypto'
import { isAccountOf } from '../../channels/account-probe.ts'
import { isReadWithoutAccount } from '../../channels/accounts.ts'
import { accountMarkOf, type ChannelKind } from '../../channels/kind.ts'
import { CHANNEL_KINDS } from '../../channels/kinds.ts'
import type { Tx } from '../../db/db.ts'
import { AppError } from '../../kernel/errors.ts'
import { findOrderById } from '../../orders/order-queries.ts'
import { keyOf } from '../accept/start-payment.ts'
import { findPayment } from '../payment-queries.ts'
import type { PaymentDeps } from '../payment-service.ts'
import { listMarkedPayments, type MarkedPayment, remarkPayments } from './account-queries.ts'

/*
 * Nothing but secrets names some accounts, and an account keeps its payments when its secrets change. So each has a
 * mark of its own, and new credentials are asked about a payment under each known mark: who knows it has that account.
 */

type Values = Readonly<Record<string, string>>
type Kind = Omit<ChannelKind, 'open'>
type Deps = PaymentDeps & { live: boolean }

/** Of payments under marks (null: without one, of an earlier version), which ones the new credentials know. */
export type Recognition = { known: readonly (string | null)[]; strange: readonly (string | null)[]; isUntold: boolean }

/** A kind whose accounts only secrets name. */
export function findUnnamed(kind: Kind): ChannelKind | undefined {
  const found = isReadWithoutAccount(kind.id) ? undefined : CHANNEL_KINDS.find(({ id }) => id === kind.id)
  return found?.accountOf ? undefined : found
}

const newMark = (): string => randomBytes(8).toString('hex')

async function isKnownTo(
  deps: Deps,
  companyId: string,
  kind: ChannelKind,
  values: Values,
  { id, orderId }: MarkedPayment,
) {
  const order = await findOrderById(deps.db, companyId, orderId)
  const payment = await findPayment(deps.db, companyId, id)
  if (!order || !payment || payment.providerReference === null) return undefined
  return isAccountOf(kind, values, deps, { ...keyOf(order, payment), providerReference: payment.providerReference })
}

/** Asks the provider; called before the transaction. */
export async function recogniseAccount(
  deps: Deps,
  companyId: string,
  kind: ChannelKind,
  values: Values,
): Promise<Recognition> {
  const payments = await listMarkedPayments(deps.db, companyId, kind.id)
  const asked = payments.map(async (payment) => ({
    mark: payment.accountMark,
    isSame: await isKnownTo(deps, companyId, kind, values, payment),
  }))
  const answers = await Promise.all(asked)
  const marksOf = (said: boolean | undefined) => answers.flatMap(({ mark, isSame }) => (isSame === said ? [mark] : []))
  return { known: marksOf(true), strange: marksOf(false), isUntold: marksOf(undefined).length > 0 }
}

const NOT_TOLD =
  'Payments or refunds still need the account, and the provider does not answer whether these credentials are of the ' +
  'same one. Try again in a minute, or send force=true.'

export type MarkChoice = {
  companyId: string
  kind: Kind
  values: Values
  /** Of the account that is saved until now, if there is one; its `accountMark` may be null. */
  before: { accountMark: string | null; values: Values | null } | undefined
  /** Undefined where the settings name the account. */
  recognition: Recognition | undefined
  isForced: boolean
  /** Whether payments or refunds still need the account before. */
  isNeeded(): Promise<boolean>
}

const isEqual = (left: Values, right: Values | null): boolean =>
  right !== null && JSON.stringify(Object.entries(left).sort()) === JSON.stringify(Object.entries(right).sort())

/**
 * The mark of the account that is saved now. Payments under other marks that it knows become its own; those without a
 * mark are anybody's. Where it knows none, it stays the same account as before, unless that is needed or the person
 * forces the exchange.
 * @throws ACCOUNT_IN_USE where the provider does not tell, unless forced
 */
export async function chooseMark(tx: Tx, choice: MarkChoice): Promise<string | null> {
  const { companyId, kind, values, before, recognition, isForced } = choice
  if (recognition === undefined) return accountMarkOf(kind, values)
  const last = before?.accountMark ?? null
  const place = { companyId, channel: kind.id }
  if (before && isEqual(values, before.values)) return last
  const { known, strange, isUntold } = recognition
  if (known.length > 0) {
    const marks = known.filter((mark) => mark !== null)
    const mark = marks.find((one) => one === last) ?? marks[0] ?? (strange.includes(last) ? newMark() : last)
    if (mark !== null && marks.length > 1) await remarkPayments(tx, place, { from: marks, to: mark })
    return mark
  }
  if (!isForced && isUntold && (await choice.isNeeded())) throw new AppError('ACCOUNT_IN_USE', { message: NOT_TOLD })
  if (!isForced && !(await choice.isNeeded())) return before ? last : newMark()
  // what says nothing of its account is of one before this one
  await remarkPayments(tx, place, { from: [null], to: last ?? newMark() })
  return newMark()
}
