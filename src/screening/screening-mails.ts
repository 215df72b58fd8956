import { officePathsOf } from '../config/office-paths.ts'
import type { Tx } from '../db/db.ts'
import { nameCompany, nameOrigin } from '../mail/alarm-words.ts'
import type { RaiseAlarm } from '../mail/operator-alarm.ts'
import type { Answer } from './screening.ts'
import { countHeld, type Screening } from './screening-queries.ts'

type Subject = Pick<Screening, 'companyId' | 'id' | 'orderId' | 'purpose' | 'address'>
/** `source`: who said it. */
type Said = { source: string; answer: Answer }

export async function tellHeld(alarm: RaiseAlarm, tx: Tx, row: Subject, said: readonly Said[]): Promise<void> {
  const { purpose, address, companyId, id } = row
  const waiting = said.filter(({ answer }) => answer.verdict === 'unavailable' || answer.verdict === 'hold')
  const lines = waiting.map(
    ({ source, answer }) => `${source}: ${[answer.level, ...answer.reasons].filter(Boolean).join(', ')}`,
  )
  const held = await countHeld(tx)
  const origin = await nameOrigin(tx, row)
  await alarm(tx, {
    subject: held > 1 ? `${held} transfers wait for their screening` : `A ${purpose} waits for its screening`,
    paragraphs: [
      `The address ${address} of a ${purpose} for ${origin} (screening ${id}) is not cleared, so nothing moves.`,
      lines.length > 0 ? `${lines.join('; ')}.` : 'No screening source is set up any more.',
      'Sources that do not answer are asked again at least every 30 seconds, and it goes on by itself once all are clean. ' +
        'Otherwise decide in the back office under Identity, with a reason: release it, or return the money.',
    ],
    path: officePathsOf(companyId).screening,
  })
}

/** What a provider blocks. */
const extentOf = (isWhole: boolean): string =>
  isWhole
    ? 'It blocks all of the payment, whatever it named before: returning it is about all that is on its way.'
    : 'It blocks the amounts that it named: each is a record of its own under Mispayments.'

/** Without this, the second block of a payment reads like the first, and a person takes it for that. */
const AGAIN =
  'A person has returned what was blocked of this payment before. This is no repetition: it is decided about once more.'

/**
 * A hit may have to be reported to an authority, so each gets its own mail.
 * @param wasReturned a person returned what was blocked of the payment before
 */
export async function tellBlocked(
  alarm: RaiseAlarm,
  tx: Tx,
  row: Subject & Pick<Screening, 'isWhole'>,
  said: readonly Said[],
  { wasReturned = false }: { wasReturned?: boolean } = {},
): Promise<void> {
  const { purpose, address, companyId, id, isWhole } = row
  const blocking = said.filter(({ answer }) => answer.verdict === 'blocked')
  const lines = blocking.map(({ source, answer }) => `${source}: ${answer.reasons.join(', ')}`)
  const origin = await nameOrigin(tx, row)
  const who = address === null ? `A ${purpose}` : `The address ${address} of a ${purpose}`
  await alarm(tx, {
    subject: address === null ? `A provider blocks a ${purpose}` : `An address of a ${purpose} is listed`,
    paragraphs: [
      `${who} for ${origin} (screening ${id}) did not pass the screening. Nothing moves.`,
      `${lines.join('; ')}.`,
      ...(wasReturned ? [AGAIN] : []),
      ...(isWhole === null ? [] : [extentOf(isWhole)]),
      'Decide in the back office under Identity, and do not tell the payer why. Money of a listed person may have to be ' +
        'frozen and reported instead of returned: ask your counsel.',
    ],
    path: officePathsOf(companyId).screening,
  })
}

/** What a payment's provider says of money that it holds. */
export type FrozenNews = {
  channel: string
  providerStatus: string
  /** The amounts beside the payment that wait now and did not wait before, with their coins. */
  news: readonly string[]
  /** For people. */
  orderName: string
}

/** Money that a payment's provider credited. */
export type ReceivedNews = Pick<FrozenNews, 'channel' | 'providerStatus' | 'orderName'> & { amount: string }

/** Money that its provider credits although a person returned the payment: it waits, and pays no order. */
export async function tellReceived(
  alarm: RaiseAlarm,
  tx: Tx,
  { companyId }: Pick<Screening, 'companyId'>,
  { channel, providerStatus, amount, orderName }: ReceivedNews,
): Promise<void> {
  const company = await nameCompany(tx, companyId)
  await alarm(tx, {
    subject: `${amount} arrived for a payment that was returned`,
    paragraphs: [
      `${channel} credited ${amount} for order ${orderName} of company ${company}: ${providerStatus}.`,
      'A person has returned what its provider blocked of that payment, so this money pays no order. It waits by itself: ' +
        'decide in the back office under Mispayments.',
    ],
    path: officePathsOf(companyId).mispayments,
  })
}

/** More than a person returned: a record that waits, although the screening is decided. */
export async function tellFrozen(
  alarm: RaiseAlarm,
  tx: Tx,
  { companyId }: Pick<Screening, 'companyId'>,
  { channel, providerStatus, news, orderName }: FrozenNews,
): Promise<void> {
  const amounts = news.join(', ')
  const company = await nameCompany(tx, companyId)
  await alarm(tx, {
    subject: `A provider froze ${amounts} more`,
    paragraphs: [
      `${channel} froze ${amounts} for order ${orderName} of company ${company}: ${providerStatus}.`,
      'The screening of that payment is decided already, and stays so. This money waits by itself: decide in the back office ' +
        'under Mispayments, and do not tell the payer why. Money of a listed person may have to be frozen and reported ' +
        'instead of returned: ask your counsel.',
    ],
    path: officePathsOf(companyId).mispayments,
  })
}
