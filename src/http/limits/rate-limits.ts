import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../../config/config.ts'
import type { Db } from '../../db/db.ts'
import { askForAll } from '../../db/shares.ts'
import { type Clock, DAY, MINUTE, SECOND } from '../../kernel/clock.ts'
import { AppError } from '../../kernel/errors.ts'
import { actingFor, hasStanding } from '../actor.ts'
import { networkOf } from '../address.ts'
import type { Limit } from '../permissions.ts'
import { latestEndMs, updateCounter } from './rate-limit-queries.ts'

const WINDOW_MS = MINUTE
/**
 * A node takes this fraction of a limit at a time, so that the hot path queries the database at most 20 times a minute.
 */
const BLOCKS = 20
const MAX_KEYS = 50_000
const SESSION_PER_MINUTE = 120
/** A busy café has this many guests with their own addresses; a crowd of machines gets no further. */
const ADDRESSES_OF_LINK = 10
/** Each step calls the provider, which soon throttles the whole service; even a hesitant payer needs few. */
const STEPS_OF_ORDER = 12
/** Guests of a café share one address, and each of them tries a channel or two. */
const STEPS_OF_VISITOR = 3

/** `windowMs`: default one minute. */
type Policy = { name: string; key: string; limit: number; windowMs?: number }
type Standing = { policy: Policy; remaining: number; resetSeconds: number; allowed: boolean }

/** What a node took from the shared counter and has not used yet. */
type Block = { left: number; unclaimed: number; windowEndsAt: number }

export type RateLimits = {
  /** Limits by client address, before a credential is known, or where there is none. @throws TOO_MANY_REQUESTS */
  checkAddress(request: FastifyRequest, reply: FastifyReply, limit: Limit): Promise<void>
  /** Counts as `checkAddress` does, and refuses nothing. */
  noteAddress(request: FastifyRequest, limit: Limit): Promise<void>
  /** Whether this node knows that `checkAddress` would refuse. */
  isUsedUp(request: FastifyRequest, limit: Limit): boolean
  /** As `checkAddress`, by the session or device whose cookie the request has. @throws TOO_MANY_REQUESTS */
  checkOwner(request: FastifyRequest, reply: FastifyReply, limit: Limit, ownerId: string): Promise<void>
  /** Public pages, by client address. @throws TOO_MANY_REQUESTS */
  checkPage(request: FastifyRequest, reply: FastifyReply): Promise<void>
  /**
   * Orders that visitors create, by address. Here and in the next two, whoever has no standing is a visitor; the calls
   * of others count for their company. @throws TOO_MANY_REQUESTS
   */
  checkVisitor(request: FastifyRequest, reply: FastifyReply): Promise<void>
  /**
   * Orders that visitors create through a static link or a buy button, by address and in total. @throws
   * TOO_MANY_REQUESTS
   */
  checkLink(request: FastifyRequest, reply: FastifyReply, id: string): Promise<void>
  /** Calls to providers that payers cause, by address and by order. @throws TOO_MANY_REQUESTS */
  checkPayer(request: FastifyRequest, reply: FastifyReply, code: string): Promise<void>
  /** Payments whose gas the relayer pays, by company. @throws TOO_MANY_REQUESTS */
  checkRelay(request: FastifyRequest, reply: FastifyReply, companyId: string): Promise<void>
  /**
   * Runs once the credential is known: limits by company, a person without one by account. An account that waits to be
   * confirmed or approved is free, so it counts for its address too. @throws TOO_MANY_REQUESTS
   */
  checkCompany(request: FastifyRequest, reply: FastifyReply): Promise<void>
  /** Callbacks for a company's own provider account, once the signature is verified. @throws TOO_MANY_REQUESTS */
  checkCallback(request: FastifyRequest, reply: FastifyReply, companyId: string): Promise<void>
  /**
   * Credential endpoints, once the account name is known, whether or not the account exists. @throws TOO_MANY_REQUESTS
   */
  checkAccount(request: FastifyRequest, reply: FastifyReply, emailKey: string): Promise<void>
  /** Whether this node knows that the address has used up its invalid credentials. A valid one is served even so. */
  isGuessing(request: FastifyRequest): boolean
  /** Counts an invalid credential, which limits guessing. @throws TOO_MANY_REQUESTS */
  countRefusal(request: FastifyRequest, reply: FastifyReply): Promise<void>
  /** Counts an invalid credential that is ignored: the request goes on as one without. */
  noteRefusal(request: FastifyRequest): Promise<void>
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The limits that counted this request, for its headers. */
    rateLimits: Standing[] | null
  }
}

/**
 * Header fields: the tightest limit in the common fields, all limits in those of the IETF draft
 * (draft-ietf-httpapi-ratelimit-headers).
 */
function writeHeaders(reply: FastifyReply, standings: readonly Standing[]): void {
  const tightest = standings.reduce((left, right) => (right.remaining < left.remaining ? right : left))
  const list = (write: (standing: Standing) => string): string => standings.map(write).join(', ')
  void reply.headers({
    'ratelimit-limit': String(tightest.policy.limit),
    'ratelimit-remaining': String(tightest.remaining),
    'ratelimit-reset': String(tightest.resetSeconds),
    ratelimit: list(({ policy, remaining, resetSeconds }) => `"${policy.name}";r=${remaining};t=${resetSeconds}`),
    'ratelimit-policy': list(
      ({ policy }) => `"${policy.name}";q=${policy.limit};w=${(policy.windowMs ?? WINDOW_MS) / SECOND}`,
    ),
  })
}

/** Counters in the database, shared by all nodes; each node takes them in blocks. */
export function openRateLimits(deps: { db: Db; clock: Clock; limits: Config['limits'] }): RateLimits {
  const { db, clock, limits } = deps
  const blocks = new Map<string, Block>()
  const refills = new Map<string, Promise<Block>>()

  const refill = async ({ key, limit, windowMs = WINDOW_MS }: Policy): Promise<Block> => {
    const now = clock()
    const size = Math.max(1, Math.floor(limit / BLOCKS))
    const counter = await updateCounter(db, key, {
      count: size,
      now: new Date(now),
      endsAt: new Date(now + windowMs),
    })
    const before = Number(counter.used) - size
    const granted = Math.max(0, Math.min(size, limit - before))
    const unclaimed = Math.max(0, limit - Number(counter.used))
    const block = { left: granted, unclaimed, windowEndsAt: counter.windowEndsAt.getTime() }
    if (blocks.size > MAX_KEYS) blocks.clear()
    blocks.set(key, block)
    return block
  }
  /** Undefined: its window has ended, or was begun by a clock that was ahead. */
  const findBlock = ({ key, windowMs = WINDOW_MS }: Policy): Block | undefined => {
    const block = blocks.get(key)
    const now = clock()
    return block && block.windowEndsAt > now && block.windowEndsAt <= latestEndMs(now + windowMs) ? block : undefined
  }
  const currentBlock = async (policy: Policy): Promise<Block> => {
    const known = findBlock(policy)
    if (known && (known.left > 0 || known.unclaimed === 0)) return known
    const running = refills.get(policy.key)
    if (running) return running
    // everyone who counts for the key waits for it
    const started = askForAll(() => refill(policy)).finally(() => refills.delete(policy.key))
    refills.set(policy.key, started)
    return started
  }
  const take = async (policy: Policy): Promise<Standing> => {
    for (;;) {
      const block = await currentBlock(policy)
      const allowed = block.left > 0
      if (!allowed && block.unclaimed > 0) continue
      if (allowed) block.left -= 1
      const resetSeconds = Math.max(1, Math.ceil((block.windowEndsAt - clock()) / SECOND))
      return { policy, remaining: block.left + block.unclaimed, resetSeconds, allowed }
    }
  }
  const check = async (request: FastifyRequest, reply: FastifyReply, policy: Policy): Promise<void> => {
    if (policy.limit === 0) return
    const standing = await take(policy)
    request.rateLimits = [...(request.rateLimits ?? []), standing]
    writeHeaders(reply, request.rateLimits)
    if (!standing.allowed) throw new AppError('TOO_MANY_REQUESTS', { retryAfter: standing.resetSeconds })
  }
  const note = async (policy: Policy | undefined): Promise<void> => {
    if (policy && policy.limit > 0) await take(policy)
  }
  const refusalsOf = (request: FastifyRequest): Policy => ({
    name: 'refused',
    key: `refused:${networkOf(request.ip)}`,
    limit: limits.publicPerMinute,
  })
  const endpointOf = (request: FastifyRequest): string => request.routeOptions.config.permission ?? ''
  /** @param who an address, or the owner of a cookie */
  const policyOf = (request: FastifyRequest, limit: Limit, who: string): Policy | undefined => {
    const { addressPerMinute, publicPerMinute } = limits
    if (limit === 'credentials')
      return { name: 'address', key: `address:${endpointOf(request)}:${who}`, limit: addressPerMinute }
    if (limit === 'session')
      return { name: 'session', key: `session:${who}`, limit: addressPerMinute === 0 ? 0 : SESSION_PER_MINUTE }
    return limit === 'public' ? { name: 'public', key: `public:${who}`, limit: publicPerMinute } : undefined
  }
  const checkFor: RateLimits['checkOwner'] = async (request, reply, limit, who) => {
    const policy = policyOf(request, limit, who)
    if (policy) await check(request, reply, policy)
  }
  const isOver = (policy: Policy): boolean => {
    const block = findBlock(policy)
    return block !== undefined && block.left + block.unclaimed === 0
  }
  const checkVisitor: RateLimits['checkVisitor'] = async (request, reply) => {
    if (hasStanding(request.actor)) return
    const key = `visitor:${networkOf(request.ip)}`
    await check(request, reply, { name: 'visitor', key, limit: limits.linkPerMinute })
  }
  return {
    checkAddress: (request, reply, limit) => checkFor(request, reply, limit, networkOf(request.ip)),
    noteAddress: (request, limit) => note(policyOf(request, limit, networkOf(request.ip))),
    isUsedUp(request, limit) {
      const policy = policyOf(request, limit, networkOf(request.ip))
      return policy !== undefined && isOver(policy)
    },
    checkOwner: checkFor,
    checkPage: (request, reply) =>
      check(request, reply, {
        name: 'page',
        key: `page:${networkOf(request.ip)}`,
        limit: limits.pagePerMinute,
      }),
    checkVisitor,
    async checkLink(request, reply, id) {
      if (hasStanding(request.actor)) return
      await checkVisitor(request, reply)
      const limit = limits.linkPerMinute * ADDRESSES_OF_LINK
      await check(request, reply, { name: 'link', key: `link:${id}`, limit })
    },
    async checkPayer(request, reply, code) {
      if (limits.linkPerMinute === 0 || hasStanding(request.actor)) return
      const limit = limits.linkPerMinute * STEPS_OF_VISITOR
      await check(request, reply, { name: 'payer', key: `payer:${networkOf(request.ip)}`, limit })
      await check(request, reply, { name: 'order', key: `order:${code}`, limit: STEPS_OF_ORDER })
    },
    checkRelay: (request, reply, companyId) =>
      check(request, reply, {
        ...{ name: 'relay', key: `relay:${companyId}`, limit: limits.relayPerDay, windowMs: DAY },
      }),
    checkCallback: (request, reply, companyId) =>
      check(request, reply, { name: 'callback', key: `callback:${companyId}`, limit: limits.companyPerMinute }),
    async checkCompany(request, reply) {
      const { actor } = request
      if (!actor) return
      if (!actor.valid && actor.kind === 'user') await checkFor(request, reply, 'public', networkOf(request.ip))
      const companyId = actingFor(actor)
      const key = companyId === null ? `user:${actor.id}` : `company:${companyId}`
      await check(request, reply, { name: 'company', key, limit: limits.companyPerMinute })
    },
    async checkAccount(request, reply, emailKey) {
      const account = createHash('sha256').update(emailKey).digest('base64url')
      const key = `account:${endpointOf(request)}:${account}`
      await check(request, reply, { name: 'account', key, limit: limits.accountPerMinute })
    },
    isGuessing: (request) => isOver(refusalsOf(request)),
    countRefusal: (request, reply) => check(request, reply, refusalsOf(request)),
    noteRefusal: (request) => note(refusalsOf(request)),
  }
}
