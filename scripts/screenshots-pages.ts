import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { startTestServer } from './test-server.ts'

const OUT = join(import.meta.dirname, '..', 'docs/pages')
const QUALITY = 40

async function save(page: Page, name: string): Promise<void> {
  const session = await page.context().newCDPSession(page)
  const shot = { format: 'webp', quality: QUALITY, captureBeyondViewport: true } as const
  const { cssContentSize } = await session.send('Page.getLayoutMetrics')
  const { width, height } = cssContentSize
  const clip = { x: 0, y: 0, width, height, scale: 1 }
  const { data } = await session.send('Page.captureScreenshot', { ...shot, clip })
  writeFileSync(join(OUT, `${name}.webp`), Buffer.from(data, 'base64'))
}

const DEVICES: Record<string, BrowserContextOptions> = {
  phone: { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
  desk: { viewport: { width: 1280, height: 800 } },
}

async function shootAll(browser: Browser, addresses: Record<string, string>): Promise<void> {
  for (const [device, options] of Object.entries(DEVICES)) {
    for (const colorScheme of ['light', 'dark'] as const) {
      const context = await browser.newContext({ ...options, colorScheme, locale: 'en-GB', reducedMotion: 'reduce' })
      const page = await context.newPage()
      for (const [name, url] of Object.entries(addresses)) {
        await page.goto(url)
        await page.locator('h1').first().waitFor()
        await save(page, `${name}-${device}${colorScheme === 'dark' ? '-dark' : ''}`)
      }
      await context.close()
    }
  }
}

/** Every page that payers see, from a service with an order in each situation. */
export async function shootPages(): Promise<void> {
  const server = await startTestServer()
  Object.assign(process.env, server.env)
  const { startPayWorld } = await import('../test/harness/pay-world.ts')
  const { makePayStates } = await import('../test/harness/pay-states.ts')
  const { startBrowser } = await import('../test/harness/browser.ts')
  const world = await startPayWorld()
  const states = await makePayStates(world)
  const browser = await startBrowser()
  mkdirSync(OUT, { recursive: true })
  const { baseUrl } = world.host
  const { eventually } = await import('../test/harness/service.ts')
  const findReceipt = async (): Promise<string> => {
    const paid = await (await fetch(world.pageUrl(states.paid ?? ''))).text()
    return /href="([^"]*\/receipt\/[\w-]+)"/.exec(paid)?.[1] ?? ''
  }
  const receipt = await eventually(findReceipt, (link) => link !== '')
  await shootAll(browser, {
    ...Object.fromEntries(
      Object.entries(states).map(([state, code]) => [
        state,
        // one way to pay is not asked for, except after a step that failed
        `${world.pageUrl(code)}${state === 'choose' ? '&problem=CHANNEL_UNAVAILABLE' : ''}`,
      ]),
    ),
    receipt,
    poster: `${baseUrl}/pay/poster?code=${states.choose}`,
    unknown: `${baseUrl}/pay?code=nothing`,
    missing: `${baseUrl}/nowhere`,
  })
  await browser.close()
  await world.stop()
  await server.stop()
}
