import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Dialog, Page } from 'playwright-core'
import { sql } from '../../src/db/db.ts'
import { PASSWORD, type Person, registerManager } from '../harness/accounts.ts'
import { startBrowser, visit } from '../harness/browser.ts'
import { countCodes, DESK, enterOffice, logInOnPage, nextCode } from '../harness/office.ts'
import { eventually, startTestService, type TestService } from '../harness/service.ts'

/* What a person works on is still there after the connection, the session or a click elsewhere came between. */

let service: TestService
let browser: Browser
let manager: Person
let other: Person

before(async () => {
  service = await startTestService({ workers: true })
  browser = await startBrowser()
  manager = await registerManager(service.baseUrl)
  other = await registerManager(service.baseUrl)
})
after(async () => {
  await browser?.close()
  await service?.stop()
})

const enter = (path: string) => enterOffice(browser, service.baseUrl, { email: manager.email, path })

const listOrders = async (): Promise<{ fromAmount: string }[]> =>
  (await manager.client.get<{ orders: { fromAmount: string }[] }>('confirm_conversion')).data.orders

/** Every session but this one has been ended by the test before. */
const enterToOrder = () =>
  enterOffice(browser, service.baseUrl, { email: manager.email, path: '/orders/new', freshLogin: true })

/** A half-written order, sent by a person whose session has ended meanwhile. */
async function sendAfterEnd(page: Page, amount: string): Promise<void> {
  assert.equal((await manager.client.post('auth/sessions/revoke-others')).status, 200)
  await page.getByLabel('Amount', { exact: true }).fill(amount)
  await page.getByRole('button', { name: 'Create the order' }).click()
  await page.getByRole('dialog', { name: 'Log in' }).getByText('Your session has ended.').waitFor()
}

/** Logs in over the page, as the person that is asked or as another one. */
async function logInOver(page: Page, email: string): Promise<void> {
  const before = await countCodes(service.baseUrl, email)
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Email', { exact: true }).fill(email)
  await dialog.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await dialog.getByRole('button', { name: 'Log in' }).click()
  await dialog.getByLabel('Code from the email').fill(await nextCode(service.baseUrl, email, before))
  await dialog.getByRole('button', { name: 'Log in' }).click()
}

test('a session that ends asks for the login over the page, and what was typed there is sent once after it', async () => {
  const { page, context } = await enterToOrder()
  await sendAfterEnd(page, '12,30')
  const dialog = page.getByRole('dialog')
  assert.equal(await dialog.getByLabel('Email', { exact: true }).inputValue(), manager.email)
  await page.keyboard.press('Escape')
  await page.keyboard.press('Escape')
  // a key does not throw away what was typed
  await dialog.getByText('Your session has ended.').waitFor()
  assert.deepEqual(await listOrders(), [])
  await logInOver(page, manager.email)
  await page.getByRole('heading', { name: 'Ready to be paid' }).waitFor()
  assert.deepEqual(
    (await listOrders()).map(({ fromAmount }) => Number(fromAmount)),
    [12.3],
  )
  await context.close()
})

test('who does not log in again comes back to the same page with the next login, and nothing was sent', async () => {
  const { page, context } = await enterToOrder()
  const before = await listOrders()
  await sendAfterEnd(page, '13')
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()
  await page.getByText('Your session has ended.').waitFor()
  assert.equal(new URL(page.url()).pathname, '/app/login')
  await logInOnPage(page, service.baseUrl, manager.email)
  await page.getByRole('heading', { name: 'New order' }).waitFor()
  assert.equal(await page.getByLabel('Amount', { exact: true }).inputValue(), '')
  assert.deepEqual(await listOrders(), before)
  await context.close()
})

test('another person who logs in over the page gets an office of their own, and sends nothing of the one before', async () => {
  const { page, context } = await enterToOrder()
  const before = await listOrders()
  await sendAfterEnd(page, '14')
  await logInOver(page, other.email)
  await page.getByRole('heading', { name: /^Hello/ }).waitFor()
  assert.equal(await page.getByRole('dialog').count(), 0)
  const { data } = await other.client.get<{ orders: unknown[] }>('confirm_conversion')
  assert.deepEqual([data.orders, await listOrders()], [[], before])
  await context.close()
})

/** A key that is sent after the session's second factor has aged, so that a code is asked for, and the session ends. */
async function endWhileCodeIsAsked(page: Page, name: string): Promise<void> {
  await service.db.run(sql`
    update sessions set second_factor_at = now() - interval '6 minutes' where user_id = ${manager.userId}`)
  // a node believes what it read of a session for a moment
  await new Promise((resolve) => setTimeout(resolve, 5500))
  await page.locator('#content').getByRole('button', { name: 'New key', exact: true }).click()
  await page.getByLabel('Name').fill(name)
  await page.getByRole('button', { name: 'Create the key' }).click()
  await page.getByRole('heading', { name: 'Confirm it is you' }).waitFor()
  assert.equal((await manager.client.post('auth/sessions/revoke-others')).status, 200)
  // who comes back to the window sees its rows fetched again
  await page.evaluate("dispatchEvent(new Event('visibilitychange'))")
  await page.getByRole('dialog', { name: 'Log in' }).getByText('Your session has ended.').waitFor()
}

for (const { where, logIn, arrives } of [
  {
    where: 'over the page',
    logIn: (page: Page) => logInOver(page, other.email),
    arrives: /^Hello/,
  },
  {
    where: 'at the login page',
    async logIn(page: Page) {
      await page.getByRole('dialog', { name: 'Log in' }).getByRole('button', { name: 'Close' }).click()
      await page.getByText('Your session has ended.').waitFor()
      await logInOnPage(page, service.baseUrl, other.email)
    },
    arrives: 'API keys',
  },
])
  test(`what waits for a fresh code is not asked of another person who logs in ${where}, and is not sent`, async () => {
    const options = { email: manager.email, path: '/keys', freshLogin: true }
    const { page, context } = await enterOffice(browser, service.baseUrl, options)
    await endWhileCodeIsAsked(page, where)
    await logIn(page)
    await page.getByRole('heading', { level: 1, name: arrives }).waitFor()
    assert.equal(await page.getByRole('dialog').count(), 0)
    assert.deepEqual(await service.db.many(sql`select id from api_keys where name = ${where}`), [])
    await context.close()
  })

test('a page that cannot be fetched without a connection says so inside the office, and is there at the next try', async () => {
  const { page, context, leave } = await enter('/orders')
  await context.setOffline(true)
  await page.getByRole('link', { name: 'API keys' }).click()
  const content = page.locator('#content')
  await content.getByText('This page could not be fetched: there is no connection').waitFor()
  await content.getByRole('button', { name: 'Try again' }).click()
  await content.getByText('This page could not be fetched: there is no connection').waitFor()
  // the page before is loaded: it is one click away
  await page.getByRole('link', { name: 'Orders', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'Orders' }).waitFor()
  await page.getByRole('link', { name: 'API keys' }).click()
  await content.getByText('This page could not be fetched').waitFor()
  await context.setOffline(false)
  await content.getByRole('button', { name: 'Try again' }).click()
  await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor()
  await leave()
})

test('a page that an upgrade has replaced offers to load the office anew', async () => {
  const { page, leave } = await enter('/orders')
  const gone = /\/assets\/Keys-[\w-]+\.js$/
  await page.route(gone, (route) => route.fulfill({ status: 404, body: 'Not found' }))
  await page.getByRole('link', { name: 'API keys' }).click()
  await page.locator('#content').getByText('a newer version of the back office may have been installed').waitFor()
  await page.unroute(gone)
  await page.getByRole('button', { name: 'Reload' }).click()
  await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor()
  await leave()
})

for (const { path, label, typed } of [
  { path: '/shop', label: 'Name', typed: 'Bakery and more' },
  { path: '/shop', label: 'Colour of your brand', typed: '#112233' },
  { path: '/shop?tab=rules', label: 'Accept late payments for this many hours', typed: '7' },
])
  test(`a changed setting is not dropped without a question: ${label}`, async () => {
    const { page, leave } = await enter(path)
    const field = page.getByLabel(label, { exact: true })
    const first = await field.inputValue()
    await field.fill(typed)
    const away = page.getByRole('link', { name: 'Orders', exact: true })
    await away.click()
    const question = page.getByRole('dialog', { name: 'Leave without saving?' })
    await question.getByRole('button', { name: 'Stay here' }).click()
    assert.equal(await field.inputValue(), typed)
    const asked = new Promise<Dialog>((resolve) => page.once('dialog', resolve))
    await page.close({ runBeforeUnload: true })
    const unload = await asked
    assert.equal(unload.type(), 'beforeunload')
    await unload.dismiss()
    // as it was is not changed
    await field.fill(first)
    await away.click()
    await page.getByRole('heading', { level: 1, name: 'Orders' }).waitFor()
    await page.goBack()
    await field.fill(typed)
    // what is saved is saved, however long the page takes to be asked anew
    await page.route(/\/api\/next\/companies\//, (route) =>
      route.request().method() === 'GET' ? undefined : route.continue(),
    )
    await page.locator('form').filter({ has: field }).getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved').first().waitFor()
    await page.getByRole('link', { name: 'Payment links' }).click()
    await page.getByRole('heading', { level: 1, name: 'Payment links' }).waitFor()
    await leave()
  })

test('all that the service refuses of a form stands at its fields, in the reader’s language, until it is changed', async () => {
  await service.db.run(sql`update companies set settlement_network = 137 where id = ${manager.companyId}`)
  const { page, leave } = await enter('/shop')
  await page.goto(`${service.baseUrl}/app/shop?lang=fr`)
  const field = (name: string) => page.locator(`[name=${name}]`)
  await field('settlementAddress').fill(`0xAb${'0'.repeat(38)}`)
  await field('vatNumber').fill('FR1')
  await page
    .locator('form')
    .filter({ has: field('vatNumber') })
    .getByRole('button', { name: 'Enregistrer' })
    .click()
  const [address, vat] = ['settlementAddress', 'vatNumber'].map((name) =>
    page.locator('div', { has: field(name) }).last(),
  )
  assert.ok(address && vat)
  await address.getByRole('alert').filter({ hasText: 'doit être une adresse de portefeuille\u00a0: 0x' }).waitFor()
  await vat.getByRole('alert').filter({ hasText: 'doit s’écrire comme FR12345678901' }).waitFor()
  assert.equal(await page.getByText(/must be an EVM address|must look like/).count(), 0)
  assert.equal(await page.evaluate('document.activeElement.name'), 'vatNumber', 'the first of them has the focus')
  await field('vatNumber').fill('FR12345678901')
  await vat.getByRole('alert').waitFor({ state: 'hidden' })
  await address.getByRole('alert').waitFor()
  await leave()
})

test('the language of the office is that of the page behind a mailed link, chosen in the address or in the menu', async () => {
  const { page, context } = await visit(browser, `${service.baseUrl}/app/login?lang=fr`, DESK)
  await page.getByRole('button', { name: 'Se connecter' }).waitFor()
  const ofMail = async (): Promise<string | null> => {
    const other = await context.newPage()
    await other.goto(`${service.baseUrl}/account/reset-password?token=unknown`)
    const lang = await other.locator('html').getAttribute('lang')
    await other.close()
    return lang
  }
  assert.equal(await ofMail(), 'fr')
  await Promise.all([page.waitForResponse(/\/app\?lang=de$/), page.getByLabel('Langue').selectOption('Deutsch')])
  assert.equal(await ofMail(), 'de')
  await context.close()
})

async function sellTo(email: string | null): Promise<string> {
  const { client } = manager
  const tills = await client.get<{ collectors: { identifier: string }[] }>('collectors/list')
  const merchantIdentifier = tills.data.collectors[0]?.identifier
  const sale = { amount: '7.00', fromAsset: 'EUR', merchantIdentifier }
  const { code } = (await client.post<{ code: string }>('confirm_conversion/request', sale)).data
  if (email !== null) assert.equal((await client.post(`confirm_conversion/email/${code}`, { email })).status, 200)
  return code
}

const countSearches = async (): Promise<number> =>
  (
    await service.db.one<{ searches: number }>(sql`
      select count(*)::integer as searches from audit_log where action = 'payer.search'`)
  ).searches

test('a payer’s orders are found by the e-mail, also on the way back from one, and no URL has the address', async () => {
  const [email, nobody] = ['jane.kept@mail.example', 'nobody.kept@mail.example']
  const [code] = [await sellTo(email), await sellTo(null)]
  const { page, context } = await enterToOrder()
  const urls: string[] = []
  page.on('framenavigated', (frame) => urls.push(frame.url()))
  await page.goto(`${service.baseUrl}/app/orders?status=INITIAL`)
  const box = page.getByRole('searchbox')
  const links = page.getByRole('table').locator(`a[href*="/orders/"]`)
  const isHers = async (): Promise<void> => {
    await page.getByText(`Orders of ${email}`).waitFor()
    await page.getByText('1 order', { exact: true }).waitFor()
    assert.deepEqual([await links.count(), await box.inputValue()], [1, email])
  }
  // as people type: with a pause in the middle of the address
  await box.pressSequentially('jane.kept@mail')
  await page.waitForTimeout(1200)
  await box.pressSequentially('.example')
  await isHers()
  await links.click()
  await page.waitForURL(`**/orders/${code}**`)
  await page.goBack()
  await isHers()
  await page.reload()
  await isHers()
  await box.fill(nobody)
  await box.press('Enter')
  await page.getByText('No order matches these filters').waitFor()
  await page.getByRole('button', { name: 'Clear filters' }).last().click()
  await page.getByText(`No order of ${nobody}`).waitFor()
  await page.getByText('Only the whole address is found').waitFor()
  const kept = await page.evaluate('JSON.stringify([localStorage, sessionStorage, document.title])')
  for (const place of [...urls, kept]) assert.equal(/kept(@|%40)/.test(String(place)), false, String(place))
  // the last one may be on its way still
  const searches = await eventually(countSearches, (count) => count >= 4)
  assert.equal(searches, 4, 'the way back asks for nothing')
  // whoever has the tab next does not look her up by going back
  await page.evaluate(
    `history.replaceState({ ...history.state, payer: { email: '${nobody}', askedBy: 'another' } }, '')`,
  )
  await page.reload()
  await page.getByText(/^[2-9]\d* orders$/).waitFor()
  assert.deepEqual([await box.inputValue(), await countSearches()], ['', searches])
  await box.fill(nobody)
  await box.press('Enter')
  await page.getByRole('button', { name: 'Search references and codes instead' }).click()
  await page.getByText('No order matches these filters').waitFor()
  assert.equal(await box.inputValue(), nobody)
  await context.close()
})
