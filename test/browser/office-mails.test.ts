import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { sql } from '../../src/db/db.ts'
import { newEmail, readMails, waitForMail } from '../harness/accounts.ts'
import { PHONE, startBrowser } from '../harness/browser.ts'
import { DESK, enterOffice, goTo } from '../harness/office.ts'
import { type OfficeWorld, openOffice } from '../harness/office-world.ts'
import { createPaid } from '../harness/refunds.ts'

/* Mails that a person of the shop asks for, and those that the person sends to a payer. */

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

const base = (): string => world.shop.host.baseUrl

test('a person chooses a mail for each sale in the profile, and its link opens the order', async () => {
  const { email } = world.people.Manager
  const { page, leave } = await enterOffice(browser, base(), { email, path: '/account' })
  const choice = page.getByLabel(/^Email me each sale/)
  assert.equal(await choice.isChecked(), false)
  await choice.check()
  await page.getByRole('button', { name: 'Save', exact: true }).first().click()
  await page.getByText('Saved', { exact: false }).first().waitFor()
  await page.reload()
  await choice.waitFor()
  assert.equal(await choice.isChecked(), true)
  const order = await createPaid(world.shop, { amount: '40.00', alias: 'INV-77' })
  const mail = await waitForMail(base(), email, /^Sale of €40\.00/)
  const link = /https?:\S+\/app\/orders\/\S+/.exec(mail.text)?.[0] ?? ''
  assert.ok(link.endsWith(`/app/orders/${order.code}`), mail.text)
  await goTo(page, new URL(link).pathname.replace(/^\/app/, ''))
  await page.getByText('INV-77').first().waitFor()
  await leave()
})

async function sendFrom(page: Page, to: string, facts: { language?: string; remind?: boolean } = {}): Promise<void> {
  await page.getByRole('button', { name: 'Send by email' }).click()
  const dialog = page.getByRole('dialog', { name: /^Send by email/ })
  await dialog.getByLabel('The payer’s email').fill(to)
  if (facts.language) await dialog.getByLabel('Language of the email').selectOption({ label: facts.language })
  if (facts.remind) await dialog.getByLabel('Reminder').selectOption({ label: 'Once, a day before the order ends' })
  await dialog.getByRole('button', { name: 'Send', exact: true }).click()
}

for (const [device, options] of [
  ['desktop', DESK],
  ['phone', PHONE],
] as const)
  test(`on a ${device} a link is mailed from its order’s page, with language and reminder; a fourth mail is refused in words`, async () => {
    const order = await world.shop.create({ alias: `INV-${device}` })
    const { email } = world.people.Manager
    const { page, leave } = await enterOffice(browser, base(), { email, path: `/orders/${order.code}`, options })
    const to = newEmail('payer')
    await sendFrom(page, to, { language: 'Français', remind: true })
    await page.getByText('The email is on its way.').waitFor()
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    await waitForMail(base(), to, /vous demande de payer/)
    const reminders = sql`select from link_mails where order_id = ${order._id} and lang = 'fr' and remind_at is not null`
    assert.equal(await world.shop.host.db.run(reminders), 1)
    const promised = sql`select from link_mails where order_id = ${order._id} and remind_at is not null`
    for (const count of [2, 3]) {
      await sendFrom(page, to)
      await page.getByRole('dialog').waitFor({ state: 'hidden' })
      await waitForMail(base(), to, /pa[yg]/, count)
    }
    assert.equal(await world.shop.host.db.run(promised), 1, 'further mails leave the reminder as it is')
    await sendFrom(page, to)
    await page.getByRole('dialog').getByRole('alert').filter({ hasText: 'was mailed three times' }).waitFor()
    assert.equal((await readMails(base(), to)).length, 3)
    await leave()
  })

test('a new link is mailed from where it was made; a paid order offers no mail', async () => {
  const { email } = world.people.Manager
  const { page, leave } = await enterOffice(browser, base(), { email, path: '/links/new' })
  await page.getByLabel('Amount').fill('12.50')
  await page.getByLabel('Your reference').fill('INV-NEW')
  await page.getByRole('button', { name: 'Create the link' }).click()
  await page.getByRole('button', { name: 'Send by email' }).waitFor()
  const to = newEmail('payer')
  await sendFrom(page, to)
  assert.match((await waitForMail(base(), to, /INV-NEW/)).text, /€12\.50/)
  const paid = await createPaid(world.shop)
  await goTo(page, `/orders/${paid.code}`)
  await page.getByRole('button', { name: 'Refund', exact: true }).waitFor()
  assert.equal(await page.getByRole('button', { name: 'Send by email' }).count(), 0)
  await leave()
})
