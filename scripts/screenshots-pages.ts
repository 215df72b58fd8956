import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { startTestServer } from './test/server.ts'

const OUT = join(import.meta.dirname, '..', 'docs/pages')
const QUALITY = 40

async function save(page: Page, name: string): Promise<void> {
  const session = await page.context().newCDPSession(page)
  const { cssContentSize } = await session.send('Page.getLayoutMetrics')
  const viewport = page.viewportSize() ?? { width: 390, height: 844 }
  // as tall as the page: a picture beyond the viewport is drawn as for a mouse, without the buttons of a phone
  await page.setViewportSize({ width: viewport.width, height: Math.ceil(cssContentSize.height) })
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY })
  await page.setViewportSize(viewport)
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
  const { makePayerPages } = await import('../test/harness/pay-pages.ts')
  const { startBrowser } = await import('../test/harness/browser.ts')
  const world = await startPayWorld()
  const pages = await makePayerPages(world)
  const browser = await startBrowser()
  mkdirSync(OUT, { recursive: true })
  await shootAll(browser, Object.fromEntries(pages.map(({ name, url }) => [name, url])))
  await browser.close()
  await world.stop()
  await server.stop()
}
