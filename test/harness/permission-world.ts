import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { openDb, raw, sql } from '../../src/db/db.ts'
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
  await fillStock(world, world.own, { plain: 56, addressed: 16, late: 18 })
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

/** Of one table: how often a row was written, and what is left of that: 0 where all of it was undone. */
type Changes = { times: bigint; left: bigint }
export type Snapshot = ReadonlyMap<string, Changes>
export type Snapshots = { snapshot(): Promise<Snapshot>; close(): Promise<void> }

/** A use may be noted without being a change. */
const NOTE = `
  create unlogged table row_changes (name text, "left" bigint);
  create function note_change() returns trigger language plpgsql as $$
  declare was bigint := 0; is_now bigint := 0;
  begin
    if tg_op <> 'INSERT' then was := hashtextextended((to_jsonb(old) - 'last_used_at')::text, 0) >> 16; end if;
    if tg_op <> 'DELETE' then is_now := hashtextextended((to_jsonb(new) - 'last_used_at')::text, 0) >> 16; end if;
    if tg_op = 'UPDATE' and was = is_now then
      if tg_argv[1] = 'used' then return null; end if;
      is_now := was + 1;
    end if;
    insert into row_changes values (tg_argv[0], is_now - was);
    return null;
  end $$`

/** Triggers note each change: to read all rows of all tables before and after each request takes as long as it does. */
export async function openSnapshots({ shop }: World): Promise<Snapshots> {
  const db = openDb({ connectionString: shop.host.connectionString, max: 1 })
  const tables = await db.many<{ name: string; used: boolean }>(sql`
    select c.relname as name, exists (select 1 from pg_attribute where attrelid = c.oid and attname = 'last_used_at') as used
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'public' and c.relkind in ('r', 'p') and not c.relispartition order by 1`)
  const triggers = tables
    .filter(({ name }) => !BESIDE.includes(name))
    .map(
      ({ name, used }) => `create trigger note_change after insert or update or delete on "${name}"
        for each row execute function note_change('${name}', '${used ? 'used' : ''}')`,
    )
  await db.run(raw([NOTE, ...triggers].join(';')))
  const seen = new Map<string, Changes>()
  return {
    async snapshot() {
      const rows = await db.many<Changes & { name: string }>(sql`
        with noted as (delete from row_changes returning name, "left")
        select name, count(*) as times, sum("left")::bigint as left from noted group by name`)
      for (const { name, times, left } of rows) {
        const before = seen.get(name) ?? { times: 0n, left: 0n }
        seen.set(name, { times: before.times + times, left: before.left + left })
      }
      return new Map(seen)
    },
    close: () => db.close(),
  }
}

/** Tables in which anything was written. */
export const changedTables = (before: Snapshot, after: Snapshot): string[] =>
  [...after.keys()].filter((name) => before.get(name)?.times !== after.get(name)?.times).sort()

/** Tables that are not what they were. */
export const affectedTables = (before: Snapshot, after: Snapshot): string[] =>
  [...after].filter(([name, { left }]) => (before.get(name)?.left ?? 0n) !== left).map(([name]) => name)
