import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { brotliCompressSync } from 'node:zlib'
import type { Browser } from 'playwright-core'
import { sql } from '../../src/db/db.ts'
import { newId } from '../../src/kernel/ids.ts'
import { startBrowser, visit } from '../harness/browser.ts'
import { type PayWorld, startPayWorld } from '../harness/pay-world.ts'
import { eventually } from '../harness/service.ts'
import { codeIn, heardBy, payFrame, payIn, type ShopPage, startShopPage } from '../harness/shop-page.ts'

/* The buy button in a page of another website, with the policy of a careful shop. */

let world: PayWorld
let shop: ShopPage
let stranger: ShopPage
let browser: Browser
let button: string
before(async () => {
  world = await startPayWorld()
  shop = await startShopPage(world.host.baseUrl)
  stranger = await startShopPage(world.host.baseUrl)
  browser = await startBrowser()
  button = await addButton(shop.origin)
})
after(async () => {
  await browser?.close()
  await shop?.stop()
  await stranger?.stop()
  await world?.stop()
})

async function addButton(origin: string, pagePrice = false): Promise<string> {
  const id = newId()
  await world.host.db.run(sql`
    insert into buy_buttons (id, company_id, name, website_url, website_origin, price, currency, page_price)
    values (${id}, ${world.merchant.companyId}, 'Tea', ${`${origin}/`}, ${origin}, '12.50', 'EUR', ${pagePrice})`)
  return id
}

const script = (more = ''): string => `<script src="${world.host.baseUrl}/sdk.js" async ${more}></script>`
const statusOf = async (code: string): Promise<string> =>
  (await world.host.call<{ status: string }>('GET', `status/${code}`)).data.status

test('the script is a few kB and any website may load it', async () => {
  const answer = await fetch(`${world.host.baseUrl}/sdk.js`)
  const text = await answer.text()
  assert.ok(brotliCompressSync(text).length < 5 * 1024, `${brotliCompressSync(text).length} bytes`)
  assert.equal(answer.headers.get('cross-origin-resource-policy'), 'cross-origin')
  assert.ok(!text.includes('__BASE__') && text.includes(world.host.baseUrl))
  const again = await fetch(`${world.host.baseUrl}/sdk.js`, {
    headers: { 'if-none-match': answer.headers.get('etag') ?? '' },
  })
  assert.equal(again.status, 304)
})

test('a modal: opens under a strict policy, pays, tells the shop’s page, and closes', async () => {
  shop.show(`${script()}<button id="buy" data-comptoir="${button}" data-comptoir-order-ref="MODAL-1">Pay</button>`)
  const { page, context, complaints } = await visit(browser, shop.origin)
  await page.evaluate(`window.told = []; for (const name of ['order', 'state', 'paid', 'closed'])
    addEventListener('comptoir:' + name, ({ detail }) => told.push([name, detail.state]))`)
  await page.getByRole('button', { name: 'Pay' }).click()
  const code = await codeIn(page)
  const frame = await payFrame(page)
  await frame.locator('.sandbox').waitFor()
  // the dialog covers the phone's screen and is drawn although the page allows no inline style
  const box = await page.locator('dialog iframe').boundingBox()
  assert.deepEqual([box?.width, box?.height], [390, 844])
  await payIn(world, frame, code)
  await frame.locator('[data-state=paid]').waitFor()
  const told = (await page.evaluate('window.told')) as [string, string | undefined][]
  assert.ok(
    told.some(([name, state]) => name === 'paid' && state === 'paid'),
    JSON.stringify(told),
  )
  // the states of a refund
  await frame.evaluate(`for (const state of ['refunding', 'refunded'])
    parent.postMessage({ type: 'comptoir:state', state }, '*')`)
  const after = (await eventually(
    () => page.evaluate('window.told'),
    (list) => (list as typeof told).some(([, state]) => state === 'refunded'),
  )) as typeof told
  assert.equal(after.filter(([name]) => name === 'paid').length, 1, JSON.stringify(after))
  await page.getByRole('button', { name: 'Close' }).click()
  assert.equal(await page.locator('dialog').count(), 0)
  assert.deepEqual(
    complaints.filter((text) => /policy|trusted|refused/i.test(text)),
    [],
  )
  const { reference } = await world.host.db.one<{ reference: string }>(sql`
    select s.order_ref as reference from orders o join button_sessions s on s.id = o.button_session_id
    where o.code = ${code}`)
  assert.equal(reference, 'MODAL-1')
  await context.close()
})

test('a reload leads back to the order, and so does the next click, even if the dialog is closed at once', async () => {
  const two = await addButton(shop.origin)
  // a second channel, so that the page asks first
  shop.show(`${script()}<button data-comptoir="${two}" data-comptoir-order-ref="RELOAD-1">Pay</button>`)
  const { page, context } = await visit(browser, shop.origin)
  await page.getByRole('button', { name: 'Pay' }).click()
  const code = await codeIn(page)
  await (await payFrame(page)).locator('[data-state=waiting]').waitFor()
  await page.reload()
  await page.getByRole('button', { name: 'Pay' }).click()
  assert.equal(await codeIn(page), code, 'the same order, not a second one')
  const { count } = await world.host.db.one<{ count: number }>(sql`
    select count(*)::int as count from button_sessions where order_ref = 'RELOAD-1'`)
  assert.equal(count, 1)
  // closed before the page inside has told that the order waits for money
  await page.reload()
  await page.evaluate(`addEventListener('message', ({ data }) => {
    if (data.conversionCode) document.querySelector('.comptoir-close').click()
  })`)
  for (const _ of ['closed', 'opened again']) {
    await page.evaluate('window.heard.length = 0')
    await page.getByRole('button', { name: 'Pay' }).click()
    assert.equal(await codeIn(page), code)
    await page.locator('.comptoir-dialog').waitFor({ state: 'detached' })
  }
  // its attempt is over, but money for it may be on its way
  await world.host.db.run(sql`
    update payments set status = 'closed' where order_id = (select id from orders where code = ${code})`)
  await page.reload()
  await page.evaluate(`addEventListener('comptoir:state', ({ detail }) => {
    if (detail.state === 'choose') document.querySelector('.comptoir-close').click()
  })`)
  await page.getByRole('button', { name: 'Pay' }).click()
  await page.locator('.comptoir-dialog').waitFor({ state: 'detached' })
  await page.evaluate('window.heard.length = 0')
  await page.getByRole('button', { name: 'Pay' }).click()
  assert.equal(await codeIn(page), code)
  // another browser that only knows the reference never sees that order
  const other = await visit(browser, shop.origin)
  await other.page.getByRole('button', { name: 'Pay' }).click()
  assert.notEqual(await codeIn(other.page), code)
  await other.context.close()
  await context.close()
})

test('without a reference a closed dialog opens the same order again; once it has shown “paid”, another one', async () => {
  const four = await addButton(shop.origin)
  shop.show(`${script()}<button data-comptoir="${four}">Pay</button>`)
  const { page, context } = await visit(browser, shop.origin)
  const codeAfterClick = async (): Promise<string> => {
    await page.evaluate('window.heard.length = 0')
    await page.getByRole('button', { name: 'Pay' }).click()
    return codeIn(page)
  }
  // closed before the page inside has told its state
  await page.evaluate(`addEventListener('comptoir:order', () => document.querySelector('.comptoir-close').click(),
    { once: true })`)
  const code = await codeAfterClick()
  assert.equal(await codeAfterClick(), code)
  await (await payFrame(page)).locator('[data-state=waiting]').waitFor()
  await page.getByRole('button', { name: 'Close' }).click()
  assert.equal(await codeAfterClick(), code)
  const frame = await payFrame(page)
  await payIn(world, frame, code)
  await frame.locator('[data-state=paid]').waitFor()
  await page.getByRole('button', { name: 'Close' }).click()
  assert.notEqual(await codeAfterClick(), code)
  await context.close()
})

test('Escape closes the dialog, from its first moment on and out of the page inside', async () => {
  const three = await addButton(shop.origin)
  shop.show(`${script()}<button data-comptoir="${three}" data-comptoir-order-ref="ESCAPE-1">Pay</button>`)
  const { page, context } = await visit(browser, shop.origin)
  const dialog = page.locator('dialog')
  const pay = page.getByRole('button', { name: 'Pay' })
  await pay.click()
  await dialog.waitFor()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  await pay.click()
  const frame = await payFrame(page)
  await frame.locator('[data-state=waiting]').waitFor()
  await frame.locator('summary').first().click()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  await context.close()
})

test('inline: the frame stands in its place and grows with the page inside', async () => {
  shop.show(`${script()}<div data-comptoir="${button}" data-comptoir-display="inline" data-comptoir-lang="de"></div>`)
  const { page, context } = await visit(browser, shop.origin, { viewport: { width: 1280, height: 900 } })
  const frame = await payFrame(page)
  await frame.locator('[data-state=waiting]').waitFor()
  assert.equal(await frame.locator('html').getAttribute('lang'), 'de')
  const [inner, height] = await eventually(
    async () => [
      Number(await frame.evaluate('document.body.scrollHeight').catch(() => 0)),
      (await page.locator('iframe').boundingBox())?.height ?? 0,
    ],
    ([inside = 0, outside = 0]) => inside > 700 && Math.abs(outside - inside) < 40,
  )
  assert.ok(Number(inner) > 0 && Number(height) > 700)
  await context.close()
})

test('a new page: the shop’s page learns the order’s code and its end', async () => {
  shop.show(
    `${script()}<button data-comptoir="${button}" data-comptoir-display="page" data-comptoir-order-ref="PAGE-01"
      data-comptoir-auto-subscribe-transaction="true">Pay</button>`,
  )
  const { page, context } = await visit(browser, shop.origin)
  const [popup] = await Promise.all([context.waitForEvent('page'), page.getByRole('button', { name: 'Pay' }).click()])
  const code = await codeIn(page)
  await popup.waitForURL(/\/pay\?/)
  assert.ok(!popup.url().includes('embed'))
  const seen = (await page.evaluate(`new Promise((resolve) => Comptoir.subscribeTransaction({
    code: '${code}', interval: 200, success: () => resolve('success'), error: ({ data }) => resolve(data.state) }))
    && fetch('${world.host.baseUrl}/api/confirm_conversion/status/${code}').then((r) => r.json())`)) as {
    data: { state: string }
  }
  assert.match(seen.data.state, /^state:/)
  await context.close()
})

test('a new page without a reference: every click is another purchase', async () => {
  shop.show(`${script()}<button data-comptoir="${button}" data-comptoir-display="page">Pay</button>`)
  const { page, context } = await visit(browser, shop.origin)
  const codes: string[] = []
  for (let click = 0; click < 2; click += 1) {
    await page.evaluate('window.heard.length = 0')
    await page.getByRole('button', { name: 'Pay' }).click()
    codes.push(await codeIn(page))
  }
  assert.notEqual(codes[0], codes[1])
  await context.close()
})

/** A button by script on a page of its own that follows its orders, and asks about them without waiting long. */
async function openFollowing(orderRef?: string, display = 'page') {
  shop.show(script())
  const { page, context, requests } = await visit(browser, shop.origin)
  const options = { buttonId: button, orderRef, display, autoSubscribeTransaction: true }
  const follow = async () => {
    await page.waitForFunction('window.Comptoir')
    await page.evaluate(`window.calls = []; const wait = setTimeout
    window.setTimeout = (work, ms, ...values) => wait(work, ms / 20, ...values)
    Comptoir.init({ ...${JSON.stringify(options)}, success: ({ data }) => calls.push(['success', data.code]),
      error: ({ data }) => calls.push(['error', data.code]) }) && undefined`)
  }
  await follow()
  const click = async (): Promise<string> => {
    await page.evaluate('window.heard.length = 0; Comptoir.open()')
    return codeIn(page)
  }
  const callsOf = (count: number) =>
    eventually(
      () => page.evaluate('window.calls') as Promise<unknown[][]>,
      (list) => list.length === count,
    )
  return { page, context, requests, follow, click, callsOf }
}

test('a new page without a reference: the shop’s page hears that each of its orders is paid', async () => {
  const { page, context, callsOf } = await openFollowing()
  // the second click comes before the first page has named its order
  await page.evaluate('Comptoir.open(), Comptoir.open(), undefined')
  const codes = await eventually(
    async () => (await heardBy(page)).flatMap(([, { conversionCode }]) => conversionCode ?? []) as string[],
    (list) => list.length === 2,
  )
  await world.host.db.run(sql`update orders set status = 'PAID', paid_at = now() where code = any(${codes})`)
  assert.deepEqual((await callsOf(2)).sort(), codes.map((code) => ['success', code]).sort())
  await context.close()
})

test('a new page that fails to open hides the end of the first order only while it could still name another', async () => {
  const { page, context, click, callsOf } = await openFollowing('FAILS-01')
  const code = await click()
  await context.route('**/buy-button/landing?*', (route) => route.abort())
  await page.evaluate('Comptoir.open()')
  const answered = page.waitForResponse(async (response) => (await response.text()).includes('state:cancelled'))
  await world.host.db.run(sql`update orders set status = 'CANCELLED' where code = ${code}`)
  await answered
  assert.deepEqual(await page.evaluate('window.calls'), [])
  await page.evaluate('const now = performance.now(); performance.now = () => now + 60_000; undefined')
  assert.deepEqual(await callsOf(1), [['error', code]])
  await context.close()
})

test('a reference leads to its ended order once money came late, and after a reload its end is not told again', async () => {
  const { page, context, follow, click, callsOf } = await openFollowing('LATE-001', 'modal')
  const end = (code: string) => world.host.call('POST', `expire/${code}`, { as: world.merchant })
  const first = await click()
  await end(first)
  await callsOf(1)
  await page.evaluate('Comptoir.close()')
  const code = await click()
  assert.notEqual(code, first, 'no money came')
  await (await payFrame(page)).locator('[data-state=waiting]').waitFor()
  await end(code)
  assert.deepEqual(
    await callsOf(2),
    [first, code].map((one) => ['error', one]),
  )
  await (await payFrame(page)).locator('[data-state=expired]').waitFor()
  await world.host.db.run(sql`
    update payments set received_units = 5000000 where order_id = (select id from orders where code = ${code})`)
  await page.reload()
  await follow()
  assert.equal(await click(), code)
  await (await payFrame(page)).locator('[data-state=expired]').waitFor()
  assert.deepEqual(await page.evaluate('window.calls'), [])
  await world.host.db.run(sql`update orders set status = 'PAID', paid_at = now() where code = ${code}`)
  await page.evaluate('Comptoir.close()')
  await click()
  assert.deepEqual(await callsOf(1), [['success', code]])
  await context.close()
})

test('a cart that changed: the shop’s page hears that its new order is paid, and no error for the replaced one', async () => {
  const five = await addButton(shop.origin, true)
  shop.show(script())
  const { page, context } = await visit(browser, shop.origin)
  const openAt = async (price: string): Promise<string> => {
    await page.waitForFunction('window.Comptoir')
    await page.evaluate(`window.calls = []; Comptoir.init({ buttonId: '${five}', orderRef: 'FOLLOW-01', price: '${price}',
      autoSubscribeTransaction: true, success: ({ data }) => calls.push(['success', data.code]),
      error: ({ data }) => calls.push(['error', data.code]) }) && Comptoir.open()`)
    return codeIn(page)
  }
  const ten = await openAt('10.00')
  await page.reload()
  // the old order's status is read when it has been cancelled, before the page hears of the new one
  const { promise: cancelled, resolve: noteCancelled } = Promise.withResolvers<void>()
  const answered = page.waitForResponse((response) => response.url().endsWith(`/status/${ten}`))
  await page.route(`**/status/${ten}`, async (route) => {
    await cancelled
    await route.continue()
  })
  await page.route('**/buy-button/landing?*', async (route) => {
    if (route.request().method() !== 'POST') return route.continue()
    const response = await route.fetch()
    noteCancelled()
    await (await answered).finished()
    await route.fulfill({ response })
  })
  const fifty = await openAt('50.00')
  assert.equal(await statusOf(ten), 'CANCELLED')
  await world.host.db.run(sql`update orders set status = 'PAID', paid_at = now() where code = ${fifty}`)
  const calls = await eventually(
    () => page.evaluate('window.calls'),
    (list) => (list as unknown[]).length > 0,
  )
  assert.deepEqual(calls, [['success', fifty]])
  await context.close()
})

test('a session of the shop’s server has the price that the server gave, whatever the page says', async () => {
  const made = await world.host.call<{ code: string; _id: string }>('POST', '/api/next/buy-button/sessions', {
    as: world.merchant,
    body: { button, orderRef: 'CART-0042', price: '99.90' },
  })
  assert.equal(made.status, 200, made.text)
  shop.show(`${script()}<button data-comptoir-session="${made.data.code}" data-comptoir-price="0.10">Pay</button>`)
  const { page, context } = await visit(browser, shop.origin)
  await page.getByRole('button', { name: 'Pay' }).click()
  const code = await codeIn(page)
  const order = await world.host.call<{ fromAmount: string }>('GET', `status/${code}`)
  assert.equal(order.data.fromAmount, '99.90')
  await context.close()
})

test('“Back” out of the dialog’s page leads to its order again, and makes no second one', async () => {
  shop.show(`${script()}<button data-comptoir="${button}" data-comptoir-order-ref="BACK-001">Pay</button>`)
  const { page, context } = await visit(browser, shop.origin)
  // the landing page is an entry to go back to only if it was loaded before it sent its form
  await context.addInitScript(`if (location.pathname.endsWith('/landing')) {
    const { submit } = HTMLFormElement.prototype
    HTMLFormElement.prototype.submit = function () {
      addEventListener('load', () => setTimeout(() => submit.call(this)))
    }
  }`)
  await page.getByRole('button', { name: 'Pay' }).click()
  const code = await codeIn(page)
  const frame = await payFrame(page)
  await frame.locator('[data-state=waiting]').waitFor()
  const entries = Number(await page.evaluate('history.length'))
  // the pay page, which chooses the only way to pay, may have made one more
  assert.ok(entries >= 3, `${entries}`)
  const returned = page.waitForRequest((request) => request.method() === 'GET' && request.url().includes('/pay?'))
  // the page itself stays, so no load is waited for
  await page.evaluate(`history.go(${2 - entries})`)
  await returned
  await (await payFrame(page)).locator('[data-state=waiting]').waitFor()
  const heard = (await heardBy(page)).flatMap(([, { conversionCode }]) => conversionCode ?? [])
  assert.deepEqual(new Set(heard), new Set([code]))
  const { count } = await world.host.db.one<{ count: number }>(sql`
    select count(*)::int as count from button_sessions where order_ref = 'BACK-001'`)
  assert.equal(count, 1)
  await context.close()
})

test('a browser that lists no navigation, such as Tor, opens the order, too', async () => {
  shop.show(`${script()}<button data-comptoir="${button}">Pay</button>`)
  const { page, context } = await visit(browser, shop.origin)
  await context.addInitScript('performance.getEntriesByType = () => []')
  await page.getByRole('button', { name: 'Pay' }).click()
  await (await payFrame(page)).locator('[data-state=waiting]').waitFor()
  await context.close()
})

test('an order under review stays the order of its reference: the next click shows it again', async () => {
  shop.show(`${script()}<button data-comptoir="${button}" data-comptoir-order-ref="REVIEW-1">Pay</button>`)
  const { page, context } = await visit(browser, shop.origin)
  const click = async (): Promise<string> => {
    await page.evaluate('window.heard.length = 0')
    await page.getByRole('button', { name: 'Pay' }).click()
    return codeIn(page)
  }
  const code = await click()
  await (await payFrame(page)).locator('[data-state=waiting]').waitFor()
  await world.host.db.run(sql`update orders set status = 'KYT_FAILED' where code = ${code}`)
  await page.getByRole('button', { name: 'Close' }).click()
  await click()
  await eventually(
    () => heardBy(page),
    (list) => list.some(([, { state }]) => state === 'review'),
  )
  await page.getByRole('button', { name: 'Close' }).click()
  assert.equal(await click(), code)
  await context.close()
})

test('a foreign website can neither frame the payment nor hear of it', async () => {
  const landing = `${world.host.baseUrl}/buy-button/landing?id=${button}`
  const made = await fetch(landing, { method: 'POST', headers: { origin: world.host.baseUrl } })
  const code = /conversionCode&quot;:&quot;(\w+)/.exec(await made.text())?.[1] ?? ''
  assert.notEqual(code, '')
  const addresses = [
    landing,
    `${world.host.baseUrl}/pay?code=${code}&embed=1`,
    `${world.host.baseUrl}/pay?code=${code}`,
  ]
  stranger.show(
    addresses.map((url) => `<iframe src="${url.replaceAll('&', '&amp;')}"></iframe>`).join('') +
      `${script()}<button data-comptoir="${button}">Pay</button>`,
  )
  const countOrders = () => world.host.db.one<{ count: string }>(sql`select count(*) from orders`)
  const before = await countOrders()
  const { page, context } = await visit(browser, stranger.origin)
  await page.getByRole('button', { name: 'Pay' }).click()
  await page.locator('dialog iframe').waitFor()
  await page.waitForTimeout(1500)
  assert.deepEqual(await countOrders(), before, 'a framed landing page would have sent its form')
  // nor is it left with an empty frame
  const framed = page.frameLocator('dialog iframe')
  await framed.getByText(`set for ${shop.origin}, opened at ${stranger.origin}`).waitFor()
  const link = framed.getByRole('link', { name: 'Continue to payment' })
  const [own] = await Promise.all([context.waitForEvent('page'), link.click()])
  await own.waitForURL(/\/pay\?/)
  // a window that it opens itself is the buyer's, but says nothing to it
  const [popup] = await Promise.all([
    context.waitForEvent('page'),
    page.evaluate(`void window.open('${addresses[0]}')`),
  ])
  await popup.waitForURL(/\/pay\?/)
  for (const frame of page.frames().slice(1)) {
    const text = await frame.evaluate('document.body?.innerText ?? ""').catch(() => '')
    assert.ok(!/USDC|Preparing/.test(String(text)), `${frame.url()} is shown: ${text}`)
  }
  assert.deepEqual(await heardBy(page), [])
  await context.close()
})

test('a button, or a session, that does not exist says so in its frame', async () => {
  for (const name of [`data-comptoir="${newId()}"`, 'data-comptoir-session="shop_ended"']) {
    shop.show(`${script()}<button ${name}>Pay</button>`)
    const { page, context } = await visit(browser, shop.origin)
    await page.getByRole('button', { name: 'Pay' }).click()
    await page.frameLocator('dialog iframe').getByText('This button does not exist any more').waitFor()
    await context.close()
  }
})

test('a page that is a file opens the payment on a page of its own', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'comptoir-shop-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'shop.html')
  writeFileSync(file, `<!doctype html>${script()}<button data-comptoir="${button}">Pay</button>`)
  const { page, context } = await visit(browser, pathToFileURL(file).href)
  const buy = page.getByRole('button', { name: 'Pay' })
  await page.locator('[data-comptoir-ready]').waitFor()
  const [own] = await Promise.all([context.waitForEvent('page'), buy.click()])
  await own.waitForURL(/\/pay\?/)
  await context.close()
})
