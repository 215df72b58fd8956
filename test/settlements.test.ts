import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { mint } from '../sandbox/chain/token.ts'
import { sql } from '../src/db/db.ts'
import { verifyLedger } from '../src/ledger/ledger-verify.ts'
import { type Client, logInSuperAdmin, type Person, registerManager } from './harness/accounts.ts'
import { blacklist, createPaid, newAddress, payoutEnv, refundReaches, revert } from './harness/refunds.ts'
import { eventually } from './harness/service.ts'
import { openShop, type Shop } from './harness/shop.ts'

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

before(async () => {
  automatic = await openShop({ env: payoutEnv })
  manual = await openShop()
  admin = await logInSuperAdmin(automatic.host)
  manualAdmin = await logInSuperAdmin(manual.host)
})
after(async () => {
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

test('without keys a person sends, and names the transaction, which is checked', async () => {
  const to = newAddress()
  await setTarget(manual, to)
  await createPaid(manual)
  const { data: made } = await create(manual, manualAdmin)
  const name = (txHash: string) => manualAdmin.post<Settlement>(`settlements/${made._id}/paid`, { txHash })
  const early = await manual.chain.pay({ to, units: 54_000_000n })
  assert.equal((await name(early)).error.code, 'OBJECT_CONFLICT')
  await manualAdmin.post(`settlements/${made._id}/approve`)
  const wrong = await manual.chain.pay({ to, units: 53_000_000n })
  await manual.chain.mine(3)
  assert.equal((await name(wrong)).status, 422)
  assert.equal((await name(early)).data.status, 'paid')
  await checkBooks(manual)
  await createPaid(manual)
  const { data: next } = await create(manual, manualAdmin)
  await manualAdmin.post(`settlements/${next._id}/approve`)
  const reused = await manualAdmin.post(`settlements/${next._id}/paid`, { txHash: early })
  assert.deepEqual([reused.status, reused.error.details?.[0]?.path], [422, 'txHash'])
  const fresh = await manual.chain.pay({ to, units: 54_000_000n })
  const named = await manualAdmin.post<Settlement>(`settlements/${next._id}/paid`, { txHash: fresh })
  assert.equal(named.data.status, 'approved')
  assert.equal((await manualAdmin.post(`settlements/${next._id}/cancel`)).error.code, 'OBJECT_CONFLICT')
  await reaches(manual, manualAdmin, next._id, 'paid')
  await checkBooks(manual)
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
  assert.equal(header, 'date,journal,kind,cause,order,account,asset,debit,credit')
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
  assert.equal((await admin.post('settlements')).error.code, 'FORBIDDEN')
})

test('a wallet that is short pays nothing and says so, then goes on', async () => {
  await createPaid(automatic)
  const to = newAddress()
  await setTarget(automatic, to)
  const { address } = await automatic.host.db.one<{ address: string }>(
    sql`select from_address as address from chain_payouts limit 1`,
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
