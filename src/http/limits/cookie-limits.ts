import type { FastifyReply, FastifyRequest } from 'fastify'
import { isPermission, ruleOf } from '../permissions.ts'
import type { RateLimits } from './rate-limits.ts'
import { openSharedLookUps } from './shared-look-ups.ts'

/** @returns the owner of the cookie, if it has one @throws TOO_MANY_REQUESTS */
export type CountByCookie<Owner> = (
  request: FastifyRequest,
  reply: FastifyReply,
  tokenHash: string | null,
) => Promise<Owner | undefined>

/**
 * Counts the calls of routes with `byCookie`. A cookie of ours counts for its owner, so that nobody else at the
 * address uses up the owner's calls. A call without a cookie counts for its address, and so does an unknown cookie,
 * which limits guessing: once the address has used up its calls, its cookies share four look-ups a second.
 * @param find finds the owners of many cookies, by the hash of their token
 */
export function openCountByCookie<Owner extends { id: string }>(
  limits: Pick<RateLimits, 'checkAddress' | 'checkOwner' | 'isUsedUp'>,
  find: (tokenHashes: string[]) => Promise<ReadonlyMap<string, Owner>>,
): CountByCookie<Owner> {
  const findShared = openSharedLookUps(find)
  return async (request, reply, tokenHash) => {
    const { permission = '' } = request.routeOptions.config
    const limit = isPermission(permission) ? ruleOf(permission).limit : 'none'
    const findOwner = async (hash: string): Promise<Owner | undefined> =>
      limits.isUsedUp(request, limit) ? findShared(hash) : (await find([hash])).get(hash)
    const owner = tokenHash === null ? undefined : await findOwner(tokenHash)
    if (owner) await limits.checkOwner(request, reply, limit, owner.id)
    else await limits.checkAddress(request, reply, limit)
    return owner
  }
}
