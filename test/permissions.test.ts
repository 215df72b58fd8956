import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { sql, type Tx } from '../src/db/db.ts'
import type { OpenApi } from '../src/http/openapi/document.ts'
import { Client, register, registerManager } from './harness/accounts.ts'
import { CASES, type Case, ELSEWHERE, type Made, type Place } from './harness/permission-cases.ts'
import {
  affectedTables,
  type Caller,
  changedTables,
  type Home,
  makeCaller,
  makeKeyCaller,
  newId,
  openSnapshots,
  openStock,
  openWorld,
  ROLES,
  type Snapshots,
  type World,
} from './harness/permission-world.ts'
import { type Answer, eventually } from './harness/service.ts'
import { openStoredAnswers, STORED_APART, type StoredAnswers } from './harness/stored-answers.ts'

/*
 * Who may do what, tried on the running service: each documented operation × each role, key and stranger × an object of
 * the own company, of another company and of a colleague. What is expected is read from docs/permissions.md, never from
 * the code. A success must have its effect, a refusal must change nothing and say nothing.
 */
const ROOT = join(import.meta.dirname, '..')

type Row = { roles: Set<string>; scope: string | null; anyone: boolean; factor: boolean }
type Operation = { id: string; method: string; path: string; permission: string }

/** The table as people read it. */
function readTable(): Map<string, Row> {
  const lines = readFileSync(join(ROOT, 'docs/permissions.md'), 'utf8').split('\n')
  const cells = (line: string): string[] =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim())
  const [, ...header] = cells(lines.find((line) => line.startsWith('| Permission')) ?? '')
  assert.deepEqual(header, [...ROLES, 'API key with scope', 'Anyone', 'Second factor'])
  const rows = lines.filter((line) => line.startsWith('| `')).map(cells)
  return new Map(
    rows.map(([name = '', ...values]) => {
      const [scope = '', anyone, factor] = values.slice(ROLES.length)
      const roles = new Set(ROLES.filter((_, index) => values[index] === 'yes'))
      const row = { roles, scope: scope === '–' ? null : scope.replaceAll('`', '') }
      return [name.replaceAll('`', ''), { ...row, anyone: anyone === 'yes', factor: factor === 'fresh' }]
    }),
  )
}

const table = readTable()
const scopes = [...new Set([...table.values()].flatMap(({ scope }) => scope ?? []))]
let world: World
let snapshot: Snapshots['snapshot']
let stored: StoredAnswers
let closeSnapshots: Snapshots['close'] | undefined
let operations: Operation[]
const callers: Caller[] = []
const stale: Caller[] = []
/** Whose sessions end as on another node: this one still holds them for some seconds. */
const former: Caller[] = []
/** By scope: a key that has all others. */
const lacking = new Map<string, Caller>()

before(async () => {
  world = await openWorld([...scopes, 'passwords:write'])
  for (const role of ROLES) {
    stale.push(await makeCaller(world, role, false))
    callers.push(await makeCaller(world, role, true))
  }
  for (const role of ['Manager', 'SuperAdmin'] as const)
    former.push({ ...(await makeCaller(world, role, true)), name: `former ${role}` })
  callers.push(await makeKeyCaller(world, 'API key', [...scopes, 'passwords:write']))
  callers.push({ name: 'anyone', role: 'anyone', client: new Client(world.shop.host.baseUrl), headers: {}, userId: '' })
  for (const scope of scopes) {
    const others = [...scopes.filter((other) => other !== scope), 'passwords:write']
    lacking.set(scope, await makeKeyCaller(world, `API key without ${scope}`, others))
  }
  await openStock(world)
  await world.shop.host.service.stopWorkers()
  ;({ snapshot, close: closeSnapshots } = await openSnapshots(world))
  const answer = await fetch(`${world.shop.host.baseUrl}/openapi.json`)
  const document = (await answer.json()) as OpenApi
  stored = await openStoredAnswers(world, document)
  const { paths } = document
  operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...{ id: operation.operationId, method: method.toUpperCase(), path },
      permission: operation['x-permission'] ?? '',
    })),
  )
})
after(async () => {
  await closeSnapshots?.()
  await world?.stop()
})

const rowOf = ({ row }: Case): Row => {
  const found = table.get(row)
  assert.ok(found, `docs/permissions.md has no row ${row}`)
  return found
}

const isAllowed = ({ role }: Caller, row: Row): boolean =>
  row.anyone || (role === 'apiKey' ? row.scope !== null : row.roles.has(role))

/** @throws when a place of the path has nothing to put in: such an endpoint would go untried */
function pathOf({ id, path }: Operation, { params = {}, query = {} }: Made): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (place, name: string) => {
    const value = params[name]
    assert.ok(value, `${id}: nothing fills ${place}; give it a real object in permission-cases.ts`)
    return encodeURIComponent(value)
  })
  const search = new URLSearchParams(query).toString()
  return search === '' ? filled : `${filled}?${search}`
}

function send(operation: Operation, caller: Caller, made: Made, key?: string): Promise<Answer> {
  const body = made.body ?? (operation.method === 'GET' || operation.method === 'DELETE' ? undefined : {})
  return caller.client.call(operation.method, pathOf(operation, made), body, {
    ...caller.headers,
    ...(key !== undefined && { 'idempotency-key': key }),
  })
}

type Refusal = { status: number; code: string | RegExp }

/** Everyone is refused in the right words, sees nothing, and nothing changed. */
async function expectRefusals(
  operation: Operation,
  made: Made,
  expected: readonly [Caller, Refusal][],
  hidden: readonly string[],
): Promise<string[]> {
  const wrong: string[] = []
  const start = await snapshot()
  for (const [caller, { status, code }] of expected) {
    const answer = await send(operation, caller, made)
    const codeFits = typeof code === 'string' ? answer.error?.code === code : code.test(answer.error?.code ?? '')
    const leaked = hidden.filter((text) => text !== '' && answer.text.includes(text))
    if (answer.status === status && codeFits && leaked.length === 0) continue
    wrong.push(`${caller.name} ${operation.id}: ${status} ${code} expected, ${answer.text.slice(0, 200)} ${leaked}`)
  }
  const changed = changedTables(start, await snapshot())
  if (changed.length > 0) wrong.push(`${operation.id}: a refusal changed ${changed}`)
  return wrong
}

const FORBIDDEN: Refusal = { status: 403, code: 'FORBIDDEN' }
const NOT_FOUND: Refusal = { status: 404, code: /NOT_FOUND$/ }
const refusalOf = ({ role }: Caller): Refusal => (role === 'anyone' ? { status: 401, code: 'UNAUTHORIZED' } : FORBIDDEN)

const place = (caller: Caller, home: Home, colleague = false): Place => ({ world, home, caller, colleague })

const SALE = 'a sale: a lock of its seller in each would cost every sale, and keys and tills make them, too'
const TAKES = 'takes rights away, and gives none'
const UNDONE = 'moves no money, and whoever remains can undo it'
const REPEATS = 'asks or sends again what is there already'

/** Rows, and one operation, that a session which has just ended may still use, and why it need not be locked. */
const UNLOCKED: Record<string, string> = {
  ...{ 'orders.create': SALE, 'orders.cancel': SALE, 'orders.expire': SALE, 'kyc.start': SALE },
  ...{ 'payments.accept': SALE, 'payments.confirm': SALE, 'payments.transaction': SALE },
  ...{ 'buttonSessions.write': SALE, 'buttonSessions.end': SALE },
  ...{ 'auth.sessions': TAKES, 'apiKeys.revoke': TAKES, 'tillDevices.revoke': TAKES },
  ...{ 'tills.write': UNDONE, 'staticLinks.write': UNDONE, 'buttons.write': UNDONE, 'announcements.write': UNDONE },
  ...{ 'webhooks.redeliver': REPEATS, 'webhooks.test': REPEATS, 'channels.accounts': REPEATS },
  ...{ 'audit.verify': REPEATS, 'auth.sendVerification': REPEATS },
  testWebhookSecret: 'sends one test, signed with what is not in use',
}

/** Reads of what is of use after the session, too. */
const HANDS_OUT = ['getWebhookSecret', 'getWebhookDeliveryAsCurl', 'downloadRefundProof', 'getPayerInformation']

const mayDo = (caller: Caller, one: Case): boolean =>
  isAllowed(caller, rowOf(one)) && (one.operatorsMoney !== true || caller.role === 'SuperAdmin')

/** Who tries the operation with a session that has just ended; undefined where that may still work. */
const formerFor = ({ id, method }: Operation, one: Case): Caller | undefined =>
  (method === 'GET' && !HANDS_OUT.includes(id)) || rowOf(one).anyone || one.row in UNLOCKED || id in UNLOCKED
    ? undefined
    : former.find((caller) => mayDo(caller, one))

/** The tables in which a transaction that waits for this one has locked or written rows. */
async function listHeldTables(tx: Tx): Promise<string[]> {
  const rows = await tx.many<{ name: string }>(sql`
    select distinct c.relname as name from pg_locks l join pg_class c on c.oid = l.relation and c.relkind = 'r'
      and c.relname <> 'row_changes'
    where l.mode in ('RowShareLock', 'RowExclusiveLock') and l.pid in (
      select pid from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid)))`)
  return rows.map(({ name }) => name)
}

/** The session ends while the request is waiting for it: the request holds nothing that others wait for meanwhile. */
async function tryFormer(operation: Operation, caller: Caller, made: Made): Promise<string[]> {
  const { db } = world.shop.host
  await eventually(
    () => caller.client.get('users/me'),
    ({ status }) => status === 200,
  )
  const { sent, held } = await db.tx(async (tx) => {
    await tx.run(sql`update sessions set revoked_at = now() where user_id = ${caller.userId}`)
    let isAnswered = false
    const sent = send(operation, caller, made).finally(() => {
      isAnswered = true
    })
    const held = await eventually(
      () => listHeldTables(tx),
      (tables) => isAnswered || tables.length > 0,
    )
    return { sent, held: held.filter((name) => name !== 'users' && name !== 'sessions') }
  })
  const { status, text } = await sent
  await db.run(sql`update sessions set revoked_at = null where user_id = ${caller.userId}`)
  const wrong = status === 401 ? [] : [`${caller.name} ${operation.id}: ${status} ${text.slice(0, 200)}`]
  return held.length === 0 ? wrong : [...wrong, `${caller.name} ${operation.id} holds ${held} while it waits`]
}

async function tryDenied(operation: Operation, one: Case): Promise<string[]> {
  const row = rowOf(one)
  const denied = callers.filter((caller) => !mayDo(caller, one)).map((caller) => [caller, refusalOf(caller)] as const)
  const keyless = row.scope === null ? undefined : lacking.get(row.scope)
  const stepUp: Refusal = { status: 403, code: 'STEP_UP_REQUIRED' }
  const unproven = row.factor ? stale.filter((caller) => isAllowed(caller, row)) : []
  const expected: [Caller, Refusal][] = [
    ...denied.map(([caller, refusal]): [Caller, Refusal] => [caller, refusal]),
    ...(keyless ? [[keyless, FORBIDDEN] as [Caller, Refusal]] : []),
    ...unproven.map((caller): [Caller, Refusal] => [caller, stepUp]),
  ]
  const ended = formerFor(operation, one)
  const first = expected[0]?.[0] ?? ended
  if (!first) return []
  const scene = place(first, world.own)
  const made = await one.make(scene)
  const wrong = await expectRefusals(operation, made, expected, [])
  if (ended) wrong.push(...(await tryFormer(operation, ended, made)))
  await one.after?.(scene, { data: null })
  return wrong
}

/** Another company's object, or that company named in the request. */
async function tryForeign(operation: Operation, one: Case): Promise<string[]> {
  const row = rowOf(one)
  if (row.anyone || one.ownOnly) return []
  const allowed = callers.filter((caller) => isAllowed(caller, row) && caller.role !== 'SuperAdmin')
  // a session of any shop is open to its buyers
  const expected = allowed
    .filter(({ role }) => one.row !== 'orders.create' || role !== 'SimpleUser')
    .map((caller): [Caller, Refusal] => [caller, one.foreign ?? NOT_FOUND])
  const [first] = expected
  if (!first) return []
  const scene = place(first[0], world.foreign)
  const made = await one.make(scene)
  const wrong = await expectRefusals(operation, made, expected, [made.shows ?? ''])
  await one.after?.(scene, { data: null })
  return wrong
}

/** An order of the own company, but of another till or another maker. */
async function tryColleague(operation: Operation, one: Case): Promise<string[]> {
  if (!one.personal) return []
  const lower = callers.filter(
    ({ role }) => role === 'Cashier' || (role === 'SimpleUser' && one.row !== 'orders.create'),
  )
  const expected = lower
    .filter((caller) => isAllowed(caller, rowOf(one)))
    .map((caller): [Caller, Refusal] => [caller, one.foreign ?? NOT_FOUND])
  const [first] = expected
  if (!first) return []
  const made = await one.make(place(first[0], world.own, true))
  return expectRefusals(operation, made, expected, [])
}

type Sent = { name: string; scene: Place; made: Made; answer: Answer }

/** An allowed request is answered, shows what it is asked for, and nothing of the other company. */
function wrongIn({ method }: Operation, { name, scene, made, answer }: Sent): string[] {
  const wrong: string[] = []
  if (answer.status !== 200) wrong.push(`${name}: ${answer.status} ${answer.text.slice(0, 300)}`)
  if (made.shows !== undefined && method === 'GET' && !answer.text.includes(made.shows))
    wrong.push(`${name}: does not show ${made.shows}: ${answer.text.slice(0, 200)}`)
  const { companyId, till, button } = world.foreign
  const leaked = [companyId, till, button].filter((text) => answer.text.includes(text))
  if (scene.caller.role !== 'SuperAdmin' && leaked.length > 0) wrong.push(`${name}: shows another company’s ${leaked}`)
  return wrong
}

async function trySome(operation: Operation, one: Case, some: readonly Caller[]): Promise<string[]> {
  const scenes = some.map((caller) => place(caller, world.own))
  const prepared: { scene: Place; made: Made }[] = []
  for (const scene of scenes) prepared.push({ scene, made: await one.make(scene) })
  const start = await snapshot()
  const sent: Sent[] = []
  const wrong: string[] = []
  for (const { scene, made } of prepared) {
    const name = `${scene.caller.name} ${operation.id}`
    const key = operation.method === 'POST' ? newId() : undefined
    const answer = await send(operation, scene.caller, made, key)
    sent.push({ name, scene, made, answer })
    if (key !== undefined && answer.status === 200) wrong.push(...(await stored.wrongIn(operation.id, answer, key)))
  }
  const end = await snapshot()
  const changed = changedTables(start, end)
  const names = some.map(({ name }) => name).join(', ')
  wrong.push(...sent.flatMap((each) => wrongIn(operation, each)))
  if (operation.method === 'GET' && changed.length > 0)
    wrong.push(`${names} ${operation.id}: reading changed ${changed}`)
  if (operation.method !== 'GET' && !one.silent && affectedTables(start, end).length === 0)
    wrong.push(`${names} ${operation.id}: no effect`)
  for (const { scene, answer } of sent) await one.after?.(scene, answer)
  return wrong
}

/** Whose reading changes something is looked for in all of them at once; each write has an effect of its own. */
async function tryAllowed(operation: Operation, one: Case): Promise<string[]> {
  const allowed = callers.filter((each) => mayDo(each, one))
  const isTogether = operation.method === 'GET' && !one.after
  const wrong: string[] = []
  for (const some of isTogether ? [allowed] : allowed.map((caller) => [caller]))
    wrong.push(...(await trySome(operation, one, some)))
  return wrong
}

test('every documented operation has its case, and asks for the row that the case names', () => {
  const known = [...Object.keys(CASES), ...Object.keys(ELSEWHERE)].sort()
  assert.deepEqual(operations.map(({ id }) => id).sort(), known)
  const moved = operations.filter(({ id, permission }) => CASES[id] && CASES[id].row !== permission)
  assert.deepEqual(moved, [], 'the row that an endpoint asks for')
  for (const file of Object.values(ELSEWHERE)) assert.ok(existsSync(join(ROOT, file)), file)
  const used = new Set(operations.map(({ permission }) => permission))
  const writes = operations.filter(({ method }) => method !== 'GET').flatMap(({ id, permission }) => [id, permission])
  assert.deepEqual(
    Object.keys(UNLOCKED).filter((name) => !writes.includes(name)),
    [],
    'exceptions that nothing needs',
  )
  const posts = operations.filter(({ method }) => method === 'POST').map(({ id }) => id)
  assert.deepEqual(
    Object.keys(STORED_APART).filter((id) => !posts.includes(id) || !CASES[id]),
    [],
    'exceptions that nothing needs',
  )
  assert.deepEqual(
    [...table.keys()].filter((name) => !used.has(name)),
    [],
    'rows that no operation asks for',
  )
})

// before the cases, which plant differences of the books: those stop refunds
test('only who may start refunds reads the payer’s link of one: whoever just reads refunds could name a wallet with it', async () => {
  const { getRefund } = CASES
  const [starts, reads] = [table.get('refunds.revert'), table.get('refunds.read')]
  const readOnly = lacking.get('refunds:write')
  assert.ok(getRefund && starts && reads && readOnly)
  const wrong: string[] = []
  for (const caller of [...callers, readOnly].filter((each) => isAllowed(each, reads))) {
    const { params } = await getRefund.make(place(caller, world.own))
    const path = `refunds/${params?.id}`
    const one = await caller.client.call<{ addressUrl: string | null }>('GET', path, undefined, caller.headers)
    const list = await caller.client.call('GET', 'refunds?limit=100', undefined, caller.headers)
    const shown = [one.data.addressUrl !== null, /"addressUrl":"http/.test(list.text)]
    const expected = caller !== readOnly && isAllowed(caller, starts)
    if (shown.some((each) => each !== expected)) wrong.push(`${caller.name}: ${shown}, not ${expected}`)
  }
  assert.deepEqual(wrong, [])
})

for (const [id, one] of Object.entries(CASES)) {
  test(`${id}: as docs/permissions.md says`, async () => {
    // what is fresh stays fresh, however long all of this takes
    await world.shop.host.db.run(sql`
      update sessions set second_factor_at = now() where second_factor_at > now() - interval '5 minutes'`)
    const operation = operations.find((each) => each.id === id)
    assert.ok(operation, `${id} is not documented`)
    const wrong = [
      ...(await tryDenied(operation, one)),
      ...(await tryForeign(operation, one)),
      ...(await tryColleague(operation, one)),
      ...(await tryAllowed(operation, one)),
    ]
    assert.deepEqual(wrong, [])
  })
}

test('a person that waits for approval sees the own profile and nothing else', async () => {
  const company = await registerManager(world.shop.host.baseUrl)
  const waiting = await register(world.shop.host.baseUrl, { role: 'Cashier', companyName: company.companyId })
  const open = /^(auth\.(sendVerification|sessions|password|twoFactor)|users\.me)$/
  const wrong: string[] = []
  for (const { method, path, permission, id } of operations) {
    const row = table.get(permission)
    if (!row || row.anyone) continue
    const filled = path.replaceAll(/\{\w+\}/g, '0'.repeat(24))
    const { status, error } = await waiting.client.call(method, filled, method === 'GET' ? undefined : {})
    if (open.test(permission) ? status === 401 : status !== 403) wrong.push(`${id}: ${status} ${error?.message}`)
  }
  assert.deepEqual(wrong, [])
})
