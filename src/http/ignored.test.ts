import assert from 'node:assert/strict'
import { test } from 'node:test'
import Fastify from 'fastify'
import { Type } from '../kernel/schema.ts'
import { registerIgnored } from './ignored.ts'

const querystring = Type.Object({ companyId: Type.Optional(Type.String()) })

async function queryOf(url: string): Promise<{ query: unknown; ignored: unknown }> {
  const app = Fastify()
  registerIgnored(app)
  const config = { permission: 'orders.list' }
  app.get('/named', { config, schema: { querystring } }, async ({ query }) => ({ query }))
  app.get('/none', { config }, async ({ query }) => ({ query }))
  app.get('/page', { config: { open: true } }, async ({ query }) => ({ query }))
  const answer = await app.inject(url)
  return { ...answer.json(), ignored: answer.headers['comptoir-ignored'] }
}

test('no handler of the API sees a parameter that its schema does not name, and the answer names it', async () => {
  const ignored = 'companyIds, role'
  const named = await queryOf('/named?companyId=a&companyIds=b&role=SuperAdmin&companyIds=c')
  assert.deepEqual(named, { query: { companyId: 'a' }, ignored })
  assert.deepEqual(await queryOf('/none?companyIds=b&role=x'), { query: {}, ignored })
  assert.deepEqual(await queryOf('/none?__proto__=b'), { query: {}, ignored: '__proto__' })
})

test('of a choice between objects, the names of each are known', async () => {
  const choice = Type.Union([Type.Object({ a: Type.String() }), Type.Object({ b: Type.String() }), Type.Null()])
  const app = Fastify()
  registerIgnored(app)
  const schema = { body: Type.Object({ choice }) }
  app.post('/chosen', { config: { permission: 'orders.list' }, schema }, async ({ body }) => body)
  const payload = { choice: { a: '1', b: '2', c: '3' } }
  const answer = await app.inject({ method: 'POST', url: '/chosen', payload })
  assert.deepEqual(answer.json(), { choice: { a: '1', b: '2' } })
  assert.equal(answer.headers['comptoir-ignored'], 'choice.c')
})

test('what the schema refuses names what it did not know: a typo is why the field is missing', async () => {
  const app = Fastify()
  registerIgnored(app)
  const schema = { body: Type.Object({ amount: Type.String() }), querystring }
  app.post('/order', { config: { permission: 'orders.create' }, schema }, async ({ body }) => body)
  const post = async (payload: object, url = '/order') => {
    const { statusCode, headers } = await app.inject({ method: 'POST', url, payload })
    return [statusCode, headers['comptoir-ignored']]
  }
  assert.deepEqual(await post({ amout: 5 }, '/order?companyID=a'), [400, 'amout, companyID'])
  assert.deepEqual(await post({}), [400, undefined])
  assert.deepEqual(await post({ amount: '5', amout: 5 }), [200, 'amout'])
})

test('a page reads its language, which no schema names', async () => {
  assert.deepEqual(await queryOf('/page?lang=fr'), { query: { lang: 'fr' }, ignored: undefined })
})

test('a route whose names cannot be told from others stops the start', () => {
  const app = Fastify()
  registerIgnored(app)
  const route = (schema: object) => () => app.post('/any', { schema }, async () => null)
  const any = Type.Record(Type.String(), Type.String())
  assert.throws(route({ querystring: any }), /takes a querystring that does not say its names/)
  assert.throws(route({ body: any }), /takes a body that does not say its names/)
})
