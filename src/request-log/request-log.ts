import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Db } from '../db/db.ts'
import { askForAll } from '../db/shares.ts'
import { type Actor, actingFor } from '../http/actor.ts'
import type { Clock } from '../kernel/clock.ts'
import { newId } from '../kernel/ids.ts'
import {
  deleteSurplusRequests,
  insertMissingRequests,
  insertRequests,
  type LoggedRequest,
  takesTrim,
} from './request-log-queries.ts'

/** Requests are written in batches, so that the log costs a request almost nothing. */
const FLUSH_MS = 500
const BATCH = 500
/** Of a company at a time: finding the first one passes over all that are kept. */
const TRIM_BATCH = 2000
/** While the database is down, at most this many wait in memory; then the newest are dropped. */
const MOST_WAITING = 5000
const MAX_PATH = 300
const MAX_USER_AGENT = 200

export type RequestLogDeps = { db: Db; clock: Clock; days: number; perCompany: number }
export type RequestLog = {
  /** Writes the waiting rows. */
  flush(): Promise<void>
  /** Deletes rows above a company's limit, one batch at a time. @returns whether there may be more */
  trim(): Promise<boolean>
}

/**
 * What developers look for: every call by a key, every change, and every refusal. The repeated reads of a person's open
 * page would only hide those.
 */
function isWorthKeeping(actor: Actor, method: string, status: number): boolean {
  return actor.kind === 'apiKey' || method !== 'GET' || status >= 400
}

/** The query is left out: it may hold an e-mail or a token. */
const pathOf = ({ url }: FastifyRequest): string => url.split('?', 1)[0]?.slice(0, MAX_PATH) ?? ''

/** Logs the API's requests as they are answered. Register it before the routes. */
export function registerRequestLog(app: FastifyInstance, deps: RequestLogDeps): RequestLog {
  const { db, clock, days, perCompany } = deps
  let waiting: LoggedRequest[] = []
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> = Promise.resolve()

  let isRepeated = false
  const write = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, BATCH)
      try {
        // detecting duplicates costs a third of the insert
        await (isRepeated ? insertMissingRequests : insertRequests)(db, batch)
        isRepeated = false
      } catch (error) {
        isRepeated = true
        app.log.warn({ err: error }, 'the request log cannot be written')
        return
      }
      waiting = waiting.slice(batch.length)
    }
  }
  const flush = (): Promise<void> => {
    if (timer) clearTimeout(timer)
    timer = undefined
    // the rows are everyone's
    writing = askForAll(() => writing.then(write))
    return writing
  }
  app.addHook('onResponse', (request, reply, done) => {
    done()
    const { actor, method } = request
    if (days === 0 || actor === null || request.routeOptions.config.permission === undefined) return
    if (!isWorthKeeping(actor, method, reply.statusCode) || waiting.length >= MOST_WAITING) return
    const now = clock()
    waiting.push({
      companyId: actingFor(actor) ?? '',
      id: newId(now),
      requestId: request.id,
      at: new Date(now),
      actor: `${actor.kind}:${actor.id}`,
      method,
      path: pathOf(request),
      status: reply.statusCode,
      errorCode: request.refusal,
      durationMs: Math.round(reply.elapsedTime),
      // the client may have left before anyone asked for its address
      ip: request.ip ?? 'unknown',
      userAgent: request.headers['user-agent']?.slice(0, MAX_USER_AGENT) ?? null,
    })
    timer ??= setTimeout(() => void flush(), FLUSH_MS).unref()
  })
  app.addHook('onClose', () => flush())
  return {
    flush,
    async trim() {
      const deleted = await db.tx(async (tx) =>
        (await takesTrim(tx)) ? deleteSurplusRequests(tx, perCompany, TRIM_BATCH) : 0,
      )
      return deleted >= TRIM_BATCH
    },
  }
}
