import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { openDb, type Sql, sql } from '../../src/db/db.ts'
import { EVENTS } from '../../src/webhooks/outbox/events.ts'
import {
  Client,
  insertSuperAdmin,
  logIn,
  newEmail,
  type Person,
  passwordHash,
  register,
  registerManager,
} from './accounts.ts'
import { newAddress } from './refunds.ts'
import { eventually } from './service.ts'
import { openShop, type Shop } from './shop.ts'

export const ROLES = [
  'SuperAdmin',
  'SuperManager',
  'Manager',
  'Association',
  'Cashier',
  'Observer',
  'SimpleUser',
  'Service',
] as const
export type Role = (typeof ROLES)[number]

/** Somebody who sends requests: a person of a role, a key, or nobody. */
export type Caller = {
  name: string
  role: Role | 'apiKey' | 'anyone'
  client: Client
  headers: Record<string, string>
  userId: string
}

export const isOperator = ({ role }: Caller): boolean => role === 'SuperAdmin' || role === 'SuperManager'

type Order = { code: string; id: string }
type PaidOrder = Order & { units: bigint }

/** A company with its people, its tills and a stock of orders in the states that decisions are made about. */
export type Home = {
  companyId: string
  name: string
  boss: Client
  /** A server of the company. */
  server: Record<string, string>
  till: string
  /** A till that no cashier was given. */
  otherTill: string
  button: string
  /** Who made the orders, as far as a SimpleUser is concerned. */
  simpleUserId: string | null
  stock: { plain: PaidOrder[]; addressed: PaidOrder[]; late: Order[] }
}

export type World = {
  shop: Shop
  admin: Client
  own: Home
  foreign: Home
  stop(): Promise<void>
}

export const newId = (): string => randomBytes(12).toString('hex')
const must = <Data>(answer: { status: number; text: string; data: Data }): Data => {
  assert.equal(answer.status, 200, answer.text)
  return answer.data
}

/** A second factor that is fresh, or one that is five minutes and a second old. */
export const setFactor = async (world: Pick<World, 'shop'>, userId: string, fresh: boolean): Promise<void> =>
  void (await world.shop.host.db.run(
    fresh
      ? sql`update sessions set second_factor_at = now() where user_id = ${userId}`
      : sql`update sessions set second_factor_at = now() - interval '301 seconds' where user_id = ${userId}`,
  ))

/** An order of the company as its server makes one; a colleague's is at another till and of another maker. */
export async function makeOrder(
  world: World,
  home: Home,
  options: { colleague?: boolean; body?: Record<string, unknown>; payer?: string } = {},
): Promise<Order> {
  const { host } = world.shop
  const merchantIdentifier = options.colleague ? home.otherTill : home.till
  const body = { amount: 50, fromAsset: 'EUR', merchantIdentifier, ...options.body }
  const made = must(
    await host.call<{ code: string; order: { _id: string } }>('POST', 'request', { body, headers: home.server }),
  )
  const id = made.order._id
  if (!options.colleague && home.simpleUserId !== null)
    await host.db.run(sql`update orders set created_by = ${home.simpleUserId} where id = ${id}`)
  if (options.payer !== undefined) {
    const payerInformation = { email: options.payer, firstName: `Ada-${id}` }
    const path = 'payer-information'
    must(await host.call('POST', path, { headers: home.server, body: { code: made.code, payerInformation } }))
  }
  return { code: made.code, id }
}

/** Orders that wait for their money on the chain. */
async function makeAwaiting(world: World, home: Home, userAddress?: string) {
  const { host, chain } = world.shop
  const order = await makeOrder(world, home)
  const body = { paymentChannel: 'crypto', network: chain.chainId, ...(userAddress ? { userAddress } : {}) }
  const path = `accept/${order.code}`
  const data = must(
    await host.call<{ toAddress: string; tokenAmount: string }>('POST', path, { headers: home.server, body }),
  )
  return { ...order, to: data.toAddress, units: BigInt(data.tokenAmount.replace('.', '')) }
}

/** Pays for the stock in a few blocks: all of it is final before the workers stop. */
async function fillStock(world: World, home: Home, counts: Record<keyof Home['stock'], number>): Promise<void> {
  const { host, chain } = world.shop
  const make = async (count: number, userAddress?: string) => {
    const made = []
    for (let index = 0; index < count; index += 1) made.push(await makeAwaiting(world, home, userAddress))
    return made
  }
  const plain = await make(counts.plain)
  const addressed = await make(counts.addressed, newAddress())
  const late = await make(counts.late)
  for (const { code } of late) must(await host.call('POST', `cancel/${code}`, { headers: home.server }))
  for (const { to, units } of [...plain, ...addressed, ...late]) await chain.send({ to, units })
  await chain.mine(5)
  const paid = () =>
    host.db.one<{ paid: number; late: number }>(sql`
      select (select count(*)::int from orders where company_id = ${home.companyId} and status = 'PAID') as paid,
        (select count(*)::int from mispayments where company_id = ${home.companyId} and status = 'open') as late`)
  const wanted = { paid: plain.length + addressed.length, late: late.length }
  await eventually(paid, (seen) => seen.paid === wanted.paid && seen.late === wanted.late, 60_000)
  home.stock = { plain, addressed, late }
}

async function makeHome(shop: Shop, scopes: readonly string[]): Promise<Home> {
  const boss = await registerManager(shop.host.baseUrl)
  await setFactor({ shop }, boss.userId, true)
  const { client } = boss
  const companyId = boss.companyId ?? ''
  const { name } = must(await client.get<{ name: string }>(`companies/${companyId}`))
  const key = must(await client.post<{ apiKey: string; apiSecret: string }>('api-keys', { name: 'all', scopes }))
  const till = await shop.host.db.one<{ id: string; point: string }>(
    sql`select id, sales_point_id as point from collectors where company_id = ${companyId}`,
  )
  const other = must(
    await client.post<{ _id: string }>('collectors/add', { identifier: 'OTHER', salePoint: till.point }),
  )
  const site = { name: 'B', websiteUrl: 'https://shop.example', price: '5', currency: 'EUR' }
  const button = must(await client.post<{ _id: string }>('buy-buttons', site))
  await shop.host.db.run(sql`
    update companies set optional_events = ${[...EVENTS]}, settlement_address = ${newAddress()},
      settlement_network = ${shop.chain.chainId}, version = version + 1 where id = ${companyId}`)
  return {
    ...{ companyId, name, boss: client, till: till.id, otherTill: other._id, button: button._id, simpleUserId: null },
    server: { 'x-api-key': key.apiKey, 'x-api-secret': key.apiSecret },
    stock: { plain: [], addressed: [], late: [] },
  }
}

/** Two companies, an operator, and no worker at work: nothing changes but by the requests of the test. */
export async function openWorld(scopes: readonly string[]): Promise<World> {
  const shop = await openShop()
  const admin = await logIn(shop.host.baseUrl, await insertSuperAdmin(shop.host.db, await passwordHash()), 'auth/login')
  await setFactor({ shop }, admin.userId, true)
  const [own, foreign] = [await makeHome(shop, scopes), await makeHome(shop, scopes)]
  const world: World = { shop, admin, own, foreign, stop: () => shop.stop() }
  const simpleUser = await register(shop.host.baseUrl, { role: 'SimpleUser' })
  own.simpleUserId = simpleUser.userId
  return world
}

export async function openStock(world: World): Promise<void> {
  await fillStock(world, world.own, { plain: 44, addressed: 16, late: 18 })
  await fillStock(world, world.foreign, { plain: 8, addressed: 4, late: 6 })
}

/** A person of this role in a company, or beside all of them. */
export async function makeCaller(world: World, role: Role, fresh: boolean): Promise<Caller> {
  const { shop, own, admin } = world
  const { baseUrl, db } = shop.host
  const caller = ({ client, userId }: Pick<Person, 'client' | 'userId'>): Caller => {
    return { name: fresh ? role : `${role} without a fresh factor`, role, client, headers: {}, userId }
  }
  if (role === 'SuperAdmin') {
    const client = await logIn(baseUrl, await insertSuperAdmin(db, await passwordHash()), 'auth/login')
    await setFactor(world, client.userId, fresh)
    return caller({ client, userId: client.userId })
  }
  const by = role === 'SuperManager' || role === 'Service' ? admin : undefined
  const names = { Manager: { companyName: 'X' }, Association: { associationName: 'Amis' } }[role as string] ?? {}
  const joins = ['Cashier', 'Observer', 'Service'].includes(role) ? { companyName: own.companyId } : names
  const person = await register(baseUrl, { role, ...joins }, by)
  if (role !== 'SuperManager' && role !== 'SimpleUser')
    await db.run(sql`
      update users set company_id = ${own.companyId}, approved_at = now() where id = ${person.userId}`)
  if (role === 'SuperManager')
    must(await admin.call('PUT', `users/${person.userId}/companies`, { companies: [own.companyId] }))
  if (role === 'Cashier')
    await db.run(sql`insert into collector_cashiers (collector_id, user_id) values (${own.till}, ${person.userId})`)
  if (role === 'SimpleUser' && fresh) own.simpleUserId = person.userId
  await setFactor(world, person.userId, fresh)
  return caller(person)
}

/** A server's key of the caller's company with these scopes. */
export async function makeKeyCaller(world: World, name: string, scopes: readonly string[]): Promise<Caller> {
  const { own, shop } = world
  const key = must(await own.boss.post<{ apiKey: string; apiSecret: string }>('api-keys', { name, scopes }))
  const headers = { 'x-api-key': key.apiKey, 'x-api-secret': key.apiSecret }
  return { name, role: 'apiKey', client: new Client(shop.host.baseUrl), headers, userId: '' }
}

/** A person of the company who cannot log in. */
export async function insertUser(world: World, home: Home, role: string, approved = true): Promise<string> {
  const [id, email] = [newId(), newEmail(role.toLowerCase())]
  const companyId = role === 'SuperManager' ? null : home.companyId
  await world.shop.host.db.run(sql`
    insert into users (id, email, email_key, password_hash, first_name, last_name, role, company_id, verified_at,
      approved_at, two_factor_enabled)
    values (${id}, ${email}, ${email}, '!', ${`U-${id}`}, 'B', ${role}, ${companyId}, now(),
      ${approved ? new Date() : null}, true)`)
  return id
}

/** Tables whose rows are no effect: counters, keys of repetition, prices, the logs of what was tried. */
const BESIDE = [
  ...['rate_counters', 'idempotency_keys', 'rate_quotes', 'audit_log', 'audit_head', 'event_clock', 'jobs'],
  'request_log',
]

/** One number for each table: any change of any row changes it. */
export type Snapshots = { snapshot(): Promise<Record<string, string>>; close(): Promise<void> }

/** On a connection of their own: planned once, and one round trip each. */
export async function openSnapshots({ shop }: World): Promise<Snapshots> {
  const address = new URL(shop.host.connectionString)
  // starting workers costs more than reading all these rows
  address.searchParams.set('options', '-c max_parallel_workers_per_gather=0')
  const db = openDb({ connectionString: address.href, max: 1 })
  const tables = await db.many<{ name: string; used: boolean }>(sql`
    select c.relname as name, exists (select 1 from pg_attribute where attrelid = c.oid and attname = 'last_used_at') as used
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'public' and c.relkind in ('r', 'p') and not c.relispartition order by 1`)
  // a write gives its rows a transaction of their own; only a use may be noted without being a change
  const marks = tables
    .filter(({ name }) => !BESIDE.includes(name))
    .map(({ name, used }) => {
      const row = used ? `hashtextextended((to_jsonb(x) - 'last_used_at')::text, 0)` : 'x.xmin::text::bigint'
      return `select '${name}' as name, count(*) || '.' || coalesce(sum(${row}), 0) as mark from "${name}" x`
    })
  const statement: Sql = { text: marks.join(' union all '), values: [], name: 'snapshot' }
  return {
    async snapshot() {
      const rows = await db.many<{ name: string; mark: string }>(statement)
      return Object.fromEntries(rows.map(({ name, mark }) => [name, mark]))
    },
    close: () => db.close(),
  }
}

export const changedTables = (before: Record<string, string>, after: Record<string, string>): string[] =>
  Object.keys(after).filter((name) => before[name] !== after[name])
