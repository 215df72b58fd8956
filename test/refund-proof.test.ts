import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import { mint } from '../sandbox/chain/token.ts'
import { sql } from '../src/db/db.ts'
import { verifyLedger } from '../src/ledger/ledger-verify.ts'
import { type Client, logInSuperAdmin, newEmail, register, waitForMail } from './harness/accounts.ts'
import {
  answerRefundPage,
  createPaid,
  createPaidBy,
  listRefunds,
  newAddress,
  payoutEnv,
  type RefundData,
  readMessage,
  refundReaches,
  revert,
  revertPlainly,
  signAs,
} from './harness/refunds.ts'
import { type Answer, eventually, startTestService, type TestService } from './harness/service.ts'
import { openShop, type Payable, type Shop } from './harness/shop.ts'

let shop: Shop
let admin: Client

before(async () => {
  shop = await openShop({ env: payoutEnv })
  admin = await logInSuperAdmin(shop.host)
})
after(() => shop?.stop())

const newest = async ({ orderId }: Payable): Promise<RefundData> => {
  const refund = (await listRefunds(shop, orderId)).at(-1)
  if (!refund) throw new Error('no refund')
  return refund
}

const statusOf = async ({ code }: Payable): Promise<string> =>
  (await shop.host.call<{ status: string }>('GET', `status/${code}`)).data.status

const nameAddress = (refund: RefundData, body: unknown): Promise<Answer<RefundData>> =>
  shop.host.call('POST', `/api/next/refunds/${refund._id}/address`, { as: shop.merchant, body })

/** A manager of the shop who has just given a second factor, or has not. */
async function join(fresh: boolean): Promise<Client> {
  const { client, userId } = await register(shop.host.baseUrl, { role: 'Manager', companyName: 'X' })
  await shop.host.db.run(sql`update users set company_id = ${shop.merchant.companyId} where id = ${userId}`)
  if (fresh) await shop.host.db.run(sql`update sessions set second_factor_at = now() where user_id = ${userId}`)
  return client
}

const wordFor = (address: string) => ({
  address,
  addressProof: { statement: 'He stood at the counter.', evidence: 'receipt 12' },
})

type Entry = { actor: string; action: string; detail: Record<string, unknown> }

/** What the audit log says of a refund, oldest first. */
const auditOf = async (refund: RefundData): Promise<Entry[]> =>
  (await admin.get<{ entries: Entry[] }>(`audit-log?object=refund:${refund._id}`)).data.entries.toReversed()

test('an address that the payer did not state gets nothing before the payer confirms it on the page from the mail', async () => {
  const [email, to] = [newEmail('payer'), newAddress()]
  const order = await createPaidBy(shop, email)
  assert.equal((await revertPlainly(shop, order.code, { address: to })).status, 200)
  const refund = await newest(order)
  assert.deepEqual(
    [refund.status, refund.address, refund.proposedAddress, refund.addressProof],
    ['needs_address', null, to, null],
  )
  assert.equal(refund.addressUrl, null, 'who proposed the address must not confirm it himself')
  await shop.chain.mine(5)
  assert.deepEqual([await statusOf(order), await shop.chain.balanceOf(to)], ['REFUNDING', 0n])
  const mail = await waitForMail(shop.host.baseUrl, email, /refund/)
  const link = /https?:\S+\/refund\?\S+/.exec(mail.text)?.[0] ?? ''
  const page = await (await fetch(link)).text()
  assert.match(page, new RegExp(`value="${to}"`))
  assert.match(page, /suggests the address/)
  assert.equal((await answerRefundPage(link, to)).status, 303)
  const settled = await refundReaches(shop, order.orderId, 'settled')
  assert.deepEqual([settled.address, settled.addressProof?.kind, settled.addressProof?.by], [to, 'payer', 'payer'])
  assert.equal(await shop.chain.balanceOf(to), order.units)
  const [started, named] = await auditOf(refund)
  assert.deepEqual([started?.action, started?.detail.proposedAddress], ['refund.revert', to])
  assert.deepEqual([named?.actor, named?.action, named?.detail.address], [`payer:${order.code}`, 'refund.address', to])
})

test('the pay page leads to the form only by a link that cannot answer for a payer who was asked by mail', async () => {
  const readPage = async (code: string) => (await fetch(`${shop.host.baseUrl}/pay?code=${code}`)).text()
  const silent = await createPaid(shop)
  await revertPlainly(shop, silent.code, {})
  const open = await readPage(silent.code)
  assert.match(open, /Where should your refund go\?/)
  const shown = /href="([^"]*\/refund\?[^"]+)"/.exec(open)?.[1]?.replaceAll('&amp;', '&') ?? ''
  assert.equal((await fetch(shown)).status, 200)
  const asked = await createPaidBy(shop, newEmail('payer'))
  await revertPlainly(shop, asked.code, {})
  const closed = await readPage(asked.code)
  assert.match(closed, /went to your email only/)
  assert.doesNotMatch(closed, /\/refund\?/)
})

test('without an e-mail the link is handed over: what is said there needs two people of the shop', async () => {
  const order = await createPaid(shop)
  const [proposed, own] = [newAddress(), newAddress()]
  await revertPlainly(shop, order.code, { address: proposed })
  const { addressUrl } = await newest(order)
  assert.equal((await answerRefundPage(addressUrl ?? '', own)).status, 303)
  await shop.chain.mine(5)
  const waiting = await newest(order)
  assert.deepEqual([waiting.status, waiting.proposedAddress, waiting.address], ['needs_address', own, null])
  assert.match(await (await fetch(addressUrl ?? '')).text(), /checks this address/)
  const vouch = wordFor(own)
  const [first, second] = [await join(true), await join(true)]
  const readPay = async () => (await fetch(`${shop.host.baseUrl}/pay?code=${order.code}`)).text()
  for (const client of [first, first]) {
    const named = await client.post<RefundData>(`refunds/${waiting._id}/address`, vouch)
    assert.deepEqual([named.status, named.data.status], [200, 'needs_address'], 'one person alone is not enough')
    assert.match(await (await fetch(addressUrl ?? '')).text(), /checks this address/, 'the payer is not asked again')
    assert.match(await readPay(), /We have your address/)
  }
  assert.equal((await answerRefundPage(addressUrl ?? '', own)).status, 303, 'a repeated answer takes back nothing')
  const repeated = await newest(order)
  assert.deepEqual([repeated.proposedBy, repeated.confirmedBy], ['payer', `user:${first.userId}`])
  const form = await (await fetch(`${addressUrl}&change=1`)).text()
  assert.match(form, /<input class="field mono" id="address"/)
  const german = /href="([^"]*)" lang="de"/.exec(form)?.[1]?.replaceAll('&amp;', '&') ?? ''
  assert.match(
    await (await fetch(new URL(german, addressUrl ?? ''))).text(),
    /id="address"/,
    'in another language, too',
  )
  assert.equal(await shop.chain.balanceOf(own), 0n)
  const named = await second.post<RefundData>(`refunds/${waiting._id}/address`, vouch)
  assert.deepEqual([named.status, named.data.addressProof?.by], [200, `user:${second.userId}`])
  const settled = await refundReaches(shop, order.orderId, 'settled')
  assert.deepEqual([settled.address, settled.proposedAddress], [own, null])
  assert.deepEqual([await shop.chain.balanceOf(own), await shop.chain.balanceOf(proposed)], [order.units, 0n])
})

test('a word for an address that the payer has changed meanwhile counts for nothing, and names the present one', async () => {
  const order = await createPaid(shop)
  await revertPlainly(shop, order.code)
  const { _id, addressUrl } = await newest(order)
  const [wrong, right] = [newAddress(), newAddress()]
  await answerRefundPage(addressUrl ?? '', wrong)
  const [first, second] = [await join(true), await join(true)]
  const path = `refunds/${_id}/address`
  assert.equal((await first.post<RefundData>(path, wordFor(wrong))).data.confirmedBy, `user:${first.userId}`)
  assert.equal((await answerRefundPage(addressUrl ?? '', right)).status, 303)
  for (const client of [second, first]) {
    const stale = await client.post<RefundData>(path, wordFor(wrong))
    assert.deepEqual([stale.status, stale.error?.code], [409, 'OBJECT_CONFLICT'])
    assert.ok(stale.error?.message?.includes(right), stale.text)
  }
  const { status, proposedAddress, proposedBy, confirmedBy, replacedAddress } = await newest(order)
  assert.deepEqual([status, proposedAddress, proposedBy, confirmedBy], ['needs_address', right, 'payer', null])
  assert.equal(replacedAddress, wrong, 'the shop learns of the change')
  assert.equal((await second.post<RefundData>(path, wordFor(right))).data.status, 'needs_address')
  // a node of an earlier version knows no confirmation: the database forgets it with the address
  await shop.host.db.run(sql`update refunds set proposed_address = ${wrong} where id = ${_id}`)
  assert.equal((await first.post<RefundData>(path, wordFor(wrong))).data.status, 'needs_address')
  assert.equal((await second.post<RefundData>(path, wordFor(wrong))).data.address, wrong)
})

test('one person with the handed-over link cannot pass for the payer: two others are needed, and it shows', async () => {
  const order = await createPaid(shop)
  await revertPlainly(shop, order.code)
  const { _id, addressUrl } = await newest(order)
  const [own, foreign] = [newAddress(), newAddress()]
  await answerRefundPage(addressUrl ?? '', own)
  const [first, second] = [await join(true), await join(true)]
  const path = `refunds/${_id}/address`
  const replaced = await first.post<RefundData>(path, { address: foreign })
  assert.deepEqual([replaced.data.proposedBy, replaced.data.replacedAddress], [`user:${first.userId}`, own])
  const readPay = async () => (await fetch(`${shop.host.baseUrl}/pay?code=${order.code}`)).text()
  assert.match(await readPay(), /Where should your refund go/)
  await answerRefundPage(addressUrl ?? '', foreign)
  const answered = await newest(order)
  assert.deepEqual([answered.proposedBy, answered.replacedAddress], ['payer', own])
  const page = await readPay()
  assert.match(page, /We have your address/)
  assert.ok(page.includes(foreign), 'the payer sees that it is not theirs')
  const alone = await second.post<RefundData>(path, wordFor(foreign))
  assert.deepEqual([alone.data.status, alone.data.confirmedBy], ['needs_address', `user:${second.userId}`])
})

test('what the payer named stays in sight and needs two words, whatever one person of the shop proposes around it', async () => {
  for (const isFirst of [true, false]) {
    const order = await createPaid(shop)
    await revertPlainly(shop, order.code)
    const { _id, addressUrl } = await newest(order)
    const [own, foreign, any] = [newAddress(), newAddress(), newAddress()]
    const [first, second, third] = [await join(true), await join(true), await join(true)]
    const path = `refunds/${_id}/address`
    // one of the two answers is the payer's, the other that of a person of the shop with the handed-over link
    for (const address of isFirst ? [foreign, own] : [own, foreign]) await answerRefundPage(addressUrl ?? '', address)
    await first.post(path, { address: any })
    await first.post(path, { address: foreign })
    const seen = await newest(order)
    assert.deepEqual([seen.proposedAddress, seen.proposedBy, seen.replacedAddress], [foreign, 'payer', own])
    const { data } = await first.post<RefundData>(path, { address: own })
    assert.deepEqual([data.proposedBy, data.replacedAddress], ['payer', foreign])
    assert.equal((await second.post<RefundData>(path, wordFor(own))).data.status, 'needs_address')
    assert.equal((await third.post<RefundData>(path, wordFor(own))).data.address, own)
  }
})

test('what the payer stated at accept or in the payer information needs no other proof, in any spelling', async () => {
  const own = newAddress()
  const { code, _id: orderId } = await shop.create()
  const { data } = await shop.accept(code, { userAddress: own })
  await shop.chain.pay({ to: data.toAddress, units: 54_000_000n })
  await shop.makeFinal()
  await shop.reaches(code, 'PAID')
  assert.equal((await revertPlainly(shop, code, { amount: '4', address: own.toLowerCase() })).status, 200)
  const first = await refundReaches(shop, orderId, 'settled')
  assert.deepEqual([first.address, first.addressProof?.kind, first.addressProof?.source], [own, 'stated', 'accept'])
  const order = await shop.createAwaiting()
  const information = { code: order.code, payerInformation: { userAddress: own } }
  await shop.host.call('POST', 'payer-information', { as: shop.merchant, body: information })
  await shop.chain.pay({ to: order.toAddress, units: order.units })
  await shop.makeFinal()
  await shop.reaches(order.code, 'PAID')
  await revertPlainly(shop, order.code, { address: own })
  const second = await refundReaches(shop, order.orderId, 'settled')
  assert.deepEqual([second.addressProof?.kind, second.addressProof?.source], ['stated', 'payerInformation'])
  assert.match(second.addressProof?.by ?? '', /^apiKey:/, 'the record names who wrote it')
})

test('the destination signs: the refund goes there at once, and says who signed', async () => {
  const order = await createPaid(shop)
  const to = newAddress()
  const message = (await readMessage(shop, to, { code: order.code, amount: '20' })) ?? ''
  for (const fact of [order.code, 'Refund: 1', '20.000000 USDC', to, '31337'])
    assert.ok(message.includes(fact), `${fact} is in the message`)
  const body = { amount: '20', address: to, addressProof: { message, signature: await signAs(to, message) } }
  assert.equal((await revertPlainly(shop, order.code, body)).status, 200)
  const settled = await refundReaches(shop, order.orderId, 'settled')
  const { kind, signer, signerIs, by } = settled.addressProof ?? {}
  assert.deepEqual([kind, signer, signerIs], ['signature', to.toLowerCase(), 'destination'])
  assert.match(by ?? '', /^apiKey:/)
  assert.equal(await shop.chain.balanceOf(to), 20_000_000n)
})

test('the address that paid may sign for another one, but not one that sent less than goes back', async () => {
  const [payer, other, to] = [newAddress(), newAddress(), newAddress()]
  const order = await shop.createAwaiting()
  for (const [from, units] of [
    [payer, order.units],
    [other, 1_000_000n],
  ] as const) {
    await mint(shop.chain.call, from, units)
    await shop.chain.call('anvil_setBalance', from, '0x56bc75e2d63100000')
    await shop.chain.call('anvil_impersonateAccount', from)
    await shop.chain.pay({ from, to: order.toAddress, units })
  }
  await shop.makeFinal()
  await shop.reaches(order.code, 'PAID')
  const message = (await readMessage(shop, to, { code: order.code, amount: '50' })) ?? ''
  const signedBy = async (signer: string) => ({
    amount: '50',
    address: to,
    addressProof: { signature: await signAs(signer, message) },
  })
  const refused = await revertPlainly(shop, order.code, await signedBy(other))
  assert.deepEqual([refused.status, refused.error.details?.[0]?.path], [422, 'addressProof.signature'])
  assert.equal((await revertPlainly(shop, order.code, await signedBy(payer))).status, 200)
  const settled = await refundReaches(shop, order.orderId, 'settled')
  assert.deepEqual([settled.addressProof?.signer, settled.addressProof?.signerIs], [payer.toLowerCase(), 'sender'])
})

test('a signature is good for one refund: not by a stranger, nor for another amount, order or address', async () => {
  const [order, foreign] = [await createPaid(shop), await createPaid(shop)]
  const [to, stranger] = [newAddress(), newAddress()]
  const read = async (address: string, refund: { code: string; amount?: string }) =>
    (await readMessage(shop, address, refund)) ?? ''
  const right = await read(to, { code: order.code, amount: '10' })
  const wrongs: [string, string][] = [
    ['a stranger', await signAs(stranger, right)],
    ['another amount', await signAs(to, await read(to, { code: order.code, amount: '11' }))],
    ['another order', await signAs(to, await read(to, { code: foreign.code, amount: '10' }))],
    ['another address', await signAs(to, await read(stranger, { code: order.code, amount: '10' }))],
    ['no signature', `0x${'12'.repeat(65)}`],
    ['too short', '0x12'],
  ]
  for (const [what, signature] of wrongs) {
    const body = { amount: '10', address: to, addressProof: { signature } }
    const { status, error } = await revertPlainly(shop, order.code, body)
    assert.deepEqual([status, error?.details?.[0]?.path], [422, 'addressProof.signature'], what)
    assert.match(error.details?.[0]?.message ?? '', /Refund: 1\\nAmount: 10\.000000 USDC/, 'it says what to sign')
  }
  const altered = { message: `${right} `, signature: await signAs(to, `${right} `) }
  const { error } = await revertPlainly(shop, order.code, { amount: '10', address: to, addressProof: altered })
  assert.equal(error.details?.[0]?.path, 'addressProof.message')
  assert.deepEqual([await statusOf(order), await listRefunds(shop, order.orderId)], ['PAID', []])
})

test('a signature cannot be replayed for a second refund of the same amount', async () => {
  const order = await createPaid(shop)
  const to = newAddress()
  const message = (await readMessage(shop, to, { code: order.code, amount: '10' })) ?? ''
  const body = { amount: '10', address: to, addressProof: { signature: await signAs(to, message) } }
  assert.equal((await revertPlainly(shop, order.code, body)).status, 200)
  await refundReaches(shop, order.orderId, 'settled')
  const again = await revertPlainly(shop, order.code, body)
  assert.deepEqual([again.status, again.error?.details?.[0]?.path], [422, 'addressProof.signature'])
  assert.match(again.error.details?.[0]?.message ?? '', /Refund: 2/)
  assert.equal(await shop.chain.balanceOf(to), 10_000_000n)
  assert.equal((await revert(shop, order.code, { amount: '10', address: to })).status, 200)
})

test('a second person with a fresh factor vouches in words; a key cannot, nor one person alone', async () => {
  const order = await createPaid(shop)
  const to = newAddress()
  const addressProof = { statement: 'The payer asked for it on the phone.', evidence: 'ticket 4711' }
  const path = `confirm_conversion/revert/${order.code}`
  const byKey = await revertPlainly(shop, order.code, { address: to, addressProof })
  assert.deepEqual([byKey.status, byKey.error.code], [403, 'FORBIDDEN'])
  const stale = await (await join(false)).post(path, { address: to, addressProof })
  assert.equal(stale.error.code, 'STEP_UP_REQUIRED')
  const manager = await join(true)
  for (const [incomplete, message] of [
    [{ statement: addressProof.statement }, 'needs signature, or evidence'],
    [{ evidence: 'ticket 4711' }, 'needs signature, or statement'],
    [{ message: 'x' }, 'needs signature, or statement and evidence'],
  ] as const) {
    const answer = await manager.post(path, { address: to, addressProof: incomplete })
    assert.deepEqual([answer.status, answer.error?.details], [422, [{ path: 'addressProof', message }]])
  }
  const nowhere = await manager.post(path, { addressProof })
  assert.deepEqual([nowhere.status, nowhere.error?.details?.[0]?.path], [422, 'addressProof'])
  assert.equal(await statusOf(order), 'PAID')
  assert.equal((await (await join(true)).post(path, { address: to, addressProof })).status, 200)
  const proposed = await newest(order)
  assert.deepEqual([proposed.status, proposed.address, proposed.proposedAddress], ['needs_address', null, to])
  const stalePath = `refunds/${proposed._id}/address`
  assert.equal(
    (await (await join(false)).post(stalePath, { address: to, addressProof })).error.code,
    'STEP_UP_REQUIRED',
  )
  assert.equal((await manager.post(stalePath, { address: to, addressProof })).status, 200)
  const settled = await refundReaches(shop, order.orderId, 'settled')
  const { at, ...proof } = settled.addressProof ?? {}
  assert.deepEqual(proof, { kind: 'attested', by: `user:${manager.userId}`, ...addressProof })
  assert.ok(Date.parse(at ?? '') > 0)
  const entry = (await auditOf(settled)).at(-1)
  const { statement, evidence, addressProof: kind } = entry?.detail ?? {}
  assert.deepEqual([entry?.actor, kind, { statement, evidence }], [proof.by, 'attested', addressProof])
})

test('an address named later follows the same rule: a proposal, until it is signed for', async () => {
  const order = await createPaid(shop)
  const [first, to] = [newAddress(), newAddress()]
  await revertPlainly(shop, order.code)
  const asked = await newest(order)
  const named = await nameAddress(asked, { address: first })
  assert.deepEqual([named.status, named.data.status, named.data.proposedAddress], [200, 'needs_address', first])
  assert.deepEqual([named.data.address, named.data.addressProof], [null, null])
  const signature = await signAs(first, named.data.addressMessage ?? '')
  assert.equal((await nameAddress(asked, { address: to, addressProof: { signature } })).status, 422)
  assert.equal((await newest(order)).proposedAddress, first)
  const statement = { statement: 'They wrote us a mail.', evidence: 'mail of Monday' }
  assert.equal((await nameAddress(asked, { address: to, addressProof: statement })).error.code, 'FORBIDDEN')
  const signed = await nameAddress(asked, { address: first, addressProof: { signature } })
  assert.deepEqual([signed.status, signed.data.addressProof?.kind], [200, 'signature'], signed.text)
  assert.equal((await refundReaches(shop, order.orderId, 'settled')).address, first)
  assert.equal((await nameAddress(asked, { address: to })).error.code, 'OBJECT_CONFLICT')
  const actions = (await auditOf(asked)).map(({ action }) => action)
  assert.deepEqual(actions, ['refund.revert', 'refund.address', 'refund.address'])
})

test('an approval is no proof: what was only proposed still waits for the payer', async () => {
  const { companyId } = shop.merchant
  const [order, rejected] = [await createPaid(shop), await createPaid(shop)]
  const to = newAddress()
  await shop.host.db.run(sql`update companies set refund_approval = true where id = ${companyId}`)
  for (const { code } of [order, rejected]) await revertPlainly(shop, code, { address: to })
  await shop.host.db.run(sql`update companies set refund_approval = false where id = ${companyId}`)
  const refund = await newest(order)
  assert.deepEqual([refund.status, refund.approvalReason], ['needs_approval', 'company'])
  assert.equal((await admin.post(`refunds/${refund._id}/approve`)).status, 200)
  const asked = await newest(order)
  assert.deepEqual([asked.status, asked.address, asked.proposedAddress], ['needs_address', null, to])
  const other = await newest(rejected)
  assert.equal((await admin.post(`refunds/${other._id}/reject`, { reason: 'not returned' })).status, 200)
  const by = `user:${admin.userId}`
  const [, approved] = await auditOf(refund)
  assert.deepEqual([approved?.actor, approved?.action], [by, 'refund.approve'])
  const [, dropped] = await auditOf(other)
  assert.deepEqual([dropped?.actor, dropped?.action, dropped?.detail.reason], [by, 'refund.reject', 'not returned'])
})

test('a refund of a mispayment follows the same rule', async () => {
  const order = await createPaid(shop, {}, 6_000_000n)
  const list = await admin.get<{ mispayments: { _id: string }[] }>(`mispayments?code=${order.code}`)
  const id = list.data.mispayments[0]?._id ?? ''
  const to = newAddress()
  const proofless = await admin.post<{ refundId: string }>(`mispayments/${id}/refund`, { address: to })
  const refund = await newest(order)
  assert.deepEqual([proofless.data.refundId, refund.status, refund.proposedAddress], [refund._id, 'needs_address', to])
  const message = (await readMessage(shop, to, { code: order.code, mispaymentId: id })) ?? ''
  assert.equal(message, refund.addressMessage)
  const signed = await nameAddress(refund, { address: to, addressProof: { signature: await signAs(to, message) } })
  assert.equal(signed.status, 200, signed.text)
  await refundReaches(shop, order.orderId, 'settled')
  assert.equal(await shop.chain.balanceOf(to), 6_000_000n)
  const entries = await auditOf(refund)
  assert.deepEqual(
    entries.map(({ action, detail }) => [action, detail.addressProof]),
    [
      ['mispayment.refund', null],
      ['refund.address', 'signature'],
    ],
  )
})

/** A node of the same service without the chain's settings, as during a restart that forgot them. */
async function startBare(t: TestContext): Promise<TestService> {
  const bare = await startTestService({ connectionString: shop.host.connectionString })
  t.after(() => bare.stop())
  return bare
}

test('on a node without the chain, too, a destination that the payer did not state is a proposal', async (t) => {
  const bare = await startBare(t)
  const to = newAddress()
  const [order, later] = [await createPaid(shop), await createPaid(shop)]
  const ask = (path: string) => bare.call('POST', path, { as: shop.merchant, body: { address: to } })
  assert.equal((await ask(`revert/${order.code}`)).status, 200)
  await revertPlainly(shop, later.code)
  assert.equal((await ask(`/api/next/refunds/${(await newest(later))._id}/address`)).status, 200)
  const mispaid = await createPaid(shop, {}, 6_000_000n)
  const { data } = await admin.get<{ mispayments: { _id: string }[] }>(`mispayments?code=${mispaid.code}`)
  const record = data.mispayments[0]?._id ?? ''
  const there = await logInSuperAdmin(bare)
  assert.equal((await there.post(`mispayments/${record}/refund`, { address: to })).status, 200)
  for (const one of [order, later, mispaid]) {
    const { status, address, proposedAddress } = await newest(one)
    assert.deepEqual([status, address, proposedAddress], ['needs_address', null, to])
  }
})

test('a refund that is approved on a node without the chain still asks the payer for its address', async (t) => {
  const bare = await startBare(t)
  const { companyId } = shop.merchant
  const order = await createPaid(shop)
  await shop.host.db.run(sql`update companies set refund_approval = true where id = ${companyId}`)
  await revertPlainly(shop, order.code)
  await shop.host.db.run(sql`update companies set refund_approval = false where id = ${companyId}`)
  const there = await logInSuperAdmin(bare)
  assert.equal((await there.post(`refunds/${(await newest(order))._id}/approve`)).status, 200)
  assert.equal((await newest(order)).status, 'needs_address')
})

test('a refund to an address that nothing proves is not sent, and can be rejected', async () => {
  const [order, to] = [await createPaid(shop), newAddress()]
  await revertPlainly(shop, order.code)
  // as a node of an earlier version stored it
  await shop.host.db.run(sql`
    update refunds set status = 'ready', address = ${to}, next_check_at = now() where order_id = ${order.orderId}`)
  const { _id } = await eventually(
    () => newest(order),
    ({ message }) => message?.startsWith('waits: nothing proves that its destination is the payer’s') === true,
  )
  assert.equal((await admin.post(`refunds/${_id}/reject`, { reason: 'not proven' })).status, 200)
  assert.deepEqual([await statusOf(order), await shop.chain.balanceOf(to)], ['PAID', 0n])
})

test('after all of this the books are right', async () => {
  assert.equal((await verifyLedger(shop.host.db)).difference, null)
})
