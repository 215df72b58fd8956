import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { sql } from '../../src/db/db.ts'
import { insertSuperAdmin, newEmail, PASSWORD, passwordHash, register, waitForMail } from '../harness/accounts.ts'
import { listFaultsOfBothSchemes } from '../harness/axe.ts'
import { PHONE, startBrowser, visit } from '../harness/browser.ts'
import { DESK, enterOffice, goTo, logInOnPage } from '../harness/office.ts'
import { startTestService, type TestService } from '../harness/service.ts'

/* A new installation: no company yet, an operator, and the first merchant. */

let service: TestService
let browser: Browser
let email: string

before(async () => {
  service = await startTestService({ env: { AUTO_APPROVE: 'false' }, workers: true })
  email = await insertSuperAdmin(service.db, await passwordHash())
  browser = await startBrowser()
})
after(async () => {
  await browser?.close()
  await service?.stop()
})

const enter = (path: string) => enterOffice(browser, service.baseUrl, { email, path })

test('without a company the operator reads where merchants register, and not that a search found nothing', async () => {
  const { page, leave } = await enter('/operator')
  const address = `${service.baseUrl}/app/register`
  for (const path of ['/operator', '/money', '/orders/new']) {
    await goTo(page, path)
    await page.getByText('No company yet').waitFor()
    await page.locator('#content').getByText(address, { exact: true }).waitFor()
    await page.locator('#content').getByRole('button', { name: 'Copy' }).waitFor()
    assert.equal(await page.getByText('Choose a company').count(), 0, path)
    assert.deepEqual(await listFaultsOfBothSchemes(page), [], path)
  }
  await goTo(page, '/operator?search=tea')
  await page.getByText('No company matches').waitFor()
  await goTo(page, '/operator?status=waiting')
  await page.getByText('No company waits for approval').waitFor()
  await leave()
})

test('the first merchant registers, reads in German what is missing, and is found on the home page, approved, and told', async () => {
  const shop = await register(service.baseUrl, { role: 'Manager', companyName: 'Tea & Söhne' })
  const { page, leave } = await enter('/operator')
  const card = page.getByRole('article').filter({ hasText: 'Tea & Söhne' })
  await card.getByText('No confirmed manager').waitFor()
  await card.getByText('No active manager has confirmed an email address yet.').waitFor()
  await goTo(page, '/')
  await page.getByText('Nothing waits for you.').waitFor()
  const mail = await waitForMail(service.baseUrl, shop.email, /verify-email/)
  const link = /http\S+verify-email\?token=\S+/.exec(mail.text)?.[0] ?? ''
  const { page: theirs, context } = await visit(browser, link, DESK)
  await theirs.getByRole('button').last().click()
  await theirs.getByText('Your address is confirmed').first().waitFor()
  await theirs.goto(`${service.baseUrl}/app/login`)
  await logInOnPage(theirs, service.baseUrl, shop.email)
  await theirs.getByText('The operator of this service has to approve Tea & Söhne.').waitFor()
  await theirs.goto(`${service.baseUrl}/app/?lang=de`)
  await theirs.getByText('Der Betreiber dieses Dienstes muss Tea & Söhne freigeben.').waitFor()
  assert.deepEqual(await theirs.getByRole('listitem').allInnerTexts(), [
    'Der Betreiber dieses Dienstes muss Tea & Söhne freigeben.',
  ])
  await context.close()
  await goTo(page, '/operator')
  await goTo(page, '/')
  await page.getByRole('link', { name: '1 company waits for approval' }).click()
  await page.waitForURL(/\/operator\?status=waiting$/)
  await card.getByText('Waits for approval', { exact: true }).waitFor()
  await card.getByRole('button', { name: 'Approve' }).click()
  await page.getByText('No company waits for approval').waitFor()
  await waitForMail(service.baseUrl, shop.email, /approved/)
  await leave()
})

test('an unwanted company waits until its manager is disabled, and its card leads there', async () => {
  const shop = await register(service.baseUrl, { role: 'Manager', companyName: 'Cheap Pills' })
  await service.db.run(sql`update users set verified_at = now() where id = ${shop.userId}`)
  const { page, leave } = await enter('/operator?status=waiting')
  const card = page.getByRole('article').filter({ hasText: 'Cheap Pills' })
  await card.getByText('Do you not want this company?').waitFor()
  assert.deepEqual(await listFaultsOfBothSchemes(page), [])
  await card.getByRole('link', { name: 'Show its people' }).click()
  const person = page.getByRole('article').filter({ hasText: shop.email })
  await person.getByRole('button', { name: 'Disable' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click()
  await person.getByText('Disabled', { exact: true }).waitFor()
  await goTo(page, '/operator?status=waiting')
  await page.getByText('No company waits for approval').waitFor()
  await goTo(page, '/operator')
  await card.getByText('No confirmed manager').waitFor()
  await leave()
})

/** Registers a company in the office. @returns the address, and the link that confirms it */
async function found(page: Page, company: string): Promise<{ address: string; link: string }> {
  const address = newEmail('founder')
  for (const [label, text] of [
    ['First name', 'Ada'],
    ['Last name', 'Beispiel'],
    ['Name of your company', company],
    ['Email', address],
    ['Password', PASSWORD],
  ] as const)
    await page.getByLabel(label, { exact: true }).fill(text)
  await page.getByRole('button', { name: 'Create the account' }).click()
  await page.getByText('Almost there').waitFor()
  const mail = await waitForMail(service.baseUrl, address, /verify-email/)
  return { address, link: /http\S+verify-email\?token=\S+/.exec(mail.text)?.[0] ?? '' }
}

test('who registers and confirms in one browser goes on without a login, and reads there what is confirmed', async () => {
  const { page, context } = await visit(browser, `${service.baseUrl}/app/register`, DESK)
  const { address, link } = await found(page, 'Kiosk')
  const mailed = await context.newPage()
  await mailed.goto(link)
  await mailed.getByText(`An account at Kiosk with the role “Manager” was registered with ${address}.`).waitFor()
  await mailed.getByText('You do not expect it? Close this page.').waitFor()
  assert.deepEqual(await listFaultsOfBothSchemes(mailed), [])
  await mailed.getByRole('button', { name: 'Confirm' }).click()
  await mailed.getByText('You are still logged in in this browser.').waitFor()
  assert.deepEqual(await listFaultsOfBothSchemes(mailed), [])
  await mailed.getByRole('link', { name: 'Continue' }).click()
  await mailed.getByText('The operator of this service has to approve Kiosk.').waitFor()
  await page.getByRole('button', { name: 'Check again' }).click()
  await page.getByText('Confirm your e-mail address').waitFor({ state: 'detached' })
  await context.close()
})

test('who confirms on a phone logs in again at the desk, as the page there says beforehand', async () => {
  const { page, context } = await visit(browser, `${service.baseUrl}/app/register`, DESK)
  const { address, link } = await found(page, 'Bakery')
  await page.getByText('If you open it in another browser, log in here again afterwards.').waitFor()
  const phone = await visit(browser, link, PHONE)
  await phone.page.getByRole('button', { name: 'Confirm' }).click()
  await phone.page.getByText('Log in to go on. For your security, earlier logins of this account have ended.').waitFor()
  await phone.context.close()
  await page.getByRole('button', { name: 'Check again' }).click()
  await page.getByText('Your session has ended.').waitFor()
  await logInOnPage(page, service.baseUrl, address)
  await page.getByText('Confirm your e-mail address').waitFor({ state: 'detached' })
  await page.getByText('The operator of this service has to approve Bakery.').waitFor()
  await context.close()
})
