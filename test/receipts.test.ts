import assert from 'node:assert/strict'
import { createPublicKey, verify } from 'node:crypto'
import { after, before, test } from 'node:test'
import { verifyReceipt } from '../cli/commands/receipt.ts'
import { sql } from '../src/db/db.ts'
import { type Client, logInSuperAdmin, newEmail, readMails, waitForMail } from './harness/accounts.ts'
import { newAddress, payoutEnv, refundReaches, withProof } from './harness/refunds.ts'
import { eventually } from './harness/service.ts'
import { openShop, type Payable, type Shop } from './harness/shop.ts'

let shop: Shop
let admin: Client

before(async () => {
  shop = await openShop({ env: payoutEnv })
  admin = await logInSuperAdmin(shop.host)
})
after(() => shop?.stop())

type Signed = { receipt: Record<string, unknown>; jws: string }

const readPage = async (code: string): Promise<string> => (await fetch(`${shop.host.baseUrl}/pay?code=${code}`)).text()

async function pay(order: Payable, units = order.units): Promise<string> {
  const txHash = await shop.chain.pay({ to: order.toAddress, units })
  await shop.makeFinal()
  return txHash
}

const readLink = async (code: string): Promise<string> =>
  /href="([^"]*\/receipt\/[\w-]+)"/.exec(await readPage(code))?.[1] ?? ''

async function createPaid(body: Record<string, unknown> = {}): Promise<{ code: string; link: string }> {
  const order = await shop.createAwaiting(body)
  await pay(order)
  await shop.reaches(order.code, 'PAID')
  return { code: order.code, link: await readLink(order.code) }
}

const readSigned = async (link: string): Promise<Signed> => (await (await fetch(`${link}.json`)).json()) as Signed

/** What the receipt says about the money, without the refunds' transactions. */
async function readMoney(code: string) {
  const { paid, transactions, refunds } = (await readSigned(await readLink(code))).receipt as {
    paid: { amount: string }
    transactions: string[]
    refunds: { amount: string }[]
  }
  return { paid: paid.amount, transactions, refunds: refunds.map(({ amount }) => amount) }
}

type Listed = { _id: string; kind: string; status: string }

/** The order's undecided record of this kind, once there is one. */
async function recordOf({ code }: Payable, kind: string): Promise<string> {
  const look = async () => {
    const { mispayments } = (await admin.get<{ mispayments: Listed[] }>(`mispayments?code=${code}`)).data
    return mispayments.find((one) => one.kind === kind && one.status === 'open')?._id
  }
  return (await eventually(look, (id) => id !== undefined)) ?? ''
}

async function sendBack(order: Payable, kind: string): Promise<void> {
  const id = await recordOf(order, kind)
  const body = await withProof(shop, { code: order.code, mispaymentId: id }, { address: newAddress(), reason: 'test' })
  const answer = await admin.post(`mispayments/${id}/refund`, body)
  assert.equal(answer.status, 200, answer.text)
  await refundReaches(shop, order.orderId, 'settled')
}

const nameShop = (displayName: string | null) =>
  shop.host.db.run(sql`update companies set display_name = ${displayName} where id = ${shop.merchant.companyId}`)

test('a paid order has a receipt by a link that nobody guesses, and the link does not give the order away', async () => {
  const { code, link } = await createPaid({ goods: { goodsName: 'Two tickets' } })
  const answer = await fetch(link)
  const text = await answer.text()
  assert.equal(answer.status, 200)
  for (const words of ['Receipt from', 'Two tickets', '€50.00', 'Sandbox chain', 'USDC from your wallet', '1 EUR = '])
    assert.ok(text.includes(words), words)
  assert.match(text, /0x[0-9a-f]{31}<wbr>[0-9a-f]{33}/, 'the transaction in full')
  assert.ok(!text.includes(code) && !link.includes(code), 'whoever sees the receipt cannot reach the pay page')
  const token = link.split('/').at(-1) ?? ''
  const other = `${token.slice(0, -2)}${token.endsWith('AA') ? 'BB' : 'AA'}`
  for (const bad of [other, 'x', `${token}A`]) assert.equal((await fetch(link.replace(token, bad))).status, 404)
})

test('an order that is not paid has no receipt', async () => {
  const { code } = await shop.createAwaiting()
  assert.doesNotMatch(await (await fetch(`${shop.host.baseUrl}/pay?code=${code}`)).text(), /\/receipt\//)
})

test('a receipt names the shop’s SIRET and VAT number as they were when the order was paid', async () => {
  const earlier = await createPaid()
  const change = async (body: Record<string, string | null>) =>
    assert.equal((await admin.call('PUT', `companies/${shop.merchant.companyId}`, body)).status, 200)
  await change({ siret: '73282932000074', vatNumber: 'DE123456789' })
  assert.doesNotMatch(await (await fetch(earlier.link)).text(), /VAT number|SIRET/)
  const { link } = await createPaid()
  await change({ siret: null, vatNumber: null, displayName: 'Other Owner' })
  const page = await (await fetch(`${link}?lang=de`)).text()
  assert.match(page, /USt-IdNr\.\/MWST-Nr\. des Shops<\/dt>\s*<dd[^>]*>DE123456789/)
  assert.match(page, /SIRET<\/dt>\s*<dd[^>]*>73282932000074/)
  const { receipt } = (await (await fetch(`${link}.json`)).json()) as { receipt: { merchant: unknown } }
  assert.deepEqual(receipt.merchant, {
    name: 'Test & Söhne',
    legalName: null,
    siret: '73282932000074',
    vatNumber: 'DE123456789',
  })
  assert.match(page, /Test &amp; Söhne/)
  assert.doesNotMatch(page, /Other Owner/)
  await change({ displayName: null })
})

test('the signed form verifies with the public keys alone, and not after a change', async () => {
  const { link } = await createPaid()
  const signed = (await (await fetch(`${link}.json`)).json()) as Signed
  assert.equal(signed.receipt.channel, 'crypto')
  assert.deepEqual(signed.receipt.price, { amount: '50.00', currency: 'EUR' })
  const { keys } = (await (await fetch(`${shop.host.baseUrl}/.well-known/jwks.json`)).json()) as {
    keys: Record<string, string>[]
  }
  const [head = '', payload = '', signature = ''] = signed.jws.split('.')
  const { kid } = JSON.parse(Buffer.from(head, 'base64url').toString()) as { kid: string }
  const jwk = keys.find((key) => key.kid === kid) ?? {}
  const isGood = verify(
    null,
    Buffer.from(`${head}.${payload}`),
    createPublicKey({ key: jwk, format: 'jwk' }),
    Buffer.from(signature, 'base64url'),
  )
  assert.equal(isGood, true)
  assert.ok(
    keys.every((key) => key.d === undefined),
    'no private part is published',
  )
  type Keys = Parameters<typeof verifyReceipt>[1]
  assert.deepEqual(await verifyReceipt(signed, keys as unknown as Keys), signed.receipt)
  const forged = { ...signed, receipt: { ...signed.receipt, price: { amount: '5000.00', currency: 'EUR' } } }
  await assert.rejects(verifyReceipt(forged, keys as unknown as Keys), /says something else/)
  const again = (await (await fetch(`${link}.json`)).json()) as Signed
  assert.equal(again.jws, signed.jws, 'the same receipt is signed alike')
})

test('a receipt certifies only money that is final', async () => {
  const order = await shop.createAwaiting()
  const first = await pay(order)
  await shop.reaches(order.code, 'PAID')
  const more = await shop.chain.pay({ to: order.toAddress, units: 7_000_000n })
  await eventually(
    () => shop.host.db.many(sql`select 1 from chain_transfers where tx_hash = ${more}`),
    ({ length }) => length > 0,
  )
  assert.deepEqual(await readMoney(order.code), { paid: '54.000000', transactions: [first], refunds: [] })
  assert.doesNotMatch(await readPage(order.code), /61\.00/)
  await shop.makeFinal()
  await recordOf(order, 'over')
  assert.deepEqual(await readMoney(order.code), { paid: '61.000000', transactions: [first, more], refunds: [] })
})

test('a receipt lists only refunds of the money that it counts as paid; the page keeps them apart', async () => {
  const order = await shop.createAwaiting()
  await pay(order, 20_000_000n)
  await sendBack(order, 'under')
  const paidBy = await pay(order, order.units + 6_000_000n)
  await shop.reaches(order.code, 'PAID')
  await sendBack(order, 'over')
  const money = { paid: '60.000000', transactions: [paidBy], refunds: ['6.000000'] }
  assert.deepEqual(await readMoney(order.code), money)
  const receipt = await (await fetch(await readLink(order.code))).text()
  assert.equal(receipt.match(/Sent back/g)?.length, 1)
  const page = await readPage(order.code)
  assert.match(page, /Sent back, not part of this payment<\/dt>\s*<dd[^>]*>20\.00 USDC/)
  assert.match(page, /Sent back<\/dt>\s*<dd[^>]*>6\.00 USDC/)
})

test('a receipt certifies the same payment after a part of its money, or all of it, has left the chain', async () => {
  for (const parts of [[30_000_000n, 24_000_000n], [54_000_000n]]) {
    const order = await shop.createAwaiting()
    for (const units of parts) {
      await shop.chain.mine(10)
      await pay(order, units)
    }
    await shop.reaches(order.code, 'PAID')
    await shop.chain.reorg(4)
    await recordOf(order, 'orphaned')
    assert.equal((await readMoney(order.code)).paid, '54.000000')
  }
})

test('after a part was accepted as the payment, the receipt mail names that part', async () => {
  const email = newEmail('payer')
  const order = await shop.createAwaiting()
  await shop.host.call('POST', `email/${order.code}`, { as: shop.merchant, body: { email } })
  await pay(order, 20_000_000n)
  const accepted = await admin.post(`mispayments/${await recordOf(order, 'under')}/accept`, { reason: 'test' })
  assert.equal(accepted.status, 200, accepted.text)
  const mail = await waitForMail(shop.host.baseUrl, email, /receipt/)
  assert.match(mail.text, /has received your payment of 20\.00 USDC for order/)
})

test('a mail that could not be sent yet is erased with its payer', async () => {
  const { db, baseUrl } = shop.host
  const email = newEmail('payer')
  const order = await shop.createAwaiting()
  await shop.host.call('POST', `email/${order.code}`, { as: shop.merchant, body: { email } })
  const waiting = () => db.many<{ tried: boolean }>(sql`select attempts > 0 as tried from jobs where kind = 'mail'`)
  await db.run(sql`alter table mails rename to mails_away`)
  try {
    await pay(order)
    await shop.reaches(order.code, 'PAID')
    await eventually(waiting, (jobs) => jobs.some(({ tried }) => tried))
    const erased = await admin.call('DELETE', `confirm_conversion/payer-information/${order.code}`)
    assert.deepEqual(erased.data, { erased: true, notes: 0 })
  } finally {
    await db.run(sql`alter table mails_away rename to mails`)
  }
  await db.run(sql`update jobs set run_at = now() where kind = 'mail'`)
  await eventually(waiting, (jobs) => jobs.length === 0)
  assert.deepEqual(await readMails(baseUrl, email), [])
})

test('who gave an e-mail gets the receipt, in the language chosen on the page and under the shop’s own name', async () => {
  await nameShop('Chez Test')
  const email = newEmail('payer')
  const order = await shop.createAwaiting()
  await shop.host.call('POST', `email/${order.code}`, { as: shop.merchant, body: { email } })
  await fetch(`${shop.host.baseUrl}/pay?code=${order.code}&lang=fr`)
  await shop.chain.pay({ to: order.toAddress, units: order.units })
  await shop.makeFinal()
  await shop.reaches(order.code, 'PAID')
  const mail = await waitForMail(shop.host.baseUrl, email, /receipt/)
  assert.equal(mail.subject, 'Votre reçu de Chez Test')
  const link = /https?:\S+\/receipt\/\S+/.exec(mail.text)?.[0] ?? ''
  assert.equal((await fetch(link)).status, 200)
  await nameShop(null)
})

test('a mail to a payer says where the shop can be asked, and for which order', async () => {
  const { companyId } = shop.merchant
  const { db } = shop.host
  await db.run(sql`
    update companies set support_email = 'hilfe@shop.example', support_phone = '+49 30 1234' where id = ${companyId}`)
  const email = newEmail('payer')
  const order = await shop.createAwaiting()
  await shop.host.call('POST', `email/${order.code}`, { as: shop.merchant, body: { email } })
  await fetch(`${shop.host.baseUrl}/pay?code=${order.code}&lang=de`)
  await shop.chain.pay({ to: order.toAddress, units: order.units })
  await shop.makeFinal()
  const mail = await waitForMail(shop.host.baseUrl, email, /receipt/)
  const { shortCode } = (await shop.host.call<{ shortCode: string }>('GET', `status/${order.code}`)).data
  for (const fact of ['hilfe@shop.example, +49 30 1234', `Nennen Sie die Bestellnummer ${shortCode}`])
    assert.ok(mail.text.includes(fact), `${fact}: ${mail.text}`)
  await db.run(sql`update companies set support_email = null, support_phone = null where id = ${companyId}`)
})

test('who has chosen no language is written to in the shop’s', async () => {
  const { companyId } = shop.merchant
  const write = (customerLanguage: string | null) => admin.call('PUT', `companies/${companyId}`, { customerLanguage })
  assert.equal((await write('xx')).status, 422)
  assert.equal((await write('it')).data.customerLanguage, 'it')
  const email = newEmail('payer')
  const order = await shop.createAwaiting()
  await shop.host.call('POST', `email/${order.code}`, { as: shop.merchant, body: { email } })
  await shop.chain.pay({ to: order.toAddress, units: order.units })
  await shop.makeFinal()
  const mail = await waitForMail(shop.host.baseUrl, email, /receipt/)
  assert.match(mail.subject, /^La sua ricevuta di /)
  assert.equal((await write(null)).data.customerLanguage, null)
})

test('page and receipt say the same of what was paid, where two attempts have money', async () => {
  const first = await shop.createAwaiting()
  const expired = await shop.host.call('POST', `expire/${first.code}`, { as: shop.merchant })
  assert.equal(expired.status, 200, expired.text)
  const body = { paymentChannel: 'crypto', requote: true }
  const again = await shop.host.call<{ toAddress: string }>('POST', `accept/${first.code}`, { as: shop.merchant, body })
  assert.equal(again.status, 200, again.text)
  const second = { ...first, toAddress: again.data.toAddress }
  assert.notEqual(second.toAddress, first.toAddress)
  const stray = await pay(first, 5_000_000n)
  const txHash = await pay(second)
  await shop.reaches(first.code, 'PAID')
  await eventually(
    () => readPage(first.code),
    (text) => text.includes('You sent 5.00 USDC too much'),
  )
  const { paid, transactions } = await readMoney(first.code)
  const [, receipt = ''] = /<dl class="facts">(.*?)<\/dl>/s.exec(await readPage(first.code)) ?? []
  const received = /<dt>Received<\/dt><dd>([\d.]+) USDC/.exec(receipt)?.[1]
  assert.equal(Number(paid), Number(received))
  assert.deepEqual(transactions, [txHash])
  const shown = receipt.replaceAll('<wbr>', '')
  assert.deepEqual([shown.includes(txHash), shown.includes(stray)], [true, false])
})
