import { startTestServer } from '../scripts/test/server.ts'
import { quantile } from './service.ts'

/* From the tap on "Charge" until the customer can scan the code, in a real browser. Part of: npm run bench -- pages */

const SALES = 60

const SELL = `new Promise((done) => {
  const picture = document.getElementById('qr'), startedAt = performance.now()
  picture.addEventListener('load', () => done(performance.now() - startedAt), { once: true })
  document.getElementById('charge').click()
})`

export async function run(): Promise<void> {
  const server = await startTestServer()
  Object.assign(process.env, server.env)
  const { openTillWorld, typeOn } = await import('../test/harness/till-world.ts')
  const world = await openTillWorld()
  const { page } = await world.openTill()
  const times: number[] = []
  for (let sale = 0; sale < SALES; sale += 1) {
    await typeOn(page, 'keys', '1250')
    times.push((await page.evaluate(SELL)) as number)
    await page.locator('#again').click()
    await page.locator('#sale').waitFor()
  }
  const show = (share: number): string => `${Math.round(quantile(times, share))} ms`
  console.log(`till, from the order to the code: p50 ${show(0.5)}, p95 ${show(0.95)} over ${SALES} sales (asked 300)`)
  await world.stop()
  await server.stop()
}
