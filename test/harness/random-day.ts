import { sql } from '../../src/db/db.ts'
import { type Client, logInSuperAdmin } from './accounts.ts'
import { blacklist, newAddress, revert, withProof } from './refunds.ts'
import { eventually } from './service.ts'
import type { Payable, Shop } from './shop.ts'

/** mulberry32: the same seed, the same day. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

type Day = { shop: Shop; random: () => number }
type OpenRecord = { _id: string; code: string; kind: string }

const pick = <Choice>({ random }: Day, choices: readonly Choice[]): Choice =>
  choices[Math.floor(random() * choices.length)] as Choice

const FATES = [
  'exact',
  'exact',
  'exact',
  'exact',
  'tolerated',
  'over',
  'parts',
  'short',
  'none',
  'late',
  'lateExpired',
] as const
type Fate = (typeof FATES)[number]
type Sale = { order: Payable; fate: Fate; amount: string }

/** The token's issuer lets nothing pass to this address, so that a refund to it is dropped. */
const BLOCKED = newAddress()

/** What is sent to the order's address, one transfer after the other. */
function transfersOf({ fate, order: { units } }: Sale, day: Day): bigint[] {
  const part = BigInt(1 + Math.floor(day.random() * (Number(units) - 2)))
  if (fate === 'none') return []
  if (fate === 'tolerated') return [units - units / 250n, 1n]
  if (fate === 'over') return [units + part]
  if (fate === 'parts') return [part, units - part, ...(day.random() < 0.3 ? [part] : [])]
  if (fate === 'short') return [part / 2n + 1n]
  return [units]
}

async function makeSale(day: Day): Promise<Sale> {
  const amount = (1 + day.random() * 400).toFixed(2)
  const fate = pick(day, FATES)
  const order = await day.shop.createAwaiting({ amount })
  const end = fate === 'late' ? 'cancel' : fate === 'lateExpired' ? 'expire' : null
  if (end !== null) await day.shop.host.call('POST', `${end}/${order.code}`, { as: day.shop.merchant })
  return { order, fate, amount }
}

async function makeSales(day: Day, count: number): Promise<Sale[]> {
  const sales: Sale[] = []
  for (let made = 0; made < count; made += 1) sales.push(await makeSale(day))
  return sales
}

/** Everybody pays, a block after every hundred transfers; then all of it is final and known. */
async function payAll(day: Day, sales: readonly Sale[]): Promise<void> {
  const { chain } = day.shop
  const rounds = sales.map((sale) => ({ to: sale.order.toAddress, parts: transfersOf(sale, day) }))
  let sent = 0
  for (let round = 0; round < 3; round += 1) {
    for (const { to, parts } of rounds) {
      const units = parts[round]
      if (units === undefined) continue
      await chain.send({ to, units })
      sent += 1
      if (sent % 100 === 0) await chain.mine()
    }
    await chain.mine(4)
  }
  const due = new Map(rounds.map(({ to, parts }) => [to.toLowerCase(), parts.reduce((sum, units) => sum + units, 0n)]))
  const listReceived = () =>
    day.shop.host.db.many<{ address: string; units: string }>(sql`
      select deposit_address as address, received_units as units from payments where deposit_address is not null`)
  await eventually(
    listReceived,
    (rows) => rows.filter(({ address, units }) => due.get(address) === BigInt(units)).length === due.size,
    120_000,
  )
}

async function refundSome(day: Day, sales: readonly Sale[]): Promise<void> {
  const { shop, random } = day
  for (const { order } of sales) {
    if (random() > 0.25) continue
    const most = Number(order.units) / 1_000_000
    const body = random() < 0.5 ? {} : { amount: (random() * most).toFixed(6) }
    await revert(shop, order.code, { ...body, address: random() < 0.1 ? BLOCKED : newAddress() })
  }
}

async function decideSome(day: Day, admin: Client): Promise<void> {
  const list = await admin.get<{ mispayments: OpenRecord[] }>('mispayments?status=open&limit=100')
  for (const { _id, code } of list.data.mispayments) {
    const what = pick(day, ['accept', 'ignore', 'refund', 'leave'] as const)
    if (what === 'leave') continue
    const body = { reason: 'a random day', address: newAddress() }
    await admin.post(`mispayments/${_id}/${what}`, await withProof(day.shop, { code, mispaymentId: _id }, body))
  }
}

async function settle({ shop }: Day, admin: Client, approve: boolean): Promise<void> {
  const made = await admin.post<{ _id: string }>('settlements', { companyId: shop.merchant.companyId })
  if (made.status !== 200) return
  await admin.post(`settlements/${made.data._id}/${approve ? 'approve' : 'cancel'}`)
}

/** Nothing is under way any more. */
async function comeToRest({ shop }: Day): Promise<void> {
  const count = async (): Promise<bigint> => {
    await shop.chain.mine()
    const { busy } = await shop.host.db.one<{ busy: bigint }>(sql`
      select (select count(*) from refunds where status in ('ready', 'submitted'))
        + (select count(*) from settlements where status = 'approved') as busy`)
    return busy
  }
  await eventually(count, (busy) => busy === 0n, 240_000)
}

/**
 * A day at a shop, decided by the seed: every kind of payment, refunds, decisions, settlements, a changed fee.
 * @returns the deposit addresses
 */
export async function liveDay(day: Day, orders: number): Promise<string[]> {
  const { shop } = day
  const { companyId } = shop.merchant
  const parts = 3
  const addresses: string[] = []
  await shop.host.db.run(sql`
    update companies set settlement_address = ${newAddress()}, settlement_network = ${shop.chain.chainId},
      max_order_amount = 100000, version = version + 1 where id = ${companyId}`)
  await blacklist(shop.chain, BLOCKED)
  for (let part = 0; part < parts; part += 1) {
    await shop.host.db.run(sql`update companies set fee_bps = ${part * 75} where id = ${companyId}`)
    const sales = await makeSales(day, Math.ceil(orders / parts))
    addresses.push(...sales.map(({ order }) => order.toAddress))
    await payAll(day, sales)
    await refundSome(day, sales)
    await decideSome(day, await logInSuperAdmin(shop.host))
    await comeToRest(day)
    await refundSome(day, sales)
    await settle(day, await logInSuperAdmin(shop.host), part !== 1)
  }
  await comeToRest(day)
  return addresses
}
