import { readFileSync } from 'node:fs'
import { EXPORT_HINT } from '../kernel/xpub.ts'
import { nameOfFile } from './all-settings.ts'
import { type KycConfig, readKyc } from './kyc-config.ts'
import { checkOracles, type KytConfig, readKyt } from './kyt-config.ts'
import { Reader, type ValuesOf } from './setting.ts'
import { CHAINS, chainSettings, SETTLEMENTS } from './settings/chains.ts'
import { LIMITS, OPERATING, WEBHOOKS } from './settings/operating.ts'
import { CRASH_POINT, SANDBOX } from './settings/sandbox.ts'
import { FIATS, ORDERS, RATE_BASE_URLS, RATES } from './settings/selling.ts'
import { BASE_URL, MAIL, MODE, PEOPLE, PORT, RETENTION, SERVICE, SUPER_ADMIN } from './settings/service.ts'
import { TRACING } from './settings/tracing.ts'

export type { Mode } from './setting.ts'
export type Role = 'api' | 'worker'

/** One EVM chain, enabled by `CHAIN_<id>_RPC_URL`. */
type ChainValues = ValuesOf<ReturnType<typeof chainSettings>>
/** `rpcUrls` are queried; `headUrls` (WebSocket) only announce new blocks. */
export type ChainConfig = Omit<ChainValues, 'nodes'> & { chainId: number; rpcUrls: string[]; headUrls: string[] }

export type Config = ValuesOf<typeof SERVICE> &
  ValuesOf<typeof PEOPLE> &
  ValuesOf<typeof RETENTION> &
  ValuesOf<typeof OPERATING> &
  ValuesOf<typeof CHAINS> & {
    fiatAssets: ValuesOf<{ fiats: typeof FIATS }>['fiats']
    rates: ValuesOf<typeof RATES> & { baseUrls: Record<string, string>; fixed: Record<string, string> }
    webhooks: ValuesOf<typeof WEBHOOKS>
    limits: ValuesOf<typeof LIMITS>
    orders: ValuesOf<typeof ORDERS>
    mail: ValuesOf<typeof MAIL>
    settlements: ValuesOf<typeof SETTLEMENTS>
    chains: ChainConfig[]
    /** Identity checks of payers. */
    kyc: KycConfig
    /** Screening of addresses. */
    kyt: KytConfig
    sandbox: ValuesOf<typeof SANDBOX>
    tracing: ValuesOf<typeof TRACING>
    superAdmin: { email: string; password: string } | null
    /** For crash tests: where this process dies. Sandbox only. */
    crashPoint: string | null
    /** Variables for providers, which each channel reads: `CHANNEL_…`, `KYC_…`, `KYT_…`. */
    provider: Readonly<Record<string, string>>
  }

/** A chain without any settings: the sandbox's own, before it has a URL. */
export const NO_CHAIN: Omit<ChainConfig, 'chainId'> = {
  ...{
    rpcUrls: [],
    headUrls: [],
    usdcAddress: null,
    otherTokens: [],
    xpub: null,
    confirmations: null,
    web3signerUrl: null,
  },
  ...{ walletMinUnits: null, maxFeeGwei: null, explorerUrl: null },
  ...{ refundKey: null, refundPassword: null, refundAddress: null },
  ...{ relayerKey: null, relayerPassword: null, relayerAddress: null, relayMinUnits: null },
}

/** All faults of the environment, one line each. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly faults: string[]
  constructor(faults: string[]) {
    super(faults.join('\n'))
    this.faults = faults
  }
}

export type Env = Readonly<Record<string, string | undefined>>

/** A value `NAME_FILE` is read from that file, so that secrets need not be in the environment. */
function resolveFiles(env: Env, faults: string[]): Record<string, string> {
  const values: Record<string, string> = {}
  for (const [name, value] of Object.entries(env)) if (value !== undefined && value !== '') values[name] = value
  for (const [variable, path] of Object.entries(values)) {
    const name = nameOfFile(variable)
    if (name === undefined) continue
    try {
      values[name] = readFileSync(path, 'utf8').trim()
    } catch {
      faults.push(`${variable}: cannot read the file ${path}`)
    }
  }
  return values
}

/** Contradictions among the settings of a chain's signers. */
function findSignerFaults(prefix: string, chain: Omit<ChainValues, 'nodes'>): string[] {
  const roles = [
    { role: 'REFUND', key: chain.refundKey, password: chain.refundPassword, address: chain.refundAddress },
    { role: 'RELAYER', key: chain.relayerKey, password: chain.relayerPassword, address: chain.relayerAddress },
  ]
  const faults = roles.flatMap(({ role, key, password, address }) => {
    const name = prefix + role
    const isKeystore = key?.trimStart().startsWith('{') ?? false
    if (key !== null && address !== null) return [`${name}_KEY and ${name}_ADDRESS: give one of them`]
    if (isKeystore && password === null) return [`${name}_PASSWORD: missing; the keystore needs it`]
    if (!isKeystore && password !== null) return [`${name}_PASSWORD: there is no keystore that it opens`]
    if (address !== null && chain.web3signerUrl === null)
      return [`${name}_ADDRESS: ${prefix}WEB3SIGNER_URL is missing, which has the key`]
    return []
  })
  const [pays, relays] = roles.map(({ key, address }) => key !== null || address !== null)
  if (pays && !relays)
    faults.push(`${prefix}RELAYER_KEY: missing; the wallet that pays needs one that pays for gas (docs/signers.md)`)
  if (chain.web3signerUrl !== null && chain.refundAddress === null && chain.relayerAddress === null)
    faults.push(`${prefix}WEB3SIGNER_URL: name whose keys it has: ${prefix}REFUND_ADDRESS, ${prefix}RELAYER_ADDRESS`)
  return faults
}

function readChains(reader: Reader): ChainConfig[] {
  const ids = Object.keys(reader.values).flatMap((name) => /^CHAIN_(\d+)_RPC_URL$/.exec(name)?.[1] ?? [])
  return ids.map((id) => {
    const { nodes, ...chain } = reader.group(chainSettings(id))
    reader.faults.push(...findSignerFaults(`CHAIN_${id}_`, chain))
    const name = `CHAIN_${id}_XPUB`
    // the sandbox's own chain derives one from the master key; a malformed one is already reported
    const isOwn = reader.known.mode === 'sandbox' && id === '31337'
    if (reader.values[name] === undefined && !isOwn)
      reader.faults.push(`${name}: missing. Without it chain ${id} has no deposit addresses. ${EXPORT_HINT}`)
    return { ...chain, chainId: Number(id), rpcUrls: nodes.http, headUrls: nodes.heads }
  })
}

/** Sandbox only: units of USDC for one unit of each currency. */
const SANDBOX_RATES = { EUR: '1.08', CHF: '1.12', XPF: '0.00905', USD: '1', GBP: '1.27' }

function readRates(reader: Reader): Config['rates'] {
  const rates = reader.group(RATES)
  if (reader.known.mode === 'live' && rates.sources.includes('fixed'))
    reader.faults.push('RATE_SOURCES: "fixed" is for the sandbox; live mode needs real sources')
  if (rates.sources.length < rates.minSources)
    reader.faults.push(
      `RATE_SOURCES: names ${rates.sources.length}, and RATE_MIN_SOURCES wants ${rates.minSources}, so no order could ` +
        'be priced; name more, each once',
    )
  const given = Object.entries(reader.group(RATE_BASE_URLS))
  const baseUrls = Object.fromEntries(given.filter((entry): entry is [string, string] => entry[1] !== null))
  return { ...rates, baseUrls, fixed: SANDBOX_RATES }
}

/** A pooler in transaction mode would leave the lock of migrations to whoever has the connection next. */
function checkDirect({ databaseUrl, databasePrepared, databaseDirectUrl }: Config, faults: string[]): void {
  if (databaseUrl !== null && !databasePrepared && databaseDirectUrl === null)
    faults.push(
      'DATABASE_DIRECT_URL: missing. With DATABASE_PREPARED=false migrations need the address of the database itself, ' +
        'past PgBouncer; without a pooler that of DATABASE_URL',
    )
}

function readSuperAdmin(reader: Reader): Config['superAdmin'] {
  const { email, password } = reader.group(SUPER_ADMIN)
  if ((email === null) !== (password === null))
    reader.faults.push('SUPER_ADMIN_EMAIL and SUPER_ADMIN_PASSWORD: give both or neither')
  return email !== null && password !== null ? { email, password } : null
}

/** Faults that live mode refuses regardless of accepted risks. */
function checkLive(config: Config, faults: string[]): void {
  if (config.masterKey === null)
    faults.push('MASTER_KEY: required in live mode: 32 random bytes in base64 (openssl rand -base64 32)')
  for (const [name, url] of [
    ['BASE_URL', config.baseUrl],
    ['PAY_URL', config.payUrl],
    ['OFFICE_URL', config.officeUrl],
  ] as const) {
    if (!url.startsWith('https://')) faults.push(`${name}: live mode needs an https:// address, not "${url}"`)
  }
  if (config.webhooks.allowHttp) faults.push('WEBHOOK_ALLOW_HTTP: not allowed in live mode')
}

/** The configuration and all its faults; an invalid value is replaced by the default. */
export function readConfig(env: Env): { config: Config; faults: string[] } {
  const faults: string[] = []
  const reader = new Reader(resolveFiles(env, faults), faults, { mode: 'sandbox', port: 0, baseUrl: '' })
  const mode = reader.one(MODE)
  const port = reader.one(PORT)
  reader.known = { mode, port, baseUrl: '' }
  reader.known = { mode, port, baseUrl: reader.one(BASE_URL) }
  // the three above are read again with their group, which repeats their faults
  faults.length = 0
  const values = resolveFiles(env, faults)
  const provider = Object.fromEntries(Object.entries(values).filter(([name]) => /^(CHANNEL|KYC|KYT)_/.test(name)))
  const config: Config = {
    ...reader.group(SERVICE),
    ...reader.group(PEOPLE),
    ...reader.group(RETENTION),
    ...reader.group(OPERATING),
    ...reader.group(CHAINS),
    fiatAssets: reader.one(FIATS),
    rates: readRates(reader),
    webhooks: reader.group(WEBHOOKS),
    limits: reader.group(LIMITS),
    orders: reader.group(ORDERS),
    mail: reader.group(MAIL),
    settlements: reader.group(SETTLEMENTS),
    chains: readChains(reader),
    kyc: readKyc(provider, mode === 'live', faults),
    kyt: readKyt(reader),
    sandbox: reader.group(SANDBOX),
    tracing: reader.group(TRACING),
    superAdmin: readSuperAdmin(reader),
    crashPoint: mode === 'sandbox' ? reader.one(CRASH_POINT) : null,
    provider,
  }
  checkDirect(config, faults)
  checkOracles(config.kyt, config.chains, { mode, faults })
  if (mode === 'live') checkLive(config, faults)
  return { config, faults }
}

/**
 * Reads the whole configuration from the environment alone.
 * @throws ConfigError with one line per wrong or missing value
 */
export function loadConfig(env: Env): Config {
  const { config, faults } = readConfig(env)
  if (faults.length > 0) throw new ConfigError(faults)
  return config
}
