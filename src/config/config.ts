import { readFileSync } from 'node:fs'
import { EXPONENTS, type Fiat } from '../kernel/money.ts'
import { type KycConfig, readKyc } from './kyc-config.ts'

export type Mode = 'sandbox' | 'live'
export type Role = 'api' | 'worker'

/** One EVM chain that the operator enabled with `CHAIN_<id>_RPC_URL`. */
export type ChainConfig = {
  chainId: number
  rpcUrl: string
  usdcAddress: string | null
  /** Tokens beside USDC whose arrival is noticed, so that a payer's mistake can be put right. */
  otherTokens: { symbol: string; address: string }[]
  xpub: string | null
  confirmations: number | null
  /** The wallet that pays refunds and settlements; null: a person does. */
  refundKey: string | null
  /** Pays for gas. */
  relayerKey: string | null
}

export type Config = {
  mode: Mode
  roles: Role[]
  host: string
  port: number
  baseUrl: string
  payUrl: string
  officeUrl: string
  dataDir: string
  databaseUrl: string | null
  /** 32 bytes; null means: made and kept in the data directory (sandbox only). */
  masterKey: Buffer | null
  /** Older master keys: they only open, so that what they sealed can be sealed again while the service runs. */
  previousMasterKeys: Buffer[]
  /** Who paid is erased after this many days without a change. */
  payerRetentionDays: number
  /** What was said to payment providers is kept for support so many days. */
  exchangeRetentionDays: number
  logLevel: string
  trustProxy: string[]
  corsOrigins: string[]
  autoApprove: boolean
  fiatAssets: Fiat[]
  rates: {
    sources: string[]
    baseUrls: Record<string, string>
    fixed: Record<string, string>
    maxAgeSeconds: number
    minSources: number
    maxDeviationPercent: number
  }
  webhooks: { allowedRanges: string[]; allowHttp: boolean }
  limits: { accountPerMinute: number; addressPerMinute: number; publicPerMinute: number; companyPerMinute: number }
  orders: { expiryMinutes: number; chainExpiryMinutes: number }
  mail: { smtpUrl: string | null; from: string }
  /** On every chain: a transfer of less, in USDC units, moves no order. */
  chainDustUnits: bigint
  /** Receives alarms; null: every SuperAdmin does. */
  operatorEmail: string | null
  chains: ChainConfig[]
  /** Who checks payers. */
  kyc: KycConfig
  /** `providersUrl`: a sandbox that runs elsewhere; this process then starts none. */
  sandbox: { port: number; chainPort: number; providersUrl: string | null }
  /** One password a line that nobody may choose, beside our own rules; null: none. */
  passwordListFile: string | null
  superAdmin: { email: string; password: string } | null
  /** Tests of what a crash leaves behind: where this process dies. Sandbox only. */
  crashPoint: string | null
  /** Everything else that providers need, read by each channel: `CHANNEL_…`, `KYC_…`, `KYT_…`. */
  provider: Readonly<Record<string, string>>
}

/** All faults of the environment at once, one line each. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly faults: string[]
  constructor(faults: string[]) {
    super(faults.join('\n'))
    this.faults = faults
  }
}

type Env = Readonly<Record<string, string | undefined>>

/** Values of `NAME_FILE` are read from that file, so that secrets need not stand in the environment. */
function resolveFiles(env: Env, faults: string[]): Record<string, string> {
  const values: Record<string, string> = {}
  for (const [name, value] of Object.entries(env)) if (value !== undefined && value !== '') values[name] = value
  for (const [name, path] of Object.entries(values)) {
    if (!/^(CHANNEL|CHAIN|KYC|KYT)_.+_FILE$|^(MASTER_KEY|DATABASE_URL|SMTP_URL|SUPER_ADMIN_PASSWORD)_FILE$/.test(name))
      continue
    try {
      values[name.slice(0, -'_FILE'.length)] = readFileSync(path, 'utf8').trim()
    } catch {
      faults.push(`${name}: cannot read the file ${path}`)
    }
  }
  return values
}

class Reader {
  readonly faults: string[]
  readonly values: Record<string, string>
  constructor(values: Record<string, string>, faults: string[]) {
    this.values = values
    this.faults = faults
  }

  text(name: string, fallback: string): string {
    return this.values[name] ?? fallback
  }

  optional(name: string): string | null {
    return this.values[name] ?? null
  }

  integer(name: string, fallback: number, min: number, max: number): number {
    const text = this.values[name]
    if (text === undefined) return fallback
    const value = Number(text)
    if (Number.isInteger(value) && value >= min && value <= max) return value
    this.faults.push(`${name}: must be a whole number from ${min} to ${max}, not "${text}"`)
    return fallback
  }

  flag(name: string, fallback: boolean): boolean {
    const text = this.values[name]
    if (text === undefined) return fallback
    if (/^(true|1|yes)$/i.test(text)) return true
    if (/^(false|0|no)$/i.test(text)) return false
    this.faults.push(`${name}: must be true or false, not "${text}"`)
    return fallback
  }

  url(name: string, fallback: string, protocols = ['http:', 'https:']): string {
    const text = this.values[name] ?? fallback
    if (URL.canParse(text) && protocols.includes(new URL(text).protocol)) return text.replace(/\/+$/, '')
    this.faults.push(`${name}: must be a URL that starts with ${protocols.join(' or ')}//, not "${text}"`)
    return fallback
  }

  list(name: string, fallback: string[]): string[] {
    const text = this.values[name]
    return text === undefined
      ? fallback
      : text
          .split(',')
          .map((part) => part.trim())
          .filter(Boolean)
  }

  choices<Choice extends string>(name: string, fallback: Choice[], allowed: readonly Choice[]): Choice[] {
    const chosen = this.list(name, fallback)
    const wrong = chosen.filter((word) => !(allowed as readonly string[]).includes(word))
    if (wrong.length > 0 || chosen.length === 0) {
      this.faults.push(`${name}: choose from ${allowed.join(', ')}; "${wrong.join(', ')}" is not one of them`)
      return fallback
    }
    return chosen as Choice[]
  }
}

function readMasterKey(reader: Reader, mode: Mode): Buffer | null {
  const text = reader.optional('MASTER_KEY')
  if (text === null) {
    if (mode === 'live')
      reader.faults.push('MASTER_KEY: required in live mode: 32 random bytes in base64 (openssl rand -base64 32)')
    return null
  }
  const key = Buffer.from(text, 'base64')
  if (key.length === 32) return key
  reader.faults.push(`MASTER_KEY: must be 32 bytes in base64, got ${key.length} bytes`)
  return null
}

/** `USDT:0x…,DAI:0x…` */
function readTokens(reader: Reader, name: string): ChainConfig['otherTokens'] {
  return reader.list(name, []).flatMap((entry) => {
    const [, symbol, address] = /^([\w.]{1,20}):(0x[0-9a-fA-F]{40})$/.exec(entry) ?? []
    if (symbol !== undefined && address !== undefined) return [{ symbol, address }]
    reader.faults.push(`${name}: "${entry}" is not of the form SYMBOL:0x<40 hex digits>`)
    return []
  })
}

/** A private key: 64 hexadecimal digits, with or without 0x. It never stands in a message. */
function readKey(reader: Reader, name: string): string | null {
  const key = reader.optional(name)
  if (key !== null && !/^(0x)?[0-9a-fA-F]{64}$/.test(key))
    reader.faults.push(`${name}: must be a private key of 64 hexadecimal digits`)
  return key
}

function readPayoutKeys(reader: Reader, id: string): Pick<ChainConfig, 'refundKey' | 'relayerKey'> {
  const [refundName, relayerName] = [`CHAIN_${id}_REFUND_KEY`, `CHAIN_${id}_RELAYER_KEY`]
  const [refundKey, relayerKey] = [readKey(reader, refundName), readKey(reader, relayerName)]
  if ((refundKey === null) !== (relayerKey === null))
    reader.faults.push(`${refundName} and ${relayerName}: give both or neither`)
  return { refundKey, relayerKey }
}

function readPreviousKeys(reader: Reader): Buffer[] {
  const keys = reader.list('MASTER_KEY_PREVIOUS', []).map((text) => Buffer.from(text, 'base64'))
  if (keys.some((key) => key.length !== 32)) reader.faults.push('MASTER_KEY_PREVIOUS: each must be 32 bytes in base64')
  return keys.filter((key) => key.length === 32)
}

function readChains(reader: Reader): ChainConfig[] {
  const ids = Object.keys(reader.values).flatMap((name) => /^CHAIN_(\d+)_RPC_URL$/.exec(name)?.[1] ?? [])
  return ids.map((id) => ({
    chainId: Number(id),
    rpcUrl: reader.url(`CHAIN_${id}_RPC_URL`, ''),
    usdcAddress: reader.optional(`CHAIN_${id}_USDC`),
    otherTokens: readTokens(reader, `CHAIN_${id}_OTHER_TOKENS`),
    xpub: reader.optional(`CHAIN_${id}_XPUB`),
    confirmations:
      reader.optional(`CHAIN_${id}_CONFIRMATIONS`) === null
        ? null
        : reader.integer(`CHAIN_${id}_CONFIRMATIONS`, 1, 1, 10_000),
    ...readPayoutKeys(reader, id),
  }))
}

const RATE_SOURCES = ['kraken', 'coinbase', 'binance', 'bitstamp', 'coingecko', 'ecb', 'fixed'] as const

/** Sandbox only: units of USDC for one unit of each currency. */
const SANDBOX_RATES = { EUR: '1.08', CHF: '1.12', XPF: '0.00905', USD: '1', GBP: '1.27' }

function readRates(reader: Reader, mode: Mode): Config['rates'] {
  const sources = reader.choices(
    'RATE_SOURCES',
    mode === 'sandbox' ? ['fixed'] : ['kraken', 'coinbase', 'ecb'],
    RATE_SOURCES,
  )
  if (mode === 'live' && sources.includes('fixed'))
    reader.faults.push('RATE_SOURCES: "fixed" is for the sandbox; live mode needs real sources')
  const baseUrls: Record<string, string> = {}
  for (const source of RATE_SOURCES) {
    const name = `RATE_${source.toUpperCase()}_BASE_URL`
    if (reader.optional(name) !== null) baseUrls[source] = reader.url(name, '')
  }
  return {
    sources,
    baseUrls,
    fixed: SANDBOX_RATES,
    maxAgeSeconds: reader.integer('RATE_MAX_AGE_SECONDS', 60, 1, 86_400),
    minSources: reader.integer('RATE_MIN_SOURCES', mode === 'live' ? 2 : 1, 1, 7),
    maxDeviationPercent: reader.integer('RATE_MAX_DEVIATION_PERCENT', 2, 1, 50),
  }
}

function readLimits(reader: Reader): Config['limits'] {
  return {
    accountPerMinute: reader.integer('LIMIT_ACCOUNT_PER_MINUTE', 10, 0, 1_000_000),
    addressPerMinute: reader.integer('LIMIT_ADDRESS_PER_MINUTE', 30, 0, 1_000_000),
    publicPerMinute: reader.integer('LIMIT_PUBLIC_PER_MINUTE', 600, 0, 1_000_000),
    companyPerMinute: reader.integer('LIMIT_COMPANY_PER_MINUTE', 6000, 0, 10_000_000),
  }
}

function readSuperAdmin(reader: Reader): Config['superAdmin'] {
  const email = reader.optional('SUPER_ADMIN_EMAIL')
  const password = reader.optional('SUPER_ADMIN_PASSWORD')
  if ((email === null) !== (password === null))
    reader.faults.push('SUPER_ADMIN_EMAIL and SUPER_ADMIN_PASSWORD: give both or neither')
  return email !== null && password !== null ? { email, password } : null
}

function checkLive(config: Config, faults: string[]): void {
  for (const [name, url] of [
    ['BASE_URL', config.baseUrl],
    ['PAY_URL', config.payUrl],
    ['OFFICE_URL', config.officeUrl],
  ] as const) {
    if (!url.startsWith('https://')) faults.push(`${name}: live mode needs an https:// address, not "${url}"`)
  }
  if (config.webhooks.allowHttp) faults.push('WEBHOOK_ALLOW_HTTP: not allowed in live mode')
}

/**
 * The whole configuration, from the environment alone.
 * @throws ConfigError with one line for each wrong or missing value
 */
export function loadConfig(env: Env): Config {
  const faults: string[] = []
  const reader = new Reader(resolveFiles(env, faults), faults)
  const mode = reader.choices('MODE', ['sandbox'], ['sandbox', 'live'])[0] ?? 'sandbox'
  const sandbox = mode === 'sandbox'
  const port = reader.integer('PORT', 3000, 0, 65_535)
  const host = reader.text('HOST', sandbox ? '127.0.0.1' : '0.0.0.0')
  const baseUrl = reader.url('BASE_URL', `http://localhost:${port}`)
  const provider = Object.fromEntries(
    Object.entries(reader.values).filter(([name]) => /^(CHANNEL|KYC|KYT)_/.test(name)),
  )
  const config: Config = {
    mode,
    roles: reader.choices('ROLES', ['api', 'worker'], ['api', 'worker']),
    host,
    port,
    baseUrl,
    payUrl: reader.url('PAY_URL', baseUrl),
    officeUrl: reader.url('OFFICE_URL', `${baseUrl}/app`),
    dataDir: reader.text('DATA_DIR', './data'),
    databaseUrl:
      reader.optional('DATABASE_URL') === null ? null : reader.url('DATABASE_URL', '', ['postgres:', 'postgresql:']),
    masterKey: readMasterKey(reader, mode),
    previousMasterKeys: readPreviousKeys(reader),
    payerRetentionDays: reader.integer('PAYER_RETENTION_DAYS', 1825, 1, 36_500),
    exchangeRetentionDays: reader.integer('CHANNEL_EXCHANGE_RETENTION_DAYS', 30, 1, 3650),
    logLevel:
      reader.choices('LOG_LEVEL', ['info'], ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])[0] ??
      'info',
    trustProxy: reader.list('TRUST_PROXY', []),
    corsOrigins: reader.list('CORS_ORIGINS', []),
    autoApprove: reader.flag('AUTO_APPROVE', sandbox),
    fiatAssets: reader.choices(
      'FIAT_ASSETS',
      ['EUR', 'CHF', 'XPF', 'USD', 'GBP'],
      Object.keys(EXPONENTS).filter((asset): asset is Fiat => asset !== 'USDC'),
    ),
    rates: readRates(reader, mode),
    webhooks: {
      allowedRanges: reader.list('WEBHOOK_ALLOWED_RANGES', sandbox ? ['127.0.0.0/8', '::1/128'] : []),
      allowHttp: reader.flag('WEBHOOK_ALLOW_HTTP', sandbox),
    },
    limits: readLimits(reader),
    orders: {
      expiryMinutes: reader.integer('ORDER_EXPIRY_MINUTES', 5, 1, 44_640),
      chainExpiryMinutes: reader.integer('ORDER_CHAIN_EXPIRY_MINUTES', 15, 1, 44_640),
    },
    mail: {
      smtpUrl: reader.optional('SMTP_URL'),
      from: reader.text('MAIL_FROM', 'Comptoir <no-reply@comptoir.invalid>'),
    },
    chains: readChains(reader),
    chainDustUnits: BigInt(reader.integer('CHAIN_DUST_UNITS', 10_000, 0, 1_000_000_000)),
    operatorEmail: reader.optional('OPERATOR_EMAIL'),
    kyc: readKyc(provider, mode === 'live', faults),
    sandbox: {
      port: reader.integer('SANDBOX_PORT', 0, 0, 65_535),
      chainPort: reader.integer('CHAIN_PORT', 0, 0, 65_535),
      providersUrl: reader.optional('SANDBOX_PROVIDERS_URL') === null ? null : reader.url('SANDBOX_PROVIDERS_URL', ''),
    },
    passwordListFile: reader.optional('PASSWORD_LIST_FILE'),
    superAdmin: readSuperAdmin(reader),
    crashPoint: sandbox ? reader.optional('CRASH_POINT') : null,
    provider,
  }
  if (mode === 'live') checkLive(config, faults)
  if (faults.length > 0) throw new ConfigError(faults)
  return config
}
