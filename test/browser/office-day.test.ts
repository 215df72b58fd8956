import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { newEmail, PASSWORD, registerManager } from '../harness/accounts.ts'
import { startBrowser, visit } from '../harness/browser.ts'
import { DESK, enterOffice, goTo, logInOnPage, nextCode } from '../harness/office.ts'
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
  await page.getByText('Delivered').first().waitFor()
  await context.close()
})

/** The clock jumps in steps; in each the timers of the tab fire as often as in real time. */
const STEP_MS = 5 * 60_000
const STEPS_AN_HOUR = 12

test('the memory of a tab that is open for eight hours with live updates does not grow', async () => {
  const { email } = await registerManager(base())
  const { page, context } = await enterOffice(browser, base(), { email })
  await page.clock.install()
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

/** Where each link that a mail or a message holds must end, for a manager who is not logged in. */
const LANDS: Record<string, string> = {
  '/device': 'Log in a program',
  '/people': 'People',
  '/webhooks?status=failed': 'Webhooks',
  '/invitation?token=x': 'Welcome. Choose your password',
}

test('every link of a mail lands on its screen, through the login where one is needed', async () => {
  const root = join(import.meta.dirname, '../../src')
  const text = globSync('**/*.ts', { cwd: root }).map((file) => readFileSync(join(root, file), 'utf8'))
  const found = text.flatMap((source) => [...source.matchAll(/officeUrl\}(\/[^`]*)`/g)].map(([, path = '']) => path))
  const links = [...new Set(found.map((path) => path.replace(/\$\{\w+\}/, 'x')))].sort()
  assert.deepEqual(links, Object.keys(LANDS).sort(), 'a new link needs its screen here')
  const { email } = await registerManager(base())
  for (const link of links) {
    const { page, context } = await visit(browser, `${base()}/app${link}`, DESK)
    await page.locator('h1').first().waitFor()
    if (new URL(page.url()).pathname === '/app/login') {
      await logInOnPage(page, base(), email)
      await page.locator('#content h1').first().waitFor()
    }
    await page.getByRole('heading', { level: 1, name: LANDS[link] ?? '' }).waitFor()
    assert.equal(new URL(page.url()).pathname + new URL(page.url()).search, `/app${link}`)
    await context.close()
  }
})
