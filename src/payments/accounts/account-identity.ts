import { randomBytes } from 'node:crypto'
import { askAboutPayment, type Knowledge } from '../../channels/account-probe.ts'
import { isReadWithoutAccount } from '../../channels/accounts.ts'
import { accountMarkOf, type ChannelKind, type SettingsReading } from '../../channels/kind.ts'
import { CHANNEL_KINDS } from '../../channels/kinds.ts'
import { AppError } from '../../kernel/errors.ts'
import { findOrderById } from '../../orders/order-queries.ts'
import { keyOf } from '../accept/start-payment.ts'
import { findPayment } from '../payment-queries.ts'
import type { PaymentDeps } from '../payment-service.ts'
import { listMarkedPayments, type MarkedPayment } from './account-queries.ts'

/*
 * Nothing but secrets names some accounts, and an account keeps its payments when its secrets change. So each has marks
 * of its own, which its payments keep. New credentials are asked about a payment under each known mark: an account has
 * the marks whose payments it knows. A wrong guess gives it a mark too many or too few until it is saved again; it
 * never changes a payment.
 */

type Values = Readonly<Record<string, string>>
type Kind = Omit<ChannelKind, 'open'>
type Deps = PaymentDeps & { live: boolean }

/** What new credentials know of the payments under each mark (null: of those without one, of an earlier version). */
export type Recognition = ReadonlyMap<string | null, Knowledge>

const says = (recognition: Recognition, answer: Knowledge): (string | null)[] =>
  [...recognition.keys()].filter((mark) => recognition.get(mark) === answer)

/** A kind whose accounts only secrets name. */
export function findUnnamed(kind: Kind): ChannelKind | undefined {
  const found = isReadWithoutAccount(kind.id) ? undefined : CHANNEL_KINDS.find(({ id }) => id === kind.id)
  return found?.accountOf ? undefined : found
}

export const newMark = (): string => randomBytes(8).toString('hex')

async function askAbout(
  deps: Deps,
  companyId: string,
  kind: ChannelKind,
  values: Values,
  { id, orderId }: MarkedPayment,
): Promise<Knowledge> {
  const order = await findOrderById(deps.db, companyId, orderId)
  const payment = await findPayment(deps.db, companyId, id)
  if (!order || !payment || payment.providerReference === null) return 'silent'
  return askAboutPayment(kind, values, deps, { ...keyOf(order, payment), providerReference: payment.providerReference })
}

/** Asks the provider; called before the transaction. */
export async function recogniseAccount(
  deps: Deps,
  companyId: string,
  kind: ChannelKind,
  values: Values,
): Promise<Recognition> {
  const payments = await listMarkedPayments(deps.db, companyId, kind.id)
  const asked = payments.map(
    async (payment) => [payment.accountMark, await askAbout(deps, companyId, kind, values, payment)] as const,
  )
  return new Map(await Promise.all(asked))
}

const FORCED =
  'With force=true it counts as another account, which does not have them, until you save it again and the provider ' +
  'answers.'
const SILENT =
  'The provider does not answer whether these credentials are of the account that has your earlier payments. Try again ' +
  `in a minute. ${FORCED}`
const REFUSED =
  'The provider refuses these credentials, so it does not tell whether they are of the account that has your earlier ' +
  `payments. Check them, and whether the key is active there for this server, and save again. ${FORCED}`

const notTold = (message: string): AppError => new AppError('ACCOUNT_IN_USE', { message })

export type MarkChoice = {
  kind: Kind
  values: Values
  /** The account that is saved until now, if there is one. */
  before: { accountMarks: readonly string[]; reading: SettingsReading | undefined } | undefined
  /** Undefined where the settings name the account. */
  recognition: Recognition | undefined
  isForced: boolean
}

const hasSameSecrets = (kind: Kind, values: Values, before: SettingsReading | undefined): boolean =>
  before?.outcome === 'set' &&
  Object.entries(kind.settings).every(([name, { secret }]) => !secret || values[name] === before.values[name])

/**
 * What the account before keeps of its marks where these secrets know its payments. Those without a mark are anybody's:
 * they tell only where nothing else does.
 */
function keptMarks(last: readonly string[], recognition: Recognition): readonly string[] {
  const known = says(recognition, 'known')
  const isAnybodys = known.includes(null) && known.length === 1 && !last.some((mark) => recognition.has(mark))
  const isSame = isAnybodys || last.some((mark) => known.includes(mark))
  return isSame ? last.filter((mark) => recognition.get(mark) !== 'strange') : []
}

/**
 * The marks of the account that is saved now; its new payments get the first. It has those whose payments it knows, and
 * if it is the account before, by its secrets or its payments, that one's. Anything else is another account. Secrets
 * that the provider refuses tell nothing, and read nothing either.
 * @throws ACCOUNT_IN_USE where the provider does not tell, unless forced
 */
export function chooseMarks({ kind, values, before, recognition, isForced }: MarkChoice): string[] {
  if (recognition === undefined) return [accountMarkOf(kind, values)].filter((mark) => mark !== null)
  const last = before?.accountMarks ?? []
  const known = says(recognition, 'known').filter((mark) => mark !== null)
  const kept = hasSameSecrets(kind, values, before?.reading) ? last : keptMarks(last, recognition)
  const marks = [...new Set([...kept, ...known])]
  if (marks.length > 0) return marks
  if (!isForced && says(recognition, 'refused').length > 0) throw notTold(REFUSED)
  if (!isForced && says(recognition, 'silent').length > 0) throw notTold(SILENT)
  return [newMark()]
}
