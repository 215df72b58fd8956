import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { startBrowser } from '../harness/browser.ts'
import { startTestService, type TestService } from '../harness/service.ts'

let host: TestService
let browser: Browser

before(async () => {
  host = await startTestService()
  browser = await startBrowser()
})
after(async () => {
  await browser?.close()
  await host?.stop()
})

test('the reference works without eval, and a script that something writes into its page does not run', async () => {
  const page = await browser.newPage()
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(error.message))
  page.on('console', (message) => {
    if (/Content Security Policy/.test(message.text())) faults.push(message.text())
  })
  await page.goto(`${host.baseUrl}/docs/api`)
  await page.getByText('Create an order or a payment link').first().waitFor()
  assert.deepEqual(faults, [])
  const ran = await page.evaluate(`(() => {
    const script = document.createElement('script')
    script.textContent = 'window.attacked = true'
    document.body.append(script)
    return window.attacked === true
  })()`)
  assert.equal(ran, false)
  assert.ok(faults.some((fault) => /Content Security Policy/.test(fault)))
})
