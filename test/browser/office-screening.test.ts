import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { sql } from '../../src/db/db.ts'
import { insertSuperAdmin, passwordHash, registerManager } from '../harness/accounts.ts'
import { listAxeFaults } from '../harness/axe.ts'
import { PHONE, startBrowser } from '../harness/browser.ts'
import { DESK, enterOffice, goTo } from '../harness/office.ts'
import { openScreeningWorld, type ScreeningWorld } from '../harness/screening-world.ts'
import type { Payable } from '../harness/shop.ts'

/* A person looks at what is held, reads the evidence, and decides. */
const PATH = '/identity?tab=screening'
let world: ScreeningWorld
let browser: Browser
let email: string

before(async () => {
  world = await openScreeningWorld()
  browser = await startBrowser()
  email = await insertSuperAdmin(world.host.db, await passwordHash())
})
after(async () => {
  await browser?.close()
  await world?.stop()
})

async function heldOrder(listing: Record<string, unknown>): Promise<{ order: Payable; wallet: string }> {
  const [order, wallet] = [await world.createAwaiting(), await world.newWallet()]
  await world.list(wallet, listing)
  await world.payFrom(wallet, order)
  await world.screened(order, 'held')
  return { order, wallet }
}
/** The login asks with a cookie that is not there yet, and as a manager first. */
const faultsOf = (complaints: readonly string[]): string[] =>
  complaints.filter((text) => !/status of 40[13]/.test(text))
const rowOf = (page: Page, wallet: string) => page.locator('li', { has: page.locator(`code[title="${wallet}"]`) })

test('a held sender is released, and another is returned, with evidence in sight and a reason', async () => {
  const first = await heldOrder({ risk: 'Medium' })
  const second = await heldOrder({ trm: { riskType: 'COUNTERPARTY', level: 10 } })
  const { page, leave, complaints } = await enterOffice(browser, world.host.baseUrl, { email, path: PATH })
  // the name that stands on the order and that its payer reads aloud
  const { data } = await world.host.call<{ shortCode: string }>('GET', `status/${first.order.code}`)
  const ofOrder = { name: data.shortCode }
  await rowOf(page, first.wallet).getByRole('link', ofOrder).waitFor()
  await rowOf(page, first.wallet).getByRole('button', { name: 'Show the screening' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('link', ofOrder).waitFor()
  await dialog.getByText('Exposure to a mixing service').first().waitFor()
  await dialog.getByText('The answer as it came').first().click()
  await dialog.getByRole('button', { name: 'Release' }).click()
  await dialog.getByLabel('Reason').fill('a supplier of ours')
  await dialog.getByRole('button', { name: 'Release' }).last().click()
  await world.reaches(first.order.code, 'PAID')
  await page.keyboard.press('Escape')
  await rowOf(page, second.wallet).getByRole('button', { name: 'Show the screening' }).click()
  await dialog.getByRole('button', { name: 'Return the money' }).click()
  await dialog.getByLabel('Reason').fill('no answer from him')
  await dialog.getByRole('button', { name: 'Return the money' }).last().click()
  await world.reaches(second.order.code, 'KYT_FAILED')
  await page.keyboard.press('Escape')
  assert.deepEqual(faultsOf(complaints), [])
  await leave()
})

test('a long record says how many older answers are kept and not shown', async () => {
  const { order, wallet } = await heldOrder({ risk: 'Medium' })
  const { companyId } = world.merchant
  const { id } = await world.host.db.one<{ id: string }>(sql`
    select s.id from screenings s join orders o on o.id = s.order_id where o.code = ${order.code}`)
  await world.host.db.run(sql`
    insert into screening_answers (company_id, id, screening_id, source, verdict, reasons, at)
    select ${companyId}, 'ff' || lpad(to_hex(n), 22, '0'), ${id}, 'trm', 'unavailable', '{}', now() + n * interval '1 second'
    from generate_series(1, 600) as n`)
  const { total } = await world.host.db.one<{ total: bigint }>(sql`
    select count(*) as total from screening_answers where screening_id = ${id}`)
  const { page, leave } = await enterOffice(browser, world.host.baseUrl, { email, path: PATH })
  await rowOf(page, wallet).getByRole('button', { name: 'Show the screening' }).click()
  const words = `${Number(total) - 500} older answers are kept and not shown here.`
  await page.getByRole('dialog').getByText(words).waitFor()
  await leave()
})

test('axe finds no fault in the queue and the dialog, in both schemes; a phone does not scroll sideways', async () => {
  const { wallet } = await heldOrder({ risk: 'Medium' })
  const { order } = await heldOrder({ trm: { riskType: 'COUNTERPARTY', level: 15 } })
  const [blocked, bad] = [await world.createAwaiting(), await world.newWallet('bad1')]
  await world.payFrom(bad, blocked)
  await world.screened(blocked, 'blocked')
  // what a stranger's service says stays text
  await world.host.db.run(sql`
    insert into screening_answers (company_id, id, screening_id, source, verdict, level, reasons, evidence, at)
    select company_id, repeat('f', 24), id, 'trm', 'hold', '<b>level</b>', array['<img src=x onerror=alert(1)>'], '{}', now()
    from screenings where order_id = ${order.orderId}`)
  const faults: string[] = []
  for (const [device, options] of Object.entries({ desk: DESK, phone: PHONE })) {
    const { page, leave, complaints } = await enterOffice(browser, world.host.baseUrl, { email, path: PATH, options })
    for (const scheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' })
      await rowOf(page, wallet).waitFor()
      faults.push(...(await listAxeFaults(page)).map((fault) => `${device} ${scheme}: ${fault}`))
    }
    const { SCREENSHOTS } = process.env
    if (SCREENSHOTS) await page.screenshot({ path: `${SCREENSHOTS}/screening-${device}.png` })
    const wide = Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'))
    assert.equal(wide, 0, device)
    await rowOf(page, wallet).getByRole('button', { name: 'Show the screening' }).click()
    await page.getByRole('dialog').getByText('Chainalysis risk').first().waitFor()
    faults.push(...(await listAxeFaults(page)).map((fault) => `${device} dialog: ${fault}`))
    if (SCREENSHOTS) await page.screenshot({ path: `${SCREENSHOTS}/screening-dialog-${device}.png` })
    assert.deepEqual(faultsOf(complaints), [])
    await leave()
  }
  assert.deepEqual(faults, [])
})

test('a manager sees his own company only', async () => {
  const { wallet } = await heldOrder({ risk: 'Medium' })
  const manager = await registerManager(world.host.baseUrl)
  const { page, leave } = await enterOffice(browser, world.host.baseUrl, { email: manager.email })
  await goTo(page, PATH)
  await page.getByText('Nothing here').waitFor()
  assert.equal(await rowOf(page, wallet).count(), 0)
  await leave()
})
