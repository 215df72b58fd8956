import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { sql } from '../../src/db/db.ts'
import { PASSWORD } from '../harness/accounts.ts'
import { startBrowser } from '../harness/browser.ts'
import { countCodes, enterOffice, goTo, logInOnPage, nextCode } from '../harness/office.ts'
import { type OfficeWorld, openOffice } from '../harness/office-world.ts'

/* Two things at a time: a login in a second tab, two forms on a page, an order that ended while money came. */

let world: OfficeWorld
let browser: Browser

before(async () => {
  world = await openOffice()
  browser = await startBrowser()
})
after(async () => {
  await browser?.close()
  await world?.stop()
})

const base = (): string => world.shop.host.baseUrl
const enter = (path = '') => enterOffice(browser, base(), { email: world.people.Manager.email, path })

/** As another tab would: the password is right, the code is still to come. */
async function beginLogin(page: Page, email: string): Promise<void> {
  const body = { email, password: PASSWORD, origin: 'dashboard' }
  const status = await page.evaluate(
    `fetch('/api/next/auth/login/manager', { method: 'POST', headers: { 'content-type': 'application/json' },
      body: ${JSON.stringify(JSON.stringify(body))} }).then((answer) => answer.status)`,
  )
  assert.equal(status, 200)
}

/** Asks for the secret of the webhooks with a second factor that is too old. */
async function askForSecret(page: Page): Promise<void> {
  await world.shop.host.db.run(sql`update sessions set second_factor_at = now() - interval '6 minutes'`)
  // a node believes what it read of a session for a moment
  await new Promise((resolve) => setTimeout(resolve, 5500))
  await page.locator('#content').getByRole('button', { name: 'Show the secret', exact: true }).click()
}

test('a login that is begun in another tab does not take the code of an action in this one', async () => {
  const { email } = world.people.Manager
  const { page, context } = await enter('/webhooks')
  const tab = await context.newPage()
  await tab.goto(`${base()}/app/login`)
  const codes = await countCodes(base(), email)
  await beginLogin(tab, email)
  await nextCode(base(), email, codes)
  const before = codes + 1
  await askForSecret(page)
  await page.getByRole('button', { name: 'Send me a code by email' }).click()
  await page.getByLabel('Code from your email').fill(await nextCode(base(), email, before))
  await page.getByRole('button', { name: 'Confirm', exact: true }).click()
  await page.getByText(/^whsec_/).waitFor()
  const cookies = await context.cookies(`${base()}/api/next/auth/otp`)
  assert.ok(
    cookies.some(({ name }) => name === 'otpValidationToken'),
    'the login of the other tab goes on',
  )
  await context.close()
})

test('a code asked again within a minute is not said to be sent: the newest one is to be used', async () => {
  const { email } = world.people.Manager
  const { page, context } = await enter('/webhooks')
  await askForSecret(page)
  const codes = await countCodes(base(), email)
  await page.getByRole('button', { name: 'Send me a code by email' }).click()
  const said = page.getByText(`Use the newest code we sent to ${email}.`)
  await said.first().waitFor()
  await nextCode(base(), email, codes)
  await page.getByRole('button', { name: 'Send a new code' }).click()
  await said.nth(1).waitFor()
  assert.equal(await countCodes(base(), email), codes + 1, 'nothing more was sent')
  assert.equal(await page.getByText('We sent a code').count(), 0)
  await context.close()
})

test('saving one form of the company leaves alone what was typed into the form beside it', async () => {
  const { page, leave } = await enter('/shop')
  const left = page.locator('form', { has: page.locator('input[name=siret]') })
  const right = page.locator('form', { has: page.locator('input[name=displayName]') })
  const save = async (form: typeof left): Promise<void> => {
    const reread = page.waitForResponse(
      (answer) => /companies\/\w+$/.test(answer.url()) && answer.request().method() === 'GET',
    )
    await form.getByRole('button', { name: 'Save' }).click()
    await reread
    // what was read again is shown
    await page.waitForTimeout(300)
  }
  await right.locator('input[name=displayName]').fill('Typed and not saved')
  await left.locator('input[name=siret]').fill('12345678901234')
  await save(left)
  assert.equal(await right.locator('input[name=displayName]').inputValue(), 'Typed and not saved')
  await left.locator('input[name=name]').fill('Half a name')
  await save(right)
  assert.equal(await left.locator('input[name=name]').inputValue(), 'Half a name')
  assert.equal(await right.locator('input[name=displayName]').inputValue(), 'Typed and not saved')
  await leave()
})

test('the address of a backup is confirmed by saying so, not by saving the form that shows it', async () => {
  const { db } = world.shop.host
  const address = `0x${'a'.repeat(40)}`
  const { id: companyId } = await db.one<{ id: string }>(sql`
    update companies set settlement_address = ${address}, settlement_network = 31337, settlement_set_by = 'restore'
    where id = (select company_id from users where id = ${world.people.Manager.id}) returning id`)
  const find = () =>
    db.one<{ vat: string | null; by: string | null }>(
      sql`select vat_number as vat, settlement_set_by as by from companies where id = ${companyId}`,
    )
  const { page, leave } = await enter('/shop')
  await db.run(sql`update sessions set second_factor_at = now()`)
  const form = page.locator('form', { has: page.locator('input[name=vatNumber]') })
  const save = async (): Promise<void> => {
    const answered = page.waitForResponse((answer) => answer.request().method() === 'PUT')
    await form.getByRole('button', { name: 'Save' }).click()
    assert.equal((await answered).status(), 200)
  }
  await form.locator('input[name=vatNumber]').fill('DE136695976')
  await save()
  assert.deepEqual(await find(), { vat: 'DE136695976', by: 'restore' })
  await form.getByLabel('This address is right').check()
  await save()
  assert.notEqual((await find()).by, 'restore')
  await form.getByLabel('This address is right').waitFor({ state: 'detached' })
  await leave()
})

test('a field that the service refuses is explained in the language of the reader', async () => {
  const { page, leave } = await enter()
  await page.goto(`${base()}/app/shop?lang=de`)
  // good enough for the browser, not for a mail
  await page.locator('input[name=supportEmail]').fill('help@shop')
  const form = page.locator('form', { has: page.locator('input[name=supportEmail]') })
  await form.locator('button[type=submit]').click()
  await form.getByRole('alert').getByText('muss eine E-Mail-Adresse sein').waitFor()
  await leave()
})

test('a payment that is too small is not to be waited for once its order has ended', async () => {
  const { db } = world.shop.host
  const { page, leave } = await enter('/mispayments')
  await page.getByText('wait for the rest').first().waitFor()
  for (const status of ['EXPIRED', 'CANCELLED']) {
    await db.run(sql`update orders set status = ${status} where code = ${world.orders.under}`)
    await page.reload()
    await page.getByText('less than the order asks for, and the order has ended').waitFor()
    assert.equal(await page.getByText('wait for the rest').count(), 0)
  }
  await leave()
})

test('a sign-out that the service does not confirm says so, lets nobody back in, and is sent until it is confirmed', async () => {
  const { email } = world.people.Manager
  const { page, context } = await enterOffice(browser, base(), { email, freshLogin: true })
  let isSilent = true
  await context.route('**/auth/sign-out', (route) => (isSilent ? route.abort() : route.continue()))
  const signOut = () => page.getByRole('button', { name: 'Sign out' }).first().click()
  const hasSession = async (): Promise<boolean> =>
    (await context.cookies(`${base()}/api/next/auth/refresh-token`)).some(({ name }) => name.startsWith('refreshToken'))
  const unconfirmed = 'the service has not confirmed it: your session there may still be valid'
  await signOut()
  await page.getByText(unconfirmed).waitFor()
  await page.reload()
  const tab = await context.newPage()
  await tab.goto(`${base()}/app/orders`)
  for (const one of [page, tab]) {
    await one.getByText(unconfirmed).waitFor()
    await one.getByLabel('Password', { exact: true }).waitFor()
  }
  assert.equal(await hasSession(), true, 'the cookie would still open one')
  isSilent = false
  for (const one of [page, tab]) await one.getByText(unconfirmed).waitFor({ state: 'detached' })
  assert.equal(await hasSession(), false)
  await page.reload()
  await logInOnPage(page, base(), email)
  isSilent = true
  await signOut()
  await page.getByText(unconfirmed).waitFor()
  await logInOnPage(page, base(), email)
  isSilent = false
  await page.locator('#content h1').first().waitFor()
  await page.evaluate("dispatchEvent(new Event('online'))")
  await page.reload()
  await page.locator('#content h1').first().waitFor()
  assert.equal(await hasSession(), true, 'a new session is not ended for the one before')
  await context.close()
})

test('what is shown as the channel is accepted, also when the list comes again in another order', async () => {
  const { page, leave } = await enter(`/orders/${world.orders.open}`)
  const names = ['binance', 'gatepay']
  await page.route('**/api/next/channels?*', async (route) => {
    const answer = await route.fetch()
    const { data, ...rest } = (await answer.json()) as { data: object[] }
    const offers = names.map((paymentChannel) => ({ ...data[0], paymentChannel, networks: [], available: true }))
    await route.fulfill({ response: answer, json: { ...rest, data: offers } })
  })
  const sent: unknown[] = []
  await page.route('**/confirm_conversion/accept/*', (route) => {
    sent.push(route.request().postDataJSON())
    return route.abort()
  })
  await page.getByRole('button', { name: 'Choose the channel for the customer' }).click()
  const channel = page.getByRole('dialog').getByLabel('Channel')
  await channel.waitFor()
  assert.equal(await channel.inputValue(), 'binance')
  names.reverse()
  // until then the list counts as fresh
  await page.waitForTimeout(2100)
  const again = page.waitForResponse('**/api/next/channels?*')
  await page.evaluate("dispatchEvent(new Event('visibilitychange'))")
  await again
  await channel.locator('option').first().filter({ hasText: 'Gate' }).waitFor({ state: 'attached' })
  assert.equal(await channel.inputValue(), 'binance')
  await page.getByRole('dialog').getByRole('button', { name: 'Choose the channel for the customer' }).click()
  await page.getByRole('dialog').getByRole('alert').first().waitFor()
  assert.deepEqual(sent, [{ paymentChannel: 'binance' }])
  await leave()
})

test('a cleared filter is gone from its field, too, and a long text stays in the search as it was typed', async () => {
  const { email } = world.people.SuperAdmin
  const { page, leave } = await enterOffice(browser, base(), { email, path: '/orders?managerEmail=no@shop.example' })
  await page.locator('summary').filter({ hasText: 'Filters' }).click()
  const manager = page.getByLabel('Email of the manager')
  const clear = page.locator('details').getByRole('button', { name: 'Clear filters' })
  assert.equal(await manager.inputValue(), 'no@shop.example')
  const isClear = async (): Promise<void> => {
    await page.waitForURL(({ searchParams }) => !searchParams.has('managerEmail'))
    assert.equal(await manager.inputValue(), '')
    await manager.focus()
    await manager.blur()
    await page.waitForTimeout(50)
    assert.equal(new URL(page.url()).searchParams.has('managerEmail'), false, 'it does not set itself again')
  }
  await clear.click()
  await isClear()
  await manager.fill('typed@shop.example')
  await clear.click()
  await isClear()
  await manager.fill('typed@shop.example')
  await manager.press('Enter')
  await page.waitForURL(({ searchParams }) => searchParams.get('managerEmail') === 'typed@shop.example')
  const box = page.getByRole('searchbox')
  for (const length of [99, 104]) {
    await box.fill('x'.repeat(length))
    await page.waitForURL(({ searchParams }) => searchParams.get('search') === 'x'.repeat(Math.min(length, 100)))
  }
  await page.waitForTimeout(50)
  assert.equal((await box.inputValue()).length, 104)
  await goTo(page, '/people?search=zzz')
  assert.equal(await box.inputValue(), 'zzz')
  await box.press('End')
  await box.pressSequentially(' z')
  await page.waitForURL(({ searchParams }) => searchParams.get('search') === 'zzz z')
  assert.equal(await box.inputValue(), 'zzz z')
  await goTo(page, '/people')
  assert.equal(await box.inputValue(), '')
  await leave()
})
