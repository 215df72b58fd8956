import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { sql } from '../../src/db/db.ts'
import { startBrowser } from '../harness/browser.ts'
import { enterOffice, goTo, jump } from '../harness/office.ts'
import { type OfficeWorld, openOffice } from '../harness/office-world.ts'
import { createPaid } from '../harness/refunds.ts'
import { eventually } from '../harness/service.ts'

/* What a screen shows is about what its address names: a period, an order. */

let world: OfficeWorld
let browser: Browser
before(async () => {
  world = await openOffice({ goods: 'Tea', alias: 'INV-1', company: 'Other', reason: 'came back' })
  browser = await startBrowser()
})
after(async () => {
  await browser?.close()
  await world?.stop()
})

const enter = async (path: string): Promise<Page> => {
  const { email } = world.people.Manager
  return (await enterOffice(browser, world.shop.host.baseUrl, { email, path, freshLogin: true })).page
}

test('while a period of the books is loading, no figures of another stand under its dates, and none are printed', async () => {
  const page = await enter('/money?tab=books')
  const owed = page.getByRole('row', { name: /^Owed to you/ })
  const print = page.getByRole('button', { name: 'Print the statement' })
  const before = await owed.innerText()
  let answer = (): void => undefined
  const held = new Promise<void>((resolve) => {
    answer = resolve
  })
  await page.route(/ledger\?.*from=/, async (route) => {
    await held
    await route.continue().catch(() => undefined)
  })
  await page.getByLabel('From', { exact: true }).fill('2030-01-01')
  await owed.waitFor({ state: 'hidden' })
  assert.ok(await print.isDisabled())
  answer()
  await owed.waitFor()
  assert.notEqual(await owed.innerText(), before)
  assert.ok(await print.isEnabled())
})

test('the way back in the books changes the dates with the figures, and a date is typed as anywhere', async () => {
  const page = await enter('/money?tab=books')
  const from = page.getByLabel('From', { exact: true })
  await page.getByRole('row', { name: /^Owed to you/ }).waitFor()
  await from.focus()
  // whichever of both the browser takes for the month
  await page.keyboard.type('02022030')
  await page.waitForURL(/from=2030-02-02/)
  assert.equal(await from.inputValue(), '2030-02-02')
  await from.fill('2030-03-01')
  await page.waitForURL(/from=2030-03-01/)
  await page.goBack()
  await page.waitForURL((url) => !url.search.includes('2030-03-01'))
  const shown = new URL(page.url()).searchParams.get('from') ?? ''
  await eventually(
    () => from.inputValue(),
    (value) => value === shown,
  )
})

test('a date is typed as anywhere, also where orders and webhooks are chosen', async () => {
  const page = await enter('/orders')
  await page.getByText('Filters', { exact: true }).click()
  for (const [label, there] of [
    ['Created from', ''],
    ['From', '/webhooks'],
  ] as const) {
    if (there) await jump(page, there)
    await page.getByLabel(label, { exact: true }).focus()
    await page.keyboard.type('02022030')
    await page.waitForURL(/from=2030-02-02/)
    assert.equal(await page.getByLabel(label, { exact: true }).inputValue(), '2030-02-02')
  }
})

/** Pages so small that the few rows here are many of them; `print` notes what would be on the paper. */
async function inSmallPages(page: Page, list: RegExp): Promise<() => Promise<{ rows: number; cut: number }>> {
  await page.route(list, (route) =>
    route.continue({
      url: route
        .request()
        .url()
        .replace(/limit=\d+/, 'limit=2'),
    }),
  )
  await page.evaluate(`window.print = () => { window.rows = document.querySelectorAll('tbody tr').length }`)
  return async () => {
    await eventually(
      () => page.evaluate('"rows" in window'),
      (isPrinted) => isPrinted === true,
    )
    await page.emulateMedia({ media: 'print' })
    const cut = await page
      .getByText(/^These are the first/)
      .filter({ visible: true })
      .count()
    await page.emulateMedia({ media: 'screen' })
    return { rows: Number(await page.evaluate('window.rows')), cut }
  }
}

test('a statement prints every line, also those that the screen does not show yet', async () => {
  const page = await enter('/money')
  const printed = await inSmallPages(page, /\/ledger\?/)
  await jump(page, '/money?tab=books')
  const rows = page.getByRole('region', { name: 'Entries' }).locator('tbody tr')
  await rows.first().waitFor()
  const [first, balances] = [await rows.count(), (await page.locator('tbody tr').count()) - (await rows.count())]
  const { shop } = world
  const { count } = await shop.host.db.one<{ count: number }>(sql`
    select count(*)::int as count from ledger_entries where company_id = ${shop.merchant.companyId}`)
  assert.ok(count > first, `${count} entries in several pages`)
  await page.getByRole('button', { name: 'Print the statement' }).click()
  assert.deepEqual(await printed(), { rows: balances + count, cut: 0 })
})

test('the balances of a statement are of the same moment as its last line, not as its first', async () => {
  const page = await enter('/money')
  let asked = 0
  await page.route(/\/ledger\?/, async (route) => {
    asked += 1
    const first = route
      .request()
      .url()
      .replace(/&after=\w+/, '')
    const { data } = (await (await route.fetch({ url: first })).json()) as { data: { balances: object[] } }
    const balances = data.balances.map((one) => ({ ...one, debit: `${asked}.000000` }))
    await route.fulfill({ json: { data: { ...data, balances, nextCursor: asked === 1 ? 'next' : null } } })
  })
  await jump(page, '/money?tab=books')
  const debits = page.getByRole('region', { name: 'Accounts' }).locator('tbody tr')
  await debits.first().getByText('1.00 USDC').waitFor()
  await page.getByRole('button', { name: 'Show more' }).click()
  await debits.first().getByText('2.00 USDC').waitFor()
})

test('a statement that is too long for paper says on it where it ends', async () => {
  const page = await enter('/money')
  const printed = await inSmallPages(page, /nothing/)
  let asked = 0
  let first = {}
  await page.route(/\/ledger\?/, async (route) => {
    asked += 1
    if (asked === 1) first = ((await (await route.fetch()).json()) as { data: object }).data
    await route.fulfill({ json: { data: { ...first, nextCursor: `${asked}` } } })
  })
  await jump(page, '/money?tab=books')
  await page.getByRole('region', { name: 'Entries' }).locator('tbody tr').first().waitFor()
  assert.equal(asked, 1)
  await page.getByRole('button', { name: 'Print the statement' }).click()
  assert.equal((await printed()).cut, 1)
  assert.equal(asked, 5)
})

test('a question about one order never acts on another, and names the one it is about', async () => {
  const first = await createPaid(world.shop, { amount: '40.00' })
  const second = await createPaid(world.shop, { amount: '90.00' })
  const page = await enter(`/orders/${first.code}`)
  await goTo(page, '/orders')
  await jump(page, `/orders/${second.code}`)
  await page.getByRole('button', { name: 'Refund', exact: true }).click()
  const title = (await page.getByRole('heading', { level: 1 }).innerText()).trim()
  await page
    .getByRole('dialog', { name: `Refund · ${title}` })
    .getByLabel(/^Amount in USDC/)
    .fill('25')
  await page.evaluate('history.go(-2)')
  await page.waitForURL(new RegExp(first.code))
  await page.getByRole('heading', { level: 1, name: title }).waitFor({ state: 'hidden' })
  await page.getByRole('button', { name: 'Refund', exact: true }).waitFor()
  assert.equal(await page.getByRole('dialog').count(), 0)
})

test('a negative balance is a debt, not ready to pay out; and what a refund without cover adds to it adds up', async () => {
  const order = await createPaid(world.shop, { amount: '50.00' })
  const { email } = world.people.SuperAdmin
  const path = `/money?company=${world.shop.merchant.companyId}`
  const { page } = await enterOffice(browser, world.shop.host.baseUrl, { email, path, freshLogin: true })
  await page.route(/\/ledger\?/, async (route) => {
    const answer = await route.fetch()
    const body = (await answer.json()) as { data: object }
    await route.fulfill({ json: { ...body, data: { ...body.data, payout: { ready: '-324.000000', kept: '0' } } } })
  })
  await page.reload()
  await page.getByText('The company owes you').waitFor()
  await page.getByText('324.00 USDC', { exact: true }).waitFor()
  assert.equal(await page.getByText('Ready to pay out').count(), 0)
  await jump(page, `/orders/${order.code}`)
  const figures = { needs: '54.000000', left: '6.480000', missing: '47.520000', owedAfter: '54.000000' }
  await page.route(/\/revert\//, async (route) => {
    if (route.request().method() === 'GET') return route.continue()
    const details = Object.entries(figures).map(([path, message]) => ({ path, message }))
    const error = { code: 'REFUND_NOT_COVERED', message: 'not covered', details }
    return route.fulfill({ status: 409, json: { success: false, data: null, error } })
  })
  await page.getByRole('button', { name: 'Refund', exact: true }).click()
  await page.getByRole('button', { name: /^Everything that is left/ }).click()
  await page.getByRole('button', { name: /^Refund .*USDC$/ }).click()
  await page.getByText('In that sum: 6.48 USDC of fees that never left you').waitFor()
  const proposal = page.getByRole('dialog', { name: 'Refund without cover' })
  assert.match((await proposal.innerText()).replace(/\s+/g, ' '), /Goes to The payer is asked for an address/)
})
