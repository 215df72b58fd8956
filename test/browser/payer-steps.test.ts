import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { privateKeyToAddress } from 'viem/accounts'
import { mint } from '../../sandbox/chain/token.ts'
import { sql } from '../../src/db/db.ts'
import { newId } from '../../src/kernel/ids.ts'
import { LANGS } from '../../src/kernel/lang.ts'
import { TEXTS } from '../../src/texts/languages.ts'
import { listAxeFaults } from '../harness/axe.ts'
import { startBrowser, visit } from '../harness/browser.ts'
import { openWalletPage } from '../harness/injected-wallet.ts'
import { type PayWorld, startPayWorld } from '../harness/pay-world.ts'
import { eventually } from '../harness/service.ts'
import { codeIn, payFrame, payIn, type ShopPage, startShopPage } from '../harness/shop-page.ts'

/* From one page of a payer to the next: back to the shop, into another language, inside the frame of a shop. */

let world: PayWorld
let shop: ShopPage
let browser: Browser
before(async () => {
  ;[world, browser] = await Promise.all([startPayWorld(), startBrowser()])
  shop = await startShopPage(world.host.baseUrl)
})
after(async () => {
  await browser?.close()
  await shop?.stop()
  await world?.stop()
})

const thanks = (): string => `${shop.origin}/thanks?order=1`

/** A page that is open while its order is paid. */
async function openPaid(lang = 'en', javaScriptEnabled = true) {
  const { code, toAddress } = await world.createAccepted({ returnUrl: thanks() })
  const seen = await visit(browser, `${world.pageUrl(code)}&lang=${lang}`, { javaScriptEnabled })
  await world.chain.pay({ to: toAddress, units: 58_320_000n })
  await world.chain.mine(3)
  await seen.page.locator('[data-state=paid]').waitFor({ timeout: 20_000 })
  return { code, ...seen }
}

const countdown = (page: Page) => page.locator('#return')
const secondsOf = async (page: Page): Promise<number> => Number(await page.locator('#seconds').textContent())

test('a paid page counts eight seconds down, in every language, says it aloud once, and leads back to the shop', async () => {
  for (const lang of LANGS) {
    const { page, context, complaints } = await openPaid(lang)
    const { returnIn, returnSay, stay } = TEXTS[lang].pay
    await countdown(page).getByText(returnIn('6')).waitFor()
    const aloud = `${TEXTS[lang].order.situations.paid.title}. ${returnSay('8')}`
    assert.equal(await page.locator('#say').textContent(), aloud)
    assert.equal(await countdown(page).getByRole('timer').getAttribute('aria-live'), 'off')
    assert.equal(await countdown(page).getByRole('button', { name: stay }).isVisible(), true)
    if (lang === 'en') {
      assert.deepEqual(await listAxeFaults(page), [])
      await page.waitForURL(thanks(), { timeout: 12_000 })
      await page.goBack()
      await page.locator('[data-state=paid]').waitFor()
      assert.equal(await countdown(page).isVisible(), false, 'whoever comes back stays')
    }
    assert.deepEqual(complaints, [])
    await context.close()
  }
})

test('the countdown ends for good with its button, and with anything that the payer does on the page', async () => {
  const acts: Record<string, (page: Page) => Promise<unknown>> = {
    button: (page) => page.getByRole('button', { name: 'Stay on this page' }).click(),
    receipt: (page) => page.locator('.facts').first().click(),
    key: (page) => page.keyboard.press('Tab'),
    assistant: (page) => page.evaluate("document.querySelector('#return button').click()"),
  }
  for (const [name, act] of Object.entries(acts)) {
    const { page, context } = await openPaid()
    await countdown(page).waitFor()
    await act(page)
    await countdown(page).waitFor({ state: 'hidden', timeout: 2000 })
    await page.reload()
    await page.locator('[data-state=paid]').waitFor()
    assert.equal(await countdown(page).isVisible(), false, name)
    if (name === 'button') await page.waitForTimeout(9500)
    assert.match(page.url(), /\/pay\?code=/, name)
    assert.equal(await page.getByRole('link', { name: 'Back to the shop' }).getAttribute('href'), thanks())
    await context.close()
  }
})

test('the button back to the shop stays where it is while it is pressed, and leads there', async () => {
  const { page, context } = await openPaid()
  await countdown(page).waitFor()
  const box = (await page.getByRole('link', { name: 'Back to the shop' }).boundingBox()) ?? { x: 0, y: 0 }
  await page.mouse.move(box.x + 20, box.y + 20)
  await page.mouse.down()
  await page.waitForTimeout(1500)
  assert.deepEqual(await page.getByRole('link', { name: 'Back to the shop' }).boundingBox(), box)
  await page.mouse.up()
  await page.waitForURL(thanks())
  await context.close()
})

test('the countdown waits while nobody sees the page', async () => {
  const { page, context } = await openPaid()
  await countdown(page).waitFor()
  await page.evaluate("Object.defineProperty(document, 'hidden', { get: () => true, configurable: true })")
  const before = await secondsOf(page)
  await page.waitForTimeout(3000)
  assert.ok(before - (await secondsOf(page)) <= 1)
  await context.close()
})

test('nothing counts without a script, for an order paid long ago, or where more came than its price', async () => {
  const { code, page, context } = await openPaid('en', false)
  assert.equal(await countdown(page).isVisible(), false)
  assert.equal(await page.getByRole('link', { name: 'Back to the shop' }).isVisible(), true)
  await context.close()
  await world.host.db.run(sql`update orders set paid_at = now() - interval '16 minutes' where code = ${code}`)
  const { toAddress, ...more } = await world.createAccepted({ returnUrl: thanks() })
  await world.chain.pay({ to: toAddress, units: 60_000_000n })
  await world.chain.mine(3)
  await world.reaches(more.code, 'PAID')
  for (const one of [code, more.code]) {
    const later = await visit(browser, world.pageUrl(one))
    assert.equal(await countdown(later.page).count(), 0)
    await later.context.close()
  }
})

async function addButton(): Promise<string> {
  const id = newId()
  await world.host.db.run(sql`
    insert into buy_buttons (id, company_id, name, website_url, website_origin, price, currency, page_price)
    values (${id}, ${world.merchant.companyId}, 'Tea', ${`${shop.origin}/`}, ${shop.origin}, '12.50', 'EUR', false)`)
  return id
}

test('in the frame of a shop nothing counts: the shop’s page decides what comes next', async () => {
  shop.show(
    `<script src="${world.host.baseUrl}/sdk.js" async></script><button data-comptoir="${await addButton()}">Pay</button>`,
  )
  const { page, context } = await visit(browser, shop.origin)
  await page.getByRole('button', { name: 'Pay' }).click()
  const code = await codeIn(page)
  await world.host.db.run(sql`update orders set return_url = ${thanks()} where code = ${code}`)
  const frame = await payFrame(page)
  await payIn(world, frame, code)
  await frame.locator('[data-state=paid]').waitFor()
  await frame.getByRole('link', { name: 'Back to the shop' }).waitFor()
  assert.equal(await frame.locator('#return').count(), 1)
  assert.equal(await frame.locator('#return').isVisible(), false)
  await context.close()
})

test('a frame that gets no cookies keeps its language through every step', async () => {
  const button = await addButton()
  const landing = await fetch(`${world.host.baseUrl}/buy-button/landing?id=${button}`, {
    method: 'POST',
    headers: { origin: world.host.baseUrl },
  })
  const code = /conversionCode&quot;:&quot;(\w+)/.exec(await landing.text())?.[1] ?? ''
  const { page, context } = await visit(browser, `${world.pageUrl(code)}&lang=de&embed=1`)
  await context.clearCookies()
  await page.locator('[data-state=waiting]').waitFor()
  await page.getByText('Bestellung stornieren').click()
  await context.clearCookies()
  await page.getByRole('button', { name: 'Ja, stornieren' }).click()
  await page.locator('[data-state=cancelled]').waitFor()
  assert.equal(await page.locator('html').getAttribute('lang'), 'de')
  assert.match(page.url(), /embed=1/)
  await context.close()
})

test('another language keeps what is typed about who pays, and no address holds it, with and without a script', async () => {
  for (const javaScriptEnabled of [true, false]) {
    const code = await world.createOrder({ amount: 1500 })
    const { page, context, requests, complaints } = await visit(browser, world.pageUrl(code), { javaScriptEnabled })
    await page.getByLabel('First name').fill('Maud')
    await page.getByLabel('Last name').fill('Léaud')
    await page.getByRole('button', { name: 'Français' }).click()
    await page.locator('html[lang=fr]').waitFor()
    assert.equal(await page.getByLabel('Prénom').inputValue(), 'Maud')
    assert.equal(await page.locator('#lastName').inputValue(), 'Léaud')
    assert.equal(await page.locator('.wrong').count(), 0, 'nothing is wrong with a form that is not sent')
    await page.locator('#email').fill('maud@')
    await page.getByRole('button', { name: 'Deutsch' }).click()
    await page.locator('html[lang=de]').waitFor()
    assert.deepEqual(await Promise.all(['#email', '#firstName'].map((field) => page.locator(field).inputValue())), [
      'maud@',
      'Maud',
    ])
    assert.doesNotMatch(requests.join('\n'), /Maud|maud|L%C3%A9aud/)
    assert.deepEqual(complaints, [])
    await context.close()
  }
})

test('once the form of who pays has left the page, the languages are links to the same page', async () => {
  const code = await world.createOrder({ amount: 1500 })
  const { page, context } = await visit(browser, world.pageUrl(code))
  await page.locator('#firstName').waitFor()
  await world.moveElsewhere(code, 'cancel')
  await page.locator('[data-state=cancelled]').waitFor({ timeout: 15_000 })
  await page.getByRole('button', { name: 'Français' }).click()
  await page.locator('html[lang=fr]').waitFor()
  assert.match(page.url(), new RegExp(`code=${code}&lang=fr`))
  await context.close()
})

/** As if what the page keeps were so much older. */
const shift = (page: Page, names: string, ms: number) =>
  page.evaluate(`for (const [name, text] of Object.entries(localStorage)) {
    const sent = JSON.parse(text)
    for (const one of ${names}) sent[one] -= ${ms}
    localStorage.setItem(name, JSON.stringify(sent))
  }`)

test('what was signed and is in no block yet is not paid again, in this tab or after a reload, until it has run out', async () => {
  const key = `0x${randomBytes(32).toString('hex')}` as const
  await mint(world.chain.call, privateKeyToAddress(key), 120_000_000n)
  const { page, context, owner, button, toAddress } = await openWalletPage(browser, world, key)
  const again = page.getByRole('button', { name: 'Pay again' })
  await button.click()
  await page.getByText('Waiting for Sandbox chain to include it in a block').waitFor()
  await eventually(
    () => world.host.db.many(sql`select 1 from chain_payouts where to_address = ${toAddress.toLowerCase()}`),
    ({ length }) => length === 1,
  )
  // the answer takes a while, and what the page stores then must not undo the next step
  await page.reload()
  await shift(page, "['at']", 181_000)
  await page.reload()
  const underWay = page.getByText(/still under way to Sandbox chain and can be charged until \d+:\d\d/)
  await underWay.waitFor()
  assert.deepEqual([await button.count(), await again.count()], [0, 0])
  assert.equal(await page.getByText('It failed in my wallet').count(), 0)
  // as on a device whose clock runs ahead
  await shift(page, "['until']", 86_400_000)
  await page.reload()
  await again.click()
  await button.click()
  await underWay.waitFor()
  assert.equal(owner.asked.filter((method) => method === 'eth_signTypedData_v4').length, 1, 'nothing more is signed')
  await world.chain.mine(4)
  await page.locator('[data-state=paid]').waitFor({ timeout: 20_000 })
  assert.equal(await world.chain.balanceOf(toAddress), 58_320_000n)
  await context.close()
})

test('a smart account whose bundle is in a block without the transfer: the payer is told, and may pay again', async () => {
  const { page, context, owner, button, toAddress } = await openWalletPage(browser, world)
  // as a bundle whose inner call failed: the wallet's transaction succeeds with a log, and moves nothing
  const approval = `0x095ea7b3${'1'.repeat(40).padStart(64, '0')}${'0'.repeat(64)}`
  await page.evaluate(`(() => {
    const request = async ({ method, params = [] }) => {
      const inner = method === 'eth_sendTransaction' ? [{ ...params[0], data: '${approval}' }] : params
      const { result, error } = await window.askWallet(method, inner)
      if (error) throw Object.assign(new Error(error.message), error)
      return result
    }
    const info = { uuid: 'smart', name: 'Smart Wallet', icon: '' }
    dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail: { info, provider: { request } } }))
  })()`)
  await page.getByRole('button', { name: 'Pay with Smart Wallet' }).click()
  await page.getByText('Waiting for Sandbox chain to include it in a block').waitFor()
  await world.chain.mine()
  await page.getByText('your payment has not reached this order. Do not pay again unless').waitFor()
  const retry = page.getByRole('button', { name: 'It failed in my wallet: pay again' })
  assert.deepEqual([await button.count(), await retry.count()], [0, 0])
  await shift(page, "['minedAt']", 181_000)
  await page.reload()
  await retry.click()
  await button.click()
  await page.getByText('Waiting for Sandbox chain to include it in a block').waitFor()
  await world.chain.mine(4)
  await page.locator('[data-state=paid]').waitFor({ timeout: 20_000 })
  assert.equal(await world.chain.balanceOf(toAddress), 58_320_000n)
  assert.equal(owner.asked.filter((method) => method === 'eth_sendTransaction').length, 2)
  await context.close()
})

test('what a wallet has sent is not forgotten when the order gets a fresh price at another address: the payer is asked first', async () => {
  const { page, context, owner, button, code, toAddress } = await openWalletPage(browser, world)
  const retry = page.getByRole('button', { name: 'It failed in my wallet: pay again' })
  await button.click()
  await page.getByText('Waiting for Sandbox chain to include it in a block').waitFor()
  const hash = await page.locator('#wallet .mono').textContent()
  await world.moveElsewhere(code, 'expire')
  await page.locator('[data-state=expired]').waitFor({ timeout: 15_000 })
  const body = { paymentChannel: 'crypto', requote: true }
  const { data } = await world.host.call<{ toAddress: string }>('POST', `accept/${code}`, { as: world.merchant, body })
  assert.notEqual(data.toAddress, toAddress)
  const isAsked = async (): Promise<void> => {
    await page.getByText('has not included your payment yet. Do not pay again').waitFor({ timeout: 15_000 })
    assert.equal(await page.locator('#wallet .mono').textContent(), hash)
    assert.deepEqual([await button.count(), await retry.count()], [0, 0])
  }
  // in the page that stayed open, and in one that opens now
  await isAsked()
  await page.reload()
  await isAsked()
  // once the chain is read past the three minutes
  await world.chain.call('anvil_dropAllTransactions')
  await world.chain.mine(1)
  await shift(page, "['sentAt']", 181_000)
  await page.reload()
  await retry.click({ timeout: 40_000 })
  await button.waitFor()
  assert.equal(owner.asked.filter((method) => method === 'eth_sendTransaction').length, 1)
  await context.close()
})
