import type { Browser, Page } from 'playwright-core'
import { sql } from '../../src/db/db.ts'
import { type Person, register, registerManager } from './accounts.ts'
import { startBrowser, type Visit, visit } from './browser.ts'
import { openShop, type Shop } from './shop.ts'

export const PIN = '402817'

export type TillWorld = {
  shop: Shop
  browser: Browser
  boss: Person
  collector: string
  /** The code that a manager makes for a device. */
  newCode(): Promise<string>
  /** An enrolled till with its cashier signed in. */
  openTill(options?: Parameters<typeof visit>[2]): Promise<Visit>
  /** One more cashier of this till. @returns the id */
  hire(firstName: string): Promise<string>
  countOrders(units: number): Promise<number>
  stop(): Promise<void>
}

export const typeOn = async (page: Page, pad: string, keys: string): Promise<void> => {
  for (const key of keys) await page.locator(`#${pad} [data-key="${key}"]`).click()
}

/** Types the amount and charges it. @returns the order's code, read from the picture's address */
export async function chargeOn(page: Page, digits: string): Promise<string> {
  await typeOn(page, 'keys', digits)
  await page.locator('#charge').click()
  await page.locator('#qr').waitFor()
  const address = (await page.locator('#qr').getAttribute('src')) ?? ''
  return new URL(address, page.url()).searchParams.get('code') ?? ''
}

export async function enterAs(page: Page, name: string | RegExp): Promise<void> {
  await page.locator('.name', { hasText: name }).first().click()
  await typeOn(page, 'pin-keys', PIN)
}

export async function leaveTill(page: Page): Promise<void> {
  await page.locator('#to-shift').click()
  await page.locator('#sign-out').click()
  await page.locator('#people').waitFor()
}

const REACHED = ['**/healthz', '**/api/next/**']
/** For this window the service is gone. */
export async function cutOff(page: Page): Promise<void> {
  for (const path of REACHED) await page.route(path, (route) => route.abort())
}
export async function reconnect(page: Page): Promise<void> {
  for (const path of REACHED) await page.unroute(path)
}

/** A shop with a till, its cashier with a PIN, and a browser. */
export async function openTillWorld(): Promise<TillWorld> {
  const [shop, browser] = await Promise.all([openShop(), startBrowser()])
  const { baseUrl, db } = shop.host
  const boss = await registerManager(baseUrl)
  const cashier = await register(baseUrl, { role: 'Cashier', companyName: boss.companyId })
  await boss.client.post(`users/${cashier.userId}/approve`)
  await db.run(sql`update sessions set second_factor_at = now()`)
  await cashier.client.call('PUT', 'users/me/till-pin', { pin: PIN })
  const tills = await boss.client.get<{ collectors: { _id: string }[] }>('collectors/list')
  const collector = tills.data.collectors[0]?._id ?? ''
  await boss.client.call('PUT', `collectors/${collector}`, { cashiers: [cashier.userId] })
  const newCode = async (): Promise<string> => {
    const made = await boss.client.post<{ enrolmentCode: string }>('till-devices', { name: 'Counter', collector })
    return made.data.enrolmentCode
  }
  return {
    ...{ shop, browser, boss, collector, newCode },
    async openTill(options = {}) {
      const opened = await visit(browser, `${baseUrl}/till`, options)
      opened.page.setDefaultTimeout(10_000)
      await opened.page.locator('#code').fill(await newCode())
      await opened.page.locator('#enrol-form button').click()
      await opened.page.locator('.name').first().click()
      await typeOn(opened.page, 'pin-keys', PIN)
      await opened.page.locator('#sale').waitFor()
      return opened
    },
    async hire(firstName) {
      const hired = await register(baseUrl, { role: 'Cashier', companyName: boss.companyId, firstName })
      await boss.client.post(`users/${hired.userId}/approve`)
      await db.run(sql`update sessions set second_factor_at = now() where user_id = ${hired.userId}`)
      await hired.client.call('PUT', 'users/me/till-pin', { pin: PIN })
      const all = await db.many<{ id: string }>(sql`select id from users where role = 'Cashier'`)
      await boss.client.call('PUT', `collectors/${collector}`, { cashiers: all.map(({ id }) => id) })
      return hired.userId
    },
    async countOrders(units) {
      const { count } = await db.one<{ count: number }>(sql`
        select count(*)::int as count from orders where from_units = ${units} and company_id = ${boss.companyId}`)
      return count
    },
    async stop() {
      await browser.close()
      await shop.stop()
    },
  }
}
