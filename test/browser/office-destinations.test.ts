import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Locator, Page } from 'playwright-core'
import { startBrowser } from '../harness/browser.ts'
import { enterOffice } from '../harness/office.ts'
import { type OfficeWorld, openOffice } from '../harness/office-world.ts'
import { createPaid, listRefunds, newAddress, type RefundData, refundReaches } from '../harness/refunds.ts'
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

const enter = async (role: 'Manager' | 'SuperAdmin', path: string): Promise<Page> => {
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
  await dialog.getByRole('button', { name: 'Start the refund' }).click()
  assert.equal((await refundReaches(world.shop, order.orderId, 'settled')).address, order.stated)
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
  await again.getByRole('button', { name: 'Start the refund' }).click()
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
  await dialog.getByRole('button', { name: 'Refund', exact: true }).click()
  await refundReaches(world.shop, order.orderId, 'settled')
  assert.equal((await newest(order))?.address, order.stated)
})
