import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/**
 * What axe finds wrong, one line each. Runs outside the page's security policy: it is put in by the debugger.
 * @returns an empty list for a page without faults
 */
export async function listAxeFaults(page: Page): Promise<string[]> {
  await page.evaluate(source)
  // a colour is read as it ends, never in the middle of a fade; what moves for ever never ends
  await page.evaluate(`Promise.all(document.getAnimations()
      .filter((motion) => motion.effect.getComputedTiming().endTime < Infinity)
      .map((motion) => motion.finished.catch(() => {})))
    .then(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))))`)
  const results = (await page.evaluate('axe.run(document, { resultTypes: ["violations"] })')) as AxeResults
  return results.violations.map(({ id, help, nodes }) => `${id}: ${help} (${nodes.map((node) => node.html).join(' ')})`)
}
