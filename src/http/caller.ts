import type { FastifyRequest } from 'fastify'

/** From where a request came, for the audit log and for the list of sessions. */
export type Caller = { requestId: string; ip: string | null; userAgent: string | null }

export function callerOf(request: FastifyRequest): Caller {
  const { id, ip, headers } = request
  return { requestId: id, ip, userAgent: headers['user-agent']?.slice(0, 300) ?? null }
}
