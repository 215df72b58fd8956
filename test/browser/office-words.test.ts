import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { sql } from '../../src/db/db.ts'
import type { UserRole } from '../../src/http/actor.ts'
import { PASSWORD } from '../harness/accounts.ts'
import { listFaultsOfBothSchemes } from '../harness/axe.ts'
import { startBrowser, visit } from '../harness/browser.ts'
import { freePort } from '../harness/free-port.ts'
import { countCodes, DESK, enterOffice, goTo, nextCode } from '../harness/office.ts'
import { type OfficeWorld, openOffice } from '../harness/office-world.ts'

/* What the office says when something is refused, empty or decided, and where the keyboard is meanwhile. */

let world: OfficeWorld
let browser: Browser

before(async () => {
  world = await openOffice()
  browser = await startBrowser()
})
after(async () => {
  await browser?.close()
  await world?.stop()
})

const base = (): string => world.shop.host.baseUrl
const enter = (role: UserRole, path = '') => enterOffice(browser, base(), { email: world.people[role].email, path })

/** From now on in this language; the session begins again by its cookie. */
async function speak(page: Page, lang: string, path: string): Promise<void> {
  await page.goto(`${base()}/app${path}${path.includes('?') ? '&' : '?'}lang=${lang}`)
  await page.locator('#content h1').first().waitFor()
}
const complaint = (page: Page): Promise<string> => page.getByRole('alert').last().innerText()

test('an amount that is not accepted is answered in German with what is wrong, and 1.234,56 is accepted', async () => {
  const { page, leave } = await enter('Manager')
  await speak(page, 'de', '/orders/new')
  const refused: Record<string, string> = {
    '0': 'Der kleinste Betrag ist 0,10\u00a0€.',
    '12,3456': 'EUR hat höchstens 2 Nachkommastellen.',
    '1.250': '1.250 ist nicht eindeutig. Schreiben Sie 1250, wenn Sie das meinen',
    '100.000.000,01': 'Der größte Betrag, den dieses Konto annimmt, ist ',
    abc: 'Das ist kein Betrag. Schreiben Sie ihn zum Beispiel so: 12,50.',
  }
  for (const [typed, said] of Object.entries(refused)) {
    await page.getByLabel('Betrag', { exact: true }).fill(typed)
    await page.getByRole('button', { name: 'Bestellung anlegen' }).click()
    await page.getByRole('alert').getByText(said.trim()).waitFor()
    assert.ok((await complaint(page)).startsWith(said), `${typed}: ${await complaint(page)}`)
  }
  assert.match(await complaint(page), /12,50\.$/)
  await page.getByLabel('Betrag', { exact: true }).fill('1.234,56')
  await page.getByRole('button', { name: 'Bestellung anlegen' }).click()
  await page.getByText('1.234,56\u00a0€').first().waitFor()
  await speak(page, 'de', `/orders/${world.orders.paid}`)
  await page.getByRole('button', { name: 'Erstatten' }).first().click()
  await page.getByRole('dialog').getByRole('textbox').first().fill('0')
  await page.getByRole('dialog').locator('button[type=submit]').click()
  await page.getByRole('dialog').getByText('Der Betrag muss größer als null sein.').waitFor()
  // as long as the service keeps it: more would be refused after it was typed
  assert.equal(await page.getByRole('dialog').locator('textarea').getAttribute('maxlength'), '256')
  // the order is 49.90 EUR at 1.08; what cannot be read in euros refunds nothing, least of all everything
  const euros = page.getByLabel('Oder der Gegenwert in EUR')
  await euros.fill('1.250')
  await page.getByRole('dialog').locator('button[type=submit]').click()
  await page.getByRole('dialog').getByText('1.250 ist nicht eindeutig.').waitFor()
  await euros.fill('12,50')
  assert.match(await page.getByLabel(/Betrag in USDC/).inputValue(), /^13,50?/)
  await leave()
})

test('a field that is refused has the name that the form gives it, in the reader’s language', async () => {
  const { page, leave } = await enter('Manager')
  await speak(page, 'de', '/shop')
  const form = page.locator('form', { has: page.locator('input[name=vatNumber]') })
  await form.getByLabel('USt-IdNr. / MWST-Nr.').fill('DE12345')
  await form.getByRole('button', { name: 'Speichern' }).click()
  await form.getByRole('alert').last().waitFor()
  assert.deepEqual(await form.getByRole('alert').allInnerTexts(), [
    'USt-IdNr. / MWST-Nr.: muss so aussehen: DE123456789',
    'Ein Teil der Angaben wird nicht angenommen.',
  ])
  assert.equal(await form.getByLabel('USt-IdNr. / MWST-Nr.').inputValue(), 'DE12345')
  await leave()
})

test('what a field does not take is said under it in the reader’s language, by kind, until it is put right', async () => {
  const { page, leave } = await enter('Manager')
  const KINDS = [
    ['/shop', 'settlementAddress', '0xabc', 'Indiquez une adresse de portefeuille : 0x suivi de 40 caractères'],
    ['/shop', 'siret', '123', 'Indiquez les 14 chiffres du numéro SIRET'],
    ['/shop', 'brandColor', 'red', 'Indiquez une couleur : # suivi de six chiffres'],
    ['/shop', 'supportPhone', 'ask', 'Indiquez un numéro de téléphone'],
    ['/shop', 'supportEmail', 'ask', 'E-mail d’assistance : doit être une adresse e-mail'],
    ['/shop', 'name', '', 'Remplissez ce champ.'],
    ['/shop?tab=rules', 'lateAcceptHours', 'two', 'Indiquez un nombre entier'],
  ] as const
  for (const [path, name, typed, said] of KINDS) {
    await speak(page, 'fr', path)
    const form = page.locator('form', { has: page.locator(`input[name=${name}]`) })
    const input = form.locator(`input[name=${name}]`)
    const before = await input.inputValue()
    await input.fill(typed)
    await form.getByRole('button', { name: 'Enregistrer' }).click()
    // an address without a network is the second fault of its form
    const alert = form.getByRole('alert').first()
    await alert.waitFor()
    const id = (await alert.getAttribute('id')) ?? ''
    const shown = (await alert.innerText()).replaceAll('\u00a0', ' ')
    assert.ok(shown.startsWith(said), `${name}: ${shown}`)
    const described = (await input.getAttribute('aria-describedby')) ?? ''
    assert.ok(described.split(' ').includes(id), name)
    assert.equal(await input.getAttribute('aria-invalid'), 'true')
    assert.equal(await page.evaluate('document.activeElement?.name'), name, 'has the focus')
    await input.fill(before || (name === 'settlementAddress' ? `0x${'a'.repeat(40)}` : before))
    await page.locator(`[id="${id}"]`).waitFor({ state: 'detached' })
    assert.equal(await input.getAttribute('aria-invalid'), null)
  }
  assert.deepEqual(await listFaultsOfBothSchemes(page), [])
  await leave()
})

test('a code is pasted with its blank, an address and a number with theirs', async () => {
  const { email } = world.people.Manager
  const { page, context } = await visit(browser, `${base()}/app/login`, DESK)
  const before = await countCodes(base(), email)
  await page.getByLabel('Email', { exact: true }).fill(` ${email} `)
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await page.getByRole('button', { name: 'Log in' }).click()
  const code = page.getByLabel('Code from the email')
  await code.waitFor()
  const digits = await nextCode(base(), email, before)
  await code.focus()
  // typed as a paste is: one event, cut by a maxlength where there is one
  await page.keyboard.insertText(` ${digits.slice(0, 3)} ${digits.slice(3)} `)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.locator('#content h1').first().waitFor()
  await speak(page, 'en', '/shop')
  const form = page.locator('form', { has: page.locator('input[name=siret]') })
  await form.getByLabel('SIRET').fill('')
  await form.getByLabel('SIRET').focus()
  await page.keyboard.insertText(' 732 829 320 00074 ')
  await form.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved', { exact: true }).waitFor()
  const { siret } = await world.shop.host.db.one<{ siret: string }>(
    sql`select siret from companies where id = ${world.shop.merchant.companyId}`,
  )
  assert.equal(siret, '73282932000074')
  await context.close()
})

test('a conflict is named: an identifier that is taken, a payout of nothing; no reload is advised', async () => {
  const { page, leave } = await enter('Manager', '/shop?tab=tills')
  const { merchantIdentifier } = world.shop.merchant
  await page.locator('#content').getByRole('button', { name: 'Add a till' }).click()
  await page.getByRole('dialog').getByLabel('Identifier').fill(merchantIdentifier)
  await page.getByRole('dialog').locator('button[type=submit]').click()
  await page.getByRole('dialog').getByText('Another till of your company has this identifier.').waitFor()
  await page.keyboard.press('Escape')
  await speak(page, 'fr', '/money')
  await page.getByRole('button', { name: 'Préparer un versement' }).click()
  await page.getByText('L’entreprise n’a pas encore d’adresse de versement.').waitFor()
  assert.equal(await page.getByText('Rechargez la page').count(), 0)
  await leave()
})

test('only what can pay an order can be accepted; too much and a second payment can be refunded or ignored', async () => {
  const { page, leave } = await enter('Manager', '/mispayments')
  const { db } = world.shop.host
  // of a payment that the service does not look at: it puts right what does not fit
  await db.run(sql`
    insert into mispayments (company_id, id, order_id, payment_id, kind, asset, units, source_reference, status,
      created_at, updated_at)
    select company_id, ${randomBytes(12).toString('hex')}, order_id, ${randomBytes(12).toString('hex')}, kind, asset,
      12345678, 'another transfer', 'open', now(), now() from mispayments limit 1`)
  const card = page.locator('article', { hasText: /12[.]?345678/ })
  const offered = async (kind: string): Promise<string[]> => {
    await db.run(sql`update mispayments set kind = ${kind} where units = 12345678`)
    await page.reload()
    await card.waitFor()
    return card.getByRole('button').allInnerTexts()
  }
  for (const [asset, reference, words] of [
    [
      'USDC',
      'gatepay:frozen:123',
      /Frozen.*The provider’s own screening froze this money.*: the provider decides.*:123/s,
    ],
    ['USDC', 'gatepay:unresolved:124', /Not credited.*This USDC arrived at the provider.*Give it back in .*:124/s],
    ['DAI', 'a transfer', /Wrong token.*Another token than USDC arrived.*send it by hand/s],
  ] as const) {
    await db.run(sql`update mispayments set asset = ${asset}, source_reference = ${reference} where units = 12345678`)
    assert.deepEqual(await offered('wrong_token'), ['Ignore'], 'the service sends none of it back')
    assert.match(await card.innerText(), words)
  }
  await db.run(sql`update mispayments set asset = 'USDC' where units = 12345678`)
  for (const kind of ['over', 'duplicate', 'held']) assert.deepEqual(await offered(kind), ['Refund', 'Ignore'], kind)
  // 80 EUR at 1.08: who decides sees what arrived and what was asked for, on the card and over it
  await card.getByText('The order is for €80.00, which is 86.40 USDC.').waitFor()
  await card.getByRole('button', { name: 'Refund' }).click()
  const asked = await page.getByRole('dialog').innerText()
  assert.match(asked, /12\.345678 USDC · Order [0-9A-Z]{8}\s+The order is for €80\.00, which is 86\.40 USDC\./)
  assert.equal(await page.getByRole('dialog').locator('textarea').getAttribute('maxlength'), '256')
  await page.keyboard.press('Escape')
  for (const kind of ['late', 'under']) assert.deepEqual(await offered(kind), ['Accept', 'Refund', 'Ignore'], kind)
  await leave()
})

test('a test event that fails says why in a sentence, with the code behind it; so does each failed attempt', async () => {
  const { page, leave } = await enter('Manager')
  await speak(page, 'de', '/webhooks')
  const panel = page.getByRole('region', { name: 'Testereignis senden' })
  await panel.getByLabel('Adresse Ihres Servers').fill(`http://127.0.0.1:${await freePort()}/hooks`)
  await panel.getByRole('button', { name: 'Testereignis senden' }).click()
  const outcome = panel.getByRole('status')
  await outcome.getByText('Prüfen Sie, ob Ihr Server läuft').waitFor()
  assert.match(await outcome.innerText(), /antwortet kein Programm.*connection_refused/s)
  assert.deepEqual(await listFaultsOfBothSchemes(page), [])
  await leave()
})

test('an order that waits for a decision about its money leads to where it is decided', async () => {
  const { page, leave } = await enter('Manager', `/orders/${world.orders.under}`)
  await page.getByRole('link', { name: 'waits for a decision' }).first().click()
  await page.waitForURL(/\/mispayments\?status=open/)
  await page.locator('article').first().waitFor()
  await leave()
})

test('an order whose money is blocked says who decides about it, and where', async () => {
  const { db } = world.shop.host
  const setStatus = (status: string) =>
    db.run(sql`update orders set status = ${status} where code = ${world.orders.open}`)
  await setStatus('KYT_FAILED')
  const { page, leave } = await enter('Manager', `/orders/${world.orders.open}`)
  await page.getByText('is decided under Identity and screening').waitFor()
  await setStatus('INITIAL')
  await leave()
})

test('a dialog begins at its first field, and Escape gives the focus back to what opened it', async () => {
  const { page, leave } = await enter('Manager', '/people')
  const focused = (): Promise<string> =>
    page.evaluate('document.activeElement.name || document.activeElement.innerText')
  const opener = page.getByRole('button', { name: 'Invite someone' })
  await opener.click()
  await page.getByRole('dialog').waitFor()
  assert.equal(await focused(), 'firstName')
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  assert.equal((await focused()).trim(), 'Invite someone')
  await goTo(page, `/orders/${world.orders.open}`)
  await page.getByRole('button', { name: 'Cancel the order' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  assert.equal((await focused()).trim(), 'Cancel the order')
  await leave()
})

test('who was invited and has not come is not offered for approval; who registered is', async () => {
  const { page, leave } = await enter('Manager')
  const { db } = world.shop.host
  const add = (name: string, isApproved: boolean): Promise<unknown> => {
    const id = randomBytes(12).toString('hex')
    return db.run(sql`
      insert into users (id, email, email_key, password_hash, first_name, last_name, role, company_id, approved_at)
      values (${id}, ${`${id}@shop.example`}, ${`${id}@shop.example`}, '!', ${name}, 'Kasse', 'Cashier',
        ${world.shop.merchant.companyId}, ${isApproved ? new Date() : null})`)
  }
  await add('Invited', true)
  await add('Registered', false)
  await goTo(page, '/people')
  const card = (name: string) => page.locator('article', { hasText: `${name} Kasse` })
  await card('Invited').getByText('Invited', { exact: true }).waitFor()
  await card('Invited').getByRole('button', { name: 'Send the invitation again' }).waitFor()
  assert.equal(await card('Invited').getByRole('button', { name: 'Approve' }).count(), 0)
  await card('Registered').getByRole('button', { name: 'Approve' }).waitFor()
  await leave()
})

test('the search takes a decimal comma; a page after the last leads back; an unknown address keeps the menu', async () => {
  const { page, leave } = await enter('Manager', '/orders?search=49,90')
  await page.getByText('€49.90').first().waitFor()
  await goTo(page, '/orders?page=99')
  await page.getByText('This page is empty').waitFor()
  assert.equal(await page.getByText('No orders yet').count(), 0)
  await page.getByRole('button', { name: 'To the first page' }).click()
  await page.getByText('€49.90').first().waitFor()
  await goTo(page, '/nonsense')
  await page.getByRole('heading', { name: 'There is nothing at this address' }).waitFor()
  await page.locator('nav').first().getByRole('link', { name: 'Orders', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'Orders' }).waitFor()
  await leave()
})

test('a company without orders is led to First steps', async () => {
  const { page, leave } = await enter('Association')
  await page.locator('#content').getByRole('link', { name: 'First steps' }).click()
  await page.getByRole('heading', { level: 1, name: 'Your first order' }).waitFor()
  await leave()
})

test('who is refused for a while is told for how long, as the service counts it', async () => {
  const { page, context } = await visit(browser, `${base()}/app/login`, DESK)
  await page.getByLabel('Email').fill(world.people.Observer.email)
  await page.getByLabel('Password').fill('not the password')
  let seconds = 0
  for (let tries = 0; tries < 15 && seconds === 0; tries += 1) {
    const answered = page.waitForResponse(/\/auth\/login/)
    await page.getByRole('button', { name: 'Log in' }).click()
    const answer = await answered
    if (answer.status() === 429) seconds = Number(answer.headers()['retry-after'])
  }
  assert.ok(seconds > 60, `${seconds}`)
  await page
    .getByRole('alert')
    .getByText(`Try again in ${Math.ceil(seconds / 60)} minutes`)
    .waitFor()
  await context.close()
})

/** A payout that went out, as the chain left it. */
async function payOut(): Promise<string> {
  const id = randomBytes(12).toString('hex')
  const hash = `0x${randomBytes(32).toString('hex')}`
  await world.shop.host.db.run(sql`
    insert into settlements (id, company_id, units, network, address, status, tx_hash, last_words, created_by,
      created_at, updated_at)
    values (${id}, ${world.shop.merchant.companyId}, 18000000, ${world.shop.chain.chainId}, ${`0x${'a'.repeat(40)}`},
      'paid', ${hash}, ${`paid by transaction ${hash}`}, 'user:test', now(), now())`)
  return hash
}

test('a payout that was paid fits a phone in every language, names its network, and repeats no English', async () => {
  await payOut()
  const { page, leave } = await enter('Manager')
  await page.setViewportSize({ width: 380, height: 800 })
  for (const [lang, network] of Object.entries({ en: 'Network', de: 'Netz', fr: 'Réseau', es: 'Red', it: 'Rete' })) {
    await speak(page, lang, '/money')
    await page.locator('dt', { hasText: network }).first().waitFor()
    assert.equal(await page.getByText('paid by transaction').count(), 0)
    await page.locator('dd', { hasText: String(world.shop.chain.chainId) }).waitFor({ state: 'detached' })
    const wide = Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'))
    assert.ok(wide <= 0, `${lang} scrolls sideways by ${wide}`)
  }
  await leave()
})

test('before a payout to another address, the approver reads who wrote it and where the last one went, in every language', async () => {
  const { db } = world.shop.host
  const { companyId } = world.shop.merchant
  await payOut()
  const id = randomBytes(12).toString('hex')
  await db.run(sql`
    insert into settlements (id, company_id, units, network, address, status, created_by, created_at, updated_at,
      address_set_at, address_set_by)
    select ${id}, ${companyId}, 18000000, ${world.shop.chain.chainId}, ${`0x${'b'.repeat(40)}`}, 'open', 'user:test',
      now(), now(), now(), 'user:' || min(id) from users where company_id = ${companyId} and role = 'Manager'`)
  const { page, leave } = await enter('Manager')
  const words = {
    en: 'was changed on',
    de: 'geändert, nach',
    fr: 'a été modifiée',
    es: 'cambió',
    it: 'è stato cambiato',
  }
  for (const [lang, word] of Object.entries(words)) {
    await speak(page, lang, '/money')
    const notice = page.locator('li', { hasText: `0x${'b'.repeat(40)}` }).getByText(word)
    assert.match((await notice.textContent()) ?? '', new RegExp(`0x${'a'.repeat(40)}`), lang)
  }
  await leave()
  const { page: own, leave: close } = await enter('SuperAdmin')
  await speak(own, 'en', `/money?company=${companyId}`)
  await own.getByRole('button', { name: 'Approve', exact: true }).click()
  const asked = (await own.getByRole('dialog').innerText()).replace(/\s+/g, ' ')
  assert.match(asked, /Approve the payout 18\.00 USDC To 0xb{40} Network .*was changed on .*cannot be taken back/)
  const { status } = await db.one<{ status: string }>(sql`select status from settlements where id = ${id}`)
  assert.equal(status, 'open', 'one click approves nothing')
  await close()
  await db.run(sql`delete from settlements where id = ${id}`)
})

test('the wallets of the operator fit a phone in every language', async () => {
  const { page, leave } = await enter('SuperAdmin')
  await page.setViewportSize({ width: 320, height: 800 })
  for (const lang of ['en', 'de', 'fr', 'es', 'it']) {
    await speak(page, lang, '/operator?tab=wallets')
    await page.locator('li dd').first().waitFor()
    // the plan of a sweep names the fee in the chain's coin
    await page.locator('section button').last().click()
    await page.getByRole('heading', { level: 3 }).first().waitFor()
    const wide = Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'))
    assert.ok(wide <= 0, `${lang} scrolls sideways by ${wide}`)
  }
  await leave()
})

test('what is held after a restore says who acts next: a transaction to report, or a refund to reject', async () => {
  const { db } = world.shop.host
  const [txHash, other] = [`0x${'a'.repeat(64)}`, `0x${'c'.repeat(40)}`]
  const used = `Transaction ${txHash} has used its authorization, and brought 1.000000 USDC to ${other} instead of `
  const restored = 'left before the database was restored: '
  const { id } = await db.one<{ id: string }>(sql`select id from refunds where units = 20000000`)
  const holdRefund = (status: string, words: string) =>
    db.run(sql`update refunds set status = ${status}, last_words = ${words}, next_check_at = null where id = ${id}`)
  await holdRefund('submitted', used)
  const { page, leave } = await enter('SuperAdmin', '/refunds')
  const card = page.locator('article', { hasText: '20.00' })
  const offered = async (name: string): Promise<boolean> => (await card.getByRole('button', { name }).count()) > 0
  await card.getByText('Something else left under its number').waitFor()
  assert.deepEqual([await offered('Reject'), await offered('Report the transaction')], [true, false])
  await holdRefund('ready', `waits: this one ${restored}transaction ${txHash} brought 20.000000 USDC to ${other}.`)
  await page.reload()
  await card.getByText('so it is not sent again. Report the transaction named below').waitFor()
  await card.getByRole('button', { name: 'Report the transaction' }).click()
  assert.equal(await page.getByRole('dialog').getByLabel('Hash of the transaction').inputValue(), txHash)
  await page.keyboard.press('Escape')
  await card.getByRole('button', { name: 'Reject' }).click()
  await page.getByRole('dialog').getByLabel('Reason').fill('another amount left')
  await page.getByRole('dialog').getByRole('button', { name: 'Reject' }).click()
  await card.getByText('It was rejected; nothing was sent.').waitFor()

  const payout = await payOut()
  const holdPayout = (words: string) =>
    db.run(sql`update settlements set status = 'approved', last_words = ${words} where tx_hash = ${payout}`)
  await holdPayout(used)
  await goTo(page, '/money')
  await page.locator('nav').first().getByLabel('Company').selectOption(world.shop.merchant.companyId)
  await page.getByText('Something else left under its number').first().waitFor()
  assert.equal(await page.getByRole('button', { name: 'Cancel', exact: true }).count(), 0, 'it would be paid twice')
  await page.getByRole('button', { name: 'Report the payment' }).first().click()
  assert.equal(await page.getByRole('dialog').getByLabel('Hash of the transaction').inputValue(), txHash)
  await page.keyboard.press('Escape')
  await holdPayout(`waits: a later one ${restored}transaction ${txHash} brought 1.000000 USDC to ${other}.`)
  await page.reload()
  await page.getByText('What is named below left before the database was restored').first().waitFor()
  await page.getByRole('button', { name: 'Cancel', exact: true }).first().click()
  await page.getByRole('dialog').getByText('Only if nobody has sent it').waitFor()
  const { status } = await db.one<{ status: string }>(sql`select status from settlements where tx_hash = ${payout}`)
  assert.equal(status, 'approved', 'one click cancels nothing that may have been sent')
  await leave()
})

test('the limits of a channel are saved as they were typed, and one that is no amount is refused in words', async () => {
  const { page, leave } = await enter('Manager', '/shop?tab=channels')
  await page.getByRole('button', { name: 'Words and limits' }).first().click()
  const dialog = page.getByRole('dialog')
  const largest = dialog.getByLabel('Largest order (EUR)')
  await largest.fill('12,345')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByRole('alert').getByText('12.50').waitFor()
  await largest.fill('250,50')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.waitFor({ state: 'detached' })
  await page.getByText('Up to 250.50 EUR').waitFor()
  await leave()
})

test('every language has its words on the login and inside', async () => {
  for (const [lang, title] of [
    ['fr', 'Connexion'],
    ['de', 'Anmelden'],
    ['es', 'Iniciar sesión'],
    ['it', 'Accesso'],
  ] as const) {
    const { page, context } = await visit(browser, `${base()}/app/login?lang=${lang}`, DESK)
    await page.getByRole('heading', { level: 1, name: title }).waitFor()
    assert.equal(await page.locator('html').getAttribute('lang'), lang)
    await page.goto(`${base()}/app/login`)
    await page.getByRole('heading', { level: 1, name: title }).waitFor()
    await context.close()
  }
})
