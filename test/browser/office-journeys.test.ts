import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import type { Browser, Locator, Page } from 'playwright-core'
import { sql } from '../../src/db/db.ts'
import type { UserRole } from '../../src/http/actor.ts'
import { newEmail, PASSWORD, totpOf, waitForMail } from '../harness/accounts.ts'
import { startBrowser, visit } from '../harness/browser.ts'
import { countCodes, DESK, enterOffice, goTo, logInOnPage, nextCode } from '../harness/office.ts'
import { ATTACK, HOSTILE, insertOwnPayment, type OfficeWorld, openOffice } from '../harness/office-world.ts'
import { createPaidBy, newAddress } from '../harness/refunds.ts'
import { eventually } from '../harness/service.ts'

let world: OfficeWorld
let browser: Browser
/** A second way to pay, whose provider is never asked. */
const GATEPAY = {
  CHANNEL_GATEPAY_BASE_URL: 'http://127.0.0.1:9',
  CHANNEL_GATEPAY_CLIENT_ID: 'test',
  CHANNEL_GATEPAY_SECRET: 'test',
}
const base = (): string => world.shop.host.baseUrl

before(async () => {
  world = await openOffice(ATTACK, GATEPAY)
  browser = await startBrowser()
})
after(async () => {
  await browser?.close()
  await world?.stop()
})

const enter = (role: UserRole, path = '') => enterOffice(browser, base(), { email: world.people[role].email, path })

/** The second factor of every session of this person is older than five minutes. */
async function ageFactors(role: UserRole): Promise<void> {
  await world.shop.host.db.run(sql`
    update sessions set second_factor_at = now() - interval '6 minutes' where user_id = ${world.people[role].id}`)
  // a node believes what it read of a session for a moment
  await new Promise((resolve) => setTimeout(resolve, 5500))
}

const click = (page: Page, name: string) => page.locator('#content').getByRole('button', { name, exact: true }).click()
const inDialog = (page: Page) => page.getByRole('dialog').last()

test('the secret is shown after a fresh code that is asked for in place, and rotating it kills the old one', async () => {
  const { email } = world.people.Manager
  const { page, context } = await enter('Manager', '/webhooks')
  await ageFactors('Manager')
  const before = await countCodes(base(), email)
  await click(page, 'Show the secret')
  await page.getByRole('heading', { name: 'Confirm it is you' }).waitFor()
  assert.equal(await page.getByText(/whsec_/).count(), 0, 'nothing is shown before the code')
  await page.getByRole('button', { name: 'Send me a code by email' }).click()
  await page.getByLabel('Code from your email').fill(await nextCode(base(), email, before))
  await page.getByRole('button', { name: 'Confirm', exact: true }).click()
  const secret = await page.getByText(/^whsec_/).innerText()
  await click(page, 'Make a new secret')
  await inDialog(page).getByRole('button', { name: 'Make a new secret' }).click()
  await eventually(
    () => page.getByText(/^whsec_/).innerText(),
    (shown) => shown !== secret,
  )
  await context.close()
})

test('a question for a code that is given up leaves everything as it was', async () => {
  const { page, context } = await enter('Manager', '/keys')
  await ageFactors('Manager')
  await click(page, 'New key')
  await page.getByLabel('Name').fill('never made')
  await page.getByRole('button', { name: 'Create the key' }).click()
  await page.getByRole('heading', { name: 'Confirm it is you' }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('heading', { name: 'Confirm it is you' }).waitFor({ state: 'detached' })
  const kept = await world.shop.host.db.many(sql`select id from api_keys where name = 'never made'`)
  assert.deepEqual(kept, [])
  assert.equal(await page.getByLabel('Name').inputValue(), 'never made', 'what was typed stays')
  await context.close()
})

test('a leaked key is revoked and replaced; the old one is refused, the new one works', async () => {
  const { page, leave } = await enter('Manager', '/keys')
  const make = async (name: string): Promise<Record<string, string>> => {
    await click(page, 'New key')
    await page.getByLabel('Name').fill(name)
    await page.getByRole('button', { name: 'Create the key' }).click()
    await page.getByRole('heading', { name: 'The secret is shown only now' }).waitFor()
    const apiKey = await inDialog(page).getByText(/^pk_/).innerText()
    const apiSecret = await inDialog(page).getByText(/^sk_/).innerText()
    await inDialog(page).getByRole('button', { name: 'I have copied it' }).click()
    return { 'x-api-key': apiKey, 'x-api-secret': apiSecret }
  }
  const read = async (headers: Record<string, string>): Promise<string> => {
    const answer = await world.shop.host.call<{ total: number }>('GET', '/api/next/confirm_conversion', { headers })
    return answer.error?.code ?? `${answer.data.total} orders`
  }
  const leaked = await make('leaked')
  assert.match(await read(leaked), /^\d+ orders$/)
  const card = page.locator('article', { hasText: 'leaked' })
  await card.getByRole('button', { name: 'Revoke' }).click()
  await inDialog(page).getByRole('button', { name: 'Revoke' }).click()
  await card.waitFor({ state: 'detached' })
  const fresh = await make('replacement')
  assert.match(await read(fresh), /^\d+ orders$/)
  assert.equal(await read(leaked), 'UNAUTHORIZED')
  assert.equal(await page.getByText(/^sk_/).count(), 0, 'the secret is not shown again')
  await leave()
})

test('a mispayment is accepted: the order is paid and the queue is empty', async () => {
  const { page, leave } = await enter('Manager')
  await page.getByRole('link', { name: '1 payment to decide on' }).click()
  await click(page, 'Accept')
  await inDialog(page).getByRole('button', { name: 'Accept' }).click()
  await world.shop.reaches(world.orders.under, 'PAID')
  await page.getByText('Accepted').last().waitFor()
  await goTo(page, '/')
  await page.getByRole('link', { name: '1 payment to decide on' }).waitFor({ state: 'detached' })
  await leave()
})

/** The refund of 10.50 goes back outside the service: its provider cannot. The operator, who holds it, adds a proof. */
async function settleWithProof(page: Page): Promise<void> {
  const { db } = world.shop.host
  const { paymentId } = await db.one<{ paymentId: string }>(sql`
    update refunds set channel = 'coinbase', status = 'ready' where units = 10500000 and status = 'needs_address'
    returning payment_id`)
  const card = page.locator('article', { hasText: '10.50' })
  await goTo(page, '/refunds?status=ready')
  await card.getByRole('button', { name: 'Report the transaction' }).waitFor()
  assert.equal(await card.getByRole('button', { name: 'Settle by hand' }).count(), 0, 'it goes back from a wallet')
  await db.run(sql`update refunds set channel = 'gatepay' where payment_id = ${paymentId}`)
  await db.run(sql`update payments set channel = 'gatepay' where id = ${paymentId}`)
  await page.reload()
  await card.getByRole('button', { name: 'Settle by hand' }).click()
  await inDialog(page).getByLabel('Reference of the transfer').fill('SEPA-2026-118')
  await inDialog(page).getByLabel('What was done, when and by whom').fill('bank transfer by Maud')
  const file = { name: 'transfer.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.4\n%%EOF\n') }
  const field = inDialog(page).getByLabel('Proof')
  await field.setInputFiles({ ...file, buffer: Buffer.alloc(1_000_001) })
  await inDialog(page).getByRole('button', { name: 'Settle by hand' }).click()
  await inDialog(page).getByText('The file is larger than 1 MB.').waitFor()
  await field.setInputFiles(file)
  await inDialog(page).getByRole('button', { name: 'Settle by hand' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await goTo(page, '/refunds?status=settled')
  const proof = card.getByRole('button', { name: 'Proof', exact: true })
  await proof.waitFor()
  const [saved] = await Promise.all([page.waitForEvent('download'), proof.click()])
  assert.deepEqual(readFileSync(await saved.path()), file.buffer)
  const add = card.getByRole('button', { name: 'Add the proof' })
  assert.equal(await add.count(), 0, 'it cannot be replaced')
  assert.doesNotMatch((await card.getByText('bank transfer by Maud').getAttribute('class')) ?? '', /bad/, 'no fault')
  // as if it had been settled without a file
  await db.run(sql`delete from refund_proofs`)
  await goTo(page, '/refunds?status=settled')
  await add.click()
  await inDialog(page).getByLabel('Proof').setInputFiles(file)
  await inDialog(page).getByRole('button', { name: 'Add the proof' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await proof.waitFor()
  const [later] = await Promise.all([page.waitForEvent('download'), proof.click()])
  assert.deepEqual(readFileSync(await later.path()), file.buffer)
  // its payer is erased, and the file with them
  await db.run(sql`update refund_proofs set erased_at = now(), size = 9, bytes = ''`)
  await goTo(page, '/refunds?status=settled')
  await card.getByText('erased with the payer’s data').waitFor()
  assert.equal((await proof.count()) + (await add.count()), 0)
}

test('a refund to a payer who must give an address: by a link to hand over, or asked by mail and settled on the chain', async () => {
  const { shop } = world
  const payer = newEmail('payer')
  const { code } = await createPaidBy(shop, payer)
  const { page, leave } = await enter('Manager', `/orders/${world.orders.paid}`)
  await page.getByRole('button', { name: 'Refund', exact: true }).click()
  await page.getByLabel(/Amount in USDC/).fill('10,5')
  await inDialog(page).getByRole('button', { name: 'Refund 10.50 USDC' }).click()
  await page.locator('header').getByText('Refunding').waitFor()
  await goTo(page, '/refunds?status=needs_address')
  const handed = page.locator('article', { hasText: '10.50' })
  await handed.getByRole('button', { name: 'Copy the payer’s link' }).waitFor()
  assert.equal(await handed.getByRole('button', { name: 'Approve' }).count(), 0, 'approving is the operator’s')
  await goTo(page, `/orders/${code}`)
  await page.getByRole('button', { name: 'Refund', exact: true }).click()
  await page.getByLabel(/Amount in USDC/).fill('11,25')
  await inDialog(page).getByRole('button', { name: 'Refund 11.25 USDC' }).click()
  await page.locator('header').getByText('Refunding').waitFor()
  await goTo(page, '/refunds?status=needs_address')
  const card = page.locator('article', { hasText: '11.25' })
  await card.waitFor()
  assert.equal(
    await card.getByRole('button', { name: 'Copy the payer’s link' }).count(),
    0,
    'only the payer has the link',
  )
  const mail = await waitForMail(base(), payer, /\/refund/)
  const link = /https?:\/\/\S*\/refund\S*/.exec(mail.text)?.[0] ?? ''
  const home = newAddress()
  const own = await visit(browser, link, DESK)
  await own.page.getByLabel('Wallet address').fill('0x123')
  await own.page.getByRole('button', { name: 'Check the address' }).click()
  await own.page.locator('#address:focus[aria-describedby~=fault]').waitFor()
  await own.page.getByLabel('Wallet address').fill(home)
  await own.page.getByRole('button', { name: 'Check the address' }).click()
  await own.page.getByText(home, { exact: true }).waitFor()
  await own.page.getByRole('button', { name: 'Yes, send it there' }).click()
  await own.page.getByRole('button', { name: 'Yes, send it there' }).waitFor({ state: 'detached' })
  await own.context.close()
  await eventually(
    async () => {
      await shop.chain.mine()
      return shop.chain.balanceOf(home)
    },
    (units) => units === 11_250_000n,
    30_000,
  )
  await goTo(page, '/refunds')
  await eventually(
    async () => {
      await shop.chain.mine()
      return page.locator('article', { hasText: '11.25' }).innerText()
    },
    (text) => /Settled/.test(text),
    60_000,
  )
  await goTo(page, `/orders/${code}`)
  await page.locator('header').getByText('Partly refunded').waitFor()
  await leave()
  const operator = await enter('SuperAdmin')
  await settleWithProof(operator.page)
  await operator.leave()
})

test('a payout opens into what it pays for: each order, the sum, a file', async () => {
  const { db } = world.shop.host
  await db.run(sql`
    update companies set settlement_address = ${`0x${'b'.repeat(40)}`}, settlement_network = ${world.shop.chain.chainId},
      reserve_units = 1000000 where id = ${world.shop.merchant.companyId}`)
  const { page, leave } = await enter('Manager', '/money')
  await page.getByRole('button', { name: 'Prepare a payout' }).click()
  await page.getByText('The payout is prepared.').waitFor()
  await page.getByRole('link', { name: 'What it pays for' }).first().click()
  await page.getByRole('heading', { name: /^Payout of / }).waitFor()
  await page.locator('dt', { hasText: 'Kept as your reserve' }).waitFor()
  assert.match(await page.locator('dd', { hasText: '1.00 USDC' }).first().innerText(), /^-1\.00 USDC$/)
  const rows = page.locator('tbody tr')
  const [paid] = await db.many<{ count: bigint }>(sql`
    select count(*) from ledger_journals where company_id = ${world.shop.merchant.companyId}
      and kind in ('payment', 'refund', 'refund_dropped')`)
  assert.equal(await rows.count(), Number(paid?.count))
  assert.match(await rows.first().getByRole('link').innerText(), /^[0-9A-Z]{8}$/)
  const saved = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Every line as CSV' }).click()
  assert.match((await saved).suggestedFilename(), /^settlement-\d{4}-\d\d-\d\d-[0-9a-f]{8}\.csv$/)
  const path = new URL(page.url()).pathname.replace('/app', '')
  await page.setViewportSize({ width: 380, height: 800 })
  for (const lang of ['en', 'de', 'fr', 'es', 'it']) {
    await page.goto(`${base()}/app${path}?lang=${lang}`)
    await rows.first().waitFor()
    const wide = Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'))
    assert.ok(wide <= 0, `${lang} scrolls sideways by ${wide}`)
  }
  await page.goto(`${base()}/app/money/payouts/${'0'.repeat(24)}`)
  await page.getByText('There is nothing at this address').or(page.getByText('Non c’è nulla')).first().waitFor()
  await leave()
})

test('a SuperManager works in each of three companies, and each shows only its own', async () => {
  const { page, leave } = await enter('SuperManager', '/orders')
  const choose = (label: string) => page.locator('nav').first().getByLabel('Company').selectOption({ label })
  const open = async (name: string): Promise<void> => {
    await page.locator('nav').first().getByRole('link', { name, exact: true }).click()
    await page.locator('#content').getByRole('heading', { level: 1, name }).waitFor()
  }
  await page.getByText('€49.90').first().waitFor()
  // the shop: its refund, its people
  await choose('Test & Söhne')
  await open('Refunds')
  await page.locator('article', { hasText: '20.00' }).first().waitFor()
  await open('People')
  await page.getByRole('heading', { name: 'Maud Lefèvre' }).waitFor()
  assert.equal(await page.getByText('Anna Verein').count(), 0, 'who works for the club')
  // the club: a till, and an order at it
  await choose('Chess Club')
  await page.getByRole('heading', { name: 'Anna Verein' }).waitFor()
  assert.equal(await page.getByText('Maud Lefèvre').count(), 0)
  await open('Refunds')
  await page.getByText('No refunds here').waitFor()
  await open('Shop')
  await click(page, 'Tills')
  await click(page, 'Add a sales point')
  await inDialog(page).getByLabel('Name').fill('Club house')
  await inDialog(page).getByRole('button', { name: 'Add a sales point' }).click()
  await page.locator('#content').getByText('Club house').waitFor()
  await click(page, 'Add a till')
  await inDialog(page).getByLabel('Identifier').fill('CLUB-1')
  await inDialog(page).getByRole('button', { name: 'Add a till' }).click()
  await page.locator('#content').getByText('CLUB-1').waitFor()
  // turned off by mistake: one press puts it back
  await click(page, 'Turn off')
  await page.locator('#content').getByText('Off', { exact: true }).waitFor()
  await page.getByRole('status').getByRole('button', { name: 'Undo' }).click()
  await page.locator('#content').getByText('Active', { exact: true }).waitFor()
  await open('Orders')
  await page.getByText('No orders yet').waitFor()
  await page.locator('#content').getByRole('link', { name: 'New order' }).click()
  await page.locator('#content').getByRole('heading', { level: 1, name: 'New order' }).waitFor()
  await page.getByLabel('Amount', { exact: true }).fill('7,5')
  await click(page, 'Create the order')
  await page.getByText('€7.50').first().waitFor()
  await open('Orders')
  await page.getByText('1 order', { exact: true }).waitFor()
  // the third company, whose name is an attack: a cashier for it
  await choose(HOSTILE)
  await page.getByText('No orders yet').waitFor()
  await open('People')
  await click(page, 'Invite someone')
  const email = newEmail('third')
  await inDialog(page).getByLabel('First name').fill('Tina')
  await inDialog(page).getByLabel('Last name').fill('Terzi')
  await inDialog(page).getByLabel('Email').fill(email)
  await inDialog(page).getByRole('button', { name: 'Send the invitation' }).click()
  await page.getByRole('heading', { name: 'Tina Terzi' }).waitFor()
  await page.getByText(email).waitFor()
  await choose('Test & Söhne')
  await page.getByRole('heading', { name: 'Maud Lefèvre' }).waitFor()
  assert.equal(await page.getByText('Tina Terzi').count(), 0)
  assert.equal(await page.evaluate('"hacked" in window'), false)
  await leave()
})

async function dropNeededAccount(page: Page, row: Locator): Promise<void> {
  await insertOwnPayment(world, 'gatepay')
  const drop = { name: 'Back to the operator’s account' }
  for (const place of [row, inDialog(page)]) await place.getByRole('button', drop).click()
  await inDialog(page).getByText('(open payments: 1, unfinished refunds: 0). Wait until they have ended.').waitFor()
  await inDialog(page).getByRole('button', { name: 'Remove it anyway' }).click()
  await row.getByRole('button', { name: 'Use your own account' }).waitFor()
  assert.equal(await row.getByText('The provider does not answer').count(), 0, 'said of the account that is gone')
}

test('a manager sorts, names, limits and turns off a channel; payers see it at once, and undo puts it back', async () => {
  const { shop } = world
  const { page, leave } = await enter('Manager', '/shop?tab=channels')
  const row = (name: string) => page.locator('#content ol > li', { hasText: name })
  const names = () => page.locator('#content ol > li strong').allInnerTexts()
  const undo = () => page.getByRole('status').getByRole('button', { name: 'Undo' }).last().click()
  const isSorted = (...wanted: string[]) => eventually(names, (shown) => shown.join() === wanted.join())
  await isSorted('Wallet (USDC)', 'Gate Pay')
  await page.getByRole('button', { name: 'Move Gate Pay up' }).click()
  await isSorted('Gate Pay', 'Wallet (USDC)')
  await undo()
  await isSorted('Wallet (USDC)', 'Gate Pay')
  await row('Gate Pay').getByRole('button', { name: 'Words and limits' }).click()
  await inDialog(page).getByLabel('Smallest order (EUR)').fill('20,5')
  await inDialog(page).getByLabel('Language').selectOption('de')
  await inDialog(page)
    .getByRole('textbox', { name: /^Name on the payment page/ })
    .fill(HOSTILE.slice(0, 40))
  await inDialog(page)
    .getByRole('textbox', { name: /^Line below the name/ })
    .fill('see https://evil.example')
  await inDialog(page).getByRole('button', { name: 'Save' }).click()
  await inDialog(page).getByRole('alert').getByText('texts.de.hint').waitFor()
  await inDialog(page)
    .getByRole('textbox', { name: /^Line below the name/ })
    .fill('Aus Ihrem Konto')
  await inDialog(page).getByRole('button', { name: 'Save' }).click()
  await row('Gate Pay').getByText('From 20.50 EUR').waitFor()
  const { code } = await shop.create({ amount: '30.00' })
  const payer = await visit(browser, `${base()}/pay?code=${code}&lang=de`, DESK)
  await payer.page.getByText(HOSTILE.slice(0, 40)).waitFor()
  await payer.page.getByText('Aus Ihrem Konto').waitFor()
  assert.equal(await payer.page.evaluate('"hacked" in window || document.querySelector("img[src=x]") !== null'), false)
  // what an order of this size is offered
  await page.getByLabel('For an order of (EUR)').fill('20')
  await row('Gate Pay').getByText('Not offered').waitFor()
  await page.getByLabel('For an order of (EUR)').fill('30')
  await row('Gate Pay').getByText('Offered', { exact: true }).waitFor()
  await row('Gate Pay').getByRole('button', { name: 'Turn off' }).click()
  await row('Gate Pay').getByText('Turned off').waitFor()
  await payer.page.reload()
  await payer.page.getByText('Wir warten auf Ihre Zahlung').first().waitFor()
  assert.equal(await payer.page.getByText('Aus Ihrem Konto').count(), 0, 'the only way left is taken at once')
  await undo()
  await row('Gate Pay').getByText('Offered', { exact: true }).waitFor()
  await row('Gate Pay').getByRole('button', { name: 'Use your own account' }).click()
  await inDialog(page).getByLabel('Client ID').fill('mine')
  await inDialog(page).getByLabel('Payment secret').fill('mine')
  await inDialog(page).getByRole('button', { name: 'Save' }).click()
  await row('Gate Pay').getByText('The provider does not answer. Nothing is known').waitFor()
  await dropNeededAccount(page, row('Gate Pay'))
  await page.locator('nav').first().getByLabel('Language').selectOption('it')
  await row('Wallet').getByRole('button', { name: 'Usa il suo wallet' }).click()
  await inDialog(page).getByLabel('Chiave pubblica del conto (xpub)').fill('xpub-mistyped')
  await inDialog(page).getByLabel('Primo indirizzo di questo conto').fill(newAddress())
  await inDialog(page).getByRole('button', { name: 'Salva' }).click()
  await inDialog(page).getByText('Questa non è la chiave pubblica di un conto.').waitFor()
  await payer.context.close()
  await leave()
})

test('offline, a slow service and the keyboard: words for each state, and a way on', async () => {
  const { page, context, leave } = await enter('Observer', '/orders')
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await goTo(page, '/refunds')
  await page.keyboard.press('/')
  await page.getByRole('searchbox', { name: /^Search by code/ }).waitFor()
  const isSearching = () => page.evaluate('document.activeElement?.matches("[data-search]") ?? false')
  await eventually(isSearching, (isFocused) => isFocused === true)
  await goTo(page, '/orders?status=PAID&sort=-paidAt')
  await page.keyboard.press('/')
  await eventually(isSearching, (isFocused) => isFocused === true)
  assert.match(page.url(), /\/orders\?status=PAID&sort=-paidAt$/, 'the filters stay')
  await page.route('**/api/next/mispayments*', async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 2600))
    await route.continue()
  })
  await page.locator('nav').first().getByRole('link', { name: 'Mispayments' }).click()
  await page.getByText('This takes longer than usual. Still loading…').waitFor()
  await page.getByRole('article').first().waitFor()
  await context.setOffline(true)
  await page.getByText('No connection. What you see may be out of date.').waitFor()
  await page.locator('nav').first().getByRole('link', { name: 'Orders', exact: true }).click()
  await context.setOffline(false)
  await page.getByText('The connection is back.').waitFor()
  await page.getByText('€49.90').first().waitFor()
  await leave()
})

test('an invited person chooses a password by the mailed link and is inside', async () => {
  const email = newEmail('invited')
  const boss = await enter('Manager', '/people')
  await click(boss.page, 'Invite someone')
  await boss.page.getByLabel('First name').fill('Nina')
  await boss.page.getByLabel('Last name').fill('Nouvelle')
  await inDialog(boss.page).getByLabel('Email').fill(email)
  await boss.page.getByRole('button', { name: 'Send the invitation' }).click()
  await boss.page.getByText('The invitation is sent.').waitFor()
  await boss.leave()
  const mail = await waitForMail(base(), email, /invitation\?token=/)
  const link = /http:\S+\/app\/invitation\?token=\S+/.exec(mail.text)?.[0] ?? ''
  const { page, context } = await visit(browser, link, DESK)
  await page.getByLabel('New password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Save the password' }).click()
  await page.getByRole('link', { name: 'Go to the login' }).click()
  await logInOnPage(page, base(), email)
  await page.getByRole('heading', { name: 'Hello, Nina' }).waitFor()
  await context.close()
})

test('an authenticator is set up, and the next login takes its code or a recovery code', async () => {
  const { email } = world.people.Observer
  const { page, leave } = await enter('Observer', '/account')
  await click(page, 'Set up an authenticator app')
  const secret = (await inDialog(page).locator('code').innerText()).trim()
  const app = totpOf(`otpauth://totp/x?secret=${secret}`)
  await page.getByLabel('Code from the app').fill(app.generate())
  await page.getByRole('button', { name: 'Turn it on' }).click()
  await page.getByRole('heading', { name: 'Your recovery codes' }).waitFor()
  const codes = await inDialog(page).getByRole('listitem').allInnerTexts()
  assert.equal(codes.length, 10)
  await leave()
  const again = await visit(browser, `${base()}/app/login`, DESK)
  await again.page.getByLabel('Email').fill(email)
  await again.page.getByLabel('Password').fill(PASSWORD)
  await again.page.getByRole('button', { name: 'Log in' }).click()
  await again.page.getByLabel('Code from the app').waitFor()
  await again.page.getByRole('button', { name: 'Use a recovery code' }).click()
  await again.page.getByLabel('Recovery code').fill(codes[0] ?? '')
  await again.page.getByRole('button', { name: 'Log in' }).click()
  await again.page.getByRole('heading', { name: 'Hello, Olga' }).waitFor()
  await again.context.close()
})

test('signing out ends the session, and a page behind the login asks for it again', async () => {
  const { page, context } = await enter('Manager', '/orders')
  await page.locator('nav').first().getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Log in' }).waitFor()
  await page.goto(`${base()}/app/money`)
  await page.getByRole('heading', { name: 'Log in' }).waitFor()
  assert.equal(new URL(page.url()).searchParams.get('then'), '/money')
  await context.close()
})
