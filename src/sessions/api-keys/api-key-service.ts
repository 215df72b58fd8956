import { hash, timingSafeEqual } from 'node:crypto'
import type { Db } from '../../db/db.ts'
import type { Actor } from '../../http/actor.ts'
import { type Clock, isYounger } from '../../kernel/clock.ts'
import { AppError } from '../../kernel/errors.ts'
import { type ApiKeyRow, findApiKeyBySecretHash, updateApiKeyLastUsed } from './api-key-queries.ts'

export const API_SECRET_PREFIX = 'sk_'

/** Secrets have 256 random bits, so one SHA-256 is enough at rest; a slow hash would only slow every request. */
export const hashApiSecret = (secret: string): string => hash('sha256', secret, 'hex')

export type ApiKeys = {
  /** @throws UNAUTHORIZED for an unknown, revoked or expired key, or a secret that belongs to another key id */
  actorOf(secret: string, publicId: string | null): Promise<Actor>
  /** Call after a revocation on this node: voids a read under way too. Other nodes notice within five seconds. */
  forget(): void
}

const MAX_AGE_MS = 5000
const USED_EVERY_MS = 60_000
const MAX_KEPT = 10_000

const sameText = (left: string, right: string): boolean =>
  left.length === right.length && timingSafeEqual(Buffer.from(left), Buffer.from(right))

export function openApiKeys({ db, clock }: { db: Db; clock: Clock }): ApiKeys {
  const hits = new Map<string, { row: ApiKeyRow; at: number }>()
  /** Apart from the hits, so that guesses displace only each other. */
  const misses = new Map<string, number>()
  const used = new Map<string, number>()
  let generation = 0
  const find = async (secretHash: string): Promise<ApiKeyRow | undefined> => {
    const known = hits.get(secretHash)
    if (known && isYounger(known.at, MAX_AGE_MS, clock())) return known.row
    const missedAt = misses.get(secretHash)
    if (missedAt !== undefined && isYounger(missedAt, MAX_AGE_MS, clock())) return undefined
    const [at, startedIn] = [clock(), generation]
    const row = await findApiKeyBySecretHash(db, secretHash)
    if (startedIn !== generation) return find(secretHash)
    const full = row ? hits : misses
    if (full.size > MAX_KEPT) full.clear()
    hits.delete(secretHash)
    misses.delete(secretHash)
    if (row) hits.set(secretHash, { row, at })
    else misses.set(secretHash, at)
    return row
  }
  const noteUse = (id: string): void => {
    const now = clock()
    if (isYounger(used.get(id) ?? 0, USED_EVERY_MS, now)) return
    used.set(id, now)
    updateApiKeyLastUsed(db, [id], new Date(now)).catch(() => used.delete(id))
  }
  return {
    async actorOf(secret, publicId) {
      const row = secret.startsWith(API_SECRET_PREFIX) ? await find(hashApiSecret(secret)) : undefined
      const rightId = row !== undefined && (publicId === null || sameText(publicId, row.publicId))
      const expired = row !== undefined && row.expiresAt !== null && row.expiresAt.getTime() <= clock()
      if (!row || !rightId || expired) {
        throw new AppError('UNAUTHORIZED', {
          message: 'This API key is unknown, revoked or expired. Create a new one in the back office.',
        })
      }
      noteUse(row.id)
      return {
        kind: 'apiKey',
        id: row.id,
        role: 'Service',
        companyId: row.companyId,
        companyIds: [],
        collectorIds: [],
        scopes: row.scopes,
        valid: row.companyApproved,
        sessionId: null,
        secondFactorAt: null,
      }
    },
    forget() {
      generation += 1
      hits.clear()
      misses.clear()
    },
  }
}
