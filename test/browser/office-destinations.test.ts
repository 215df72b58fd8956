import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Locator, Page } from 'playwright-core'
import { sql } from '../../src/db/db.ts'
import { startBrowser } from '../harness/browser.ts'
import { enterOffice } from '../harness/office.ts'
import { type OfficeWorld, openOffice } from '../harness/office-world.ts'
import {
  createPaid,
  listRefunds,
  newAddress,
  type RefundData,
  refundReaches,
  revertPlainly,
} from '../harness/refunds.ts'
import { eventually } from '../harness/service.ts'
import type { Payable } from '../harness/shop.ts'

/* What leaves for good: before it a person reads where it goes, or who has to say so first. */

let world: OfficeWorld
let browser: Browser
before(async () => {
  world = await openOffice({ goods: 'Tea', alias: 'INV-1', company: 'Other', reason: 'came back' })
  browser = await startBrowser()
})
after(async () => {
  await browser?.close()
  await world?.stop()
})

const enter = async (role: 'Manager' | 'SuperAdmin' | 'Cashier', path: string): Promise<Page> => {
  const { email } = world.people[role]
  return (await enterOffice(browser, world.shop.host.baseUrl, { email, path, freshLogin: true })).page
}

const stateAddress = (code: string, userAddress: string) =>
  world.shop.host.call('POST', '/api/next/confirm_conversion/payer-information', {
    as: world.shop.merchant,
    body: { code, payerInformation: { userAddress } },
  })

/** Paid by a payer whose address the shop's server stated before: a refund goes there at once. */
async function paidByKnown(amount: string, more = 0n): Promise<Payable & { stated: string }> {
  const { shop } = world
  const order = await shop.createAwaiting({ amount })
  const stated = newAddress()
  await stateAddress(order.code, stated)
  await shop.chain.pay({ to: order.toAddress, units: order.units + more })
  await shop.makeFinal()
  await shop.reaches(order.code, 'PAID')
  return { ...order, stated }
}

async function openRefund(page: Page): Promise<Locator> {
  await page.getByRole('button', { name: 'Refund', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('can go back to the payer').waitFor()
  return dialog
}

test('a refund on the order’s page shows the payer’s address in full, and goes there', async () => {
  const order = await paidByKnown('30.00')
  const dialog = await openRefund(await enter('Manager', `/orders/${order.code}`))
  const said = await dialog.innerText()
  assert.ok(said.includes(`Goes to\n${order.stated}`), said)
  await dialog.getByLabel('Wallet address').fill(newAddress())
  await dialog.getByText('the payer must confirm it').waitFor()
  await dialog.getByLabel('Wallet address').fill(order.stated.toLowerCase())
  await dialog.getByText('the payer must confirm it').waitFor({ state: 'hidden' })
  await dialog.getByLabel('Wallet address').fill('')
  await dialog.getByLabel(/^Amount in USDC/).fill('5')
  await dialog.getByRole('button', { name: 'Refund 5.00 USDC' }).click()
  assert.equal((await refundReaches(world.shop, order.orderId, 'settled')).address, order.stated)
})

test('a refund says its sum on its button, and neither nothing nor zero nor too much is sent', async () => {
  const order = await paidByKnown('34.00')
  const dialog = await openRefund(await enter('Manager', `/orders/${order.code}`))
  const sent: unknown[] = []
  await dialog.page().route('**/confirm_conversion/revert/*', (route) => {
    if (route.request().method() === 'POST') sent.push(route.request().postDataJSON())
    return route.continue()
  })
  const amount = dialog.getByLabel('Amount in USDC')
  const refuse = async (typed: string, says: RegExp): Promise<void> => {
    await amount.fill(typed)
    await amount.press('Enter')
    await dialog.getByRole('alert').filter({ hasText: says }).waitFor()
    assert.equal(await amount.getAttribute('aria-invalid'), 'true')
  }
  await refuse('', /^Fill in this field/)
  await refuse('0', /^The amount must be more than zero/)
  await refuse('999', /^At most 3\d\.\d+ USDC is possible/)
  await dialog.getByLabel('Or what it is worth in EUR').fill('0')
  await dialog.getByLabel('Or what it is worth in EUR').press('Enter')
  await dialog.getByRole('alert').filter({ hasText: 'The amount must be more than zero' }).waitFor()
  await dialog.getByLabel('Or what it is worth in EUR').fill('17')
  assert.equal(await dialog.getByRole('alert').count(), 0, 'what was wrong with the sum before')
  const [, half = ''] =
    /^Refund €17\.00 \((\d+\.\d+) USDC\)$/.exec(await dialog.locator('[type=submit]').innerText()) ?? []
  assert.equal(Number(await amount.inputValue()), Number(half))
  const rest = dialog.getByRole('button', { name: /^Everything that is left/ })
  const [, whole = ''] = /: ([\d.]+) USDC$/.exec(await rest.innerText()) ?? []
  await rest.click()
  assert.deepEqual(sent, [], 'nothing is refunded before its button')
  await dialog.getByRole('button', { name: `Refund ${whole} USDC`, exact: true }).click()
  await refundReaches(world.shop, order.orderId, 'settled')
  const [body] = sent as { amount: string }[]
  assert.equal(Number(body?.amount), Number(whole))
  await world.shop.reaches(order.code, 'FULL_REFUNDED')
})

test('an address that was named after the payment is shown as a proposal', async () => {
  const order = await createPaid(world.shop, { amount: '31.00' })
  const dialog = await openRefund(await enter('Manager', `/orders/${order.code}`))
  await dialog.getByText('The payer is asked for an address').waitFor()
  await dialog.getByRole('button', { name: 'Close' }).click()
  const proposed = newAddress()
  await stateAddress(order.code, proposed)
  const again = await openRefund(dialog.page())
  await again.getByText(proposed).waitFor()
  const said = await again.innerText()
  assert.ok(said.includes(`Proposed\n${proposed}`) && !said.includes('Goes to'), said)
  await again.getByRole('button', { name: /^Everything that is left/ }).click()
  await again.getByRole('button', { name: /^Refund / }).click()
  const refund = await refundReaches(world.shop, order.orderId, 'needs_address', false)
  assert.deepEqual([refund.address, refund.proposedAddress], [null, proposed])
})

const newest = async ({ orderId }: Payable): Promise<RefundData | undefined> =>
  (await listRefunds(world.shop, orderId)).at(-1)

test('the question about money above the price says where it goes', async () => {
  const order = await paidByKnown('33.00', 4_440_000n)
  const page = await enter('Manager', '/mispayments?status=open')
  const card = page.locator('article', { hasText: '4.44 USDC' })
  await card.getByRole('button', { name: 'Refund', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText(order.stated).waitFor()
  const said = await dialog.innerText()
  assert.ok(said.includes(`Goes to\n${order.stated}`), said)
  assert.doesNotMatch(said, /payer is asked/)
  assert.equal(await dialog.getByLabel(WALLET).count(), 1)
  await dialog.getByRole('button', { name: 'Refund', exact: true }).click()
  await refundReaches(world.shop, order.orderId, 'settled')
  assert.equal((await newest(order))?.address, order.stated)
})

const WALLET = /^Wallet address/

/** As if Binance had taken the payment. */
async function payThroughBinance({ orderId }: Payable): Promise<void> {
  const { db } = world.shop.host
  await db.run(sql`update payments set channel = 'binance', network = null where order_id = ${orderId}`)
  await db.run(sql`update orders set payment_channel = 'binance' where id = ${orderId}`)
}

test('where money goes back through its provider, no address is asked for', async () => {
  const order = await paidByKnown('37.00', 4_550_000n)
  await payThroughBinance(order)
  const page = await enter('Manager', '/mispayments?status=open')
  const card = page.locator('article', { hasText: '4.55 USDC' })
  await card.getByRole('button', { name: 'Refund', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Back through Binance').waitFor()
  assert.equal(await dialog.getByLabel(WALLET).count(), 0)
})

test('an address that an earlier version stored for a provider’s refund is no destination', async () => {
  const order = await createPaid(world.shop, { amount: '38.00' })
  await payThroughBinance(order)
  const foreign = newAddress()
  const { db } = world.shop.host
  const refused = await revertPlainly(world.shop, order.code, { amount: '5', address: foreign })
  assert.deepEqual([refused.status, refused.error.details?.[0]?.path], [422, 'address'])
  await revertWaiting(order, '5')
  await db.run(sql`update refunds set address = ${foreign} where order_id = ${order.orderId}`)
  const page = await enter('SuperAdmin', `/refunds?code=${order.code}`)
  const { dialog, said } = await openApproval(page)
  assert.match(said, /Goes to Back through Binance/)
  await dialog.getByRole('button', { name: 'Approve', exact: true }).click()
  await dialog.waitFor({ state: 'hidden' })
  // as after the answer `manual` of the channel; a poll that is under way would write its own
  const handOver = () =>
    db.run(sql`
      update refunds set status = 'ready', handed_over_at = now(), next_check_at = null
      where order_id = ${order.orderId} and lease_until is null`)
  await eventually(handOver, (changed) => changed === 1)
  await page.reload()
  await page.getByText('To send by hand').first().waitFor()
  const sent = await page.locator('article').first().innerText()
  assert.ok(!sent.includes(foreign) && !sent.includes('Destination'), sent)
})

/** Sends the dialog's refund, which the service makes and whose answer is lost. Every later one is answered. */
async function loseAnswer(dialog: Locator): Promise<unknown[]> {
  const bodies: unknown[] = []
  await dialog.page().route('**/confirm_conversion/revert/*', async (route) => {
    if (route.request().method() !== 'POST') return route.continue()
    bodies.push(route.request().postDataJSON())
    if (bodies.length > 1) return route.continue()
    await route.fetch()
    await route.abort('connectionreset')
  })
  await dialog.getByLabel(/^Amount in USDC/).fill('5')
  await dialog.getByRole('button', { name: 'Refund 5.00 USDC' }).click()
  await dialog.getByText('The service does not answer').waitFor()
  return bodies
}

test('a refund whose answer was lost is not made twice by the second click, whatever is shown by then', async () => {
  const order = await paidByKnown('40.00')
  const dialog = await openRefund(await enter('Manager', `/orders/${order.code}`))
  await dialog.getByText(order.stated).waitFor()
  const bodies = await loseAnswer(dialog)
  await dialog.getByText('Up to 0.00 USDC').waitFor()
  await refundReaches(world.shop, order.orderId, 'settled')
  await dialog.getByRole('button', { name: 'Refund 5.00 USDC' }).click()
  await dialog.page().getByText('The refund has started.').waitFor()
  const refunds = await listRefunds(world.shop, order.orderId)
  assert.deepEqual(
    refunds.map(({ amount, address }) => [amount, address]),
    [['5.000000', order.stated]],
  )
  assert.deepEqual(bodies[1], bodies[0], 'what was shown at the first click')
})

test('a dialog that is opened anew asks for a refund of its own, after the one before was rejected', async () => {
  const order = await paidByKnown('41.00')
  await setApproval(true)
  const page = await enter('Manager', `/orders/${order.code}`)
  const dialog = await openRefund(page)
  await loseAnswer(dialog)
  await dialog.getByRole('button', { name: 'Close' }).click()
  const lost = await newest(order)
  const operator = await enter('SuperAdmin', `/refunds?code=${order.code}`)
  await operator.getByRole('button', { name: 'Reject', exact: true }).click()
  const rejection = operator.getByRole('dialog')
  await rejection.getByLabel('Reason').fill('He takes the goods after all.')
  await rejection.getByRole('button', { name: 'Reject', exact: true }).click()
  await refundReaches(world.shop, order.orderId, 'rejected', false)
  await world.shop.reaches(order.code, 'PAID')
  const again = await openRefund(page)
  await again.getByLabel(/^Amount in USDC/).fill('5')
  await again.getByRole('button', { name: 'Refund 5.00 USDC' }).click()
  await page.getByText('The refund has started.').waitFor()
  await setApproval(false)
  const made = await newest(order)
  assert.notEqual(made?._id, lost?._id)
  assert.deepEqual([lost?.amount, made?.status], ['5.000000', 'needs_approval'])
})

const setApproval = (isOn: boolean) =>
  world.shop.host.db.run(sql`
    update companies set refund_approval = ${isOn}, version = version + 1 where id = ${world.shop.merchant.companyId}`)

/** A refund that the operator has to approve. */
async function revertWaiting(order: Payable, amount: string): Promise<RefundData> {
  await setApproval(true)
  assert.equal((await revertPlainly(world.shop, order.code, { amount })).status, 200)
  await setApproval(false)
  const refund = await newest(order)
  assert.equal(refund?.status, 'needs_approval')
  return refund
}

const shortCodeOf = ({ orderId }: Payable) =>
  world.shop.host.db.one<{ shortCode: string }>(sql`select short_code from orders where id = ${orderId}`)

async function openApproval(page: Page): Promise<{ dialog: Locator; said: string }> {
  await page.getByRole('button', { name: 'Approve', exact: true }).click()
  const dialog = page.getByRole('dialog')
  return { dialog, said: (await dialog.innerText()).replace(/\s+/g, ' ') }
}

test('approving a refund asks first, in full; a colleague’s answer closes the question, and the toast says what happens', async () => {
  const known = await paidByKnown('34.00')
  await revertWaiting(known, '6')
  const page = await enter('SuperAdmin', `/refunds?code=${known.code}`)
  const first = await openApproval(page)
  const { shortCode } = await shortCodeOf(known)
  const title = `Approve the refund · Order ${shortCode}`
  assert.match(first.said, new RegExp(`${title} 6\\.00 USDC Company .* Goes to ${known.stated} Network`))
  assert.equal((await newest(known))?.status, 'needs_approval', 'one click approves nothing')
  await first.dialog.getByRole('button', { name: 'Approve', exact: true }).click()
  await page.getByText('Approved. It is sent with the next round.').waitFor()
  assert.equal((await refundReaches(world.shop, known.orderId, 'settled')).address, known.stated)

  const asked = await createPaid(world.shop, { amount: '35.00' })
  const { _id } = await revertWaiting(asked, '3')
  await page.goto(new URL(`/app/refunds?code=${asked.code}`, page.url()).href)
  const second = await openApproval(page)
  assert.match(second.said, /3\.00 USDC .*The payer is asked for an address.*sends nothing yet/)
  await second.dialog.getByRole('button', { name: 'Approve', exact: true }).click()
  await page.getByText('Approved. The payer has not said where the money should go.').waitFor()
  assert.equal((await newest(asked))?.status, 'needs_address')
  await world.shop.host.db.run(sql`update refunds set status = 'needs_approval' where id = ${_id}`)
  await page.reload()
  const third = await openApproval(page)
  await world.shop.host.db.run(sql`update refunds set status = 'needs_address' where id = ${_id}`)
  await page.getByText('Someone has decided about this refund meanwhile').waitFor()
  assert.equal(await third.dialog.count(), 0)
})

test('rejecting a refund that a person has to send warns that a colleague may have sent it', async () => {
  const order = await createPaid(world.shop, { amount: '36.00' })
  assert.equal((await revertPlainly(world.shop, order.code, { amount: '2' })).status, 200)
  await world.shop.host.db.run(sql`
    update refunds set status = 'ready', address = ${newAddress()}, handed_over_at = now(), next_check_at = null
    where order_id = ${order.orderId}`)
  const page = await enter('SuperAdmin', `/refunds?code=${order.code}`)
  await page.getByRole('button', { name: 'Reject', exact: true }).click()
  await page.getByRole('dialog').getByText('A colleague may already have sent it').waitFor()
})

/** The names of the fields that these people looked at, newest first. */
const listLooks = async (): Promise<string[]> =>
  (
    await world.shop.host.db.many<{ detail: string }>(sql`
      select detail from audit_log where action = 'payer.read' order by seq desc`)
  ).map(({ detail }) => (JSON.parse(detail) as { fields: string[] }).fields.join())

test('payer data is entered by a cashier who cannot read it, shown and corrected in plain words, and each look is noted', async () => {
  const { code } = await world.shop.create({ amount: '1500.00' })
  const accept = () =>
    world.shop.host.call('POST', `accept/${code}`, { as: world.shop.merchant, body: { paymentChannel: 'crypto' } })
  assert.equal((await accept()).error?.code, 'PAYER_IDENTITY_REQUIRED')
  const till = await enter('Cashier', `/orders/${code}`)
  await till.getByRole('button', { name: 'Enter the payer’s data' }).click()
  assert.equal(await till.getByRole('button', { name: 'Show the payer’s data' }).count(), 0)
  await till.getByLabel('First name').fill('Ada')
  await till.getByLabel('Last name').fill('Lovelace')
  await till.getByLabel('Email', { exact: true }).fill('ada@example.org')
  await till.getByRole('button', { name: 'Save', exact: true }).click()
  await till.getByRole('dialog').waitFor({ state: 'detached' })
  assert.equal((await accept()).status, 200)
  const page = await enter('Manager', `/orders/${code}`)
  const panel = page.getByRole('region', { name: 'Payer' })
  await panel.getByRole('button', { name: 'Show the payer’s data' }).click()
  await panel.getByRole('button', { name: 'Correct the data' }).click()
  const dialog = page.getByRole('dialog')
  assert.equal(await dialog.getByLabel('First name').inputValue(), 'Ada')
  await dialog.getByLabel('Pays for a company').check()
  await dialog.getByLabel('Company', { exact: true }).fill('Engines Ltd')
  await dialog.getByLabel('Country').selectOption('GB')
  await dialog.getByRole('button', { name: 'Save', exact: true }).click()
  await panel.getByText('United Kingdom').waitFor()
  const said = await panel.innerText()
  assert.match(said, /Pays for a company\nYes\nCompany\nEngines Ltd\nFirst name\nAda\n/)
  const first = 'firstName,lastName,email'
  assert.deepEqual(await listLooks(), [`${first},country,isCompany,companyName`, first])
})

test('the payer’s data can be erased also where no name and no address is stored', async () => {
  const { shop } = world
  const { code } = await shop.create({ amount: '32.00' })
  const body = { paymentChannel: 'crypto', userAddress: newAddress() }
  for (const [step, given] of [
    ['accept', body],
    ['cancel', {}],
  ] as const)
    assert.equal((await shop.host.call('POST', `${step}/${code}`, { as: shop.merchant, body: given })).status, 200)
  const page = await enter('Manager', `/orders/${code}`)
  const panel = page.getByRole('region', { name: 'Payer' })
  const erase = async (): Promise<void> => {
    await panel.getByRole('button', { name: 'Show the payer’s data' }).click()
    await panel.getByText('No name, email or address of the payer is stored').waitFor()
    await panel.getByRole('button', { name: 'Erase the payer’s data' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Erase the payer’s data' }).click()
  }
  await erase()
  await page.getByText('The data is erased.').waitFor()
  await erase()
  await page.getByText('There was nothing to erase.').waitFor()
})
