import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser } from 'playwright-core'
import { OFFICE_PATHS, officePathsOf } from '../../src/config/office-paths.ts'
import { newEmail, PASSWORD, passwordHash, registerManager } from '../harness/accounts.ts'
import { startBrowser, visit } from '../harness/browser.ts'
import { DESK, enterOffice, goTo, jump, logInOnPage, nextCode } from '../harness/office.ts'
import { insertPerson } from '../harness/office-world.ts'
import { openShop, type Shop } from '../harness/shop.ts'

/* The first day of a new merchant, a whole day with an open tab, and every link that a mail sends there. */

let shop: Shop
let browser: Browser
const base = (): string => shop.host.baseUrl

before(async () => {
  shop = await openShop()
  browser = await startBrowser()
})
after(async () => {
  await browser?.close()
  await shop?.stop()
})

type Instructions = { toAddress: string; tokenAmount: string }

test('a new merchant goes from the registration to the first paid order and its webhook', async () => {
  const email = newEmail('first-day')
  const { page, context } = await visit(browser, `${base()}/app/register`, DESK)
  await page.getByLabel('First name').fill('Nora')
  await page.getByLabel('Last name').fill('Neu')
  await page.getByLabel('Name of your company').fill('Boulangerie Neuve')
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Create the account' }).click()
  await page.getByRole('heading', { name: 'Hello, Nora' }).waitFor()
  await goTo(page, '/developer')
  await page.getByRole('button', { name: 'Make a key for this code' }).click()
  // nothing has proven a second factor since the registration: the code is asked for in place
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Send me a code by email' }).click()
  await dialog.getByLabel('Code from your email').fill(await nextCode(base(), email, 0))
  await dialog.getByRole('button', { name: 'Confirm' }).click()
  await page.getByText('The code below carries the key').waitFor()
  const code = await page.locator('pre').first().innerText()
  const headers = Object.fromEntries(
    [...code.matchAll(/-H "([\w-]+): ([^"]+)"/g)].map(([, name = '', value = '']) => [name, value]),
  )
  const body = { ...JSON.parse(/-d '([^']+)'/.exec(code)?.[1] ?? '{}'), webhookUrl: `${shop.receiver.url}/first-day` }
  const { data: order } = await shop.host.call<{ code: string }>('POST', 'request', { headers, body })
  await goTo(page, `/orders/${order.code}`)
  await page.getByRole('button', { name: 'Choose the channel for the customer' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Choose the channel for the customer' }).click()
  await page.locator('header').getByText('Awaiting payment').waitFor()
  const { data } = await shop.host.call<Instructions>('POST', `accept/${order.code}`, {
    ...{ headers, body: { paymentChannel: 'crypto', network: shop.chain.chainId } },
  })
  await shop.chain.pay({ to: data.toAddress, units: BigInt(data.tokenAmount.replace('.', '')) })
  await shop.makeFinal()
  await page.locator('header').getByText('Paid', { exact: true }).waitFor()
  assert.ok(shop.receiver.at('/first-day').some((webhook) => webhook.headers['service-event'] === 'order.paid'))
  await goTo(page, '/webhooks')
  await page.getByRole('button', { name: 'order.paid' }).waitFor()
  const deliveries = page.getByRole('region', { name: 'Deliveries', exact: true })
  await deliveries.getByText('Delivered').first().waitFor()
  const firstDay = `${shop.receiver.url}/first-day`
  await page.getByRole('region', { name: 'Addresses' }).getByRole('button', { name: firstDay }).click()
  await page.getByText(`Only deliveries to ${firstDay}`).waitFor()
  assert.equal(new URL(page.url()).searchParams.get('address'), firstDay)
  await deliveries.getByRole('button', { name: 'order.paid' }).waitFor()
  await page.getByRole('button', { name: 'Show all addresses' }).click()
  await page.getByLabel('Event').first().selectOption('order.cancelled')
  await page.getByText('No webhooks here').waitFor()
  assert.equal(new URL(page.url()).search, '?event=order.cancelled')
  // everything to sell with is made from one place, and a till has a code to print
  await goTo(page, '/orders/new')
  await page.getByRole('button', { name: 'Add a till' }).click()
  await dialog.getByLabel('Identifier').fill('BAR-2')
  await dialog.getByRole('button', { name: 'Add a till' }).click()
  const till = page.locator('#content li', { hasText: 'BAR-2' })
  // the list that the office has cached may not know it yet
  await page.route(/\/collectors\/list\?.*active=true/, async (route) => {
    await sleep(2000)
    await route.continue().catch(() => {})
  })
  await till.getByRole('button', { name: 'Make a code to print' }).click()
  await dialog.getByRole('button', { name: 'New static link' }).click()
  const poster = await till.getByRole('link', { name: 'Print the code' }).getAttribute('href')
  assert.match(await (await fetch(poster ?? '')).text(), /BAR-2/)
  await context.close()
})

/** The clock jumps in steps; in each the timers of the tab fire as often as in real time. */
const STEP_MS = 5 * 60_000
const STEPS_AN_HOUR = 12

test('the memory of a tab that is open for eight hours with live updates does not grow', async () => {
  const { email } = await registerManager(base())
  const { page, context } = await enterOffice(browser, base(), { email })
  await page.clock.install()
  // real answers take real time, for which no step of the page's clock waits
  await page.evaluate(() => {
    AbortSignal.timeout = () => new AbortController().signal
  })
  const session = await context.newCDPSession(page)
  let answers = 0
  page.on('response', (response) => {
    if (response.url().includes('/api/next/')) answers += 1
  })
  /** After what is not needed any more is gone. */
  const measure = async (): Promise<number> => {
    await session.send('HeapProfiler.collectGarbage')
    return (await session.send('Runtime.getHeapUsage')).usedSize
  }
  const live = async (hours: number): Promise<void> => {
    for (let step = 0; step < hours * STEPS_AN_HOUR; step += 1) {
      await page.clock.runFor(STEP_MS)
      await page.evaluate('new Promise((resolve) => requestAnimationFrame(resolve))').catch(() => null)
    }
  }
  await goTo(page, '/orders')
  await live(1)
  const afterOne = await measure()
  await live(7)
  const afterEight = await measure()
  assert.ok(answers > 60, `the tab asked again: ${answers} answers`)
  const grown = afterEight - afterOne
  assert.ok(grown < 1_500_000, `the heap grew by ${grown} bytes from ${afterOne}`)
  await context.close()
})

/** Where each link that a mail or a message holds must end: the heading, and the part of the screen that is open. */
const LANDS: Record<'Manager' | 'SuperAdmin', Record<string, [heading: string | RegExp, part?: string]>> = {
  Manager: {
    '/device': ['Log in a program'],
    [OFFICE_PATHS.people]: ['People'],
    [OFFICE_PATHS.home]: [/^Hello, /],
    [OFFICE_PATHS.account]: ['Your account'],
    [OFFICE_PATHS.orders]: ['Orders'],
    [OFFICE_PATHS.keys]: ['API keys'],
    [OFFICE_PATHS.audit]: ['Audit log'],
    [OFFICE_PATHS.failedWebhooks]: ['Webhooks', 'Undelivered'],
  },
  SuperAdmin: {
    [OFFICE_PATHS.refunds]: ['Refunds', 'To do'],
    [OFFICE_PATHS.waitingCompanies]: ['Companies', 'Companies'],
    [OFFICE_PATHS.system]: ['Health', 'Health'],
    [OFFICE_PATHS.wallets]: ['Wallets', 'Wallets'],
    money: ['Balance and payouts'],
    audit: ['Audit log'],
    mispayments: ['Mispayments', 'To decide'],
    screening: ['Screening of addresses', 'Addresses'],
  },
}

test('every link of a mail lands on its screen after the login, and shows nothing before it', async () => {
  const root = join(import.meta.dirname, '../../src')
  const text = globSync('**/*.ts', { cwd: root }).map((file) => readFileSync(join(root, file), 'utf8'))
  const written = text.flatMap((source) =>
    [...source.matchAll(/officeUrl\}(\/[^`"]*)[`"]/g)].map(([, path = '']) => path),
  )
  const byHand = [...new Set(written.map((path) => path.replace(/\$\{\w+\}/, 'x')))].sort()
  assert.deepEqual(
    byHand,
    ['/', '/device', '/invitation?token=x', '/login', '/register'],
    'a new link belongs in src/config/office-paths.ts',
  )
  const { companyId } = shop.merchant
  const known = [...Object.values(OFFICE_PATHS), ...Object.keys(officePathsOf(companyId)), '/device'].sort()
  const listed = Object.values(LANDS).flatMap((paths) => Object.keys(paths))
  assert.deepEqual(listed.sort(), known, 'a new link needs its screen here')

  const admin = await insertPerson(shop.host.db, 'SuperAdmin', companyId, await passwordHash())
  const emails = { Manager: (await registerManager(base())).email, SuperAdmin: admin.email }
  for (const role of ['Manager', 'SuperAdmin'] as const) {
    const ofCompany = officePathsOf(companyId) as Record<string, string>
    const links = Object.entries(LANDS[role]).map(([path, ends]) => [ofCompany[path] ?? path, ends] as const)
    const [[first] = ['']] = links
    const { page, context } = await visit(browser, `${base()}/app${first}`, DESK)
    const title = page.locator('h1').first()
    for (const [path] of links.toReversed()) {
      await jump(page, path)
      await page.waitForURL(({ pathname, searchParams: words }) => {
        return pathname === '/app/login' && decodeURIComponent(words.get('then') ?? '/') === path
      })
      assert.equal(await title.innerText(), 'Log in', path)
    }
    await logInOnPage(page, base(), emails[role])
    for (const [path, [heading, part]] of links) {
      if (path !== first) await goTo(page, path)
      await page.getByRole('heading', { level: 1, name: heading }).waitFor()
      const { pathname, search } = new URL(page.url())
      assert.equal(pathname + search, `/app${path}`)
      if (part) await page.locator('[aria-pressed="true"]', { hasText: part }).waitFor()
      if (path.includes(companyId))
        assert.equal(await page.locator('nav').first().getByLabel('Company').inputValue(), companyId)
    }
    await context.close()
  }
  const { page, context } = await visit(browser, `${base()}/app/invitation?token=x`, DESK)
  await page.getByRole('heading', { level: 1, name: 'Welcome. Choose your password' }).waitFor()
  await page.goto(`${base()}/app/register`)
  await page.getByRole('heading', { level: 1, name: 'Create an account' }).waitFor()
  await context.close()
})
