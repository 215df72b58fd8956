import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, test } from 'node:test'
import { PNG } from 'pngjs'
import { DEPLOYER } from '../sandbox/chain/throwaway-keys.ts'
import { sql, type Tx } from '../src/db/db.ts'
import { listMigrations } from '../src/db/migrate.ts'
import { DAY } from '../src/kernel/clock.ts'
import { eraseUserAddressesOlderThan } from '../src/payments/payment-jobs.ts'
import { eraseProofsOlderThan } from '../src/refunds/refund-jobs.ts'
import { findRefund } from '../src/refunds/refund-queries.ts'
import { settleRefundIn } from '../src/refunds/refund-settle.ts'
import { type Client, logIn, logInSuperAdmin, type Person, register, registerManager } from './harness/accounts.ts'
import { createPaid, newAddress, type RefundData, refundReaches, revert } from './harness/refunds.ts'
import { type Answer, eventually } from './harness/service.ts'
import { type Instructions, openShop, type Shop } from './harness/shop.ts'

/** No keys are set: a person sends the money and names the transaction. */
let shop: Shop
/** Holds the money, and so sends it. */
let operator: Client

before(async () => {
  shop = await openShop()
  operator = await logInSuperAdmin(shop.host)
})
after(() => shop?.stop())

const name = (refund: RefundData, txHash: string): Promise<Answer<RefundData>> =>
  operator.post(`refunds/${refund._id}/transaction`, { txHash })

const startRefund = async (to: string): Promise<RefundData> => {
  const order = await createPaid(shop)
  assert.equal((await revert(shop, order.code, { address: to })).status, 200)
  return refundReaches(shop, order.orderId, 'ready', false)
}

test('a refund that a person sent is settled by its transaction when that is final; who named it is written down', async () => {
  const to = newAddress()
  const refund = await startRefund(to)
  const txHash = await shop.chain.pay({ to, units: 54_000_000n })
  const early = await name(refund, txHash)
  assert.deepEqual([early.status, early.data.status], [200, 'submitted'])
  const settled = await refundReaches(shop, refund.orderId, 'settled')
  assert.equal(settled.txHash, txHash)
  const entries = await shop.host.db.many<{ actor: string; action: string; detail: string }>(
    sql`select actor, action, detail from audit_log where object = ${`refund:${refund._id}`} order by seq`,
  )
  assert.deepEqual(
    entries.map(({ action }) => action),
    ['refund.revert', 'refund.transaction'],
  )
  assert.match(entries[1]?.actor ?? '', /^user:/)
  assert.equal(JSON.parse(entries[1]?.detail ?? '{}').txHash, txHash)
})

test('a transfer that is older than the payment returns nothing of it', async () => {
  const to = newAddress()
  const txHash = await shop.chain.pay({ to, units: 54_000_000n })
  await shop.chain.mine(3)
  const refund = await startRefund(to)
  await shop.host.db.run(
    sql`update payments set opened_at = now() + interval '1 day' where order_id = ${refund.orderId}`,
  )
  const { status, error } = await name(refund, txHash)
  assert.deepEqual([status, error.code], [422, 'VALIDATION_FAILED'])
  assert.match(error.details?.[0]?.message ?? '', /^is of .*, which is before the payment that it should return$/)
})

test('a transaction that pays something else is refused and says why; one pays one refund', async () => {
  const to = newAddress()
  const [first, second] = [await startRefund(to), await startRefund(to)]
  const wrongUnits = await shop.chain.pay({ to, units: 53_999_999n })
  const wrongPlace = await shop.chain.pay({ to: newAddress(), units: 54_000_000n })
  const other = await shop.chain.deployOtherToken()
  const wrongToken = await shop.chain.pay({ to, units: 54_000_000n, token: other })
  await shop.chain.mine(3)
  for (const txHash of [wrongUnits, wrongPlace, wrongToken, `0x${'ab'.repeat(32)}`, '0x12']) {
    const { status, error } = await name(first, txHash)
    assert.deepEqual([status, error?.details?.[0]?.path], [422, 'txHash'], txHash)
  }
  const right = await shop.chain.pay({ to, units: 54_000_000n })
  await shop.chain.mine(3)
  const answers = await Promise.all([first, second].map((refund) => name(refund, right)))
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 422])
  const refused = answers.find(({ status }) => status === 422)
  assert.match(JSON.stringify(refused?.error.details), /another refund or settlement/)
})

test('in no block yet, only a plain transfer of the refund is believed; once it vanished, the refund can be rejected', async () => {
  const { chain, host } = shop
  const to = newAddress()
  const refund = await startRefund(to)
  const elsewhere = await name(refund, await chain.send({ to: newAddress(), units: 1n }))
  assert.deepEqual([elsewhere.status, elsewhere.error.details?.[0]?.path], [422, 'txHash'])
  const call = { from: DEPLOYER, to: newAddress(), value: '0x0' }
  const unread = await name(refund, await chain.call<string>('eth_sendTransaction', call))
  assert.deepEqual([unread.status, unread.error.code], [409, 'OBJECT_CONFLICT'])
  assert.match(unread.error.message, /is not in a block yet.* Name it again once it is\./)
  // the service may still pay it
  const read = () =>
    host.db.one<{ id: string; status: string; payouts: bigint; claims: bigint }>(sql`
      select id, status, (select count(*) from chain_payouts p where p.id = r.id) as payouts,
        (select count(*) from claimed_transactions c where c.cause_id = r.id) as claims
      from refunds r where id = ${refund._id}`)
  // while a poll tries to send it, it is submitted for a moment
  const { id, ...left } = await eventually(read, ({ status }) => status === 'ready')
  assert.deepEqual(left, { status: 'ready', payouts: 0n, claims: 0n })
  const earlier = await chain.send({ to, units: 54_000_000n })
  const raw = await chain.rawTransaction(earlier)
  assert.equal((await name(refund, earlier)).data.status, 'submitted')
  await chain.call('anvil_dropAllTransactions')
  const txHash = await chain.send({ to, units: 54_000_000n })
  assert.notEqual(txHash, earlier)
  assert.equal((await name(refund, txHash)).data.status, 'submitted')
  const admin = await logInSuperAdmin(host)
  const reject = () => admin.post<RefundData>(`refunds/${id}/reject`, { reason: 'it was never sent' })
  assert.equal((await reject()).error.code, 'OBJECT_CONFLICT')
  await chain.call('anvil_dropAllTransactions')
  const rejected = await reject()
  assert.deepEqual([rejected.data?.status, rejected.data?.txHash], ['rejected', null], rejected.text)
  const { code } = await host.db.one<{ code: string }>(sql`select code from orders where id = ${refund.orderId}`)
  assert.equal((await revert(shop, code, { address: to })).status, 200)
  const next = await refundReaches(shop, refund.orderId, 'ready', false)
  assert.match(JSON.stringify((await name(next, txHash)).error.details), /is not known on/)
  // its nonce follows that of another dropped one
  await chain.send({ to: newAddress(), units: 1n })
  await chain.resend(raw)
  const returned = await name(next, earlier)
  assert.equal(returned.data?.status, 'submitted', returned.text)
})

type Kept = RefundData & {
  settledByHand: boolean
  code: string
  proof: null | { mime: string; size: number; sha256: string; by: string; at: string; erasedAt: string | null }
}

/** A person of the merchant’s company, with a fresh second factor. */
async function joinShop(role: string): Promise<Person> {
  const { baseUrl, db } = shop.host
  const { companyId } = shop.merchant
  const person =
    role === 'Manager' ? await registerManager(baseUrl) : await register(baseUrl, { role, companyName: companyId })
  await db.run(sql`update users set company_id = ${companyId}, approved_at = now() where id = ${person.userId}`)
  await freshen(person)
  return person
}

const freshen = ({ userId }: Person) =>
  shop.host.db.run(sql`update sessions set second_factor_at = now() where user_id = ${userId}`)

const operatorName = async () => `user:${(await operator.get<{ _id: string }>('users/me')).data._id}`

/** A refund of a channel whose provider cannot refund. */
async function startManual(): Promise<RefundData> {
  const refund = await startRefund(newAddress())
  // a poll that asks the chain meanwhile would make it submitted for a moment
  await eventually(
    () =>
      shop.host.db.one<{ isPolled: boolean }>(sql`
      select next_check_at is not null as is_polled from refunds where id = ${refund._id}`),
    ({ isPolled }) => !isPolled,
  )
  await shop.host.db.run(sql`update refunds set channel = 'gatepay' where id = ${refund._id}`)
  await shop.host.db.run(sql`
    update payments set channel = 'gatepay' where id = (select payment_id from refunds where id = ${refund._id})`)
  return refund
}

/** With a comment, as cameras leave their place and time in a file. */
function drawPng(width: number, height: number): Buffer {
  const png = PNG.sync.write(new PNG({ width, height }))
  return Buffer.concat([png, Buffer.from('GPS 48.8584 2.2945')])
}

const PDF = Buffer.from('%PDF-1.7\n1 0 obj <</JS (app.alert(1))>> endobj\n%%EOF\n')

async function sendFile({ token }: Client, id: string, mime: string, file: Buffer) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': mime }
  const url = `${shop.host.baseUrl}/api/next/refunds/${id}/proof`
  const answer = await fetch(url, { method: 'POST', headers, body: new Uint8Array(file) })
  return { status: answer.status, text: await answer.text() }
}

const download = ({ token }: Client, id: string): Promise<Response> =>
  fetch(`${shop.host.baseUrl}/api/next/refunds/${id}/proof`, { headers: { authorization: `Bearer ${token}` } })

test('a proof file settles with its refund: redrawn, kept once, downloaded as an attachment, every step written down', async () => {
  const boss = await joinShop('Manager')
  const { _id: id } = await startManual()
  const picture = drawPng(60, 40)
  const words = { reference: `bank-${id}`, statement: 'sent by bank transfer' }
  const refused = await operator.post(`refunds/${id}/settle`, {
    ...words,
    proof: PDF.subarray(0, 20).toString('base64'),
  })
  assert.deepEqual([refused.status, refused.error.details?.[0]?.path], [422, 'proof'], 'half a PDF settles nothing')
  const early = await sendFile(boss.client, id, 'image/png', picture)
  assert.deepEqual([early.status, /settled by hand/.test(early.text)], [409, true], early.text)
  const settled = await operator.post<Kept>(`refunds/${id}/settle`, { ...words, proof: picture.toString('base64') })
  assert.deepEqual(
    [settled.status, settled.data?.status, settled.data?.settledByHand],
    [200, 'settled', true],
    settled.text,
  )
  const { proof } = settled.data
  assert.deepEqual([proof?.mime, proof?.by], ['image/webp', await operatorName()])
  const answer = await download(boss.client, id)
  const bytes = Buffer.from(await answer.arrayBuffer())
  assert.equal(bytes.toString('latin1', 8, 12), 'WEBP')
  assert.equal(bytes.includes('GPS'), false, 'what hid behind the picture is gone')
  assert.deepEqual([bytes.length, createHash('sha256').update(bytes).digest('hex')], [proof?.size, proof?.sha256])
  const sent = [
    'content-type',
    'content-disposition',
    'x-content-type-options',
    'content-security-policy',
    'cache-control',
  ]
  assert.deepEqual(
    sent.map((header) => answer.headers.get(header)),
    [
      'image/webp',
      `attachment; filename="refund-${id}.webp"`,
      'nosniff',
      "default-src 'none'; sandbox",
      'private, no-store',
    ],
  )
  const again = await sendFile(boss.client, id, 'application/pdf', PDF)
  assert.deepEqual([again.status, /cannot be replaced/.test(again.text)], [409, true], again.text)
  assert.equal((await boss.client.get<Kept>(`refunds/${id}`)).data.proof?.sha256, proof?.sha256)
  const entries = await shop.host.db.many<{ actor: string; action: string; detail: string }>(
    sql`select actor, action, detail from audit_log where object = ${`refund:${id}`} order by seq`,
  )
  const steps = entries.slice(-2)
  assert.deepEqual(
    steps.map(({ action, actor, detail }) => [action, actor, JSON.parse(detail).sha256]),
    [
      ['refund.settled_by_hand', await operatorName(), proof?.sha256],
      ['refund.proof_read', `user:${boss.userId}`, proof?.sha256],
    ],
  )
  assert.equal(JSON.parse(steps[0]?.detail ?? '{}').sentSha256, createHash('sha256').update(picture).digest('hex'))
})

test('a proof added later is read by its bytes: a name or type proves nothing, 1 MB is the limit, and only one of many stays', async () => {
  const boss = await joinShop('Manager')
  const observer = await joinShop('Observer')
  const cashier = await joinShop('Cashier')
  const other = await registerManager(shop.host.baseUrl)
  await freshen(other)
  const { _id: id } = await startManual()
  await operator.post(`refunds/${id}/settle`, { reference: `bank-${id}`, statement: 'sent by bank transfer' })
  assert.equal((await download(boss.client, id)).status, 404, 'nothing there yet')
  const wrong: [string, Buffer, number, RegExp][] = [
    ['image/png', Buffer.from('<svg onload="alert(1)"/>'), 422, /PNG, JPEG or WebP picture, or a whole PDF/],
    ['image/png', drawPng(60, 40).subarray(0, 50), 422, /cannot be read/],
    ['image/png', PNG.sync.write(new PNG({ width: 3001, height: 16 })), 422, /from 16 to 3000 pixels/],
    ['application/pdf', Buffer.concat([PDF, Buffer.alloc(1_000_000), PDF]), 422, /at most 1 MB/],
    ['image/svg+xml', Buffer.from('<svg/>'), 415, /./],
  ]
  for (const [mime, file, status, words] of wrong) {
    const answer = await sendFile(boss.client, id, mime, file)
    assert.deepEqual([answer.status, words.test(answer.text)], [status, true], answer.text)
  }
  for (const { client } of [observer, cashier]) assert.equal((await sendFile(client, id, 'image/png', PDF)).status, 403)
  assert.equal((await sendFile(other.client, id, 'application/pdf', PDF)).status, 404)
  const files = [1, 2, 3, 4].map((page) => Buffer.concat([PDF, Buffer.from(`%${page}\n%%EOF`)]))
  const answers = await Promise.all(files.map((file) => sendFile(boss.client, id, 'image/png', file)))
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 409, 409, 409])
  const kept = files[answers.findIndex(({ status }) => status === 200)]
  const answer = await download(boss.client, id)
  assert.deepEqual(Buffer.from(await answer.arrayBuffer()), kept, 'a PDF stays as it was sent')
  assert.equal(answer.headers.get('content-type'), 'application/pdf')
  assert.match(answer.headers.get('content-disposition') ?? '', /^attachment; filename="refund-\w+\.pdf"$/)
  assert.equal((await download(other.client, id)).status, 404)
  const read = { ...shop.merchant.headers }
  const byKey = await fetch(`${shop.host.baseUrl}/api/next/refunds/${id}/proof`, { headers: read })
  for (const refused of [await download(observer.client, id), await download(cashier.client, id), byKey])
    assert.equal(refused.status, 403, 'a slip of the bank names the payer: it is payer information')
  const reader = await logIn(shop.host.baseUrl, boss.email)
  const list = await reader.get<{ refunds: Kept[] }>('refunds')
  const sha256 = createHash('sha256')
    .update(kept ?? '')
    .digest('hex')
  assert.equal(list.data.refunds.find(({ _id }) => _id === id)?.proof?.sha256, sha256)
})

test('the wallet given at accept goes with its payer once nothing can be refunded to it, and after the retention', async () => {
  const boss = await joinShop('Manager')
  const accepted = async () => {
    const { code, _id: id } = await shop.create({})
    const body = { paymentChannel: 'crypto', network: shop.chain.chainId, userAddress: newAddress() }
    const { status, data } = await shop.host.call<Instructions>('POST', `accept/${code}`, { as: shop.merchant, body })
    assert.equal(status, 200)
    return { code, id, to: data.toAddress }
  }
  const walletOf = async ({ id }: { id: string }) =>
    (
      await shop.host.db.one<{ wallet: string | null }>(
        sql`select user_address as wallet from payments where order_id = ${id}`,
      )
    ).wallet
  const erase = async ({ code }: { code: string }) =>
    (await boss.client.call<{ erased: boolean }>('DELETE', `confirm_conversion/payer-information/${code}`)).data.erased
  const [order, old] = [await accepted(), await accepted()]
  assert.equal(await erase(order), false)
  assert.ok(await walletOf(order), 'money may yet come, and go back')
  assert.equal((await shop.host.call('POST', `cancel/${order.code}`, { as: shop.merchant })).status, 200)
  assert.equal(await erase(order), true)
  assert.equal(await walletOf(order), null)
  const part = await accepted()
  await shop.chain.pay({ to: part.to, units: 1_000_000n })
  await shop.makeFinal()
  await eventually(
    () => shop.story(part.id),
    ({ mispayments }) => mispayments.some(({ kind }) => kind === 'under'),
  )
  await shop.host.db.run(sql`update orders set status = 'EXPIRED' where id = ${part.id}`)
  await erase(part)
  assert.ok(await walletOf(part), 'what came of it may go back')
  const later = (days: number) => ({ db: shop.host.db, clock: () => Date.now() + days * DAY })
  await eraseUserAddressesOlderThan(later(29), 30)
  assert.ok(await walletOf(old))
  await eraseUserAddressesOlderThan(later(31), 30)
  assert.equal(await walletOf(old), null)
})

test('a proof goes with its payer, on request and after the retention period; its hash and the booking stay', async () => {
  const boss = await joinShop('Manager')
  const [asked, old, other] = [await startManual(), await startManual(), await startManual()]
  for (const { _id: id } of [asked, old, other]) {
    const body = { reference: `bank-${id}`, statement: 'sent by bank transfer', proof: PDF.toString('base64') }
    assert.equal((await operator.post(`refunds/${id}/settle`, body)).status, 200)
  }
  const read = async ({ _id: id }: RefundData) => (await boss.client.get<Kept>(`refunds/${id}`)).data
  const before = await read(asked)
  const erased = await boss.client.call('DELETE', `confirm_conversion/payer-information/${before.code}`)
  assert.deepEqual(erased.data, { erased: true, notes: 0 }, erased.text)
  const { proof, ...booked } = await read(asked)
  assert.ok(proof?.erasedAt)
  assert.deepEqual({ ...booked, proof: { ...proof, erasedAt: null } }, before)
  const gone = await download(boss.client, asked._id)
  assert.deepEqual([gone.status, /was erased with the payer/.test(await gone.text())], [404, true])
  assert.deepEqual(
    (await boss.client.call('DELETE', `confirm_conversion/payer-information/${before.code}`)).data,
    { erased: false, notes: 0 },
    'once is enough',
  )
  const bytesOf = async ({ _id: id }: RefundData) =>
    (
      await shop.host.db.one<{ size: number }>(sql`
      select octet_length(bytes) as size from refund_proofs where refund_id = ${id}`)
    ).size
  assert.deepEqual([await bytesOf(asked), await bytesOf(old)], [0, PDF.length])
  await shop.host.db.run(sql`
    update refund_proofs set added_at = now() - interval '31 days' where refund_id = ${old._id}`)
  assert.equal(await eraseProofsOlderThan({ db: shop.host.db, clock: Date.now }, 30), 1)
  assert.equal((await read(old)).proof?.size, PDF.length)
  assert.deepEqual([await bytesOf(old), await bytesOf(other)], [0, PDF.length])
})

test('a provider that says “sent by hand” settles its refund, and not by hand', async () => {
  const { db } = shop.host
  const { _id } = await startManual()
  const refund = await findRefund(db, _id)
  assert.ok(refund)
  // seen at the last step of the transaction, which is then undone
  let settled: { status: string; settledByHand: boolean } | undefined
  const news = { reference: 'r-1', txHash: null, providerStatus: 'sent by hand: said the provider', actor: 'system' }
  const transition = async (tx: Tx): Promise<never> => {
    settled = await tx.one(sql`select status, settled_by_hand from refunds where id = ${_id}`)
    throw new Error('seen')
  }
  await assert.rejects(
    db.tx((tx) => settleRefundIn({ clock: Date.now, transition }, tx, refund, news)),
    /seen/,
  )
  assert.deepEqual(settled, { status: 'settled', settledByHand: false })
})

test('a refund that its channel sent takes no proof', async () => {
  const boss = await joinShop('Manager')
  const { _id: id } = await startManual()
  await shop.host.db.run(sql`update refunds set status = 'settled', last_words = 'done' where id = ${id}`)
  const answer = await sendFile(boss.client, id, 'application/pdf', PDF)
  assert.deepEqual(
    [answer.status, /Only a refund that was settled by hand/.test(answer.text)],
    [409, true],
    answer.text,
  )
})

test('settled by hand is a fact of its own: a provider’s words do not make it, and what an older node settles has it', async () => {
  const { db } = shop.host
  const { client } = await joinShop('Manager')
  const { id } = await db.one<{ id: string }>(sql`select id from refunds where status = 'settled' order by id limit 1`)
  const isByHand = async () => (await client.get<Kept>(`refunds/${id}`)).data.settledByHand
  const write = (words: string, byHand: boolean | null) =>
    db.run(sql`
      update refunds set last_words = ${words}, by_hand = false, settled_by_hand = ${byHand} where id = ${id}`)
  await write('sent by hand: said the provider', false)
  assert.equal(await isByHand(), false)
  await write('sent by hand: bank transfer', null)
  assert.equal(await isByHand(), true, 'a node of the version before knows the words only')
  // rows from before the column
  const text = listMigrations().find((migration) => migration.id.startsWith('0400'))?.text ?? ''
  const fill = /^update refunds[^;]*;/m.exec(text)?.[0] ?? ''
  for (const [words, expected] of [
    ['sent by hand: cash', true],
    ['done', false],
  ] as const) {
    await db.run(sql`alter table refunds disable trigger refund_settled_by_hand`)
    await write(words, null)
    await db.pool.query(fill)
    await db.run(sql`alter table refunds enable trigger refund_settled_by_hand`)
    assert.equal(await isByHand(), expected, words)
  }
})
