import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { sql } from '../src/db/db.ts'
import { type OpenApi, operationsOf, type Response, type Schema } from '../src/http/openapi/document.ts'
import { holdsValue } from '../src/http/openapi/fields.ts'
import { EVENTS } from '../src/webhooks/outbox/events.ts'
import { logIn, newEmail, registerManager } from './harness/accounts.ts'
import { waitFor } from './harness/receiver.ts'
import { openShop, type Shop } from './harness/shop.ts'

type Document = OpenApi & { info: { description: string } }
type Visit = (method: string, template: string, options?: VisitOptions) => Promise<Record<string, never>>
type VisitOptions = {
  path?: Record<string, string>
  query?: string
  body?: unknown
  headers?: Record<string, string>
  status?: number
}

/** The older prefix answers like the canonical one and is hidden on purpose. */
const HIDDEN = /^\/api\/(confirm_conversion|buy-button)(\/|$)/

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

test('/docs/api shows it, with a script that comes from here', async () => {
  const get = (path: string) => fetch(`${shop.host.baseUrl}${path}`)
  const page = await get('/docs/api')
  assert.deepEqual([page.status, new URL(page.url).pathname], [200, '/docs/api/'])
  assert.match(page.headers.get('content-type') ?? '', /^text\/html/)
  const policy = page.headers.get('content-security-policy') ?? ''
  assert.match(policy, /script-src 'self' 'sha256-[^']+'(;|$)/)
  assert.doesNotMatch(policy, /unsafe-eval/)
  const html = await page.text()
  assert.match(html, /openapi\.json/)
  assert.deepEqual(html.match(/<script[^>]+src="([^"]+)"/)?.[1], 'js/scalar.js')
  const script = await get('/docs/api/js/scalar.js')
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
  assert.ok(shown.has('GET /api/next/confirm_conversion/status/order/{reference}'))
  assert.equal([...shown].filter((route) => HIDDEN.test(route.split(' ')[1] ?? '')).length, 0)
  const ids = Object.values(document.paths).flatMap((item) => Object.values(item).map(({ operationId }) => operationId))
  assert.deepEqual([new Set(ids).size, ids.some((id) => !id)], [ids.length, false])
})

const responseOf = (response: Response): Response =>
  document.components.responses?.[response.$ref?.split('/').at(-1) ?? ''] ?? response

/** Every field of a schema, with the name of its place. */
function fieldsOf(schema: Schema, place: string): [place: string, field: Schema][] {
  const own = Object.entries(schema.properties ?? {}).map(([name, field]): [string, Schema] => [
    `${place}.${name}`,
    field,
  ])
  const parts = [schema.items, schema.additionalProperties, ...(schema.anyOf ?? []), ...(schema.allOf ?? [])]
  const inner = parts.flatMap((part) => (typeof part === 'object' ? fieldsOf(part, place) : []))
  return [...own, ...own.flatMap(([name, field]) => fieldsOf(field, name)), ...inner]
}

/** Every field that travels: of the shared schemas, and of each operation's body and answers. */
function allFields(): [place: string, field: Schema][] {
  const { schemas, responses = {} } = document.components
  const webhooks = Object.values(document.webhooks ?? {}).flatMap((item) => Object.values(item))
  const operations = [...operationsOf(document).map(({ operation }) => operation), ...webhooks]
  const bodies = operations.flatMap(({ operationId, requestBody, responses: answers }) =>
    [requestBody?.content, ...Object.values(answers).map(({ content }) => content)].flatMap((content) =>
      Object.values(content ?? {}).map(({ schema }) => [operationId, schema] as const),
    ),
  )
  const failures = Object.entries(responses).flatMap(([name, { content }]) =>
    Object.values(content ?? {}).map(({ schema }) => [name, schema] as const),
  )
  return [...Object.entries(schemas), ...bodies, ...failures].flatMap(([name, schema]) => fieldsOf(schema ?? {}, name))
}

test('every operation, field and parameter has a description, and whatever holds a value an example', () => {
  const operations = operationsOf(document).map(({ operation }) => operation)
  const parameters = operations.flatMap(({ operationId, parameters: all = [] }) =>
    all.flatMap((parameter) => (parameter.$ref ? [] : [{ place: `${operationId}?${parameter.name}`, ...parameter }])),
  )
  const fields = allFields()
  assert.ok(fields.length > 1000 && parameters.length > 100 && operations.length > 100)
  const bare = [
    ...operations.flatMap(({ operationId, description }) => (description ? [] : [operationId])),
    ...parameters.flatMap(({ place, description }) => (description ? [] : [place])),
    ...fields.flatMap(([place, { description }]) => (description ? [] : [place])),
  ]
  assert.deepEqual(bare, [], 'say what it is: in the schema, or in src/http/openapi/*-words.ts')
  const silent = [
    ...parameters.flatMap(({ place, schema }) => (schema?.examples ? [] : [place])),
    ...fields.flatMap(([place, field]) => (!holdsValue(field) || field.examples ? [] : [place])),
  ]
  assert.deepEqual(silent, [], 'give an example: in the schema, or in src/http/openapi/field-words.ts')
  const ajv = addFormats.default(new Ajv2020({ strict: false }))
  ajv.addSchema(document, 'api')
  // the same field stands in many operations, and each schema is compiled
  const distinct = new Map(fields.map(([place, field]) => [JSON.stringify(field), { place, field }]))
  const wrong = [...distinct.values()].flatMap(({ place, field }) => {
    const valid = (field.examples ?? []).every((example) => field.$ref || ajv.validate(field, example))
    return valid ? [] : [`${place}: ${JSON.stringify(field.examples)}`]
  })
  assert.deepEqual(wrong, [], 'an example is what the schema allows')
})

test('every operation has its own failures, security and headers, and a body that is optional where it is', () => {
  const find = (id: string) => {
    const found = operationsOf(document).find(({ operation }) => operation.operationId === id)?.operation
    assert.ok(found, id)
    return found
  }
  const codesOf = (id: string, status: string): unknown => {
    const schema = responseOf(find(id).responses[status] ?? {}).content?.['application/json']?.schema
    return schema?.properties?.error?.properties?.code?.enum
  }
  for (const { operation } of operationsOf(document)) {
    assert.ok(operation.responses['500'] && operation.responses['503'], operation.operationId)
  }
  assert.deepEqual(codesOf('confirmOrder', '409'), [
    'PAYMENT_NOT_RECEIVED',
    'ORDER_STATE_CONFLICT',
    'IDEMPOTENCY_IN_PROGRESS',
  ])
  assert.deepEqual(codesOf('confirmOrder', '502'), ['CHANNEL_UNAVAILABLE'])
  assert.deepEqual([codesOf('listOrders', '409'), codesOf('listOrders', '502')], [undefined, undefined])
  const bearer = { bearer: [] }
  const key = [{ apiKey: [], apiSecret: [] }, { secretBearer: [] }]
  assert.deepEqual(find('createOrder').security, [bearer, ...key])
  assert.deepEqual(find('createApiKey').security, [bearer])
  assert.deepEqual(find('getOrderByCode').security, [{}, bearer, ...key])
  assert.deepEqual(find('refreshToken').security, [{ refreshCookie: [] }])
  assert.deepEqual(find('validateOtp').security, [{ otpCookie: [] }, bearer])
  assert.deepEqual(
    [find('revertOrder').requestBody?.required, find('createOrder').requestBody?.required],
    [false, true],
  )
  const names = (id: string): string[] =>
    (find(id).parameters ?? []).map(({ $ref, name = '' }) => $ref?.split('/').at(-1) ?? name)
  assert.ok(names('createOrder').includes('IdempotencyKey') && !names('listOrders').includes('IdempotencyKey'))
  // without a credential nothing is kept under a key
  for (const id of ['register', 'changeForgottenPassword'])
    assert.ok(names(id).includes('IdempotencyKeyWithCredential') && !names(id).includes('IdempotencyKey'), id)
  assert.ok(!names('login').some((name) => name.startsWith('IdempotencyKey')))
  const sent = Object.keys(find('createOrder').responses['200']?.headers ?? {})
  assert.ok(['Comptoir-Ignored', 'Idempotency-Replayed', 'RateLimit-Remaining'].every((name) => sent.includes(name)))
  assert.ok('Retry-After' in (responseOf(find('createOrder').responses['429'] ?? {}).headers ?? {}))
  const tags = new Set(document.tags?.map(({ name }) => name))
  const used = operationsOf(document).flatMap(({ operation }) => operation.tags ?? [])
  assert.deepEqual(
    used.filter((tag) => !tags.has(tag)),
    [],
  )
})

test('the webhooks section types all 16 events as they are sent', async () => {
  assert.deepEqual(Object.keys(document.webhooks ?? {}), [...EVENTS])
  const ajv = addFormats.default(new Ajv2020({ strict: false }))
  ajv.addSchema(document, 'api')
  await shop.host.db.run(
    sql`update companies set optional_events = ${[...EVENTS]} where id = ${shop.merchant.companyId}`,
  )
  const order = await shop.create({ webhookUrl: shop.receiver.url, goods: { goodsName: 'Tea' } })
  const find = () => shop.receiver.received.find(({ body }) => body.includes(order.code))
  await waitFor('order.initial', () => find() !== undefined)
  const body = JSON.parse(find()?.body ?? '')
  const pointer = (event: string): string =>
    `api#/${['webhooks', event, 'post', 'requestBody', 'content', 'application/json', 'schema'].map(escapePointer).join('/')}`
  const validate = ajv.compile({ $ref: pointer('order.initial') })
  assert.ok(validate(body), ajv.errorsText(validate.errors))
  assert.equal(ajv.compile({ $ref: pointer('order.paid') })(body), false)
  for (const event of EVENTS.filter((name) => name.startsWith('kyc.'))) {
    const news = {
      event,
      kycId: '1',
      orderId: '2',
      code: '3',
      alias: null,
      status: 'pending',
      updatedAt: new Date().toISOString(),
    }
    assert.ok(ajv.compile({ $ref: pointer(event) })(news), event)
  }
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
    const named = operation.responses[answer.status]
    assert.ok(named, `${route} answers ${answer.status} ${answer.text}, which is not documented`)
    const documented = responseOf(named)
    const [media = ''] = Object.keys(documented.content ?? {})
    assert.ok(
      (answer.headers.get('content-type') ?? '').startsWith(media),
      `${route}: ${answer.headers.get('content-type')}`,
    )
    if (media !== 'application/json') return {}
    const own = ['paths', template, method.toLowerCase(), 'responses', String(answer.status)]
    const place = named.$ref?.split('/').slice(1) ?? own
    const pointer = [...place, 'content', media, 'schema']
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
  await visit('GET', `${CONVERSION}/status/order/{reference}`, { path: { reference: 'A/1' }, status: 200 })
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

test('the example of a body is one that the service takes', async () => {
  const { email } = await registerManager(shop.host.baseUrl)
  const headers = { authorization: `Bearer ${(await logIn(shop.host.baseUrl, email)).token}` }
  const taken = ['createOrder', 'createStaticLink', 'createSalesPoint', 'createApiKey', 'inviteUser', 'register']
  const answers: Record<string, number | string> = {}
  const refused: string[] = []
  for (const { path, method, operation } of operationsOf(document)) {
    const body = operation.requestBody?.content['application/json']?.example
    if (typeof body !== 'object' || body === null) continue
    const url = path.replace(/\{(\w+)\}/g, (_, name: string) => (name === 'userCode' ? 'KXQR-7F2M' : 'f'.repeat(24)))
    // an address registers once
    const sent = 'email' in body ? { ...body, email: newEmail() } : body
    const { status, text: answer } = await shop.host.call(method.toUpperCase(), url, { headers, body: sent })
    if (taken.includes(operation.operationId)) answers[operation.operationId] = status === 200 ? 200 : answer
    // this shop has one channel only
    if (status === 422 && operation.operationId !== 'sortChannels') refused.push(`${operation.operationId}: ${answer}`)
  }
  assert.deepEqual(refused, [], 'say what it leaves out in src/http/openapi/operation-words.ts')
  assert.deepEqual(answers, Object.fromEntries(taken.map((id) => [id, 200])))
  const salesPoint = document.paths['/api/next/sales-points']?.post?.requestBody?.content['application/json']?.example
  assert.match(JSON.stringify(salesPoint), /"city":"Lausanne","country":"CH"/)
})

test('a parameter with a default is not required', () => {
  const wrong = operationsOf(document).flatMap(({ operation: { operationId, parameters = [] } }) =>
    parameters
      .filter(({ required, schema }) => required && schema?.default !== undefined)
      .map(({ name }) => `${operationId}?${name}`),
  )
  assert.deepEqual(wrong, [])
})

test('every schema compiles, also those that no request needed yet', async () => {
  await shop.host.service.app.compileSchemas()
})
