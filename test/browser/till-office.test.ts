import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { register } from '../harness/accounts.ts'
import { visit } from '../harness/browser.ts'
import { enterOffice, goTo } from '../harness/office.ts'
import { readQr } from '../harness/read-qr.ts'
import { openTillWorld, type TillWorld, typeOn } from '../harness/till-world.ts'

/* The back office side of the tills: a device is set up, used and removed; a person sets the own PIN. */

let world: TillWorld
before(async () => {
  world = await openTillWorld()
})
after(() => world?.stop())

test('a manager sets a PIN and a device up, the tablet scans the picture, and removing it signs everyone out', async () => {
  const { shop, browser, boss } = world
  const { baseUrl } = shop.host
  const { page, leave } = await enterOffice(browser, baseUrl, { email: boss.email, path: '/account' })
  await page.getByLabel('New PIN').fill('735190')
  await page.getByRole('button', { name: 'Save the PIN' }).click()
  await page.getByText('The PIN is saved.').waitFor()

  await goTo(page, '/shop?tab=tills')
  await page.getByRole('button', { name: 'Set up a device' }).click()
  const dialog = page.getByRole('dialog').last()
  await dialog.getByLabel('Name of the device').fill('Bar')
  await dialog.getByRole('button', { name: 'Make a code' }).click()
  const made = page.getByRole('dialog', { name: 'Set up the device: Bar' })
  const address = (await readQr(made.locator('svg[role=img]'))) ?? ''
  assert.match(address, new RegExp(`^${baseUrl}/till#code=[0-9A-Z]{4}-[0-9A-Z]{4}$`))

  const tablet = await visit(browser, address)
  await tablet.page.locator('#enrol-form button').click()
  await tablet.page.locator('.name', { hasText: 'Ada B.' }).last().waitFor()
  // the cashier and the manager have the same name here; the manager's PIN tells them apart
  for (const name of await tablet.page.locator('.name').all()) {
    if (await tablet.page.locator('#people').isHidden()) await tablet.page.locator('#pin-back').click()
    await name.click()
    await typeOn(tablet.page, 'pin-keys', '735190')
    const entered = await tablet.page
      .locator('#sale')
      .waitFor({ timeout: 2000 })
      .then(() => true)
      .catch(() => false)
    if (entered) break
  }
  await typeOn(tablet.page, 'keys', '990')
  await tablet.page.locator('#charge').click()
  await tablet.page.locator('#qr').waitFor()
  assert.ok(
    !tablet.requests.some((url) => url.includes('code=') && url.includes('/till#')),
    'the code is in no request',
  )

  await page.keyboard.press('Escape')
  const row = page.locator('li', { hasText: 'Bar' }).filter({ hasText: 'In use' })
  await row.waitFor({ timeout: 15_000 })
  await row.getByRole('button', { name: 'Remove' }).click()
  await page.getByRole('dialog').last().getByRole('button', { name: 'Remove' }).click()
  await page.getByText('The device is removed.').waitFor()
  await tablet.page.locator('#to-orders').click()
  await tablet.page.locator('#enrol').waitFor()
  await tablet.context.close()
  await leave()
})

test('saving the cashiers of a till keeps one whom the office’s list of people does not know yet', async () => {
  const { shop, browser, boss, collector } = world
  const { baseUrl } = shop.host
  const readCashiers = async (): Promise<string[]> => {
    const { data } = await boss.client.get<{ collectors: { _id: string; cashiers: { _id: string }[] }[] }>(
      'collectors/list',
    )
    return data.collectors.find(({ _id }) => _id === collector)?.cashiers.map(({ _id }) => _id) ?? []
  }
  const { page, leave } = await enterOffice(browser, baseUrl, { email: boss.email, path: '/shop?tab=tills' })
  const dialog = page.getByRole('dialog').last()
  await page.getByRole('button', { name: 'Cashiers' }).first().click()
  await dialog.getByRole('checkbox').first().waitFor()
  await page.keyboard.press('Escape')

  // meanwhile a colleague hires a cashier and assigns the till to them
  const hired = await register(baseUrl, { role: 'Cashier', companyName: boss.companyId, firstName: 'Grace' })
  await boss.client.post(`users/${hired.userId}/approve`)
  const before = await readCashiers()
  const given = await boss.client.call('PUT', `collectors/${collector}`, { cashiers: [...before, hired.userId] })
  assert.equal(given.status, 200, given.text)
  await page.route(/\/users\?.*role=Cashier/, async (route) => {
    await sleep(3000)
    await route.continue().catch(() => {})
  })
  // the office asks again for what is older than two seconds
  await sleep(2000)
  await goTo(page, '/orders')
  await goTo(page, '/shop?tab=tills')
  await page.getByText('Grace').waitFor()
  await page.getByRole('button', { name: 'Cashiers' }).first().click()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved').waitFor()
  assert.deepEqual((await readCashiers()).sort(), [...before, hired.userId].sort())
  await leave()
})
