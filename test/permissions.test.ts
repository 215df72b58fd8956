import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { USER_ROLES, type UserRole } from '../src/http/actor.ts'
import { isPermission, PERMISSIONS, type Rule, ruleOf } from '../src/http/permissions.ts'
import { openPasswords } from '../src/users/password.ts'
import {
  Client,
  insertSuperAdmin,
  logIn,
  PASSWORD,
  type Person,
  register,
  registerManager,
} from './harness/accounts.ts'
import { type Answer, startTestService, type TestService } from './harness/service.ts'

/*
 * The permission table against the running service: every documented endpoint × every role × own or foreign object.
 * What is expected follows from the table alone; a new endpoint is tested as soon as it is documented.
 */
type Operation = { method: string; path: string; id: string; permission: string; rule: Rule }
type Objects = { companyId: string; ids: Record<string, string>; orderCode: string; sessionCode: string }
type Caller = { name: string; role: UserRole | 'anyone'; client: Client; headers: Record<string, string>; own: Objects }

let service: TestService
let admin: Client
let operations: Operation[]
const callers: Caller[] = []
let foreign: Objects

/** Bodies with which a request gets past validation. */
const BODIES: Record<string, (objects: Objects) => unknown> = {
  savePayerInformation: ({ orderCode }) => ({ code: orderCode, payerInformation: { firstName: 'A' } }),
  setPayerEmail: () => ({ email: 'a@b.example' }),
  acceptOrder: () => ({ paymentChannel: 'binance' }),
  createOrder: () => ({ amount: 5, fromAsset: 'EUR', merchantIdentifier: 'TILL-1' }),
  addCollector: ({ ids }) => ({ identifier: `T-${Math.random()}`, salePoint: ids['sales-points'] }),
  createSalesPoint: () => ({ name: 'Shop' }),
  createBuyButton: () => ({ name: 'B', websiteUrl: 'https://shop.example', price: '5', currency: 'EUR' }),
  createBuyButtonSession: ({ ids }) => ({ button: ids['buy-buttons'], orderRef: `ref-${Math.random()}` }),
  createApiKey: () => ({ name: 'k', scopes: ['orders:read'] }),
  inviteUser: () => ({ email: `i-${Math.random()}@shop.example`, firstName: 'A', lastName: 'B', role: 'Observer' }),
  attachCompanies: ({ companyId }) => ({ companies: [companyId] }),
  startKyc: ({ orderCode }) => ({ code: orderCode }),
  refuseKyc: () => ({ reason: 'no' }),
  completeEdd: () => ({ outcome: 'refused' }),
  changeWebhookSubscriptions: ({ companyId }) => ({ companyId, events: [] }),
}

/** Operations that name a foreign object in their body. */
const BY_BODY = new Set(['savePayerInformation', 'addCollector', 'createBuyButtonSession', 'startKyc'])

/** Ways in, which the security tests cover; and operations that would end the caller's own session. */
const isTested = ({ permission, id }: Operation): boolean =>
  !/^auth\.(register|login|otp|otpEmail|resetSend|resetChange|refresh|signOut|verifyEmail|password)$/.test(
    permission,
  ) && !/^(changeMe|changePassword|enableTwoFactor|revokeOtherSessions)$/.test(id)

async function makeObjects(boss: Person): Promise<Objects> {
  const { client } = boss
  const make = async (path: string, body: unknown): Promise<Record<string, string>> => {
    const answer = await client.post<Record<string, string>>(path, body)
    assert.equal(answer.status, 200, `${path} ${answer.text}`)
    return answer.data
  }
  const idOf = (made: Record<string, string>): string => made._id ?? ''
  const point = idOf(await make('sales-points', { name: 'Shop' }))
  const till = idOf(await make('collectors/add', { identifier: `M-${Math.random()}`, salePoint: point }))
  const button = await make('buy-buttons', {
    name: 'B',
    websiteUrl: 'https://shop.example',
    price: '5',
    currency: 'EUR',
  })
  const session = await make('buy-button/sessions', { button: idOf(button), orderRef: `ref-${Math.random()}` })
  const key = await make('api-keys', { name: 'k', scopes: ['orders:read'] })
  const cashier = await register(service.baseUrl, { role: 'Cashier' }, client)
  await client.call('PUT', `collectors/${till}`, { cashiers: [cashier.userId] })
  const order = await make('confirm_conversion/request', { amount: 5, fromAsset: 'EUR', merchantIdentifier: till })
  await make(`confirm_conversion/email/${order.code}`, { email: 'payer@example.org' })
  const check = await make('kyc', { code: order.code })
  return {
    companyId: boss.companyId ?? '',
    orderCode: order.code ?? '',
    sessionCode: session.code ?? '',
    ids: {
      'sales-points': point,
      collectors: till,
      'buy-buttons': idOf(button),
      'buy-button': idOf(session),
      'api-keys': idOf(key),
      users: cashier.userId,
      companies: boss.companyId ?? '',
      kyc: check.kycId ?? '',
    },
  }
}

async function freshManager(): Promise<Person> {
  const boss = await registerManager(service.baseUrl)
  await service.db.run(sql`update sessions set second_factor_at = now() where user_id = ${boss.userId}`)
  return boss
}

/** Somebody of this role with objects of its company, and a second factor just given. */
async function makeCaller(role: UserRole): Promise<Caller> {
  const boss = await freshManager()
  const own = await makeObjects(boss)
  const caller = (client: Client): Caller => ({ name: role, role, client, headers: {}, own })
  if (role === 'Manager') return caller(boss.client)
  if (role === 'SuperAdmin') return caller(admin)
  if (role === 'Association') {
    const person = await register(service.baseUrl, { role, associationName: 'Amis' })
    await service.db.run(sql`update users set company_id = ${own.companyId} where id = ${person.userId}`)
    await service.db.run(sql`update sessions set second_factor_at = now() where user_id = ${person.userId}`)
    return caller(person.client)
  }
  const by = role === 'SuperManager' || role === 'Service' ? admin : boss.client
  const place = role === 'Service' ? { companyName: own.companyId } : {}
  const person = await register(service.baseUrl, { role, ...place }, role === 'SimpleUser' ? undefined : by)
  await service.db.run(sql`update sessions set second_factor_at = now() where user_id = ${person.userId}`)
  if (role === 'SuperManager')
    await admin.call('PUT', `users/${person.userId}/companies`, { companies: [own.companyId] })
  if (role === 'Cashier')
    await boss.client.call('PUT', `collectors/${own.ids.collectors}`, { cashiers: [person.userId] })
  if (role === 'SimpleUser') {
    const body = { amount: 5, fromAsset: 'EUR', merchantIdentifier: own.ids.collectors }
    own.orderCode = (await person.client.post<{ code: string }>('confirm_conversion/request', body)).data.code
  }
  return caller(person.client)
}

function pathOf({ path, id }: Operation, objects: Objects): string | null {
  const place = path.split('/')[3] ?? ''
  const own = objects.ids[place]
  const filled = path
    .replace('{code}', id === 'getBuyButtonSessionByCode' ? objects.sessionCode : objects.orderCode)
    .replace('{id}', own ?? '{id}')
  return filled.includes('{') ? null : filled
}

const send = (operation: Operation, caller: Caller, path: string, objects: Objects): Promise<Answer> => {
  const body = BODIES[operation.id]?.(objects) ?? (operation.method === 'GET' ? undefined : {})
  return caller.client.call(operation.method, path, body, caller.headers)
}

before(async () => {
  service = await startTestService({ workers: true })
  const adminEmail = await insertSuperAdmin(service.db, await openPasswords().hash(PASSWORD))
  admin = await logIn(service.baseUrl, adminEmail, 'auth/login')
  foreign = await makeObjects(await freshManager())
  for (const role of USER_ROLES) callers.push(await makeCaller(role))
  const merchant = await freshManager()
  const own = await makeObjects(merchant)
  const scopes = ['orders:read', 'orders:write', 'refunds:write', 'sessions:write', 'webhooks:read']
  const key = await merchant.client.post<{ apiKey: string; apiSecret: string }>('api-keys', { name: 'all', scopes })
  const headers = { 'x-api-key': key.data.apiKey, 'x-api-secret': key.data.apiSecret }
  callers.push({ name: 'API key', role: 'Service', client: new Client(service.baseUrl), headers, own })
  callers.push({ name: 'anyone', role: 'anyone', client: new Client(service.baseUrl), headers: {}, own })
  const answer = await fetch(`${service.baseUrl}/openapi.json`)
  const { paths } = (await answer.json()) as {
    paths: Record<string, Record<string, { operationId: string; 'x-permission': string }>>
  }
  operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) => {
      const permission = operation['x-permission']
      if (!isPermission(permission)) throw new Error(`${method} ${path} names no row of the table`)
      const facts = { method: method.toUpperCase(), path, id: operation.operationId }
      return [{ ...facts, permission, rule: ruleOf(permission) }]
    }),
  )
  const weight = ({ method }: Operation): number => ['GET', 'POST', 'PUT', 'DELETE'].indexOf(method)
  operations.sort((left, right) => weight(left) - weight(right))
})
after(() => service.stop())

function mayCall({ role, name }: Caller, { rule }: Operation): boolean {
  if (rule.roles === 'anyone') return true
  if (role === 'anyone' || !rule.roles.includes(role)) return false
  return name !== 'API key' || rule.scope !== undefined
}

const OWN_ACCOUNT = /^(auth\.|users\.me$)/
const namesOf = (role: UserRole): string[] =>
  Object.entries(PERMISSIONS as Record<string, Rule>)
    .filter(([name, { roles }]) => roles !== 'anyone' && roles.includes(role) && !OWN_ACCOUNT.test(name))
    .map(([name]) => name)

test('the table gives the narrow roles what was decided, and nothing more', () => {
  const sale = [
    'orders.create',
    'orders.cancel',
    'orders.expire',
    'orders.payer',
    'payments.accept',
    'payments.confirm',
  ]
  const reading = ['orders.list', 'orders.links', 'orders.history', 'orders.events', 'channels.read']
  assert.deepEqual(namesOf('SimpleUser').sort(), [...sale, ...reading].sort())
  assert.deepEqual(namesOf('Cashier').sort(), [...sale, ...reading, 'orders.summary', 'tills.read'].sort())
  const writing = operations.filter(
    ({ method, permission, rule }) =>
      method !== 'GET' && rule.roles !== 'anyone' && rule.roles.includes('Observer') && !OWN_ACCOUNT.test(permission),
  )
  assert.deepEqual(writing, [], 'an Observer reads')
  const hidden =
    /^(webhooks\.(secret|regenerate)|channels\.(account|exchanges)|orders\.download|payers\.|apiKeys\.|users\.|audit\.|companies\.)/
  for (const role of ['Observer', 'Cashier', 'SimpleUser', 'Service'] as const)
    assert.deepEqual(
      namesOf(role).filter((name) => hidden.test(name) && !(role === 'Service' && name === 'orders.download')),
      [],
      role,
    )
  assert.deepEqual(
    Object.keys(PERMISSIONS).filter(
      (name) => !namesOf('SuperAdmin').includes(name) && namesOf('Manager').includes(name),
    ),
    [],
    'a SuperAdmin may do everything that a Manager may',
  )
  assert.deepEqual(namesOf('Association'), namesOf('Manager'))
  for (const name of ['webhooks.secret', 'webhooks.regenerate', 'apiKeys.create', 'channels.account'] as const)
    assert.equal(ruleOf(name).stepUp, true, `${name} needs a fresh second factor`)
})

test('every endpoint × role: those outside the table get 401 or 403, those inside get past the door', async (t) => {
  let cells = 0
  const wrong: string[] = []
  for (const operation of operations.filter(isTested)) {
    for (const caller of callers) {
      const path = pathOf(operation, caller.own) ?? operation.path.replaceAll(/\{\w+\}/g, '0'.repeat(24))
      const { status, text } = await send(operation, caller, path, caller.own)
      const refused = caller.role === 'anyone' ? 401 : 403
      const allowed = mayCall(caller, operation)
      // operators belong to no company: they get past the table and are told to name one
      const homeless = allowed && /needs a user of a company/.test(text)
      const right = allowed ? (status !== 401 && status !== 403) || homeless : status === refused
      if (!right || status >= 500)
        wrong.push(
          `${caller.name} ${operation.method} ${path} (${operation.permission}): ${status} ${text.slice(0, 150)}`,
        )
      cells += 1
    }
  }
  t.diagnostic(`${cells} cells of ${operations.length} endpoints × ${callers.length} callers`)
  assert.deepEqual(wrong, [])
})

test('every endpoint × role with a foreign object: 404 and no data, whether the role may do it at home or not', async (t) => {
  let cells = 0
  const wrong: string[] = []
  const secrets = [foreign.companyId, ...Object.values(foreign.ids)]
  for (const operation of operations.filter(isTested)) {
    const path = pathOf(operation, foreign)
    const named = /\{/.test(operation.path) || BY_BODY.has(operation.id)
    if (path === null || !named || operation.rule.roles === 'anyone') continue
    for (const caller of callers.filter(({ role }) => role !== 'SuperAdmin')) {
      const { status, text } = await send(operation, caller, path, foreign)
      const expected = mayCall(caller, operation) ? [404] : [caller.role === 'anyone' ? 401 : 403]
      const leaked = secrets.some((secret) => text.includes(secret))
      // a channel that is not set up is refused before any order is looked at
      if (/CHANNEL_NOT_AVAILABLE/.test(text)) continue
      if (!expected.includes(status) || leaked)
        wrong.push(`${caller.name} ${operation.method} ${path} (${operation.id}): ${status} ${text.slice(0, 150)}`)
      cells += 1
    }
  }
  t.diagnostic(`${cells} cells`)
  assert.deepEqual(wrong, [])
})

test('replay: two companies that repeat each other’s recorded requests get no 2xx and no data', async (t) => {
  const [left, right] = [await freshManager(), await freshManager()]
  const [mine, theirs] = [await makeObjects(left), await makeObjects(right)]
  let cells = 0
  const wrong: string[] = []
  for (const [client, objects] of [
    [left.client, theirs],
    [right.client, mine],
  ] as const) {
    const secrets = [objects.companyId, ...Object.values(objects.ids)]
    for (const operation of operations.filter(isTested)) {
      const path = pathOf(operation, objects)
      const isPublic = operation.rule.roles === 'anyone'
      const named = operation.path.includes('{') || BY_BODY.has(operation.id)
      if (path === null || isPublic || !named) continue
      const body = BODIES[operation.id]?.(objects) ?? (operation.method === 'GET' ? undefined : {})
      const { status, text } = await client.call(operation.method, path, body)
      if (status < 400 || secrets.some((secret) => text.includes(secret)))
        wrong.push(`${operation.method} ${path}: ${status} ${text.slice(0, 150)}`)
      cells += 1
    }
    const lists = operations.filter(
      ({ method, path, rule }) => method === 'GET' && !path.includes('{') && rule.roles !== 'anyone',
    )
    for (const { path } of lists) {
      const { text } = await client.call('GET', path)
      if (secrets.some((secret) => text.includes(secret))) wrong.push(`GET ${path} shows foreign objects`)
      const byName = await client.call('GET', `${path}?companyId=${objects.companyId}`)
      if (secrets.some((secret) => byName.text.includes(secret)))
        wrong.push(`GET ${path}?companyId= shows foreign objects`)
    }
  }
  t.diagnostic(`${cells} requests`)
  assert.deepEqual(wrong, [])
})

test('a person that waits for approval sees the own profile and nothing else', async () => {
  const company = await registerManager(service.baseUrl)
  const waiting = await register(service.baseUrl, { role: 'Cashier', companyName: company.companyId })
  const wrong: string[] = []
  for (const operation of operations.filter(isTested)) {
    if (operation.rule.roles === 'anyone') continue
    const path = operation.path.replaceAll(/\{\w+\}/g, '0'.repeat(24))
    const { status, error } = await waiting.client.call(
      operation.method,
      path,
      operation.method === 'GET' ? undefined : {},
    )
    const open = operation.rule.evenInvalid === true && operation.rule.stepUp !== true
    if (open ? status === 401 : status !== 403) wrong.push(`${operation.method} ${path}: ${status} ${error?.message}`)
  }
  assert.deepEqual(wrong, [])
})
