import { randomUUID, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Fault, LEVELS, Listing, ScreeningList, Source } from './list.ts'

export type ScreeningKeys = Record<Source, string>

const HTML = '<!doctype html><html><head><title>403 Forbidden</title></head><body><h1>403 Forbidden</h1></body></html>'
/** Longer than any client waits. */
const HANG_MS = 120_000

const isSame = (left: string, right: string): boolean =>
  left.length === right.length && timingSafeEqual(Buffer.from(left), Buffer.from(right))

function jsonOf(request: FastifyRequest): unknown {
  try {
    return JSON.parse(String(request.body))
  } catch {
    return undefined
  }
}

async function fail(request: FastifyRequest, reply: FastifyReply, fault: Fault): Promise<FastifyReply> {
  if (fault === 'html-403') return reply.code(403).type('text/html').send(HTML)
  if (fault === 'html') return reply.code(200).type('text/html').send(HTML)
  if (fault === 'empty') return reply.type('application/json').send('{}')
  if (fault === 'list') return reply.type('application/json').send('[]')
  if (fault === 'hang') {
    const { socket } = request.raw
    setTimeout(() => socket.destroy(), HANG_MS).unref()
    await new Promise((resolve) => socket.once('close', resolve))
    return reply
  }
  if (fault === '429') reply.header('retry-after', '1')
  return reply.code(Number(fault)).send({ message: fault === '429' ? 'Too Many Requests' : 'unavailable' })
}

/**
 * Public sanctions API of Chainalysis (docs.chainalysis.com, "sanctions API"): `GET /address/{address}` with
 * `X-API-Key`. An empty list of identifications: not listed.
 */
export function sanctionsApi(app: FastifyInstance, list: ScreeningList, key: string): void {
  app.get<{ Params: { address: string } }>('/address/:address', async (request, reply) => {
    const { address } = request.params
    const fault = list.faultOf('sanctions', [address])
    if (fault) return fail(request, reply, fault)
    if (!isSame(String(request.headers['x-api-key'] ?? ''), key)) return reply.code(403).send({ message: 'Forbidden' })
    if (!list.find(address).sanctions) return { identifications: [] }
    const identification = {
      category: 'sanctions',
      name: 'SANCTIONS: OFAC SDN Sandbox Person 2026-01-01',
      description: 'Listed by the sandbox; no such person exists.',
      url: 'https://home.treasury.gov/policy-issues/financial-sanctions',
    }
    return { identifications: [identification] }
  })
}

const RISK_REASONS: Record<Listing['risk'], string | null> = {
  Severe: 'Identified as sanctioned entity',
  High: 'Indirect exposure to a sanctioned entity',
  Medium: 'Exposure to a mixing service',
  Low: null,
}

/**
 * Address Screening of Chainalysis (docs.chainalysis.com/api/address-screening): `POST /api/risk/v2/entities` must
 * register an address before `GET /api/risk/v2/entities/{address}` knows it; header `Token`.
 */
export function addressScreening(app: FastifyInstance, list: ScreeningList, token: string): void {
  const registered = new Set<string>()
  const root = '/api/risk/v2/entities'
  const error = (request: FastifyRequest, reply: FastifyReply, status: number, message: string) =>
    reply.code(status).send({
      timestamp: new Date().toISOString(),
      path: request.url,
      status,
      error: { 400: 'Bad Request', 403: 'Forbidden', 404: 'Not Found' }[status] ?? 'Error',
      requestId: randomUUID(),
      message,
    })
  const isKnown = (request: FastifyRequest): boolean => isSame(String(request.headers.token ?? ''), token)

  app.post(root, async (request, reply) => {
    const { address } = Object(jsonOf(request)) as { address?: unknown }
    const fault = list.faultOf('risk', typeof address === 'string' ? [address] : [])
    if (fault) return fail(request, reply, fault)
    if (!isKnown(request)) return error(request, reply, 403, 'The token is missing or invalid')
    if (typeof address !== 'string' || address === '') return error(request, reply, 400, 'address is required')
    registered.add(address.toLowerCase())
    return reply.code(201).send({ address })
  })
  app.get<{ Params: { address: string } }>(`${root}/:address`, async (request, reply) => {
    const { address } = request.params
    const fault = list.faultOf('risk', [address])
    if (fault) return fail(request, reply, fault)
    if (!isKnown(request)) return error(request, reply, 403, 'The token is missing or invalid')
    if (!registered.has(address.toLowerCase())) return error(request, reply, 404, 'The address is not registered')
    const { risk, sanctions } = list.find(address)
    const cluster = sanctions ? { name: 'Sandbox Sanctioned Entity', category: 'sanctioned entity' } : null
    const addressIdentifications = sanctions
      ? [{ name: 'Sandbox Sanctioned Entity', address, description: '', category: 'sanctioned entity' }]
      : []
    return {
      address,
      risk,
      riskReason: RISK_REASONS[risk],
      cluster,
      addressIdentifications,
      exposures: [],
      triggers: [],
    }
  })
}

const CHAINS = [
  ...['ethereum', 'polygon', 'binance_smart_chain', 'avalanche_c_chain', 'arbitrum', 'optimism', 'base'],
  ...['bitcoin', 'solana'],
]
const LABELS: Record<(typeof LEVELS)[number], string> = {
  15: 'Severe',
  10: 'High',
  5: 'Medium',
  1: 'Low',
  0: 'Unknown',
}

function trmItem({ address, chain, accountExternalId }: Record<string, unknown>, { trm }: Listing) {
  const category = { category: 'Sanctions', categoryId: '69' }
  const indicator = trm && {
    ...category,
    categoryRiskScoreLevel: trm.level,
    categoryRiskScoreLevelLabel: LABELS[trm.level],
    incomingVolumeUsd: '0',
    outgoingVolumeUsd: '0',
    riskType: trm.riskType,
  }
  const owned = trm?.riskType === 'OWNERSHIP'
  const entity = trm && {
    ...category,
    entity: 'Sandbox Entity',
    riskScoreLevel: trm.level,
    riskScoreLevelLabel: LABELS[trm.level],
  }
  return {
    accountExternalId: accountExternalId ?? null,
    address,
    addressRiskIndicators: indicator ? [indicator] : [],
    addressSubmitted: address,
    chain,
    entities: owned ? [entity] : [],
    trmAppUrl: `https://my.trmlabs.com/address/${String(address)}`,
  }
}

const addressesOf = (items: unknown): string[] =>
  Array.isArray(items) ? items.map((item) => String((Object(item) as { address?: unknown }).address ?? '')) : []

/**
 * TRM Labs: `POST /public/v2/screening/addresses`, HTTP Basic with the key as user and as password, an array in and an
 * array out with status 201, in another order; `POST /public/v1/sanctions/screening` also works without a key.
 */
export function trmApi(app: FastifyInstance, list: ScreeningList, key: string): void {
  const basic = `Basic ${Buffer.from(`${key}:${key}`).toString('base64')}`
  const refuse = (reply: FastifyReply, status: number, message: string) =>
    reply.code(status).send([{ code: status, message }])

  app.post('/public/v2/screening/addresses', async (request, reply) => {
    const items = jsonOf(request)
    const addresses = addressesOf(items)
    const fault = list.faultOf('trm', addresses)
    if (fault) return fail(request, reply, fault)
    if (!isSame(String(request.headers.authorization ?? ''), basic)) return refuse(reply, 401, 'Unauthorized')
    if (!Array.isArray(items) || items.length === 0) return refuse(reply, 400, 'An array of addresses is required')
    const wrong = items.find(({ address, chain }) => typeof address !== 'string' || !CHAINS.includes(chain))
    if (wrong) return refuse(reply, 400, 'address or chain is invalid')
    return reply.code(201).send(items.toReversed().map((item) => trmItem(item, list.find(item.address))))
  })
  app.post('/public/v1/sanctions/screening', async (request, reply) => {
    const addresses = addressesOf(jsonOf(request))
    const fault = list.faultOf('trm', addresses)
    if (fault) return fail(request, reply, fault)
    const { authorization } = request.headers
    if (authorization !== undefined && !isSame(authorization, basic)) return refuse(reply, 401, 'Unauthorized')
    if (addresses.length === 0) return refuse(reply, 400, 'An array of addresses is required')
    return reply.code(201).send(addresses.map((address) => ({ address, isSanctioned: list.find(address).sanctions })))
  })
}
