import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
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

/** One line for each rule that is broken. What axe would load first, styles and media, no rule of ours reads. */
const describe = (options: object): string => `axe.run(document, ${JSON.stringify(options)})
  .then(({ violations }) => violations.map(({ id, help, nodes }) =>
    id + ': ' + help + ' (' + nodes.map(({ html }) => html).join(' ') + ')'))`

async function run(page: Page, rules?: readonly string[]): Promise<string[]> {
  // a page that stays keeps it
  if (!(await page.evaluate('"axe" in window'))) await putIn(page)
  // a colour is read as it ends, never in the middle of a fade; what moves for ever never ends
  await page.evaluate(`Promise.all(document.getAnimations()
      .filter((motion) => motion.effect.getComputedTiming().endTime < Infinity)
      .map((motion) => motion.finished.catch(() => {})))
    .then(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))))`)
  const only = rules && { runOnly: { type: 'rule', values: rules } }
  return (await page.evaluate(describe({ resultTypes: ['violations'], preload: false, ...only }))) as string[]
}

/** Half a megabyte, which `page.evaluate` would take twice as long for. */
async function putIn(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page)
  const { exceptionDetails } = await session.send('Runtime.evaluate', { expression: `${source}; 0` })
  await session.detach()
  if (exceptionDetails) throw new Error(`axe cannot be put into the page: ${exceptionDetails.text}`)
}
