import { hash, timingSafeEqual } from 'node:crypto'
import type { Db } from '../../db/db.ts'
import type { Actor } from '../../http/actor.ts'
import { openSharedLookUps } from '../../http/limits/shared-look-ups.ts'
import { type Clock, isYounger } from '../../kernel/clock.ts'
import { AppError } from '../../kernel/errors.ts'
import { type ApiKeyRow, listApiKeysBySecretHash, updateApiKeyLastUsed } from './api-key-queries.ts'

export const API_SECRET_PREFIX = 'sk_'

/** Secrets have 256 random bits, so one SHA-256 is enough at rest; a slow hash would only slow every request. */
export const hashApiSecret = (secret: string): string => hash('sha256', secret, 'hex')

export type ApiKeys = {
  /**
   * @param isGuess the secret is most likely wrong: unless this node knows it, it waits for a look-up that others share
   * @throws UNAUTHORIZED for an unknown, revoked or expired key, or a secret that belongs to another key id
   */
  actorOf(secret: string, publicId: string | null, isGuess?: boolean): Promise<Actor>
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
  const remember = (secretHash: string, row: ApiKeyRow | undefined, at: number): void => {
    const full = row ? hits : misses
    if (full.size > MAX_KEPT) full.clear()
    hits.delete(secretHash)
    misses.delete(secretHash)
    if (row) hits.set(secretHash, { row, at })
    else misses.set(secretHash, at)
  }
  const read = async (secretHashes: string[]): Promise<ReadonlyMap<string, ApiKeyRow>> => {
    const [at, startedIn] = [clock(), generation]
    const rows = await listApiKeysBySecretHash(db, secretHashes)
    if (startedIn !== generation) return read(secretHashes)
    const found = new Map(rows.map((row) => [row.secretHash, row]))
    for (const secretHash of secretHashes) remember(secretHash, found.get(secretHash), at)
    return found
  }
  const readShared = openSharedLookUps(read)
  const find = async (secretHash: string, isGuess: boolean): Promise<ApiKeyRow | undefined> => {
    const known = hits.get(secretHash)
    if (known && isYounger(known.at, MAX_AGE_MS, clock())) return known.row
    const missedAt = misses.get(secretHash)
    if (missedAt !== undefined && isYounger(missedAt, MAX_AGE_MS, clock())) return undefined
    // a key that was right here before is no guess, however old its copy
    if (isGuess && known === undefined) return readShared(secretHash)
    return (await read([secretHash])).get(secretHash)
  }
  const noteUse = (id: string): void => {
    const now = clock()
    if (isYounger(used.get(id) ?? 0, USED_EVERY_MS, now)) return
    used.set(id, now)
    updateApiKeyLastUsed(db, [id], new Date(now)).catch(() => used.delete(id))
  }
  return {
    async actorOf(secret, publicId, isGuess = false) {
      const row = secret.startsWith(API_SECRET_PREFIX) ? await find(hashApiSecret(secret), isGuess) : undefined
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
