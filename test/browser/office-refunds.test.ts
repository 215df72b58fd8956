import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { sql } from '../../src/db/db.ts'
import { passwordHash } from '../harness/accounts.ts'
import { startBrowser } from '../harness/browser.ts'
import { enterOffice } from '../harness/office.ts'
import { insertPerson, type OfficeWorld, openOffice } from '../harness/office-world.ts'
import { answerRefundPage, listRefunds, newAddress, type RefundData } from '../harness/refunds.ts'

let world: OfficeWorld
let browser: Browser
/** Two Managers of the shop, each with the list of refunds open. */
let first: Page
let second: Page

before(async () => {
  world = await openOffice({ goods: 'Tea', alias: 'INV-1', company: 'Other', reason: 'came back' })
  const { host, merchant } = world.shop
  const other = await insertPerson(host.db, 'Manager', merchant.companyId, await passwordHash())
  browser = await startBrowser()
  const enter = async (email: string) => (await enterOffice(browser, host.baseUrl, { email, path: '/refunds' })).page
  first = await enter(world.people.Manager.email)
  second = await enter(other.email)
})
after(async () => {
  await browser?.close()
  await world?.stop()
})

const confirmButton = (page: Page) => page.getByRole('button', { name: 'Confirm this address' })

async function confirm(page: Page, address: string, says: string): Promise<void> {
  await page.reload()
  await confirmButton(page).click()
  const dialog = page.getByRole('dialog')
  assert.equal(await dialog.getByLabel('Wallet address').inputValue(), address)
  await dialog.getByLabel(/How do you know/).fill('He stood at the counter and read it out.')
  await dialog.getByRole('button', { name: 'Confirm this address' }).click()
  assert.ok(await dialog.isVisible(), 'a word without a place to look it up is not sent')
  await dialog.getByLabel(/looked up/).fill('receipt 12')
  await dialog.getByRole('button', { name: 'Confirm this address' }).click()
  await page.getByText(says).waitFor()
}

/** The refund that waits for an address. */
async function waiting(): Promise<RefundData> {
  const { host } = world.shop
  const { id } = await host.db.one<{ id: string }>(sql`select id from orders where code = ${world.orders.refunding}`)
  const [refund] = await listRefunds(world.shop, id)
  assert.ok(refund)
  return refund
}

test('the address in the open dialog stays as it was; once another one is proposed, it cannot be confirmed', async () => {
  const [right, foreign] = [newAddress(), newAddress()]
  const { addressUrl } = await waiting()
  await answerRefundPage(addressUrl ?? '', right)
  await second.reload()
  await confirmButton(second).click()
  const dialog = second.getByRole('dialog')
  const field = dialog.getByLabel('Wallet address')
  await dialog.getByLabel(/How do you know/).fill('He read it out on the phone.')
  await dialog.getByLabel(/looked up/).fill('call 12')
  await answerRefundPage(addressUrl ?? '', foreign)
  await dialog.getByRole('button', { name: 'Confirm this address' }).click()
  await dialog.getByText('The address was changed in the meantime').waitFor()
  assert.equal(await field.inputValue(), right, 'what was compared')
  assert.ok(await dialog.getByRole('button', { name: 'Confirm this address' }).isDisabled())
  await dialog.getByRole('button', { name: 'Close' }).click()
  await second.getByText('The payer had named another address before').waitFor()
  const { status, proposedAddress, confirmedBy } = await waiting()
  assert.deepEqual([status, proposedAddress, confirmedBy], ['needs_address', foreign, null])
})

test('closing the file chooser without a choice keeps the dialog and what was typed', async () => {
  const { _id } = await waiting()
  const { db } = world.shop.host
  /** At the company's own account: what the operator holds, the operator sends. */
  const put = async (channel: string, status: string) => {
    await db.run(sql`
      update refunds set channel = ${channel}, status = ${status}, next_check_at = null where id = ${_id}`)
    await db.run(sql`
      update payments set own_account = ${status === 'ready'}
      where id = (select payment_id from refunds where id = ${_id})`)
  }
  await put('gate', 'ready')
  await first.reload()
  await first.getByRole('button', { name: 'Settle by hand', exact: true }).click()
  const dialog = first.getByRole('dialog')
  await dialog.locator('textarea').fill('Sent from the till, by Ann.')
  await dialog.locator('input[type=file]').dispatchEvent('cancel', { bubbles: true })
  assert.equal(await dialog.locator('textarea').inputValue(), 'Sent from the till, by Ann.')
  await first.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  await put('crypto', 'needs_address')
})

test('one question without an answer is the fault of its panel; when none is answered, the page says so until one is', async () => {
  await first.reload()
  const card = first.getByRole('article')
  await card.waitFor()
  const silence = first.getByText('The service does not answer. What you see is from')
  const comeBack = async () => {
    await first.waitForTimeout(2500)
    await first.evaluate(`document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))`)
  }
  await first.route('**/api/next/refunds?**', (route) => route.fulfill({ status: 503, json: {} }))
  await comeBack()
  await first.getByRole('alert').first().waitFor()
  assert.deepEqual([await card.count(), await silence.count()], [1, 0], 'the rest of the service answers')
  await first.route('**/api/**', () => new Promise(() => {}))
  await comeBack()
  await silence.waitFor()
  await first.unrouteAll({ behavior: 'ignoreErrors' })
  await silence.waitFor({ state: 'detached' })
  await first.getByRole('alert').first().waitFor({ state: 'detached' })
})

test('what the payer named through the link is confirmed by two people, one after the other', async () => {
  const address = newAddress()
  const { addressUrl } = await waiting()
  assert.equal((await answerRefundPage(addressUrl ?? '', address)).status, 303)
  await first.reload()
  await first.getByText('Two of you must confirm it').waitFor()
  await first.getByText('invite a colleague under People, or ask the operator of this service').waitFor()
  await first.getByText('Only the operator of this service can reject it').waitFor()
  await confirm(first, address, 'Another person must confirm it too')
  await first.getByText('You named or confirmed this address').waitFor()
  assert.equal(await confirmButton(first).count(), 0, 'the same person is not asked twice')
  await confirm(second, address, 'Confirmed. It is sent with the next round.')
  const { status, address: destination, addressProof } = await waiting()
  assert.ok(['ready', 'submitted', 'settled'].includes(status), status)
  assert.deepEqual([destination, addressProof?.evidence], [address, 'receipt 12'])
})
