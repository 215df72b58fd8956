import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { sql } from '../../src/db/db.ts'
import { newId } from '../../src/kernel/ids.ts'
import { listFaultsOfBothSchemes } from '../harness/axe.ts'
import { startBrowser } from '../harness/browser.ts'
import { openMoneyDesk } from '../harness/money.ts'
import { enterOffice } from '../harness/office.ts'
import { type OfficeWorld, openOffice } from '../harness/office-world.ts'
import { createPaid, newAddress } from '../harness/refunds.ts'

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

test('Home lists what a new shop has yet to set up, each where it is done, until all of it is done or the list is hidden', async () => {
  const { shop, people } = world
  const { db, baseUrl } = shop.host
  const { companyId } = shop.merchant
  const { email, id } = people.Manager
  const { page, leave } = await enterOffice(browser, baseUrl, { email, path: '/' })
  const list = page.getByRole('region', { name: 'Getting started' })
  const steps = async (): Promise<string[]> => {
    await page.goto(`${baseUrl}/app/`)
    await list.waitFor()
    return (await list.getByRole('listitem').allInnerTexts()).map((text) => text.split('\n')[0] ?? '')
  }
  const setAddress = (address: string | null) =>
    db.run(sql`
      update companies set settlement_address = ${address}, settlement_network = ${address && 31337}
      where id = ${companyId}`)
  await setAddress(null)
  assert.deepEqual(await steps(), ['Still to do', 'Still to do', 'Done', 'Done', 'Done'])
  await list.getByRole('link', { name: 'Set the wallet address that payouts go to' }).click()
  await page.waitForURL(/\/app\/shop$/)
  await setAddress(newAddress())
  assert.deepEqual(await steps(), ['Still to do', 'Done', 'Done', 'Done', 'Done'])
  await db.run(sql`update users set totp_enabled_at = now() where id = ${id}`)
  await page.reload()
  await page.getByRole('heading', { name: 'Latest orders' }).waitFor()
  await page.getByRole('row').nth(1).waitFor()
  assert.equal(await list.count(), 0)
  await db.run(sql`update users set totp_enabled_at = null where id = ${id}`)
  await steps()
  await list.getByRole('button', { name: 'Hide this list' }).click()
  await list.waitFor({ state: 'hidden' })
  await page.reload()
  await page.getByRole('row').nth(1).waitFor()
  assert.equal(await list.count(), 0)
  await leave()
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

test('a refund that a prepared payout leaves without cover says so, and leads to where that payout is cancelled', async () => {
  const { shop, people } = world
  const { companyId } = shop.merchant
  const desk = await openMoneyDesk(shop)
  await shop.host.db.run(sql`
    update companies set settlement_address = ${newAddress()}, settlement_network = 31337, settlement_set_by = null
    where id = ${companyId}`)
  const order = await createPaid(shop, { amount: '52.00' })
  assert.equal((await desk.admin.post('settlements', { companyId })).status, 200)
  const { email } = people.Manager
  const path = `/orders/${order.code}`
  const { page } = await enterOffice(browser, shop.host.baseUrl, { email, path, freshLogin: true })
  const refund = async (): Promise<void> => {
    await page.getByRole('button', { name: 'Refund', exact: true }).click()
    await page.getByRole('button', { name: /^Everything that is left/ }).click()
    await page.getByRole('button', { name: /^Refund .*USDC$/ }).click()
  }
  await refund()
  const refusal = page.getByRole('dialog').getByRole('alert')
  await refusal.getByText('the rest was paid out, or is set aside for a payout').waitFor()
  await refusal.getByRole('link', { name: /can still be cancelled/ }).click()
  await page.waitForURL(/\/money$/)
  const setAside = page.locator('dl > div').filter({ hasText: 'Set aside for payouts' })
  assert.match(await setAside.innerText(), /[1-9].*USDC\s+Prepared or approved, but not paid yet/)
  await page
    .getByRole('listitem')
    .filter({ hasText: 'Waits for approval' })
    .getByRole('button', { name: 'Cancel' })
    .click()
  await page.getByText('Cancelled. The money is ready again.').waitFor()
  await page.goto(`${shop.host.baseUrl}/app${path}`)
  await refund()
  await page.getByText('The refund has started.').waitFor()
  await page.close()
})

test('a statement is saved with its columns in the reader’s language, and otherwise as the service sends it', async () => {
  const { shop, people } = world
  const path = '/money?tab=books&lang=fr'
  const { email } = people.Manager
  const { page } = await enterOffice(browser, shop.host.baseUrl, { email, path: '/money?tab=books', freshLogin: true })
  await page.goto(`${shop.host.baseUrl}/app${path}`)
  const saved = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Relevé en CSV' }).click()
  const file = readFileSync(await (await saved).path(), 'utf8')
  const [head = '', ...lines] = file.split('\r\n')
  assert.match(head, /^\uFEFFDate,Journal,.*,Débit,Crédit,Votre référence,/)
  const sent = await shop.host.call('GET', '/api/next/ledger?format=csv', { as: shop.merchant })
  assert.deepEqual(lines, sent.text.split('\r\n').slice(1))
  assert.ok(lines.length > 2)
  await page.goto(`${shop.host.baseUrl}/app/orders?lang=fr`)
  const orders = page.waitForEvent('download')
  await page.getByRole('button', { name: /CSV/ }).click()
  const bytes = readFileSync(await (await orders).path())
  assert.deepEqual([...bytes.subarray(0, 3)], [0xef, 0xbb, 0xbf])
  assert.match(bytes.toString('utf8'), /^\uFEFFIdentifiant,Société,/)
  const today = new Date().toISOString().slice(0, 10)
  await page.goto(`${shop.host.baseUrl}/app${path}&from=2020-01-01&to=2020-12-31`)
  await page.getByText('Aucune écriture sur cette période').waitFor()
  assert.equal(await page.getByText(/^Complet jusqu’au /).count(), 0, 'a year that is over is complete')
  await page.goto(`${shop.host.baseUrl}/app${path}&to=${today}`)
  await page.getByText(/^Complet jusqu’au .*Des écritures plus récentes peuvent encore manquer/).waitFor()
  await page.goto(`${shop.host.baseUrl}/app${path}`)
  await page.setViewportSize({ width: 390, height: 844 })
  const amounts = page.getByRole('group', { name: 'Écritures' }).locator('td .num')
  for (const box of await Promise.all((await amounts.all()).map((amount) => amount.boundingBox())))
    assert.ok(box && box.x + box.width <= 374, `an amount ends at ${box && box.x + box.width}`)
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
    const said = (await page.locator('dl', { hasText: 'Ready to pay out' }).innerText()).replace(/\s+/g, ' ')
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

test('an operator records what a provider’s console refunded, after reading what it does, with the sum on the button', async () => {
  const { shop, people } = world
  const { db, baseUrl } = shop.host
  const { companyId } = shop.merchant
  const { code, orderId } = await createPaid(shop)
  await db.run(sql`
    insert into ledger_differences (company_id, id, source, subject, what, booked, expected, found_at, updated_at)
    select company_id, ${newId()}, 'providers', ${`order ${code}, part of payment `} || payment_id, 'word of binance',
      'no refund', 'partly refunded; only the provider’s console shows how much', now(), now()
    from orders where id = ${orderId}`)
  const path = `/money?company=${companyId}`
  const { page } = await enterOffice(browser, baseUrl, { email: people.SuperAdmin.email, path, freshLogin: true })
  await page.getByRole('button', { name: 'Record the refund' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText(/lowers what the company is owed .* closes this difference\. No money moves\./).waitFor()
  await dialog.getByRole('link', { name: code }).waitFor()
  const amount = dialog.getByLabel('Amount in USDC')
  await amount.fill('54.01')
  await dialog.getByLabel('Where you looked it up').fill('Statement of the console, line 7')
  await page.setViewportSize({ width: 390, height: 844 })
  assert.deepEqual(await listFaultsOfBothSchemes(page), [])
  await dialog.getByRole('button', { name: 'Record 54.01 USDC' }).click()
  await dialog.getByRole('alert').waitFor()
  await amount.fill('10.5')
  await dialog.getByRole('button', { name: 'Record 10.50 USDC' }).click()
  await page.getByText('The refund is recorded.').waitFor()
  await page.getByRole('button', { name: 'Record the refund' }).waitFor({ state: 'hidden' })
  const refunds = await db.many<{ units: string; reason: string; recorded: boolean }>(
    sql`select units::text, reason, recorded from refunds where order_id = ${orderId}`,
  )
  assert.deepEqual(refunds, [{ units: '10500000', reason: 'Statement of the console, line 7', recorded: true }])
  await page.close()
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
