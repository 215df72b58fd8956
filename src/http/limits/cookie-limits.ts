import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Limit } from '../permissions.ts'
import type { RateLimits } from './rate-limits.ts'
import { openSharedLookUps } from './shared-look-ups.ts'

/** One kind of cookie, and how its owners are found. */
export type CookieSource<Owner> = {
  /** The hash of the token in the cookie; null without one. Throws nothing: the route refuses what is malformed. */
  hashOf(request: FastifyRequest): string | null
  /** The owners of many cookies, by the hash of their token. */
  find(tokenHashes: string[]): Promise<ReadonlyMap<string, Owner>>
}

export type CookieOwners<Owner = unknown> = {
  /** Looks the cookie up and counts the call. Runs before the caller gets its turn. @throws TOO_MANY_REQUESTS */
  count(request: FastifyRequest, reply: FastifyReply, limit: Limit): Promise<void>
  /** Whose cookie a counted request has; undefined without a cookie, or with an unknown one. */
  ownerOf(request: FastifyRequest): Owner | undefined
}

/**
 * Counts the calls of routes with `byCookie`. A cookie of ours counts for its owner, so that nobody else at the
 * address uses up the owner's calls. A call without a cookie counts for its address, and so does an unknown cookie,
 * which limits guessing: once the address has used up its calls, its cookies share four look-ups a second.
 */
export function openCookieOwners<Owner extends { id: string }>(
  limits: Pick<RateLimits, 'checkAddress' | 'checkOwner' | 'isUsedUp'>,
  { hashOf, find }: CookieSource<Owner>,
): CookieOwners<Owner> {
  const owners = new WeakMap<FastifyRequest, Owner>()
  const findShared = openSharedLookUps(find)
  return {
    async count(request, reply, limit) {
      const hash = hashOf(request)
      const findOwner = async (hash: string): Promise<Owner | undefined> =>
        limits.isUsedUp(request, limit) ? findShared(hash) : (await find([hash])).get(hash)
      const owner = hash === null ? undefined : await findOwner(hash)
      if (!owner) return limits.checkAddress(request, reply, limit)
      await limits.checkOwner(request, reply, limit, owner.id)
      owners.set(request, owner)
    },
    ownerOf: (request) => owners.get(request),
  }
}
