import type { FastifyInstance } from 'fastify'
import { readPlainDates } from './plain-dates.ts'

/** What clients of the older service read in addition to `status` (docs/old-clients.md). */
const STATES: Record<string, string> = {
  INITIAL: 'state:created',
  PENDING: 'state:pending',
  AWAITING: 'state:pending',
  WAITING_CHAIN_CONFIRMATION: 'state:pending',
  PAID: 'state:executed',
  REFUNDING: 'state:executed',
  REFUNDED: 'state:executed',
  FULL_REFUNDED: 'state:executed',
  EXPIRED: 'state:expired',
  CANCELLED: 'state:cancelled',
  ERROR: 'state:error',
  KYT_FAILED: 'state:error',
}

type Loose = Record<string, unknown>
const isObject = (value: unknown): value is Loose =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !Buffer.isBuffer(value)

/**
 * 4 becomes "4", 12.5 becomes "12.5"; a number that JavaScript writes with an exponent stays a number and is refused.
 */
function asText(holder: Loose, name: string): void {
  const value = holder[name]
  if (typeof value === 'number' && /^-?\d+(\.\d+)?$/.test(String(value))) holder[name] = String(value)
}

/**
 * Accepts older forms of input: a number as `goodsQuantity` and as the amount of a revert, a date without a time as
 * `from` and `to`.
 */
export function takeOldInput(scope: FastifyInstance): void {
  scope.addHook('preValidation', async (request) => {
    const { body, query } = request as { body: unknown; query: unknown }
    if (isObject(body)) {
      if (isObject(body.goods)) asText(body.goods, 'goodsQuantity')
      if (request.routeOptions.url?.includes('/revert/')) asText(body, 'amount')
    }
    if (isObject(query)) readPlainDates(query, 'within')
  })
}

/** Adds `data.state` to the public status reads: always text, because old clients do string searches on it. */
export function addOldState(scope: FastifyInstance): void {
  scope.addHook('onSend', async (request, reply, payload) => {
    const isStatus = request.routeOptions.url?.includes('/status/') && reply.statusCode === 200
    if (!isStatus || typeof payload !== 'string') return payload
    const answer = JSON.parse(payload) as { data: { status: string; state?: string } }
    answer.data.state = STATES[answer.data.status] ?? 'state:pending'
    return JSON.stringify(answer)
  })
}
