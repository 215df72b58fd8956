import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { sql } from '../../src/db/db.ts'
import { eventually } from '../harness/service.ts'
import {
  chargeOn,
  cutOff,
  enterAs,
  leaveTill,
  openTillWorld,
  reconnect,
  type TillWorld,
  typeOn,
} from '../harness/till-world.ts'

/* Several people at one till: whose sale it is, whose shift, and who is told of a refusal. */

let world: TillWorld
let zoe: string
before(async () => {
  world = await openTillWorld()
  zoe = await world.hire('Zoe')
})
after(() => world?.stop())

const ADA = /^(?!.*Zoe)/

const personOn = async (page: Page): Promise<string> =>
  JSON.parse(String(await page.evaluate("localStorage.getItem('till.user')")))._id

/** Charged without a connection; the sale screen stands there for the next one. */
async function chargeOffline(page: Page, digits: string): Promise<void> {
  await typeOn(page, 'keys', digits)
  await page.locator('#charge').click()
  await page.getByText('Waiting for the connection…').waitFor()
  await page.locator('#again').click()
}

const listMade = (units: number) =>
  world.shop.host.db.many<{ createdBy: string; soldBy: string | null }>(sql`
    select o.created_by, e.facts ->> 'soldBy' as sold_by
    from orders o join order_events e on e.company_id = o.company_id and e.order_id = o.id and e.seq = 1
    where o.from_units = ${units} and o.company_id = ${world.boss.companyId}`)

const noteOf = (page: Page, sum: string) => page.locator('#notes li', { hasText: sum })

test('a sale that one cashier charged without a connection waits for that cashier, or for whoever takes it over', async () => {
  const { page, context } = await world.openTill()
  await page.reload()
  await page.locator('#sale').waitFor()
  const ada = await personOn(page)
  assert.notEqual(ada, zoe)
  await cutOff(page)
  for (const digits of ['831', '832', '833']) await chargeOffline(page, digits)
  await leaveTill(page)
  await page.locator('.name', { hasText: 'a sale waits for you' }).waitFor()
  await reconnect(page)
  await page.locator('#lost').waitFor({ state: 'hidden' })
  await enterAs(page, 'Zoe')
  await noteOf(page, '8.31')
    .getByText(/A sale of .* waits here/)
    .waitFor()
  assert.equal(await page.locator('#notes li').count(), 3)
  // given back: nothing leaves before its person is there
  await leaveTill(page)
  assert.deepEqual([await listMade(831), await listMade(832), await listMade(833)], [[], [], []])
  // a session that ended, a cashier who is gone: a colleague takes it over, also after a reload
  await enterAs(page, 'Zoe')
  await noteOf(page, '8.32').waitFor()
  await page.reload()
  await noteOf(page, '8.32').locator('button').click()
  await page.locator('#qr').waitFor()
  assert.deepEqual(await listMade(832), [{ createdBy: zoe, soldBy: ada }])
  const { orders } = (
    await world.boss.client.get<{ orders: { code: string; fromAmount: string }[] }>('confirm_conversion')
  ).data
  const code = orders.find(({ fromAmount }) => fromAmount === '8.32')?.code
  type Story = { entries: { facts: { soldBy?: string | null } }[] }
  const story = (await world.boss.client.get<Story>(`confirm_conversion/story/${code}`)).data
  assert.equal(story.entries.filter(({ facts }) => facts.soldBy).length, 1)
  // taken over and discarded: it never left, so it is forgotten
  await page.locator('#again').click()
  await page.route('**/api/next/**', (route) => route.abort())
  await noteOf(page, '8.33').locator('button').click()
  await page.locator('#stop', { hasText: 'Discard' }).click()
  await page.unroute('**/api/next/**')
  await leaveTill(page)
  await enterAs(page, ADA)
  await page.locator('#qr').waitFor()
  assert.deepEqual(await listMade(831), [{ createdBy: ada, soldBy: null }])
  assert.equal(await page.locator('#notes li').count(), 0)
  await context.close()
})

test('a sale taken over whose first request had arrived stays the order of the colleague', async () => {
  const { page, context } = await world.openTill()
  await page.route('**/confirm_conversion/request', async (route) => {
    await route.fetch()
    await cutOff(page)
    await route.abort('connectionreset')
  })
  await typeOn(page, 'keys', '834')
  await page.locator('#charge').click()
  await eventually(
    () => world.countOrders(834),
    (count) => count === 1,
  )
  const ada = await personOn(page)
  await page.locator('#again').click()
  await leaveTill(page)
  await page.unroute('**/confirm_conversion/request')
  await reconnect(page)
  await enterAs(page, 'Zoe')
  await noteOf(page, '8.34').locator('button').click()
  await page.locator('#qr').waitFor()
  assert.deepEqual(await listMade(834), [{ createdBy: ada, soldBy: null }])
  await context.close()
})

test('a PIN typed and backed out of in another window leaves the shift as it was; signing out ends it', async () => {
  const { page, context } = await world.openTill()
  const shift = async (): Promise<string> => {
    await page.locator('#to-shift').click()
    await page.locator('#facts dd').nth(2).waitFor()
    const text = await page.locator('#facts').innerText()
    await page.locator('#to-sale').click()
    return text
  }
  await leaveTill(page)
  const other = await context.newPage()
  await other.goto(`${world.shop.host.baseUrl}/till`)
  await other.locator('#people').waitFor()
  await enterAs(page, ADA)
  await page.locator('#sale').waitFor()
  await chargeOn(page, '852')
  const before = await shift()
  assert.match(before, /Waiting for payment\s+1/)
  await other.route('**/till/sign-in', async (route) => {
    await sleep(800)
    await route.continue()
  })
  for (let count = 0; count < 2; count += 1) {
    const answered = other.waitForResponse('**/till/sign-in')
    await enterAs(other, ADA)
    await other.locator('#pin-back').click()
    await (await answered).finished()
  }
  await sleep(500)
  assert.equal(await shift(), before)
  // out, while the service cannot be told: the next sign-in tells it first
  await page.route('**/auth/sign-out', (route) => route.abort())
  await leaveTill(page)
  await page.unroute('**/auth/sign-out')
  await enterAs(page, ADA)
  await page.locator('#sale').waitFor()
  assert.match(await shift(), /Waiting for payment\s+0/)
  await context.close()
})

test('every waiting sale that is refused after a reload is said, and stands there for its person until it is read', async () => {
  const { page, context } = await world.openTill()
  await cutOff(page)
  for (const digits of ['861', '4', '5']) await chargeOffline(page, digits)
  await page.reload()
  await page.getByText('Waiting for the connection…').waitFor()
  await reconnect(page)
  await page.locator('#qr').waitFor()
  await page.locator('#say', { hasText: /€0\.05: The smallest amount is/ }).waitFor()
  await page.locator('#again').click()
  const refused = page.locator('#notes li', { hasText: 'The smallest amount is' })
  await noteOf(page, '€0.04').waitFor()
  assert.equal(await refused.count(), 2)
  await leaveTill(page)
  await enterAs(page, 'Zoe')
  await page.locator('#sale').waitFor()
  assert.equal(await refused.count(), 0)
  await leaveTill(page)
  await page.reload()
  await enterAs(page, ADA)
  await noteOf(page, '€0.04').locator('button').click()
  await eventually(
    () => refused.count(),
    (count) => count === 1,
  )
  await page.reload()
  await noteOf(page, '€0.05').waitFor()
  assert.equal(await refused.count(), 1)
  // one that is on the screen is said there
  await noteOf(page, '€0.05').locator('button').click()
  await typeOn(page, 'keys', '6')
  await page.locator('#charge').click()
  await page.locator('#say', { hasText: 'The smallest amount is' }).waitFor()
  assert.equal(await refused.count(), 0)
  assert.equal(await page.locator('#amount').textContent(), '€0.06')
  await context.close()
})

test('what one person’s request has begun is not sent with the token of the next', async () => {
  const { page, context } = await world.openTill()
  const ada = await personOn(page)
  // after a reload the sale waits for a new token, and meanwhile Zoe comes
  await page.reload()
  await page.locator('#sale').waitFor()
  const held = Promise.withResolvers<void>()
  await page.route('**/auth/refresh-token', async (route) => {
    const answer = await route.fetch()
    await held.promise
    await route.fulfill({ response: answer })
  })
  const asked = page.waitForRequest('**/auth/refresh-token')
  await typeOn(page, 'keys', '835')
  await page.locator('#charge').click()
  await asked
  await page.locator('#again').click()
  await leaveTill(page)
  await enterAs(page, 'Zoe')
  await page.locator('#sale').waitFor()
  held.resolve()
  await noteOf(page, '8.35').waitFor()
  await page.waitForTimeout(1000)
  assert.deepEqual(await listMade(835), [])
  await page.unroute('**/auth/refresh-token')
  await leaveTill(page)
  await enterAs(page, ADA)
  await page.locator('#qr').waitFor()
  assert.deepEqual(await listMade(835), [{ createdBy: ada, soldBy: null }])
  await context.close()
})
