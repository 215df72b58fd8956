import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BrowserContext, Page } from 'playwright-core'
import { sql } from '../../src/db/db.ts'
import { eventually } from '../harness/service.ts'
import { chargeOn, enterAs, leaveTill, openTillWorld, PIN, type TillWorld, typeOn } from '../harness/till-world.ts'

/* Two windows of one till, and a session that does not begin or end as it should. */

let world: TillWorld
before(async () => {
  world = await openTillWorld()
})
after(() => world?.stop())

const openOther = async (context: BrowserContext, screen: 'people' | 'sale' | 'pay'): Promise<Page> => {
  const other = await context.newPage()
  other.setDefaultTimeout(10_000)
  await other.goto(`${world.shop.host.baseUrl}/till`)
  await other.locator(`#${screen}`).waitFor()
  return other
}

const countLive = async (): Promise<number> =>
  (await world.shop.host.db.many(sql`select id from sessions where kind = 'till' and revoked_at is null`)).length

const countCookies = async (context: BrowserContext): Promise<number> =>
  (await context.cookies()).filter(({ name }) => /refreshToken/.test(name)).length

const listKept = (page: Page): Promise<string[]> =>
  page.evaluate(
    `Object.entries(localStorage).filter(([name]) => name.startsWith('till.sale.')).map(([, text]) => text)`,
  )

test('who signs out in one window is out in the other, and whoever signs in sells under the own name', async () => {
  const { page, context } = await world.openTill()
  const zoe = await world.hire('Zoe')
  const other = await openOther(context, 'sale')
  await leaveTill(page)
  await other.locator('#people').waitFor()
  await enterAs(page, 'Zoe')
  await page.locator('#sale').waitFor()
  assert.match((await page.locator('#who').textContent()) ?? '', /Zoe/)
  // the window that still shows the names goes on with another person: Zoe's ends, at the service too
  await enterAs(other, /^(?!.*Zoe)/)
  await other.locator('#sale').waitFor()
  await page.locator('#people').waitFor()
  const isZoeOut = () =>
    world.shop.host.db.many(
      sql`select id from sessions where user_id = ${zoe} and kind = 'till' and revoked_at is null`,
    )
  await eventually(isZoeOut, (rows) => rows.length === 0)
  const code = await chargeOn(other, '703')
  const order = await world.shop.host.db.one<{ createdBy: string }>(sql`
    select created_by from orders where code = ${code}`)
  assert.notEqual(order.createdBy, zoe)
  await context.close()
})

test('a window whose session the service has ended says so, whatever the other window did', async () => {
  const { page, context } = await world.openTill()
  await world.shop.host.db.run(sql`update sessions set revoked_at = now() where kind = 'till'`)
  await page.evaluate("localStorage.removeItem('till.user')")
  await sleep(5000)
  await typeOn(page, 'keys', '702')
  await page.locator('#charge').click()
  await page.locator('#people').waitFor()
  await context.close()
})

test('a sign-in that was backed out of leaves the same person signed in in the other window', async () => {
  const { page, context } = await world.openTill()
  await leaveTill(page)
  const other = await openOther(context, 'people')
  await enterAs(page, '')
  await page.locator('#sale').waitFor()
  await other.route('**/till/sign-in', async (route) => {
    await sleep(800)
    await route.continue()
  })
  const answered = other.waitForResponse('**/till/sign-in')
  await enterAs(other, '')
  await other.locator('#pin-back').click()
  await (await answered).finished()
  await sleep(1000)
  assert.equal(await countCookies(context), 1)
  await page.reload()
  await chargeOn(page, '721')
  await context.close()
})

test('with a full storage nobody is let in: the till says why, and no session stays open', async () => {
  const { page, context } = await world.openTill()
  await leaveTill(page)
  await eventually(
    () => countCookies(context),
    (count) => count === 0,
  )
  await world.shop.host.db.run(sql`update sessions set revoked_at = now() where kind = 'till' and revoked_at is null`)
  // a name for each piece: each is written once
  await page.evaluate(`(() => {
    for (let size = 1 << 20, pieces = 0; size >= 1; )
      try {
        localStorage.setItem('fill' + pieces, 'x'.repeat(size))
        pieces += 1
      } catch {
        size = size >> 1
      }
  })()`)
  await enterAs(page, '')
  await page.locator('#say', { hasText: 'storage of this device is full' }).waitFor()
  await eventually(
    async () => [await countLive(), await countCookies(context)],
    (counts) => counts.join() === '0,0',
  )
  assert.equal(await page.evaluate('document.body.dataset.screen'), 'pin')
  await page.evaluate(
    "Object.keys(localStorage).filter((name) => name.startsWith('fill')).forEach((name) => localStorage.removeItem(name))",
  )
  await enterAs(page, '').catch(() => typeOn(page, 'pin-keys', PIN))
  await page.locator('#sale').waitFor()
  await context.close()
})

test('while sign-outs fail, anyone signs in, and the sign-outs arrive later', async () => {
  for (const status of [503, 429]) {
    const { page, context } = await world.openTill()
    let refused = 0
    await page.route('**/auth/sign-out', (route) => {
      refused += 1
      return route.fulfill({ status, contentType: 'application/json', body: '{"error":{"code":"X","message":"x"}}' })
    })
    await leaveTill(page)
    await enterAs(page, /^(?!.*Zoe)/)
    await page.locator('#sale').waitFor()
    await leaveTill(page)
    await enterAs(page, 'Zoe')
    await page.locator('#sale').waitFor()
    assert.ok(refused > 0)
    await page.unroute('**/auth/sign-out')
    await eventually(
      () => countCookies(context),
      (count) => count === 1,
    )
    assert.equal(await page.evaluate("localStorage.getItem('till.left')"), '[]')
    await chargeOn(page, '704')
    await context.close()
  }
})

test('an order stays, also when another window was refused it later', async () => {
  const { page, context } = await world.openTill()
  const other = await openOther(context, 'sale')
  for (const one of [page, other])
    for (const path of ['**/healthz', '**/api/next/**']) await one.route(path, (route) => route.abort())
  await typeOn(page, 'keys', '722')
  await page.locator('#charge').click()
  await page.getByText('Waiting for the connection…').waitFor()
  await other.reload()
  await other.locator('#pay').waitFor()
  // here the request is slow, and a gateway refuses it in the end
  await other.unroute('**/api/next/**')
  await other.route('**/confirm_conversion/request', async (route) => {
    await sleep(6000)
    await route.fulfill({ status: 403, contentType: 'application/json', body: '{"error":{"code":"FORBIDDEN"}}' })
  })
  const asked = other.waitForRequest('**/confirm_conversion/request')
  await other.unroute('**/healthz')
  const refused = (await asked).response()
  for (const path of ['**/healthz', '**/api/next/**']) await page.unroute(path)
  await page.locator('#qr').waitFor()
  await refused
  await sleep(500)
  assert.match((await listKept(page)).join(), /"order":/)
  assert.equal(await other.locator('#qr').isVisible(), true)
  assert.equal(await world.countOrders(722), 1)
  await context.close()
})

test('of two windows that sell at once, neither loses a sale of the other', async () => {
  const { page, context } = await world.openTill()
  const other = await openOther(context, 'sale')
  for (const one of [page, other])
    await one.route('**/confirm_conversion/request', (route) =>
      route.fulfill({ status: 503, contentType: 'application/json', body: '{"error":{"code":"BUSY"}}' }),
    )
  const sellMany = (window: Page): Promise<unknown> =>
    window.evaluate(`(async () => {
      for (let count = 0; count < 40; count += 1) {
        for (const key of ['5', '0']) document.querySelector('#keys [data-key="' + key + '"]').click()
        document.getElementById('charge').click()
        await new Promise((resolve) => setTimeout(resolve, 20 + Math.random() * 40))
        document.getElementById('again').click()
      }
    })()`)
  await Promise.all([sellMany(page), sellMany(other)])
  assert.equal((await listKept(page)).length, 80)
  await context.close()
})

test('a sale whose request is under way waits for its answer, also where the device lost it meanwhile', async () => {
  const { page, context } = await world.openTill()
  const other = await openOther(context, 'sale')
  let held = Promise.withResolvers<void>()
  await page.route('**/confirm_conversion/request', async (route) => {
    await held.promise
    await route.continue()
  })
  for (const [digits, isDiscarded] of [
    ['899', false],
    ['898', true],
  ] as const) {
    held = Promise.withResolvers<void>()
    const asked = page.waitForRequest('**/confirm_conversion/request')
    await typeOn(page, 'keys', digits)
    await page.locator('#charge').click()
    await asked
    await other.evaluate(
      'for (const name of Object.keys(localStorage)) if (/sale/.test(name)) localStorage.removeItem(name)',
    )
    await sleep(500)
    assert.match((await page.locator('#state').textContent()) ?? '', /Making the code/)
    if (isDiscarded) await page.locator('#stop', { hasText: 'Discard' }).click()
    held.resolve()
    if (isDiscarded) continue
    await page.locator('#qr').waitFor()
    await page.locator('#again').click()
  }
  await eventually(
    () => world.shop.host.db.many(sql`select status from orders where from_units = 898`),
    (rows) => JSON.stringify(rows) === '[{"status":"CANCELLED"}]',
  )
  await context.close()
})

test('what the list of an earlier version has waiting is sent once, also what such a window adds later', async () => {
  const { page, context } = await world.openTill()
  const body = (amount: string) => ({ amount, fromAsset: 'EUR', merchantIdentifier: world.collector })
  const list = (key: string, amount: string) =>
    JSON.stringify([{ key: key.repeat(32), body: body(amount), at: Date.now(), tries: 1, discarded: false }])
  await page.evaluate(`localStorage.setItem('till.sales', ${JSON.stringify(list('a', '8.71'))})`)
  await page.reload()
  await page.locator('#qr').waitFor()
  const other = await openOther(context, 'sale')
  await other.evaluate(`localStorage.setItem('till.sales', ${JSON.stringify(list('b', '8.72'))})`)
  await page.reload()
  await page.locator('#qr').waitFor()
  assert.deepEqual([await world.countOrders(871), await world.countOrders(872)], [1, 1])
  assert.equal(await page.evaluate("localStorage.getItem('till.sales')"), null)
  await context.close()
})
