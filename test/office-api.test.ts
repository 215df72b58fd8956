import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { brotliDecompressSync } from 'node:zlib'
import { sql, type Tx } from '../src/db/db.ts'
import { daysBefore, monthsBefore } from '../src/http/calendar.ts'
import { DAY } from '../src/kernel/clock.ts'
import { firstIdAt, newId } from '../src/kernel/ids.ts'
import { LANGS } from '../src/kernel/lang.ts'
import { bookPayment } from '../src/ledger/ledger-service.ts'
import { listMonths } from '../src/ledger/overview/fee-queries.ts'
import { waitingNotice } from '../src/mail/notices.ts'
import { listSales, listWaiting } from '../src/orders/summary/summary-queries.ts'
import { sumDays } from '../src/orders/summary/summary-sums.ts'
import { mailWaiting, type WaitingMail } from '../src/orders/summary/waiting-mails.ts'
import { type Client, logIn } from './harness/accounts.ts'
import { HOSTILE, newMerchantOf, type OfficeWorld, openOffice } from './harness/office-world.ts'
import { createPaid, newAddress, refundReaches, revert } from './harness/refunds.ts'
import { eventually } from './harness/service.ts'

type Entry = { at: string; kind: string; facts: Record<string, string | number | null> }
type Story = { entries: Entry[]; omitted: number; rate: { rate: string; evidence: unknown } | null }
type Sales = { asset: string; amount: string }[]
type Summary = {
  days: { day: string; created: number; paid: number; paidAmount: string; sales: Sales; refundedAmount: string }[]
  channels: { paymentChannel: string; paid: number; paidAmount: string }[]
  needs: Record<string, number>
}

let world: OfficeWorld
let manager: Client
let cashier: Client
const base = (): string => world.shop.host.baseUrl

before(async () => {
  world = await openOffice()
  manager = await logIn(base(), world.people.Manager.email)
  cashier = await logIn(base(), world.people.Cashier.email)
})
after(() => world?.stop())

const storyOf = (client: Client, code: string) => client.get<Story>(`confirm_conversion/story/${code}`)
const ofKind = ({ entries }: Story, kind: string) => entries.filter((entry) => entry.kind === kind)

test('the story tells states with names, payments, transfers, webhooks and the proof of the rate', async () => {
  const { data } = await storyOf(manager, world.orders.paid)
  const states = ofKind(data, 'state').map(({ facts }) => facts)
  assert.deepEqual([states[0]?.to, states.at(-1)?.to], ['INITIAL', 'PAID'])
  assert.equal(states[0]?.name, 'test', 'an API key is told by its name')
  const [payment] = ofKind(data, 'payment')
  assert.equal(payment?.facts.channel, 'crypto')
  assert.deepEqual(
    ofKind(data, 'transfer').map(({ facts }) => [facts.status, facts.finalAt !== null, facts.units, facts.network]),
    [['seen', true, payment?.facts.receivedUnits, payment?.facts.network]],
  )
  const [delivery] = ofKind(data, 'webhook').filter(({ facts }) => facts.event === 'order.paid')
  assert.ok(ofKind(data, 'attempt').some(({ facts }) => facts.delivery === delivery?.facts.id))
  assert.ok(data.rate?.evidence, 'the quote is kept with every answer that made it')
  const times = data.entries.map(({ at }) => at)
  assert.deepEqual(times, [...times].sort(), 'oldest first')
})

test('a payment that was polled for days loses no state, transfer, webhook or booking in the story', async () => {
  const { db } = world.shop.host
  const before = (await storyOf(manager, world.orders.paid)).data
  const calls = ofKind(before, 'provider').length
  await db.run(sql`
    insert into channel_exchanges (company_id, id, channel, merchant_reference, step, method, url, request, status,
      answer, duration_ms, at)
    select p.company_id, 'ffffffff' || lpad(to_hex(n), 16, '0'), 'gatepay', p.merchant_reference, 'read', 'GET', '', '',
      200 + n / 1004, '', 1, o.created_at - interval '1 minute' + n * interval '1 millisecond'
    from payments p join orders o on o.company_id = p.company_id and o.id = p.order_id, generate_series(1, 1004) n
    where o.code = ${world.orders.paid}`)
  const { data } = await storyOf(manager, world.orders.paid)
  const besides = (story: Story) => story.entries.filter(({ kind }) => kind !== 'provider')
  assert.deepEqual(besides(data), besides(before))
  assert.deepEqual([ofKind(data, 'provider').length, data.omitted, before.omitted], [1000, calls + 4, 0])
  const told = (await manager.get<{ status: number; at: string }[]>(`channel-exchanges/${world.orders.paid}`)).data
  const statuses = [ofKind(data, 'provider').map(({ facts }) => facts.status), told.map(({ status }) => status)]
  for (const list of statuses) assert.ok(list.includes(201), 'the newest is kept')
  const times = told.map(({ at }) => at)
  assert.deepEqual([told.length, times], [500, times.toSorted()])
  assert.equal((await storyOf(cashier, world.orders.paid)).data.omitted, 0, 'who sees none of them misses none')
  await db.run(sql`delete from channel_exchanges where channel = 'gatepay' and url = ''`)
})

test('the story belongs to those who may see the order; what lies behind the counter to those who see deliveries', async () => {
  const till = await storyOf(cashier, world.orders.paid)
  assert.equal(ofKind(till.data, 'state').at(-1)?.facts.to, 'PAID')
  for (const kind of ['webhook', 'attempt', 'booking', 'provider', 'identity'])
    assert.deepEqual(ofKind(till.data, kind), [], `a cashier sees no ${kind}`)
  const stranger = await logIn(base(), world.people.Association.email)
  const refused = await storyOf(stranger, world.orders.paid)
  assert.equal(refused.error.code, 'ORDER_NOT_FOUND')
  assert.equal(refused.data, null)
})

test('the summary adds up what was paid by day and channel, and counts what waits for a person', async () => {
  const { data } = await manager.get<Summary>('summary?days=7')
  assert.equal(data.days.length, 7)
  const today = data.days.at(-1)
  assert.deepEqual([today?.created, today?.paid], [7, 2])
  assert.deepEqual(
    data.channels.map(({ paymentChannel, paid }) => [paymentChannel, paid]),
    [['crypto', 2]],
  )
  assert.equal(data.channels[0]?.paidAmount, today?.paidAmount)
  // like the month's sales in the books, without what came above a price
  assert.equal(today?.paidAmount, '183.492000')
  assert.deepEqual([data.needs.mispayments, data.needs.refunds], [1, 1])
  const till = await cashier.get<Summary>('summary?days=1')
  assert.deepEqual([till.data.days[0]?.paid, till.data.needs.mispayments], [2, 0], 'a cashier decides nothing')
})

test('the days of a summary begin at the midnight of the time zone that is asked for', async () => {
  const dayIn = (timeZone: string): string => new Intl.DateTimeFormat('sv', { timeZone }).format(new Date())
  for (const zone of ['Pacific/Kiritimati', 'Pacific/Pago_Pago', 'UTC']) {
    const { data } = await manager.get<Summary>(`summary?days=2&timeZone=${encodeURIComponent(zone)}`)
    assert.equal(data.days.at(-1)?.day, dayIn(zone), zone)
    assert.equal(
      data.days.reduce((sum, { paid }) => sum + paid, 0),
      2,
      zone,
    )
  }
  const refused = await manager.get('summary?timeZone=Mars/Olympus')
  assert.equal(refused.error.code, 'VALIDATION_FAILED')
})

test('a summary of a foreign company is refused as unknown, an own one of several is shown alone', async () => {
  const foreign = await newMerchantOf(world)
  const refused = await manager.get(`summary?companyId=${foreign}`)
  assert.equal(refused.error.code, 'OBJECT_NOT_FOUND')
  const boss = await logIn(base(), world.people.SuperManager.email)
  const own = await boss.get<Summary>(`summary?companyId=${world.shop.merchant.companyId}`)
  assert.equal(own.data.days.at(-1)?.paid, 2)
  const list = await boss.get<{ total: number }>(`confirm_conversion?companyId=${world.shop.merchant.companyId}`)
  assert.equal(list.data.total, 7)
  const other = await boss.get<{ total: number }>(`confirm_conversion?companyId=${foreign}`)
  assert.equal(other.data.total, 0, 'a company that is not attached adds nothing')
})

type Month = { payments: number; received: string; fees: string; refunded: string; net: string }
type Fees = { feeBps: number; months: Month[] }
type Check = { checkedAt: string | null; ok: boolean; hold: string | null }

test('sales, fees and refunds of a month come from the books, and a stranger reads none of it', async () => {
  const { data } = await manager.get<Fees>('ledger/fees')
  const { payments, received, fees, refunded, net } = data.months[0] as Month
  assert.deepEqual(
    [data.months.length, payments, received, refunded],
    [1, 2, '183.492000', '0.000000'],
    'its refund still waits',
  )
  assert.equal(Number(fees), (Number(received) * data.feeBps) / 10_000)
  assert.equal(Number(net), Number(received) - Number(fees))
  const foreign = await newMerchantOf(world)
  assert.equal((await manager.get(`ledger/fees?companyId=${foreign}`)).error.code, 'OBJECT_NOT_FOUND')
})

test('a month of sales is one of the calendar that is asked for', async () => {
  const { db } = world.shop.host
  const companyId = newId()
  const book = (at: string) =>
    db.tx((tx) =>
      bookPayment(
        tx,
        { companyId, causeId: newId(), orderId: null, at: new Date(at) },
        { received: 5n, due: 5n, feeBps: 0, holder: 'payer_clearing' },
      ),
    )
  for (const at of ['2026-09-30T22:30:00Z', '2026-10-31T22:30:00Z', '2026-10-31T23:30:00Z']) await book(at)
  const now = Date.parse('2026-11-23T12:00:00Z')
  const read = async (timeZone: string, months: number): Promise<string[]> =>
    (await listMonths(db, companyId, monthsBefore(now, months, timeZone))).map(
      ({ month, payments }) => `${month}: ${payments}`,
    )
  assert.deepEqual(await read('UTC', 3), ['2026-10: 2', '2026-09: 1'])
  // summer time until 25 October: two hours ahead, then one
  assert.deepEqual(await read('Europe/Paris', 2), ['2026-11: 1', '2026-10: 2'])
  // for PostgreSQL this one has no summer time
  await book('2026-06-30T22:30:00Z')
  assert.deepEqual((await read('CET', 6)).at(-1), '2026-07: 1')
  for (const zone of ['Mars/Olympus', '%2B01:00'])
    assert.equal((await manager.get(`ledger/fees?timeZone=${zone}`)).status, 422, zone)
})

test('an order that is paid a year after it was made is a sale of the day on which it is paid', async () => {
  const { db } = world.shop.host
  const { companyId } = await world.shop.host.createMerchant()
  const now = Date.now()
  const [day] = daysBefore(now, 1, 'UTC')
  assert.ok(day)
  const add = async (ageDays: number, paidAt: Date): Promise<void> => {
    const [id, key] = [firstIdAt(now - ageDays * DAY).slice(0, 12) + newId().slice(12), newId()]
    await db.run(sql`
      insert into orders (company_id, id, code, short_code, status, from_asset, from_units, to_asset, to_units, rate,
        quote_id, created_at, updated_at, expires_at, paid_at, paid_units, payment_channel)
      values (${companyId}, ${id}, ${key}, ${key.slice(-8)}, 'PAID', 'EUR', 5000, 'USDC', 54000000, 1.08, 'q',
        ${new Date(now - ageDays * DAY)}, now(), now(), ${paidAt}, 54000000, 'crypto')`)
    const booking = { companyId, causeId: newId(), orderId: id, at: paidAt }
    const money = { received: 54_000_000n, due: 54_000_000n, feeBps: 0, holder: 'payer_clearing' } as const
    await db.tx((tx) => bookPayment(tx, booking, money))
  }
  await add(1, new Date(now))
  await add(365, new Date(now))
  await add(365, new Date(now - 300 * DAY))
  for (const companyIds of [[companyId], null]) {
    const scope = { companyIds, collectorIds: null, createdBy: null }
    const rows = await listSales(db, scope, { firstId: firstIdAt(now - 60 * DAY), starts: [day.start] })
    const [sum] = sumDays({ sales: rows, refunds: [] }, [day])
    if (companyIds) assert.deepEqual([sum?.paid, sum?.paidUnits, sum?.sales.get('EUR')], [2, 108_000_000n, 10_000n])
    else assert.ok((sum?.paid ?? 0) >= 2)
  }
})

test('the check of the books says when it was, and what stops payouts', async () => {
  const { db } = world.shop.host
  const { companyId } = world.shop.merchant
  // a settlement is refused for want of an address, after the books were verified
  await manager.post('settlements')
  const right = (await manager.get<Check>('ledger/check')).data
  assert.deepEqual([right.ok, right.hold], [true, null])
  assert.ok(Date.now() - Date.parse(right.checkedAt ?? '') < 60_000, 'just now')
  await db.run(sql`
    insert into ledger_differences (company_id, id, source, subject, what, booked, expected, found_at, updated_at)
    values (${companyId}, 'aaaaaaaaaaaaaaaaaaaaaaaa', 'providers', 'order:x', 'received', '1', '2', now(), now())`)
  const wrong = (await manager.get<Check>('ledger/check')).data
  assert.deepEqual([wrong.ok, wrong.hold], [false, 'difference'])
  const boss = await logIn(base(), world.people.SuperManager.email)
  const [other] = (await boss.get<{ companies: { _id: string }[] }>('companies')).data.companies.filter(
    ({ _id }) => _id !== companyId,
  )
  const listed = async (id: string) => (await boss.get<unknown[]>(`ledger/differences?companyId=${id}`)).data.length
  assert.deepEqual([await listed(companyId), await listed(other?._id ?? '')], [1, 0])
  await db.run(sql`delete from ledger_differences where source = 'providers'`)
})

test('a person is told what the role may do, and nothing else', async () => {
  const { data } = await cashier.get<{ permissions: string[] }>('users/me/permissions')
  assert.ok(data.permissions.includes('orders.create'))
  for (const forbidden of ['refunds.revert', 'webhooks.secret', 'orders.download', 'payers.read'])
    assert.ok(!data.permissions.includes(forbidden), forbidden)
})

/* ---- the files ---- */

const DIST = join(import.meta.dirname, '../web/office/dist')
const FIRST_SCREEN_BYTES = 150_000
const FURTHER_SCREEN_BYTES = 30_000

const get = (path: string, encoding = 'br') => fetch(`${base()}${path}`, { headers: { 'accept-encoding': encoding } })

/** Bytes as they travel: the runtime's fetch unpacks, so the length is read from the header. */
async function weigh(path: string): Promise<number> {
  const { request } = await import('node:http')
  return new Promise((resolve, reject) => {
    const options = { headers: { 'accept-encoding': 'br' } }
    const asked = request(`${base()}${path}`, options, (answer) => {
      const parts: Buffer[] = []
      answer.on('data', (part: Buffer) => parts.push(part))
      answer.on('end', () => {
        const body = Buffer.concat(parts)
        assert.equal(answer.headers['content-encoding'], 'br', path)
        brotliDecompressSync(body)
        resolve(body.length)
      })
    })
    asked.on('error', reject).end()
  })
}

test('every path of the office is the one document, with a strict policy and never from a cache', async () => {
  const document = readFileSync(join(DIST, 'index.html'), 'utf8')
  for (const path of ['/app', '/app/', '/app/orders', '/app/orders/x%2Fy', '/app/invitation?token=1']) {
    const answer = await get(path)
    assert.equal(await answer.text(), document, path)
    assert.equal(answer.headers.get('cache-control'), 'no-cache')
    const policy = answer.headers.get('content-security-policy') ?? ''
    assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self'/)
    assert.match(policy, /frame-ancestors 'none'/)
    assert.doesNotMatch(policy, /unsafe/)
  }
})

test('the address of the service alone leads to the office', async () => {
  const answer = await fetch(`${base()}/`, { redirect: 'manual' })
  assert.deepEqual([answer.status, answer.headers.get('location')], [302, '/app'])
})

test('assets are kept for a year under the hash of their content; unknown ones are 404, not the document', async () => {
  const document = await (await get('/app')).text()
  const assets = [...document.matchAll(/(?:src|href)="(\/app\/assets\/[^"]+)"/g)].map(([, path = '']) => path)
  assert.ok(assets.length > 2)
  for (const path of assets) {
    const answer = await get(path, 'gzip')
    assert.equal(answer.headers.get('cache-control'), 'public, max-age=31536000, immutable')
    assert.equal(answer.headers.get('content-encoding'), 'gzip')
  }
  for (const path of ['/app/assets/none.js', '/app/assets/..%2Fsources.txt', '/app/assets/../../package.json']) {
    const answer = await get(path)
    assert.ok(answer.status === 404 || answer.headers.get('content-type')?.startsWith('text/html'), path)
    assert.ok(!(await answer.text()).includes('comptoir"'), path)
  }
  const mark = await get('/app/assets/none.js')
  assert.equal(mark.status, 404)
})

test('the first screen weighs at most 150 kB, each further one 30 kB', async () => {
  const document = readFileSync(join(DIST, 'index.html'), 'utf8')
  const first = [...document.matchAll(/(?:src|href)="(\/app\/assets\/[^"]+)"/g)].map(([, path = '']) => path)
  const known = new Set(first.map((path) => path.split('/').at(-1) ?? ''))
  const entry = readFileSync(join(DIST, 'assets', [...known].find((name) => /^index-.*\.js$/.test(name)) ?? ''), 'utf8')
  const lists = /m\.f=\[(.*?)\]/.exec(entry)?.[1] ?? ''
  const names = [...lists.matchAll(/"assets\/([^"]+)"/g)].map(([, name = '']) => name)
  assert.ok(names.length > 20, 'the list of what each screen loads is found')
  const weights = new Map<string, number>()
  const weightOf = async (name: string): Promise<number> => {
    const weight = weights.get(name) ?? (await weigh(`/app/assets/${name}`))
    weights.set(name, weight)
    return weight
  }
  let total = await weigh('/app')
  for (const name of known) total += await weightOf(name)
  const login = names.find((name) => name.startsWith('Login-')) ?? ''
  const words = names.find((name) => name.startsWith('de-')) ?? ''
  total += (await weightOf(login)) + (await weightOf(words))
  assert.ok(total <= FIRST_SCREEN_BYTES, `the login weighs ${total} bytes`)
  const calls = [...entry.matchAll(/__vite__mapDeps\(\[([\d,]+)\]\)/g)].map(([, list = '']) =>
    list.split(',').map(Number),
  )
  assert.ok(calls.length > 15, 'the screens are found')
  for (const list of calls) {
    let weight = 0
    const own = list.map((at) => names[at] ?? '').filter((name) => !known.has(name))
    for (const name of own) weight += await weightOf(name)
    assert.ok(weight <= FURTHER_SCREEN_BYTES, `${own[0]} weighs ${weight} bytes`)
  }
})

test('a name of a stranger is stored as it was given: showing it as text is the page’s work', async () => {
  const { data } = await manager.get<{ goods: { goodsName: string } }>(`confirm_conversion/status/${world.orders.paid}`)
  assert.equal(data.goods.goodsName, HOSTILE)
})

test('what went back counts on the day on which it did, whatever happens to the order afterwards', async () => {
  const { shop } = world
  const [order, to] = [await createPaid(shop), newAddress()]
  for (let part = 0; part < 2; part += 1) {
    assert.equal((await revert(shop, order.code, { amount: '2.000000', address: to })).status, 200)
    await refundReaches(shop, order.orderId, 'settled')
    await shop.reaches(order.code, 'REFUNDED')
  }
  const back = async (): Promise<string[]> =>
    (await manager.get<Summary>('summary?days=3')).data.days.map(({ refundedAmount }) => refundedAmount)
  const before = await back()
  await shop.host.db.run(sql`
    update refunds set settled_at = settled_at - interval '1 day' where id in (
      select id from refunds where order_id = ${order.orderId} order by settled_at limit 1)`)
  const [, yesterday, today] = await back()
  assert.equal(yesterday, '2.000000')
  assert.equal(Number(today), Number(before[2]) - 2)
})

test('returned money above a price is no refund of a sale, because it was never counted as one', async () => {
  const { shop } = world
  const back = async (): Promise<number> =>
    Number((await manager.get<Summary>('summary?days=1')).data.days[0]?.refundedAmount)
  const [order, before] = [await createPaid(shop, {}, 6_000_000n), await back()]
  // the excess goes back first
  for (const [amount, counted] of [
    ['6.000000', 0],
    ['4.000000', 4],
  ] as const) {
    assert.equal((await revert(shop, order.code, { amount, address: newAddress() })).status, 200)
    await refundReaches(shop, order.orderId, 'settled')
    await shop.reaches(order.code, 'REFUNDED')
    assert.equal(await back(), before + counted, amount)
  }
})

test('a manager is told once a day by mail what waits for a decision, in each language', async () => {
  const { db } = world.shop.host
  const tomorrow = Date.now() + DAY
  const mails: WaitingMail[] = []
  const send = async (_tx: Tx, mail: WaitingMail) => void mails.push(mail)
  const deps = { db, send, askOperator: async () => undefined }
  const mine = (): WaitingMail | undefined => mails.findLast(({ to }) => to === world.people.Manager.email)
  await db.run(sql`update refunds set status = 'needs_approval' where status = 'needs_address'`)
  assert.equal(await mailWaiting(deps, tomorrow), 0, 'a refund that the operator has to approve waits for no manager')
  await db.run(
    sql`update refunds set status = 'needs_address', address_asked_at = now() where status = 'needs_approval'`,
  )
  await mailWaiting(deps, tomorrow)
  const { mispayments, unmatched, refunds } = mine()?.facts ?? {}
  assert.deepEqual([mispayments, unmatched, refunds], [0, 0, 1], 'the part of an open order may yet be completed')
  const asked = mails.length
  assert.equal(await mailWaiting(deps, tomorrow + 1000), 0)
  await db.run(sql`
    insert into mispayments (company_id, id, order_id, payment_id, kind, asset, units, source_reference, status,
      created_at, updated_at)
    select company_id, ${newId()}, order_id, ${newId()}, 'late', asset, 1, 'another', 'open',
      now() + interval '1 day', now() from mispayments limit 1`)
  assert.ok((await mailWaiting(deps, tomorrow + DAY)) > 0)
  assert.deepEqual([mine()?.facts.mispayments, mine()?.facts.refunds], [1, 0], 'each day tells its own')
  assert.ok(mails.length > asked && mails.every(({ to }) => to !== world.people.Cashier.email))
  for (const lang of LANGS) {
    const facts = {
      day: '2026-11-23',
      companyName: 'A & B',
      firstName: 'Ada',
      mispayments: 2,
      unmatched: 0,
      refunds: 1,
      byHand: 3,
    }
    const { subject, paragraphs, button } = waitingNotice(lang, { ...facts, officeUrl: 'https://office.example' })
    assert.ok(subject.includes('A & B') && subject.length <= 78, subject)
    assert.match(paragraphs[2] ?? '', /^2 [^;]+; 1 [^;]+; 3 [^;]+\.$/, lang)
    assert.equal(button?.url, 'https://office.example/')
  }
})

test('a day without a node is told about afterwards, at most a week later and once', async () => {
  const { db } = world.shop.host
  const mails: WaitingMail[] = []
  const send = async (_tx: Tx, mail: WaitingMail) => void mails.push(mail)
  const deps = { db, send, askOperator: async () => undefined }
  const now = Date.now()
  const dayIn = (days: number): string => new Date(now + days * DAY).toISOString().slice(0, 10)
  const arrivesIn = (days: number) =>
    db.run(sql`
      insert into mispayments (company_id, id, order_id, payment_id, kind, asset, units, source_reference, status,
        created_at, updated_at)
      select company_id, ${newId()}, order_id, ${newId()}, 'late', asset, 1, 'another', 'open',
        ${new Date(now + days * DAY)}, now() from mispayments limit 1`)
  const told = async (days: number): Promise<(string | undefined)[]> => {
    mails.length = 0
    await mailWaiting(deps, now + days * DAY)
    return mails.filter(({ to }) => to === world.people.Manager.email).map(({ facts }) => facts.day)
  }
  for (const days of [30, 31, 33, 36]) await arrivesIn(days)
  assert.deepEqual(await told(31), [dayIn(30)])
  assert.deepEqual(await told(34), [dayIn(31), dayIn(33)], 'no node ran on the two days between')
  assert.deepEqual(await told(34), [])
  assert.deepEqual(await told(44), [], 'more than a week ago')
})

test('money is told of when it begins to wait: its link has ended, or more has come', async () => {
  const { shop } = world
  const { db, call } = shop.host
  const waiting = async (): Promise<number> => {
    const found = await listWaiting(db, new Date(Date.now() - DAY / 2), new Date(Date.now() + DAY / 2))
    return found.find(({ companyId }) => companyId === shop.merchant.companyId)?.mispayments ?? 0
  }
  const unitsOf = async (orderId: string): Promise<bigint> =>
    BigInt((await shop.story(orderId)).mispayments[0]?.units ?? 0)
  const backdate = (orderId: string) =>
    db.run(sql`update mispayments set created_at = created_at - interval '20 days' where order_id = ${orderId}`)
  const link = await shop.createAwaiting({ amount: '80.00', alias: 'half paid' })
  await shop.chain.pay({ to: link.toAddress, units: link.units / 2n })
  const sale = await shop.createAwaiting({ amount: '5.00' })
  await shop.chain.pay({ to: sale.toAddress, units: sale.units + 1_000_000n })
  await shop.makeFinal()
  for (const { orderId } of [link, sale]) {
    await eventually(
      () => unitsOf(orderId),
      (units) => units > 0n,
    )
    await backdate(orderId)
  }
  const before = await waiting()
  assert.equal((await call('POST', `expire/${link.code}`, { as: shop.merchant })).status, 200)
  assert.equal(await waiting(), before + 1)
  await shop.chain.pay({ to: sale.toAddress, units: 40_000_000n })
  await shop.makeFinal()
  await eventually(
    () => unitsOf(sale.orderId),
    (units) => units === 41_000_000n,
  )
  assert.equal(await waiting(), before + 2)
})

test('what was sold is told in the currencies of the orders; of a part that was accepted, its share', async () => {
  const sold = async (): Promise<Sales | undefined> =>
    (await manager.get<Summary>('summary?days=1')).data.days[0]?.sales
  const inEuro = async (): Promise<number> => Number((await sold())?.find(({ asset }) => asset === 'EUR')?.amount)
  const before = await inEuro()
  await createPaid(world.shop, { amount: '7.50', fromAsset: 'CHF' })
  const { data } = await manager.get<{ mispayments: { _id: string; kind: string }[] }>('mispayments?status=open')
  const part = data.mispayments.find(({ kind }) => kind === 'under')
  // 43.20 of 86.40 USDC came for an order of 80 EUR
  assert.equal((await manager.post(`mispayments/${part?._id}/accept`)).status, 200)
  assert.deepEqual(await sold(), [
    { asset: 'EUR', amount: (before + 40).toFixed(2) },
    { asset: 'CHF', amount: '7.50' },
  ])
})
