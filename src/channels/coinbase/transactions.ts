import { ownAt, textAt } from '../../kernel/json.ts'
import { parseDecimal } from '../../kernel/money.ts'
import { ProviderTrouble } from '../provider-errors.ts'

type Meaning = 'quiet' | 'moving' | 'failed' | 'unknown'

const PREFIX = 'ONRAMP_TRANSACTION_STATUS_'
/** Every status in CDP's OpenAPI. UNSPECIFIED carries no information. */
const MEANINGS: Readonly<Record<string, Exclude<Meaning, 'unknown'>>> = {
  UNSPECIFIED: 'quiet',
  CREATED: 'quiet',
  AWAITING_AUTH: 'quiet',
  AWAITING_PAYMENT: 'quiet',
  IN_PROGRESS: 'moving',
  SUCCESS: 'moving',
  FAILED: 'failed',
}

/** One purchase of the payer at Coinbase: a hint, never proof that money arrived. */
export type Purchase = {
  meaning: Meaning
  /** Without its prefix, and with the reason for a failure. */
  providerStatus: string
  walletAddress: string | undefined
  /** USDC units; undefined for another currency or an unreadable amount. */
  units: bigint | undefined
}

/** Status answers use snake_case, callbacks camelCase. */
const field = (raw: unknown, camel: string, ...path: string[]): string | undefined =>
  textAt(raw, camel, ...path) ??
  textAt(
    raw,
    camel.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    ...path,
  )

const DIGITS = 18

export function readPurchase(raw: unknown): Purchase {
  const status = field(raw, 'status') ?? ''
  const word = status.startsWith(PREFIX) ? status.slice(PREFIX.length) : status
  const known = status === word ? undefined : ownAt(MEANINGS, word)
  const reason = field(raw, 'failureReason')
  const exact = parseDecimal(field(raw, 'purchaseAmount', 'value') ?? '', DIGITS)
  const isUsdc = field(raw, 'purchaseAmount', 'currency')?.toUpperCase() === 'USDC'
  return {
    meaning: known ?? 'unknown',
    providerStatus: reason && known === 'failed' ? `${word} (${reason})` : word,
    walletAddress: field(raw, 'walletAddress'),
    units: exact !== undefined && isUsdc ? exact / 10n ** BigInt(DIGITS - 6) : undefined,
  }
}

/** What Coinbase's list shows while nothing is visible on a chain. */
export type Hint = { pending: bigint; providerStatus: string }

/** @throws ProviderTrouble when the answer contains no list */
export function hintOf(body: unknown, address: string): Hint {
  const rows = (body as { transactions?: unknown } | null)?.transactions
  if (!Array.isArray(rows)) throw new ProviderTrouble('Coinbase answered without a list of transactions')
  const purchases = rows.map(readPurchase)
  const ours = purchases.filter(
    ({ meaning, units, walletAddress = address }) =>
      meaning === 'moving' && units !== undefined && walletAddress.toLowerCase() === address.toLowerCase(),
  )
  const pending = ours.reduce((sum, { units = 0n }) => sum + units, 0n)
  const said = [...new Set(purchases.map(({ providerStatus }) => providerStatus))].join(', ') || 'no purchase yet'
  return { pending, providerStatus: `Coinbase: ${said}` }
}
