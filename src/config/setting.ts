/** The mode of the service; it selects the defaults of settings that the environment leaves out. */
export type Mode = 'sandbox' | 'live'

/** Source of a default: one text, one per mode, or another setting. Null: no default. */
type Fallback =
  | string
  | null
  | { sandbox: string | null; live: string | null }
  | { from(known: Known): string; shown: string }

/** Values that are read first, because other defaults depend on them. */
export type Known = { mode: Mode; port: number; baseUrl: string }

/** One environment variable: everything that reads, prints, documents or checks it starts here. */
export type Setting<Value = unknown> = {
  name: string
  /** One or two sentences for the operator. */
  description: string
  fallback: Fallback
  /** Never printed, and may be given as `<NAME>_FILE`. */
  secret?: true
  /** Shown in .env.example if there is no default. */
  example?: string
  /** @throws SettingFault */
  read(text: string): Value
  /** The value if nothing is set and there is no default. */
  absent: Value
}

export type Settings = Readonly<Record<string, Setting>>
export type ValuesOf<Group extends Settings> = { [Key in keyof Group]: Group[Key] extends Setting<infer V> ? V : never }

/** What is wrong with a value, as the end of a sentence that starts with the variable's name. */
export class SettingFault extends Error {
  override readonly name = 'SettingFault'
}

type Common = { secret?: true; example?: string }
const common = ({ secret, example }: Common): Common => ({
  ...(secret && { secret }),
  ...(example !== undefined && { example }),
})

export const text = (name: string, description: string, fallback: Fallback, more: Common = {}): Setting<string> => ({
  ...{ name, description, fallback, absent: '', read: (given) => given },
  ...common(more),
})

export const optional = (name: string, description: string, more: Common = {}): Setting<string | null> => ({
  ...{ name, description, fallback: null, absent: null, read: (given: string): string | null => given },
  ...common(more),
})

const readInteger = (given: string, min: number, max: number): number => {
  const value = Number(given)
  if (Number.isInteger(value) && value >= min && value <= max) return value
  throw new SettingFault(`must be a whole number from ${min} to ${max}, not "${given}"`)
}

export const integer = (
  name: string,
  description: string,
  { fallback, min, max }: { fallback: Fallback; min: number; max: number },
): Setting<number> => ({
  ...{ name, description, fallback, absent: min, read: (given) => readInteger(given, min, max) },
})

export const optionalInteger = (
  name: string,
  description: string,
  { min, max }: { min: number; max: number },
): Setting<number | null> => ({
  ...{ name, description, fallback: null, absent: null, read: (given): number | null => readInteger(given, min, max) },
})

export const flag = (name: string, description: string, fallback: Fallback): Setting<boolean> => ({
  ...{ name, description, fallback, absent: false },
  read(given) {
    if (/^(true|1|yes)$/i.test(given)) return true
    if (/^(false|0|no)$/i.test(given)) return false
    throw new SettingFault(`must be true or false, not "${given}"`)
  },
})

/** A URL may contain a password: the fault describes the expected form, never the text. */
function readUrl(given: string, protocols: readonly string[]): string {
  if (URL.canParse(given) && protocols.includes(new URL(given).protocol)) return given.replace(/\/+$/, '')
  throw new SettingFault(`must be a URL that starts with ${protocols.map((word) => `${word}//`).join(' or ')}`)
}

const WEB = ['http:', 'https:']

export const url = (name: string, description: string, fallback: Fallback): Setting<string> => ({
  ...{ name, description, fallback, absent: '', read: (given) => readUrl(given, WEB) },
})

/** Pages and cookies need the root of their own host name. */
function readOrigin(given: string): string {
  const { origin, pathname, search, hash, username, password } = new URL(readUrl(given, WEB))
  if ([pathname.slice(1), search, hash, username, password].every((part) => part === '')) return origin
  throw new SettingFault('must be a host name of its own with nothing behind it, for example https://pay.example')
}

/** The service's own origin: scheme, host name, port. */
export const origin = (name: string, description: string, fallback: Fallback): Setting<string> => ({
  ...{ name, description, fallback, absent: '', read: readOrigin },
})

export const optionalUrl = (
  name: string,
  description: string,
  { protocols = WEB, ...more }: Common & { protocols?: readonly string[] } = {},
): Setting<string | null> => ({
  ...{
    name,
    description,
    fallback: null,
    absent: null,
    read: (given: string): string | null => readUrl(given, protocols),
  },
  ...common(more),
})

const partsOf = (given: string): string[] =>
  given
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean)

export const list = (name: string, description: string, fallback: Fallback, more: Common = {}): Setting<string[]> => ({
  ...{ name, description, fallback, absent: [], read: partsOf },
  ...common(more),
})

export const choices = <Choice extends string>(
  name: string,
  description: string,
  { fallback, of }: { fallback: Fallback; of: readonly Choice[] },
): Setting<Choice[]> => ({
  ...{ name, description, fallback, absent: [] },
  read(given) {
    const chosen = [...new Set(partsOf(given))]
    const wrong = chosen.filter((word) => !(of as readonly string[]).includes(word))
    if (wrong.length === 0 && chosen.length > 0) return chosen as Choice[]
    throw new SettingFault(`choose from ${of.join(', ')}; "${wrong.join(', ')}" is not one of them`)
  },
})

export const choice = <Choice extends string>(
  name: string,
  description: string,
  { fallback, of }: { fallback: Choice; of: readonly Choice[] },
): Setting<Choice> => ({
  ...{ name, description, fallback, absent: fallback },
  read(given) {
    if ((of as readonly string[]).includes(given)) return given as Choice
    throw new SettingFault(`choose from ${of.join(', ')}; "${given}" is not one of them`)
  },
})

/** A setting's default as the environment would write it; null if there is none. */
export function fallbackOf({ fallback }: Setting, known: Known): string | null {
  if (fallback === null || typeof fallback === 'string') return fallback
  return 'from' in fallback ? fallback.from(known) : fallback[known.mode]
}

/** Values by variable name, from the environment and the `_FILE` variables, without empty ones. */
export type Values = Readonly<Record<string, string>>

/** Reads settings and collects their faults, one line each. */
export class Reader {
  readonly values: Values
  readonly faults: string[]
  known: Known
  constructor(values: Values, faults: string[], known: Known) {
    this.values = values
    this.faults = faults
    this.known = known
  }

  one<Value>(setting: Setting<Value>): Value {
    const given = this.values[setting.name]
    const fallback = fallbackOf(setting, this.known)
    if (given === undefined) return fallback === null ? setting.absent : setting.read(fallback)
    try {
      return setting.read(given)
    } catch (error) {
      if (!(error instanceof SettingFault)) throw error
      this.faults.push(`${setting.name}: ${error.message}`)
      return fallback === null ? setting.absent : setting.read(fallback)
    }
  }

  group<Group extends Settings>(group: Group): ValuesOf<Group> {
    const read = Object.entries(group).map(([key, setting]) => [key, this.one(setting)])
    return Object.fromEntries(read) as ValuesOf<Group>
  }
}
