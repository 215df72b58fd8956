import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { sql } from '../src/db/db.ts'
import { addButton, putOrder, readFrame, SITE } from './harness/button-pages.ts'
import { type MoneyDesk, openMoneyDesk } from './harness/money.ts'
import { eventually } from './harness/service.ts'
import { type Instructions, openShop, type Shop } from './harness/shop.ts'

/* A cart whose price changes: the shop's server ends its session, and nobody pays the old price. */

let shop: Shop
let desk: MoneyDesk
before(async () => {
  shop = await openShop()
  desk = await openMoneyDesk(shop)
})
after(() => shop?.stop())

const makeButton = (fields?: Record<string, unknown>) => addButton(shop.host, fields)
const openFrame = (path: string, headers?: Record<string, string>) => readFrame(shop.host, path, headers)
const put = (code: string | undefined, status: string) => putOrder(shop.host, code, status)

/** A session of the shop's server, whose buyer has chosen how to pay where `accepts`. */
async function beginCart(orderRef: string, accepts: boolean) {
  const { id, client } = await makeButton()
  const make = (price: string) =>
    client.post<{ _id: string; code: string }>('buy-button/sessions', { button: id, orderRef, price })
  const { data } = await make('49.90')
  const { conversionCode: code = '' } = (await openFrame(`/buy-button/landing?session=${data.code}`)).said
  const accept = (more = {}) =>
    client.post<Instructions>(`confirm_conversion/accept/${code}`, {
      ...{ paymentChannel: 'crypto', network: shop.chain.chainId, ...more },
    })
  const instructions = accepts ? (await accept()).data : undefined
  const end = () => client.call('DELETE', `/api/next/buy-button/sessions/${data._id}`)
  const read = async () => (await client.get<Record<string, string>>(`confirm_conversion/status/${code}`)).data
  return { client, code, session: data, make, accept, instructions, end, read }
}

test('a shop that ends a session for another price takes the old one back: its order is cancelled, chosen or not', async () => {
  for (const accepts of [false, true]) {
    const { client, session, make, accept, end, read } = await beginCart(`CHANGED-${accepts}`, accepts)
    const early = await make('549.90')
    const named = [{ path: 'liveSession', message: session._id }]
    assert.deepEqual([early.status, early.error.details], [409, named], early.text)
    assert.deepEqual([(await end()).status, (await read()).status], [200, 'CANCELLED'])
    assert.deepEqual([(await end()).status, (await read()).status], [200, 'CANCELLED'], 'again')
    assert.equal((await accept()).status, 409)
    assert.equal((await openFrame(`/buy-button/landing?session=${session.code}`)).answer.status, 400)
    const next = await make('549.90')
    const { said } = await openFrame(`/buy-button/landing?session=${next.data.code}`)
    const { data } = await client.get<Record<string, string>>(`confirm_conversion/status/${said.conversionCode}`)
    assert.deepEqual([data.status, data.fromAmount], ['INITIAL', '549.90'])
  }
})

test('an order that expired is not reopened at the price of a session that the shop ended since', async () => {
  const { code, accept, end } = await beginCart('CHANGED-EXPIRED', true)
  await put(code, 'EXPIRED')
  await end()
  const reopened = await accept({ requote: true })
  assert.deepEqual([reopened.status, reopened.error?.code], [409, 'ORDER_STATE_CONFLICT'], reopened.text)
  assert.match(reopened.text, /The shop has ended this purchase/)
})

test('a session whose order has money is not ended, and money that comes after its end waits for a person', async () => {
  const paid = await beginCart('CHANGED-PAID', true)
  const { toAddress = '', tokenAmount = '' } = paid.instructions ?? {}
  await shop.chain.pay({ to: toAddress, units: BigInt(tokenAmount.replace('.', '')) })
  await eventually(paid.read, ({ status }) => status !== 'AWAITING')
  const refused = await paid.end()
  assert.deepEqual([refused.status, refused.error.code], [409, 'OBJECT_CONFLICT'], refused.text)
  const named = [{ path: 'busySession', message: paid.session._id }]
  assert.deepEqual([refused.error.details, (await paid.make('549.90')).error.details], [named, named], refused.text)

  const late = await beginCart('CHANGED-LATE', true)
  await late.end()
  const { data } = await late.make('549.90')
  const { said } = await openFrame(`/buy-button/landing?session=${data.code}`)
  await put(said.conversionCode, 'PAID')
  const { toAddress: address = '', tokenAmount: due = '' } = late.instructions ?? {}
  await shop.chain.pay({ to: address, units: BigInt(due.replace('.', '')) })
  await shop.makeFinal()
  const records = await eventually(
    () => desk.recordsOf({ code: late.code }),
    (found) => found.length > 0,
  )
  assert.deepEqual([records[0]?.kind, (await late.read()).status], ['late', 'CANCELLED'])
})

test('money that comes late for an order of a session that the shop ended waits for a person, whatever is accepted late', async () => {
  const { code, instructions, make, end, read } = await beginCart('CHANGED-OVER', true)
  await put(code, 'EXPIRED')
  await shop.host.db.run(sql`update orders set expires_at = now() - interval '1 minute' where code = ${code}`)
  await end()
  assert.equal((await make('549.90')).status, 200)
  const { toAddress = '', tokenAmount = '' } = instructions ?? {}
  await shop.chain.pay({ to: toAddress, units: BigInt(tokenAmount.replace('.', '')) })
  await shop.makeFinal()
  const records = await eventually(
    () => desk.recordsOf({ code }),
    (found) => found.length > 0,
  )
  assert.deepEqual([records[0]?.kind, (await read()).status], ['late', 'EXPIRED'])
})

test('an order that is being reopened while its session ends is waited for, and cancelled', async () => {
  const { code, end, read } = await beginCart('CHANGED-REOPENED', true)
  await put(code, 'EXPIRED')
  const holder = new pg.Client({ connectionString: shop.host.db.connectionString })
  await holder.connect()
  try {
    await holder.query('begin')
    await holder.query('select from orders where code = $1 for update', [code])
    const ended = end()
    const waits = () =>
      shop.host.db.many(sql`
        select from pg_stat_activity where wait_event_type = 'Lock' and query like '%button_session_id%'`)
    await eventually(waits, (found) => found.length > 0)
    await holder.query(
      "update orders set status = 'AWAITING', expires_at = now() + interval '5 minutes' where code = $1",
      [code],
    )
    await holder.query('commit')
    assert.deepEqual([(await ended).status, (await read()).status], [200, 'CANCELLED'])
  } finally {
    await holder.end()
  }
})

test('a session of the shop’s server ends what pages sold of its reference, but an order whose buyer was shown where to pay', async () => {
  const orderRef = 'TAKEN-OVER-1'
  const { id, client } = await makeButton({ pagePrice: true })
  const click = async (price: string) => {
    const path = `/buy-button/landing?id=${id}&orderRef=${orderRef}&price=${price}`
    const { conversionCode: code = '' } = (await openFrame(path)).said
    return code
  }
  const accept = (code: string, more = {}) =>
    client.post<Instructions>(`confirm_conversion/accept/${code}`, {
      ...{ paymentChannel: 'crypto', network: shop.chain.chainId, ...more },
    })
  const statusOf = async (code: string) =>
    (await client.get<{ status: string }>(`confirm_conversion/status/${code}`)).data.status
  const old = await click('1')
  const { toAddress, tokenAmount } = (await accept(old)).data
  const expired = await click('2')
  await put(expired, 'EXPIRED')
  const last = await click('3')
  const made = await client.post('buy-button/sessions', { button: id, orderRef, price: '549.90' })
  assert.equal(made.status, 200, made.text)
  assert.deepEqual(await Promise.all([old, expired, last].map(statusOf)), ['AWAITING', 'EXPIRED', 'CANCELLED'])
  await put(old, 'EXPIRED')
  const reopened = await accept(expired, { requote: true })
  assert.deepEqual(
    [reopened.status, /The shop has ended this purchase/.test(reopened.text)],
    [409, true],
    reopened.text,
  )
  await shop.host.db.run(sql`update orders set expires_at = now() - interval '1 minute' where code = ${old}`)
  await shop.chain.pay({ to: toAddress, units: BigInt(tokenAmount.replace('.', '')) })
  await shop.makeFinal()
  const records = await eventually(
    () => desk.recordsOf({ code: old }),
    (found) => found.length > 0,
  )
  assert.deepEqual([records[0]?.kind, await statusOf(old)], ['late', 'EXPIRED'])
})

test('a page sells a reference again once the session of the shop’s server has ended: its order gets a fresh rate', async () => {
  const { id, client } = await makeButton()
  const orderRef = 'GIVEN-BACK-1'
  const { data } = await client.post<{ _id: string }>('buy-button/sessions', { button: id, orderRef, price: '49.90' })
  assert.equal((await client.call('DELETE', `/api/next/buy-button/sessions/${data._id}`)).status, 200)
  const { conversionCode: code = '' } = (await openFrame(`/buy-button/landing?id=${id}&orderRef=${orderRef}`)).said
  const accept = (more = {}) =>
    client.post(`confirm_conversion/accept/${code}`, {
      ...{ paymentChannel: 'crypto', network: shop.chain.chainId, ...more },
    })
  assert.equal((await accept()).status, 200)
  await put(code, 'EXPIRED')
  const reopened = await accept({ requote: true })
  assert.equal(reopened.status, 200, reopened.text)
})

test('a click goes on in a session whose order another request may be making, and ends one that got none in time', async () => {
  const { id } = await makeButton()
  const land = async () => (await openFrame(`/buy-button/landing?id=${id}&orderRef=MAKING-001`)).said
  const first = await land()
  // as before its order was made
  await shop.host.db.run(sql`update orders set button_session_id = null where code = ${first.conversionCode}`)
  const second = await land()
  assert.equal(second.sessionId, first.sessionId)
  await shop.host.db.run(sql`update orders set button_session_id = null where code = ${second.conversionCode}`)
  await shop.host.db.run(sql`
    update button_sessions set created_at = created_at - interval '11 seconds' where id = ${first.sessionId}`)
  assert.notEqual((await land()).sessionId, first.sessionId)
})

test('what a session of a deleted button sold, another button of the shop sells', async () => {
  const { id, client } = await makeButton()
  const made = await client.post('buy-button/sessions', { button: id, orderRef: 'MOVED-0001' })
  assert.equal(made.status, 200, made.text)
  assert.equal((await client.call('DELETE', `/api/next/buy-buttons/${id}`)).status, 200)
  const { data: next } = await client.post<{ _id: string }>('buy-buttons', SITE)
  assert.equal((await openFrame(`/buy-button/landing?id=${next._id}&orderRef=MOVED-0001`)).answer.status, 200)
})

test('a reference whose session of the shop’s server was paid is sold again at the next call', async () => {
  const { code, session, make } = await beginCart('AGAIN-0001', false)
  assert.equal((await make('49.90')).status, 409)
  await put(code, 'PAID')
  const again = await make('49.90')
  assert.equal(again.status, 200, again.text)
  assert.notEqual(again.data._id, session._id)
})
