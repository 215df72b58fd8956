import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { sql } from '../../src/db/db.ts'
import { LANGS } from '../../src/kernel/lang.ts'
import { listAxeFaults } from '../harness/axe.ts'
import { visit } from '../harness/browser.ts'
import { readQr } from '../harness/read-qr.ts'
import { eventually } from '../harness/service.ts'
import { chargeOn, openTillWorld, PIN, type TillWorld, typeOn } from '../harness/till-world.ts'

/* A cashier's day at /till, in a real browser. */

let world: TillWorld
before(async () => {
  world = await openTillWorld()
})
after(() => world?.stop())

/** @returns how often the device has vibrated since */
async function countVibrations(page: Page): Promise<() => Promise<number>> {
  await page.evaluate('window.vibrations = 0; navigator.vibrate = () => ++window.vibrations')
  return () => page.evaluate<number>('window.vibrations')
}

test('from the code of the manager to a paid sale, on two screens, with a shift that adds up', async () => {
  const { page, context, complaints, requests } = await world.openTill()
  const vibrations = await countVibrations(page)
  await page.locator('#reference').fill('Table 7')
  const code = await chargeOn(page, '1250')
  assert.equal(await readQr(page.locator('#qr')), `${world.shop.host.config.payUrl}/pay?code=${code}`)
  assert.equal(await page.locator('#pay-amount').textContent(), '€12.50')
  const display = await context.newPage()
  await display.goto(`${world.shop.host.baseUrl}/till/display`)
  await display.locator('#qr').waitFor()
  assert.equal(await display.locator('#pay-amount').textContent(), '€12.50')

  const headers = { authorization: `Bearer ${world.boss.client.token}` }
  const body = { paymentChannel: 'crypto', network: world.shop.chain.chainId }
  const { data } = await world.shop.host.call<{ toAddress: string; tokenAmount: string }>('POST', `accept/${code}`, {
    ...{ headers, body },
  })
  await page.getByText('The customer is paying').waitFor()
  await world.shop.chain.pay({ to: data.toAddress, units: BigInt(data.tokenAmount.replace('.', '')) })
  await page.locator('body[data-state=seen]').waitFor()
  await world.shop.makeFinal()
  await page.locator('body[data-state=paid]').waitFor()
  await display.locator('body[data-state=paid]').waitFor()
  assert.equal(await vibrations(), 1, 'hand over the goods')
  assert.equal(await display.locator('#state').textContent(), 'Paid. Thank you!')
  const [receipt] = await Promise.all([context.waitForEvent('page'), page.locator('#receipt').click()])
  await receipt.waitForURL(/\/receipt\//)
  await receipt.close()

  await page.locator('#to-sale').click()
  const second = await chargeOn(page, '500')
  await page.locator('#stop').click()
  await page.locator('#sale').waitFor()
  assert.equal((await world.shop.host.call<{ status: string }>('GET', `status/${second}`)).data.status, 'CANCELLED')
  await page.locator('#to-orders').click()
  await page.locator('#order-list em').first().waitFor()
  assert.deepEqual(await page.locator('#order-list em').allTextContents(), ['Cancelled', 'Paid'])
  const looked = page.waitForResponse((answer) => answer.url().endsWith(`status/${code}`))
  await page.locator('#order-list button', { hasText: 'Paid' }).click()
  await page.locator('body[data-state=paid]').waitFor()
  await (await looked).finished()
  assert.equal(await vibrations(), 1, 'a sale of before is only looked at')
  await page.locator('#to-shift').click()
  await page.locator('dd', { hasText: '€12.50' }).waitFor()
  const facts = await page.locator('#facts dd').allTextContents()
  assert.deepEqual(facts.slice(1), ['€12.50', '0', '1'])
  await page.locator('#sign-out').click()
  await page.locator('#people').waitFor()
  // the first question of a device that is not enrolled yet
  assert.deepEqual(complaints, ['Failed to load resource: the server responded with a status of 401 (Unauthorized)'])
  assert.deepEqual([...new Set(requests.map((url) => new URL(url).origin))], [world.shop.host.baseUrl])
  await context.close()
})

/** As the payer, on a phone. @returns where to pay, and how much */
async function accept(code: string, more: { requote?: true } = {}): Promise<{ to: string; units: bigint }> {
  const headers = { authorization: `Bearer ${world.boss.client.token}` }
  const body = { paymentChannel: 'crypto', network: world.shop.chain.chainId, ...more }
  const { data } = await world.shop.host.call<{ toAddress: string; tokenAmount: string }>('POST', `accept/${code}`, {
    ...{ headers, body },
  })
  return { to: data.toAddress, units: BigInt(data.tokenAmount.replace('.', '')) }
}

async function expire(code: string): Promise<void> {
  const headers = { authorization: `Bearer ${world.boss.client.token}` }
  const expired = await world.shop.host.call('POST', `expire/${code}`, { headers })
  assert.equal(expired.status, 200, expired.text)
}

test('a part payment says what is missing and asks before it is cancelled, and money that comes late turns green', async () => {
  const { page, context } = await world.openTill()
  const code = await chargeOn(page, '8000')
  const display = await context.newPage()
  await display.clock.install()
  await display.goto(`${world.shop.host.baseUrl}/till/display`)
  const { to, units } = await accept(code)
  await world.shop.chain.pay({ to, units: units - 1_500_000n })
  await page.locator('#state', { hasText: 'A part is paid. 1.50 USDC is missing.' }).waitFor()
  const asked: string[] = []
  page.once('dialog', (dialog) => {
    asked.push(dialog.message())
    void dialog.dismiss()
  })
  await page.locator('#stop').click()
  assert.match(asked[0] ?? '', /^Money from the customer is here or on its way/)
  assert.equal((await world.shop.host.call<{ status: string }>('GET', `status/${code}`)).data.status, 'AWAITING')

  await expire(code)
  await page.locator('body[data-state=expired]').waitFor()
  await display.locator('body[data-state=expired]').waitFor()
  await display.clock.fastForward(20_000)
  await display.locator('#welcome').waitFor()
  await world.shop.chain.pay({ to, units: 1_500_000n })
  await world.shop.makeFinal()
  await page.locator('body[data-state=paid]').waitFor({ timeout: 60_000 })
  await display.locator('#state', { hasText: 'Paid. Thank you!' }).waitFor()
  await context.close()
})

test('a sale that ended and took a fresh price is followed as before: a part that comes is said on the till', async () => {
  const { page, context } = await world.openTill()
  const code = await chargeOn(page, '9000')
  await accept(code)
  await page.getByText('The customer is paying').waitFor()
  await expire(code)
  await page.locator('body[data-state=expired]').waitFor()
  const { to, units } = await accept(code, { requote: true })
  await page.locator('body[data-state=chosen]').waitFor()
  await world.shop.chain.pay({ to, units: units - 1_500_000n })
  await page.locator('#state', { hasText: 'A part is paid. 1.50 USDC is missing.' }).waitFor({ timeout: 15_000 })
  await context.close()
})

test('a refusal is said in the language of the till alone, and goes away with the next success', async () => {
  const { page, context } = await visit(world.browser, `${world.shop.host.baseUrl}/till?lang=de`)
  const said = async (text: string): Promise<void> => {
    const line = page.locator('#say[data-bad=yes]:not([hidden])', { hasText: text })
    await line.waitFor()
    assert.equal(await line.textContent(), text)
  }
  await page.locator('#code').fill('AAAA-AAAA')
  await page.locator('#enrol-form button').click()
  await said(
    'Der Code ist falsch, verbraucht oder älter als zehn Minuten. Bitten Sie die Filialleitung um einen neuen.',
  )
  await page.locator('#code').fill(await world.newCode())
  await page.locator('#enrol-form button').click()
  await page.locator('.name').first().click()
  assert.equal(await page.locator('#say').isVisible(), false)
  await typeOn(page, 'pin-keys', '918273')
  await said('Die PIN ist falsch. Verbleibende Versuche: 4.')
  await typeOn(page, 'pin-keys', PIN)
  await page.locator('#sale').waitFor()
  assert.equal(await page.locator('#say').isVisible(), false, 'the complaint is over')
  await typeOn(page, 'keys', '5')
  await page.locator('#charge').click()
  await said('Der kleinste Betrag ist 0,10\u00a0€.')
  const setActive = (active: boolean) => world.boss.client.call('PUT', `collectors/${world.collector}`, { active })
  assert.equal((await setActive(false)).status, 200)
  await page.locator('#charge').click()
  await said('Diese Kasse ist geschlossen oder Ihnen nicht mehr zugeteilt. Wenden Sie sich an die Filialleitung.')
  assert.equal((await setActive(true)).status, 200)
  const error = { code: 'FORBIDDEN', message: 'Your role does not allow this.' }
  await page.route('**/confirm_conversion/request', (route) => route.fulfill({ status: 403, json: { error } }))
  await page.locator('#charge').click()
  await said('Das hat nicht geklappt. (FORBIDDEN)')
  await context.close()
})

/** Holds requests back. @returns lets them through, and waits for the answer */
async function holdBack(page: Page, path: string): Promise<() => Promise<void>> {
  const gate = Promise.withResolvers<void>()
  await page.route(path, async (route) => {
    await gate.promise
    await route.continue()
  })
  const asked = page.waitForRequest(path)
  return async () => {
    const answered = (await asked).response()
    gate.resolve()
    await (await answered)?.finished()
    await page.unroute(path)
  }
}

test('the answer to a cancellation leaves the next sale on the screen, and a refused one names its sale', async () => {
  const { page, context } = await world.openTill()
  const statusOf = async (code: string) =>
    (await world.shop.host.call<{ status: string }>('GET', `status/${code}`)).data.status
  const first = await chargeOn(page, '777')
  const goOn = await holdBack(page, '**/confirm_conversion/cancel/**')
  await page.locator('#stop').click()
  await page.locator('#again').click()
  const second = await chargeOn(page, '888')
  await goOn()
  await eventually(
    () => statusOf(first),
    (status) => status === 'CANCELLED',
  )
  assert.equal(await page.locator('#qr').isVisible(), true)
  assert.equal(await page.locator('#say').isVisible(), false)
  assert.equal(await statusOf(second), 'INITIAL')
  const refuse = await holdBack(page, '**/confirm_conversion/cancel/**')
  await page.locator('#stop').click()
  await page.locator('#again').click()
  await world.shop.host.db.run(sql`update orders set status = 'EXPIRED' where code = ${second}`)
  await refuse()
  await page.locator('#say', { hasText: '€8.88: The sale has changed in the meantime.' }).waitFor()
  await context.close()
})

test('a sign-in that was backed out of opens the till for nobody, and its session ends', async () => {
  const { page, context } = await world.openTill()
  await page.locator('#to-shift').click()
  await page.locator('#sign-out').click()
  await page.locator('.name').first().click()
  const goOn = await holdBack(page, '**/till/sign-in')
  await typeOn(page, 'pin-keys', PIN)
  await page.locator('#pin-back').click()
  await page.locator('#people').waitFor()
  await goOn()
  const live = () => world.shop.host.db.many(sql`select id from sessions where kind = 'till' and revoked_at is null`)
  await eventually(
    async () => (await context.cookies()).some(({ name }) => /refreshToken/.test(name)),
    (isThere) => !isThere,
  )
  assert.equal(await page.evaluate('document.body.dataset.screen'), 'people')
  assert.equal(await page.evaluate("localStorage.getItem('till.user')"), null)
  const before = (await live()).length
  // the next person's own one is not taken for it
  await page.locator('.name').first().click()
  await typeOn(page, 'pin-keys', PIN)
  await page.locator('#sale').waitFor()
  assert.equal((await live()).length, before + 1)
  await page.reload()
  await chargeOn(page, '556')
  await context.close()
})

test('between the tap and the code the till says what it does, and an order that comes late opens no old sale', async () => {
  const { page, context } = await world.openTill()
  const goOn = await holdBack(page, '**/confirm_conversion/request')
  await typeOn(page, 'keys', '889')
  await page.locator('#charge').click()
  await page.locator('#state', { hasText: 'Making the code…' }).waitFor()
  await page.locator('#again').click()
  await goOn()
  await eventually(
    () => world.countOrders(889),
    (count) => count === 1,
  )
  assert.equal(await page.locator('#sale').isVisible(), true)
  await context.close()
})

test('no accessibility fault and no sideways scroll, light and dark, phone and tablet, in five languages', async () => {
  for (const [lang, colorScheme, width, height] of [
    ...LANGS.map((lang, index) => [lang, index % 2 === 0 ? 'light' : 'dark', 320, 640] as const),
    ['en', 'dark', 1280, 800] as const,
  ]) {
    const options = { colorScheme, viewport: { width, height } }
    const { page, context } = await visit(world.browser, `${world.shop.host.baseUrl}/till?lang=${lang}`, options)
    const check = async (name: string): Promise<void> => {
      assert.deepEqual(await listAxeFaults(page), [], `${lang} ${colorScheme} ${width} ${name}`)
      const wide = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
      assert.ok(Number(wide) <= 0, `${lang} ${width} ${name} is ${wide} px too wide`)
    }
    await page.locator('#enrol').waitFor()
    await check('enrol')
    await page.locator('#code').fill(await world.newCode())
    await page.locator('#enrol-form button').click()
    await page.locator('.name').first().click()
    await check('pin')
    await typeOn(page, 'pin-keys', PIN)
    await page.locator('#sale').waitFor()
    await check('sale')
    await chargeOn(page, '123456')
    await check('pay')
    await page.locator('#to-orders').click()
    await page.locator('#order-list em').first().waitFor()
    await check('orders')
    await context.close()
  }
})

test('what was said about a wrong code or PIN goes once the right one is entered', async () => {
  const { page, context } = await visit(world.browser, `${world.shop.host.baseUrl}/till`)
  const notice = page.locator('#say[data-bad=yes]')
  await page.locator('#code').fill('AAAA-AAAA')
  await page.locator('#enrol-form button').click()
  await notice.waitFor()
  await page.locator('#code').fill(await world.newCode())
  await page.locator('#enrol-form button').click()
  await page.locator('.name').first().waitFor()
  assert.equal(await notice.isVisible(), false)
  await page.locator('.name').first().click()
  await typeOn(page, 'pin-keys', '000000')
  await notice.waitFor()
  await typeOn(page, 'pin-keys', PIN)
  await page.locator('#sale').waitFor()
  assert.equal(await notice.isVisible(), false)
  await context.close()
})
