import type { FastifyRequest } from 'fastify'
import { AppError, invalid } from '../kernel/errors.ts'
import { Type } from '../kernel/schema.ts'

export const USER_ROLES = [
  'SuperAdmin',
  'SuperManager',
  'Manager',
  'Association',
  'Cashier',
  'Observer',
  'SimpleUser',
  'Service',
] as const
export type UserRole = (typeof USER_ROLES)[number]

/** Roles other than these two may refund, settle, or change where money goes. */
export const decidesAboutMoney = (role: string): boolean => role !== 'Cashier' && role !== 'Observer'

export const API_SCOPES = [
  'orders:read',
  'orders:write',
  'refunds:write',
  'sessions:write',
  'webhooks:read',
  'webhooks:write',
  'passwords:write',
] as const
export type ApiScope = (typeof API_SCOPES)[number]

/** Who sends a request, as proven by its credential. */
export type Actor = {
  kind: 'user' | 'apiKey' | 'payer'
  /** The user's id, the API key's id, or the order code of a payer's page. */
  id: string
  role: UserRole
  /** The company whose objects this actor may touch; null for SuperAdmin and for users without one. */
  companyId: string | null
  /** SuperManager: the companies attached to it. */
  companyIds: readonly string[]
  /** Cashier: the tills assigned to it. */
  collectorIds: readonly string[]
  /** API keys: the granted scopes. Null: everything the role allows. */
  scopes: readonly ApiScope[] | null
  /** E-mail verified and, if required, approved; an actor that is not valid sees only its own profile. */
  valid: boolean
  /** What is missing before the actor is valid, as sentences. */
  missing?: readonly string[]
  sessionId: string | null
  /** Milliseconds since 1970 of the last second factor in this session; null for none. */
  secondFactorAt: number | null
  /** The till where this person signed in with a PIN: only permission rows that are open to tills. */
  tillDeviceId?: string
}

declare module 'fastify' {
  interface FastifyRequest {
    actor: Actor | null
  }
  interface FastifyContextConfig {
    /** A key of the permission table; every API route has one. */
    permission?: string
    /** Pages, health and docs, which are not part of the API: outside the permission table. */
    open?: true
    /** An open page for people: limited per address. */
    page?: true
    /** Although it is a GET, it changes, orders or sends something. */
    writes?: true
    /** Its failures are JSON to everyone, also to a browser. */
    json?: true
    /** The route stores its response under the Idempotency-Key in its own statement. */
    ownIdempotency?: true
    /** Who acts is part of what is done, as where two persons confirm: an Idempotency-Key is the person's own. */
    personal?: true
    /** The response holds a secret: what is stored under an Idempotency-Key is encrypted. */
    sealAnswer?: true
    /** `null` and `""` in the body reach the route instead of counting as absent; of these names only `null` does. */
    keepNulls?: true | readonly string[]
    /** Each field of the body is a filter: `""` reaches the route and matches nothing, and `null` is refused. */
    filtersByBody?: true
    /** Without one of these fields the route takes all there is, so an empty one is refused. */
    allWithout?: readonly string[]
    /** Unknown names are refused, as without them the route would do more than was meant; these are ignored. */
    refuseUnknown?: { except: readonly string[] }
  }
}

/** We issued this credential, and it has ended. It is refused like an unknown one, but it is no guess. */
export class EndedCredential extends AppError {
  constructor(message: string) {
    super('UNAUTHORIZED', { message })
  }
}

/**
 * Reads a request's credential; null when it has none.
 * @param how.isGuess it is most likely wrong, so that looking it up may be slow but must cost little
 * @param how.isAfresh what this node has read of a person's session before does not count
 * @throws UNAUTHORIZED for an invalid one, as EndedCredential if it was valid once
 */
export type Authenticate = (
  request: FastifyRequest,
  how?: { isGuess?: boolean; isAfresh?: boolean },
) => Promise<Actor | null>

/**
 * Whether an actor acts for a company that may sell, or operates this service. Accounts that anyone can open do
 * neither: what is limited by address stays so for them.
 */
export const hasStanding = (actor: Actor | null): boolean => {
  if (actor === null || !actor.valid || actor.role === 'SimpleUser') return false
  return actor.companyId !== null || isOperator(actor)
}

/**
 * The company that an actor's calls count for. Null for a person whose account waits: anyone can apply to any company,
 * and must not use up what is the company's.
 */
export const actingFor = ({ kind, valid, companyId }: Actor): string | null =>
  kind === 'user' && !valid ? null : companyId

/** The actor of a request that needs one. @throws UNAUTHORIZED */
export function actorOf(request: FastifyRequest): Actor {
  if (!request.actor) throw new AppError('UNAUTHORIZED')
  return request.actor
}

/** Works for several companies, and names the one that it means. */
export const isOperator = ({ role }: Actor): boolean => role === 'SuperAdmin' || role === 'SuperManager'

/** The company of an actor that works inside one. @throws FORBIDDEN, VALIDATION_FAILED when an operator names none */
export function companyOf(actor: Actor): string {
  if (actor.companyId === null && isOperator(actor))
    throw invalid('companyId', 'is required for your role: the company’s id')
  if (actor.companyId === null) {
    throw new AppError('FORBIDDEN', { message: 'This needs a user of a company. Your account belongs to none.' })
  }
  return actor.companyId
}

/**
 * The companies whose objects a list shows: all that the actor sees, or the one that it names. Null: every company.
 * @throws OBJECT_NOT_FOUND for a company that the actor does not see
 */
export function companiesSeen(actor: Actor, companyId: string | undefined): readonly string[] | null {
  if (companyId !== undefined) {
    if (!sees(actor, companyId)) throw new AppError('OBJECT_NOT_FOUND')
    return [companyId]
  }
  if (actor.role === 'SuperAdmin') return null
  return [...new Set([...actor.companyIds, ...(actor.companyId === null ? [] : [actor.companyId])])]
}

/** For lists that show every company of the actor unless one is named. */
export const CompanyIdQuery = Type.Optional(
  Type.String({ pattern: '^[0-9a-f]{24}$', description: 'For users of several companies: only this one.' }),
)

/**
 * Whether this actor may see objects of that company. Others get 404, which does not reveal whether the object exists.
 */
export function sees(actor: Actor, companyId: string): boolean {
  if (actor.role === 'SuperAdmin') return true
  return actor.companyId === companyId || actor.companyIds.includes(companyId)
}
