import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { sql } from '../../src/db/db.ts'
import { aboveCommandLine } from '../../web/office/src/screens/developer/above-command-line.ts'
import { type Person, registerManager } from '../harness/accounts.ts'
import { listAxeFaults } from '../harness/axe.ts'
import { startBrowser } from '../harness/browser.ts'
import { enterOffice, goTo } from '../harness/office.ts'
import { type ReceivedWebhook, type Receiver, startReceiver } from '../harness/receiver.ts'
import { eventually, startTestService, type TestService } from '../harness/service.ts'

/* What a shop's developer does in the back office. */

let service: TestService
let browser: Browser
let manager: Person
let receiver: Receiver

before(async () => {
  service = await startTestService({ workers: true })
  browser = await startBrowser()
  receiver = await startReceiver()
  manager = await registerManager(service.baseUrl)
  await service.db.run(sql`update companies set optional_events = '{order.initial}'
    where id = (select company_id from users where email = ${manager.email})`)
})
after(async () => {
  await browser?.close()
  await receiver?.close()
  await service?.stop()
})

const enter = (path: string) => enterOffice(browser, service.baseUrl, { email: manager.email, path })
const BIN = join(import.meta.dirname, '../../bin/comptoir.cjs')
/** Which program verifies a webhook: one that `sdk/webhooks.test.ts` tries with forgeries. */
const LANGUAGES = [
  ['JavaScript', 'verify.js'],
  ['PHP', 'verify.php'],
  ['Python', 'verify.py'],
  ['curl', 'verify.js'],
] as const
const HOSTILE = `<img src=x onerror="window.hacked=1">`

test('a key made on the page stands in the code of every language, and the order that the code makes shows up', async () => {
  const { page, leave } = await enter('/developer')
  await page.getByRole('button', { name: 'Make a key for this code' }).click()
  await page.getByText('The code below carries the key').waitFor()
  const sample = page.locator('pre').first()
  for (const [language, file] of LANGUAGES) {
    await page.getByRole('button', { name: language, exact: true }).click()
    assert.match(await sample.innerText(), /pk_[\s\S]+sk_/, language)
    const program = readFileSync(join(import.meta.dirname, '../../sdk/examples', file), 'utf8')
    assert.equal(await page.locator('pre').nth(1).textContent(), aboveCommandLine(program), language)
  }
  const code = await sample.innerText()
  const [, apiKey = ''] = /x-api-key: (pk_[\w-]+)/.exec(code) ?? []
  const [, apiSecret = ''] = /x-api-secret: (sk_[\w-]+)/.exec(code) ?? []
  const [, body = ''] = /-d '([^']+)'/.exec(code) ?? []
  const answer = await fetch(`${service.baseUrl}/api/next/confirm_conversion/request`, {
    method: 'POST',
    headers: {
      ...{ 'x-api-key': apiKey, 'x-api-secret': apiSecret, 'content-type': 'application/json' },
      ...{ 'x-request-id': 'first-order-of-mine', 'user-agent': HOSTILE },
    },
    body,
  })
  assert.equal(answer.status, 200)
  await goTo(page, '/requests?request=first-order-of-mine')
  await page.getByText('/api/next/confirm_conversion/request').click()
  await page.getByText('First order', { exact: true }).waitFor()
  await page.getByText(HOSTILE).waitFor()
  await goTo(page, '/events')
  await page.locator('summary', { hasText: 'order.initial' }).first().click()
  await page.getByText('"fromAmount": "12.50"').waitFor()
  await goTo(page, '/developer')
  assert.equal(await page.getByText(/sk_/).count(), 0, 'the secret is gone when the page was left')
  const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]))
  assert.equal(/sk_/.test(kept), false)
  await leave()
})

test('an impatient Escape does not lose a secret that is shown only now', async () => {
  const { page, leave } = await enter('/keys')
  await page.getByRole('button', { name: 'New key' }).click()
  await page.getByLabel('Name').fill('till server')
  await page.getByRole('button', { name: 'Create the key' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('heading', { name: 'The secret is shown only now' }).waitFor()
  const shown = await dialog.innerText()
  for (let presses = 0; presses < 5; presses += 1) await page.keyboard.press('Escape')
  // the browser tells of a dialog that it closed after the key has been handled
  await page.evaluate('new Promise((done) => setTimeout(done, 100))')
  assert.equal(await dialog.innerText(), shown)
  await dialog.getByRole('button', { name: 'I have copied it' }).click()
  await dialog.waitFor({ state: 'detached' })
  await leave()
})

test('who typed a code that no command line shows types another', async () => {
  const { page, leave } = await enter('/device?code=AAAA-AAAA')
  await page.getByRole('button', { name: 'Enter another code' }).click()
  await page.getByPlaceholder('XXXX-XXXX').waitFor()
  await leave()
})

test('a test event is sent from the page, and a hostile answer shows as text', async () => {
  receiver.answer('/hook', (_request, response) => void response.writeHead(418).end(HOSTILE))
  const { page, leave } = await enter('/webhooks')
  await page.getByLabel('Your server’s address').fill(`${receiver.url}/hook`)
  await page.getByRole('region', { name: 'Send a test event' }).getByLabel('Event').selectOption('order.refunded')
  await page.getByRole('button', { name: 'Send the test event' }).click()
  await page.getByText('Not delivered').waitFor()
  await page.getByText('418').waitFor()
  await page.getByText(HOSTILE).waitFor()
  assert.equal(receiver.at('/hook')[0]?.headers['service-event'], 'order.refunded')
  assert.equal(await page.evaluate('"hacked" in window'), false)
  await leave()
})

const isSignedBy = (secret: string, { body, headers }: ReceivedWebhook): boolean => {
  const [, time = '', signature = ''] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(headers['service-signature'] ?? '') ?? []
  return createHmac('sha256', secret).update(`${time}.${body}`).digest('hex') === signature
}

test('a secret is changed in steps: prepared, tested, and only then in use, also by who left the page meanwhile', async () => {
  const { page, leave } = await enter('/webhooks')
  const dialog = page.getByRole('dialog')
  const open = () => page.locator('#content').getByRole('button', { name: 'Change it in steps' }).click()
  await page.getByRole('button', { name: 'Show the secret' }).click()
  const old = await page.getByText(/^whsec_/).innerText()
  await open()
  await dialog.getByRole('button', { name: 'Prepare a secret' }).click()
  const next = await dialog.getByText(/^whsec_/).innerText()
  await dialog.getByLabel('Your server’s address').fill(`${receiver.url}/rotation`)
  await dialog.getByRole('button', { name: 'Send a test' }).click()
  await dialog.getByText('Delivered', { exact: true }).waitFor()
  const [test] = receiver.at('/rotation')
  assert.ok(test && isSignedBy(next, test), 'the test is signed with the prepared secret')
  const end = dialog.getByLabel('Last characters of the prepared secret')
  assert.equal(await end.inputValue(), next.slice(-12))
  assert.deepEqual(await listAxeFaults(page), [])
  await dialog.getByRole('button', { name: 'Close' }).click()
  assert.equal(await page.getByText(/^whsec_/).innerText(), old, 'the present one signs on')
  await open()
  await dialog.getByRole('button', { name: 'I have prepared one' }).click()
  await end.fill('NotMine=')
  await dialog.getByRole('button', { name: 'Put it into use' }).click()
  await dialog.getByRole('alert').getByText('No secret with this end is prepared').waitFor()
  await end.fill(next.slice(-8))
  await dialog.getByRole('button', { name: 'Put it into use' }).click()
  await page.getByText('The new secret is active').waitFor()
  assert.equal(await page.getByText(/^whsec_/).count(), 0, 'the old one is no longer shown as the secret')
  await page.getByRole('button', { name: 'Show the secret' }).click()
  assert.equal(await page.getByText(/^whsec_/).innerText(), next)
  await leave()
})

test('a delivery is copied as a curl command that repeats it, signed now', async () => {
  const path = '/repeat-by-hand'
  const { data } = await manager.client.get<{ collectors: { identifier: string }[] }>('collectors/list')
  const merchantIdentifier = data.collectors[0]?.identifier
  const order = { amount: '5.00', fromAsset: 'EUR', merchantIdentifier, webhookUrl: `${receiver.url}${path}` }
  assert.equal((await manager.client.post('confirm_conversion/request', order)).status, 200)
  const [delivery] = await eventually(
    async () => receiver.at(path),
    ({ length }) => length > 0,
  )
  const { page, leave } = await enter('/webhooks')
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.getByRole('button', { name: 'order.initial' }).click()
  await page.getByRole('button', { name: 'Copy as curl' }).click()
  await page.getByText('Copied').waitFor()
  const command = String(await page.evaluate('navigator.clipboard.readText()'))
  assert.ok(command.startsWith(`curl -X POST '${receiver.url}${path}'`), command)
  assert.ok(command.includes(`-H 'service-webhook-id: ${delivery?.headers['service-webhook-id']}'`), command)
  assert.ok(command.includes(`--data-raw '${delivery?.body}'`), command)
  await leave()
})

test('what the tab shows is sent again, and nothing of another one', async () => {
  const { page, leave } = await enter('/webhooks?status=parked')
  const bodies: { status: string[] }[] = []
  await page.route('**/webhook-deliveries/redeliver', async (route) => {
    bodies.push(route.request().postDataJSON())
    await route.fulfill({ json: { data: { redelivered: 0 } } })
  })
  const again = page.getByRole('button', { name: 'Send the failed ones again' })
  const press = () => Promise.all([page.waitForResponse('**/redeliver'), again.click()])
  await press()
  await goTo(page, '/webhooks?status=failed,parked')
  await press()
  await goTo(page, '/webhooks')
  await press()
  assert.deepEqual(
    bodies.map(({ status }) => status),
    [['parked'], ['failed', 'parked'], ['failed', 'parked']],
  )
  await goTo(page, '/webhooks?status=delivered')
  await again.waitFor({ state: 'detached' })
  await leave()
})

test('a refused request is found among the refused alone', async () => {
  await manager.client.call('POST', 'confirm_conversion/request', { amount: '0.01', fromAsset: 'EUR' })
  const { page, leave } = await enter('/requests')
  await page.getByLabel('Only refused and failed requests').check()
  await page.getByText('VALIDATION_FAILED').first().waitFor()
  assert.match(new URL(page.url()).search, /status=failed/)
  await leave()
})

test('comptoir login waits, the page says who asks, and once it is confirmed the terminal has its key until logout', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'comptoir-login-'))
  const env = { PATH: process.env.PATH, HOME: folder, COMPTOIR_LOGIN_FILE: join(folder, 'login.json') }
  const run = (...args: string[]) => spawn(process.execPath, [BIN, ...args], { cwd: folder, env })
  const login = run('login', '--url', service.baseUrl, '--scopes', 'orders:read,refunds:write', '--json')
  let said = ''
  let out = ''
  login.stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString()
  })
  login.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString()
  })
  const code = await eventually(
    async () => /confirm the code (\S+)/.exec(said)?.[1] ?? '',
    (found) => found !== '',
  )
  const { page, leave } = await enter('/device')
  await page.getByLabel('Code', { exact: true }).fill(code.toLowerCase())
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByText(`comptoir on ${hostname()}`).waitFor()
  await page.getByText('It asks from the same internet address as you.').waitFor()
  await page.getByRole('button', { name: 'Confirm' }).click()
  assert.equal(await page.getByText('Go back to your terminal').count(), 0, 'nothing without the tick')
  await page.getByLabel('Start refunds').uncheck()
  await page.getByLabel('I started this login myself').check()
  assert.deepEqual(await listAxeFaults(page), [])
  await page.getByRole('button', { name: 'Confirm' }).click()
  await page.getByText('Go back to your terminal').waitFor()
  assert.deepEqual(await once(login, 'close'), [0, null], said)
  const made = JSON.parse(out) as { scopes: string[] }
  assert.deepEqual(made.scopes, ['orders:read'])
  const { logins } = JSON.parse(readFileSync(env.COMPTOIR_LOGIN_FILE, 'utf8')) as { logins: { apiSecret: string }[] }
  assert.equal(statSync(env.COMPTOIR_LOGIN_FILE).mode & 0o777, 0o600)
  const secret = logins[0]?.apiSecret ?? ''
  assert.ok(secret.startsWith('sk_') && !out.includes(secret) && !said.includes(secret))
  assert.deepEqual(await once(run('orders', 'list'), 'close'), [0, null])
  assert.deepEqual(await once(run('logout'), 'close'), [0, null])
  const headers = { authorization: `Bearer ${secret}` }
  assert.equal((await service.call('GET', '/api/next/confirm_conversion', { headers })).status, 401)
  assert.deepEqual(await once(run('orders', 'list'), 'close'), [2, null], 'forgotten')
  await goTo(page, '/keys')
  await goTo(page, `/device?code=${code}`)
  await page.getByText('No login waits under this code').waitFor()
  await leave()
  rmSync(folder, { recursive: true })
})
