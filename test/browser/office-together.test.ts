import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { sql } from '../../src/db/db.ts'
import type { UserRole } from '../../src/http/actor.ts'
import { newId } from '../../src/kernel/ids.ts'
import { logIn } from '../harness/accounts.ts'
import { startBrowser } from '../harness/browser.ts'
import { enterOffice, goTo, logInOnPage } from '../harness/office.ts'
import { type OfficeWorld, openOffice } from '../harness/office-world.ts'
import { listRefunds, newAddress, refundReaches } from '../harness/refunds.ts'
import { eventually } from '../harness/service.ts'

/* Two people at once, two companies in one tab, lost answers: nobody touches what is not theirs, or acts twice. */

const OTHER = 'Other Ltd'
let world: OfficeWorld
let browser: Browser
let own: string
let other: string
before(async () => {
  const opened = openOffice({ goods: 'Bread', alias: 'INV-1001', company: OTHER, reason: 'broken' })
  ;[world, browser] = await Promise.all([opened, startBrowser()])
  own = world.shop.merchant.companyId
  other = (await db().one<{ id: string }>(sql`select id from companies where name = ${OTHER}`)).id
})
after(async () => {
  await browser?.close()
  await world?.stop()
})

const base = (): string => world.shop.host.baseUrl
const db = () => world.shop.host.db
const enter = (role: UserRole, path = '') => enterOffice(browser, base(), { email: world.people[role].email, path })
const saved = (page: Page): Promise<void> => page.getByText('Saved', { exact: true }).last().waitFor()

const countOrders = async (): Promise<number> =>
  (await db().one<{ count: number }>(sql`select count(*)::int as count from orders`)).count

/** The request arrives, and its answer does not. */
const loseAnswer = (page: Page, address: string): Promise<unknown> =>
  page.route(
    address,
    async (route) => {
      await route.fetch()
      await route.abort()
    },
    { times: 1 },
  )

test('a refund or an order whose answer got lost is not made twice when the button is pressed again', async () => {
  const { shop } = world
  const { code } = await shop.create({ amount: '80.00' })
  const { data } = await shop.accept(code, { userAddress: newAddress() })
  const { toAddress, tokenAmount } = data as { toAddress: string; tokenAmount: string }
  await shop.chain.pay({ to: toAddress, units: BigInt(tokenAmount.replace('.', '')) })
  await shop.makeFinal()
  await shop.reaches(code, 'PAID')
  const { id: orderId } = await db().one<{ id: string }>(sql`select id from orders where code = ${code}`)
  const { page, leave } = await enter('Manager', `/orders/${code}`)
  await page.getByRole('button', { name: 'Refund', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.locator('input[name=amount]').fill('10')
  await loseAnswer(page, '**/revert/*')
  await dialog.locator('button[type=submit]').click()
  await dialog.getByRole('alert').first().waitFor()
  await refundReaches(shop, orderId, 'settled')
  await dialog.locator('button[type=submit]').click()
  await dialog.waitFor({ state: 'detached' })
  assert.deepEqual(
    (await listRefunds(shop, orderId)).map(({ amount }) => amount),
    ['10.000000'],
  )

  const orders = await countOrders()
  await goTo(page, '/orders/new')
  await page.getByLabel('Amount').fill('3')
  await loseAnswer(page, '**/confirm_conversion/request*')
  await page.getByRole('button', { name: 'Create the order' }).click()
  await page.getByRole('alert').first().waitFor()
  await page.getByRole('button', { name: 'Create the order' }).click()
  await page.getByRole('heading', { name: 'Ready to be paid' }).waitFor()
  assert.equal((await countOrders()) - orders, 1)
  await leave()
})

test('after a lost answer, the form that is opened anew makes another order, for the next customer', async () => {
  const { page, leave } = await enter('Manager', '/orders/new')
  const orders = await countOrders()
  await page.getByLabel('Amount').fill('25')
  await loseAnswer(page, '**/confirm_conversion/request*')
  await page.getByRole('button', { name: 'Create the order' }).click()
  await page.getByRole('alert').first().waitFor()
  await goTo(page, '/orders')
  await goTo(page, '/orders/new')
  await page.getByLabel('Amount').fill('25')
  await page.getByRole('button', { name: 'Create the order' }).click()
  await page.getByRole('heading', { name: 'Ready to be paid' }).waitFor()
  assert.equal((await countOrders()) - orders, 2)
  await leave()
})

test('after a lost answer, the question that is asked anew makes another secret', async () => {
  const { page, leave } = await enter('Manager', '/webhooks')
  const answered: string[] = []
  page.on('response', (response) => {
    if (response.url().includes('regenerate')) answered.push(response.headers()['idempotency-replayed'] ?? '')
  })
  const open = page.getByRole('button', { name: 'Make a new secret', exact: true })
  const dialog = page.getByRole('dialog')
  await open.click()
  await loseAnswer(page, '**/webhook-secret/regenerate*')
  await dialog.locator('button[type=submit]').click()
  await dialog.getByRole('alert').first().waitFor()
  await dialog.getByRole('button', { name: 'Close' }).click()
  await open.click()
  await dialog.locator('button[type=submit]').click()
  await page.getByText('The new secret is active.').waitFor()
  assert.deepEqual(answered, [''])
  await leave()
})

test('after a lost answer, sessions that began since end, too, at the next press', async () => {
  // nobody else here is logged in as one
  const { email } = world.people.Observer
  const { page, context } = await enterOffice(browser, base(), { email, path: '/account', freshLogin: true })
  const others = page.getByRole('button', { name: 'Sign out everywhere else' })
  await loseAnswer(page, '**/revoke-others')
  await others.click()
  await page.getByRole('alert').first().waitFor()
  const stranger = await logIn(base(), email)
  assert.equal((await stranger.get('users/me')).status, 200)
  await others.click()
  await page.getByText('The other sessions have ended.').waitFor()
  await eventually(
    async () => (await stranger.get('users/me')).status,
    (status) => status === 401,
  )
  await context.close()
})

test('a note whose answer got lost and that was removed is written again in the same words', async () => {
  const { code } = await world.shop.create()
  const { page, leave } = await enter('Manager', `/orders/${code}`)
  const panel = page.getByRole('region', { name: 'Notes' })
  let isLost = false
  await page.route('**/notes/*', async (route) => {
    if (isLost || route.request().method() !== 'POST') return route.fallback()
    isLost = true
    await route.fetch()
    await route.abort()
  })
  const send = panel.getByRole('button', { name: 'Add the note' })
  await panel.getByLabel('New note').fill('called')
  await send.click()
  await panel.getByRole('alert').first().waitFor()
  const remove = panel.getByRole('button', { name: 'Remove the note by Maud Lefèvre' })
  const look = async (): Promise<number> => {
    await page.evaluate("void window.dispatchEvent(new Event('visibilitychange'))")
    return remove.count()
  }
  await eventually(look, (count) => count === 1)
  await remove.press('Enter')
  await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).press('Enter')
  await panel.getByText('No notes yet.').waitFor()
  await send.click()
  await panel.getByRole('listitem').getByText('called', { exact: true }).waitFor()
  await leave()
})

test('a note is kept while a colleague’s arrives and its own answer got lost, is written once, and is told of at an erasure', async () => {
  const { code } = await world.shop.create()
  const { page, leave } = await enter('Manager', `/orders/${code}`)
  const panel = page.getByRole('region', { name: 'Notes' })
  await panel.getByText('No notes yet.').waitFor()
  let isLost = false
  await page.route('**/notes/*', async (route) => {
    if (isLost || route.request().method() !== 'POST') return route.fallback()
    isLost = true
    await route.fetch()
    await route.abort()
  })
  const words = '<b>called</b>\n=1+1 https://shop.example'
  const field = panel.getByLabel('New note')
  await field.fill(words)
  const send = panel.getByRole('button', { name: 'Add the note' })
  await send.click()
  await panel.getByRole('alert').first().waitFor()
  const colleagues = 'refund promised by Anna'
  const colleague = await logIn(base(), world.people.Cashier.email)
  assert.equal((await colleague.post(`confirm_conversion/notes/${code}`, { text: colleagues })).status, 200)
  // as whoever comes back to the window, and waits for no interval
  const look = async (): Promise<number> => {
    await page.evaluate("void window.dispatchEvent(new Event('visibilitychange'))")
    return panel.getByText(colleagues, { exact: true }).count()
  }
  await eventually(look, (count) => count === 1)
  assert.equal(await field.inputValue(), words)
  // the field is empty as soon as the note is stored, before the page is refetched; what is typed next is not saved yet
  let goOn = (): void => {}
  const held = new Promise<void>((resolve) => {
    goOn = resolve
  })
  await page.route('**/story/*', async (route) => {
    await held
    await route.fallback()
  })
  await send.click()
  await eventually(
    () => field.inputValue(),
    (text) => text === '',
  )
  await field.fill('the next note')
  goOn()
  await panel.getByRole('button', { name: 'Add the note', disabled: false }).waitFor()
  await page.getByRole('link', { name: 'Orders', exact: true }).first().click()
  await page.getByRole('dialog', { name: 'Leave without saving?' }).getByRole('button', { name: 'Stay here' }).click()
  assert.equal(await field.inputValue(), 'the next note')
  await field.fill('')
  const rows = panel.getByRole('listitem')
  assert.deepEqual((await rows.locator('p').allInnerTexts()).sort(), [words, colleagues].sort())
  assert.equal(await rows.locator('a, b').count(), 0)

  await panel.getByRole('button', { name: 'Remove the note by Maud Lefèvre' }).press('Enter')
  await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).press('Enter')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  assert.deepEqual(await rows.locator('p').allInnerTexts(), [colleagues])

  await page.getByRole('button', { name: 'Show the payer’s data' }).click()
  await page.getByRole('button', { name: 'Erase the payer’s data' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Erase the payer’s data' }).click()
  const warning = page.getByText('Notes on this order: 1. They were not erased')
  await warning.waitFor()
  await panel.getByRole('button', { name: 'Remove the note by Carl Kasse' }).press('Enter')
  await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).press('Enter')
  await warning.waitFor({ state: 'detached' })
  await leave()
})

test('a tab reloads as the person who logged in beside it, instead of silently acting as them', async () => {
  const { page, context } = await enter('Manager', '/keys')
  const tab = await context.newPage()
  await tab.goto(`${base()}/app/`)
  await tab.locator('#content h1').first().waitFor()
  await tab.getByRole('button', { name: 'Sign out' }).first().click()
  await logInOnPage(tab, base(), world.people.Association.email)
  await tab.locator('#content h1').first().waitFor()
  // the old tab's token was revoked with the session, which its process may not know for a moment
  for (let tries = 0; tries < 20 && (await page.getByText('Maud').count()) > 0; tries += 1) {
    await goTo(page, '/account').catch(() => {})
    await goTo(page, '/keys').catch(() => {})
  }
  await page.getByText('Anna').first().waitFor({ timeout: 5000 })
  await page.getByText('Chess Club').first().waitFor()
  await context.close()
})

test('events, a secret and an open dialog of one company do not outlive the switch to another', async () => {
  await db().run(sql`update companies set optional_events = '{order.expired}' where id in (${own}, ${other})`)
  const { page, leave } = await enter('SuperAdmin', `/webhooks?company=${own}`)
  await page.locator('#content').getByRole('button', { name: 'Show the secret', exact: true }).click()
  await page.getByText(/^whsec_/).waitFor()
  const box = page.locator('input[name="order.cancelled"]')
  await box.check()
  await page.getByLabel('Company').first().selectOption(other)
  await page.getByRole('dialog').getByRole('button', { name: 'Leave without saving' }).click()
  await page.waitForURL(new RegExp(other))
  await page.getByText(/^whsec_/).waitFor({ state: 'detached' })
  await box.waitFor()
  assert.equal(await box.isChecked(), false, 'a tick for the first company')

  await goTo(page, `/keys?company=${own}`)
  await page.getByLabel('Company').first().selectOption(other)
  await page.waitForURL(new RegExp(other))
  await page.getByRole('button', { name: 'New key' }).click()
  await page.getByRole('dialog').first().waitFor()
  await page.evaluate('history.back()')
  await page.waitForURL(new RegExp(own))
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await leave()
})

test('an operator’s dialogs leave alone what a colleague changed meanwhile, and the next person sees nothing of it', async () => {
  const { page, context } = await enter('SuperAdmin', '/operator')
  await page.getByRole('article').filter({ hasText: 'Söhne' }).getByRole('button', { name: 'Limits' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Largest order').fill('2500')
  await db().run(sql`
    update companies set refund_approval = true, fee_bps = 250, reserve_units = 500000000,
      refund_limits = '{"Manager": {"single": "50", "day": null}}' where id = ${own}`)
  await dialog.getByRole('button', { name: 'Save' }).click()
  await saved(page)
  const limits = await db().one(sql`
    select refund_approval, fee_bps, reserve_units::text, max_order_amount::text, refund_limits from companies
    where id = ${own}`)
  assert.deepEqual(limits, {
    ...{ refundApproval: true, feeBps: 250, reserveUnits: '500000000' },
    ...{ maxOrderAmount: '2500.00', refundLimits: { Manager: { single: '50', day: null } } },
  })

  await goTo(page, '/people')
  const { id, email } = world.people.SuperManager
  const open = () =>
    page
      .getByRole('article')
      .filter({ hasText: email })
      .getByRole('button', { name: /compan/i })
      .click()
  await open()
  await dialog.locator(`input[name="${other}"]:checked`).waitFor()
  await db().run(sql`delete from super_manager_companies where user_id = ${id} and company_id = ${other}`)
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.waitFor({ state: 'detached' })
  const attached = await db().many<{ companyId: string }>(
    sql`select company_id from super_manager_companies where user_id = ${id}`,
  )
  assert.ok(!attached.some(({ companyId }) => companyId === other), 'a withdrawn company is given back')

  await page.getByRole('button', { name: 'Sign out' }).first().click()
  await logInOnPage(page, base(), world.people.Association.email)
  await page.locator('#content h1').first().waitFor()
  await page.route(/next\/users\?/, (route) => route.abort())
  await page.getByRole('link', { name: 'People' }).first().click()
  await page.locator('#content').getByRole('alert').first().waitFor()
  assert.equal(await page.getByText(world.people.Manager.email).count(), 0, 'the club sees the shop’s people')
  await context.close()
})

test('a shop’s forms send only what was changed, and a cashier whose role changes loses the tills for good', async () => {
  const { page, leave } = await enter('Manager', '/shop')
  const dialog = page.getByRole('dialog')
  const form = page.locator('form', { has: page.locator('input[name=displayName]') })
  await form.waitFor()
  await db().run(sql`update companies set support_email = 'new@shop.example' where id = ${own}`)
  await form.locator('input[name=brandColor]').fill('#112233')
  await form.locator('button[type=submit]').click()
  await saved(page)
  const face = await db().one(sql`select brand_color, support_email from companies where id = ${own}`)
  assert.deepEqual(face, { brandColor: '#112233', supportEmail: 'new@shop.example' })

  const button = newId()
  await db().run(sql`
    insert into buy_buttons (id, company_id, name, website_url, website_origin, price, currency)
    values (${button}, ${own}, 'Bread', 'https://shop.example/', 'https://shop.example', '12.00', 'EUR')`)
  await goTo(page, '/shop?tab=buttons')
  await page.getByText('€12.00').waitFor()
  await db().run(sql`update buy_buttons set price = '15.00' where id = ${button}`)
  await page.getByRole('button', { name: 'Change', exact: true }).click()
  await dialog.getByLabel('Name', { exact: true }).fill('Good bread')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.waitFor({ state: 'detached' })
  const [bread] = await db().many(sql`select name, price::text from buy_buttons where id = ${button}`)
  assert.deepEqual(bread, { name: 'Good bread', price: '15.00' })

  await goTo(page, '/shop?tab=channels')
  const row = page.locator('#content ol > li').first()
  await row.waitFor()
  await db().run(sql`
    insert into channel_rules (company_id, channel, offered, min_amount, texts, updated_at)
    values (${own}, 'crypto', true, 20, '{"de": {"label": "Krypto", "hint": null}}', now())`)
  await row
    .getByRole('button')
    .filter({ hasText: /limits|text|words/i })
    .first()
    .click()
  await dialog.locator('input[name="maxAmount"]').fill('900')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.waitFor({ state: 'detached' })
  const [rule] = await db().many(sql`
    select min_amount::float8 as least, max_amount::float8 as most, texts -> 'de' ->> 'label' as label
    from channel_rules where company_id = ${own} and channel = 'crypto'`)
  assert.deepEqual(rule, { least: 20, most: 900, label: 'Krypto' })

  await goTo(page, '/people')
  const { email } = world.people.Cashier
  await page.getByRole('article').filter({ hasText: email }).getByRole('button', { name: /role/i }).click()
  await dialog.locator('select').selectOption('Observer')
  await dialog.locator('button[type=submit]').click()
  await dialog.waitFor({ state: 'detached' })
  assert.equal(await page.getByRole('button', { name: 'Undo' }).count(), 0, 'it could not give the tills back')
  await leave()
})

test('payment links keep up with those of a colleague, also once more of them are shown', async () => {
  const { shop } = world
  await Promise.all(Array.from({ length: 51 }, (_, index) => shop.create({ amount: '3.00', alias: `LINK-${index}` })))
  const { page, context } = await enterOffice(browser, base(), {
    ...{ email: world.people.Manager.email, path: '/orders', freshLogin: true },
  })
  await page.clock.install()
  await goTo(page, '/links')
  const rows = page.getByRole('group', { name: 'Payment links' }).getByRole('row')
  await page.getByRole('button', { name: 'Show more' }).click()
  // the head, a page of fifty, and those of the second
  await rows.nth(52).waitFor()
  await shop.create({ amount: '4.00', alias: 'LINK-NEW' })
  await page.clock.runFor(60_000)
  await rows.filter({ hasText: 'LINK-NEW' }).waitFor()
  assert.ok((await rows.count()) > 53, 'what was shown stays')
  await context.close()
})
