import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { mnemonicToAccount } from 'viem/accounts'
import { mint } from '../sandbox/chain/token.ts'
import { localSigner } from '../src/chain/payout/signer.ts'
import { sql } from '../src/db/db.ts'
import { describeVerdict, verifyLedger } from '../src/ledger/ledger-verify.ts'
import { logIn, passwordHash } from './harness/accounts.ts'
import { type Operator, openOperator } from './harness/installation.ts'
import { insertPerson } from './harness/office-world.ts'
import { createPaid, newAddress, type RefundData, refundReaches, revert } from './harness/refunds.ts'
import { openScreeningWorld, type ScreeningWorld } from './harness/screening-world.ts'
import { eventually, TEST_MASTER_KEY } from './harness/service.ts'
import type { Payable } from './harness/shop.ts'
import { startWeb3Signer, type Web3Signer } from './harness/web3signer.ts'

/* Destinations are screened before money leaves, and senders before a deposit is brought home. */
type Settlement = { _id: string; status: string; message: string | null }

/** A phrase of BIP-39's published test vectors: nothing of worth may ever come to its addresses. */
const PHRASE = 'legal winner thank year wave sausage worth useful legal winner thank yellow'
const XPUB = mnemonicToAccount(PHRASE, { path: "m/44'/60'/0'" }).getHdKey().publicExtendedKey

let world: ScreeningWorld
let signer: Web3Signer
let folder: string
let operator: Operator
before(async () => {
  operator = openOperator()
  world = await openScreeningWorld({ CHAIN_31337_XPUB: XPUB })
  const privateKeys = Array.from({ length: 20 }, (_, addressIndex) => {
    const key = mnemonicToAccount(PHRASE, { addressIndex }).getHdKey().privateKey
    return `0x${Buffer.from(key ?? []).toString('hex')}` as const
  })
  signer = await startWeb3Signer({ privateKeys })
  folder = mkdtempSync(join(tmpdir(), 'comptoir-sweep-screening-'))
})
after(async () => {
  await operator.close()
  await world?.stop()
  await signer?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const checkBooks = async (): Promise<void> => {
  const verdict = await verifyLedger(world.host.db)
  assert.equal(verdict.difference, null, describeVerdict(verdict))
}
const settledIn = (order: Payable): Promise<RefundData> => refundReaches(world, order.orderId, 'settled')

test('a refund to a listed destination is never sent; rejected, it goes to another one', async () => {
  const order = await createPaid(world)
  const bad = newAddress()
  await world.list(bad, { oracle: true })
  await revert(world, order.code, { address: bad })
  const waiting = await eventually(
    async () => (await world.admin.get<{ refunds: RefundData[] }>(`refunds?code=${order.code}`)).data.refunds[0],
    (refund) => /did not pass the screening/.test(refund?.message ?? ''),
  )
  assert.equal(waiting?.status, 'ready')
  const rejected = await world.admin.post(`refunds/${waiting?._id}/reject`, { reason: 'another address' })
  assert.equal(rejected.status, 200, rejected.text)
  const good = newAddress()
  await revert(world, order.code, { address: good })
  await settledIn(order)
  assert.deepEqual([await world.chain.balanceOf(bad), await world.chain.balanceOf(good)], [0n, order.units])
  await checkBooks()
})

test('a refund waits while a source is away, and is sent by itself when it is back', async () => {
  const order = await createPaid(world)
  await world.fault('trm', '503')
  const to = newAddress()
  await revert(world, order.code, { address: to })
  await world.screened(order, 'held', 'refund')
  assert.equal(await world.chain.balanceOf(to), 0n)
  await world.fault('trm', null)
  await eventually(
    async () => {
      await world.askNow()
      return (await world.screeningsOf(order)).find(({ purpose }) => purpose === 'refund')?.status
    },
    (status) => status === 'clean',
  )
  await settledIn(order)
  assert.equal(await world.chain.balanceOf(to), order.units)
})

test('what a rejected refund was screened for waits nowhere, and its sources are not asked again', async () => {
  const order = await createPaid(world)
  await world.fault('trm', '503')
  try {
    await revert(world, order.code, { address: newAddress() })
    const { _id, subjectId } = await world.screened(order, 'held', 'refund')
    const waits = async () => {
      const open = await world.admin.get<{ screenings: { _id: string }[] }>('screenings?status=open&limit=100')
      return open.data.screenings.some((one) => one._id === _id)
    }
    const needs = async () =>
      (await world.admin.get<{ needs: { screenings: number } }>('summary')).data.needs.screenings
    assert.equal(await waits(), true)
    const before = await needs()
    assert.equal((await world.admin.post(`refunds/${subjectId}/reject`, { reason: 'not now' })).status, 200)
    assert.deepEqual([await waits(), await needs()], [false, before - 1])
    // one that was dropped by an earlier version, and is still asked about
    await world.host.db.run(sql`update screenings set next_check_at = now(), checks = 7 where id = ${_id}`)
    const row = sql`select next_check_at as next, status from screenings where id = ${_id} and lease_until is null`
    const closed = await eventually(
      () => world.host.db.maybe<{ next: Date | null; status: string }>(row),
      (found) => found !== undefined && found.next === null,
    )
    assert.equal(closed?.status, 'held')
  } finally {
    await world.fault('trm', null)
  }
})

test('a settlement to a listed address is refused, and one to a clean address is sent', async () => {
  await createPaid(world)
  const { companyId } = world.merchant
  const setTarget = (address: string) =>
    world.host.db.run(
      sql`update companies set settlement_address = ${address}, settlement_network = 31337 where id = ${companyId}`,
    )
  const create = async () => (await world.admin.post<Settlement>('settlements', { companyId })).data
  const bad = newAddress()
  await world.list(bad, { trm: { riskType: 'OWNERSHIP', level: 15 } })
  await setTarget(bad)
  const first = await create()
  await world.admin.post(`settlements/${first._id}/approve`, {})
  const find = async (id: string) =>
    (await world.admin.get<Settlement[]>('settlements')).data.find(({ _id }) => _id === id)
  await eventually(
    () => find(first._id),
    (seen) => /did not pass the screening/.test(seen?.message ?? ''),
  )
  assert.equal(await world.chain.balanceOf(bad), 0n)
  const { email } = await insertPerson(world.host.db, 'Observer', companyId, await passwordHash())
  const watching = await logIn(world.host.baseUrl, email)
  const seenBy = [
    (await watching.get<Settlement[]>('settlements')).data.find(({ _id }) => _id === first._id),
    (await watching.get<Settlement>(`settlements/${first._id}`)).data,
    (await watching.get<{ settlement: Settlement }>(`settlements/${first._id}/statement`)).data.settlement,
  ]
  const neutral = 'waits: it is being checked'
  assert.deepEqual(
    seenBy.map((one) => one?.message),
    [neutral, neutral, neutral],
  )
  assert.equal((await world.admin.post(`settlements/${first._id}/cancel`, {})).status, 200)
  const good = newAddress()
  await setTarget(good)
  const second = await create()
  await world.admin.post(`settlements/${second._id}/approve`, {})
  await eventually(
    async () => {
      await world.chain.mine()
      return find(second._id)
    },
    (seen) => seen?.status === 'paid',
  )
  assert.ok((await world.chain.balanceOf(good)) > 0n)
  await checkBooks()
})

type Swept = { done: number; failed: unknown[]; held: { address: string; reason: string }[] }
type Ran = { code: number | null; text: string; swept: Swept | null }

/** `comptoir sweep` on another machine of the operator: Web3Signer has the keys of the deposit addresses. */
async function sweep(...args: string[]): Promise<Ran> {
  const { CHAIN_31337_REFUND_KEY: key, ...own } = world.env
  const env = {
    ...own,
    DATA_DIR: folder,
    DATABASE_URL: world.host.db.connectionString,
    MASTER_KEY: TEST_MASTER_KEY.toString('base64'),
    CHAIN_31337_REFUND_ADDRESS: localSigner(key ?? '').address,
    CHAIN_31337_WEB3SIGNER_URL: signer.url,
  }
  const { code, out, err } = await operator.run(['sweep', ...args, '--json'], env, folder)
  return { code, text: out + err, swept: out.startsWith('{') ? (JSON.parse(out) as Swept) : null }
}

const leftOf = (orders: readonly Payable[]): Promise<bigint[]> =>
  Promise.all(orders.map(({ toAddress }) => world.chain.balanceOf(toAddress)))
const reasonFor = (held: Swept['held'] | undefined, order: Payable): string =>
  held?.find(({ address }) => address === order.toAddress)?.reason ?? ''

/** As if the sender had been screened yesterday. */
async function makeOld(...wallets: string[]): Promise<void> {
  const { db } = world.host
  await db.run(sql`update screenings set updated_at = now() - interval '25 hours' where address = any(${wallets})`)
  await db.run(sql`alter table screening_answers disable trigger screening_answers__append_only`)
  await db.run(sql`
    update screening_answers set at = now() - interval '25 hours'
    where screening_id in (select id from screenings where address = any(${wallets}))`)
  await db.run(sql`alter table screening_answers enable trigger screening_answers__append_only`)
}

test('sweep --sign by Web3Signer asks about a sender who was never screened, or a day ago; no answer holds him out', async () => {
  const [fresh, never, older] = [await world.newWallet(), await world.newWallet(), await world.newWallet()]
  const [turned, dust] = [await world.newWallet(), await world.newWallet()]
  const paidBy = async (wallet: string): Promise<Payable> => {
    const order = await world.createAwaiting()
    await world.payFrom(wallet, order)
    await world.reaches(order.code, 'PAID')
    return order
  }
  const all = [await paidBy(fresh), await paidBy(never), await paidBy(older), await paidBy(turned)] as const
  const [a, b, c, d] = all
  // a listed hand sends next to nothing to someone else's deposit: that stops no money
  await world.list(dust, { oracle: true })
  await world.chain.pay({ to: a.toAddress, units: 100n, from: dust })
  await world.makeFinal()
  await world.host.db.run(sql`delete from screenings where address = ${never}`)
  await makeOld(older, turned)
  await world.list(turned, { risk: 'Severe' })
  await world.fault('trm', '503')
  const mining = setInterval(() => void world.chain.mine().catch(() => {}), 200)
  try {
    signer.fail('unavailable')
    const unsigned = await sweep('--sign')
    assert.deepEqual([unsigned.code, await leftOf(all)], [1, [a.units + 100n, b.units, c.units, d.units]])
    assert.match(unsigned.text, /Web3Signer: it answers 503/)
    signer.fail(null)
    const first = await sweep('--sign')
    assert.equal(first.code, 0, first.text)
    assert.deepEqual(await leftOf(all), [0n, b.units, c.units, d.units], first.text)
    for (const order of [b, c])
      assert.match(reasonFor(first.swept?.held, order), /not cleared \(trm: .*Run this again/, first.text)
    assert.match(reasonFor(first.swept?.held, d), /sender is listed/)
    await world.fault('trm', null)
    const second = await sweep('--sign')
    assert.equal(second.code, 0, second.text)
    assert.deepEqual(await leftOf(all), [0n, 0n, 0n, d.units], second.text)
    assert.ok(signer.signed.length >= 3)
    const { text } = await sweep()
    assert.match(text, /a sender is listed: see Identity and screening/)
  } finally {
    clearInterval(mining)
  }
  const asked = await world.host.db.many<{ address: string; status: string }>(
    sql`select address, status from screenings where purpose = 'sweep' order by opened_at`,
  )
  assert.deepEqual(
    new Map(asked.map(({ address, status }) => [address, status])),
    new Map([
      [never, 'clean'],
      [older, 'clean'],
      [turned, 'blocked'],
    ]),
  )
  await checkBooks()
})

test('a released sender is asked about again after a day: the release outweighs the same doubt, not a listing', async () => {
  const wallets = [await world.newWallet(), await world.newWallet()] as const
  const releasedFrom = async (wallet: string): Promise<Payable> => {
    await world.list(wallet, { risk: 'Medium' })
    const order = await world.createAwaiting()
    await world.payFrom(wallet, order)
    const { _id } = await world.screened(order, 'held')
    // a release also outweighs what does not answer: the faults of earlier tests may still hold a source back
    await eventually(
      async () => {
        await world.askNow()
        return (await world.screeningsOf(order)).find((one) => one._id === _id)?.answers ?? []
      },
      (answers) => answers.some(({ source, verdict }) => source === 'trm' && verdict === 'clean'),
    )
    await eventually(
      () => world.admin.post(`screenings/${_id}/release`, { reason: 'a known customer' }),
      ({ status }) => status === 200,
    )
    await world.reaches(order.code, 'PAID')
    return order
  }
  const orders = [await releasedFrom(wallets[0]), await releasedFrom(wallets[1])] as const
  const [doubted, listed] = orders
  await makeOld(...wallets)
  await world.list(wallets[1], { sanctions: true })
  await world.fault('trm', '503')
  const mining = setInterval(() => void world.chain.mine().catch(() => {}), 200)
  try {
    const first = await sweep('--sign')
    assert.deepEqual(await leftOf(orders), [doubted.units, listed.units], first.text)
    assert.match(first.text, /not cleared \(.*trm: .*Run this again/)
    assert.match(first.text, /is listed \(chainalysis: /)
    await world.fault('trm', null)
    const second = await sweep('--sign')
    assert.deepEqual([second.code, await leftOf(orders)], [0, [0n, listed.units]], second.text)
  } finally {
    clearInterval(mining)
    await world.fault('trm', null)
  }
})

test('a listing that was corrected locks no money: neither one of a payout, nor one that only a sweep has met', async () => {
  // its owner can sign for the refund
  const [refunded, swept] = [newAddress(), await world.newWallet()]
  await world.chain.call('anvil_impersonateAccount', refunded)
  await world.chain.call('anvil_setBalance', refunded, '0xde0b6b3a7640000')
  await mint(world.chain.call, refunded, 1_000_000_000n)
  const orders = [await world.createAwaiting(), await world.createAwaiting()] as const
  for (const [index, wallet] of [refunded, swept].entries()) {
    const order = orders[index]
    assert.ok(order)
    await world.payFrom(wallet, order)
    await world.reaches(order.code, 'PAID')
  }
  await world.list(refunded, { oracle: true })
  await revert(world, orders[0].code, { address: refunded })
  const read = async () =>
    (await world.admin.get<{ refunds: RefundData[] }>(`refunds?code=${orders[0].code}`)).data.refunds[0]
  const waiting = await eventually(read, (one) => /did not pass/.test(one?.message ?? ''))
  assert.equal((await world.admin.post(`refunds/${waiting?._id}/reject`, { reason: 'listed by mistake' })).status, 200)
  await world.list(refunded, { oracle: false })
  await makeOld(swept)
  await world.list(swept, { sanctions: true })
  const mining = setInterval(() => void world.chain.mine().catch(() => {}), 200)
  try {
    const first = await sweep('--sign')
    assert.deepEqual(await leftOf(orders), [0n, orders[1].units], first.text)
    await world.list(swept, { sanctions: false })
    const early = await sweep('--sign')
    assert.deepEqual(await leftOf(orders), [0n, orders[1].units], early.text)
    await makeOld(swept)
    const last = await sweep('--sign')
    assert.deepEqual(await leftOf(orders), [0n, 0n], last.text)
  } finally {
    clearInterval(mining)
  }
})

test('a sender who is listed stays so while its source is away: nobody releases it, and nothing moves', async () => {
  const wallet = await world.newWallet()
  const order = await world.createAwaiting()
  await world.payFrom(wallet, order)
  await world.reaches(order.code, 'PAID')
  await makeOld(wallet)
  await world.list(wallet, { sanctions: true })
  const row = () =>
    world.host.db.one<{ id: string; status: string }>(
      sql`select id, status from screenings where purpose = 'sweep' and address = ${wallet}`,
    )
  const mining = setInterval(() => void world.chain.mine().catch(() => {}), 200)
  try {
    await sweep('--sign')
    assert.equal((await row()).status, 'blocked')
    for (const round of ['the first outage', 'the next day, still away']) {
      await makeOld(wallet)
      await world.fault('sanctions', '503')
      const away = await sweep('--sign')
      const { id, status } = await row()
      assert.equal(status, 'blocked', round)
      assert.match(away.text, /is listed \(chainalysis: (?!HTTP)/, round)
      const released = await world.admin.post(`screenings/${id}/release`, { reason: 'its source is away' })
      assert.equal(released.error?.code, 'OBJECT_CONFLICT', round)
      await sweep('--sign')
      assert.deepEqual(await leftOf([order]), [order.units], round)
    }
    await world.fault('sanctions', null)
    await world.list(wallet, { sanctions: false })
    await makeOld(wallet)
    const corrected = await sweep('--sign')
    assert.deepEqual(await leftOf([order]), [0n], corrected.text)
  } finally {
    clearInterval(mining)
    await world.fault('sanctions', null)
  }
})

test('a file that was signed before its senders were listed is not sent, however fresh their last clean answers', async () => {
  const [turned, known] = [await world.newWallet(), await world.newWallet()]
  const orders = [await world.createAwaiting(), await world.createAwaiting()] as const
  const paid = async (wallet: string, order: Payable, status: string) => {
    await world.payFrom(wallet, order)
    await world.reaches(order.code, status)
  }
  await paid(turned, orders[0], 'PAID')
  await paid(known, orders[1], 'PAID')
  const file = join(folder, 'batch.json')
  const phrase = join(folder, 'phrase')
  writeFileSync(phrase, PHRASE)
  await sweep('--out', file)
  const to = localSigner(world.env.CHAIN_31337_REFUND_KEY ?? '').address
  const signed = await sweep('sign', '--in', file, '--mnemonic-file', phrase, '--to', to)
  assert.equal(signed.code, 0, signed.text)
  await world.list(turned, { sanctions: true })
  await makeOld(turned)
  // this one is on record as blocked, by a payment that came after the file was signed
  await world.list(known, { sanctions: true })
  await paid(known, await world.createAwaiting(), 'KYT_FAILED')
  const sent = await sweep('send', file)
  assert.equal(sent.code, 1)
  assert.match(sent.text, /Nothing was sent.*(is listed \(chainalysis: .*){2}/s)
  assert.deepEqual(await leftOf(orders), [orders[0].units, orders[1].units])
})

test('a sender whose money a person returned is asked about again, however fresh his clean answer for another order', async () => {
  const wallet = await world.newWallet()
  await world.list(wallet, { risk: 'Medium' })
  const [returned, clean] = [await world.createAwaiting(), await world.createAwaiting()] as const
  await world.payFrom(wallet, returned)
  const { _id } = await world.screened(returned, 'held')
  await eventually(
    () => world.admin.post(`screenings/${_id}/return`, { reason: 'the payer does not answer' }),
    ({ status }) => status === 200,
  )
  await world.list(wallet, { risk: 'Low' })
  await world.payFrom(wallet, clean)
  await world.reaches(clean.code, 'PAID')
  await world.list(wallet, { sanctions: true })
  const mining = setInterval(() => void world.chain.mine().catch(() => {}), 200)
  try {
    const { text } = await sweep('--sign')
    assert.deepEqual(await leftOf([clean]), [clean.units], text)
    assert.match(text, /is listed \(chainalysis: /)
  } finally {
    clearInterval(mining)
  }
})
