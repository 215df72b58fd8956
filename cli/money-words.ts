import type { Data } from '../sdk/index.ts'

export type Entry = Data<'getOrderStory'>['entries'][number]
export type Facts = Entry['facts']

export const text = (value: Facts[string] | undefined): string =>
  value === null || value === undefined ? '' : String(value)

const DIGITS: Record<string, number> = { EUR: 2, USD: 2, CHF: 2, GBP: 2, XPF: 0, USDC: 6 }

/** Smallest units as decimal text; of a token whose decimals are not known, the units themselves. */
export function money(units: Facts[string] | undefined, asset: Facts[string] | undefined): string {
  const digits = DIGITS[text(asset)]
  if (digits === undefined) return `${text(units)} smallest units of ${text(asset)}`
  const plain = text(units)
    .replace('-', '')
    .padStart(digits + 1, '0')
  const whole = plain.slice(0, plain.length - digits)
  const rest = plain.slice(plain.length - digits).replace(/0+$/, '')
  return `${text(units).startsWith('-') ? '−' : ''}${whole}${digits > 0 ? `.${rest.padEnd(2, '0')}` : ''} ${text(asset)}`
}

/** The word for a value, or the value itself: a newer service may know more of them. */
const wordOf = (words: Record<string, string>, value: Facts[string] | undefined): string =>
  words[text(value)] ?? text(value)

const REFUND: Record<Data<'listRefunds'>['refunds'][number]['status'], string> = {
  needs_approval: 'waits for the operator’s approval',
  needs_address: 'waits for the payer to say where it goes',
  ready: 'is ready to be sent',
  submitted: 'was sent and has not arrived yet',
  settled: 'has arrived',
  rejected: 'was rejected by the operator',
  refused: 'was refused by the provider',
}

export function tellRefund(facts: Facts): string {
  const { number, units, channel, status, txHash, reason, message, waitsFor } = facts
  const standing = waitsFor === 'person' ? 'waits for a person to send it by hand' : wordOf(REFUND, status)
  const parts = [
    `Refund ${text(number)} of ${money(units, 'USDC')} through ${text(channel)} ${standing}`,
    txHash ? ` (${text(txHash)})` : '',
    reason ? `; reason: ${text(reason)}` : '',
    message ? `; last word: “${text(message)}”` : '',
  ]
  return `${parts.join('')}.`
}

type Mispayment = Data<'listMispayments'>['mispayments'][number]
/** Money that does not count is recorded as another token; where it is, and why, decides what can be done with it. */
type Case = Mispayment['kind'] | 'other_coin' | 'frozen' | 'uncredited'

/** `other_coin`: at a provider, in no chain's transfer. */
function caseOf({ kind, asset, reference }: Facts): string {
  if (kind !== 'wrong_token') return text(kind)
  if (text(reference).includes(':frozen:')) return 'frozen'
  if (asset === 'USDC') return 'uncredited'
  return /^(gatepay|whitepay):/.test(text(reference)) ? 'other_coin' : kind
}

const CAME: Record<Case, string> = {
  under: 'came, less than was due',
  over: 'came on top of what was due',
  late: 'came too late',
  duplicate: 'came with a second payment',
  held: 'came from a sender who is not cleared',
  wrong_token: 'came in another token than was asked for',
  other_coin: 'came in another token than was asked for',
  frozen: 'came, and the provider’s own screening froze it',
  uncredited: 'came to the provider, which did not credit it to the order',
  orphaned: 'was final and then left the chain',
}

/** Only what the service does not refuse. */
const OPEN: Record<Case, string> = {
  under: 'It waits for a decision: accept, refund or ignore it',
  over: 'It waits for a decision: refund or ignore it',
  late: 'It waits for a decision: accept, refund or ignore it',
  duplicate: 'It waits for a decision: refund or ignore it',
  held: 'Its screening is decided first; once it is returned there, refund or ignore it',
  wrong_token: 'It waits for a decision: send it back by hand, then ignore it',
  other_coin: 'It waits for a decision: return it at the provider, then ignore it',
  frozen: 'The provider decides about it: ask its support, and ignore it here once you know the outcome',
  uncredited: 'It waits for a decision: return it at the provider or ask its support, then ignore it',
  orphaned: 'It waits for a decision who bears the loss; it cannot be accepted, refunded or ignored',
}

const DECIDED: Record<Exclude<Mispayment['status'], 'open'>, string> = {
  accepted: 'It was accepted',
  refunded: 'It was sent back',
  ignored: 'It was left as it is',
  borne: 'It was decided who bears the loss',
  resolved: 'It is settled',
}

function standingOf(facts: Facts): string {
  const { status, refundStatus } = facts
  if (status === 'open') return wordOf(OPEN, caseOf(facts))
  const isUnderWay = status === 'refunded' && !['', 'settled'].includes(text(refundStatus))
  return isUnderWay ? `It is to go back: its refund ${wordOf(REFUND, refundStatus)}` : wordOf(DECIDED, status)
}

function amountOf({ kind, units, asset, amount }: Facts): string {
  // of money beside a payment, a provider's word may hold no amount; of others, nothing is left
  if (kind === 'wrong_token' && text(units) === '0') return `An unknown amount of ${text(asset)}`
  return amount ? `${text(amount).replace(/(\.\d\d\d*?)0+$/, '$1')} ${text(asset)}` : money(units, asset)
}

export function tellMispayment(facts: Facts): string {
  const because = facts.reason ? ` Reason: ${text(facts.reason)}.` : ''
  return `${amountOf(facts)} ${wordOf(CAME, caseOf(facts))}. ${standingOf(facts)}.${because}`
}

const LOST =
  'Money of this order left the chain after it was final. Decide who bears the loss (back office, Mispayments): until ' +
  'then nothing can be refunded, and what is not shipped yet should wait.'
const MISFITS = 'Decide about the money that did not fit (back office, Mispayments).'

/** What a refund that no program moves on waits for. */
const WAITING: Record<string, string> = {
  needs_approval: 'A refund waits for the operator’s approval (back office, Refunds).',
  needs_address: 'A refund waits for the payer: send him its link, or propose an address (back office, Refunds).',
  person: 'A refund waits for a person to send it by hand (back office, Refunds).',
}

/** What persons have to do about money: a loss, refunds that wait for someone, and what did not fit. */
export function openMoney(entries: readonly Entry[]): { loss: string[]; refunds: string[]; misfits: string[] } {
  const of = (kind: Entry['kind']): Facts[] => entries.filter((entry) => entry.kind === kind).map(({ facts }) => facts)
  const open = of('mispayment').filter(({ status }) => status === 'open')
  const waits = of('refund').map(({ status, waitsFor }) => WAITING[text(waitsFor ?? status)])
  return {
    loss: open.some(({ kind }) => kind === 'orphaned') ? [LOST] : [],
    refunds: [...new Set(waits.filter((line) => line !== undefined))],
    misfits: open.some(({ kind }) => kind !== 'orphaned') ? [MISFITS] : [],
  }
}
