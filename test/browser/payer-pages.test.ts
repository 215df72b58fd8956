import assert from 'node:assert/strict'
import { generateKeyPairSync, sign } from 'node:crypto'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { sql } from '../../src/db/db.ts'
import { LANGS, type Lang } from '../../src/kernel/lang.ts'
import { TEXTS } from '../../src/texts/languages.ts'
import { listAxeFaults } from '../harness/axe.ts'
import { startBrowser, type Visit, visit } from '../harness/browser.ts'
import { addPseudoLanguage, findEnglish, findUntranslated } from '../harness/leftovers.ts'
import { inLanguage, makePayerPages, type PayerPage } from '../harness/pay-pages.ts'
import { type PayWorld, startPayWorld } from '../harness/pay-world.ts'
import { eventually } from '../harness/service.ts'

/** Every page in every language, scheme and width takes ten minutes, in which no order may expire. */
const IS_WHOLE = process.env.PAGE_MATRIX === 'all'
const LONG = { ORDER_EXPIRY_MINUTES: '600', ORDER_CHAIN_EXPIRY_MINUTES: '600' }

const DUE = 58_320_000n
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sept', 'Oct', 'Nov', 'Dec', 'UTC']

let world: PayWorld
let browser: Browser

before(async () => {
  ;[world, browser] = await Promise.all([startPayWorld(IS_WHOLE ? LONG : {}), startBrowser()])
})
after(async () => {
  await browser?.close()
  await world?.stop()
})

let made: Promise<PayerPage[]> | undefined
const payerPages = (): Promise<PayerPage[]> => {
  made ??= makePayerPages(world)
  return made
}

type Combination = { page: PayerPage; lang: Lang; colorScheme: 'light' | 'dark'; width: number }

const WIDTHS = [320, 390, 1280]
const SCHEMES = ['light', 'dark'] as const

/** With `PAGE_MATRIX=all`. */
const allCombinations = (pages: readonly PayerPage[]): Combination[] =>
  WIDTHS.flatMap((width) =>
    SCHEMES.flatMap((colorScheme) =>
      LANGS.flatMap((lang) => pages.map((page) => ({ page, lang, colorScheme, width }))),
    ),
  )

/** Each page once; language, width and scheme go round, so that each meets every other. `SEED` shifts them. */
function sample(pages: readonly PayerPage[]): Combination[] {
  const seed = Number(process.env.SEED ?? 0)
  return pages.map((page, index) => {
    const at = index + seed
    return {
      page,
      lang: LANGS[at % 5] ?? 'en',
      width: WIDTHS[Math.floor(at / 5) % 3] ?? 320,
      colorScheme: SCHEMES[Math.floor(at / 15) % 2] ?? 'light',
    }
  })
}

/** What is wrong with one page in one combination, one line each. */
async function findFaults(shown: Visit, { page: { name, words }, lang, width }: Combination): Promise<string[]> {
  const { page, complaints, requests } = shown
  const faults = await listAxeFaults(page)
  const wide = (await page.evaluate('document.documentElement.scrollWidth')) as number
  if (wide > width) faults.push(`${wide} pixels wide`)
  const text = await page.locator('body').innerText()
  if (!text.replace(/\s+/g, ' ').includes(words(lang).replace(/\s+/g, ' ')))
    faults.push(`does not say "${words(lang)}"`)
  faults.push(...findEnglish(text, lang).map((left) => `English left: ${left}`))
  if ((await page.locator('html').getAttribute('lang')) !== lang) faults.push('its language is another one')
  // WCAG 2.2, 1.4.4
  await page.evaluate("document.documentElement.style.fontSize = '200%'")
  const large = (await page.evaluate('document.documentElement.scrollWidth')) as number
  if (large > width) faults.push(`${large} pixels wide with letters of twice the size`)
  const elsewhere = requests.filter((url) => !/^(http:\/\/127\.0\.0\.1:|data:)/.test(url))
  // a page that does not exist is a 404, which the browser notes
  const noise = complaints.filter((complaint) => !/status of (404|410|400)/.test(complaint))
  return [...faults, ...elsewhere.map((url) => `asks ${url}`), ...noise].map((fault) => `${name}: ${fault}`)
}

test('every page of payers: without fault for axe, no sideways scroll, no other host, no English left over', async (t) => {
  const pages = await payerPages()
  const combinations = IS_WHOLE ? allCombinations(pages) : sample(pages)
  t.diagnostic(`${combinations.length} combinations of ${pages.length} pages`)
  const faults: string[] = []
  for (const width of WIDTHS) {
    const viewport = { width, height: 800 }
    const shown = await visit(browser, 'about:blank', width > 600 ? { viewport, isMobile: false } : { viewport })
    for (const one of combinations.filter((combination) => combination.width === width)) {
      shown.requests.length = 0
      shown.complaints.length = 0
      await shown.page.emulateMedia({ colorScheme: one.colorScheme })
      await shown.page.goto(inLanguage(one.page, one.lang))
      const found = await findFaults(shown, one)
      faults.push(...found.map((fault) => `${one.lang} ${one.colorScheme} ${width} ${fault}`))
    }
    await shown.context.close()
  }
  assert.deepEqual(faults, [])
})

test('every page of payers says the same without a script', async () => {
  const { page, context, complaints } = await visit(browser, 'about:blank', { javaScriptEnabled: false })
  const silent: string[] = []
  for (const one of await payerPages()) {
    await page.goto(inLanguage(one, 'fr'))
    const text = (await page.locator('body').innerText()).replace(/\s+/g, ' ')
    if (!text.includes(one.words('fr').replace(/\s+/g, ' '))) silent.push(one.name)
  }
  await context.close()
  assert.deepEqual([silent, complaints.filter((complaint) => !/status of (404|410|400)/.test(complaint))], [[], []])
})

test('a sixth language is one object: every page speaks it and nothing else, from right to left', async () => {
  const pages = await payerPages()
  const remove = addPseudoLanguage('xx')
  const known = [
    'USDC',
    'USDT',
    'EUR',
    'Test & Söhne',
    'Two tickets',
    'Tombola',
    'Tisch',
    'Sandbox chain',
    'JSON',
    'FILE',
  ]
  const names = LANGS.map((lang) => TEXTS[lang].name)
  try {
    const { page, context } = await visit(browser, 'about:blank', { viewport: { width: 320, height: 640 } })
    const faults: string[] = []
    for (const one of pages) {
      await page.goto(inLanguage(one, 'xx'))
      // an address, a hash, a code and a date are the same in every language
      const text = (await page.locator('body').innerText()).replace(
        /https?:\S+|0x[\da-fA-F\s]+|\b[\dA-Z]{8}\b|\b\w{24}\b|[\w.+-]+@[\w.-]+/g,
        ' ',
      )
      const left = findUntranslated(text, [...names, ...known]).filter((word) => !MONTHS.includes(word))
      if (left.length > 0) faults.push(`${one.name}: ${left.join(' ')}`)
      const wide = (await page.evaluate('document.documentElement.scrollWidth')) as number
      if (wide > 320) faults.push(`${one.name}: ${wide} pixels wide`)
      const direction = await page.evaluate('getComputedStyle(document.querySelector("main")).direction')
      if (direction !== 'rtl') faults.push(`${one.name}: runs ${direction}`)
    }
    await context.close()
    assert.deepEqual(faults, [])
  } finally {
    remove()
  }
})

const LONG_WORD = 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft'
  .repeat(3)
  .slice(0, 118)

test('hostile and endless words of a shop neither run, frame, lead away nor push the page wider than a small phone', async () => {
  const { db } = world.host
  const evil = `"><script>window.stolen=1</script><iframe src=//evil.example>`
  const goodsName = `${evil}${LONG_WORD}${LONG_WORD}`.slice(0, 256)
  await db.run(sql`
    update companies set display_name = ${LONG_WORD}, legal_name = ${evil}, brand_color = '#ffff00',
      support_email = ${`${LONG_WORD.slice(0, 60)}@example.com`}, terms_url = 'https://shop.example/"><svg onload=alert(1)>'
    where id = ${world.merchant.companyId}`)
  const shop = {
    ...{ goods: { goodsName }, alias: `${LONG_WORD.slice(0, 90)}${Date.now()}`.slice(-100) },
    returnUrl: `https://shop.example/${LONG_WORD}?"><script>window.stolen=1</script>`,
    cancelUrl: `https://shop.example/${LONG_WORD}#javascript:window.stolen=1`,
  }
  const { page, context, requests, complaints } = await visit(browser, 'about:blank', {
    viewport: { width: 320, height: 640 },
  })
  const { code, toAddress } = await world.createAccepted(shop)
  const expired = (await world.createAccepted({ ...shop, alias: `${shop.alias.slice(1)}x` })).code
  await world.moveElsewhere(expired, 'expire')
  const wide = async (): Promise<number> => (await page.evaluate('document.documentElement.scrollWidth')) as number
  const seen: [string, number][] = []
  const look = async (url: string): Promise<void> => {
    complaints.length = 0
    await page.goto(url)
    await page.locator('main').waitFor()
    seen.push([new URL(url).pathname, await wide()])
    assert.deepEqual(complaints, [], url)
    assert.equal(
      await page.evaluate('window.stolen ?? document.querySelector("iframe, main script, svg[onload]")'),
      null,
    )
  }
  for (const one of [code, expired]) await look(world.pageUrl(one))
  await look(world.pageUrl(code).replace('/pay?', '/pay/poster?'))
  await world.chain.pay({ to: toAddress, units: DUE })
  await world.chain.mine(4)
  await world.reaches(code, 'PAID')
  await look(world.pageUrl(code))
  const back = page.getByRole('link', { name: 'Back to the shop' })
  assert.equal(new URL((await back.getAttribute('href')) ?? '').host, 'shop.example')
  await look((await page.locator('a[href*="/receipt/"]').getAttribute('href')) ?? '')
  assert.deepEqual(
    seen.filter(([, width]) => width > 320),
    [],
  )
  assert.ok(requests.every((url) => url.startsWith('http://127.0.0.1:') || url.startsWith('data:')))
  await db.run(sql`
    update companies set display_name = null, legal_name = null, brand_color = null, support_email = null, terms_url = null
    where id = ${world.merchant.companyId}`)
  await context.close()
})

function signByNewKey(payload: object): { jws: string; keys: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const parts = [{ alg: 'EdDSA', kid: 'new' }, payload]
  const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return {
    jws: `${text}.${sign(null, Buffer.from(text), privateKey).toString('base64url')}`,
    keys: JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'new' }] }),
  }
}

test('a receipt is checked by a saved file without a connection: genuine, changed, with other keys, without any', async () => {
  const { code, toAddress } = await world.createAccepted()
  await world.chain.pay({ to: toAddress, units: DUE })
  await world.chain.mine(4)
  await world.reaches(code, 'PAID')
  const textOf = async (url: string) => (await fetch(url)).text()
  const link = /href="([^"]*\/receipt\/[\w-]+)"/.exec(await textOf(world.pageUrl(code)))?.[1] ?? ''
  const [file, signed, keys] = await Promise.all(
    [`${world.host.baseUrl}/receipt/verify`, `${link}.json`, `${world.host.baseUrl}/.well-known/jwks.json`].map(textOf),
  )
  const path = join(mkdtempSync(join(tmpdir(), 'receipt-')), 'verify-receipt.html')
  writeFileSync(path, file ?? '')
  const { page, context, complaints, requests } = await visit(browser, 'about:blank', {
    viewport: { width: 320, height: 640 },
  })
  complaints.length = 0
  requests.length = 0
  await context.setOffline(true)
  await page.goto(`file://${path}`)
  const check = async (receipt: string, jwks: string): Promise<string> => {
    await page.locator('#receipt').fill(receipt)
    await page.locator('#keys').fill(jwks)
    await page.locator('#check .main').click()
    await page.locator('#result > *').first().waitFor()
    return page.locator('#result').innerText()
  }
  const { receipt, jws } = JSON.parse(signed ?? '') as { receipt: { paid: { amount: string } }; jws: string }
  const good = await check(signed ?? '', keys ?? '')
  assert.match(
    good,
    /This receipt is genuine\s+Signed by 127\.0\.0\.1:\d+\..*Test & Söhne.*54\.00 EUR.*58\.320000 USDC/s,
  )
  assert.doesNotMatch(good, /says something else/)
  assert.match(await check(jws, keys ?? ''), /is genuine/, 'the bare signature is enough')
  const lie = JSON.stringify({ receipt: { ...receipt, paid: { amount: '5832.00', asset: 'USDC' } }, jws })
  assert.match(await check(lie, keys ?? ''), /is genuine.*says something else.*58\.320000 USDC/s)
  const [head = '', payload = '', signature = ''] = jws.split('.')
  const changed = Buffer.from(Buffer.from(payload, 'base64url').toString().replace('54.00', '94.00')).toString(
    'base64url',
  )
  assert.match(await check([head, changed, signature].join('.'), keys ?? ''), /not genuine/)
  const named = signByNewKey({ ...receipt, merchant: { name: "A$$AP $& $' Store" } })
  assert.match(await check(named.jws, named.keys), /is genuine.*A\$\$AP \$& \$' Store/s, 'a name is shown as it is')
  const none = Buffer.from(JSON.stringify({ alg: 'none' })).toString('base64url')
  assert.match(await check(`${none}.${payload}.${signature}`, keys ?? ''), /not genuine/)
  const own = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
  const [known] = (JSON.parse(keys ?? '') as { keys: object[] }).keys
  const foreign = { ...known, x: own.x }
  assert.match(await check(jws, JSON.stringify({ keys: [foreign] })), /not genuine/)
  assert.match(await check(jws, JSON.stringify({ keys: [{ ...foreign, kid: 'other' }] })), /None of these keys/)
  assert.match(await check('{"jws":"a.b"}', keys ?? ''), /not a signed receipt/)
  assert.match(await check(jws, 'nothing'), /Paste the public keys first/)
  assert.deepEqual(requests, [`file://${path}`], 'it asks no one')
  await page.getByRole('link', { name: 'Deutsch' }).click()
  assert.match(await check(jws, keys ?? ''), /Dieser Beleg ist echt/)
  await context.setOffline(false)
  await page.locator('#keys').fill('')
  await page.getByRole('button', { name: /^Schlüssel von 127\.0\.0\.1:\d+ holen$/ }).click()
  await eventually(
    () => page.locator('#keys').inputValue(),
    (typed) => typed.includes('Ed25519'),
  )
  await page.getByRole('button', { name: 'Prüfen' }).click()
  await page.getByText('Dieser Beleg ist echt').waitFor()
  assert.deepEqual(complaints, [])
  await context.close()
})

const open = (code: string): Promise<Visit> => visit(browser, world.pageUrl(code))

async function waitForState(page: Page, words: string): Promise<void> {
  await page.locator('#live h2', { hasText: words }).waitFor({ timeout: 15_000 })
}

test('without the live connection the page looks by itself, with none at all it says so, and it recovers', async () => {
  const { code } = await world.createAccepted()
  const { page, context } = await open('x')
  await page.route('**/pay/events*', (route) => route.abort())
  await page.goto(world.pageUrl(code))
  await world.moveElsewhere(code, 'fail')
  await waitForState(page, 'The payment did not go through')
  const lost = page.locator('#lost')
  assert.equal(await lost.isVisible(), false, 'what it shows is up to date')
  // the network answers with a page of its own, which wants a login
  await page.route('**/pay?*', (route) => route.fulfill({ contentType: 'text/html', body: '<h2>Paid</h2>' }))
  await lost.waitFor({ timeout: 20_000 })
  await page.unroute('**/pay?*')
  await page.unroute('**/pay/events*')
  await lost.waitFor({ state: 'hidden', timeout: 20_000 })
  await context.setOffline(true)
  await lost.waitFor()
  await world.moveElsewhere(code, 'payLate')
  await context.setOffline(false)
  await waitForState(page, 'Paid')
  assert.equal(await lost.isVisible(), false)
  await context.close()
})

test('an answer that was long on its way does not take back what the page knows since', async () => {
  const { code } = await world.createAccepted()
  const { page, context } = await open('x')
  await page.route('**/pay/events*', (route) => route.abort())
  await page.goto(world.pageUrl(code))
  const asked = Promise.withResolvers<void>()
  const arrives = Promise.withResolvers<void>()
  await page.route('**/pay?*', async (route) => {
    const response = await route.fetch()
    asked.resolve()
    await arrives.promise
    await route.fulfill({ response })
  })
  await asked.promise
  await page.unroute('**/pay/events*')
  await world.moveElsewhere(code, 'seePayment')
  await waitForState(page, 'Payment received, confirming')
  const late = page.waitForResponse((response) => response.url().includes('/pay?'))
  arrives.resolve()
  await (await late).finished()
  await page.evaluate('new Promise((done) => setTimeout(done, 100))')
  assert.equal(await page.locator('#live h2').textContent(), 'Payment received, confirming')
  await context.close()
})

test('a device that slept connects anew when it wakes, although nobody told it that the connection is dead', async () => {
  const { code } = await world.createAccepted()
  const { page, context, requests } = await open(code)
  const streams = () => requests.filter((url) => url.includes('/pay/events')).length
  await page.waitForTimeout(700)
  assert.equal(streams(), 1)
  const session = await context.newCDPSession(page)
  await session.send('Page.setWebLifecycleState', { state: 'frozen' })
  await world.moveElsewhere(code, 'expire')
  await session.send('Page.setWebLifecycleState', { state: 'active' })
  // an hour later, by the clock of the device
  await page.evaluate('{ const now = Date.now; Date.now = () => now() + 3600000 }')
  await waitForState(page, 'The time to pay has run out')
  assert.ok(streams() >= 2)
  await context.close()
})

test('the clock runs, also on a device whose own is set, and spares assistive technology its ticking; at its end the page turns', async () => {
  const { code } = await world.createAccepted()
  const { page, context } = await open(code)
  const clock = page.getByRole('timer')
  const before = await clock.textContent()
  assert.match(before ?? '', /^1[45]:\d\d$/)
  await page.waitForTimeout(1600)
  assert.notEqual(await clock.textContent(), before)
  assert.equal(await clock.getAttribute('aria-live'), 'off')
  assert.equal(await page.locator('#say').getAttribute('role'), 'status')
  await page.evaluate('{ const now = Date.now; Date.now = () => now() + 10_800_000 }')
  await page.waitForTimeout(1200)
  await eventually(
    async () => clock.textContent(),
    (text) => /^1[345]:\d\d$/.test(text ?? ''),
  )
  // nothing reads a block beyond the end, so nothing ends the order
  await world.host.db.run(sql`
    update orders set expires_at = now() + interval '2 seconds', version = version + 1 where code = ${code}`)
  await waitForState(page, 'The time to pay has run out')
  assert.equal((await world.host.call<{ status: string }>('GET', `status/${code}`)).data.status, 'AWAITING')
  await context.close()
})
