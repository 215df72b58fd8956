import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { shootPages } from './screenshots-pages.ts'
import { startTestServer } from './test/server.ts'

/*
 * npm run screenshots -- office     docs/office/<screen>-<phone|desk>.webp of every screen, from a service with orders
 *                                   in every state, paid on a real chain
 * npm run screenshots -- pages      docs/pages/<page>-<phone|desk>[-dark].webp of what payers see
 */

const ROOT = join(import.meta.dirname, '..')
const OUT = join(ROOT, 'docs/office')
const QUALITY = 60

/** Screens by file name; the operator's are seen by him, the rest by a manager. */
const SCREENS: Record<string, string> = {
  home: '/',
  orders: '/orders',
  'new-order': '/orders/new',
  links: '/links',
  'new-link': '/links/new',
  refunds: '/refunds',
  mispayments: '/mispayments',
  money: '/money',
  books: '/money?tab=books',
  identity: '/identity',
  screening: '/identity?tab=screening',
  shop: '/shop',
  tills: '/shop?tab=tills',
  buttons: '/shop?tab=buttons',
  channels: '/shop?tab=channels',
  rules: '/shop?tab=rules',
  people: '/people',
  'first-steps': '/developer',
  webhooks: '/webhooks',
  keys: '/keys',
  events: '/events',
  requests: '/requests',
  audit: '/audit',
  account: '/account',
}
const TYPED = {
  goods: 'Green tea, box of 50',
  alias: 'INV-1001',
  company: 'Bäckerei Sommer',
  reason: 'One box came back',
}
const OPERATOR: Record<string, string> = {
  companies: '/operator',
  health: '/operator?tab=system',
  wallets: '/operator?tab=wallets',
  announcements: '/operator?tab=announcements',
}
const OUTSIDE: Record<string, string> = { login: '/login', register: '/register', forgot: '/forgot' }

async function save(page: Page, name: string): Promise<void> {
  const session = await page.context().newCDPSession(page)
  const shot = { format: 'webp', quality: QUALITY, optimizeForSpeed: false } as const
  const { data } = await session.send('Page.captureScreenshot', shot)
  writeFileSync(join(OUT, `${name}.webp`), Buffer.from(data, 'base64'))
  process.stdout.write(`docs/office/${name}.webp\n`)
}

type Place = { browser: Browser; baseUrl: string; device: string; options: BrowserContextOptions }

async function shootOffice(place: Place, who: { email: string; screens: Record<string, string> }): Promise<void> {
  const { enterOffice, goTo } = await import('../test/harness/office.ts')
  const { browser, baseUrl, device, options } = place
  const { page, context } = await enterOffice(browser, baseUrl, { email: who.email, options })
  for (const [name, path] of Object.entries(who.screens)) {
    await goTo(page, path)
    // figures are there, and nothing fades
    await page.waitForTimeout(400)
    await save(page, `${name}-${device}`)
  }
  await context.close()
}

async function main(): Promise<void> {
  const server = await startTestServer()
  Object.assign(process.env, server.env)
  const { openOffice } = await import('../test/harness/office-world.ts')
  const { startBrowser, PHONE } = await import('../test/harness/browser.ts')
  const { DESK } = await import('../test/harness/office.ts')
  const { startProviders } = await import('../sandbox/providers/server.ts')
  const chain = { chainId: 0, usdcAddress: '', payerAddress: '', pay: async () => ({ txHash: '' }) }
  // every channel is there, and answers
  const providers = await startProviders({ port: 0, chain, callbackBase: 'http://127.0.0.1' })
  const world = await openOffice(TYPED, providers.credentials)
  const browser = await startBrowser()
  mkdirSync(OUT, { recursive: true })
  const { baseUrl } = world.shop.host
  for (const [device, options] of Object.entries({ desk: DESK, phone: { ...PHONE, deviceScaleFactor: 1.5 } })) {
    const place = { browser, baseUrl, device, options }
    const context = await browser.newContext(options)
    const page = await context.newPage()
    for (const [name, path] of Object.entries(OUTSIDE)) {
      await page.goto(`${baseUrl}/app${path}`)
      await page.locator('h1').waitFor()
      await save(page, `${name}-${device}`)
    }
    await context.close()
    const screens = { ...SCREENS, order: `/orders/${world.orders.paid}` }
    await shootOffice(place, { email: world.people.Manager.email, screens })
    await shootOffice(place, { email: world.people.SuperAdmin.email, screens: OPERATOR })
    const dark = { ...place, device: `${device}-dark`, options: { ...options, colorScheme: 'dark' as const } }
    await shootOffice(dark, { email: world.people.Manager.email, screens: { home: '/', order: screens.order } })
  }
  await browser.close()
  await world.stop()
  await providers.stop()
  await server.stop()
}

await (process.argv[2] === 'pages' ? shootPages() : main())
process.exit(0)
