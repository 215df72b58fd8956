import { createHash } from 'node:crypto'
import type { Clock } from '../kernel/clock.ts'
import type { Channel, ChannelId, PaymentKey } from './channel.ts'
import type { ProviderHttp } from './provider-http.ts'

/** One setting that an operator, or a company for its own account, gives a channel. */
export type Setting = {
  /** One sentence for the operator: what it is and where to find it. */
  description: string
  secret?: true
  /** Only the operator sets it; otherwise a company could make this server call any URL. */
  operatorOnly?: true
  /** Used when it is not given; without it the value is required. */
  fallback?: string
  /** What is wrong with a value, or null. */
  fault?(text: string): string | null
}

/** Shared tools for every adapter. */
export type ChannelContext = {
  http: ProviderHttp
  clock: Clock
  /** Live mode refuses payments that providers mark as tests. */
  live: boolean
  /** The payer's own wallet channel, whose deposit addresses an on-ramp pays to; absent if no chain is configured. */
  wallet?: Channel
}

/** One provider that can be configured: its settings, and how to open it. */
export type ChannelKind = {
  id: ChannelId
  /** Setting NAME is read from the variable `CHANNEL_<env>_<NAME>`. */
  env: string
  settings: Readonly<Record<string, Setting>>
  /** Faults in the combination of values. */
  findFaults?(values: Readonly<Record<string, string>>): { name: string; message: string }[]
  /** Whether it is offered with these values; absent: always. */
  isOffered?(values: Readonly<Record<string, string>>): boolean
  /**
   * Names the account at the provider, and stays when its secrets are rotated; absent: nothing but secrets would name
   * it.
   */
  accountOf?(values: Readonly<Record<string, string>>): string
  open(values: Readonly<Record<string, string>>, context: ChannelContext): Channel
  /**
   * Checks an account with a query about a payment that does not exist; set if the opened channel needs more than its
   * provider to answer that, or if more than the credentials can be checked.
   */
  probe?(values: Readonly<Record<string, string>>, context: ChannelContext, payment: PaymentKey): Promise<unknown>
}

/** Ties the names of the settings to what `open` receives. */
export function defineChannel<Name extends string>(kind: {
  id: ChannelId
  env: string
  settings: Readonly<Record<Name, Setting>>
  isOffered?(values: Readonly<Record<Name, string>>): boolean
  accountOf?(values: Readonly<Record<NoInfer<Name>, string>>): string
  open(values: Readonly<Record<Name, string>>, context: ChannelContext): Channel
  probe?(values: Readonly<Record<Name, string>>, context: ChannelContext, payment: PaymentKey): Promise<unknown>
}): ChannelKind {
  return kind as ChannelKind
}

const isUrl = (text: string): boolean => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)

/** The URL before the endpoint path that the provider documents. */
export const baseUrl = (fallback: string, description = 'where the provider answers'): Setting => ({
  description,
  fallback,
  operatorOnly: true,
  fault: (text) => (isUrl(text) ? null : 'must be an http(s) address'),
})
export const secret = (description: string): Setting => ({ description, secret: true })
export const plain = (description: string, fallback?: string): Setting =>
  fallback === undefined ? { description } : { description, fallback }
/** A whole number of seconds from 1 to a day. */
export const seconds = (description: string, fallback: string): Setting => ({
  description,
  fallback,
  fault: (text) => (/^[1-9]\d{0,4}$/.test(text) && Number(text) <= 86_400 ? null : 'must be whole seconds, 1 to 86400'),
})

export type SettingsReading =
  | { outcome: 'set'; values: Readonly<Record<string, string>>; secrets: readonly string[] }
  /** No value is set: the channel is not offered. */
  | { outcome: 'absent' }
  | { outcome: 'faulty'; faults: readonly { name: string; message: string }[] }

/** Tells a company's accounts at one provider apart; null if the provider's settings do not name the account. */
export function accountMarkOf(
  { accountOf }: Pick<ChannelKind, 'accountOf'>,
  values: Readonly<Record<string, string>>,
): string | null {
  return accountOf ? createHash('sha256').update(accountOf(values)).digest('hex').slice(0, 16) : null
}

/**
 * Reads the values of one kind. A partly set group is a mistake, not a choice.
 * @param given values by setting name, without the variable's prefix
 */
export function readSettings(
  kind: Omit<ChannelKind, 'open'>,
  given: Readonly<Record<string, string | undefined>>,
): SettingsReading {
  const names = Object.keys(kind.settings)
  const required = names.filter((name) => kind.settings[name]?.fallback === undefined)
  if (required.every((name) => !given[name])) return { outcome: 'absent' }
  const faults: { name: string; message: string }[] = []
  const values: Record<string, string> = {}
  for (const name of names) {
    const setting = kind.settings[name]
    const value = given[name] || setting?.fallback
    const fault = value === undefined ? 'is required' : setting?.fault?.(value)
    if (fault) faults.push({ name, message: fault })
    values[name] = value ?? ''
    if (setting?.fault === undefined || fault) continue
    if (isUrl(values[name])) values[name] = values[name].replace(/\/+$/, '')
  }
  if (faults.length === 0) faults.push(...(kind.findFaults?.(values) ?? []))
  if (faults.length > 0) return { outcome: 'faulty', faults }
  if (kind.isOffered?.(values) === false) return { outcome: 'absent' }
  const secrets = names.flatMap((name) => (kind.settings[name]?.secret && values[name] ? [values[name]] : []))
  return { outcome: 'set', values, secrets }
}

/** The operator's values of one kind: `CHANNEL_GATEPAY_SECRET` is SECRET of the kind with env GATEPAY. */
export function settingsOfEnv(
  kind: Omit<ChannelKind, 'open'>,
  provider: Readonly<Record<string, string>>,
): Readonly<Record<string, string | undefined>> {
  const names = Object.keys(kind.settings)
  return Object.fromEntries(names.map((name) => [name, provider[`CHANNEL_${kind.env}_${name}`]]))
}
