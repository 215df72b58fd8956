import { accessSync, constants, existsSync } from 'node:fs'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { type PackagedChromium, unpackChromium } from './packaged-chromium.ts'

const SYSTEM_PATHS = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
  '/opt/google/chrome/chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
]

/** Nothing that calls home; no sandbox, which root cannot have; the same letters on every machine. */
const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--font-render-hinting=none',
]

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

async function findChromium(): Promise<PackagedChromium> {
  const chosen = process.env.CHROMIUM_PATH
  if (chosen) {
    if (!isExecutable(chosen)) throw new Error(`CHROMIUM_PATH names ${chosen}, which cannot be run.`)
    return { executablePath: chosen, env: {} }
  }
  try {
    return await unpackChromium()
  } catch (error) {
    const installed = SYSTEM_PATHS.find((path) => existsSync(path) && isExecutable(path))
    if (installed !== undefined) return { executablePath: installed, env: {} }
    throw new Error(
      'Browser tests need Chromium. Install it (Debian: apt-get install chromium), or set CHROMIUM_PATH. ' +
        `The one that npm installs could not be used: ${error instanceof Error ? error.message : String(error)}`,
    )
  }
}

/**
 * Chromium without a window: `CHROMIUM_PATH`, else the one that `npm ci` brought (without a desktop around it, half the
 * CPU), else the machine's own.
 */
export async function startBrowser(): Promise<Browser> {
  const { executablePath, env } = await findChromium()
  const inherited = Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return chromium.launch({ executablePath, args: ARGS, env: { ...Object.fromEntries(inherited), ...env } })
}

export const PHONE: BrowserContextOptions = {
  viewport: { width: 390, height: 844 },
  deviceScaleFactor: 2,
  isMobile: true,
  hasTouch: true,
  locale: 'en-GB',
}

/** What waits on a page moves for as long as it waits, and without a graphics card each frame costs processor time. */
export const STILL = { reducedMotion: 'reduce' } as const

/** One page in a fresh context, with the addresses of everything that it asks for. */
export type Visit = {
  page: Page
  context: BrowserContext
  requests: string[]
  /** What the page or its security policy complained about. */
  complaints: string[]
}

export async function visit(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<Visit> {
  const context = await browser.newContext({ ...PHONE, ...STILL, ...options })
  return visitOn(await context.newPage(), url)
}

const HEARD = ['request', 'response', 'requestfailed', 'requestfinished', 'pageerror', 'console', 'dialog'] as const

/** A visit on a page that is there: only this visit listens to it. */
export async function visitOn(page: Page, url: string): Promise<Visit> {
  const requests: string[] = []
  const complaints: string[] = []
  for (const event of HEARD) await page.removeAllListeners(event)
  page.on('request', (request) => requests.push(request.url()))
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text())
  })
  await page.goto(url)
  return { page, context: page.context(), requests, complaints }
}
