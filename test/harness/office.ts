import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { PASSWORD, readMails, waitForMail } from './accounts.ts'
import { STILL, type Visit, visit, visitOn } from './browser.ts'
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

/**
 * Types e-mail and password, and the mailed code where one is asked for. The labels are exact: while a sign-out is
 * under way, the screen before may still show a field that searches for an email.
 */
export async function logInOnPage(page: Page, baseUrl: string, email: string, password = PASSWORD): Promise<void> {
  const before = await countCodes(baseUrl, email)
  await page.getByLabel('Email', { exact: true }).fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Log in' }).click()
  const code = page.getByLabel('Code from the email')
  const inside = page.locator('#content')
  await code.or(inside).first().waitFor()
  if (await code.isVisible()) {
    await code.fill(await nextCode(baseUrl, email, before))
    await page.getByRole('button', { name: 'Log in' }).click()
  }
}

type Desk = { page: Page; enteredAt: number }
/** Pages that were left, by whom they belong to: each is logged in and used by no test. */
const desks = new WeakMap<Browser, Map<string, Desk>>()
/** Well within the five minutes for which the second factor of a login counts. */
const DESK_FOR_MS = 150_000
const NOT_SESSION = /^(?!refreshToken)/

/** As it was when it was opened, but for the session and the code that V8 has compiled. */
async function tidy(page: Page, baseUrl: string, viewport: BrowserContextOptions['viewport']): Promise<void> {
  const context = page.context()
  for (const other of context.pages()) if (other !== page) await other.close()
  for (const routed of [page, context]) await routed.unrouteAll({ behavior: 'ignoreErrors' })
  await context.setOffline(false)
  await context.clearPermissions()
  await context.clearCookies({ name: NOT_SESSION })
  await page.emulateMedia({ media: null, colorScheme: null, forcedColors: null, contrast: null, ...STILL })
  if (viewport) await page.setViewportSize(viewport)
  // no screen asks for anything until the page is entered again
  await page.goto(`${baseUrl}/healthz`)
  await page.evaluate('localStorage.clear(); sessionStorage.clear()')
}

export type OfficeVisit = Visit & {
  /**
   * Instead of closing the context: whoever is the same person next enters on this page. Everything is loaded anew, but
   * without a new process, all code compiled again and a login, which are three quarters of the work. Not for a test
   * that changes what a page keeps for good: its clock, scripts that run first, an authenticator.
   */
  leave(): Promise<void>
}

/** A person at a path of the back office, through the login where no page is left that is logged in. */
export async function enterOffice(
  browser: Browser,
  baseUrl: string,
  person: {
    email: string
    path?: string
    password?: string
    options?: BrowserContextOptions
    /** In a browser that does not know the person, whatever pages were left. */
    freshLogin?: boolean
  },
): Promise<OfficeVisit> {
  const url = `${baseUrl}/app${person.path ?? ''}`
  const options = { ...DESK, ...person.options }
  const key = JSON.stringify([baseUrl, person.email, options])
  const left = desks.get(browser) ?? new Map<string, Desk>()
  desks.set(browser, left)
  const desk = left.get(key)
  left.delete(key)
  const isFresh = desk !== undefined && !person.freshLogin && Date.now() - desk.enteredAt < DESK_FOR_MS
  if (!isFresh) await desk?.page.context().close()
  const enteredAt = isFresh ? desk.enteredAt : Date.now()
  const tab = isFresh ? await visitOn(desk.page, url) : await visit(browser, url, options)
  const content = tab.page.locator('#content')
  await content.or(tab.page.getByLabel('Password')).first().waitFor()
  if (!(await content.isVisible())) await logInOnPage(tab.page, baseUrl, person.email, person.password)
  await content.locator('h1').first().waitFor()
  return {
    ...tab,
    async leave() {
      await tidy(tab.page, baseUrl, options.viewport)
      left.set(key, { page: tab.page, enteredAt })
    },
  }
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
