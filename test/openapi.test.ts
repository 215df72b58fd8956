import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { logIn, registerManager } from './harness/accounts.ts'
import { openShop, type Shop } from './harness/shop.ts'

type Operation = { operationId?: string; responses: Record<string, { content?: Record<string, unknown> }> }
type Document = { openapi: string; paths: Record<string, Record<string, Operation>>; info: { description: string } }
type Visit = (method: string, template: string, options?: VisitOptions) => Promise<Record<string, never>>
type VisitOptions = {
  path?: Record<string, string>
  query?: string
  body?: unknown
  headers?: Record<string, string>
  status?: number
}

/** The older prefix answers like the canonical one and is hidden on purpose. */
const HIDDEN = /^\/api\/confirm_conversion(\/|$)/

let shop: Shop
let text: string
let document: Document

before(async () => {
  shop = await openShop()
  text = await (await fetch(`${shop.host.baseUrl}/openapi.json`)).text()
  document = JSON.parse(text)
})
after(() => shop?.stop())

test('/openapi.json is OpenAPI 3.1 and lints clean by all recommended rules', async () => {
  assert.match(document.openapi, /^3\.1\./)
  const config = await createConfig({ extends: ['recommended'] })
  const problems = await lintFromString({ source: text, absoluteRef: 'openapi.json', config })
  assert.deepEqual(
    problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`),
    [],
  )
})

test('/docs shows it, with a script that comes from here', async () => {
  const get = (path: string) => fetch(`${shop.host.baseUrl}${path}`)
  const page = await get('/docs')
  assert.deepEqual([page.status, new URL(page.url).pathname], [200, '/docs/'])
  assert.match(page.headers.get('content-type') ?? '', /^text\/html/)
  const policy = page.headers.get('content-security-policy') ?? ''
  assert.match(policy, /script-src 'self' 'sha256-[^']+'(;|$)/)
  assert.doesNotMatch(policy, /unsafe-eval/)
  const html = await page.text()
  assert.match(html, /openapi\.json/)
  assert.deepEqual(html.match(/<script[^>]+src="([^"]+)"/)?.[1], 'js/scalar.js')
  const script = await get('/docs/js/scalar.js')
  assert.match(script.headers.get('content-type') ?? '', /javascript/)
  assert.ok((await script.text()).length > 1_000_000)
})

/** `METHOD /path/{name}` of every route, from Fastify's own tree. */
function listRoutes(): string[] {
  const parents: string[] = []
  return shop.host.service.app
    .printRoutes({ commonPrefix: false })
    .split('\n')
    .flatMap((line) => {
      const [, indent = '', part = '', methods = ''] = /^([│ ]*)[├└]── (\S+) \((.+)\)$/.exec(line) ?? []
      if (methods === '') return []
      const depth = indent.length / 4
      parents[depth] = part
      // the tree prints a wildcard below its nearest sibling, not below its path; there is one, looked for by name
      if (part === '*') return []
      const path = parents
        .slice(0, depth + 1)
        .join('')
        .replace(/:(\w+)/g, '{$1}')
      return methods.split(', ').flatMap((method) => (method === 'HEAD' ? [] : [`${method} ${path}`]))
    })
}

const listOperations = (): string[] =>
  Object.entries(document.paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
  )

test('every route below /api is in it, or hidden on purpose', () => {
  const shown = new Set(listOperations())
  const missing = listRoutes().filter((route) => {
    const path = route.split(' ')[1] ?? ''
    return path.startsWith('/api/') && !shown.has(route) && !HIDDEN.test(path)
  })
  assert.deepEqual(missing, [])
  assert.ok(shown.has('GET /api/next/confirm_conversion/status/order/{rest}'))
  assert.equal([...shown].filter((route) => HIDDEN.test(route.split(' ')[1] ?? '')).length, 0)
  const ids = Object.values(document.paths).flatMap((item) => Object.values(item).map(({ operationId }) => operationId))
  assert.deepEqual([new Set(ids).size, ids.includes(undefined)], [ids.length, false])
})

const escapePointer = (word: string): string => encodeURIComponent(word.replaceAll('~', '~0').replaceAll('/', '~1'))

/** Sends one request and holds its answer against the document: status, media type and schema. */
function openVisit(visited: Set<string>): Visit {
  const ajv = addFormats.default(new Ajv2020({ strict: false, allErrors: true, validateFormats: true }))
  ajv.addSchema(document, 'api')
  return async (method, template, { path = {}, query = '', body, headers, status } = {}) => {
    const route = `${method} ${template}`
    visited.add(route)
    const operation = document.paths[template]?.[method.toLowerCase()]
    assert.ok(operation, `${route} is not documented`)
    const url =
      template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? 'f'.repeat(24))) + query
    const answer = await shop.host.call(method, url, {
      headers: headers ?? shop.merchant.headers,
      ...(body === undefined ? {} : { body }),
    })
    if (status !== undefined) assert.equal(answer.status, status, `${route}: ${answer.text}`)
    assert.ok(answer.status < 500, `${route}: ${answer.text}`)
    const documented = operation.responses[answer.status]
    assert.ok(documented, `${route} answers ${answer.status}, which is not documented`)
    const [media = ''] = Object.keys(documented.content ?? {})
    assert.ok(
      (answer.headers.get('content-type') ?? '').startsWith(media),
      `${route}: ${answer.headers.get('content-type')}`,
    )
    if (media !== 'application/json') return {}
    const pointer = [
      'paths',
      template,
      method.toLowerCase(),
      'responses',
      String(answer.status),
      'content',
      media,
      'schema',
    ]
    const validate = ajv.compile({ $ref: `api#/${pointer.map(escapePointer).join('/')}` })
    const json: unknown = JSON.parse(answer.text)
    assert.ok(validate(json), `${route}: ${ajv.errorsText(validate.errors)} in ${answer.text}`)
    return answer.data as Record<string, never>
  }
}

const CONVERSION = '/api/next/confirm_conversion'

/** A sale with everything that can be asked about it, to the refund. */
async function walkSale(visit: Visit): Promise<void> {
  const { merchantIdentifier } = shop.merchant
  const goods = { goodsName: 'Tea', goodsType: '01' }
  const body = {
    amount: '12.30',
    fromAsset: 'eur',
    merchantIdentifier,
    goods,
    alias: 'A/1',
    webhookUrl: shop.receiver.url,
  }
  const { code } = await visit('POST', `${CONVERSION}/request`, { body, status: 200 })
  await visit('POST', `${CONVERSION}/request`, { body: { ...body, amount: -1 }, status: 400 })
  await visit('POST', `${CONVERSION}/request`, { body: {}, status: 422 })
  const path = { code: code ?? '' }
  await visit('GET', `${CONVERSION}/status/{code}`, { path, status: 200 })
  await visit('GET', `${CONVERSION}/status/{code}`, { path, headers: {}, status: 200 })
  await visit('GET', `${CONVERSION}/status/order/{rest}`, { path: { rest: 'A/1' }, status: 200 })
  await visit('GET', CONVERSION, { query: '?limit=5&status=INITIAL', status: 200 })
  await visit('GET', `${CONVERSION}/links`, { status: 200 })
  await visit('GET', `${CONVERSION}/exchangeInfo`, { query: '?fromAsset=EUR&toAsset=USDC', headers: {}, status: 200 })
  await visit('POST', `${CONVERSION}/confirm/{code}`, { path, status: 409 })
  const { toAddress } = await visit('POST', `${CONVERSION}/accept/{code}`, {
    path,
    body: { paymentChannel: 'crypto' },
    status: 200,
  })
  await shop.chain.pay({ to: toAddress ?? '', units: 13_284_000n })
  await shop.makeFinal()
  await shop.reaches(path.code, 'PAID')
  await visit('POST', `${CONVERSION}/confirm/{code}`, { path, status: 200 })
  await visit('POST', `${CONVERSION}/revert/{code}`, { path, body: { reason: 'tea was cold' }, status: 200 })
  await visit('GET', '/api/next/refunds', { status: 200 })
  for (const action of ['cancel', 'expire']) {
    const other = await shop.create()
    await visit('POST', `${CONVERSION}/${action}/{code}`, { path: { code: other.code }, status: 200 })
  }
}

async function walkWebhooks(visit: Visit): Promise<void> {
  const { deliveries } = (await visit('GET', '/api/next/webhook-deliveries', { status: 200 })) as unknown as {
    deliveries: { id: string }[]
  }
  const path = { id: deliveries[0]?.id ?? '' }
  await visit('GET', '/api/next/webhook-deliveries/{id}', { path, status: 200 })
}

async function walkAccounts(visit: Visit): Promise<void> {
  const { email } = await registerManager(shop.host.baseUrl)
  const client = await logIn(shop.host.baseUrl, email)
  const headers = { authorization: `Bearer ${client.token}` }
  for (const template of [
    '/api/next/users/me',
    '/api/next/users',
    '/api/next/auth/sessions',
    '/api/users/webhook-secret',
    '/api/next/webhook-subscriptions',
  ]) {
    await visit('GET', template, { headers, status: 200 })
  }
  await visit('POST', '/api/users/webhook-secret/regenerate', { headers, status: 200 })
}

test('every JSON answer of a walk through the API is what its schema says', async () => {
  const visited = new Set<string>()
  const visit = openVisit(visited)
  await walkSale(visit)
  await walkWebhooks(visit)
  await walkAccounts(visit)
  // whatever was not on the way is asked for something that does not exist, or without what it needs
  for (const operation of listOperations().filter((route) => !visited.has(route))) {
    const [method = '', template = ''] = operation.split(' ')
    for (const headers of [shop.merchant.headers, {}]) {
      await visit(method, template, { headers, ...(method === 'GET' || method === 'DELETE' ? {} : { body: {} }) })
    }
  }
})
