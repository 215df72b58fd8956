import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { sql } from '../../src/db/db.ts'
import type { UserRole } from '../../src/http/actor.ts'
import { listAxeFaults } from '../harness/axe.ts'
import { startBrowser, visit } from '../harness/browser.ts'
import { DESK, enterOffice, goTo } from '../harness/office.ts'
import { HOSTILE, type OfficeWorld, openOffice } from '../harness/office-world.ts'

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

test('the operator reads doctor’s list, queues and processes, and axe finds no fault', async () => {
  const { page, context } = await enter('SuperAdmin', '/operator')
  for (const name of ['database', 'schema', 'mail']) await page.getByText(name, { exact: true }).waitFor()
  const row = page.getByRole('row', { name: /Mispayments to decide/ })
  assert.match(await row.innerText(), /\b1\b/, 'the underpaid order waits')
  for (const scheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' })
    assert.deepEqual(await listAxeFaults(page), [])
  }
  await context.close()
})

test('what the operator announces stands above every page of every role as text, until it is taken down', async () => {
  const { page, context } = await enter('SuperAdmin', '/operator')
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
    await other.context.close()
  }
  await page.getByRole('button', { name: 'Take it down' }).click()
  await page.getByText('Nothing is announced.').waitFor()
  await context.close()
})

test('the audit log is found by a person’s e-mail, proves itself whole, and names the entry that was changed', async () => {
  const { page, context } = await enter('SuperAdmin', '/audit')
  await page.getByLabel('Who').fill(world.people.Cashier.email)
  await page.getByText(`user:${world.people.Cashier.id}`).first().waitFor()
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
  await context.close()
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
  ['/money', (page) => page.locator('td button').first().click()],
]

test('axe finds no fault on open dialogs, in both schemes', async () => {
  const { page, context } = await enter('Manager')
  const faults: string[] = []
  for (const [path, open] of DIALOGS) {
    await goTo(page, path)
    await open(page)
    await page.getByRole('dialog').waitFor()
    for (const scheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' })
      faults.push(...(await listAxeFaults(page)).map((fault) => `${scheme} ${path}: ${fault}`))
    }
    await page.keyboard.press('Escape')
  }
  assert.deepEqual(faults, [])
  await context.close()
})

test('axe finds no fault on the pages before the login', async () => {
  const faults: string[] = []
  for (const path of ['/login', '/register', '/forgot', '/reset?token=x', '/invitation?token=x', '/verify?token=x']) {
    const { page, context } = await visit(browser, `${world.shop.host.baseUrl}/app${path}`, DESK)
    await page.locator('h1').first().waitFor()
    for (const scheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' })
      faults.push(...(await listAxeFaults(page)).map((fault) => `${scheme} ${path}: ${fault}`))
    }
    await context.close()
  }
  assert.deepEqual(faults, [])
})
