import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openAddressFaults } from '../src/assembly/chains.ts'
import { sql } from '../src/db/db.ts'
import { openVault } from '../src/kernel/vault.ts'
import { payerOf } from '../src/pages/shared/payer.ts'
import { erasePayersOlderThan, readPayer, resealPayers, savePayerEmail } from '../src/payers/payer-service.ts'
import { openRates } from '../src/rates/rate-service.ts'
import { contextFor } from './harness/model-world.ts'
import { type Merchant, startTestService, TEST_MASTER_KEY, type TestService } from './harness/service.ts'
import { TEST_XPUB } from './harness/shop.ts'

let host: TestService
let merchant: Merchant
let other: Merchant

before(async () => {
  const env = {
    CHAIN_31337_RPC_URL: 'http://127.0.0.1:1',
    CHAIN_MAX_LAG_SECONDS: '86400',
    CHAIN_31337_USDC: '0x700b6A60ce7EaaEA56F065753d8dcB9653dbAD35',
    CHAIN_31337_XPUB: TEST_XPUB,
  }
  host = await startTestService({ env })
  merchant = await host.createMerchant()
  other = await host.createMerchant()
})
after(() => host.stop())

const create = async (body: Record<string, unknown> = {}): Promise<string> => {
  const sale = { amount: 50, fromAsset: 'EUR', merchantIdentifier: 'TILL-1', ...body }
  return (await host.call<{ code: string }>('POST', 'request', { as: merchant, body: sale })).data.code
}
const save = (code: string, payerInformation: Record<string, unknown>, as = merchant) =>
  host.call('POST', 'payer-information', { as, body: { code, payerInformation } })
const accept = (code: string, body: Record<string, unknown> = {}) =>
  host.call('POST', `accept/${code}`, { as: merchant, body: { paymentChannel: 'crypto', ...body } })

test('who pays is checked field by field, kept encrypted, and never part of the order or the log', async () => {
  const code = await create()
  const good = {
    firstName: 'Zoë',
    lastName: 'Müller-Ångström',
    email: 'zoe@example.org',
    country: 'CH',
    userAddress: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
    isCompany: true,
    companyName: 'Zoë SA',
    companySiret: '73282932000074',
  }
  assert.equal((await save(code, good)).status, 200)
  const { sealed } = await host.db.one<{ sealed: string }>(sql`
    select sealed from payer_information p join orders o on o.id = p.order_id where o.code = ${code}`)
  assert.match(sealed, /^s1\./)
  const seen = await host.call('GET', `status/${code}`, { as: merchant })
  for (const place of [sealed, seen.text, host.logLines.join('')]) {
    for (const secret of ['Zoë', 'zoe@example.org', '73282932000074']) assert.equal(place.includes(secret), false)
  }
  assert.equal(openVault(TEST_MASTER_KEY).seal('x', 'y').length > 0, true)
})

test('each wrong field is refused with its path', async () => {
  const code = await create()
  const cases: [Record<string, unknown>, string][] = [
    [{ email: 'nonsense' }, 'payerInformation.email'],
    [{ country: 'XX' }, 'payerInformation.country'],
    [{ country: 'fr' }, 'payerInformation.country'],
    [{ userAddress: '0x70997970c51812dc3A010C7d01b50e0d17dc79C8' }, 'payerInformation.userAddress'],
    [{ companySiret: '73282932000075' }, 'payerInformation.companySiret'],
    [{ isCompany: true }, 'payerInformation.companyName'],
    [{ isCompany: 'yes' }, 'payerInformation.isCompany'],
  ]
  for (const [payer, path] of cases) {
    const answer = await save(code, payer)
    assert.deepEqual([answer.status, answer.error?.details?.[0]?.path], [422, path], JSON.stringify(payer))
  }
  const email = await host.call('POST', `email/${code}`, { as: merchant, body: { email: 'no' } })
  assert.deepEqual([email.status, email.error.details?.[0]?.path], [422, 'email'])
  assert.equal((await save(code, { firstName: 'A' }, other)).status, 404)
})

test('a domain with umlauts is an address, and a company of any country has its VAT number', async () => {
  const code = await create()
  const mail = (email: string) => host.call('POST', `email/${code}`, { as: merchant, body: { email } })
  assert.equal((await mail('max@müller.example')).status, 200)
  for (const wrong of [
    'max@müller',
    'max@mül ler.example',
    'max@@müller.example',
    'müller.example',
    'max@mü_ller.example',
  ])
    assert.equal((await mail(wrong)).status, 422, wrong)
  for (const companyVatNumber of [
    'DE 123 456 789',
    'atu12345678',
    'CHE-123.456.789 MWST',
    'NL123456789B01',
    'EL123456789',
  ])
    assert.equal((await save(code, { companyVatNumber })).status, 200, companyVatNumber)
  const refusalOf = async (companyVatNumber: string) =>
    (await save(code, { companyVatNumber })).error?.details?.[0]?.message
  assert.equal(await refusalOf('DE12345678'), 'must look like DE123456789')
  assert.match((await refusalOf('123456789')) ?? '', /^must begin with its country, such as DE123456789/)
})

test('whoever has only the link replaces no e-mail that the shop gave, and corrects one that was typed there', async () => {
  const { db, vault, config, service } = host
  const clock = Date.now
  const deps = {
    ...{ db, vault, clock },
    rates: openRates({ fiatAssets: ['EUR'], config: config.rates, db, clock, log: service.app.log }),
    audit: { write: async () => {}, verify: async () => ({ entries: 0, lost: [], fault: null }) },
    tellEmailChanged: async () => {},
    hasMoney: async () => false,
    findAddressFault: openAddressFaults([]),
  }
  for (const isShops of [true, false]) {
    const code = await create()
    const context = contextFor(payerOf(code))
    if (isShops) assert.equal((await save(code, { email: 'first@example.org' })).status, 200)
    else await savePayerEmail(deps, context, code, 'first@example.org')
    await savePayerEmail(deps, context, code, 'second@example.org')
    const { email } = await readPayer(deps, context, code)
    assert.equal(email, isShops ? 'first@example.org' : 'second@example.org')
  }
})

test('a payer who is no company after all leaves no name of one behind, which would stand for his own', async () => {
  const code = await create({ amount: 1000 })
  await save(code, { email: 'ada@example.com', isCompany: true, companyName: 'Engines Ltd' })
  assert.equal((await save(code, { isCompany: false })).status, 200)
  assert.equal((await accept(code)).error.code, 'PAYER_IDENTITY_REQUIRED')
})

test('from the threshold on an order needs to know who pays, unless it is anonymous', async () => {
  const below = await create({ amount: 999.99 })
  assert.equal((await accept(below)).status, 200)
  const code = await create({ amount: 1000 })
  assert.equal((await accept(code)).error.code, 'PAYER_IDENTITY_REQUIRED')
  assert.equal((await accept(await create({ amount: 1000 }), { anonymous: true })).status, 200)
  assert.equal((await accept(await create({ amount: 1000, anonymous: true }))).status, 200)
  for (const blank of [' ', '\u00a0', '\u200b', '--']) {
    const names = { firstName: blank, lastName: blank, companyName: blank, email: 'ada@example.org' }
    const nameless = await create({ amount: 1000 })
    assert.equal((await save(nameless, names)).status, 200)
    assert.equal((await accept(nameless)).error.code, 'PAYER_IDENTITY_REQUIRED', JSON.stringify(blank))
  }
  assert.equal((await save(code, { isCompany: true, companyName: ' ' })).status, 422)
  await save(code, { firstName: 'Ada', lastName: 'L' })
  assert.equal((await accept(code)).error.code, 'PAYER_IDENTITY_REQUIRED')
  assert.equal(
    (await host.call('POST', `email/${code}`, { as: merchant, body: { email: 'ada@example.org' } })).status,
    200,
  )
  assert.equal((await accept(code)).status, 200)
  const francs = await create({ amount: 965, fromAsset: 'CHF' })
  assert.equal((await accept(francs)).error.code, 'PAYER_IDENTITY_REQUIRED')
  assert.equal((await accept(francs, { payerEmail: 'a@b.ch' })).error.code, 'PAYER_IDENTITY_REQUIRED')
})

test('a new master key reads what the old one sealed, and seals it again', async () => {
  const code = await create()
  await save(code, { firstName: 'Rotated' })
  const next = openVault(Buffer.alloc(32, 9), [TEST_MASTER_KEY])
  assert.ok((await resealPayers({ db: host.db, vault: next })) > 0)
  assert.equal(await resealPayers({ db: host.db, vault: next }), 0)
  const row = await host.db.one<{ sealed: string; orderId: string }>(sql`
    select p.sealed, p.order_id from payer_information p join orders o on o.id = p.order_id where o.code = ${code}`)
  assert.deepEqual(JSON.parse(openVault(Buffer.alloc(32, 9)).open(row.sealed, `order:${row.orderId}:payer`)), {
    firstName: 'Rotated',
  })
  assert.throws(() => host.vault.open(row.sealed, `order:${row.orderId}:payer`))
})

test('what a payer saves while an older text is sealed again stays', async () => {
  const code = await create()
  await save(code, { firstName: 'Old', email: 'old@example.org' })
  const { db } = host
  let isSaved = false
  const slow: typeof db = {
    ...db,
    async tx(work) {
      if (!isSaved) await save(code, { email: 'new@example.org' })
      isSaved = true
      return db.tx(work)
    },
  }
  await resealPayers({ db: slow, vault: openVault(Buffer.alloc(32, 9), [TEST_MASTER_KEY]) })
  assert.equal(isSaved, true)
  const row = await db.one<{ sealed: string; orderId: string }>(sql`
    select p.sealed, p.order_id from payer_information p join orders o on o.id = p.order_id where o.code = ${code}`)
  const { email } = JSON.parse(host.vault.open(row.sealed, `order:${row.orderId}:payer`)) as { email: string }
  assert.equal(email, 'new@example.org')
})

test('who paid is erased on request, and by itself when its time is over; the order stays', async () => {
  const [asked, old] = [await create(), await create()]
  for (const code of [asked, old]) await save(code, { firstName: 'Gone' })
  const path = `payer-information/${asked}`
  assert.equal((await host.call('DELETE', path, { as: merchant })).status, 403, 'an API key does not erase')
  const count = () =>
    host.db.one<{ n: bigint }>(sql`
      select count(*) as n from payer_information p join orders o on o.id = p.order_id where o.code = any(${[asked, old]})`)
  assert.equal((await count()).n, 2n)
  const later = (days: number) => ({ db: host.db, clock: () => Date.now() + days * 86_400_000 })
  assert.equal(await erasePayersOlderThan(later(29), 30), 0)
  assert.ok((await erasePayersOlderThan(later(31), 30)) >= 2)
  assert.equal((await count()).n, 0n)
  assert.equal((await host.call('GET', `status/${old}`)).status, 200)
})
