import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { sql } from '../../src/db/db.ts'
import { listAxeFaults } from '../harness/axe.ts'
import { startBrowser, visit } from '../harness/browser.ts'
import { type Market, openMarket } from '../harness/market.ts'
import { readQr } from '../harness/read-qr.ts'

let market: Market
let browser: Browser

before(async () => {
  ;[market, browser] = await Promise.all([openMarket(), startBrowser()])
})
after(async () => {
  await browser?.close()
  await market?.stop()
})

const DESK: BrowserContextOptions = {
  viewport: { width: 1100, height: 900 },
  isMobile: false,
  hasTouch: false,
  deviceScaleFactor: 1,
}

const pageOf = (code: string): string => `${market.host.config.payUrl}/pay?code=${code}`

async function waitForState(page: Page, words: string): Promise<void> {
  await page.locator('#live h2', { hasText: words }).waitFor({ timeout: 15_000 })
}

test('at a desk: choose an exchange, scan its code, and see the page turn to paid', async () => {
  const order = await market.create()
  const { page, context, complaints } = await visit(browser, pageOf(order.code), DESK)
  await page.getByRole('button', { name: 'Binance Pay' }).click()
  await waitForState(page, 'Waiting for your payment')
  const { data } = await market.accept(order.code, 'binance')
  assert.equal(await readQr(page.locator('.frame.only')), data.qrData)
  assert.equal(await page.getByRole('link', { name: 'Continue at Binance Pay' }).isVisible(), true)
  assert.equal(await page.getByRole('link', { name: 'Open the Binance Pay app' }).isVisible(), false)
  assert.deepEqual(await listAxeFaults(page), [])
  await market.act(data.providerReference, 'pay')
  await waitForState(page, 'Paid')
  assert.deepEqual(complaints, [])
  await context.close()
})

test('with letters of twice the size on a phone, a way to pay is words, not a column of letters', async () => {
  const { code } = await market.create()
  const { page, context } = await visit(browser, `${pageOf(code)}&lang=fr`, { viewport: { width: 390, height: 800 } })
  await page.evaluate("document.documentElement.style.fontSize = '200%'")
  const widths = await page.evaluate<number[]>(
    "[...document.querySelectorAll('.choice b')].map((name) => Math.round(name.getBoundingClientRect().width))",
  )
  assert.ok(widths.length > 1)
  assert.deepEqual(
    widths.filter((width) => width < 130),
    [],
  )
  await context.close()
})

test('a provider whose one link is a web page has a button that leads there, once, at a desk and on a phone', async () => {
  const order = await market.create()
  const { data } = await market.accept(order.code, 'whitepay')
  for (const device of [DESK, {}]) {
    const { page, context } = await visit(browser, pageOf(order.code), device)
    await waitForState(page, 'Waiting for your payment')
    const links = page.locator('.provider a.button')
    assert.deepEqual(await links.allTextContents(), ['Continue at Whitepay'])
    assert.equal(await links.isVisible(), true)
    assert.equal(await links.getAttribute('href'), data.checkoutUrl)
    await context.close()
  }
})

test('Coinbase’s links open once: each press of the button leads there, also after coming back, also without a script', async () => {
  for (const javaScriptEnabled of [true, false]) {
    const order = await market.create()
    const { data } = await market.accept(order.code, 'coinbase')
    const { page, context, complaints } = await visit(browser, pageOf(order.code), { ...DESK, javaScriptEnabled })
    for (const time of ['first', 'second']) {
      await page.getByRole('button', { name: 'Continue at Coinbase' }).click()
      await page.waitForURL(`${market.providers.url}/payments/${data.providerReference}`)
      await page.goBack()
      assert.equal(page.url(), pageOf(order.code), time)
    }
    assert.deepEqual(complaints, [])
    await context.close()
  }
})

test('on a phone: the app opens by a link, and the code is behind a switch for whoever has a second phone', async () => {
  const order = await market.create()
  const { page, context } = await visit(browser, pageOf(order.code))
  await page.getByRole('button', { name: 'Binance Pay' }).click()
  await waitForState(page, 'Waiting for your payment')
  const { data } = await market.accept(order.code, 'binance')
  const app = page.getByRole('link', { name: 'Open the Binance Pay app' })
  assert.equal(await app.getAttribute('href'), data.deepLink)
  assert.equal(await app.isVisible(), true)
  assert.equal(await page.locator('.frame.only').isVisible(), false)
  assert.deepEqual(await listAxeFaults(page), [])
  const addresses = await page
    .locator('#live a.button')
    .evaluateAll((links) => links.map((one) => one.getAttribute('href')))
  assert.equal(new Set(addresses).size, addresses.length, 'no two buttons lead to the same place')
  await page.getByText('Show the code').click()
  assert.equal(await readQr(page.locator('.frame.only')), data.qrData)
  await context.close()
})

test('a payer changes his mind: the first exchange’s payment is closed, the second one’s pays', async () => {
  const order = await market.create()
  const { page, context } = await visit(browser, pageOf(order.code))
  await page.getByRole('button', { name: 'Gate Pay' }).click()
  await waitForState(page, 'Waiting for your payment')
  await page.getByText('Pay another way').click()
  await page.getByRole('button', { name: 'KuCoin Pay' }).click()
  await page.locator('a[href*="kpt_"]').first().waitFor()
  const [second, first] = await market.paymentsOf(order._id)
  assert.deepEqual([first?.provider, second?.provider], ['gatepay', 'kucoinpay'])
  await market.act(second?.reference ?? '', 'pay')
  await waitForState(page, 'Paid')
  await page.waitForTimeout(1500)
  const states = (await market.paymentsOf(order._id)).map(({ provider, state }) => `${provider} ${state}`)
  assert.deepEqual(states, ['kucoinpay paid', 'gatepay closed'])
  await context.close()
})

test('a provider that does not answer: the payer is told, nothing is lost, and another way is open', async () => {
  const order = await market.create()
  const { page, context } = await visit(browser, pageOf(order.code))
  await market.tell('outage', { provider: 'gatepay', seconds: 2 })
  await page.getByRole('button', { name: 'Gate Pay' }).click()
  await waitForState(page, 'The payment provider does not answer')
  assert.equal(await page.getByRole('alert').first().isVisible(), false, 'the page goes on by itself: no “try again”')
  await page.getByText('Pay another way').click()
  await page.getByRole('button', { name: 'Binance Pay' }).click()
  await waitForState(page, 'Waiting for your payment')
  await context.close()
})

test('a page that is open says so once the provider has been silent for 15 seconds', async () => {
  const order = await market.create()
  await market.tell('outage', { provider: 'gatepay', seconds: 20 })
  assert.equal((await market.accept(order.code, 'gatepay')).status, 502)
  await market.host.db.run(sql`
    update payments set opened_at = opened_at - interval '9 seconds' where order_id = ${order._id}`)
  const { page, context } = await visit(browser, pageOf(order.code))
  await waitForState(page, 'Preparing your payment')
  await waitForState(page, 'The payment provider does not answer')
  await context.close()
})
