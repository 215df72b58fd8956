import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { mint } from '../sandbox/chain/token.ts'
import { sql, type Tx } from '../src/db/db.ts'
import { firstIdAt, newId } from '../src/kernel/ids.ts'
import { bookPayment, bookSettlement } from '../src/ledger/ledger-service.ts'
import { verifyLedger } from '../src/ledger/ledger-verify.ts'
import { findPayableWith, settleableOf } from '../src/ledger/payable-queries.ts'
import { insertSettlement } from '../src/ledger/settlements/settlement-queries.ts'
import { findSpan, listLines } from '../src/ledger/settlements/settlement-statement-queries.ts'
import { type Client, logInSuperAdmin, type Person, registerManager } from './harness/accounts.ts'
import { blacklist, createPaid, newAddress, payoutEnv, refundReaches, revert } from './harness/refunds.ts'
import { eventually, startTestService, type TestService } from './harness/service.ts'
import { chainEnv, openShop, type Shop } from './harness/shop.ts'

type Settlement = { _id: string; status: string; amount: string; txHash: string | null; message: string | null }
type Balance = { account: string; opening: string; debit: string; credit: string; closing: string }
type Ledger = {
  balances: Balance[]
  entries: { kind: string; code: string | null; amount: string }[]
  nextCursor: string | null
}

/** One shop whose chain has keys, and one where a person sends. */
let automatic: Shop
let manual: Shop
let admin: Client
let manualAdmin: Client
/** Nodes of the first shop that lack the keys, and the chain; neither works on anything. */
let keyless: TestService
let chainless: TestService

before(async () => {
  automatic = await openShop({ env: payoutEnv })
  manual = await openShop()
  const { connectionString } = automatic.host
  keyless = await startTestService({ env: chainEnv(automatic.chain), connectionString })
  chainless = await startTestService({ connectionString })
  admin = await logInSuperAdmin(automatic.host)
  manualAdmin = await logInSuperAdmin(manual.host)
})
after(async () => {
  await keyless?.stop()
  await chainless?.stop()
  await automatic?.stop()
  await manual?.stop()
})

const setTarget = (shop: Shop, address: string | null, companyId = shop.merchant.companyId) =>
  shop.host.db.run(sql`
    update companies set settlement_address = ${address}, settlement_network = ${address === null ? null : 31337}
    where id = ${companyId}`)
const bodyOf = (shop: Shop) => ({ companyId: shop.merchant.companyId })
const create = (shop: Shop, by: Client) => by.post<Settlement>('settlements', bodyOf(shop))
const checkBooks = async (shop: Shop): Promise<void> =>
  assert.equal((await verifyLedger(shop.host.db)).difference, null)
const reaches = (shop: Shop, by: Client, id: string, status: string) =>
  eventually(
    async () => {
      await shop.chain.mine()
      const list = await by.get<Settlement[]>('settlements')
      return list.data.find(({ _id }) => _id === id)
    },
    (settlement) => settlement?.status === status,
  )
const ledgerOf = async (shop: Shop, query = ''): Promise<Ledger> =>
  (await shop.host.call<Ledger>('GET', `/api/next/ledger?${query}`, { as: shop.merchant })).data
const closing = (ledger: Ledger, account: string): string | undefined =>
  ledger.balances.find((balance) => balance.account === account)?.closing

test('what is owed to a company is sent to its address once a SuperAdmin approved it, and booked', async () => {
  const [order] = [await createPaid(automatic), await createPaid(automatic)]
  await revert(automatic, order.code, { amount: '4', address: newAddress() })
  await refundReaches(automatic, order.orderId, 'settled')
  assert.equal((await create(automatic, admin)).error.code, 'OBJECT_CONFLICT')
  const to = newAddress()
  await setTarget(automatic, to)
  const answers = await Promise.all(Array.from({ length: 5 }, () => create(automatic, admin)))
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 409, 409, 409, 409])
  const made = answers.find(({ status }) => status === 200)?.data
  assert.deepEqual([made?.amount, made?.status], ['104.000000', 'open'])
  await createPaid(automatic)
  await checkBooks(automatic)
  const own = await automatic.host.call('POST', `/api/next/settlements/${made?._id}/approve`, {
    as: automatic.merchant,
  })
  assert.equal(own.error.code, 'FORBIDDEN')
  assert.equal(await automatic.chain.balanceOf(to), 0n)
  assert.equal((await admin.post<Settlement>(`settlements/${made?._id}/approve`)).data.status, 'approved')
  const paid = await reaches(automatic, admin, made?._id ?? '', 'paid')
  assert.match(paid?.txHash ?? '', /^0x[0-9a-f]{64}$/)
  assert.equal(await automatic.chain.balanceOf(to), 104_000_000n)
  const ledger = await ledgerOf(automatic)
  assert.deepEqual(
    ['company_payable', 'payer_clearing', 'wallet', 'settlement_transit'].map((account) => closing(ledger, account)),
    ['-54.000000', '162.000000', '-108.000000', '0.000000'],
  )
  assert.equal((await admin.post(`settlements/${made?._id}/cancel`)).error.code, 'OBJECT_CONFLICT')
  await checkBooks(automatic)
})

test('a blocked address is not paid, and a cancelled settlement is owed again', async () => {
  const to = newAddress()
  await blacklist(automatic.chain, to)
  await setTarget(automatic, to)
  await createPaid(automatic)
  const { data: made } = await create(automatic, admin)
  await admin.post(`settlements/${made._id}/approve`)
  const told = async () => (await admin.get<Settlement[]>('settlements')).data.find(({ _id }) => _id === made._id)
  await eventually(told, (settlement) => /blocked/.test(settlement?.message ?? ''))
  assert.equal((await admin.post<Settlement>(`settlements/${made._id}/cancel`)).data.status, 'cancelled')
  assert.equal(closing(await ledgerOf(automatic), 'company_payable'), `-${made.amount}`)
  await checkBooks(automatic)
  await setTarget(automatic, newAddress())
  const again = await create(automatic, admin)
  assert.equal(again.data.amount, made.amount)
  await admin.post(`settlements/${again.data._id}/approve`)
  await reaches(automatic, admin, again.data._id, 'paid')
})

const payoutReaches = (id: string, status: string) =>
  eventually(
    async () => automatic.host.db.maybe<{ status: string }>(sql`select status from chain_payouts where id = ${id}`),
    (payout) => payout?.status === status,
  )

test('a settlement that was approved at a node without keys is sent, and cannot be taken back there, nor where the chain is missing', async () => {
  const [to, payer] = [newAddress(), newAddress()]
  await setTarget(automatic, to)
  const order = await createPaid(automatic)
  await revert(automatic, order.code, { amount: '4', address: payer })
  const refund = await refundReaches(automatic, order.orderId, 'submitted', false)
  await payoutReaches(refund._id, 'sent')
  const { data: made } = await create(automatic, admin)
  await (await logInSuperAdmin(keyless)).post(`settlements/${made._id}/approve`)
  await payoutReaches(made._id, 'sent')
  // as a worker without keys left it
  await automatic.host.db.run(sql`update refunds set status = 'ready', next_check_at = null where id = ${refund._id}`)
  for (const node of [keyless, chainless]) {
    const operator = await logInSuperAdmin(node)
    const cancelled = await operator.post(`settlements/${made._id}/cancel`)
    assert.deepEqual([cancelled.status, cancelled.error?.code], [409, 'OBJECT_CONFLICT'])
    const rejected = await operator.post(`refunds/${refund._id}/reject`, { reason: 'no keys' })
    const settled = await operator.post(`refunds/${refund._id}/settle`, { reference: 'bank-1', statement: 'by bank' })
    assert.deepEqual([rejected.status, rejected.error?.code, settled.status], [409, 'OBJECT_CONFLICT', 409])
  }
  await automatic.host.db.run(sql`update refunds set next_check_at = now() where id = ${refund._id}`)
  await reaches(automatic, admin, made._id, 'paid')
  await refundReaches(automatic, order.orderId, 'settled')
  assert.deepEqual(
    [await automatic.chain.balanceOf(to), await automatic.chain.balanceOf(payer)],
    [50_000_000n, 4_000_000n],
  )
  await checkBooks(automatic)
})

test('without keys a person sends, and names the transaction, which is checked and pays one settlement an address', async () => {
  const [to, other] = [newAddress(), newAddress()]
  await setTarget(manual, to)
  await createPaid(manual)
  const { data: made } = await create(manual, manualAdmin)
  const name = (txHash: string, { _id } = made) => manualAdmin.post<Settlement>(`settlements/${_id}/paid`, { txHash })
  const early = await manual.chain.payMany([to, other].map((one) => ({ to: one, units: 54_000_000n })))
  assert.equal((await name(early)).error.code, 'OBJECT_CONFLICT')
  await manualAdmin.post(`settlements/${made._id}/approve`)
  const released = sql`select 1 from settlements where id = ${made._id} and released_at is not null`
  assert.ok(await manual.host.db.maybe(released), 'it counts in the limit of the day')
  const wrong = await manual.chain.pay({ to, units: 53_000_000n })
  await manual.chain.mine(3)
  assert.equal((await name(wrong)).status, 422)
  assert.equal((await name(early)).data.status, 'paid')
  await checkBooks(manual)
  await createPaid(manual)
  const { data: next } = await create(manual, manualAdmin)
  await manualAdmin.post(`settlements/${next._id}/approve`)
  const reused = await name(early, next)
  assert.deepEqual([reused.status, reused.error.details?.[0]?.path], [422, 'txHash'])
  const fresh = await manual.chain.pay({ to, units: 54_000_000n })
  assert.equal((await name(fresh, next)).data.status, 'approved')
  assert.equal((await manualAdmin.post(`settlements/${next._id}/cancel`)).error.code, 'OBJECT_CONFLICT')
  await reaches(manual, manualAdmin, next._id, 'paid')
  await setTarget(manual, other)
  await createPaid(manual)
  const { data: last } = await create(manual, manualAdmin)
  await manualAdmin.post(`settlements/${last._id}/approve`)
  assert.equal((await name(early, last)).data.status, 'paid')
  await checkBooks(manual)
})

test('a named transaction that left the chain gives the settlement back, and can be named again should it return', async () => {
  const { chain } = manual
  const to = newAddress()
  await setTarget(manual, to)
  await createPaid(manual)
  const { data: made } = await create(manual, manualAdmin)
  await manualAdmin.post(`settlements/${made._id}/approve`)
  const txHash = await chain.pay({ to, units: BigInt(made.amount.replace('.', '')) })
  const cancel = () => manualAdmin.post<Settlement>(`settlements/${made._id}/cancel`)
  assert.equal((await manualAdmin.post<Settlement>(`settlements/${made._id}/paid`, { txHash })).data.status, 'approved')
  assert.equal((await cancel()).error.code, 'OBJECT_CONFLICT')
  await chain.reorg(1)
  await chain.call('anvil_dropAllTransactions')
  await chain.mine(2)
  const cancelled = await eventually(cancel, ({ status }) => status === 200)
  assert.deepEqual([cancelled.data.status, cancelled.data.txHash], ['cancelled', null])
  await checkBooks(manual)
  const { data: next } = await create(manual, manualAdmin)
  await manualAdmin.post(`settlements/${next._id}/approve`)
  const again = await manualAdmin.post(`settlements/${next._id}/paid`, { txHash })
  assert.match(again.error.details?.[0]?.message ?? '', /is not known on/)
  assert.equal((await manualAdmin.post(`settlements/${next._id}/cancel`)).status, 200)
})

test('the statement of a period opens where the one before closed, page by page and as a file', async () => {
  const all = await ledgerOf(manual)
  const half = new Date().toISOString()
  await createPaid(manual)
  const [before, after] = [await ledgerOf(manual, `to=${half}`), await ledgerOf(manual, `from=${half}`)]
  assert.deepEqual(before.balances, all.balances)
  for (const balance of after.balances)
    assert.equal(balance.opening, before.balances.find(({ account }) => account === balance.account)?.closing)
  const kinds: string[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const page: Ledger = await ledgerOf(manual, `limit=1${cursor === '' ? '' : `&after=${cursor}`}`)
    kinds.push(...page.entries.map(({ kind }) => kind))
    cursor = page.nextCursor
  }
  const file = await manual.host.call('GET', '/api/next/ledger?format=csv', { as: manual.merchant })
  assert.match(file.headers.get('content-disposition') ?? '', /statement-\d{4}-\d\d-\d\d\.csv/)
  const [header, ...lines] = file.text.trimEnd().split('\r\n')
  assert.equal(header, 'date,journal,kind,cause,order,account,asset,debit,credit,alias,fromAmount,fromAsset')
  assert.deepEqual(
    lines.map((line) => line.split(',')[2]),
    kinds,
  )
  const cents = (text = ''): bigint => BigInt(text.replace('.', '') || '0')
  const sum = lines
    .map((line) => line.split(','))
    .reduce((total, cells) => total + cents(cells[7]) - cents(cells[8]), 0n)
  assert.equal(sum, 0n)
  assert.ok(lines.every((line) => !/(^|,)[-=+@]/.test(line)))
})

test('a manager settles for the own company only, and sees no other', async () => {
  const boss: Person = await registerManager(automatic.host.baseUrl)
  assert.equal((await boss.client.post('settlements', bodyOf(automatic))).status, 404)
  assert.deepEqual((await boss.client.get<Settlement[]>('settlements')).data, [])
  assert.equal((await boss.client.get(`ledger?companyId=${automatic.merchant.companyId}`)).status, 404)
  await setTarget(automatic, newAddress(), boss.companyId ?? '')
  assert.match((await boss.client.post('settlements')).error.message, /Nothing is owed/)
  assert.equal((await admin.post('settlements')).error.code, 'VALIDATION_FAILED')
})

test('a wallet that is short pays nothing and says so, then goes on', async () => {
  await createPaid(automatic)
  const to = newAddress()
  await setTarget(automatic, to)
  const { address } = await automatic.host.db.one<{ address: string }>(
    sql`select from_address as address from chain_payouts where kind = 'payout' limit 1`,
  )
  const purse = await automatic.chain.balanceOf(address)
  await automatic.chain.call('anvil_impersonateAccount', address)
  await automatic.chain.call('anvil_setBalance', address, '0x8ac7230489e80000')
  await automatic.chain.pay({ from: address, to: newAddress(), units: purse })
  const { data: made } = await create(automatic, admin)
  await admin.post(`settlements/${made._id}/approve`)
  const told = async () => (await admin.get<Settlement[]>('settlements')).data.find(({ _id }) => _id === made._id)
  await eventually(told, (settlement) => /holds 0\.000000 USDC/.test(settlement?.message ?? ''))
  await mint(automatic.chain.call, address, purse)
  await reaches(automatic, admin, made._id, 'paid')
  await checkBooks(automatic)
})

type Statement = {
  since: string | null
  summary: Record<'carriedOver' | 'losses' | 'owed' | 'ownAccounts' | 'undecided' | 'reserve' | 'amount', string> & {
    heldBack: string
    payments: { count: number; gross: string; fees: string; net: string }
    refunds: { count: number; amount: string }
    takenBack: { count: number; amount: string }
  }
  lines: { kind: string; code: string; alias: string | null; gross: string; fee: string; amount: string }[]
  nextCursor: string | null
}
const statementOf = async (shop: Shop, id: string, query = ''): Promise<Statement> =>
  (await shop.host.call<Statement>('GET', `/api/next/settlements/${id}/statement?${query}`, { as: shop.merchant })).data

test('a settlement says what it pays for, to the unit, and the next one goes on where it ended', async () => {
  const shop = automatic
  await shop.host.db.run(sql`
    update companies set fee_bps = 100, reserve_units = 10000000 where id = ${shop.merchant.companyId}`)
  await setTarget(shop, newAddress())
  const first = await createPaid(shop, { alias: '=1+1' })
  const second = await createPaid(shop)
  await revert(shop, second.code, { amount: '4', address: newAddress() })
  await refundReaches(shop, second.orderId, 'settled')
  const { data: dropped } = await create(shop, admin)
  await admin.post(`settlements/${dropped._id}/cancel`)
  const third = await createPaid(shop)
  const { data: made } = await create(shop, admin)
  const statement = await statementOf(shop, made._id)
  const { carriedOver, payments, refunds, ...rest } = statement.summary
  assert.deepEqual(
    [carriedOver, payments, refunds],
    [
      '0.000000',
      { count: 3, gross: '162.000000', fees: '1.620000', net: '160.380000' },
      { count: 1, amount: '-4.000000' },
    ],
  )
  assert.deepEqual(rest, {
    ...{
      takenBack: { count: 0, amount: '0.000000' },
      losses: '0.000000',
      owed: '156.380000',
      ownAccounts: '0.000000',
      undecided: '0.000000',
    },
    ...{ reserve: '-10.000000', heldBack: '0.000000', amount: made.amount },
  })
  assert.equal(made.amount, '146.380000')
  assert.deepEqual(
    statement.lines.map(({ kind, code, amount }) => [kind, code, amount]),
    [
      ['payment', first.code, '53.460000'],
      ['payment', second.code, '53.460000'],
      ['refund', second.code, '-4.000000'],
      ['payment', third.code, '53.460000'],
    ],
  )
  assert.deepEqual((await statementOf(shop, dropped._id)).lines, statement.lines.slice(0, 3))
  const page = await statementOf(shop, made._id, 'limit=3')
  const rest2 = await statementOf(shop, made._id, `limit=3&after=${page.nextCursor}`)
  assert.deepEqual([...page.lines, ...rest2.lines], statement.lines)
  const path = `/api/next/settlements/${made._id}/statement?format=csv`
  const file = await shop.host.call('GET', path, { as: shop.merchant })
  const [header, line, ...more] = file.text.trimEnd().split('\r\n')
  assert.equal(header, 'date,kind,order,shortCode,alias,fromAmount,fromAsset,gross,fee,amount,ownAccount,journal')
  assert.match(
    line ?? '',
    new RegExp(`,payment,${first.code},[0-9A-Z]{8},'=1\\+1,50\\.00,EUR,54\\.000000,0\\.540000,53\\.460000,false,`),
  )
  assert.equal(more.map((one) => one.split(',')[5]).join(), '50.00,,50.00')
  await admin.post(`settlements/${made._id}/approve`)
  await reaches(shop, admin, made._id, 'paid')
  await createPaid(shop)
  const { data: next } = await create(shop, admin)
  const after = await statementOf(shop, next._id)
  assert.deepEqual([after.summary.carriedOver, after.lines.length], ['10.000000', 1])
  assert.equal(after.summary.amount, next.amount)
  // as one that was made before it was recorded what settlements cover
  await shop.host.db.run(sql`update settlements set covers_before = null, covers_last = null, owed_units = null`)
  const old = await statementOf(shop, next._id)
  assert.deepEqual({ ...old.summary, ...NOT_RECORDED }, { ...after.summary, ...NOT_RECORDED })
  assert.deepEqual([old.summary.reserve, old.lines], [null, after.lines])
  await admin.post(`settlements/${next._id}/cancel`)
})

const NOT_RECORDED = { ownAccounts: null, undecided: null, reserve: null, heldBack: null }

test('a refund that is taken back after the payout that held it stands as such in the next statement', async () => {
  const shop = automatic
  const change = (to: boolean) =>
    shop.host.db.run(sql`
    update companies set fee_bps = 0, reserve_units = 0, refund_approval = ${to} where id = ${shop.merchant.companyId}`)
  await change(true)
  await setTarget(shop, newAddress())
  const order = await createPaid(shop)
  await revert(shop, order.code, { amount: '20', address: newAddress() })
  const refund = await refundReaches(shop, order.orderId, 'needs_approval')
  const { data: first } = await create(shop, admin)
  assert.deepEqual((await statementOf(shop, first._id)).summary.refunds, { count: 1, amount: '-20.000000' })
  await admin.post(`settlements/${first._id}/approve`)
  await reaches(shop, admin, first._id, 'paid')
  assert.equal((await admin.post(`refunds/${refund._id}/reject`, { reason: 'not returned' })).status, 200)
  const { data: next } = await create(shop, admin)
  const { refunds, takenBack, amount } = (await statementOf(shop, next._id)).summary
  assert.deepEqual(
    [refunds, takenBack, amount],
    [{ count: 0, amount: '0.000000' }, { count: 1, amount: '20.000000' }, next.amount],
  )
  await admin.post(`settlements/${next._id}/cancel`)
  await change(false)
})

test('a booking under way while a settlement is made belongs to the next, whatever its time', async () => {
  const { db } = manual.host
  const companyId = newId()
  const pay = (tx: Tx, at: Date, units: bigint) =>
    bookPayment(
      tx,
      { companyId, causeId: newId(), orderId: null, at },
      { received: units, due: units, feeBps: 0, holder: 'payer_clearing' },
    )
  const settle = async (at: Date): Promise<string> => {
    const [before, id, set] = [firstIdAt(at.getTime() - 60_000), newId(), { at: null, by: null }]
    const { journals, ...basis } = await findPayableWith(db, companyId, before)
    const covers = { before, last: journals }
    const rest = { address: newAddress(), network: 31337, createdBy: 'user:1', createdAt: at }
    const units = settleableOf(basis)
    await db.tx(async (tx) => {
      await insertSettlement(tx, { companyId, id, units, basis: { ...basis, kept: 0n }, covers, set, ...rest })
      await bookSettlement(tx, { companyId, causeId: id, orderId: null, at }, units)
      await tx.run(sql`update settlements set status = 'paid' where id = ${id}`)
    })
    return id
  }
  const linesOf = async (id: string): Promise<bigint[]> => {
    const span = await findSpan(db, companyId, id)
    assert.ok(span)
    return (await listLines(db, span, { after: null, limit: 10 })).map(({ units }) => units)
  }
  const start = Date.now()
  const [booked, settled] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const underWay = db.tx(async (tx) => {
    await pay(tx, new Date(start), 5n)
    booked.resolve()
    await settled.promise
  })
  await booked.promise
  await db.tx((tx) => pay(tx, new Date(start + 1), 7n))
  const first = await settle(new Date(start + 2))
  settled.resolve()
  await underWay
  const second = await settle(new Date(start + 3))
  assert.deepEqual([await linesOf(first), await linesOf(second)], [[7n], [5n]])
  assert.equal((await findSpan(db, companyId, second))?.carriedUnits, 0n)
})

test('where the keys were taken away, a transfer on its way is followed to its end, and can be named once it is final', async () => {
  const [to, payer] = [newAddress(), newAddress()]
  const order = await createPaid(automatic)
  await revert(automatic, order.code, { amount: '4', address: payer })
  const refund = await refundReaches(automatic, order.orderId, 'submitted', false)
  await payoutReaches(refund._id, 'sent')
  await setTarget(automatic, to)
  const { data: made } = await create(automatic, admin)
  await admin.post(`settlements/${made._id}/approve`)
  await payoutReaches(made._id, 'sent')
  const { db, connectionString, service } = automatic.host
  await service.stopWorkers()
  const worker = await startTestService({ env: chainEnv(automatic.chain), workers: true, connectionString })
  try {
    await db.run(sql`update settlements set next_check_at = now() where id = ${made._id}`)
    await db.run(sql`update refunds set next_check_at = now() where id = ${refund._id}`)
    const told = async () => (await admin.get<Settlement[]>('settlements')).data.find(({ _id }) => _id === made._id)
    await eventually(told, (settlement) => /whose key is not set up here/.test(settlement?.message ?? ''))
    assert.equal((await told())?.status, 'approved')
    const { txHash } = await db.one<{ txHash: string }>(
      sql`select tx_hash from chain_payout_transactions where payout_id = ${made._id}`,
    )
    const name = () => admin.post<Settlement>(`settlements/${made._id}/paid`, { txHash })
    const early = await name()
    assert.deepEqual([early.status, early.error.details?.[0]?.path], [422, 'txHash'])
    await automatic.chain.mine(5)
    await db.run(sql`update refunds set next_check_at = now() where id = ${refund._id}`)
    await refundReaches(automatic, order.orderId, 'settled')
    assert.equal((await name()).data?.status ?? (await told())?.status, 'paid')
    assert.deepEqual(
      [await automatic.chain.balanceOf(to), await automatic.chain.balanceOf(payer)],
      [BigInt(made.amount.replace('.', '')), 4_000_000n],
    )
    await checkBooks(automatic)
  } finally {
    await worker.stop()
  }
})

test('what a person was asked to send by hand is not sent by the service, also once it has the keys', async () => {
  const to = newAddress()
  await setTarget(manual, to)
  await createPaid(manual)
  const { data: made } = await create(manual, manualAdmin)
  await manualAdmin.post(`settlements/${made._id}/approve`)
  const told = async () => (await manualAdmin.get<Settlement[]>('settlements')).data.find(({ _id }) => _id === made._id)
  await eventually(told, (settlement) => /send it by hand, then name the transaction/.test(settlement?.message ?? ''))
  const units = BigInt(made.amount.replace('.', ''))
  const txHash = await manual.chain.pay({ to, units })
  await manual.chain.mine(3)
  const { db, connectionString, service } = manual.host
  await service.stopWorkers()
  const env = { ...chainEnv(manual.chain), ...(await payoutEnv(manual.chain)) }
  const worker = await startTestService({ env, workers: true, connectionString })
  try {
    const looks = async () => {
      await db.run(sql`update settlements set next_check_at = now() where id = ${made._id}`)
      return (await db.one<{ checks: number }>(sql`select checks from settlements where id = ${made._id}`)).checks
    }
    const before = await looks()
    await eventually(looks, (checks) => checks > before + 3)
    const started = await db.maybe(sql`select id from chain_payouts where id = ${made._id}`)
    assert.equal(started, undefined)
    assert.equal((await manualAdmin.post<Settlement>(`settlements/${made._id}/paid`, { txHash })).data.status, 'paid')
    assert.equal(await manual.chain.balanceOf(to), units)
  } finally {
    await worker.stop()
  }
})
