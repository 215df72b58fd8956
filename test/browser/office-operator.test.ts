import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { sql } from '../../src/db/db.ts'
import type { UserRole } from '../../src/http/actor.ts'
import { HOUR } from '../../src/kernel/clock.ts'
import { listAxeFaults, listFaultsOfBothSchemes } from '../harness/axe.ts'
import { startBrowser, visit } from '../harness/browser.ts'
import { DESK, enterOffice, goTo } from '../harness/office.ts'
import { HOSTILE, type OfficeWorld, openOffice } from '../harness/office-world.ts'
import { createPaid } from '../harness/refunds.ts'

/* What the operator sees, and axe on the pages that the walk through all screens does not reach. */

let world: OfficeWorld
let browser: Browser

before(async () => {
  world = await openOffice()
  browser = await startBrowser()
})
after(async () => {
  await browser?.close()
  await world?.stop()
})

const enter = (role: UserRole, path = '') =>
  enterOffice(browser, world.shop.host.baseUrl, { email: world.people[role].email, path })

test('the operator reads doctor’s list, queues, processes, and how each endpoint of a chain answers', async () => {
  const { page, leave } = await enter('SuperAdmin', '/operator?tab=system')
  for (const name of ['database', 'schema', 'mail']) await page.getByText(name, { exact: true }).waitFor()
  const row = page.getByRole('row', { name: /Mispayments to decide/ })
  assert.match(await row.innerText(), /\b1\b/, 'the underpaid order waits')
  const chain = page.getByRole('region', { name: /\(31337\)$/ })
  assert.match(await chain.innerText(), /Up to date/)
  assert.match(await chain.getByRole('row').nth(1).innerText(), /^1\s+Answers\s+\d+/)
  assert.deepEqual(await listFaultsOfBothSchemes(page), [])
  await leave()
})

test('wallets show what is left and what may leave, and the plan of a sweep moves nothing', async () => {
  const { page, leave } = await enter('SuperAdmin', '/operator?tab=wallets')
  const wallet = page.getByRole('region', { name: /^Pays refunds and settlements/ })
  await wallet.getByText('Enough').waitFor({ timeout: 90_000 })
  assert.match(await wallet.innerText(), /USDC/)
  await page.getByRole('region', { name: /^Pays for gas/ }).waitFor()
  const limits = page.getByRole('region', { name: 'What may leave' })
  assert.match(await limits.innerText(), /Payouts go to\s+any address/)
  await page.getByRole('button', { name: 'Make a plan' }).click()
  await page.getByText('Nothing was moved. To move it:').waitFor()
  await page.getByText('Addresses to empty (2)').click()
  await page.getByText('Stays where it is (1)').click()
  await page.getByText('its order is AWAITING').waitFor()
  assert.equal((await world.shop.host.db.many(sql`select 1 from sweeps`)).length, 0)
  assert.deepEqual(await listFaultsOfBothSchemes(page), [])
  await leave()
})

test('a company’s limits are changed in place, and none of them changes by accident', async () => {
  const { page, leave } = await enter('SuperAdmin', '/operator')
  const { db } = world.shop.host
  const { companyId } = world.shop.merchant
  const read = async () => {
    const row = await db.one<{ facts: Record<string, unknown> }>(
      sql`select to_jsonb(c) as facts from companies c where id = ${companyId}`,
    )
    return row.facts
  }
  const before = await read()
  await page.getByRole('article').filter({ hasText: 'Söhne' }).getByRole('button', { name: 'Limits' }).click()
  const dialog = page.getByRole('dialog')
  assert.deepEqual(await listFaultsOfBothSchemes(page), [])
  await dialog.getByLabel('Largest order').fill('2500')
  await dialog.getByLabel('Manager: at once', { exact: true }).fill('50')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved', { exact: true }).waitFor()
  const after = await read()
  const changed = Object.keys(after).filter((name) => JSON.stringify(after[name]) !== JSON.stringify(before[name]))
  assert.deepEqual(changed.sort(), ['max_order_amount', 'refund_limits', 'updated_at', 'version'])
  assert.deepEqual(
    [Number(after.max_order_amount), after.refund_limits],
    [2500, { Manager: { single: '50.000000', day: null } }],
  )
  await leave()
})

test('a thousands separator in a limit is asked about and never read as a decimal point', async () => {
  const { page, leave } = await enter('SuperAdmin', '/operator?lang=de')
  const { db } = world.shop.host
  const { companyId } = world.shop.merchant
  const read = () =>
    db.one<Record<'reserve' | 'most' | 'missing' | 'alone', string> & { fee: number }>(sql`
      select reserve_units::text as reserve, max_order_amount::text as most, fee_bps as fee,
        tolerance_max_units::text as missing, refund_limit_units::text as alone
      from companies where id = ${companyId}`)
  await page.getByRole('article').filter({ hasText: 'Söhne' }).getByRole('button', { name: 'Grenzen' }).click()
  const dialog = page.getByRole('dialog')
  const field = (name: string) => dialog.locator(`input[name=${name}]`)
  const before = await read()
  await field('settlementReserve').fill('10.000')
  await field('maxOrderAmount').fill('10.000')
  await dialog.getByRole('button', { name: 'Speichern' }).click()
  const asked = dialog.getByRole('alert').filter({ hasText: '10.000 ist nicht eindeutig. Schreiben Sie 10000,' })
  await asked.nth(1).waitFor()
  assert.equal(await page.evaluate('document.activeElement?.name'), 'maxOrderAmount', 'the first fault has the focus')
  assert.deepEqual(await read(), before)
  await field('settlementReserve').fill('1.234,50')
  await field('maxOrderAmount').fill('10 000,50')
  await field('fee').fill('1,25')
  assert.equal(await field('toleranceMax').inputValue(), '1,000000')
  await field('toleranceMax').fill('2,50')
  await field('refundStepUpLimit').fill('7500')
  assert.equal(await asked.count(), 0)
  await dialog.getByRole('button', { name: 'Speichern' }).click()
  await dialog.waitFor({ state: 'detached' })
  const after = await read()
  assert.deepEqual([after.reserve, Number(after.most), after.fee], ['1234500000', 10_000.5, 125])
  assert.deepEqual([after.missing, after.alone], ['2500000', '7500000000'])
  // it shows what it takes, as the reader writes it
  await page.getByRole('article').filter({ hasText: 'Söhne' }).getByRole('button', { name: 'Grenzen' }).click()
  assert.deepEqual(
    [await field('settlementReserve').inputValue(), await field('fee').inputValue()],
    ['1234,500000', '1,25'],
  )
  await dialog.getByRole('button', { name: 'Speichern' }).click()
  await dialog.waitFor({ state: 'detached' })
  assert.deepEqual(await read(), after)
  // its managers read what counts for them
  await goTo(page, `/shop?company=${companyId}&tab=rules`)
  await page.getByText('0,5 %, höchstens 2,50 USDC', { exact: true }).waitFor()
  await page.getByText('7.500,00 USDC', { exact: true }).waitFor()
  await leave()
})

test('what the operator announces stands above every page of every role as text, until it is taken down', async () => {
  const { page, leave } = await enter('SuperAdmin', '/operator?tab=announcements')
  const words = `Pause tonight ${HOSTILE}`
  await page.getByLabel('What everybody should know').fill(words)
  await page.getByLabel('Kind').selectOption('warn')
  await page.getByRole('button', { name: 'Announce it' }).click()
  await page.getByText('Everybody sees it within a minute.').waitFor()
  for (const role of ['Cashier', 'Manager'] as const) {
    const other = await enter(role, '/orders')
    await other.page.locator('#content').getByText(words).waitFor()
    assert.equal(await other.page.evaluate('"hacked" in window'), false)
    assert.deepEqual(await listAxeFaults(other.page), [])
    await other.leave()
  }
  await page.getByRole('button', { name: 'Take it down' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Take it down' }).click()
  await page.getByText('Nothing is announced.').waitFor()
  await leave()
})

test('an announcement with a typed date stands until then, in the time of whoever typed it', async () => {
  const { page, leave } = await enter('SuperAdmin', '/operator?tab=announcements')
  const { db } = world.shop.host
  const typed = new Date(Date.now() + 50 * HOUR).toISOString().slice(0, 16)
  await page.getByLabel('What everybody should know').fill('Pause this week')
  await page.getByLabel('Until').fill(typed)
  await page.getByRole('button', { name: 'Announce it' }).click()
  await page.getByText('Everybody sees it within a minute.').waitFor()
  const item = page.getByRole('listitem').filter({ hasText: 'Pause this week' })
  const [{ endsAt } = { endsAt: null }] = await db.many<{ endsAt: Date | null }>(
    sql`select ends_at from announcements where text = 'Pause this week'`,
  )
  const seen = await page.evaluate((time) => new Date(time).toISOString(), typed)
  assert.equal(endsAt?.toISOString(), seen)
  assert.equal(await item.locator('time').getAttribute('datetime'), seen)
  assert.equal(await page.getByLabel('Until').inputValue(), '', 'the next one has no date')
  await db.run(sql`update announcements set ends_at = now() - interval '1 second' where text = 'Pause this week'`)
  await page.reload()
  await page.getByText('Nothing is announced.').waitFor()
  await leave()
})

test('the audit log is found by a person’s e-mail, proves itself whole, and names the entry that was changed', async () => {
  const { page, leave } = await enter('SuperAdmin', '/audit')
  await page.getByLabel('Who').fill(world.people.Cashier.email)
  await page.locator('summary').getByText('Carl Kasse').first().waitFor()
  await page.getByRole('button', { name: 'Prove that nothing is missing' }).click()
  await page.getByText(/^All \d+ entries are as they were written/).waitFor()
  await world.shop.host.db.tx(async (tx) => {
    // who owns the database can do that; the chain shows it
    await tx.run(sql`alter table audit_log disable trigger all`)
    await tx.run(sql`update audit_log set actor = 'user:somebody' where seq = 3`)
    await tx.run(sql`alter table audit_log enable trigger all`)
  })
  await page.getByRole('button', { name: 'Prove that nothing is missing' }).click()
  await page.getByText(/^Broken at entry 3/).waitFor()
  await leave()
})

/** Dialogs by the page they open on and the button that opens them. */
const DIALOGS: [string, (page: Page) => Promise<void>][] = [
  ['/keys', (page) => page.getByRole('button', { name: 'New key' }).first().click()],
  ['/people', (page) => page.getByRole('button', { name: 'Invite someone' }).click()],
  ['/account', (page) => page.getByRole('button', { name: 'Add a passkey' }).click()],
  [
    '/webhooks',
    (page) =>
      page
        .getByRole('button', { name: /^order\.paid/ })
        .first()
        .click(),
  ],
  ['/refunds', (page) => page.getByRole('button', { name: 'Propose an address' }).first().click()],
  ['/mispayments', (page) => page.getByRole('button', { name: 'Accept', exact: true }).first().click()],
  ['/shop?tab=channels', (page) => page.getByRole('button', { name: 'Words and limits' }).click()],
  ['/shop?tab=channels', (page) => page.getByRole('button', { name: 'Use your own wallet' }).click()],
  ['/shop?tab=tills', (page) => page.getByRole('button', { name: 'Add a till' }).click()],
  ['/money?tab=books', (page) => page.locator('td button').first().click()],
]

test('axe finds no fault on open dialogs, in both schemes', async () => {
  const { page, leave } = await enter('Manager')
  const faults: string[] = []
  for (const [path, open] of DIALOGS) {
    await goTo(page, path)
    await open(page)
    await page.getByRole('dialog').waitFor()
    faults.push(...(await listFaultsOfBothSchemes(page)).map((fault) => `${path}: ${fault}`))
    await page.keyboard.press('Escape')
  }
  assert.deepEqual(faults, [])
  await leave()
})

test('money that left its chain after it counted is decided about on the screen: who bears the loss, and why', async () => {
  const { shop } = world
  // no reorganisation takes the wallets' money away
  await shop.chain.mine(10)
  const { code } = await createPaid(shop, { amount: '33.00' })
  await shop.chain.reorg(4)
  const { page, leave } = await enter('SuperAdmin', `/mispayments?status=open&company=${shop.merchant.companyId}`)
  const card = page.locator('article', { hasText: 'left the chain' })
  await card.waitFor()
  for (const name of ['Accept', 'Refund', 'Ignore']) assert.equal(await card.getByRole('button', { name }).count(), 0)
  await card.getByRole('button', { name: 'Decide who bears it' }).click()
  const dialog = page.getByRole('dialog')
  assert.deepEqual(await listFaultsOfBothSchemes(page), [])
  await dialog.getByLabel('Who bears the loss').selectOption('operator')
  await dialog.getByLabel(/^Reason/).fill('the node told us too early')
  await dialog.getByRole('button', { name: 'Decide who bears it' }).click()
  await card.waitFor({ state: 'detached' })
  await goTo(page, `/mispayments?company=${shop.merchant.companyId}`)
  const decided = page.locator('article', { hasText: 'The operator bears the loss.' })
  await decided.getByText('the node told us too early').waitFor()
  const rows = await shop.host.db.many<{ borneBy: string; decidedBy: string }>(sql`
    select m.borne_by, m.decided_by from mispayments m join orders o on o.id = m.order_id where o.code = ${code}`)
  assert.deepEqual(rows, [{ borneBy: 'operator', decidedBy: `user:${world.people.SuperAdmin.id}` }])
  await leave()
})

test('axe finds no fault on the pages before the login', async () => {
  const faults: string[] = []
  for (const path of ['/login', '/register', '/forgot', '/reset?token=x', '/invitation?token=x', '/verify?token=x']) {
    const { page, context } = await visit(browser, `${world.shop.host.baseUrl}/app${path}`, DESK)
    await page.locator('h1').first().waitFor()
    faults.push(...(await listFaultsOfBothSchemes(page)).map((fault) => `${path}: ${fault}`))
    await context.close()
  }
  assert.deepEqual(faults, [])
})
