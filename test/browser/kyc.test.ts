import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { sql } from '../../src/db/db.ts'
import { newId } from '../../src/kernel/ids.ts'
import type { Lang } from '../../src/kernel/lang.ts'
import { TEXTS } from '../../src/texts/languages.ts'
import { listAxeFaults } from '../harness/axe.ts'
import { startBrowser, type Visit, visit } from '../harness/browser.ts'
import { type KycWorld, newPayer, openKycWorld } from '../harness/kyc-world.ts'
import { eventually } from '../harness/service.ts'
import { codeIn, heardBy, payFrame, type ShopPage, startShopPage } from '../harness/shop-page.ts'

let world: KycWorld
let browser: Browser
let shop: ShopPage

before(async () => {
  ;[world, browser] = await Promise.all([openKycWorld(), startBrowser()])
  shop = await startShopPage(world.host.baseUrl)
})
after(async () => {
  await browser?.close()
  await shop?.stop()
  await world?.stop()
})

const setUp = async (settings: Record<string, string | null>): Promise<void> => {
  const answer = await world.admin.call('PUT', `companies/${world.boss.companyId}`, settings)
  assert.equal(answer.status, 200, answer.text)
}
const NO_CHECK = { kycThreshold: null, identityThresholdAmount: '1000' }
const CHECK = { kycThreshold: '1000', identityThresholdAmount: '1000' }

const openPay = (code: string, options?: Parameters<typeof visit>[2]): Promise<Visit> =>
  visit(browser, `${world.host.config.payUrl}/pay?code=${code}`, options)
const reaches = (page: Page, words: string) => page.locator('h2', { hasText: words }).waitFor({ timeout: 15_000 })
const next = (page: Page) => page.getByRole('button', { name: 'Continue' }).click()

/** Pictures for a person, where one asks for them. */
async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env.PICTURES
  if (folder === undefined) return
  mkdirSync(folder, { recursive: true })
  await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true })
}

test('who pays is asked before a way to pay is chosen, with the fault beside its field, and saved', async () => {
  await setUp(NO_CHECK)
  const code = await world.createOrder('1500')
  const { page, context, complaints } = await openPay(code)
  await reaches(page, 'Who is paying?')
  await picture(page, 'identity-form')
  await page.getByLabel('First name').fill('Ada')
  await next(page)
  assert.equal(await page.getByLabel('Email').getAttribute('aria-invalid'), 'true')
  assert.equal(await page.locator('#email-fault').textContent(), 'Enter your email address.')
  assert.match((await page.getByLabel('Email').getAttribute('aria-describedby')) ?? '', /email-fault/)
  assert.equal(await page.getByLabel('First name').inputValue(), 'Ada', 'what was typed is still there')
  assert.equal(await page.getByLabel('First name').getAttribute('aria-invalid'), null)
  assert.match((await page.locator('#lastName-fault').textContent()) ?? '', /last name/)
  await picture(page, 'identity-faults')
  await page.getByRole('button', { name: 'Deutsch' }).click()
  assert.equal(await page.getByLabel('Vorname').inputValue(), 'Ada')
  assert.equal(await page.locator('#email-fault').textContent(), TEXTS.de.identity.faults.emailMissing)
  await page.goBack()
  assert.equal(await page.locator('#email-fault').textContent(), 'Enter your email address.', 'Back shows it again')
  await page.getByLabel('Email').fill('ada@nowhere')
  await page.getByLabel('Last name').fill('<b>Lovelace')
  await next(page)
  assert.match((await page.locator('#email-fault').textContent()) ?? '', /email address is incomplete/)
  await page.getByLabel('Email').fill('ada@example.org')
  await next(page)
  await reaches(page, 'Waiting for your payment')
  assert.deepEqual(complaints, [])
  const saved = await world.boss.client.get(`confirm_conversion/payer-information/${code}`)
  assert.deepEqual(saved.data, { firstName: 'Ada', lastName: '<b>Lovelace', email: 'ada@example.org' })
  await context.close()
})

test('a company’s name is enough, also without JavaScript; what the shop knows already is not asked again', async () => {
  await setUp(NO_CHECK)
  const code = await world.createOrder('1500')
  await world.boss.client.post(`confirm_conversion/email/${code}`, { email: 'known@example.org' })
  const { page, context } = await openPay(code, { javaScriptEnabled: false })
  assert.equal(await page.getByLabel('Email').count(), 0)
  await page.getByLabel('Company name').fill('Zoë SA')
  await next(page)
  await page.getByRole('button', { name: 'Pay with USDC from your wallet' }).click()
  await reaches(page, 'Waiting for your payment')
  const saved = await world.boss.client.get(`confirm_conversion/payer-information/${code}`)
  assert.deepEqual(saved.data, { email: 'known@example.org', isCompany: true, companyName: 'Zoë SA' })
  await context.close()
})

test('small and anonymous orders are not asked; news of the order leaves what was typed', async () => {
  await setUp(NO_CHECK)
  for (const [euro, anonymous] of [
    ['999', false],
    ['1500', true],
  ] as const) {
    const { page, context } = await openPay(await world.createOrder(euro, { anonymous }))
    await reaches(page, 'Waiting for your payment')
    await context.close()
  }
  const code = await world.createOrder('1500')
  const { page, context } = await openPay(code)
  await page.getByLabel('Last name').fill('Lovelace')
  await page.evaluate('document.getElementById("live").firstElementChild.dataset.old = "1"')
  await world.host.db.run(sql`update orders set version = version + 1 where code = ${code}`)
  await page.locator('#live > div:not([data-old])').waitFor()
  assert.equal(await page.getByLabel('Last name').inputValue(), 'Lovelace')
  await context.close()
})

test('from the form over the check in the provider’s frame to the payment', async () => {
  await setUp(CHECK)
  const code = await world.createOrder('1500')
  const { page, context, complaints } = await openPay(code)
  await page.getByLabel('Email').fill(newPayer())
  await page.getByLabel('First name').fill('Ada')
  await page.getByLabel('Last name').fill('Lovelace')
  await next(page)
  await reaches(page, 'Your identity needs to be checked')
  assert.match(page.url(), /\/kyc\?code=/)
  const frame = page.frameLocator('#sdk iframe')
  await frame.getByRole('button', { name: 'My photo is too dark' }).waitFor()
  assert.deepEqual(await listAxeFaults(page), [])
  await picture(page, 'kyc-check')
  await frame.getByRole('button', { name: 'My photo is too dark' }).click()
  await page.getByText('take it again by daylight').waitFor({ timeout: 15_000 })
  await picture(page, 'kyc-retry')
  await frame.getByRole('button', { name: 'My documents are valid' }).click()
  await reaches(page, 'Your identity is confirmed')
  assert.deepEqual(await listAxeFaults(page), [])
  await picture(page, 'kyc-approved')
  await page.getByRole('link', { name: 'Continue to the payment' }).click()
  await reaches(page, 'Waiting for your payment')
  assert.deepEqual(complaints, [])
  await context.close()
})

/** A payer of a button in the shop's page, as far as the way out of its frame to the check. */
async function reachWayOut() {
  await setUp(CHECK)
  const button = newId()
  await world.host.db.run(sql`
    insert into buy_buttons (id, company_id, name, website_url, website_origin, price, currency, page_price)
    values (${button}, ${world.boss.companyId}, 'Tea', ${`${shop.origin}/`}, ${shop.origin}, '1500.00', 'EUR', false)`)
  shop.show(`<script src="${world.host.baseUrl}/sdk.js" async></script><button data-comptoir="${button}">Pay</button>`)
  const opened = await visit(browser, shop.origin)
  const { page } = opened
  await page.getByRole('button', { name: 'Pay' }).click()
  const code = await codeIn(page)
  const framed = page.frameLocator('dialog iframe')
  await framed.getByLabel('Email').fill(newPayer())
  await framed.getByLabel('First name').fill('Ada')
  await framed.getByLabel('Last name').fill('Lovelace')
  await framed.getByRole('button', { name: 'Continue' }).click()
  const link = framed.getByRole('link', { name: 'Open the page' })
  await link.waitFor()
  const hears = (state: string) =>
    eventually(
      () => heardBy(page),
      (list) => list.some(([, said]) => said.type === 'comptoir:state' && said.state === state),
    )
  return { ...opened, code, link, hears }
}

/** Another window of the browser, where the payer goes through the check. */
async function leave({ context, link }: Awaited<ReturnType<typeof reachWayOut>>): Promise<Page> {
  const [check] = await Promise.all([context.waitForEvent('page'), link.click()])
  return check
}

test('a shop’s frame leads out to the check, keeps the way while it is open, and goes on by itself once it is passed', async () => {
  const payer = await reachWayOut()
  const { page, context, code, link, hears, complaints } = payer
  await (await payFrame(page)).evaluate('location.reload()')
  await link.waitFor()
  assert.deepEqual(await listAxeFaults(page), [])
  await picture(page, 'kyc-way-out')
  await (await payFrame(page)).evaluate('window.isStill = true')
  const check = await leave(payer)
  const asked = () => page.waitForResponse((answer) => answer.url().includes('/pay?'), { timeout: 15_000 })
  await asked()
  assert.equal(await (await payFrame(page)).evaluate('window.isStill'), true, 'nothing moves before it is decided')
  await page.evaluate('window.heard.length = 0')
  await check.frameLocator('#sdk iframe').getByRole('button', { name: 'My documents are valid' }).click()
  await reaches(check, 'Your identity is confirmed')
  await hears('waiting')
  await world.host.db.run(
    sql`update orders set status = 'PAID', paid_at = now(), version = version + 1 where code = ${code}`,
  )
  await hears('paid')
  assert.deepEqual(complaints, [])
  await context.close()
})

test('a check that is refused, and an order that ends meanwhile, are seen in the shop’s frame', async () => {
  const payer = await reachWayOut()
  const { page, context, code, link, hears } = payer
  await hears('choose')
  const { id } = await world.host.db.one<{ id: string }>(sql`
    select k.kyc_id as id from kyc_orders k join orders o on o.id = k.order_id where o.code = ${code}`)
  await world.host.db.run(sql`update kyc_records set status = 'refused', version = version + 1 where id = ${id}`)
  await page.waitForResponse((answer) => answer.url().includes('/pay?'), { timeout: 15_000 })
  const check = await leave(payer)
  await reaches(check, 'We could not confirm your identity')
  assert.equal(await link.isVisible(), true)
  assert.equal((await world.boss.client.post(`confirm_conversion/cancel/${code}`)).status, 200)
  await hears('cancelled')
  await context.close()
})

test('an order that ends leaves the payer in the middle of the check; what comes after it says what to do', async () => {
  await setUp(CHECK)
  const code = await world.createOrder('1500', { anonymous: true })
  const { url } = await world.ask(code, newPayer())
  const { page, context } = await visit(browser, url)
  const valid = page.frameLocator('#sdk iframe').getByRole('button', { name: 'My documents are valid' })
  await valid.waitFor()
  await page.evaluate('window.isStill = true')
  const ended = await world.boss.client.post(`confirm_conversion/expire/${code}`)
  assert.equal(ended.status, 200, ended.text)
  for (let looks = 0; looks < 2; looks += 1) await page.waitForResponse((answer) => answer.url() === page.url())
  await page.evaluate('new Promise((resolve) => setTimeout(resolve, 500))')
  assert.equal(await page.evaluate('window.isStill'), true)
  await valid.click()
  await reaches(page, 'Your identity is confirmed')
  await page.getByText('The time to pay for this order has run out. Start again at').waitFor()
  await context.close()
})

test('a provider that cannot be reached is said so, and a second try works', async () => {
  await setUp(CHECK)
  const { url } = await world.ask(await world.createOrder('1500', { anonymous: true }), newPayer())
  const { page, context } = await visit(browser, 'about:blank')
  await page.route('**/sdk.js', (route) => route.abort())
  await page.goto(url)
  await page.getByText('The check could not be loaded').waitFor()
  await page.unroute('**/sdk.js')
  await page.route('**/kyc/session', (route) => route.fulfill({ status: 502, body: '{}' }))
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByText('The check could not be loaded').waitFor()
  await picture(page, 'kyc-failed')
  await page.unroute('**/kyc/session')
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.frameLocator('#sdk iframe').getByRole('button', { name: 'My documents are valid' }).waitFor()
  assert.equal(await page.locator('#failed').isVisible(), false)
  assert.equal(await page.locator('#loading').isVisible(), false)
  await context.close()
})

test('without JavaScript the page says what is needed', async () => {
  await setUp(CHECK)
  const { url } = await world.ask(await world.createOrder('1500', { anonymous: true }), newPayer())
  const { page, context } = await visit(browser, url, { javaScriptEnabled: false })
  assert.equal(await page.getByText('The check needs JavaScript and a camera').isVisible(), true)
  await context.close()
})

const TITLES = {
  en: 'Your identity needs to be checked',
  fr: 'Votre identité doit être vérifiée',
  de: 'Ihre Identität muss geprüft werden',
  es: 'Hay que comprobar su identidad',
  it: 'La sua identità deve essere verificata',
}

test('form and check are without fault for axe in both colour schemes and fit 320 pixels; the check speaks five languages', async () => {
  await setUp(CHECK)
  const code = await world.createOrder('1500', { anonymous: true })
  const { url } = await world.ask(code, newPayer())
  const form = `${world.host.config.payUrl}/pay?code=${await world.createOrder('1500')}`
  const narrow = { viewport: { width: 320, height: 640 } }
  for (const [locale, words] of Object.entries(TITLES)) {
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const [address, heading] of [
        [url, words],
        [form, TEXTS[locale.slice(0, 2) as Lang].identity.title],
      ] as const) {
        const { page, context } = await visit(browser, address, { ...narrow, colorScheme, locale })
        await reaches(page, heading)
        assert.deepEqual(await listAxeFaults(page), [], `${heading} ${locale} ${colorScheme}`)
        assert.equal(
          await page.evaluate('document.documentElement.scrollWidth'),
          320,
          `${heading}: no sideways scrolling`,
        )
        if (locale === 'de' && colorScheme === 'dark') await picture(page, `narrow-${heading.slice(0, 4)}`)
        await context.close()
      }
    }
  }
})
