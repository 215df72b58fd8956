import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/**
 * What axe finds wrong, one line each. Runs outside the page's security policy: it is put in by the debugger.
 * @returns an empty list for a page without faults
 */
export const listAxeFaults = (page: Page): Promise<string[]> => run(page)

/** The rules that a colour scheme can break; all others look at what is the same in both. */
const COLOUR_RULES = ['color-contrast', 'link-in-text-block']

/**
 * What axe finds wrong in both colour schemes. The other one is asked about its colours alone, which is a fraction of
 * the work. Leaves the page in `last`.
 */
export async function listFaultsOfBothSchemes(page: Page, last: 'light' | 'dark' = 'dark'): Promise<string[]> {
  const faults: string[] = []
  for (const scheme of [last === 'dark' ? 'light' : 'dark', last] as const) {
    // without the fade from one scheme's colours to the other's
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' })
    const found = await run(page, scheme === last ? undefined : COLOUR_RULES)
    faults.push(...found.map((fault) => `${scheme} ${fault}`))
  }
  return faults
}

async function run(page: Page, rules?: readonly string[]): Promise<string[]> {
  // a page that stays keeps it
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(source)
  // a colour is read as it ends, never in the middle of a fade; what moves for ever never ends
  await page.evaluate(`Promise.all(document.getAnimations()
      .filter((motion) => motion.effect.getComputedTiming().endTime < Infinity)
      .map((motion) => motion.finished.catch(() => {})))
    .then(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))))`)
  const options = { resultTypes: ['violations'], ...(rules && { runOnly: { type: 'rule', values: rules } }) }
  const results = (await page.evaluate(`axe.run(document, ${JSON.stringify(options)})`)) as AxeResults
  return results.violations.map(({ id, help, nodes }) => `${id}: ${help} (${nodes.map((node) => node.html).join(' ')})`)
}
