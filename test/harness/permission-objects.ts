import assert from 'node:assert/strict'
import { sql } from '../../src/db/db.ts'
import type { Client } from './accounts.ts'
import { newEmail } from './accounts.ts'
import { type Caller, type Home, isOperator, makeOrder, newId, type World } from './permission-world.ts'

/** One request about an object that is there. */
export type Made = {
  params?: Record<string, string>
  query?: Record<string, string>
  body?: unknown
  /** What a right answer to a reading request holds. */
  shows?: string
}

export type Place = { world: World; home: Home; caller: Caller; colleague: boolean }

export type Case = {
  /** The row of docs/permissions.md that decides. */
  row: string
  make(place: Place): Promise<Made> | Made
  /** The object is of a till and of a maker: a Cashier's and a SimpleUser's colleague has another one. */
  personal?: true
  /** Answers 200 and changes nothing: the effect is elsewhere. */
  silent?: true
  /** How another company's object is refused, where it is not 404. */
  foreign?: { status: number; code: string }
  /** No object is named: there is nothing foreign to name. */
  ownOnly?: true
  /** The operator holds this money: of those whom the row allows, only a SuperAdmin says that it was sent. */
  operatorsMoney?: true
  /** Puts back what a success took. */
  after?(place: Place, answer: { data: unknown }): Promise<unknown>
}
export type Cases = Record<string, Case>

export const choice = ({ home, caller, world }: Place): Record<string, string> =>
  isOperator(caller) || home === world.foreign ? { companyId: home.companyId } : {}

export async function ask<Data>(client: Client, method: string, path: string, body?: unknown): Promise<Data> {
  const answer = await client.call<Data>(method, path, body)
  assert.equal(answer.status, 200, `${method} ${path}: ${answer.text}`)
  return answer.data
}
export const post = <Data>({ home }: Place, path: string, body?: unknown): Promise<Data> =>
  ask<Data>(home.boss, 'POST', path, body ?? {})
export const byAdmin = <Data>({ world }: Place, path: string, body?: unknown): Promise<Data> =>
  ask<Data>(world.admin, 'POST', path, body ?? {})

export const order = ({ world, home, colleague }: Place, body?: Record<string, unknown>) =>
  makeOrder(world, home, { colleague, ...(body ? { body } : {}), payer: newEmail('payer') })
export const byCode = async (place: Place): Promise<Made> => {
  const { code } = await order(place)
  return { params: { code }, shows: code }
}

export const paid = ({ home }: Place, kind: 'plain' | 'addressed') => {
  const found = home.stock[kind].pop()
  if (!found) throw new Error(`no ${kind} paid order is left: make more in openStock`)
  return found
}
export const late = async ({ home, world }: Place): Promise<string> => {
  const found = home.stock.late.pop()
  if (!found) throw new Error('no late payment is left: make more in openStock')
  const row = await world.shop.host.db.one<{ id: string }>(sql`select id from mispayments where order_id = ${found.id}`)
  return row.id
}

export type RefundState = 'needs_approval' | 'needs_address' | 'ready'
/** A refund that the company's manager started. */
export async function refund(place: Place, state: RefundState): Promise<{ id: string; code: string; units: bigint }> {
  const { home, world } = place
  const { db } = world.shop.host
  const { code, id: orderId, units } = paid(place, state === 'ready' ? 'addressed' : 'plain')
  const set = (on: boolean) => db.run(sql`update companies set refund_approval = ${on} where id = ${home.companyId}`)
  if (state === 'needs_approval') await set(true)
  await post(place, `confirm_conversion/revert/${code}`)
  await set(false)
  const row = await db.one<{ id: string; status: string }>(
    sql`select id, status from refunds where order_id = ${orderId}`,
  )
  assert.equal(row.status, state)
  return { id: row.id, code, units }
}

export async function settlement(
  place: Place,
  approve: boolean,
): Promise<{ _id: string; amount: string; address: string }> {
  const { companyId } = place.home
  const made = await byAdmin<{ _id: string; amount: string; address: string }>(place, 'settlements', { companyId })
  if (approve) await byAdmin(place, `settlements/${made._id}/approve`)
  return made
}
export const cancelOpen = async (place: Place): Promise<void> => {
  const { db } = place.world.shop.host
  const open = await db.many<{ id: string }>(sql`select id from settlements where status in ('open', 'approved')`)
  for (const { id } of open) await byAdmin(place, `settlements/${id}/cancel`)
}

export async function kyc(place: Place): Promise<{ kycId: string; code: string }> {
  const { code } = await order(place)
  const { kycId } = await post<{ kycId: string }>(place, 'kyc', { code })
  return { kycId, code }
}
export const approvedKyc = async (place: Place): Promise<Made> => {
  const { kycId } = await kyc(place)
  await post(place, `kyc/${kycId}/approve`)
  return { params: { id: kycId }, body: {} }
}

/** A delivery that failed for good. */
export async function delivery(place: Place): Promise<{ id: string; code: string }> {
  const { db } = place.world.shop.host
  const { code, id: orderId } = await order(place, { webhookUrl: `${place.world.shop.receiver.url}/x` })
  const { id } = await db.one<{ id: string }>(sql`select id from deliveries where order_id = ${orderId}`)
  await db.run(sql`update deliveries set status = 'failed' where id = ${id}`)
  await db.run(sql`delete from delivery_due where delivery_id = ${id}`)
  return { id, code }
}

export const tillOf = ({ home, colleague }: Place): string => (colleague ? home.otherTill : home.till)
export const session = (place: Place, more: Record<string, unknown> = {}) =>
  post<{ _id: string; code: string }>(place, 'buy-button/sessions', {
    ...{ button: place.home.button, orderRef: `ref-${newId()}` },
    ...more,
  })
export const staticLink = (place: Place) =>
  post<{ _id: string }>(place, 'static-links', {
    ...{ name: 'Table 4', merchantIdentifier: place.home.till, currency: 'EUR', amount: '5.00' },
  })
export const point = (place: Place) => post<{ _id: string }>(place, 'sales-points', { name: `P-${newId()}` })
export const GATEPAY = { CLIENT_ID: 'client', SECRET: 'secret-of-the-company' }
