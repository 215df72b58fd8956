import type { Setting, Settings } from './setting.ts'
import { CHAIN_EXAMPLES, CHAINS, chainSettings, SETTLEMENTS } from './settings/chains.ts'
import { KYC } from './settings/kyc.ts'
import { KYT, ORACLE_EXAMPLE } from './settings/kyt.ts'
import { LIMITS, OPERATING, WEBHOOKS } from './settings/operating.ts'
import { CRASH_POINT, SANDBOX } from './settings/sandbox.ts'
import { FIATS, ORDERS, RATE_BASE_URLS, RATES } from './settings/selling.ts'
import { MAIL, PEOPLE, RETENTION, SERVICE, SUPER_ADMIN } from './settings/service.ts'
import { TRACING } from './settings/tracing.ts'

export type Topic = { title: string; note?: string; settings: readonly Setting[] }

const topic = (title: string, groups: readonly Settings[], note?: string): Topic => ({
  title,
  settings: groups.flatMap((group) => Object.values(group)),
  ...(note !== undefined && { note }),
})

/** Every variable that Comptoir reads, besides those of the payment channels (`channels/kinds.ts`). */
export const TOPICS: readonly Topic[] = [
  topic('The service', [SERVICE, RETENTION]),
  topic('Operating', [OPERATING]),
  topic('Traces (OpenTelemetry), off unless a collector is set', [TRACING]),
  topic('People and mail', [PEOPLE, SUPER_ADMIN, MAIL]),
  topic('Orders and rates', [{ FIATS }, ORDERS, RATES, RATE_BASE_URLS]),
  topic('Webhooks', [WEBHOOKS]),
  topic('Limits: requests a minute, 0 is off', [LIMITS]),
  topic('Chains', [CHAINS, CHAIN_EXAMPLES], 'One group for each chain, by chain id; 8453 is Base.'),
  topic('Settlements', [SETTLEMENTS]),
  topic('Identity checks of payers (docs/kyc.md)', [KYC], 'Give all of KYC_SUMSUB_BASE_URL, _APP_TOKEN, … or none.'),
  topic(
    'Screening of addresses (docs/screening.md)',
    [KYT, ORACLE_EXAMPLE],
    'Each source that is set is asked; the worst answer counts.',
  ),
  topic('Sandbox', [SANDBOX, { CRASH_POINT }]),
]

/** The name of the settings file, and variables of other programs: the developer commands and the shop modules. */
const ELSEWHERE = ['COMPTOIR_ENV_FILE', 'COMPTOIR_URL', 'COMPTOIR_API_KEY', 'COMPTOIR_API_SECRET']
const CHAIN_NAMES = Object.values(chainSettings('0')).map(({ name }) => name.slice('CHAIN_0_'.length))

const SECRET_NAMES = new Set(
  TOPICS.flatMap(({ settings }) => settings.filter(({ secret }) => secret).map(({ name }) => name)),
)
const isGroup = (name: string): boolean => /^(CHANNEL|CHAIN|KYC|KYT)_/.test(name)

/**
 * The variable that `<NAME>_FILE` stands for; undefined if this is no such variable (the deny list is itself a file).
 */
export function nameOfFile(variable: string): string | undefined {
  if (variable === KYT.denyListFile.name) return undefined
  const name = /^(.+)_FILE$/.exec(variable)?.[1]
  return name !== undefined && (isGroup(name) || SECRET_NAMES.has(name)) ? name : undefined
}

/** Names with these prefixes are ours, so an unknown one is a mistake. */
const PREFIXES = new RegExp(
  `^(${[
    ...['ACCEPT_', 'AUDIT_', 'BACKUP_', 'CHAIN_', 'CHANNEL_', 'COMPTOIR_', 'KYC_', 'KYT_', 'LIMIT_', 'MASTER_KEY'],
    ...['METRICS_', 'ORDER_', 'PAYER_', 'RATE_', 'SANDBOX_', 'SETTLEMENT_', 'SUPER_ADMIN_', 'WEBHOOK_'],
  ].join('|')})`,
)
/** Set by Kubernetes and by container links for a neighbouring service with such a name. */
const OF_A_PLATFORM = /_(SERVICE_HOST|SERVICE_PORT\w*|PORT_\d+_\w+)$/

/** Number of letters to change, add or remove to turn one word into the other (Levenshtein). */
function distance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index)
  for (const [i, letter] of [...left].entries()) {
    const next = [i + 1]
    for (const [j, other] of [...right].entries()) {
      const replaced = (row[j] ?? 0) + (letter === other ? 0 : 1)
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1))
    }
    row = next
  }
  return row[right.length] ?? 0
}

/**
 * Variables that look like ours but that nothing reads, one line each.
 * @param channelNames the variables of the payment channels
 */
export function findUnknownVariables(
  env: Readonly<Record<string, string | undefined>>,
  channelNames: readonly string[],
): string[] {
  const own = TOPICS.flatMap(({ settings }) => settings.map(({ name }) => name))
  const names = Object.keys(env)
  const ids = new Set(names.flatMap((name) => /^CHAIN_(\d+)_/.exec(name)?.[1] ?? []))
  const chains = [...ids].flatMap((id) => CHAIN_NAMES.map((name) => `CHAIN_${id}_${name}`))
  const known = new Set([...own, ...chains, ...channelNames, ...ELSEWHERE])
  const isKnown = (name: string): boolean =>
    /^KYT_ORACLE_\d+$/.test(name) || known.has(name) || known.has(nameOfFile(name) ?? '')
  // the distance of two words is at least their difference in length
  const nearest = (name: string, most: number): [string, number] | undefined =>
    [...known]
      .filter((other) => Math.abs(other.length - name.length) <= most)
      .map((other): [string, number] => [other, distance(name, other)])
      .sort((a, b) => a[1] - b[1])
      .find(([, letters]) => letters <= most)
  return names
    .filter((name) => !isKnown(name) && !OF_A_PLATFORM.test(name))
    .flatMap((name) => {
      const isOurs = PREFIXES.test(name)
      // another program's variable may be similar by chance; a difference of one letter in a long name is unlikely
      if (!isOurs && name.length < 8) return []
      const [guess] = nearest(name, isOurs ? 3 : 1) ?? []
      if (!isOurs && guess === undefined) return []
      return [`${name}: no such variable${guess === undefined ? '' : `; did you mean ${guess}?`}`]
    })
    .sort()
}

/** Every single variable; those of chains, channels and rate sources come in groups. */
export const settingNames = (): Set<string> =>
  new Set(TOPICS.flatMap(({ settings }) => settings.map(({ name }) => name)))
