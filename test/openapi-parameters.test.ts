import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { toAppError } from '../src/http/failures.ts'
import { type OpenApi, operationsOf, type Parameter } from '../src/http/openapi/document.ts'
import { openApiOf } from '../src/http/reference/openapi.ts'
import { logInSuperAdmin } from './harness/accounts.ts'
import { openShop, type Shop } from './harness/shop.ts'

/* The query parameters of lists: what the document says of them, and the spellings that clients use. */

let shop: Shop
let document: OpenApi

before(async () => {
  shop = await openShop()
  document = openApiOf(shop.host.service.app, shop.host.baseUrl)
})
after(() => shop?.stop())

const paramOf = (id: string, wanted: string): Parameter => {
  const found = operationsOf(document).find(({ operation }) => operation.operationId === id)?.operation.parameters
  const parameter = found?.find(({ name }) => name === wanted)
  assert.ok(parameter, `${id}?${wanted}`)
  return parameter
}

test('every filter of a list takes the example that the document gives for it', async () => {
  const admin = await logInSuperAdmin(shop.host)
  const refused: string[] = []
  let asked = 0
  for (const { path, method, operation } of operationsOf(document)) {
    if (method !== 'get') continue
    for (const { name = '', in: place, schema } of operation.parameters ?? []) {
      // a cursor is the position that an answer gave
      if (place !== 'query' || ['cursor', 'after', 'before'].includes(name)) continue
      const url = path.replace(/\{\w+\}/g, 'f'.repeat(24))
      const values = [schema?.items?.enum ?? schema?.enum ?? schema?.examples?.[0]].flat()
      for (const value of values) {
        asked += 1
        const query = new URLSearchParams({ [name]: String(value) })
        const { status, error } = await admin.get(`${url}?${query}`)
        if (status === 422 && error.details?.some((detail) => detail.path === name)) refused.push(`${url}?${query}`)
      }
    }
  }
  assert.ok(asked > 100, String(asked))
  assert.deepEqual(refused, [])
})

test('the states and channels that an order list can be filtered by are named', () => {
  const statuses = document.components.schemas.Order?.properties?.status?.enum
  for (const id of ['listOrders', 'listPaymentLinks', 'downloadOrders']) {
    assert.deepEqual(paramOf(id, 'status').schema?.items?.enum, statuses)
    assert.deepEqual(paramOf(id, 'status').schema?.examples, [['INITIAL']])
    assert.ok(paramOf(id, 'paymentChannel').schema?.enum?.includes('crypto'))
  }
  assert.deepEqual(paramOf('listWebhookDeliveries', 'status').schema?.items?.enum?.includes('failed'), true)
  assert.doesNotMatch(JSON.stringify(document), /x-choices/)
})

test('a list in brackets, as PHP and many clients write it, filters like the plain name', async () => {
  await shop.create()
  const ended = await shop.create()
  await shop.host.call('POST', `cancel/${ended.code}`, { as: shop.merchant })
  const ask = async (path: string) => {
    const { status, data, headers, text } = await shop.host.call('GET', `/api/next/${path}`, { as: shop.merchant })
    assert.equal(status, 200, text)
    return [data.total, headers.get('comptoir-ignored')]
  }
  for (const query of [
    'status=CANCELLED',
    'status[]=CANCELLED',
    'status%5B%5D=CANCELLED',
    'status[0]=CANCELLED&status[1]=PAID',
    'status[]=CANCELLED&status[]=PAID',
    'status=PAID&status[]=CANCELLED',
    'search[]=none&search=',
  ]) {
    const total = query.startsWith('search') ? 0 : 1
    assert.deepEqual(await ask(`confirm_conversion?${query}`), [total, null], query)
  }
  const today = new Date().toISOString().slice(0, 10)
  assert.deepEqual(await ask(`confirm_conversion?from[]=${today}&to[]=${today}`), [2, null])
  assert.deepEqual(await ask('webhook-deliveries?status[]=failed'), [0, null])
  const { status, error } = await shop.host.call('GET', '/api/next/confirm_conversion?status[]=LOST', {
    as: shop.merchant,
  })
  assert.deepEqual([status, error.details?.[0]?.path], [422, 'status'])
  // no list, and no name that is known
  assert.deepEqual(await ask('confirm_conversion?state[]=PAID&status[not]=PAID'), [2, 'state%5B%5D, status%5Bnot%5D'])
})

test('the secret of an API key alone, as a bearer, is a documented credential that works', async () => {
  const { 'x-api-secret': secret } = shop.merchant.headers
  const body = { amount: '5.00', fromAsset: 'EUR', merchantIdentifier: shop.merchant.merchantIdentifier }
  const ask = async (bearer: string | undefined) => {
    const headers = { authorization: `Bearer ${bearer}` }
    return (await shop.host.call('POST', 'request', { headers, body })).status
  }
  assert.deepEqual([await ask(secret), await ask(`${secret}x`)], [200, 401])
  assert.ok(document.components.securitySchemes.secretBearer)
  const create = operationsOf(document).find(({ operation }) => operation.operationId === 'createOrder')?.operation
  assert.ok(create?.security?.some((one) => 'secretBearer' in one))
})

/** Every pattern of the document, and one place of each. */
function findPatterns(value: unknown, place: string, found = new Map<string, string>()): Map<string, string> {
  if (typeof value !== 'object' || value === null) return found
  const { pattern } = value as { pattern?: unknown }
  if (typeof pattern === 'string') found.set(pattern, place)
  for (const [name, inner] of Object.entries(value)) findPatterns(inner, `${place}/${name}`, found)
  return found
}

test('what a pattern refuses is told in words, with an example', async () => {
  const patterns = findPatterns(document.paths, '')
  assert.ok(patterns.size > 10)
  const bare = [...patterns].filter(([pattern]) => {
    const fault = { keyword: 'pattern', instancePath: '/x', schemaPath: '', params: { pattern }, message: 'bare' }
    return toAppError(Object.assign(new Error(), { validation: [fault] })).details?.[0]?.message === 'bare'
  })
  assert.deepEqual(bare, [], 'say it in src/http/failures.ts')
  const ask = async (method: string, path: string, body?: unknown) => {
    const { status, error } = await shop.host.call(method, path, { as: shop.merchant, ...(body ? { body } : {}) })
    return [status, error.details?.[0]]
  }
  const message = 'must be an id: 24 hexadecimal digits, such as 66a1f0c2e4b07d3a5c9e1f20'
  assert.deepEqual(await ask('GET', '/api/next/refunds/nope'), [422, { path: 'id', message }])
  const admin = await logInSuperAdmin(shop.host)
  const { error } = await admin.get('audit-log?before=yesterday')
  assert.match(error.details?.[0]?.message ?? '', /^must be a whole number: digits only, such as 1041$/)
})

test('a name that no object may have is named, and broken JSON is called broken', async () => {
  const send = async (raw: string) => {
    const { status, error } = await shop.host.call('POST', 'request', { as: shop.merchant, raw })
    return [status, error.code, /__proto__/.test(error.message)]
  }
  assert.deepEqual(await send('{"__proto__": {"amount": 5}}'), [400, 'MALFORMED_JSON', true])
  assert.deepEqual(await send('{"goods": {"constructor": {"prototype": 1}}}'), [400, 'MALFORMED_JSON', true])
  assert.deepEqual(await send('{"amount": 5'), [400, 'MALFORMED_JSON', false])
})
