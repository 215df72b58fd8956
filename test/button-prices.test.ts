import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { sql } from '../src/db/db.ts'
import { addButton, putOrder, readFrame } from './harness/button-pages.ts'
import { openMoneyDesk } from './harness/money.ts'
import { eventually } from './harness/service.ts'
import { type Instructions, openShop, type Shop } from './harness/shop.ts'

/* A page may name a shop's reference at another price than its server: that order speaks for no sale of the server. */

let shop: Shop
before(async () => {
  shop = await openShop()
})
after(() => shop?.stop())

/** A button of 1 EUR whose page names a reference first, and the shop's server, which sells it at another price. */
async function openCheap(orderRef: string) {
  const { id, client } = await addButton(shop.host, { price: '1' })
  const frame = async (query: string) => (await readFrame(shop.host, `/buy-button/landing?${query}`)).said
  const page = (await frame(`id=${id}&orderRef=${orderRef}`)).conversionCode ?? ''
  const take = (price = '999') =>
    client.post<{ _id: string; code: string }>('buy-button/sessions', { button: id, orderRef, price })
  const land = async (code: string) => {
    const { answer, said } = await readFrame(shop.host, `/buy-button/landing?session=${code}`)
    return { status: answer.status, code: said.conversionCode ?? '' }
  }
  const end = (sessionId: string) => client.call('DELETE', `/api/next/buy-button/sessions/${sessionId}`)
  const accept = (code: string, more = {}) =>
    client.post<Instructions>(`confirm_conversion/accept/${code}`, {
      ...{ paymentChannel: 'crypto', network: shop.chain.chainId },
      ...more,
    })
  const put = (status: string) => putOrder(shop.host, page, status)
  const status = async () => {
    const { data } = await client.get<{ fromAmount: string } | null>(`confirm_conversion/status/order/${orderRef}`)
    return data?.fromAmount ?? null
  }
  return { page, take, land, end, accept, put, status }
}

test('the whole price of a page’s order, paid late, stops no sale of the shop’s server at another price', async () => {
  const { page, take, land, end, accept } = await openCheap('CHEAP-LATE')
  const { data } = await accept(page)
  await shop.host.db.run(sql`
    update orders set status = 'EXPIRED', expires_at = now() - interval '1 second', updated_at = now() where code = ${page}`)
  const first = await take()
  assert.equal(first.status, 200, first.text)
  await shop.chain.pay({ to: data.toAddress, units: BigInt(data.tokenAmount.replace('.', '')) })
  await shop.makeFinal()
  const desk = await openMoneyDesk(shop)
  await eventually(
    () => desk.recordsOf({ code: page }),
    (records) => records.length === 1,
  )
  assert.equal((await land(first.data.code)).status, 200)
  assert.equal((await end(first.data._id)).status, 200)
  const second = await take('998')
  assert.equal(second.status, 200, second.text)
  assert.equal((await end(second.data._id)).status, 200)
  const same = await take('1')
  assert.equal(same.status, 409, 'at the server’s own price it may be the sale')
})

test('a page’s order that is paid, confirmed or reviewed at another price stops no sale of the shop’s server', async () => {
  for (const status of ['PAID', 'WAITING_CHAIN_CONFIRMATION', 'KYT_FAILED']) {
    const { page, take, land, accept, put, status: answered } = await openCheap(`CHEAP-${status}`)
    await accept(page)
    const { data } = await take()
    await put(status)
    assert.equal(await answered(), null, 'the reference is not sold')
    const { status: landed, code } = await land(data.code)
    assert.equal(landed, 200, status)
    assert.equal(await answered(), '999.00')
    const accepted = await accept(code)
    assert.equal(accepted.status, 200, accepted.text)
  }
})

test('an order of the shop’s server gets a fresh rate beside a page’s open order at another price', async () => {
  const { page, take, land, accept } = await openCheap('CHEAP-OPEN')
  await accept(page)
  const { code } = await land((await take()).data.code)
  await accept(code)
  await shop.host.db.run(sql`
    update orders set status = 'EXPIRED', expires_at = now() - interval '1 second' where code = ${code}`)
  await shop.host.db.run(sql`
    update payments set status = 'closed' where order_id = (select id from orders where code = ${code})`)
  await shop.makeFinal()
  const again = await eventually(
    () => accept(code, { requote: true }),
    (answer) => !answer.text.includes('is read'),
  )
  assert.equal(again.status, 200, again.text)
})

test('the shop’s server that takes a reference over waits for what is decided about its money, and sees it', async () => {
  const { page, take } = await openCheap('AT-ONCE-01')
  const client = new pg.Client({ connectionString: shop.host.connectionString })
  await client.connect()
  try {
    await client.query('begin')
    await client.query(
      `select pg_advisory_xact_lock(hashtextextended('reference ' || s.company_id || ' ' || s.order_ref, 0))
       from button_sessions s join orders o on o.button_session_id = s.id where o.code = $1`,
      [page],
    )
    const taken = take('1')
    const waits = () =>
      shop.host.db.one<{ count: number }>(sql`select count(*)::int as count from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%hashtextextended%'`)
    await Promise.race([taken, eventually(waits, ({ count }) => count > 0)])
    // as a page's order that an earlier session had
    await client.query(
      `insert into orders select (jsonb_populate_record(o, jsonb_build_object('id', o.id || 'x', 'code', o.code || 'x',
         'short_code', 'ATONCE01', 'status', 'WAITING_CHAIN_CONFIRMATION'))).* from orders o where code = $1`,
      [page],
    )
    await client.query('commit')
    assert.equal((await taken).status, 409)
  } finally {
    await client.end()
  }
})
