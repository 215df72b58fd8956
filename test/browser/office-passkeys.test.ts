import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, CDPSession, Page } from 'playwright-core'
import { sql } from '../../src/db/db.ts'
import {
  beginLogin,
  Client,
  logIn,
  PASSWORD,
  type Person,
  readCode,
  registerManager,
  waitForMail,
} from '../harness/accounts.ts'
import { startBrowser } from '../harness/browser.ts'
import { freePort } from '../harness/free-port.ts'
import { countCodes, enterOffice, goTo } from '../harness/office.ts'
import { startTestService, type TestService } from '../harness/service.ts'

/* Passkeys in Chromium with its virtual authenticator: keys, signatures and counters are real. */

let service: TestService
let browser: Browser
let manager: Person

before(async () => {
  // keys are bound to a name; browsers take no IP address
  const port = String(await freePort())
  service = await startTestService({ workers: true, env: { PORT: port, BASE_URL: `http://localhost:${port}` } })
  browser = await startBrowser()
  manager = await registerManager(service.baseUrl)
})
after(async () => {
  await browser?.close()
  await service?.stop()
})

type Device = { session: CDPSession; authenticatorId: string }

/** A device that confirms by itself, as if its owner touched it. */
async function plugIn(page: Page): Promise<Device> {
  const session = await page.context().newCDPSession(page)
  await session.send('WebAuthn.enable')
  const options = {
    ...{ protocol: 'ctap2' as const, transport: 'internal' as const, hasUserVerification: true },
    ...{ isUserVerified: true, automaticPresenceSimulation: true },
  }
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', { options })
  return { session, authenticatorId }
}

async function ageFactors(): Promise<void> {
  await service.db.run(sql`update sessions set second_factor_at = now() - interval '6 minutes'`)
  // a node believes what it read of a session for a moment
  await new Promise((resolve) => setTimeout(resolve, 5500))
}

/** Another session of somebody who has a passkey. */
async function logInByMail(email: string): Promise<Client> {
  const mailed = await countCodes(service.baseUrl, email)
  const client = new Client(service.baseUrl)
  await beginLogin(client, email)
  await client.post('auth/otp/email', { email })
  const emailOtp = await readCode(service.baseUrl, email, mailed + 1)
  const { data } = await client.post<{ token: string }>('auth/otp', { emailOtp })
  client.token = data.token
  return client
}

const dialog = (page: Page) => page.getByRole('dialog').last()

async function addPasskey(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'Add a passkey' }).click()
  await page.getByLabel('Name', { exact: true }).fill(name)
  await page.getByRole('button', { name: 'Make the passkey' }).click()
  await page.getByText(name, { exact: true }).waitFor()
}

async function typePassword(page: Page, email: string): Promise<void> {
  await page.getByLabel('Email', { exact: true }).fill(email)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Log in' }).click()
}

test('a passkey is added, confirms the next login and a sensitive action, and no code is mailed', async () => {
  const { email } = manager
  const { page, context } = await enterOffice(browser, service.baseUrl, { email, path: '/account' })
  await plugIn(page)
  await addPasskey(page, 'My laptop')
  const mailed = await countCodes(service.baseUrl, email)
  await page.locator('nav').first().getByRole('button', { name: 'Sign out' }).click()
  await typePassword(page, email)
  await page.getByRole('button', { name: 'Use a passkey' }).click()
  await page.getByRole('heading', { name: /^Hello/ }).waitFor()
  await ageFactors()
  await goTo(page, '/webhooks')
  await page.getByRole('button', { name: 'Show the secret' }).click()
  await dialog(page).getByRole('button', { name: 'Use a passkey' }).click()
  await page.getByText(/^whsec_/).waitFor()
  assert.equal(await countCodes(service.baseUrl, email), mailed, 'no code was mailed')
  const log = await service.db.many<{ detail: string }>(
    sql`select detail from audit_log where action in ('session.login', 'session.step-up') and detail like '%passkey%'`,
  )
  assert.equal(log.length, 2, 'the audit log names the factor')
  await goTo(page, '/account')
  await page.getByRole('button', { name: 'Remove the passkey' }).click()
  const question = page.getByRole('dialog', { name: 'Remove the passkey' })
  await question.getByText(/confirms no login any more/).waitFor()
  await question.getByRole('button', { name: 'Remove the passkey' }).click()
  await page.getByText('You have no passkey yet.').waitFor()
  const removed = await waitForMail(service.baseUrl, email, /passkey was removed/)
  assert.match(removed.text, /“My laptop” no longer confirms your login/)
  await context.close()
})

test('a new passkey logs out whoever else uses the account, and leaves its owner in', async () => {
  const { email, userId } = await registerManager(service.baseUrl)
  const thief = await logIn(service.baseUrl, email)
  const { page, context } = await enterOffice(browser, service.baseUrl, { email, path: '/account' })
  await plugIn(page)
  await addPasskey(page, 'Mine')
  await waitForMail(service.baseUrl, email, /passkey was added/)
  assert.equal((await thief.post('auth/refresh-token')).status, 401)
  const live = await service.db.many(sql`select id from sessions where user_id = ${userId} and revoked_at is null`)
  assert.equal(live.length, 1)
  await page.reload()
  await page.getByText('Mine', { exact: true }).waitFor()
  await context.close()
})

test('another device is no proof, a given-up touch says so, and a mailed code still opens the door', async () => {
  const { email } = await registerManager(service.baseUrl)
  const { page, context } = await enterOffice(browser, service.baseUrl, { email, path: '/account' })
  const device = await plugIn(page)
  await addPasskey(page, 'Lost phone')
  const { session, authenticatorId } = device
  await session.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId })
  await plugIn(page)
  await page.locator('nav').first().getByRole('button', { name: 'Sign out' }).click()
  await typePassword(page, email)
  await page.getByRole('button', { name: 'Use a passkey' }).click()
  await page.getByText('The passkey was not used. Try again, or use a code.').waitFor()
  await page.getByRole('button', { name: 'Send a code by email instead' }).click()
  await page.getByLabel('Code from the email').waitFor()
  await context.close()
})

test('what one challenge was signed for proves no other, and a forged signature counts as a wrong code', async () => {
  const { email } = await registerManager(service.baseUrl)
  const { page, context } = await enterOffice(browser, service.baseUrl, { email, path: '/account' })
  await plugIn(page)
  await addPasskey(page, 'Replayed')
  const client = await logInByMail(email)
  await page.locator('nav').first().getByRole('button', { name: 'Sign out' }).click()
  const sent: string[] = []
  page.on('request', (request) => {
    if (request.url().endsWith('/auth/otp')) sent.push(request.postData() ?? '')
  })
  await typePassword(page, email)
  await page.getByRole('button', { name: 'Use a passkey' }).click()
  await page.getByRole('heading', { name: /^Hello/ }).waitFor()
  const { passkey } = JSON.parse(sent[0] ?? '{}')
  await client.call('POST', 'auth/passkey/options')
  const replayed = await client.call('POST', 'auth/otp', { passkey })
  assert.equal(replayed.error.code, 'INVALID_OTP')
  const forged = { ...passkey, response: { ...passkey.response, signature: passkey.response.authenticatorData } }
  assert.equal((await client.call('POST', 'auth/otp', { passkey: forged })).error.code, 'INVALID_OTP')
  const { wrong } = await service.db.one<{ wrong: number }>(
    sql`select wrong_codes as wrong from users where email = ${email}`,
  )
  assert.equal(wrong, 2)
  await context.close()
})

test('a stolen token alone adds no passkey: that takes a fresh second factor', async () => {
  const person = await registerManager(service.baseUrl)
  const client = await logIn(service.baseUrl, person.email)
  await ageFactors()
  const answer = await client.call('POST', 'auth/passkeys/options')
  assert.equal(answer.error.code, 'STEP_UP_REQUIRED')
})

test('new recovery codes and removing the app ask first, and a question that is closed changes nothing', async () => {
  const { email } = await registerManager(service.baseUrl)
  const setUp = async () =>
    (
      await service.db.one<{ yes: boolean }>(sql`
      select totp_enabled_at is not null as yes from users where email = ${email}`)
    ).yes
  const { page, context } = await enterOffice(browser, service.baseUrl, { email, path: '/account', freshLogin: true })
  await service.db.run(sql`update users set totp_enabled_at = now() where email = ${email}`)
  await page.reload()
  const sent: string[] = []
  page.on('request', (request) => {
    if (request.url().includes('/2fa/')) sent.push(request.url())
  })
  const press = (name: string) => page.getByRole('button', { name, exact: true }).first().click()
  const answer = (name: string) => dialog(page).getByRole('button', { name, exact: true }).click()
  await press('New recovery codes')
  await dialog(page).getByText('The ten codes that you have stop working at once.').waitFor()
  await answer('Close')
  await press('Remove the app')
  await dialog(page)
    .getByText(/your recovery codes stop working/)
    .waitFor()
  await answer('Close')
  assert.deepEqual([sent, await setUp()], [[], true])
  await press('New recovery codes')
  await answer('New recovery codes')
  await page.getByRole('heading', { name: 'Your recovery codes' }).waitFor()
  assert.equal(await dialog(page).getByRole('listitem').count(), 10)
  await answer('I have kept them')
  await press('Remove the app')
  await answer('Remove the app')
  await page.getByRole('button', { name: 'Set up an authenticator app' }).waitFor()
  assert.equal(await setUp(), false)
  await context.close()
})
