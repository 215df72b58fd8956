import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Db, Tx } from '../../db/db.ts'
import { CLOCKS_DIFFER_MS, type Clock, HOUR } from '../../kernel/clock.ts'
import { AppError } from '../../kernel/errors.ts'
import { newId } from '../../kernel/ids.ts'
import { openHmac, type Vault } from '../../kernel/vault.ts'
import { type Actor, sees } from '../actor.ts'
import { ok, type Success } from '../envelope.ts'
import * as queries from './idempotency-queries.ts'

export const IDEMPOTENCY_RETENTION_MS = 48 * HOUR
/** Longer than a request may take. After that a repetition takes over, and the first request can no longer commit. */
const CLAIM_MS = 15_000
const SEALED = 'idempotency-answer'

/** One use of an `Idempotency-Key`: who, for which method and path, with which body. */
export type Claim = queries.IdempotencyKey & {
  fingerprint: string
  /** Fingerprints by earlier master keys. */
  earlierFingerprints: readonly string[]
  claimedBy: string
  stored: string | null
  /** As the route's schema says, so that a stored response holds no field that the schema does not name. */
  serialize(answer: Success<unknown>): string
  /** How the response is stored: in plain text, or encrypted when it holds a secret. */
  write(response: string): string
}

/** Reads the header. Null: not present. @throws VALIDATION_FAILED unless it is 1 to 255 printable characters */
export type ReadClaim = (request: FastifyRequest) => Claim | null

declare module 'fastify' {
  interface FastifyRequest {
    claim: Claim | null
  }
  interface FastifyInstance {
    readClaim: ReadClaim
  }
}

/** Equal JSON values give equal text, whatever the order of the names. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value === 'object' && value !== null) {
    const names = Object.keys(value).sort()
    return `{${names.map((name) => `${JSON.stringify(name)}:${canonical((value as Record<string, unknown>)[name])}`).join(',')}}`
  }
  return JSON.stringify(value) ?? 'null'
}

const textAt = (value: unknown, name: string): string | undefined => {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
  const found: unknown = Reflect.get(value, name)
  return typeof found === 'string' ? found : undefined
}

/**
 * Requests about a person's own account, and those in which the person counts, are scoped to that person, because
 * colleagues share the company.
 */
const isPersonal = ({ routeOptions: { config } }: FastifyRequest): boolean =>
  config.personal === true || config.permission?.startsWith('auth.') === true

/**
 * The scope of the key: the company that the request names if the actor may see it, otherwise the actor's own.
 * Companies that the actor may not see are never looked up here, because their stored responses belong to others.
 */
function scopeOfClaim(request: FastifyRequest, actor: Actor): Pick<Claim, 'companyId' | 'scope'> {
  const path = (request.url.split('?')[0] ?? '').replace(/^\/api\/(next\/)?/, '/api/').replace(/\/+$/, '')
  if (isPersonal(request)) return { companyId: `user:${actor.id}`, scope: `POST ${path}` }
  const named = textAt(request.query, 'companyId') ?? textAt(request.sentBody, 'companyId')
  const own = actor.companyId ?? `user:${actor.id}`
  const manager = textAt(request.query, 'childManager')
  const isSeen = named !== undefined && sees(actor, named)
  const choice = manager ?? (isSeen ? undefined : named)
  return {
    companyId: isSeen ? named : own,
    scope: `POST ${path}${choice === undefined ? '' : `?${choice}`}`,
  }
}

/** What a key stands for: the body, and the filters in the address where a route acts on all that they match. */
function coveredBy({ sentBody, query, routeOptions }: FastifyRequest): unknown {
  const isFiltered = routeOptions.config.refuseUnknown && Object.keys(query as object).length > 0
  return isFiltered ? [sentBody ?? null, query] : (sentBody ?? null)
}

/** Bodies hold passwords and names, so their fingerprints are keyed: they cannot be guessed from the table. */
function openReadClaim(vault: Vault): ReadClaim {
  const hmac = openHmac(vault, 'idempotency-fingerprint', 'hex')
  return (request) => {
    const header = request.headers['idempotency-key']
    if (header === undefined || request.method !== 'POST' || !request.actor) return null
    const key = String(header)
    if (!/^[\x20-\x7e]{1,255}$/.test(key)) {
      const details = [{ path: 'Idempotency-Key', message: 'must be 1 to 255 printable characters' }]
      throw new AppError('VALIDATION_FAILED', { details })
    }
    const [fingerprint = '', ...earlierFingerprints] = hmac.all(canonical(coveredBy(request)))
    return {
      ...scopeOfClaim(request, request.actor),
      key,
      ...{ fingerprint, earlierFingerprints },
      claimedBy: newId(),
      stored: null,
      serialize: JSON.stringify,
      write: (response) => response,
    }
  }
}

/** What an existing row means for a new request with the same key: the stored response, or a refusal. */
export function answerOfKey(row: queries.IdempotencyRow, claim: Claim): string {
  const isSame = row.fingerprint === claim.fingerprint || claim.earlierFingerprints.includes(row.fingerprint)
  if (!isSame) throw new AppError('IDEMPOTENCY_KEY_REUSED')
  if (row.response === null) throw new AppError('IDEMPOTENCY_IN_PROGRESS', { retryAfter: 1 })
  return row.response
}

/** Sends the first response in exactly the bytes that its repetitions will get. */
export const sendStored = (reply: FastifyReply, response: string): FastifyReply =>
  reply.type('application/json; charset=utf-8').send(response)

export const replay = (reply: FastifyReply, response: string): FastifyReply =>
  sendStored(reply.header('idempotency-replayed', 'true'), response)

/** Stores the response under a claimed key; see `RequestContext.remember`. */
export async function rememberAnswer(claim: Claim | null, tx: Tx, data: unknown): Promise<void> {
  if (!claim) return
  const response = claim.serialize(ok(data))
  const written = { claimedBy: claim.claimedBy, response: claim.write(response) }
  const changed = await queries.updateIdempotencyResponse(tx, claim, written)
  if (changed === 0) throw new AppError('IDEMPOTENCY_IN_PROGRESS', { retryAfter: 1 })
  tx.afterCommit(() => {
    claim.stored = response
  })
}

/**
 * `Idempotency-Key` for every authenticated POST. The key is claimed before the handler runs. The response is stored
 * with the effect (`RequestContext.remember`), or afterwards if the handler had no transaction of its own. Only 2xx
 * responses are stored.
 */
export function registerIdempotency(app: FastifyInstance, deps: { db: Db; clock: Clock; vault: Vault }): void {
  const { db, clock, vault } = deps
  const read = (response: string): string => (response.startsWith('{') ? response : vault.open(response, SEALED))
  const readClaim = openReadClaim(vault)
  app.decorateRequest('claim', null)
  app.decorate('readClaim', readClaim)
  /** Whether the request is answered already, because its key was used before. */
  const claimKey = async (request: FastifyRequest, reply: FastifyReply): Promise<boolean> => {
    const claim = readClaim(request)
    if (!claim) return false
    const now = new Date(clock())
    const taken = await queries.claimIdempotencyKey(db, claim, {
      ...{ fingerprint: claim.fingerprint, earlierFingerprints: claim.earlierFingerprints },
      claimedBy: claim.claimedBy,
      lockedUntil: new Date(now.getTime() + CLAIM_MS),
      latest: new Date(now.getTime() + CLAIM_MS + CLOCKS_DIFFER_MS),
      now,
    })
    if (taken) {
      if (request.routeOptions.config.sealAnswer) claim.write = (response) => vault.seal(response, SEALED)
      claim.serialize = reply.getSerializationFunction('200') ?? claim.serialize
      request.claim = claim
      return false
    }
    const row = await queries.findIdempotencyKey(db, claim)
    if (!row) throw new AppError('IDEMPOTENCY_IN_PROGRESS', { retryAfter: 1 })
    void replay(reply, read(answerOfKey(row, claim)))
    return true
  }
  // without a key, as in every read, neither hook costs a promise
  app.addHook('preHandler', (request, reply, done) => {
    if (request.headers['idempotency-key'] === undefined || request.routeOptions.config.ownIdempotency) return done()
    claimKey(request, reply).then((answered) => answered || done(), done)
  })
  const storeAnswer = async (claim: Claim, reply: FastifyReply, payload: unknown): Promise<unknown> => {
    if (claim.stored !== null) {
      // a step after the commit may have failed: the effect stands, and repetitions are told so
      void reply.code(200).removeHeader('retry-after')
      return claim.stored
    }
    const good = reply.statusCode >= 200 && reply.statusCode < 300 && typeof payload === 'string'
    const response = good ? claim.write(payload) : ''
    if (good) await queries.updateIdempotencyResponse(db, claim, { claimedBy: claim.claimedBy, response })
    else await queries.releaseIdempotencyKey(db, claim, claim.claimedBy).catch(() => {})
    return payload
  }
  app.addHook('onSend', ({ claim }, reply, payload, done) => {
    if (!claim) return done(null, payload)
    storeAnswer(claim, reply, payload).then((kept) => done(null, kept), done)
  })
}
