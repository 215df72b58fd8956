import assert from 'node:assert/strict'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { exportDocs } from '../../scripts/export-docs.ts'
import { listAxeFaults } from '../harness/axe.ts'
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

test('the exported site works from a folder: no link leads nowhere, it searches, and the reference shows itself', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'comptoir-site-'))
  assert.ok((await exportDocs(folder)) > 90)
  const broken = globSync('**/*.html', { cwd: folder }).flatMap((file) =>
    [...readFileSync(join(folder, file), 'utf8').matchAll(/ (?:href|src|action)="([^"#]+)/g)].flatMap(
      ([, target = '']) => {
        const isOutside = /^(https?|mailto):/.test(target)
        return isOutside || existsSync(join(folder, dirname(file), target)) ? [] : [`${file} → ${target}`]
      },
    ),
  )
  assert.deepEqual(broken, [])
  const page = await browser.newPage({ viewport: { width: 390, height: 800 }, colorScheme: 'dark' })
  const asked: string[] = []
  page.on('request', (request) => asked.push(request.url()))
  await page.goto(`file://${folder}/errors/ALIAS_IN_USE.html`)
  await page.getByRole('searchbox').fill('alias_in_use')
  await page.keyboard.press('Enter')
  await page.locator('.found a').first().click()
  await page.getByRole('heading', { name: 'ALIAS_IN_USE' }).waitFor()
  for (const path of ['index', 'quickstart/marketplace', 'concepts/states', 'sdk']) {
    await page.goto(`file://${folder}/${path}.html`)
    const wide = Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'))
    assert.deepEqual([path, wide > 0, await listAxeFaults(page)], [path, false, []])
  }
  await page.setViewportSize({ width: 1280, height: 800 })
  await page.goto(`file://${folder}/api.html`)
  await page.getByText('Create an order or a payment link').first().waitFor()
  assert.deepEqual(
    asked.filter((url) => !url.startsWith('file:') && !url.startsWith('data:')),
    [],
  )
  await page.close()
  rmSync(folder, { recursive: true })
})
