import { randomBytes } from 'node:crypto'
import { type Dispatcher, request } from 'undici'
import { buildService, type Service } from '../../src/app.ts'
import { type Config, loadConfig } from '../../src/config/config.ts'
import { type Db, openDb, sql } from '../../src/db/db.ts'
import { API_SCOPES } from '../../src/http/actor.ts'
import { type Clock, systemClock } from '../../src/kernel/clock.ts'
import { newId, newWebhookSecret } from '../../src/kernel/ids.ts'
import { openVault, type Vault } from '../../src/kernel/vault.ts'
import { openServerKeys } from '../../src/keys/server-key-service.ts'
import { hashApiSecret } from '../../src/sessions/api-keys/api-key-service.ts'
import { openWebhookIdKey, type WebhookIdKey } from '../../src/webhooks/outbox/webhook-id-key.ts'
import { createTestDatabase } from './database.ts'
import { checkDocumented, documentedBy } from './documented-errors.ts'
import { freePort } from './free-port.ts'

/** Shared by every process of one test, so that each can open what another sealed. */
export const TEST_MASTER_KEY = Buffer.alloc(32, 7)

/** A company with a till and an API key that may do everything a server may. */
export type Merchant = {
  companyId: string
  collectorId: string
  merchantIdentifier: string
  webhookSecret: string
  headers: Record<string, string>
}

export type Answer<Data = Record<string, unknown>> = {
  status: number
  headers: Headers
  text: string
  data: Data
  error: {
    code: string
    message: string
    details?: { path: string; message: string }[]
    requestId: string
    docs: string
  }
}

export type TestService = {
  baseUrl: string
  connectionString: string
  config: Config
  db: Db
  vault: Vault
  service: Service
  logLines: string[]
  /** One request; `path` without prefix means the conversion endpoints. */
  call<Data = Record<string, unknown>>(method: string, path: string, options?: CallOptions): Promise<Answer<Data>>
  createMerchant(): Promise<Merchant>
  stop(): Promise<void>
}

/** For a test that moves orders itself: its webhooks have the ids that the service gives them. */
export const webhookIdKeyOf = ({ db, vault }: Pick<TestService, 'db' | 'vault'>): WebhookIdKey =>
  openWebhookIdKey(openServerKeys({ db, vault, clock: systemClock }))

export type CallOptions = { as?: Merchant; body?: unknown; raw?: string; headers?: Record<string, string> }

/** Each connection plans every statement again; a test of many requests at once takes 12, as the service does. */
const FEW_CONNECTIONS = 6
export const ALL_CONNECTIONS = 12

const TEST_ENV = {
  LIMIT_ACCOUNT_PER_MINUTE: '0',
  LIMIT_ADDRESS_PER_MINUTE: '0',
  LIMIT_PUBLIC_PER_MINUTE: '0',
  LIMIT_COMPANY_PER_MINUTE: '0',
  LIMIT_PAGE_PER_MINUTE: '0',
  LIMIT_LINK_PER_MINUTE: '0',
  // OWASP's least: thousands of people log in
  PASSWORD_MEMORY_KIB: '19456',
}

export async function insertMerchant(db: Db, vault: Vault): Promise<Merchant> {
  const [companyId, pointId, collectorId, keyId] = [newId(), newId(), newId(), newId()]
  const secret = `sk_${randomBytes(32).toString('base64url')}`
  const publicId = `pk_${randomBytes(9).toString('base64url')}`
  const webhookSecret = newWebhookSecret()
  const sealed = vault.seal(webhookSecret, `company:${companyId}:webhook-secret`)
  await db.tx(async (tx) => {
    await tx.run(
      sql`insert into companies (id, name, approved, webhook_secret_sealed) values (${companyId}, 'Test & Söhne', true, ${sealed})`,
    )
    await tx.run(sql`insert into sales_points (id, company_id, name) values (${pointId}, ${companyId}, 'Shop')`)
    await tx.run(
      sql`insert into collectors (id, company_id, sales_point_id, identifier) values (${collectorId}, ${companyId}, ${pointId}, 'TILL-1')`,
    )
    await tx.run(sql`
      insert into api_keys (id, company_id, name, public_id, secret_hash, scopes)
      values (${keyId}, ${companyId}, 'test', ${publicId}, ${hashApiSecret(secret)}, ${API_SCOPES})`)
  })
  return {
    companyId,
    collectorId,
    merchantIdentifier: 'TILL-1',
    webhookSecret,
    headers: { 'x-api-key': publicId, 'x-api-secret': secret },
  }
}

/** The whole service on a port and a database of its own. Workers run only with `workers: true`. */
export async function startTestService(
  options: {
    env?: Record<string, string>
    clock?: Clock
    /** As the real service does; a test that moves time to end orders does without. */
    guardsClock?: boolean
    workers?: boolean
    /** On a copy that was restored for a rehearsal. */
    isRehearsal?: boolean
    connectionString?: string
    vault?: Vault
    /** At most so many to the database. */
    connections?: number | undefined
    /** How long the database may be silent. */
    silenceMs?: number
  } = {},
): Promise<TestService> {
  const database = options.connectionString === undefined ? await createTestDatabase() : null
  const connectionString = options.connectionString ?? database?.connectionString ?? ''
  const port = Number(options.env?.PORT ?? (await freePort()))
  const config = loadConfig({ PORT: String(port), BASE_URL: `http://127.0.0.1:${port}`, ...TEST_ENV, ...options.env })
  const db = openDb({
    connectionString,
    prepared: config.databasePrepared,
    max: options.connections ?? FEW_CONNECTIONS,
    ...(options.silenceMs !== undefined && { silenceMs: options.silenceMs }),
  })
  const vault = options.vault ?? openVault(TEST_MASTER_KEY)
  const logLines: string[] = []
  const logStream = { write: (line: string) => void logLines.push(line) }
  let stopping = false
  const service = await buildService({
    config,
    db,
    vault,
    clock: options.clock ?? systemClock,
    logStream,
    guardsClock: options.guardsClock === true,
    isStopping: () => stopping,
    isRehearsal: options.isRehearsal === true,
  })
  documentedBy(service)
  await service.app.listen({ host: '127.0.0.1', port })
  if (options.workers) await service.startWorkers()
  return {
    baseUrl: config.baseUrl,
    connectionString,
    config,
    db,
    vault,
    service,
    logLines,
    call: async <Data>(method: string, path: string, callOptions?: CallOptions) => {
      const answer = await callService<Data>(config.baseUrl, method, path, callOptions)
      // the caller does not learn what went wrong inside; who reads a failed test must
      const causes = answer.status === 500 ? logLines.filter((line) => line.includes(answer.error?.requestId)) : []
      return { ...answer, text: [answer.text, ...causes].join('\n') }
    },
    createMerchant: () => insertMerchant(db, vault),
    async stop() {
      stopping = true
      await Promise.all([service.app.close(), service.stopWorkers()])
      await db.close()
      await database?.drop()
    },
  }
}

export async function callService<Data>(
  baseUrl: string,
  method: string,
  path: string,
  options: CallOptions = {},
): Promise<Answer<Data>> {
  const place = path.startsWith('/') ? path : `/api/next/confirm_conversion/${path}`
  const body = options.raw ?? (options.body === undefined ? undefined : JSON.stringify(options.body))
  const headers = {
    'user-agent': 'node',
    ...options.as?.headers,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...options.headers,
  }
  // half of what fetch costs, and tests call thousands of times
  const answer = await request(`${baseUrl}${place}`, {
    method: method as Dispatcher.HttpMethod,
    headers,
    ...(body === undefined ? {} : { body }),
  })
  const text = await answer.body.text()
  const answered = new Headers(
    Object.entries(answer.headers).flatMap(([name, value = []]) =>
      [value].flat().map((one): [string, string] => [name, one]),
    ),
  )
  const json = answered.get('content-type')?.includes('json') && text !== '' ? JSON.parse(text) : {}
  checkDocumented(method, place, json.error?.code)
  return { status: answer.statusCode, headers: answered, text, data: json.data, error: json.error }
}

/** What comes soon is seen soon, and what takes long is not asked for twenty times a second. */
const FIRST_PAUSE_MS = 30
const LAST_PAUSE_MS = 300

/** Asks again until the answer is right; fails with the last answer. */
export async function eventually<Result>(
  look: () => Promise<Result>,
  isRight: (result: Result) => boolean,
  timeoutMs = 15_000,
): Promise<Result> {
  const until = Date.now() + timeoutMs
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(LAST_PAUSE_MS, pauseMs * 1.5)) {
    const result = await look()
    if (isRight(result)) return result
    if (Date.now() > until)
      throw new Error(
        `it never came true; last seen: ${JSON.stringify(result, (_, value) => (typeof value === 'bigint' ? value.toString() : value))}`,
      )
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}
