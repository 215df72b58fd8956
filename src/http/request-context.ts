import type { FastifyRequest } from 'fastify'
import type { Tx } from '../db/db.ts'
import { type Actor, actorOf } from './actor.ts'
import { rememberAnswer } from './idempotency/idempotency.ts'

/** A job, a provider or an operator's command, under the name that history and audit show. */
export type SystemActor = { kind: 'system'; id: string }
export type Who = Actor | SystemActor | null

/**
 * Who asks, from where, and where the response is stored. Made once per request or by a job, and passed on whole:
 * permissions, audit and idempotency read it.
 */
export type RequestContext<Asking extends Who = Actor> = {
  /** Null: the request is not authenticated (login, a mailed link). */
  readonly actor: Asking
  readonly requestId: string | null
  readonly ip: string | null
  readonly userAgent: string | null
  /** Stores the response under the Idempotency-Key, in the transaction of the effect. Does nothing without a key. */
  remember(tx: Tx, data: unknown): Promise<void>
}
export type AnyContext = RequestContext<Who>

/** For a route that determines the actor itself, for example by a mailed link. */
export const contextAs = <Asking extends Who>(request: FastifyRequest, actor: Asking): RequestContext<Asking> => ({
  actor,
  requestId: request.id,
  // none where the client left before anyone asked for it
  ip: request.ip ?? null,
  userAgent: request.headers['user-agent']?.slice(0, 300) ?? null,
  remember: (tx, data) => rememberAnswer(request.claim, tx, data),
})

/** @throws UNAUTHORIZED without a credential */
export const contextOf = (request: FastifyRequest): RequestContext => contextAs(request, actorOf(request))

/** For routes that anyone may call. */
export const visitorContextOf = (request: FastifyRequest): RequestContext<Actor | null> =>
  contextAs(request, request.actor)

/** @param name as history shows it: `time`, `operator`, `provider:sumsub` */
export const systemContext = (name: string): RequestContext<SystemActor> => ({
  ...{ actor: { kind: 'system', id: name }, requestId: null, ip: null, userAgent: null },
  remember: async () => {},
})

/** `user:<id>`, `apiKey:<id>`, `payer:<code>`, a system's name, or `anyone`. */
export function nameOf({ actor }: { readonly actor: Who }): string {
  if (actor === null) return 'anyone'
  return actor.kind === 'system' ? actor.id : `${actor.kind}:${actor.id}`
}
