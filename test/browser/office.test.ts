import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Locator } from 'playwright-core'
import { sql } from '../../src/db/db.ts'
import { type Person, registerManager } from '../harness/accounts.ts'
import { startBrowser } from '../harness/browser.ts'
import { enterOffice } from '../harness/office.ts'
import { eventually, startTestService, type TestService } from '../harness/service.ts'

let service: TestService
let browser: Browser
let manager: Person

before(async () => {
  service = await startTestService({ workers: true })
  browser = await startBrowser()
  manager = await registerManager(service.baseUrl)
})
after(async () => {
  await browser?.close()
  await service?.stop()
})

/** A 401 at the first refresh is how a browser without a session learns that it has none. */
const realComplaints = (complaints: string[]): string[] => complaints.filter((text) => !/401|400/.test(text))

test('a manager comes in with the mailed code and lands where the link pointed', async () => {
  const { page, complaints, requests, leave } = await enterOffice(browser, service.baseUrl, {
    email: manager.email,
    path: '/orders?status=PAID',
  })
  assert.equal(new URL(page.url()).pathname + new URL(page.url()).search, '/app/orders?status=PAID')
  await page.getByRole('heading', { level: 1, name: 'Orders' }).waitFor()
  assert.deepEqual(realComplaints(complaints), [])
  const hosts = new Set(requests.filter((url) => !url.startsWith('data:')).map((url) => new URL(url).host))
  assert.deepEqual([...hosts], [new URL(service.baseUrl).host])
  const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]))
  assert.equal(/eyJ|token|whsec_|sk_/.test(kept), false, kept)
  await page.reload()
  await page.getByRole('heading', { level: 1, name: 'Orders' }).waitFor()
  await leave()
})

test('an order is created, paid attention to, and cancelled, all on the page', async () => {
  const { page, leave } = await enterOffice(browser, service.baseUrl, { email: manager.email, path: '/orders/new' })
  await page.getByLabel('Amount', { exact: true }).fill('12,50')
  await page.getByRole('button', { name: 'Create the order' }).click()
  await page.getByRole('heading', { name: 'Ready to be paid' }).waitFor()
  await page.getByRole('img', { name: 'Code that opens the payment page' }).waitFor()
  await page.getByRole('link', { name: 'Show the order' }).click()
  await page.getByText('€12.50').first().waitFor()
  await page.getByRole('button', { name: 'Cancel the order' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel the order' }).click()
  await page.locator('header').getByText('Cancelled').waitFor()
  const code = page.url().split('/').at(-1) ?? ''
  const { data } = await manager.client.get<{ status: string }>(`confirm_conversion/status/${code}`)
  assert.equal(data.status, 'CANCELLED')
  assert.equal(await page.getByRole('button', { name: 'Cancel the order' }).count(), 0, 'an ended order offers no end')
  await leave()
})

test('an order opens by what a receipt calls it; a name of several leads to the list, one of none says so', async () => {
  const { page, leave } = await enterOffice(browser, service.baseUrl, { email: manager.email })
  const { data } = await manager.client.get<{ collectors: { identifier: string }[] }>('collectors/list')
  const body = { amount: '88.80', fromAsset: 'EUR', merchantIdentifier: data.collectors[0]?.identifier }
  type Made = { order: { code: string; shortCode: string } }
  const make = async () => (await manager.client.post<Made>('confirm_conversion/request', body)).data.order
  const { code, shortCode } = await make()
  await make()
  await page.goto(`${service.baseUrl}/app/orders/${shortCode.toLowerCase()}`)
  await page.waitForURL(`**/app/orders/${code}`)
  await page.getByRole('heading', { name: shortCode }).waitFor()
  await page.goto(`${service.baseUrl}/app/orders/88.80`)
  await page.waitForURL('**/app/orders?search=88.80')
  await page.goto(`${service.baseUrl}/app/orders/${'z'.repeat(24)}`)
  await page.getByText('There is nothing at this address').waitFor()
  await leave()
})

test('on a phone the chosen part of a screen is in sight in every language, also where its words come late', async () => {
  const options = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true }
  const { email } = await registerManager(service.baseUrl)
  const { page, leave } = await enterOffice(browser, service.baseUrl, { email, options })
  for (const lang of ['en', 'fr', 'de', 'es', 'it']) {
    await page.goto(`${service.baseUrl}/app/shop?tab=rules&lang=${lang}`)
    const chosen = page.locator('#content fieldset [aria-pressed="true"]').first()
    await chosen.waitFor()
    const findEnd = async (): Promise<number> => {
      const { x = 999, width = 0 } = (await chosen.boundingBox()) ?? {}
      return x < 0 ? 999 : x + width
    }
    await eventually(findEnd, (end) => end <= 360)
    // as when a font arrives: the words before it grow
    const buttons = `document.querySelectorAll('#content fieldset button')`
    await page.evaluate(`for (const button of ${buttons}) button.style.letterSpacing = '0.3em'`)
    await eventually(findEnd, (end) => end <= 360)
  }
  await leave()
})

test('on a small phone a long reference leaves the amount of its order in sight', async () => {
  const { data } = await manager.client.get<{ collectors: { identifier: string }[] }>('collectors/list')
  const alias = `Rechnung-${'2026-'.repeat(12)}`
  const body = { amount: '1234.50', fromAsset: 'EUR', merchantIdentifier: data.collectors[0]?.identifier, alias }
  assert.equal((await manager.client.post('confirm_conversion/request', body)).status, 200)
  // the longest name of a state
  await service.db.run(sql`update orders set status = 'REFUNDING' where alias = ${alias}`)
  const options = { viewport: { width: 360, height: 740 } }
  const { page, leave } = await enterOffice(browser, service.baseUrl, { email: manager.email, options })
  for (const path of ['/app', '/app/orders']) {
    await page.goto(`${service.baseUrl}${path}?lang=es`)
    const row = page.getByRole('row').filter({ hasText: alias })
    await row.waitFor()
    const { x = 0, width = 999 } = (await row.getByText('Reembolso en curso').first().boundingBox()) ?? {}
    assert.ok(x + width <= 344, `${path}: the state ends at ${x + width}`)
  }
  await leave()
})

test('the address of a shop is corrected, and a line of it can be taken away', async () => {
  const point = { name: 'Harbor', street: 'Wrong street 1', city: 'Nice', country: 'FR' }
  assert.equal((await manager.client.post('sales-points', point)).status, 200)
  const { page, leave } = await enterOffice(browser, service.baseUrl, {
    email: manager.email,
    path: '/shop?tab=tills',
  })
  await page.locator('li', { hasText: 'Harbor' }).getByRole('button', { name: 'Change' }).click()
  const dialog = page.getByRole('dialog')
  assert.equal(await dialog.getByLabel('City').inputValue(), 'Nice')
  await dialog.getByLabel('Name').fill('Harbour')
  await dialog.getByLabel('Street').fill('')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Harbour').first().waitFor()
  const { data } = await manager.client.get<{ salesPoints: Record<string, unknown>[] }>('sales-points')
  const harbour = data.salesPoints.find(({ name }) => name === 'Harbour')
  assert.deepEqual([harbour?.street, harbour?.city, harbour?.country], [null, 'Nice', 'FR'])
  await leave()
})

test('a double click makes one order, without a connection none is made, over plain http one; a silent service is named', async () => {
  const { page, context } = await enterOffice(browser, service.baseUrl, { email: manager.email, path: '/orders/new' })
  const count = async (): Promise<number> =>
    (await manager.client.get<{ total: number }>('confirm_conversion')).data.total
  const before = await count()
  await page.getByLabel('Amount').fill('3')
  await page.getByRole('button', { name: 'Create the order' }).dblclick()
  await page.getByRole('heading', { name: 'Ready to be paid' }).waitFor()
  assert.equal(await count(), before + 1)
  await page.getByRole('button', { name: 'Another one' }).click()
  await page.getByLabel('Amount').fill('4')
  await context.setOffline(true)
  await page.getByRole('button', { name: 'Create the order' }).click()
  await page.getByRole('alert').getByText('connection').first().waitFor()
  await context.setOffline(false)
  await page.getByRole('button', { name: 'Create the order' }).click()
  await page.getByRole('heading', { name: 'Ready to be paid' }).waitFor()
  assert.equal(await count(), before + 2)
  // over plain http a browser has neither
  await context.addInitScript(`delete Crypto.prototype.randomUUID
    Object.defineProperty(Navigator.prototype, 'clipboard', { get: () => undefined })`)
  await page.reload()
  await page.getByLabel('Amount').fill('5')
  await page.getByRole('button', { name: 'Create the order' }).click()
  await page.getByRole('heading', { name: 'Ready to be paid' }).waitFor()
  await page.getByRole('button', { name: 'Copy' }).first().click()
  await page.getByText('Copied').waitFor()
  assert.equal(await count(), before + 3)
  const silence = page.getByRole('alert').getByText('The service does not answer. What you see is from')
  await page.route('**/api/next/**', (route) => route.fulfill({ status: 503, json: {} }))
  await silence.waitFor()
  await page.unroute('**/api/next/**')
  await silence.waitFor({ state: 'detached' })
  await context.close()
})

/** What makes a button look as it does. */
const LOOKS = ['background-color', 'color', 'font', 'min-height', 'padding', 'border-radius', 'border-width', 'display']
const looksOf = (element: Locator): Promise<string[]> =>
  element.evaluate((node, names) => {
    type Style = { getPropertyValue(name: string): string }
    const { getComputedStyle } = globalThis as unknown as { getComputedStyle(node: unknown): Style }
    return names.map((name) => `${name}: ${getComputedStyle(node).getPropertyValue(name)}`)
  }, LOOKS)

test('a buy button shows as its code makes it look, opens its page, changes its price and keeps its code', async () => {
  const { page, context, leave } = await enterOffice(browser, service.baseUrl, {
    email: manager.email,
    path: '/shop?tab=buttons',
  })
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: 'Add a button' }).click()
  await dialog.getByLabel('Name', { exact: true }).fill('Bread')
  await dialog.getByLabel('Address of the website').fill('https://shop.example/')
  await dialog.getByLabel('Price', { exact: true }).fill('4.50')
  await dialog.getByRole('button', { name: 'Add a button' }).click()
  await page.getByText('€4.50').waitFor()
  await page.getByRole('button', { name: 'Code for your page' }).click()
  const looks = await looksOf(dialog.getByText('Pay with crypto', { exact: true }))
  const code = await dialog.locator('pre').innerText()
  const [landing] = await Promise.all([
    context.waitForEvent('page'),
    dialog.getByRole('link', { name: 'Open its payment page' }).click(),
  ])
  await landing.getByText('€4.50').first().waitFor()
  const shop = await context.newPage()
  const address = `${service.baseUrl}/a-page-of-the-shop`
  await shop.route(address, (route) => route.fulfill({ contentType: 'text/html', body: code }))
  await shop.goto(address)
  const pasted = shop.getByRole('button', { name: 'Pay with crypto' })
  await shop.waitForFunction('document.adoptedStyleSheets.length > 0')
  assert.deepEqual(looks, await looksOf(pasted))
  await dialog.getByRole('button', { name: 'Close' }).click()
  const list = async () =>
    (await manager.client.get<{ buyButtons: { _id: string; price: string }[] }>('buy-buttons')).data.buyButtons
  const [made] = await list()
  await page.getByRole('button', { name: 'Change', exact: true }).click()
  await dialog.getByLabel('Price', { exact: true }).fill('4.80')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByText('€4.80').waitFor()
  const changed = (await list()).map(({ _id, price }) => [_id, price])
  assert.deepEqual(changed, [[made?._id, '4.80']])
  await leave()
})

test('a channel that the office has no words for is called by the name that the service gives it', async () => {
  const { page, leave } = await enterOffice(browser, service.baseUrl, { email: manager.email })
  await page.route('**/api/next/channel-names', async (route) => {
    const { data } = (await (await route.fetch()).json()) as { data: object[] }
    await route.fulfill({ json: { data: [...data, { paymentChannel: 'acme', name: 'Acme Pay' }] } })
  })
  await page.goto(`${service.baseUrl}/app/orders`)
  const options = page.getByLabel('Channel', { exact: true }).locator('option')
  const words = await eventually(
    () => options.allTextContents(),
    (list) => list.includes('Acme Pay'),
  )
  assert.ok(words.includes('Whitepay (any wallet)') && new Set(words).size === words.length, String(words))
  await leave()
})

test('a static link is made, its code opens to print, and it is turned off, all on the page', async () => {
  const { page, context, leave } = await enterOffice(browser, service.baseUrl, { email: manager.email, path: '/links' })
  await page.getByRole('button', { name: 'New static link' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('What the payer reads').fill('Table 4')
  await dialog.getByLabel('Amount', { exact: true }).fill('12,50')
  await dialog.getByRole('button', { name: 'New static link' }).click()
  await page.getByText('Table 4').waitFor()
  await page.getByText('0 of 0 orders paid').waitFor()
  const { data } = await manager.client.get<{ staticLinks: { url: string; amount: string }[] }>('static-links')
  assert.equal(data.staticLinks[0]?.amount, '12.50')
  const [poster] = await Promise.all([
    context.waitForEvent('page'),
    page.getByRole('link', { name: 'Print the code' }).click(),
  ])
  await poster.getByText(data.staticLinks[0]?.url ?? '').waitFor()
  await poster.close()
  await page.getByRole('button', { name: 'Change', exact: true }).click()
  assert.equal(await dialog.getByLabel('Amount', { exact: true }).inputValue(), '12.50')
  await dialog.getByLabel('Amount', { exact: true }).fill('')
  await dialog.getByLabel('At least').fill('2')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.waitFor({ state: 'detached' })
  const [changed] = (await manager.client.get<{ staticLinks: unknown[] }>('static-links')).data.staticLinks
  const { url } = data.staticLinks[0] ?? {}
  assert.deepEqual(changed, { ...(changed as object), url, amount: null, minAmount: '2.00', name: 'Table 4' })
  await page.getByRole('button', { name: 'Turn off' }).click()
  await page.getByRole('button', { name: 'Turn on' }).waitFor()
  assert.equal((await fetch(data.staticLinks[0]?.url ?? '')).status, 410)
  await leave()
})

test('who has just registered is not said to have never logged in, while they read it', async () => {
  const { page, leave } = await enterOffice(browser, service.baseUrl, { email: manager.email, path: '/' })
  await service.db.run(sql`update users set last_connection_at = null where id = ${manager.userId}`)
  await page.goto(`${service.baseUrl}/app/people`)
  const card = page.getByRole('article').filter({ hasText: manager.email })
  await card.getByText('Logged in now').waitFor()
  assert.equal(await card.getByText('Never logged in').count(), 0)
  await leave()
})
