import type { Order } from '../sdk/index.ts'
import { type Entry, type Facts, money, openMoney, tellMispayment, tellRefund, text } from './money-words.ts'

const BY_STATE: Record<string, string> = {
  INITIAL: 'The order was created',
  PENDING: 'A payment channel was chosen',
  AWAITING: 'The payer has everything needed to pay',
  WAITING_CHAIN_CONFIRMATION: 'The full payment was seen on the chain and is not final yet',
  PAID: 'The full payment is final',
  CANCELLED: 'The order was cancelled',
  EXPIRED: 'The order ran out of time',
  ERROR: 'The provider reported that the payment failed',
  KYT_FAILED: 'The screening held the payment',
  REFUNDING: 'A refund began',
  REFUNDED: 'A part was refunded',
  FULL_REFUNDED: 'Everything was refunded',
}

function who(actor: string): string {
  if (actor.startsWith('user:')) return ' (by a person of the shop)'
  if (actor.startsWith('apiKey:')) return ' (by the shop’s server)'
  if (actor.startsWith('payer:')) return ' (by the payer)'
  return ''
}

function tellState({ trigger, from, to, actor }: Facts): string {
  const back =
    from === 'REFUNDING' && (to === 'PAID' || to === 'REFUNDED') && /reject|refuse|drop|fail/i.test(text(trigger))
  const late = to === 'PAID' && ['EXPIRED', 'CANCELLED', 'ERROR'].includes(text(from))
  const reorg = from === 'WAITING_CHAIN_CONFIRMATION' && to === 'AWAITING'
  if (back) return `The refund did not take place; the order is ${text(to)} as before.`
  if (late) return `The payment came after the order was ${text(from)}, and counts: the order is PAID.`
  if (reorg) return 'The transfer left the chain again; the order waits for the payment as before: AWAITING.'
  const again = to === 'PENDING' && from !== 'INITIAL' ? ' again' : ''
  return `${BY_STATE[text(to)] ?? text(trigger)}${again}${who(text(actor))}: ${text(to)}.`
}

const PAYMENT: Record<string, string> = {
  creating: 'its provider has not confirmed it yet',
  awaiting: 'waits for the payer',
  confirming: 'has money on its way that is not final yet',
  paid: 'is paid',
  failed: 'failed',
  closing: 'is being closed at the provider',
  closed: 'was closed unpaid',
}

/** Of a part that is final the rest may be missing or on its way: the record does not say which. */
function stateOf({ status, dueUnits, receivedUnits }: Facts): string {
  const [due, received] = [BigInt(text(dueUnits) || 0), BigInt(text(receivedUnits) || 0)]
  if (status === 'confirming' && received >= due) return 'has arrived and waits to be counted'
  if (status === 'confirming' && received > 0n) return 'waits for the rest, or for it to be final'
  return PAYMENT[text(status)] ?? text(status)
}

function tellPayment(facts: Facts): string {
  const { number, channel, dueUnits, dueAsset, receivedUnits, toAddress, network, providerReference, message } = facts
  const where = toAddress ? `, to ${text(toAddress)} on chain ${text(network)}` : ''
  const isAddress = text(providerReference).toLowerCase() === text(toAddress).toLowerCase()
  const known = providerReference && !isAddress ? `; the provider calls it ${text(providerReference)}` : ''
  const till = facts.pos ? ` It was chosen at the shop’s till ${text(facts.pos)}.` : ''
  const past = facts.pastOrders ? ` Earlier orders of this payer, says the shop: ${text(facts.pastOrders)}.` : ''
  const got = text(receivedUnits) === '0' ? '' : ` Received so far: ${money(receivedUnits, dueAsset)}.`
  const counted = /^(\d+) transfers$/.exec(text(message))?.[1]
  const said = message && counted === undefined ? ` The provider’s latest word is “${text(message)}”.` : ''
  return `Payment ${text(number)} through ${text(channel)} asks for ${money(dueUnits, dueAsset)}${where}${known}. It ${stateOf(facts)}.${got}${said}${till}${past}`
}

const STEPS: Record<string, string> = {
  create: 'to open the payment',
  read: 'how the payment stands',
  query: 'how the payment stands',
  recover: 'whether it knows the payment',
  close: 'to close the payment',
  refund: 'to refund',
  readRefund: 'how the refund stands',
}

function tellProvider({ channel, step, status, durationMs }: Facts): string {
  const asked = `${text(channel)} was asked ${STEPS[text(step)] ?? `(${text(step)})`}`
  if (status === null) return `${asked} and gave no answer within ${text(durationMs)} ms; it will be asked again.`
  return `${asked} and answered ${text(status)} in ${text(durationMs)} ms.`
}

function tellTransfer({ symbol, units, fromAddress, status, txHash, finalAt, block }: Facts): string {
  const seen = `${money(units, symbol)} came from ${text(fromAddress)} in block ${text(block)} (${text(txHash)})`
  if (status === 'orphaned')
    return `${seen}, and left the chain again${finalAt ? ' after it was final' : ': it does not count'}.`
  // the line stands at the time of the block, before what follows from it
  return `${seen}; it ${finalAt ? 'became final later' : 'is not final yet'}.`
}

const DELIVERY: Record<string, string> = {
  pending: 'is being sent',
  delivered: 'was delivered',
  failed: 'failed for good; send it again with "comptoir webhooks redeliver"',
  parked: 'is parked; send it again with "comptoir webhooks redeliver"',
}

const tellWebhook = ({ event, status, url, id }: Facts): string =>
  `Webhook ${text(event)} to ${text(url)} ${DELIVERY[text(status)] ?? text(status)} (${text(id)}).`

function tellAttempt({ event, number, statusCode, errorCode, durationMs }: Facts): string {
  const answer = statusCode === null ? `no answer (${text(errorCode)})` : `answer ${text(statusCode)}`
  return `Attempt ${text(number)} of ${text(event)}: ${answer} after ${text(durationMs) || '?'} ms.`
}

const ACCOUNT: Record<string, string> = {
  payer_clearing: 'received from payers',
  own_account: 'at the company’s own account',
  wallet: 'from the paying wallet',
  company_payable: 'owed to the company',
  fees: 'fees',
  refunds: 'refunds under way',
  suspense: 'waiting for a decision',
  losses: 'losses that the operator bears',
  rounding: 'rounding',
  settlement_transit: 'settlements under way',
}

/** All entries of one journal as one sentence: from where to where. */
function tellBookings(entries: readonly Entry[]): string {
  const part = ({ facts }: Entry): string =>
    `${money(text(facts.units).replace('-', ''), facts.asset)} ${ACCOUNT[text(facts.account)] ?? text(facts.account)}`
  const isCredit = ({ facts }: Entry): boolean => text(facts.units).startsWith('-')
  const [from, to] = [entries.filter(isCredit), entries.filter((entry) => !isCredit(entry))]
  const cause = text(entries[0]?.facts.what).replaceAll('_', ' ')
  return `Booked (${cause}): debit ${to.map(part).join(', ')}; credit ${from.map(part).join(', ')}.`
}

function tellIdentity({ status, eddStatus, eddOutcome }: Facts): string {
  const closer =
    eddStatus === 'none' ? '' : ` The enhanced check is ${text(eddStatus)}${eddOutcome ? `: ${text(eddOutcome)}` : ''}.`
  return `The payer’s identity check is ${text(status)}.${closer}`
}

const SCREENED: Record<string, string> = {
  checking: 'is being screened',
  held: 'is not cleared yet, so nothing moves',
  clean: 'was screened and is clean',
  blocked: 'did not pass the screening',
  released: 'was released by a person',
  returned: 'was not accepted by a person, who returns the money',
}
const SUBJECT: Record<string, string> = { payment: 'The sender', refund: 'The destination of the refund' }

function tellScreening({ purpose, address, status, said, reason }: Facts): string {
  const whose = address === null ? 'The payer’s side at the provider' : `${SUBJECT[text(purpose)]} ${text(address)}`
  const why = reason ? ` Reason: ${text(reason)}.` : ''
  return `${whose} ${SCREENED[text(status)] ?? text(status)}.${said ? ` ${text(said)}.` : ''}${why}`
}

const TELL: Record<Exclude<Entry['kind'], 'booking'>, (facts: Facts) => string> = {
  state: tellState,
  payment: tellPayment,
  provider: tellProvider,
  transfer: tellTransfer,
  mispayment: tellMispayment,
  refund: tellRefund,
  webhook: tellWebhook,
  attempt: tellAttempt,
  identity: tellIdentity,
  screening: tellScreening,
}

const NEXT: Record<Order['status'], string> = {
  INITIAL: 'Show the payer the pay page. Nothing was chosen yet.',
  PENDING: 'Wait: the provider has not confirmed the payment, and is asked again by itself. Accepting again is safe.',
  AWAITING: 'Wait for the payer. Ask the channel at once with POST …/confirm/CODE.',
  WAITING_CHAIN_CONFIRMATION: 'Wait until the payment is final. Do not ship yet.',
  PAID: 'Ship. A refund is possible: comptoir orders refund CODE.',
  CANCELLED: 'Nothing. For a new try, create a new order.',
  EXPIRED:
    'Nothing, or create a new order. Money that still comes is recorded, and counts by the company’s late policy.',
  ERROR: 'Let the payer try another channel: create a new order.',
  KYT_FAILED: 'Do not ship. A person decides about the money (back office, Identity).',
  REFUNDING: 'Wait for the refund; what it waits for stands above.',
  REFUNDED: 'Nothing. The rest can be refunded too.',
  FULL_REFUNDED: 'Nothing. Everything went back.',
}

/** Their advice would contradict a loss that nobody has decided about. */
const AFTER_PAYMENT: Order['status'][] = ['PAID', 'REFUNDING', 'REFUNDED', 'FULL_REFUNDED']

function nextOf(order: Order, entries: readonly Entry[]): string[] {
  const { loss, refunds, misfits } = openMoney(entries)
  const isOvertaken =
    loss.length > 0 ? AFTER_PAYMENT.includes(order.status) : refunds.length > 0 && order.status === 'REFUNDING'
  const own = isOvertaken ? [] : [NEXT[order.status].replaceAll('CODE', order.code)]
  const lines = [...loss, ...refunds, ...own]
  const any = (kind: Entry['kind'], status: string[]): boolean =>
    entries.some((entry) => entry.kind === kind && status.includes(text(entry.facts.status)))
  if (any('screening', ['held']))
    lines.push('The screening asks again by itself. A person may decide (back office, Identity).')
  lines.push(...misfits)
  if (any('webhook', ['failed', 'parked'])) lines.push('Your server missed a webhook: repair it, then redeliver.')
  // only the latest state of an identity check counts
  const identity = entries.findLast(({ kind }) => kind === 'identity')?.facts
  const isWaiting = identity?.status === 'pending' || ['requested', 'pending'].includes(text(identity?.eddStatus))
  if (isWaiting && order.status === 'INITIAL') lines.push('The payer has to pass the identity check first.')
  if (identity?.status === 'refused') lines.push('The payer’s identity was refused: do not sell above the threshold.')
  return lines
}

const clock = (at: string): string => `${at.slice(0, 10)} ${at.slice(11, 19)}`

/** One line per event; the entries of a journal are grouped, after their cause. */
function linesOf(entries: readonly Entry[]): string[] {
  const journals = new Map<string, Entry[]>()
  for (const entry of entries.filter(({ kind }) => kind === 'booking')) {
    const key = `${entry.at}|${text(entry.facts.what)}`
    journals.set(key, [...(journals.get(key) ?? []), entry])
  }
  const told = entries.flatMap(({ at, kind, facts }) => (kind === 'booking' ? [] : [{ at, line: TELL[kind](facts) }]))
  const booked = [...journals.values()].map((journal) => ({ at: journal[0]?.at ?? '', line: tellBookings(journal) }))
  // a stable sort: simultaneous events keep their order, and their bookings follow
  const all = [...told, ...booked].sort((left, right) => left.at.localeCompare(right.at))
  return all.map(({ at, line }) => `${clock(at)}  ${line}`)
}

/**
 * One order's whole history in sentences, ending with what to do next.
 * @param omitted how many older entries the service left out; older services do not say
 */
export function explain(order: Order, entries: readonly Entry[], omitted = 0): string[] {
  const what = order.alias ? `Payment link “${order.alias}”` : 'Order'
  const place = order.merchantIdentifier ? ` at till ${order.merchantIdentifier}` : ''
  const price = `${order.fromAmount} ${order.fromAsset} (${order.toAmount} ${order.toAsset} at ${order.rate})`
  return [
    `${what} ${order.code} over ${price}${place} is ${order.status}.`,
    '',
    ...(omitted > 0 ? [`${omitted} older entries, mostly repeated calls to a provider, are left out.`] : []),
    ...linesOf(entries),
    '',
    'What to do next:',
    ...nextOf(order, entries).map((line) => `- ${line}`),
  ]
}
