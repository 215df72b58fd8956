import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { sql } from '../../src/db/db.ts'
import type { UserRole } from '../../src/http/actor.ts'
import { listAxeFaults, listFaultsOfBothSchemes } from '../harness/axe.ts'
import { startBrowser } from '../harness/browser.ts'
import { enterOffice, goTo as go } from '../harness/office.ts'
import { HOSTILE, insertPerson, type OfficeWorld, openOffice } from '../harness/office-world.ts'

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

const enter = (role: UserRole, path = '', { freshLogin = false } = {}) =>
  enterOffice(browser, world.shop.host.baseUrl, { email: world.people[role].email, path, freshLogin })

const SCREENS = [
  '/',
  '/orders',
  '/orders/new',
  '/links',
  '/links/new',
  '/refunds',
  '/mispayments',
  '/mispayments?tab=unmatched',
  '/money',
  '/money?tab=books',
  '/identity',
  '/identity?tab=screening',
  '/shop',
  '/shop?tab=tills',
  '/shop?tab=buttons',
  '/shop?tab=channels',
  '/shop?tab=rules',
  '/people',
  '/developer',
  '/webhooks',
  '/keys',
  '/events',
  '/requests',
  '/audit',
  '/account',
]

/** Where a stranger's text stands, and what opens it. */
const PLANTED: [string, ((page: Page) => Promise<unknown>)?][] = [
  ['/orders'],
  ['/links'],
  ['/refunds'],
  ['/mispayments'],
  ['/people'],
  ['/keys'],
  ['/events'],
  ['/shop?tab=tills'],
  ['/shop?tab=buttons'],
  [
    '/webhooks',
    (page) =>
      page
        .getByRole('button', { name: /^order\.initial/ })
        .first()
        .click(),
  ],
]

test('axe finds no fault on any screen, in both schemes at a desk and one of them on a phone, and every screen fits', async () => {
  const { page, leave, complaints } = await enter('Manager')
  const { code: noted } = await world.shop.create({ metadata: { ['k'.repeat(40)]: 'v'.repeat(500), text: HOSTILE } })
  const paths = [...SCREENS, ...[...Object.values(world.orders), noted].map((code) => `/orders/${code}`)]
  const faults: string[] = []
  for (const device of ['desk', 'phone'] as const) {
    if (device === 'phone') await page.setViewportSize({ width: 390, height: 844 })
    for (const [index, path] of paths.entries()) {
      await go(page, path)
      // the colours of a phone are those of a desk, but for its menu
      const colorScheme = index % 2 === 0 ? 'dark' : 'light'
      if (device === 'phone') await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      const found = await (device === 'phone' ? listAxeFaults(page) : listFaultsOfBothSchemes(page, 'light'))
      faults.push(...found.map((fault) => `${device} ${path}: ${fault}`))
      const wide = Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'))
      if (wide > 0) faults.push(`${path} scrolls sideways by ${wide}`)
    }
  }
  assert.deepEqual(faults, [])
  assert.equal(await page.evaluate('"hacked" in window'), false)
  assert.equal(await page.locator('img[src="x"]').count(), 0)
  assert.deepEqual(
    complaints.filter((text) => !/401/.test(text)),
    [],
  )
  await leave()
})

test('names, goods, aliases, answers of webhooks and of providers show as text wherever they stand', async () => {
  const { page, leave, complaints } = await enter('Manager')
  const unseen: string[] = []
  const look = async (where: string, place = '#content'): Promise<void> => {
    const isShown = await page
      .locator(place)
      .getByText(HOSTILE)
      .first()
      .waitFor({ timeout: 5000 })
      .then(() => true)
      .catch(() => false)
    if (!isShown) unseen.push(where)
    if (await page.evaluate('"hacked" in window || document.querySelector("img[src=x]") !== null'))
      unseen.push(`${where}: ran`)
  }
  for (const [path, open] of PLANTED) {
    await go(page, path)
    await open?.(page)
    await look(path, open ? 'dialog' : '#content')
    if (open) await page.keyboard.press('Escape')
  }
  await go(page, `/orders/${world.orders.paid}`)
  await look('goods')
  await page.getByRole('button', { name: 'Show the messages' }).click()
  await page.locator('summary', { hasText: 'provider.example' }).click()
  await look('answer of a provider', 'section:last-of-type')
  const { code } = await world.shop.create({ metadata: { text: HOSTILE, cart: '8841' } })
  await go(page, `/orders/${code}`)
  await look('metadata', 'section:has(h2:text-is("Metadata"))')
  assert.deepEqual(unseen, [])
  assert.deepEqual(
    complaints.filter((text) => !/401/.test(text)),
    [],
  )
  await leave()
})

test('an order and a statement print in black on white, whole, and without what is only for a screen', async () => {
  const { page, leave } = await enter('Manager')
  await page.evaluate('localStorage.setItem("scheme", "dark"); document.documentElement.dataset.scheme = "dark"')
  for (const [path, words] of [
    [`/orders/${world.orders.paid}`, 'What happened'],
    ['/money?tab=books', 'Accounts'],
  ] as const) {
    await go(page, path)
    await page.emulateMedia({ media: 'print' })
    await page.getByRole('heading', { name: words }).waitFor()
    for (const name of ['Print', 'Refund', 'Sign out', 'Statement as CSV'])
      assert.equal(await page.getByRole('button', { name }).filter({ visible: true }).count(), 0, `${path}: ${name}`)
    assert.equal(await page.locator('nav').filter({ visible: true }).count(), 0, `${path}: the menu`)
    const [ink, paper] = (await page.evaluate(
      `[document.querySelector('h1'), document.body].map((one, at) => getComputedStyle(one)[at ? 'backgroundColor' : 'color'])`,
    )) as string[]
    assert.match(ink ?? '', /^rgb\((\d\d?), (\d\d?), (\d\d?)\)$/, `${path}: dark ink, not ${ink}`)
    assert.equal(paper, 'rgb(255, 255, 255)')
    const cut = await page.evaluate(
      `[...document.querySelectorAll('[role=group]')].filter((one) => getComputedStyle(one).overflowX !== 'visible').length`,
    )
    assert.equal(cut, 0, `${path}: a table is cut`)
    await page.emulateMedia({ media: 'screen' })
  }
  await leave()
})

const READER = [
  'Orders',
  'Payment links',
  'Refunds',
  'Mispayments',
  'Balance and payouts',
  'Identity and screening',
  'Webhooks',
]

/** What each role finds in its menu, besides Home. */
const MENUS: Record<UserRole, string[]> = {
  SuperAdmin: [
    'Orders',
    'Payment links',
    'Refunds',
    'Mispayments',
    'Balance and payouts',
    'Identity and screening',
    'Shop',
    'People',
    'First steps',
    'Webhooks',
    'API keys',
    'Events',
    'Requests',
    'Companies',
    'Audit log',
  ],
  SuperManager: [],
  Manager: [],
  Association: [],
  Cashier: ['Orders', 'Payment links'],
  Observer: [...READER, 'Events'],
  SimpleUser: ['Orders', 'Payment links'],
  Service: [...READER, 'Events', 'Requests'],
}
MENUS.SuperManager = MENUS.SuperAdmin
MENUS.Manager = MENUS.SuperAdmin.filter((name) => name !== 'Companies')
MENUS.Association = MENUS.Manager

/** What changes something; a role that only reads, or only sells, finds none of it. */
const READERS_FIND_NONE = new RegExp(
  `^(${[
    ...['New order', 'New payment link', 'Refund', 'Accept', 'Ignore', 'Approve', 'Reject', 'Decide who bears it'],
    ...['Cancel the order', 'End it now', 'Prepare a payout', 'Send the failed ones again', 'New key', 'Revoke'],
    ...['Invite someone', 'Change the role', 'Disable', 'Show the secret', 'Make a new secret', 'Save', 'Add a till'],
    ...['Export CSV', 'Export XLSX', 'Show the payer’s data', 'Show the messages', 'Propose an address', 'Explain it'],
  ].join('|')})$`,
)
const SELLER_MAY = ['New order', 'New payment link', 'Accept', 'Cancel the order', 'End it now']
const MAY: Partial<Record<UserRole, readonly string[]>> = { Observer: [], Cashier: SELLER_MAY, SimpleUser: SELLER_MAY }

for (const role of Object.keys(MENUS) as UserRole[]) {
  test(`${role} comes in with a mailed code where one is asked, and is offered what the role may do`, async () => {
    const { page, leave } = await enter(role, '', { freshLogin: true })
    const refused: string[] = []
    page.on('response', (response) => response.status() === 403 && refused.push(response.url()))
    const names = await page.locator('nav').first().getByRole('link').allInnerTexts()
    const menu = names.filter((name) => name !== 'Home' && !name.includes('\n'))
    assert.deepEqual(menu, MENUS[role])
    const may = MAY[role]
    for (const name of may ? menu : []) {
      await page.locator('nav').first().getByRole('link', { name, exact: true }).click()
      await page.locator('#content h1').first().waitFor()
      await page.locator('#content').getByText('Loading…').first().waitFor({ state: 'detached' })
      const offered = await page.locator('#content').locator('a.btn, button').allInnerTexts()
      const wrong = offered.filter((word) => READERS_FIND_NONE.test(word.trim()) && !may?.includes(word.trim()))
      assert.deepEqual(wrong, [], `${role} on ${name}`)
    }
    await go(page, `/orders/${world.orders.paid}`)
    const buttons = await page.locator('#content').getByRole('button').allInnerTexts()
    const mayRefund = !['Cashier', 'Observer', 'SimpleUser', 'Association'].includes(role)
    assert.equal(buttons.includes('Refund'), mayRefund, `${role} sees: ${buttons.join(', ')}`)
    if (['Association', 'SimpleUser'].includes(role)) {
      await page.getByRole('heading', { name: 'There is nothing at this address' }).waitFor()
    }
    for (const [name, path] of [
      ['Webhooks', '/webhooks'],
      ['API keys', '/keys'],
      ['Balance and payouts', '/money'],
    ] as const) {
      if (MENUS[role].includes(name)) continue
      await go(page, '/orders')
      await go(page, path)
      await page.getByRole('heading', { name: 'Your role does not include this page' }).waitFor()
    }
    // no screen asks for what the role is refused
    assert.deepEqual(refused, [])
    await leave()
  })
}

test('the dialog that changes a role begins at the present one, and offers those of an association to an association', async () => {
  const { db } = world.shop.host
  const { id, email } = await insertPerson(db, 'Association', world.shop.merchant.companyId, '-')
  await db.run(sql`
    update users set company_id = (select company_id from users where id = ${world.people.Association.id}) where id = ${id}`)
  const { page, leave } = await enter('Association', '/people')
  await page.locator('article', { hasText: email }).getByRole('button', { name: 'Change the role' }).click()
  const role = page.getByRole('dialog').getByLabel('Role')
  assert.equal(await role.inputValue(), 'Association')
  assert.deepEqual(await role.locator('option').allTextContents(), ['Cashier', 'Observer', 'Association'])
  await leave()
})

test('Home shows what was refunded today beside that of 30 days', async () => {
  const { page, leave } = await enter('Manager')
  await page.route('**/api/next/summary?*', async (route) => {
    const response = await route.fetch()
    const json = (await response.json()) as { data: { days: { refundedAmount: string }[] } }
    const days = json.data.days.map((day, index, { length }) => {
      return { ...day, refundedAmount: index === 0 ? '5.000000' : index === length - 1 ? '7.000000' : '0.000000' }
    })
    await route.fulfill({ response, json: { ...json, data: { ...json.data, days } } })
  })
  await page.reload()
  const card = page.locator('dl > div', { hasText: 'Refunded in 30 days' })
  await card.getByText(/^7[.]00\sUSDC today$/).waitFor()
  await card.getByText(/^12[.]00\sUSDC$/).waitFor()
  await leave()
})

test('the list of payment links goes on to the oldest, a page at a time', async () => {
  const { shop } = world
  const { page, leave } = await enter('Manager', '/links')
  await page.getByRole('link', { name: 'INV-1001' }).waitFor()
  await Promise.all(Array.from({ length: 51 }, (_, n) => shop.create({ amount: '5.00', alias: `LINK-${n}` })))
  await page.reload()
  await page
    .getByRole('link', { name: /^LINK-/ })
    .first()
    .waitFor()
  assert.equal(await page.getByRole('link', { name: 'INV-1001' }).count(), 0)
  // the service is asked for more: it gives at most 1000 at once
  const asked = page.waitForRequest(/\/links\?.*cursor=/)
  await page.getByRole('button', { name: 'Show more' }).click()
  await asked
  await page.getByRole('link', { name: 'INV-1001' }).waitFor()
  assert.equal(await page.getByRole('link', { name: /^LINK-/ }).count(), 51)
  await leave()
})
