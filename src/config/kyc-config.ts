/** Settings for Sumsub; see docs/kyc.md. */
export type SumsubConfig = {
  /** Everything before `/resources/…`. */
  baseUrl: string
  appToken: string
  secretKey: string
  /** For callbacks; not the secret for requests. */
  webhookSecret: string
  /** Level names as configured at Sumsub. */
  level: string
  eddLevel: string
  /** URL of the WebSDK's script. */
  sdkUrl: string
}

/** Who checks payers: a person in the back office, or Sumsub. */
export type KycConfig = { provider: 'manual' } | { provider: 'sumsub'; sumsub: SumsubConfig }

const GROUP = ['KYC_SUMSUB_BASE_URL', 'KYC_SUMSUB_APP_TOKEN', 'KYC_SUMSUB_SECRET_KEY', 'KYC_SUMSUB_WEBHOOK_SECRET']
const SDK_URL = 'https://static.sumsub.com/idensic/static/sns-websdk-builder.js'

function readUrl(name: string, text: string, live: boolean, faults: string[]): string {
  const allowed = live ? ['https:'] : ['http:', 'https:']
  if (!URL.canParse(text) || !allowed.includes(new URL(text).protocol))
    faults.push(`${name}: must be a URL that starts with ${allowed.join(' or ')}//, not "${text}"`)
  return text.replace(/\/+$/, '')
}

/**
 * Reads `KYC_…`. @param values the provider variables of the environment @param faults receives one line per wrong or
 * missing value
 */
export function readKyc(values: Readonly<Record<string, string>>, live: boolean, faults: string[]): KycConfig {
  const given = GROUP.filter((name) => values[name] !== undefined)
  const chosen = values.KYC_PROVIDER ?? (given.length > 0 ? 'sumsub' : 'manual')
  if (chosen !== 'manual' && chosen !== 'sumsub')
    faults.push(`KYC_PROVIDER: choose from manual, sumsub; "${chosen}" is not one of them`)
  if (given.length < GROUP.length && (given.length > 0 || chosen === 'sumsub')) {
    faults.push(
      `${GROUP.filter((name) => !given.includes(name)).join(', ')}: missing; give all of KYC_SUMSUB_… or none`,
    )
    return { provider: 'manual' }
  }
  if (chosen !== 'sumsub') return { provider: 'manual' }
  const [baseName = '', tokenName = '', secretName = '', webhookName = ''] = GROUP
  const appToken = values[tokenName] ?? ''
  if (live && appToken.startsWith('sbx:'))
    faults.push(`${tokenName}: live mode needs a token that is not of the sandbox`)
  const sumsub = {
    baseUrl: readUrl(baseName, values[baseName] ?? '', live, faults),
    appToken,
    secretKey: values[secretName] ?? '',
    webhookSecret: values[webhookName] ?? '',
    level: values.KYC_SUMSUB_LEVEL ?? 'basic-kyc-level',
    eddLevel: values.KYC_SUMSUB_EDD_LEVEL ?? 'enhanced-kyc-level',
    sdkUrl: readUrl('KYC_SUMSUB_SDK_URL', values.KYC_SUMSUB_SDK_URL ?? SDK_URL, live, faults),
  }
  if (sumsub.level === sumsub.eddLevel)
    faults.push(
      'KYC_SUMSUB_LEVEL and KYC_SUMSUB_EDD_LEVEL: must differ, or the result of a check cannot be assigned to its level',
    )
  return { provider: 'sumsub', sumsub }
}
