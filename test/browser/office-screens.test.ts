import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import type { UserRole } from '../../src/http/actor.ts'
import { listAxeFaults } from '../harness/axe.ts'
import { startBrowser } from '../harness/browser.ts'
import { enterOffice, goTo as go } from '../harness/office.ts'
import { type OfficeWorld, openOffice } from '../harness/office-world.ts'

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

const SCREENS = [
  '/',
  '/orders',
  '/orders/new',
  '/links',
  '/links/new',
  '/refunds',
  '/mispayments',
  '/money',
  '/identity',
  '/shop',
  '/people',
  '/developer',
  '/webhooks',
  '/keys',
  '/events',
  '/requests',
  '/audit',
  '/account',
]

test('axe finds no fault on any screen, in both schemes, and no text of a stranger becomes part of the page', async () => {
  const { page, context, complaints } = await enter('Manager')
  const paths = [...SCREENS, ...Object.values(world.orders).map((code) => `/orders/${code}`)]
  const faults: string[] = []
  for (const scheme of ['light', 'dark'] as const) {
    // without the fade from one scheme's colours to the other's
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' })
    for (const path of paths) {
      await go(page, path)
      faults.push(...(await listAxeFaults(page)).map((fault) => `${scheme} ${path}: ${fault}`))
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
  await context.close()
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

for (const role of Object.keys(MENUS) as UserRole[]) {
  test(`${role} comes in with a mailed code where one is asked, and is offered what the role may do`, async () => {
    const { page, context } = await enter(role)
    const names = await page.locator('nav').first().getByRole('link').allInnerTexts()
    const menu = names.filter((name) => name !== 'Home' && !name.includes('\n'))
    assert.deepEqual(menu, MENUS[role])
    await go(page, `/orders/${world.orders.paid}`)
    const buttons = await page.locator('#content').getByRole('button').allInnerTexts()
    const mayRefund = !['Cashier', 'Observer', 'SimpleUser', 'Association'].includes(role)
    assert.equal(buttons.includes('Refund'), mayRefund, `${role} sees: ${buttons.join(', ')}`)
    if (['Association', 'SimpleUser'].includes(role)) {
      await page.getByRole('heading', { name: 'There is nothing at this address' }).waitFor()
    }
    if (!MENUS[role].includes('Webhooks')) {
      await go(page, '/webhooks')
      await page.getByRole('heading', { name: 'Your role does not include this page' }).waitFor()
    }
    await context.close()
  })
}
