import { randomBytes } from 'node:crypto'
import { type Db, sql } from '../../src/db/db.ts'
import type { UserRole } from '../../src/http/actor.ts'
import { passwordHash } from './accounts.ts'
import { createPaid, payoutEnv, revertPlainly } from './refunds.ts'
import { eventually } from './service.ts'
import { openShop, type Shop } from './shop.ts'

export type OfficePerson = { email: string; id: string; role: UserRole }
export type OfficeWorld = {
  shop: Shop
  people: Record<UserRole, OfficePerson>
  /** Codes of orders, by what happened to them. */
  orders: { paid: string; open: string; refunding: string; under: string; link: string }
  stop(): Promise<void>
}

/** A name that must never become a part of the page. */
export const HOSTILE = `<img src=x onerror="window.hacked=1">'"&{{7*7}}`

/** What strangers typed: an attack in tests, something to look at in pictures. */
export type Typed = { goods: string; alias: string; company: string; reason: string }
export const ATTACK: Typed = { goods: HOSTILE, alias: `INV-1001 ${HOSTILE}`, company: HOSTILE, reason: HOSTILE }

const NAMES: Record<UserRole, [string, string]> = {
  SuperAdmin: ['Otto', 'Operator'],
  SuperManager: ['Sofia', 'Rossi'],
  Manager: ['Maud', 'Lefèvre'],
  Association: ['Anna', 'Verein'],
  Cashier: ['Carl', 'Kasse'],
  Observer: ['Olga', 'Osman'],
  SimpleUser: ['Sam', 'Kunde'],
  Service: ['Server', 'One'],
}

/** A person of a company who may log in. */
export async function insertPerson(
  db: Db,
  role: UserRole,
  companyId: string,
  passwordHash: string,
): Promise<OfficePerson> {
  const id = randomBytes(12).toString('hex')
  const email = `${role.toLowerCase()}-${id.slice(0, 8)}@shop.example`
  const [first, last] = NAMES[role]
  const hasCompany = ['Manager', 'Cashier', 'Observer', 'Service'].includes(role)
  const company = hasCompany ? companyId : null
  await db.run(sql`
    insert into users (id, email, email_key, password_hash, first_name, last_name, role, company_id, verified_at,
      approved_at, two_factor_enabled)
    values (${id}, ${email}, ${email}, ${passwordHash}, ${first}, ${last}, ${role}, ${company}, now(), now(),
      ${role !== 'SimpleUser' && role !== 'Service'})`)
  return { email, id, role }
}

async function insertCompany(db: Db, name: string, kind: string): Promise<string> {
  const id = randomBytes(12).toString('hex')
  await db.run(sql`
    insert into companies (id, name, kind, approved, webhook_secret_sealed)
    values (${id}, ${name}, ${kind}, ${kind === 'association'}, ${Buffer.from('none')})`)
  return id
}

async function insertPeople({ host, merchant }: Shop, typed: Typed): Promise<OfficeWorld['people']> {
  const { db } = host
  const hash = await passwordHash()
  const people = {} as OfficeWorld['people']
  for (const role of Object.keys(NAMES) as UserRole[])
    people[role] = await insertPerson(db, role, merchant.companyId, hash)
  const club = await insertCompany(db, 'Chess Club', 'association')
  const other = await insertCompany(db, typed.company, 'company')
  await db.run(sql`update users set company_id = ${club} where id = ${people.Association.id}`)
  for (const companyId of [merchant.companyId, club, other]) {
    await db.run(sql`
      insert into super_manager_companies (user_id, company_id) values (${people.SuperManager.id}, ${companyId})`)
  }
  await db.run(sql`
    insert into collector_cashiers (collector_id, user_id)
    values (${merchant.collectorId}, ${people.Cashier.id})`)
  return people
}

/** Orders in every state that a screen shows, paid on a real chain, with webhooks that arrive and that fail. */
async function trade(shop: Shop, typed: Typed): Promise<OfficeWorld['orders']> {
  const { receiver, chain } = shop
  const paid = await createPaid(shop, { amount: '49.90', goods: { goodsName: typed.goods } })
  const refunding = await createPaid(shop, { amount: '120.00' })
  await revertPlainly(shop, refunding.code, { amount: '20.000000', reason: typed.reason })
  const link = await shop.create({ amount: '250.00', alias: typed.alias })
  const cancelled = await shop.create({ amount: '12.00' })
  await shop.host.call('POST', `cancel/${cancelled.code}`, { as: shop.merchant })
  const under = await shop.createAwaiting({ amount: '80.00' })
  await chain.pay({ to: under.toAddress, units: under.units / 2n })
  await shop.makeFinal()
  await eventually(
    async () => (await shop.story(under.orderId)).mispayments.length,
    (count) => count > 0,
  )
  const open = await shop.create({ amount: '5.50' })
  receiver.answer('/quiet', (_request, response) => void response.writeHead(200).end(HOSTILE))
  await shop.create({ amount: '19.00', webhookUrl: `${receiver.url}/quiet` })
  return { paid: paid.code, open: open.code, refunding: refunding.code, under: under.code, link: link.code }
}

/** A payment under way through the company's own account, whose provider is never asked. */
export const insertOwnPayment = ({ shop, orders }: OfficeWorld, channel: string): Promise<number> =>
  shop.host.db.run(sql`
    insert into payments (company_id, id, order_id, number, channel, own_account, status, merchant_reference, due_asset,
      due_units, opened_at, updated_at)
    select company_id, 'own', id, 99, ${channel}, true, 'closing', 'own', 'USDC', 1, now(), now()
    from orders where code = ${orders.open}`)

/** Strangers' texts in every place that a screen shows: what a shop typed, and what others answered. */
async function plant({ host, merchant }: Shop, people: OfficeWorld['people'], code: string): Promise<void> {
  const { db } = host
  const { companyId } = merchant
  const id = () => randomBytes(12).toString('hex')
  await db.run(sql`update users set first_name = ${HOSTILE} where id = ${people.Service.id}`)
  await db.run(sql`insert into sales_points (id, company_id, name) values (${id()}, ${companyId}, ${HOSTILE})`)
  await db.run(sql`
    insert into buy_buttons (id, company_id, name, website_url, website_origin, price, currency)
    values (${id()}, ${companyId}, ${HOSTILE}, 'https://shop.example/', 'https://shop.example', '12.00', 'EUR')`)
  await db.run(sql`
    insert into api_keys (id, company_id, name, public_id, secret_hash, scopes)
    values (${id()}, ${companyId}, ${HOSTILE}, ${`pk_${id()}`}, ${id()}, '{orders:read}')`)
  await db.run(sql`
    insert into channel_exchanges (company_id, id, channel, merchant_reference, step, method, url, request, status, answer,
      duration_ms, at)
    select p.company_id, ${id()}, p.channel, p.merchant_reference, 'read', 'GET', 'https://provider.example/pay',
      ${HOSTILE}, 200, ${HOSTILE}, 12, now()
    from payments p join orders o on o.company_id = p.company_id and o.id = p.order_id where o.code = ${code}`)
  await db.run(sql`
    update mispayments set reason = ${HOSTILE} where company_id = ${companyId}`)
}

/**
 * @param typed what strangers typed; by default an attack, in every place
 * @param env more settings of the service
 */
export async function openOffice(typed: Typed = ATTACK, env: Record<string, string> = {}): Promise<OfficeWorld> {
  const shop = await openShop({ allEvents: true, env: async (chain) => ({ ...(await payoutEnv(chain)), ...env }) })
  const people = await insertPeople(shop, typed)
  const orders = await trade(shop, typed)
  if (typed === ATTACK) await plant(shop, people, orders.paid)
  return { shop, people, orders, stop: () => shop.stop() }
}

/** A company that nobody of the world works for. */
export const newMerchantOf = async ({ shop }: OfficeWorld): Promise<string> =>
  (await shop.host.createMerchant()).companyId
