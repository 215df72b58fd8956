import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { runChecks } from '../src/checks/check.ts'
import { screeningChecks } from '../src/checks/screening-checks.ts'
import { sql } from '../src/db/db.ts'
import { newId } from '../src/kernel/ids.ts'
import { describeVerdict, verifyLedger } from '../src/ledger/ledger-verify.ts'
import { type Client, logIn, passwordHash, registerManager } from './harness/accounts.ts'
import { insertPerson } from './harness/office-world.ts'
import { createPaid, newAddress, type RefundData, refundReaches, revert, withProof } from './harness/refunds.ts'
import { openScreeningWorld, type ScreeningWorld } from './harness/screening-world.ts'
import { eventually } from './harness/service.ts'
import type { Payable } from './harness/shop.ts'

/* What people decide about held money, and whom it may not hurt. */
type Mispayment = { _id: string; kind: string; status: string }

let world: ScreeningWorld
before(async () => {
  world = await openScreeningWorld()
})
after(() => world?.stop())

const checkBooks = async (): Promise<void> => {
  const verdict = await verifyLedger(world.host.db)
  assert.equal(verdict.difference, null, describeVerdict(verdict))
}
const heldRecord = async ({ code }: Payable): Promise<Mispayment> => {
  const list = await eventually(
    async () => (await world.admin.get<{ mispayments: Mispayment[] }>(`mispayments?code=${code}`)).data.mispayments,
    (found) => found.some(({ kind, status }) => kind === 'held' && status === 'open'),
  )
  return list.find(({ kind }) => kind === 'held') as Mispayment
}
const refundTo = async (order: Payable, { _id }: Mispayment, address: string) => {
  const body = await withProof(world, { code: order.code, mispaymentId: _id }, { address, reason: 'sent back' })
  return world.admin.post<{ refundId: string }>(`mispayments/${_id}/refund`, body)
}
const paidBy = async (wallet: string): Promise<Payable> => {
  const order = await world.createAwaiting()
  await world.payFrom(wallet, order)
  return order
}
const settledIn = (order: Payable): Promise<RefundData> => refundReaches(world, order.orderId, 'settled')

for (const [source, listing] of [
  ['chainalysis_risk', { risk: 'Medium' }],
  ['trm', { trm: { riskType: 'COUNTERPARTY', level: 15 } }],
] as const) {
  test(`${source} wants a person to look: returned by one, the money goes back and the order is KYT_FAILED`, async () => {
    const wallet = await world.newWallet()
    await world.list(wallet, listing)
    const order = await paidBy(wallet)
    const { _id } = await world.screened(order, 'held')
    const record = await heldRecord(order)
    const home = newAddress()
    assert.equal((await world.admin.post(`mispayments/${record._id}/accept`, {})).error.code, 'OBJECT_CONFLICT')
    assert.equal((await refundTo(order, record, home)).error.code, 'OBJECT_CONFLICT')
    assert.equal(
      (await world.admin.post(`mispayments/${record._id}/ignore`, { reason: 'no' })).error.code,
      'OBJECT_CONFLICT',
    )
    await eventually(
      () => world.admin.post(`screenings/${_id}/return`, { reason: 'the payer does not answer' }),
      ({ status }) => status === 200,
    )
    await world.reaches(order.code, 'KYT_FAILED')
    assert.equal(await world.chain.balanceOf(home), 0n, 'the decision itself moves nothing')
    const started = await refundTo(order, record, home)
    assert.equal(started.status, 200, started.text)
    await settledIn(order)
    assert.equal(await world.chain.balanceOf(home), order.units)
    const purposes = (await world.screeningsOf(order)).map(({ purpose, status }) => `${purpose} ${status}`)
    assert.deepEqual(purposes.toSorted(), ['payment returned', 'refund clean'])
    assert.equal((await world.story(order.orderId)).status, 'KYT_FAILED')
    const page = await (await fetch(`${world.host.config.payUrl}/pay?code=${order.code}`)).text()
    assert.match(page, /Your money has been sent back.*This order is not paid/s, 'the payer reads it, too')
    assert.ok(page.includes(home.slice(-10)), 'and where it went')
    await checkBooks()
  })
}

test('what a source blocks is not released; another company’s manager finds nothing; deciding needs a fresh factor', async () => {
  const wallet = await world.newWallet('bad1')
  const order = await paidBy(wallet)
  const { _id } = await world.screened(order, 'blocked')
  const release = await world.admin.post(`screenings/${_id}/release`, { reason: 'I know him' })
  assert.equal(release.error.code, 'OBJECT_CONFLICT')
  const { client } = await registerManager(world.host.baseUrl)
  assert.equal((await client.get(`screenings/${_id}`)).status, 404)
  const stale = await client.post(`screenings/${_id}/return`, { reason: 'mine' })
  assert.equal(stale.error.code, 'STEP_UP_REQUIRED')
  const { data } = await client.get<{ total: number }>(`screenings?code=${order.code}`)
  assert.equal(data.total, 0)
})

test('a screening says what this person may decide, and the service refuses the rest', async () => {
  const { host, merchant } = world
  const { email } = await insertPerson(host.db, 'Manager', merchant.companyId, await passwordHash())
  const manager = await logIn(host.baseUrl, email)
  const states = [
    'held payment',
    'held refund',
    'held settlement',
    'held sweep',
    'blocked payment',
    'blocked settlement',
  ]
  const offered: Record<string, string[][]> = {}
  for (const state of states) {
    const [status, purpose] = state.split(' ')
    const id = newId()
    await host.db.run(sql`
      insert into screenings (company_id, id, purpose, subject_id, network, address, status, opened_at, updated_at)
      values (${merchant.companyId}, ${id}, ${purpose}, ${id}, 31337, ${newAddress()}, ${status}, now(), now())`)
    const of = async (by: Client) => (await by.get<{ decisions: string[] }>(`screenings/${id}`)).data.decisions
    offered[state] = [await of(manager), await of(world.admin)]
    if (offered[state]?.[0]?.length === 0)
      assert.equal((await manager.post(`screenings/${id}/release`, { reason: 'mine' })).error.code, 'FORBIDDEN', state)
  }
  assert.deepEqual(offered, {
    'held payment': [
      ['release', 'return'],
      ['release', 'return'],
    ],
    'held refund': [['release'], ['release']],
    'held settlement': [[], ['release']],
    'held sweep': [[], ['release']],
    'blocked payment': [['return'], ['return']],
    'blocked settlement': [[], []],
  })
})

test('doctor asks every source, and names the variables of one that does not answer', async () => {
  const results = () => runChecks(screeningChecks(world.host.config))
  const all = await results()
  assert.deepEqual(
    all.map(({ name, ok }) => [name, ok]),
    ['deny-list', 'oracle 31337', 'chainalysis', 'chainalysis-risk', 'trm'].map((name) => [`screening ${name}`, true]),
  )
  await world.fault('oracle', 'empty')
  await world.fault('trm', '403')
  const failed = (await results()).filter(({ ok }) => !ok).map(({ fix }) => fix)
  assert.deepEqual(failed, ['Check KYT_ORACLE_31337.', 'Check KYT_TRM_BASE_URL and _API_KEY.'])
  await world.fault('oracle', null)
  await world.fault('trm', null)
})

test('an order’s story says to managers and the shop’s server why money waits, and not to an Observer', async () => {
  const order = await paidBy(await world.newWallet('bad1'))
  await heldRecord(order)
  const { host, merchant } = world
  const path = `confirm_conversion/story/${order.code}`
  type Story = { entries: { kind: string; facts: Record<string, string> }[] }
  const tells = ({ entries }: Story): boolean =>
    entries.some(
      ({ kind, facts }) => kind === 'screening' || facts.kind === 'held' || /trm|bad1/.test(facts.said ?? ''),
    )
  const observer = await insertPerson(host.db, 'Observer', merchant.companyId, await passwordHash())
  const watching = await logIn(host.baseUrl, observer.email)
  assert.equal(tells((await watching.get<Story>(path)).data), false)
  const saidOf = async (client: Client, kind: string, code = order.code) =>
    (await client.get<Story>(`confirm_conversion/story/${code}`)).data.entries
      .filter((one) => one.kind === kind)
      .map(({ facts }) => facts.message)
  assert.deepEqual(await saidOf(watching, 'payment'), ['waits: it is being checked'])
  assert.notDeepEqual(await saidOf(world.admin, 'payment'), ['waits: it is being checked'])
  assert.equal(tells((await world.admin.get<Story>(path)).data), true)
  assert.equal(tells((await host.call<Story>('GET', `story/${order.code}`, { as: merchant })).data), true)
})

test('a refund says why it waits to who reads screenings; to others that it is being checked, whatever it is', async () => {
  const { host, merchant } = world
  const [bad, away] = [newAddress(), newAddress()]
  const orders = [await createPaid(world), await createPaid(world)] as const
  await world.list(bad, { oracle: true })
  await revert(world, orders[0].code, { address: bad })
  type List = { refunds: RefundData[] }
  const said = async (client: Client, { code }: Payable) =>
    (await client.get<List>(`refunds?code=${code}`)).data.refunds[0]?.message ?? ''
  await eventually(
    () => said(world.admin, orders[0]),
    (message) => /did not pass the screening/.test(message),
  )
  await world.fault('trm', '503')
  try {
    await revert(world, orders[1].code, { address: away })
    await eventually(
      () => said(world.admin, orders[1]),
      (message) => /the screening of its destination/.test(message),
    )
    const { email } = await insertPerson(host.db, 'Observer', merchant.companyId, await passwordHash())
    const watching = await logIn(host.baseUrl, email)
    const neutral = 'waits: it is being checked'
    assert.deepEqual([await said(watching, orders[0]), await said(watching, orders[1])], [neutral, neutral])
    type Story = { entries: { kind: string; facts: Record<string, string> }[] }
    const { data } = await watching.get<Story>(`confirm_conversion/story/${orders[0].code}`)
    assert.equal(data.entries.find(({ kind }) => kind === 'refund')?.facts.message, neutral)
    const asServer = await host.call<List>('GET', `/api/next/refunds?code=${orders[0].code}`, { as: merchant })
    assert.match(asServer.data.refunds[0]?.message ?? '', /did not pass/)
  } finally {
    await world.fault('trm', null)
  }
})

test('answers are append-only, also for whoever holds the database', async () => {
  await assert.rejects(world.host.db.run(sql`update screening_answers set verdict = 'clean'`), /append-only/)
  await assert.rejects(world.host.db.run(sql`delete from screening_answers`), /append-only/)
})

test('dust from a listed address does not end the order of somebody else', async () => {
  const [order, bad, wallet] = [await world.createAwaiting(), await world.newWallet('bad1'), await world.newWallet()]
  await world.payFrom(bad, order, 9_999n)
  await world.payFrom(wallet, order)
  await world.reaches(order.code, 'PAID')
  assert.deepEqual(
    (await world.screeningsOf(order)).map(({ address }) => address),
    [wallet],
  )
})

test('more than the price, from a listed sender: neither it nor a refund of the order with it leaves undecided', async () => {
  const [order, bad, wallet] = [await world.createAwaiting(), await world.newWallet('bad1'), await world.newWallet()]
  await world.payFrom(wallet, order)
  await world.reaches(order.code, 'PAID')
  await world.payFrom(bad, order, 5_000_000n)
  const { _id } = await world.screened(order, 'blocked')
  const find = async () =>
    (await world.admin.get<{ mispayments: Mispayment[] }>(`mispayments?code=${order.code}`)).data.mispayments
  const [record] = await eventually(find, (list) => list.some(({ kind }) => kind === 'over'))
  assert.ok(record)
  const home = newAddress()
  assert.equal((await refundTo(order, record, home)).error.code, 'OBJECT_CONFLICT')
  assert.equal((await revert(world, order.code, { address: home })).error.code, 'OBJECT_CONFLICT')
  await world.admin.post(`screenings/${_id}/return`, { reason: 'to where it came from, with leave' })
  assert.equal((await refundTo(order, record, home)).status, 200)
  await settledIn(order)
  assert.equal(await world.chain.balanceOf(home), 5_000_000n)
  assert.equal((await world.story(order.orderId)).status, 'PAID')
  await checkBooks()
})

test('of two senders one is listed: the whole order is held back', async () => {
  const [order, bad, wallet] = [await world.createAwaiting(), await world.newWallet('bad1'), await world.newWallet()]
  await world.payFrom(wallet, order, order.units - 5_000_000n)
  await world.payFrom(bad, order, 5_000_000n)
  await world.reaches(order.code, 'KYT_FAILED')
  await checkBooks()
})

test('money of a listed sender that comes after the end never pays the order', async () => {
  const [order, bad] = [await world.createAwaiting(), await world.newWallet('bad1')]
  await world.host.call('POST', `expire/${order.code}`, { as: world.merchant })
  await world.payFrom(bad, order)
  await world.screened(order, 'blocked')
  const record = await heldRecord(order)
  assert.equal(record.status, 'open')
  assert.equal((await world.story(order.orderId)).status, 'EXPIRED')
  await checkBooks()
})

test('the payer reads words that neither accuse nor tip off, in five languages', async () => {
  const [order, bad] = [await world.createAwaiting(), await world.newWallet('bad1')]
  await world.payFrom(bad, order)
  await world.reaches(order.code, 'KYT_FAILED')
  for (const lang of ['en', 'fr', 'de', 'es', 'it']) {
    const page = await (await fetch(`${world.host.baseUrl}/pay?code=${order.code}&lang=${lang}`)).text()
    const main = /<main>(.*)<\/main>/s.exec(page)?.[1] ?? ''
    assert.ok(main.length > 100, lang)
    // the order's codes are random, and one of eight letters began with KYT
    assert.doesNotMatch(
      main
        .replaceAll(/<(script|style|svg).*?<\/\1>/gs, '')
        .replaceAll(/\b[0-9A-Z]{8}\b/g, '')
        .replaceAll(order.code, ''),
      /kyt|screen|sanction|sanktion|sancion|sanzion|chainalysis|trm|risk|risque|risiko|riesgo|rischio|fraud|frode|betrug|verd[aä]cht|suspect|sospe|launder|blanch|wäsche|blanque|riciclag|block|bloqu|gesperrt/i,
    )
  }
})
