import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Limit } from '../permissions.ts'
import type { RateLimits } from './rate-limits.ts'
import { openSharedLookUps } from './shared-look-ups.ts'

/** `isEnded`: this cookie was theirs, and no longer lets them in. */
export type CookieOwner = { id: string; isEnded: boolean }

/** One kind of cookie, and how its owners are found. */
export type CookieSource<Owner> = {
  /** The hash of the token in the cookie; null without one. Throws nothing: the route refuses what is malformed. */
  hashOf(request: FastifyRequest): string | null
  /** The owners of many cookies, by the hash of their token. A cookie keeps its owner for as long as there is one. */
  find(tokenHashes: string[]): Promise<ReadonlyMap<string, Owner>>
}

const MAX_KNOWN = 20_000

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
 *
 * The cookie of an owner that has ended counts for both and is served, so that its client forgets it; for the look-ups
 * it is an unknown one.
 */
export function openCookieOwners<Owner extends CookieOwner>(
  limits: Pick<RateLimits, 'checkAddress' | 'noteAddress' | 'checkOwner' | 'isUsedUp'>,
  { hashOf, find }: CookieSource<Owner>,
): CookieOwners<Owner> {
  const owners = new WeakMap<FastifyRequest, Owner>()
  const known = new Map<string, CookieOwner>()
  const findShared = openSharedLookUps(find)
  const remember = (hash: string, owner: Owner | undefined): void => {
    if (known.size > MAX_KNOWN) known.clear()
    if (owner) known.set(hash, { id: owner.id, isEnded: owner.isEnded })
    else known.delete(hash)
  }
  return {
    async count(request, reply, limit) {
      const hash = hashOf(request)
      if (hash === null) return limits.checkAddress(request, reply, limit)
      const before = known.get(hash)
      // refused here, a call costs no look-up
      if (before) await limits.checkOwner(request, reply, limit, before.id)
      const mayBeGuess = before === undefined || before.isEnded
      const isShared = mayBeGuess && limits.isUsedUp(request, limit)
      const owner = isShared ? await findShared(hash) : (await find([hash])).get(hash)
      remember(hash, owner)
      if (!owner) return limits.checkAddress(request, reply, limit)
      if (!before) await limits.checkOwner(request, reply, limit, owner.id)
      if (owner.isEnded) await limits.noteAddress(request, limit)
      owners.set(request, owner)
    },
    ownerOf: (request) => owners.get(request),
  }
}
