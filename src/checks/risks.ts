import { SIGNER_ROLES, signerKind } from '../chain/payout/chain-signers.ts'
import { readSettings, settingsOfEnv } from '../channels/kind.ts'
import { CHANNEL_KINDS } from '../channels/kinds.ts'
import type { Config } from '../config/config.ts'
import { LIMITS } from '../config/settings/operating.ts'
import { isLoopbackHost, metricsHostOf } from '../http/health/metrics-server.ts'

/** Risks that an operator may accept in live mode, by name in ACCEPT_RISK (docs/operating.md). */
export const RISKS = [
  ...['weak-master-key', 'embedded-database', 'no-mail', 'no-channel', 'webhook-any-address', 'http-provider'],
  ...['limits-off', 'auto-approve', 'key-in-memory', 'public-metrics'],
] as const
export type Risk = { name: string; message: string; fix: string }

/** 32 random bytes have about 30 distinct values; a typed or repeated key has few. */
const MIN_DIFFERENT_BYTES = 16

const isWeak = (key: Buffer): boolean => new Set(key).size < MIN_DIFFERENT_BYTES

/** A range that spans whole networks: it includes everything private. */
function reachesAnything(range: string): boolean {
  const [address = '', bits = ''] = range.split('/')
  return Number(bits || (address.includes(':') ? 128 : 32)) < (address.includes(':') ? 16 : 8)
}

const isLoopback = (url: string): boolean =>
  URL.canParse(url) && /^(localhost|127\.|\[::1\])/.test(new URL(url).hostname)

/** Variables with an unencrypted URL. A chain's node on this machine needs no TLS. */
function plainAddresses({ provider, rates, chains, backupS3Endpoint: store }: Config): string[] {
  const providers = Object.entries(provider).filter(([name, url]) => /_URL$/.test(name) && url.startsWith('http://'))
  const sources = Object.entries(rates.baseUrls).filter(([, url]) => url.startsWith('http://'))
  const nodes = chains.filter(({ rpcUrls, headUrls }) =>
    [...rpcUrls, ...headUrls].some((url) => /^(http|ws):/.test(url) && !isLoopback(url)),
  )
  const signers = chains.filter(({ web3signerUrl: url }) => url?.startsWith('http://') && !isLoopback(url))
  return [
    ...(store?.startsWith('http://') && !isLoopback(store) ? ['BACKUP_S3_ENDPOINT'] : []),
    ...signers.map(({ chainId }) => `CHAIN_${chainId}_WEB3SIGNER_URL`),
    ...providers.map(([name]) => name),
    ...sources.map(([source]) => `RATE_${source.toUpperCase()}_BASE_URL`),
    ...nodes.map(({ chainId }) => `CHAIN_${chainId}_RPC_URL`),
  ]
}

/** Whether anything can be paid at all: through a provider, or a chain. */
function hasChannel({ provider, chains }: Config): boolean {
  const isSet = CHANNEL_KINDS.some((kind) => readSettings(kind, settingsOfEnv(kind, provider)).outcome === 'set')
  return isSet || chains.some(({ xpub }) => xpub !== null)
}

const PASSWORD_LIMITS = [LIMITS.accountPerMinute, LIMITS.addressPerMinute].map(({ name }) => name)

/** Variables that switch a limit off. */
const limitsOff = ({ limits }: Config): string[] =>
  Object.entries(LIMITS).flatMap(([key, { name }]) => (limits[key as keyof typeof LIMITS] === 0 ? [name] : []))

/** Without a token: on the port of the API, or on one that others reach. */
const isMetricsOpen = (config: Config): boolean =>
  config.metricsToken === null && (config.metricsPort === null || !isLoopbackHost(metricsHostOf(config)))

type Found = [string, Risk | null]

const when = (found: boolean, name: (typeof RISKS)[number], message: string, fix: string): Found => [
  name,
  found ? { name, message, fix } : null,
]

/** Risks inside this installation: key, database, accounts, limits. */
function ownRisks(config: Config): Found[] {
  const off = limitsOff(config)
  const danger = off.some((name) => PASSWORD_LIMITS.includes(name))
    ? 'Passwords can be guessed without limit.'
    : 'One caller can use up what all share.'
  return [
    when(
      config.masterKey !== null && isWeak(config.masterKey),
      'weak-master-key',
      'MASTER_KEY is not random; anyone who guesses it can read every secret.',
      'Generate one: openssl rand -base64 32',
    ),
    when(
      config.databaseUrl === null && config.backupTo === null,
      'embedded-database',
      'The database is the embedded one, and no backup is set.',
      'Set BACKUP_TO, or DATABASE_URL of a server that is backed up.',
    ),
    when(off.length > 0, 'limits-off', `No limit: ${off.join(', ')}. ${danger}`, 'Remove them to use the defaults.'),
    when(
      config.autoApprove,
      'auto-approve',
      'AUTO_APPROVE is on: anyone who registers can sell at once, with an unverified address.',
      'Remove AUTO_APPROVE.',
    ),
    when(
      isMetricsOpen(config),
      'public-metrics',
      'Anyone can read /metrics: turnover, customers, errors.',
      'Set METRICS_TOKEN, or METRICS_PORT, which without a token listens on this machine only.',
    ),
  ]
}

/** Risks that involve others: mail, channels, addresses, chains. */
function outerRisks(config: Config): Found[] {
  const plain = plainAddresses(config)
  const ranges = config.webhooks.allowedRanges.filter(reachesAnything)
  const keys = config.chains.flatMap((chain) =>
    SIGNER_ROLES.filter((role) => signerKind(chain, role) === 'key').map(
      (role) => `CHAIN_${chain.chainId}_${role.toUpperCase()}_KEY`,
    ),
  )
  return [
    when(
      config.mail.smtpUrl === null,
      'no-mail',
      'No mail can be sent: codes for logging in come from `comptoir admin login-code` only; refund questions and alarms stay here.',
      'Set SMTP_URL.',
    ),
    when(
      !hasChannel(config),
      'no-channel',
      'There is no way to pay: no payment channel and no chain is set up.',
      'Set the variables of a channel (docs/channels/settings.md), or CHAIN_<id>_RPC_URL and CHAIN_<id>_XPUB.',
    ),
    when(
      ranges.length > 0,
      'webhook-any-address',
      `WEBHOOK_ALLOWED_RANGES holds ${ranges.join(', ')}: merchants could reach your own network.`,
      'Name only the networks that shops run in.',
    ),
    when(
      plain.length > 0,
      'http-provider',
      `Not encrypted: ${plain.join(', ')}. Anyone on the network path can change answers about money.`,
      'Use https:// addresses.',
    ),
    when(
      keys.length > 0,
      'key-in-memory',
      `${keys.join(', ')}: a bare private key is kept in the environment and in the memory of this process.`,
      'Use an encrypted keystore or Web3Signer (docs/signers.md).',
    ),
  ]
}

/** Every risk with its cause and fix; null if it is not taken. */
export const findRisks = (config: Config): Record<string, Risk | null> =>
  Object.fromEntries([...ownRisks(config), ...outerRisks(config)])
