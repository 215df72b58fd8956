import type { FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../kernel/errors.ts'
import { newId } from '../kernel/ids.ts'
import { failure } from './envelope.ts'
import { toAppError } from './failures.ts'

type Socket = { writable: boolean; end(text: string): unknown; destroy(): unknown }

/** Node's errors for unreadable requests, as ours. Source: nodejs.org/api/http.html, `clientError`. */
const OF_NODE: Record<string, AppError> = {
  HPE_HEADER_OVERFLOW: new AppError('HEADERS_TOO_LARGE'),
  ERR_HTTP_REQUEST_TIMEOUT: new AppError('REQUEST_TIMEOUT'),
}
const GOODBYE_MS = 1000
/** What the router takes between two slashes. */
export const MAX_PATH_PART = 500

const REASONS: Record<number, string> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
}

/** Answers a malformed, oversized or slow request in our envelope, then closes the connection. */
export const openAnswerBroken = (baseUrl: string) => (thrown: Error & { code?: string }, socket: Socket) => {
  if (thrown.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const error = OF_NODE[thrown.code ?? ''] ?? new AppError('MALFORMED_REQUEST')
  const requestId = newId()
  const body = JSON.stringify(failure(error, requestId, baseUrl))
  const head = [
    `HTTP/1.1 ${error.status} ${REASONS[error.status]}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
  // a client that neither reads nor closes would stay half open
  setTimeout(() => socket.destroy(), GOODBYE_MS).unref()
}

/** The API refuses an id that is too long in one way, whether its schema or the router finds it. */
function errorOf(thrown: Error & { code?: string }, { url }: FastifyRequest): AppError {
  if (thrown.code !== 'FST_ERR_MAX_PARAM_LENGTH' || !url.startsWith('/api/')) return toAppError(thrown)
  const details = [{ path: 'path', message: `must have no part with more than ${MAX_PATH_PART} characters` }]
  return new AppError('VALIDATION_FAILED', { details })
}

/**
 * A path that the router cannot decode, such as `/%ff`, or with a part that is too long: no hook has run, so the
 * headers are written here.
 */
export const openAnswerUnroutable =
  (baseUrl: string) => (thrown: Error, request: FastifyRequest, reply: FastifyReply) => {
    const error = errorOf(thrown, request)
    const { raw } = reply
    raw.writeHead(error.status, {
      'content-type': 'application/json; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'x-request-id': request.id,
    })
    raw.end(JSON.stringify(failure(error, request.id, baseUrl)))
  }
