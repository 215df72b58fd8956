import type { Data } from '../../api/call.ts'
import type { Tone } from '../../kit/parts.tsx'

export type StoryData = Data<'getOrderStory'>
export type Entry = StoryData['entries'][number]
export type Facts = Entry['facts']

export const word = (value: Facts[string] | undefined): string =>
  value === null || value === undefined ? '' : String(value)

/** Decimals of the ledger's assets; others are not amounts of money. */
const DIGITS: Record<string, number> = { EUR: 2, USD: 2, CHF: 2, GBP: 2, XPF: 0, USDC: 6 }

/** Smallest units as decimal text; null for a token with unknown decimals. */
export function decimalOf(units: Facts[string] | undefined, asset: string): string | null {
  const digits = DIGITS[asset]
  const text = word(units)
  if (digits === undefined || !/^-?\d+$/.test(text)) return null
  const plain = text.replace('-', '').padStart(digits + 1, '0')
  const whole = plain.slice(0, plain.length - digits)
  return `${text.startsWith('-') ? '-' : ''}${whole}${digits > 0 ? `.${plain.slice(-digits)}` : ''}`
}

/** One line of the timeline, and what it contains. */
export type Group = { key: string; at: string; kind: Entry['kind']; facts: Facts; more: Entry[] }

/**
 * Whether an entry belongs to the previous line: calls that repeat a query with the same answer are one line, and
 * attempts belong to their delivery.
 */
const belongs = (entry: Entry, last: Group | undefined): boolean => {
  if (last === undefined || entry.kind !== last.kind) return false
  const same = (...names: string[]): boolean => names.every((name) => entry.facts[name] === last.facts[name])
  if (entry.kind === 'provider') return same('channel', 'step', 'status')
  return entry.kind === 'booking' && entry.at === last.at && same('what')
}

export function groupEntries(entries: readonly Entry[]): Group[] {
  const groups: Group[] = []
  const deliveries = new Map<string, Group>()
  for (const [index, entry] of entries.entries()) {
    const { at, kind, facts } = entry
    const last = groups.at(-1)
    const delivery = kind === 'attempt' ? deliveries.get(word(facts.delivery)) : undefined
    if (delivery) delivery.more.push(entry)
    else if (last && belongs(entry, last)) last.more.push(entry)
    else {
      const group: Group = { key: `${kind}-${index}`, at, kind, facts, more: [] }
      if (kind === 'webhook') deliveries.set(word(facts.id), group)
      groups.push(group)
    }
  }
  return groups
}

const GOOD = ['PAID', 'clean', 'final', 'delivered', 'approved', 'released']
const BAD = ['ERROR', 'KYT_FAILED', 'orphaned', 'failed', 'parked', 'refused', 'blocked', 'held']

export function toneOf({ kind, facts }: Group): Tone {
  const status = word(kind === 'state' ? facts.to : facts.status)
  if (BAD.includes(status)) return 'bad'
  if (GOOD.includes(status)) return 'good'
  if (kind === 'mispayment' || kind === 'refund') return 'warn'
  if (kind === 'provider') return Number(status) > 0 && Number(status) < 400 ? 'plain' : 'bad'
  return kind === 'state' || kind === 'transfer' ? 'info' : 'plain'
}
