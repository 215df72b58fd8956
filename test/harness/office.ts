import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { PASSWORD, readMails, waitForMail } from './accounts.ts'
import { type Visit, visit } from './browser.ts'
import { eventually } from './service.ts'

export const DESK: BrowserContextOptions = {
  viewport: { width: 1280, height: 860 },
  deviceScaleFactor: 1,
  isMobile: false,
  hasTouch: false,
  locale: 'en-GB',
}

const CODE_MAIL = /^\d{6} /

/** The six digits of the newest code mail, once there are more of them than before. */
export async function nextCode(baseUrl: string, email: string, before: number): Promise<string> {
  const mail = await waitForMail(baseUrl, email, CODE_MAIL, before + 1)
  return /\b(\d{6})\b/.exec(mail.text)?.[1] ?? ''
}

export const countCodes = async (baseUrl: string, email: string): Promise<number> =>
  (await readMails(baseUrl, email)).filter(({ subject }) => CODE_MAIL.test(subject)).length

/** Types e-mail and password, and the mailed code where one is asked for. */
export async function logInOnPage(page: Page, baseUrl: string, email: string, password = PASSWORD): Promise<void> {
  const before = await countCodes(baseUrl, email)
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Log in' }).click()
  const code = page.getByLabel('Code from the email')
  const inside = page.locator('#content')
  await code.or(inside).first().waitFor()
  if (await code.isVisible()) {
    await code.fill(await nextCode(baseUrl, email, before))
    await page.getByRole('button', { name: 'Log in' }).click()
  }
}

/** A person at a path of the back office, through the login. */
export async function enterOffice(
  browser: Browser,
  baseUrl: string,
  person: { email: string; path?: string; password?: string; options?: BrowserContextOptions },
): Promise<Visit> {
  const tab = await visit(browser, `${baseUrl}/app${person.path ?? ''}`, { ...DESK, ...person.options })
  await logInOnPage(tab.page, baseUrl, person.email, person.password)
  await tab.page.locator('#content h1').first().waitFor()
  return tab
}

/** To a path of the running office, as its own links do: nothing is loaded anew. */
export const jump = (page: Page, path: string): Promise<unknown> =>
  page.evaluate(
    `history.pushState({}, '', ${JSON.stringify(`/app${path}`)}); dispatchEvent(new PopStateEvent('popstate'))`,
  )

/** Moves inside the running office, so that the session stays, and waits until everything is there. */
export async function goTo(page: Page, path: string): Promise<void> {
  const h1 = page.locator('#content h1').first()
  const before = await h1.innerText()
  const [pathname = ''] = path.split('?')
  const isSame = new URL(page.url()).pathname === `/app${pathname === '/' ? '' : pathname}`
  await jump(page, path)
  await eventually(
    () => h1.innerText({ timeout: 5000 }).catch(() => before),
    (text) => isSame || text !== before,
  )
  await page.locator('#content').getByText('Loading…').first().waitFor({ state: 'detached' })
}
