import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { sql } from '../../src/db/db.ts'
import { newId } from '../../src/kernel/ids.ts'
import { startBrowser } from '../harness/browser.ts'
import { openMoneyDesk } from '../harness/money.ts'
import { enterOffice } from '../harness/office.ts'
import { type OfficeWorld, openOffice } from '../harness/office-world.ts'
import { newAddress } from '../harness/refunds.ts'

/* Money: the sums at its top each say one thing, and what a payout of a backup offers. */

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

test('a payout that is open in a backup is reported where it was sent, and its company does not cancel it', async () => {
  const { shop, people } = world
  const { companyId } = shop.merchant
  const { db, baseUrl } = shop.host
  const desk = await openMoneyDesk(shop)
  const to = newAddress()
  await shop.chain.mine(10)
  await db.run(sql`
    update companies set settlement_address = ${to}, settlement_network = 31337, settlement_set_by = 'restore'
    where id = ${companyId}`)
  const order = await shop.createAwaiting()
  await desk.payFinally(order, 54_000_000n)
  await shop.reaches(order.code, 'PAID')
  const { data: made } = await desk.admin.post<{ _id: string; amount: string }>('settlements', { companyId })
  const open = async (person: { email: string }) => {
    const path = `/money?company=${companyId}`
    const { page } = await enterOffice(browser, baseUrl, { email: person.email, path, freshLogin: true })
    const row = page.getByRole('listitem').filter({ hasText: to })
    await row.waitFor()
    return { page, row }
  }
  const theirs = await open(people.Manager)
  assert.equal(await theirs.row.getByRole('button', { name: 'Cancel', exact: true }).count(), 0)
  await theirs.page.close()

  const { page, row } = await open(people.SuperAdmin)
  await row.getByText(/Since the backup it may have been approved and sent/).waitFor()
  const txHash = await shop.chain.pay({ to, units: BigInt(made.amount.replace('.', '')) })
  await shop.chain.mine(10)
  await row.getByRole('button', { name: 'Report the payment' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText(/^Send nothing now\./).waitFor()
  await dialog.getByLabel('Hash of the transaction').fill(txHash)
  await dialog.getByRole('button', { name: 'Report the payment' }).click()
  await row.getByText('Paid', { exact: true }).waitFor()
  await page.close()
})

test('money that left the chain is no debt of the company, and is not taken off what waits for a decision', async () => {
  const { shop, people } = world
  const { companyId } = shop.merchant
  const desk = await openMoneyDesk(shop)
  await shop.chain.mine(10)
  await shop.host.db.run(sql`
    update companies set settlement_address = ${newAddress()}, settlement_network = 31337 where id = ${companyId}`)
  const order = await shop.createAwaiting()
  await desk.payFinally(order, 54_000_000n)
  await shop.reaches(order.code, 'PAID')
  const settled = await desk.admin.post('settlements', { companyId })
  assert.equal(settled.status, 200, settled.text)
  const sums = async () => {
    const { email } = people.Manager
    const { page } = await enterOffice(browser, shop.host.baseUrl, { email, path: '/money', freshLogin: true })
    await page.locator('dl dd').first().waitFor()
    const said = (await page.locator('dl').first().innerText()).replace(/\s+/g, ' ')
    await page.close()
    return said
  }
  const before = await sums()
  await shop.chain.reorg(4)
  await desk.openRecord(order, 'orphaned', 54_000_000n)
  const lost = await sums()
  assert.match(lost, /^Ready to pay out 0\.00 USDC/)
  const line = ' 54.00 USDC left the chain and waits for a decision who bears it'
  assert.equal(lost.replace(line, ''), before, 'nothing else has changed')
})

test('Home leads an operator to the payouts of all companies that wait, and each to its company', async () => {
  const { shop, people } = world
  const { db, baseUrl } = shop.host
  const club = (await db.one<{ id: string }>(sql`select id from companies where name = 'Chess Club'`)).id
  await db.run(sql`update settlements set status = 'cancelled' where status in ('open', 'approved')`)
  for (const companyId of [shop.merchant.companyId, club])
    await db.run(sql`
      insert into settlements (company_id, id, status, units, address, network, created_by, created_at, updated_at)
      values (${companyId}, ${newId()}, 'open', 18000000, ${newAddress()}, 31337, 'user:test', now(), now())`)
  const { page, leave } = await enterOffice(browser, baseUrl, { email: people.SuperManager.email, path: '/' })
  await page.getByRole('link', { name: '2 payouts are under way' }).click()
  const rows = page.getByRole('listitem').filter({ hasText: 'Waits for approval' })
  await rows.nth(1).waitFor()
  assert.equal(await rows.count(), 2)
  await rows.getByRole('link', { name: 'Chess Club' }).click()
  await page.waitForURL((url) => url.searchParams.get('company') === club)
  await page.getByRole('heading', { name: 'Payouts', exact: true }).waitFor()
  assert.equal(await page.getByRole('heading', { name: 'Payouts under way' }).count(), 0)
  await leave()
})
