import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { BrowserContext, Route } from 'playwright-core'
import { sql } from '../../src/db/db.ts'
import { eventually } from '../harness/service.ts'
import { chargeOn, openTillWorld, PIN, type TillWorld, typeOn } from '../harness/till-world.ts'

/* A till whose connection comes and goes. */

let world: TillWorld
before(async () => {
  world = await openTillWorld()
})
after(() => world?.stop())

test('a sale without a connection waits, is sent once when it returns, and the till says so', async () => {
  const { page, context } = await world.openTill()
  await context.setOffline(true)
  await typeOn(page, 'keys', '333')
  await page.locator('#charge').click()
  await page.locator('#lost').waitFor()
  await page.getByText('Waiting for the connection…').waitFor()
  await context.setOffline(false)
  await page.locator('#qr').waitFor()
  assert.equal(await page.locator('#lost').isHidden(), true)
  assert.equal(await world.countOrders(333), 1)
  // given up before it ever left: no order at all
  await page.locator('#again').click()
  await context.setOffline(true)
  await typeOn(page, 'keys', '334')
  await page.locator('#charge').click()
  await page.locator('#lost').waitFor()
  await page.locator('#stop').click()
  await page.locator('#sale').waitFor()
  await context.setOffline(false)
  await page.locator('#lost').waitFor({ state: 'hidden' })
  const open = await world.shop.host.db.many(sql`
    select code from orders where from_units = 334 and status in ('INITIAL', 'PENDING', 'AWAITING')`)
  assert.deepEqual(open, [])
  await context.close()
})

test('a sale that waits is no longer typed: the next customer begins at nothing, a discarded one stands there again', async () => {
  const { page, context } = await world.openTill()
  const entry = async () => [await page.locator('#amount').textContent(), await page.locator('#reference').inputValue()]
  await context.setOffline(true)
  await page.locator('#reference').fill('Table 7')
  await typeOn(page, 'keys', '450')
  await page.locator('#charge').click()
  await page.getByText('Waiting for the connection…').waitFor()
  await page.locator('#again').click()
  assert.deepEqual(await entry(), ['€0.00', ''])
  await typeOn(page, 'keys', '500')
  assert.deepEqual(await entry(), ['€5.00', ''])
  await page.locator('#charge').click()
  await page.getByText('Waiting for the connection…').waitFor()
  await page.locator('#stop').click()
  assert.deepEqual(await entry(), ['€5.00', ''])
  await page.reload()
  await page.getByText('Waiting for the connection…').waitFor()
  await page.locator('#stop').click()
  assert.deepEqual(await entry(), ['€4.50', 'Table 7'], 'also after a reload')
  await context.setOffline(false)
  await page.locator('#lost').waitFor({ state: 'hidden' })
  await page.locator('#keys [data-key="back"]').click()
  await page.locator('#keys [data-key="back"]').click()
  await page.locator('#charge').click()
  await page.locator('#say', { hasText: 'The smallest amount is' }).waitFor()
  assert.deepEqual(await entry(), ['€0.04', 'Table 7'], 'a refused one is corrected')
  const open = await world.shop.host.db.many(sql`
    select code from orders where from_units in (450, 500) and status in ('INITIAL', 'PENDING', 'AWAITING')`)
  assert.deepEqual(open, [])
  await context.close()
})

test('two windows of a till: what one has sent, the other shows, and its button cancels; a discarded one is gone', async () => {
  const { page, context } = await world.openTill()
  const statuses = async (units: number) =>
    (await world.shop.host.db.many<{ status: string }>(sql`select status from orders where from_units = ${units}`)).map(
      ({ status }) => status,
    )
  const cutOff = async (): Promise<void> => {
    await page.route('**/healthz', (route) => route.abort())
    await page.route('**/api/next/**', (route) => route.abort())
  }
  await cutOff()
  await typeOn(page, 'keys', '999')
  await page.locator('#charge').click()
  await page.getByText('Waiting for the connection…').waitFor()
  const other = await context.newPage()
  await other.goto(`${world.shop.host.baseUrl}/till`)
  await other.locator('#qr').waitFor()
  await page.locator('#qr').waitFor()
  await page.unroute('**/healthz')
  await page.unroute('**/api/next/**')
  await page.locator('#stop', { hasText: 'Cancel the sale' }).click()
  await eventually(
    () => statuses(999),
    (all) => all.join() === 'CANCELLED',
  )
  await other.close()

  await page.locator('#sale').waitFor()
  await cutOff()
  await typeOn(page, 'keys', '998')
  await page.locator('#charge').click()
  await page.getByText('Waiting for the connection…').waitFor()
  const held = await context.newPage()
  await held.route('**/confirm_conversion/request', async (route) => {
    await route.fetch()
    await route.abort('connectionreset')
  })
  await held.goto(`${world.shop.host.baseUrl}/till`)
  await held.locator('#pay').waitFor()
  await eventually(
    () => statuses(998),
    (all) => all.length === 1,
  )
  await page.locator('#stop', { hasText: 'Discard' }).click()
  await held.locator('#sale').waitFor()
  await held.unroute('**/confirm_conversion/request')
  await eventually(
    () => statuses(998),
    (all) => all.join() === 'CANCELLED',
  )
  await context.close()
})

test('who signs out without a connection is out at the service as soon as it returns, also after a reload', async () => {
  const { page, context } = await world.openTill({ serviceWorkers: 'allow' })
  await page.evaluate('navigator.serviceWorker.ready')
  const live = () =>
    world.shop.host.db.many<{ id: string }>(sql`
      select id from sessions where kind = 'till' and revoked_at is null order by id desc limit 1`)
  const [own] = await live()
  await page.locator('#to-shift').click()
  await context.setOffline(true)
  await page.locator('#sign-out').click()
  await page.locator('#people').waitFor()
  await page.reload()
  await page.locator('#people').waitFor()
  await context.setOffline(false)
  await eventually(
    () => world.shop.host.db.many(sql`select id from sessions where id = ${own?.id} and revoked_at is not null`),
    (rows) => rows.length === 1,
  )
  await eventually(
    async () => (await context.cookies()).filter(({ name }) => /refreshToken/.test(name)),
    (cookies) => cookies.length === 0,
  )
  await page.locator('.name').first().click()
  await typeOn(page, 'pin-keys', PIN)
  await page.locator('#sale').waitFor()
  await chargeOn(page, '557')
  await context.close()
})

test('a sale that waits for the connection shows nothing of the sale before, also after a reload', async () => {
  const { page, context } = await world.openTill({ serviceWorkers: 'allow' })
  await page.evaluate('navigator.serviceWorker.ready')
  const code = await chargeOn(page, '335')
  const headers = { authorization: `Bearer ${world.boss.client.token}` }
  const body = { paymentChannel: 'crypto', network: world.shop.chain.chainId }
  const { host, chain, makeFinal } = world.shop
  const { data } = await host.call<{ toAddress: string }>('POST', `accept/${code}`, { headers, body })
  await chain.pay({ to: data.toAddress, units: 10_000_000n })
  await page.locator('body[data-state=seen]').waitFor()
  await makeFinal()
  await page.locator('#receipt').waitFor()
  await page.locator('#again').click()
  await context.setOffline(true)
  await typeOn(page, 'keys', '336')
  await page.locator('#charge').click()
  const text = page.locator('#pay')
  const ofNothing = async (): Promise<void> => {
    await page.getByText('Waiting for the connection…').waitFor()
    assert.doesNotMatch(await text.innerText(), /Code to read aloud|Receipt|Scan/)
    assert.equal(await page.locator('#qr').isHidden(), true)
  }
  await ofNothing()
  await page.reload()
  await ofNothing()
  await context.setOffline(false)
  await page.locator('#qr').waitFor()
  assert.match(await text.innerText(), /Code to read aloud: \w+/)
  await context.close()
})

test('a sale without an answer for hours is not sent again: the till shows it, and the cashier decides', async () => {
  const { page, context } = await world.openTill()
  await page.route('**/confirm_conversion/request', async (route) => {
    await route.fetch()
    await route.abort('connectionreset')
  })
  await typeOn(page, 'keys', '337')
  await page.locator('#charge').click()
  await eventually(
    () => world.countOrders(337),
    (count) => count === 1,
  )
  // over the weekend the service forgets the key
  await page.goto('about:blank')
  await world.shop.host.db.run(sql`delete from idempotency_keys`)
  await page.unroute('**/confirm_conversion/request')
  await page.addInitScript(`if (!sessionStorage.getItem('aged')) {
    sessionStorage.setItem('aged', 'yes')
    for (const [name, text] of Object.entries(localStorage))
      if (name.startsWith('till.sale.')) {
        const sale = JSON.parse(text)
        localStorage.setItem(name, JSON.stringify({ ...sale, at: sale.at - 49 * 3600000 }))
      }
  }`)
  await page.goto(`${world.shop.host.baseUrl}/till`)
  await page.getByText(/may have arrived, and is not sent again/).waitFor()
  assert.match(await page.locator('#pay').innerText(), /3\.37/)
  // the next sale is not held up by it
  await page.locator('#again').click()
  await chargeOn(page, '338')
  await page.reload()
  await page.getByText(/may have arrived, and is not sent again/).waitFor()
  await page.locator('#stop').click()
  await page.locator('#sale').waitFor()
  await page.reload()
  await page.locator('#sale').waitFor()
  assert.deepEqual([await world.countOrders(337), await world.countOrders(338)], [1, 1])
  await context.close()
})

test('a sale that the service never takes holds up none of the sales after it, discarded or not', async () => {
  const { page, context } = await world.openTill()
  let refused = 0
  await page.route('**/confirm_conversion/request', async (route) => {
    if (!/"7\.11"/.test(route.request().postData() ?? '')) return route.continue()
    refused += 1
    return route.fulfill({ status: 500, contentType: 'application/json', body: '{"error":{"code":"INTERNAL_ERROR"}}' })
  })
  await typeOn(page, 'keys', '711')
  await page.locator('#charge').click()
  await eventually(
    async () => refused,
    (count) => count >= 2,
  )
  await page.locator('#again').click()
  await chargeOn(page, '712')
  await page.reload()
  await page.locator('#stop', { hasText: 'Discard' }).click()
  for (let count = 0; count < 3; count += 1) await page.locator('#keys [data-key="back"]').click()
  await chargeOn(page, '713')
  const before = refused
  await eventually(
    async () => refused,
    (count) => count > before,
  )
  assert.deepEqual(
    [await world.countOrders(711), await world.countOrders(712), await world.countOrders(713)],
    [0, 1, 1],
  )
  await context.close()
})

test('a sale whose request never gets an answer holds up none of the sales after it', async () => {
  const { page, context } = await world.openTill()
  let hung = 0
  await page.route('**/confirm_conversion/request', async (route) => {
    if (!/"8\.41"/.test(route.request().postData() ?? '')) return route.continue()
    hung += 1
  })
  await typeOn(page, 'keys', '841')
  await page.locator('#charge').click()
  await page.locator('#pay').waitFor()
  await page.locator('#again').click()
  await typeOn(page, 'keys', '842')
  await page.locator('#charge').click()
  await page.locator('#qr').waitFor({ timeout: 25_000 })
  await eventually(
    async () => hung,
    (count) => count >= 2,
  )
  // while it has no answer again
  await page.locator('#again').click()
  await typeOn(page, 'keys', '843')
  await page.locator('#charge').click()
  await page.locator('#qr').waitFor({ timeout: 5000 })
  assert.equal(await page.locator('#lost').isHidden(), true)
  await context.close()
})

test('half an answer, and the pages of a public network or a gateway, refuse no sale', async () => {
  const { page, context } = await world.openTill()
  const answers = [
    { status: 200, body: '{"success":true,"data":{"co' },
    { status: 200, body: '<!doctype html><title>Welcome to our Wi-Fi</title>' },
    { status: 401, body: 'Sign in first' },
    { status: 404, body: '<h1>default backend</h1>' },
  ]
  await page.route('**/confirm_conversion/request', async (route) => {
    const answer = answers.shift()
    if (answer === undefined) return route.continue()
    await route.fetch()
    return route.fulfill({ contentType: 'application/json', ...answer })
  })
  await chargeOn(page, '844')
  assert.deepEqual([answers, await world.countOrders(844)], [[], 1])
  await context.close()
})

test('a sale that the cashier gave up is cancelled up to two days later, also one of an earlier version', async () => {
  const { page, context } = await world.openTill()
  const made = { 339: 'undefined', 340: 'sale.at - 5 * 3600000' }
  for (const [cents, at] of Object.entries(made)) {
    await page.route('**/confirm_conversion/request', async (route) => {
      await route.fetch()
      await route.abort('connectionreset')
    })
    await typeOn(page, 'keys', cents)
    await page.locator('#charge').click()
    await eventually(
      () => world.countOrders(Number(cents)),
      (count) => count === 1,
    )
    await page.evaluate(`addEventListener('pagehide', () => {
      const names = Object.keys(localStorage).filter((name) => name.startsWith('till.sale.'))
      const sales = names.map((name) => JSON.parse(localStorage.getItem(name))).filter(({ outcome }) => !outcome)
      for (const name of names) localStorage.removeItem(name)
      localStorage.setItem('till.sales', JSON.stringify(sales.map((sale) => ({ ...sale, at: ${at}, discarded: true }))))
    })`)
    await page.unroute('**/confirm_conversion/request')
    await page.reload()
    await eventually(
      () => world.shop.host.db.many(sql`select status from orders where from_units = ${Number(cents)}`),
      (rows) => JSON.stringify(rows) === '[{"status":"CANCELLED"}]',
    )
    await page.locator('#sale').waitFor()
  }
  await context.close()
})

test('the till opens without a connection, and keeps no answer of the API', async () => {
  const { page, context } = await world.openTill({ serviceWorkers: 'allow' })
  await page.evaluate('navigator.serviceWorker.ready')
  const kept = await eventually(
    () =>
      page.evaluate(`caches.keys().then((names) => Promise.all(names.map((name) => caches.open(name)
        .then((cache) => cache.keys()))).then((lists) => lists.flat().map(({ url }) => new URL(url).pathname)))`),
    (paths) => (paths as string[]).length >= 10,
  )
  assert.ok(
    (kept as string[]).every((path) => path.startsWith('/till')),
    String(kept),
  )
  await context.setOffline(true)
  await page.reload()
  await page.locator('#sale').waitFor()
  await page.locator('#lost').waitFor()
  await context.close()
})

/** The till's own module, in the page. */
const SALES = `import(document.querySelector('script[type=module]').src.replace('app.js', 'sales.js'))`

/** Ten cuts: requests that never arrive, and answers that are lost on their way back. */
async function cutSometimes(context: BrowserContext, everyNth: number): Promise<{ cuts: () => number }> {
  let requests = 0
  let cuts = 0
  await context.route('**/confirm_conversion/request', async (route: Route) => {
    requests += 1
    if (requests % everyNth !== 0 || cuts >= 10) return route.continue()
    cuts += 1
    if (cuts % 2 === 0) await route.fetch()
    return route.abort('connectionreset')
  })
  return { cuts: () => cuts }
}

test('a day of 200 sales with the connection cut ten times ends with nothing lost or doubled', async () => {
  const { page, context } = await world.openTill()
  const { cuts } = await cutSometimes(context, 19)
  // the till's own module, as the button calls it; each sale has an amount of its own
  const sellFrom = (from: number, to: number): Promise<unknown> =>
    page.evaluate(`${SALES}.then(async ({ sell }) => {
      const all = []
      for (let index = ${from}; index < ${to}; index += 1)
        all.push(sell({ amount: '70.' + String(index % 100).padStart(2, '0'), goods: { goodsName: 'sale ' + index },
          fromAsset: 'EUR', merchantIdentifier: '${world.collector}' }).order)
      await Promise.all(all)
    })`)
  await sellFrom(0, 100)
  // the battery dies in the middle: what was not confirmed goes on after the restart
  const half = sellFrom(100, 150).catch(() => {})
  await page.waitForTimeout(150)
  await page.reload()
  await half
  await page.locator('#bar').waitFor()
  await sellFrom(150, 200)
  await eventually(
    () => page.evaluate(`${SALES}.then(({ listWaiting }) => listWaiting().length)`),
    (left) => left === 0,
  )
  const sold = await world.shop.host.db.many<{ name: string; count: number }>(sql`
    select goods->>'goodsName' as name, count(*)::int as count from orders
    where goods->>'goodsName' like 'sale %' group by 1`)
  assert.equal(cuts(), 10)
  assert.equal(sold.length, 200)
  assert.deepEqual(
    sold.filter(({ count }) => count !== 1),
    [],
  )
  await context.close()
})
