import { isIP, isIPv4 } from 'node:net'
import { MAX_PROCESSES } from '../process-count.ts'
import {
  choice,
  choices,
  flag,
  integer,
  list,
  optional,
  origin,
  type Setting,
  SettingFault,
  text,
  url,
} from '../setting.ts'
import { databaseUrl } from './database.ts'

const readKey = (given: string): Buffer => {
  const key = Buffer.from(given, 'base64')
  if (key.length === 32) return key
  throw new SettingFault(`must be 32 bytes in base64, got ${key.length} bytes`)
}

const masterKey: Setting<Buffer | null> = {
  name: 'MASTER_KEY',
  description:
    '32 random bytes in base64 (openssl rand -base64 32). Required in live mode; all nodes on one database share it.',
  ...{ fallback: null, absent: null, secret: true, read: readKey },
}

const previousMasterKeys: Setting<Buffer[]> = {
  name: 'MASTER_KEY_PREVIOUS',
  description: 'Comma list of older master keys. They only open; the service seals their values again while it runs.',
  ...{ fallback: null, absent: [], secret: true },
  read: (given) => given.split(',').map((part) => readKey(part.trim())),
}

export const MODE = choice('MODE', 'sandbox: no real money. live: refuses to start with unsafe settings.', {
  fallback: 'sandbox',
  of: ['sandbox', 'live'],
})
export const PORT = integer('PORT', 'Port of the API and the pages; 0 picks a free one.', {
  ...{ fallback: '3000', min: 0, max: 65_535 },
})
export const BASE_URL = origin(
  'BASE_URL',
  'Address of the API as its callers see it, without a path; https in live mode.',
  {
    ...{ from: ({ port }) => `http://localhost:${port}`, shown: 'http://localhost:3000' },
  },
)

/** A machine without a host name has no mail domain (RFC 2606). @param baseUrl empty if it was invalid */
function mailDomainOf(baseUrl: string): string {
  const hostname = URL.canParse(baseUrl) ? new URL(baseUrl).hostname : 'localhost'
  return /^(localhost|[\d.]+|\[.+\])$/.test(hostname) ? 'comptoir.invalid' : hostname
}

const processes: Setting<number | 'auto'> = {
  name: 'PROCESSES',
  description:
    'auto (one more than cores, 3 to 64) or a number: processes under a parent that replaces those that die, and reloads by SIGHUP.',
  ...{ fallback: '1', absent: 1 },
  read(given) {
    const count = Number(given)
    if (given === 'auto') return given
    if (Number.isInteger(count) && count >= 1 && count <= MAX_PROCESSES) return count
    throw new SettingFault(`must be auto or a whole number from 1 to ${MAX_PROCESSES}, not "${given}"`)
  },
}

/** Ranges that Fastify knows by name (npmjs.com/package/@fastify/proxy-addr). */
const NAMED_RANGES = ['loopback', 'linklocal', 'uniquelocal']
/** The widest private networks are 10.0.0.0/8 and fc00::/7 (RFC 1918, RFC 4193); no proxy's own is wider. */
const WIDEST = { 4: 8, 6: 7 }
/** An IPv4 address as IPv6, as a URL writes it. A range of these holds IPv4 addresses from the 96th bit on. */
const MAPPED = /^\[::ffff:[^:]+:[^:]+\]$/

/** Reads a prefix length, or a netmask such as 255.255.0.0. Undefined if it is neither. */
function readPrefix(text: string, isNetmask: boolean): number | undefined {
  if (/^\d+$/.test(text)) return Number(text)
  if (!isNetmask) return undefined
  const bits = text.split('.').map((part) => Number(part).toString(2).padStart(8, '0'))
  return /^(1*)0*$/.exec(bits.join(''))?.[1]?.length
}

/** Fastify refuses what is no address only after the migrations, and without the setting's name. */
function refuseProxy(written: string): void {
  if (NAMED_RANGES.includes(written)) return
  const [address = '', prefix, ...more] = written.split('/')
  const family = isIP(address)
  const bits = family === 6 ? 128 : 32
  const length = prefix === undefined ? bits : readPrefix(prefix, family === 4 && isIPv4(prefix))
  if (family === 0 || length === undefined || length > bits || more.length > 0)
    throw new SettingFault(`"${written}" is no address or range. Give the proxy's, such as 127.0.0.1 or 10.0.0.0/8`)
  const isMapped = family === 6 && MAPPED.test(new URL(`http://[${address.split('%')[0]}]`).hostname)
  const widest = isMapped ? 96 + WIDEST[4] : WIDEST[family === 6 ? 6 : 4]
  if (length < widest)
    throw new SettingFault(
      `"${written}" trusts everyone, so that any caller could claim any address. Name the proxy's own`,
    )
}

const forwarders = list('TRUST_PROXY', 'Addresses of the proxies whose X-Forwarded-For counts.', null, {
  example: '10.0.0.1',
})
const trustProxy: Setting<string[]> = {
  ...forwarders,
  read(given) {
    const proxies = forwarders.read(given)
    for (const proxy of proxies) refuseProxy(proxy)
    return proxies
  },
}

/** The process's roles, its addresses, and its data directory. */
export const SERVICE = {
  mode: MODE,
  roles: choices('ROLES', 'What this process runs: any subset of api,worker.', {
    ...{ fallback: 'api,worker', of: ['api', 'worker'] as const },
  }),
  processes,
  host: text('HOST', 'Address to listen on. A proxy in front does TLS; 0.0.0.0 where it runs elsewhere.', '127.0.0.1'),
  port: PORT,
  baseUrl: BASE_URL,
  payUrl: url('PAY_URL', 'Address of the pay page. Default: BASE_URL.', {
    ...{ from: ({ baseUrl }) => baseUrl, shown: '' },
  }),
  officeUrl: url('OFFICE_URL', 'Address of the back office. Default: BASE_URL/app.', {
    ...{ from: ({ baseUrl }) => `${baseUrl}/app`, shown: '' },
  }),
  dataDir: text('DATA_DIR', 'Folder of the embedded database, the sandbox chain and the sandbox keys.', './data'),
  databaseUrl: databaseUrl(
    'DATABASE_URL',
    'PostgreSQL 14 or newer; ?sslmode=verify-full encrypts. Without it Comptoir runs its own in DATA_DIR.',
    'postgres://user:password@host:5432/comptoir',
  ),
  databasePrepared: flag(
    'DATABASE_PREPARED',
    'false behind PgBouncer in transaction mode, where a prepared statement may be asked for on another connection.',
    'true',
  ),
  databaseReplicaUrl: databaseUrl(
    'DATABASE_REPLICA_URL',
    'A streaming replica of DATABASE_URL. Lists, downloads and statistics read there while it keeps up.',
  ),
  databaseReplicaMaxLagSeconds: integer(
    'DATABASE_REPLICA_MAX_LAG_SECONDS',
    'A replica that is further behind is not read.',
    { fallback: '5', min: 1, max: 300 },
  ),
  databaseDirectUrl: databaseUrl('DATABASE_DIRECT_URL', 'For migrations, past PgBouncer. Default: DATABASE_URL.'),
  masterKey,
  previousMasterKeys,
  logLevel: choice('LOG_LEVEL', 'trace, debug, info, warn, error, fatal or silent.', {
    ...{ fallback: 'info', of: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const },
  }),
  trustProxy,
  corsOrigins: list(
    'CORS_ORIGINS',
    'Websites whose scripts may call the API. Login, refresh and sign-out also need the service’s own site, or a ' +
      'subdomain of it.',
    null,
    { example: 'https://shop.example' },
  ),
}

/** People, their passwords and their mails. */
export const PEOPLE = {
  autoApprove: flag('AUTO_APPROVE', 'New companies and people need no approval.', { sandbox: 'true', live: 'false' }),
  passwordMemoryKib: integer(
    'PASSWORD_MEMORY_KIB',
    'Memory of a hash of a password (argon2id, 2 passes). A changed value counts for each person from the next login.',
    { fallback: '47104', min: 19_456, max: 1_048_576 },
  ),
  passwordListFile: optional('PASSWORD_LIST_FILE', 'A file with passwords that are refused, one a line.'),
}
export const SUPER_ADMIN = {
  email: optional('SUPER_ADMIN_EMAIL', 'The first SuperAdmin, made at the first start. Give both or neither.'),
  password: optional('SUPER_ADMIN_PASSWORD', 'The password of the first SuperAdmin.', { secret: true }),
}
export const MAIL = {
  smtpUrl: optional('SMTP_URL', 'The mail server. Without it the sandbox keeps mails on its mailbox page.', {
    ...{ secret: true, example: 'smtps://user:password@host:465' },
  }),
  from: text('MAIL_FROM', 'Sender of all mails; its domain must let the mail server send for it (SPF, DKIM).', {
    ...{
      from: ({ baseUrl }) => `Comptoir <no-reply@${mailDomainOf(baseUrl)}>`,
      shown: 'Comptoir <no-reply@host of BASE_URL>',
    },
  }),
}

/** A shorter time than 120 days would delete orders that can still be paid or refunded, and the events feed. */
const daysOrEver = (name: string, description: string): Setting<number> => ({
  ...integer(name, description, { fallback: '0', min: 0, max: 36_500 }),
  read(given) {
    const days = Number(given)
    if (days === 0 || (Number.isInteger(days) && days >= 120 && days <= 36_500)) return days
    throw new SettingFault(`must be 0 or a whole number from 120 to 36500, not "${given}"`)
  },
})

/** How long records about payers, providers and requests are kept. */
export const RETENTION = {
  payerRetentionDays: integer(
    'PAYER_RETENTION_DAYS',
    'Days until payer information without a change, wallets given at accept, proof files of refunds and notes on orders are erased.',
    {
      ...{ fallback: '1825', min: 1, max: 36_500 },
    },
  ),
  exchangeRetentionDays: integer('CHANNEL_EXCHANGE_RETENTION_DAYS', 'Days to keep recorded calls of providers.', {
    ...{ fallback: '30', min: 1, max: 3650 },
  }),
  requestLogDays: integer('REQUEST_LOG_DAYS', 'Days to keep the log of API requests; 0 keeps none.', {
    ...{ fallback: '7', min: 0, max: 90 },
  }),
  orderEventRetentionDays: daysOrEver(
    'ORDER_EVENT_RETENTION_DAYS',
    'Days to keep the history of orders, at least; it goes by the month in which the orders were made. 0 keeps it.',
  ),
  webhookRetentionDays: daysOrEver(
    'WEBHOOK_RETENTION_DAYS',
    'Days to keep webhooks with their bodies, at least; they go by the month of their orders. 0 keeps them.',
  ),
  requestLogPerCompany: integer('REQUEST_LOG_PER_COMPANY', 'Requests of one company that the log keeps at most.', {
    ...{ fallback: '20000', min: 100, max: 1_000_000 },
  }),
}
