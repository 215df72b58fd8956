import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import fastify from 'fastify'
import { poolWords } from '../src/chain/payout/state/after-restore.ts'
import { KYC_STATUSES } from '../src/compliance/kyc.ts'
import type { UserRole } from '../src/http/actor.ts'
import { toAppError } from '../src/http/failures.ts'
import { readAddress } from '../src/kernel/addresses.ts'
import { AppError, invalid } from '../src/kernel/errors.ts'
import { parseMoney } from '../src/kernel/money.ts'
import { readVatNumber } from '../src/kernel/people/vat-numbers.ts'
import { readAmount as readOrderAmount } from '../src/orders/order-rules.ts'
import { MISPAYMENT_KINDS, MISPAYMENT_STATUSES } from '../src/payments/mispayments/mispayment-queries.ts'
import { SCREENING_STATUSES } from '../src/screening/screening.ts'
import { missingOf } from '../src/users/user.ts'
import { FAILURES } from '../src/webhooks/sender/failures.ts'
import { REFUSALS, recognize, recognizeDetail, recognizeNeed } from '../web/office/src/api/sentences.ts'
import { findHold } from '../web/office/src/frame/holds.ts'
import { browserName } from '../web/office/src/kit/browser-name.ts'
import { isAmbiguous, readAmount } from '../web/office/src/kit/decimal.ts'
import { type FieldKind, readKind } from '../web/office/src/kit/field-kinds.ts'
import { type Booked, paidIn } from '../web/office/src/screens/order/paid-sums.ts'
import { tokenFor } from '../web/office/src/screens/order/refund-worth.ts'
import { de } from '../web/office/src/texts/de.ts'

/* The office reads some sentences of the service back, and amounts as people type them. */

function refusalOf(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    if (error instanceof AppError) return error.message
    throw error
  }
  return ''
}

const from = (file: string): string =>
  readFileSync(new URL(`../src/${file}`, import.meta.url), 'utf8').replace(
    /\$\{(?:usdcT|t)ext\([^}]*\)\}/g,
    '18.000000 USDC',
  )

/** The sentence as it stands in the source, with its blanks filled in. */
function sentenceOf(file: string, start: string): string {
  const found = new RegExp(`['\`](${start}[^'\`]*)['\`]`).exec(from(file))?.[1] ?? ''
  return found.replace(/\$\{[^}]*\}/g, 'x1')
}

const MOST = { asset: 'EUR', units: 10_000_000n, isKnown: true, isFinal: true } as const

test('the office knows each of these refusals by the words of the service, with the facts in them', () => {
  const said = {
    least: refusalOf(() => readOrderAmount('0', 'EUR', MOST)),
    most: refusalOf(() => readOrderAmount('100000.01', 'EUR', MOST)),
    decimals: refusalOf(() => parseMoney('12.345', 'EUR')),
    aboveZero: sentenceOf('refunds/refund-amount.ts', 'The refund must'),
    invalid: refusalOf(() => {
      throw invalid('pin', 'must be six digits')
    }),
    tillTaken: sentenceOf('companies/till-service.ts', 'Another till'),
    nothingOwed: sentenceOf('ledger/settlements/settlement-limits.ts', 'Nothing is owed'),
    noPayoutAddress: sentenceOf('ledger/settlements/settlement-service.ts', 'The company has no settlement address'),
    noPayoutNetwork: sentenceOf('ledger/settlements/settlement-service.ts', 'The company has no settlement network'),
    payoutUnderWay: sentenceOf('ledger/settlements/settlement-service.ts', 'The settlement '),
    payoutMoved: sentenceOf('ledger/settlements/settlement-service.ts', 'The settlement is '),
    accountInUse: sentenceOf('payments/accounts/channel-service.ts', 'This account is').replace(/x1/g, '3'),
    accountSilent: sentenceOf('payments/accounts/account-identity.ts', 'The provider does not answer'),
    accountRefused: sentenceOf('payments/accounts/account-identity.ts', 'The provider refuses'),
    mayOverlap: sentenceOf('payments/mispayments/told-event.ts', 'The provider has just moved'),
    linkNoMore: sentenceOf('payers/link-mails.ts', 'The link of this order was mailed'),
    linksOfDay: sentenceOf('payers/link-mails.ts', 'Your company has mailed'),
    linksOfMailbox: sentenceOf('payers/link-mails.ts', 'This address was mailed'),
    linkEnded: sentenceOf('payers/link-mails.ts', 'The order is '),
    notesFull: sentenceOf('orders/notes/note-service.ts', 'This order has'),
  }
  const facts = { least: ['0.10', 'EUR'], most: ['100000.00', 'EUR'], decimals: ['2', 'EUR'] }
  const known = Object.keys(REFUSALS).map((name) => ({
    name,
    facts:
      {
        ...facts,
        payoutUnderWay: ['18.000000', 'USDC'],
        accountInUse: ['3', '3'],
      }[name] ?? [],
  }))
  assert.deepEqual(Object.values(said).map(recognize), known)
  assert.equal(recognize('Only underpaid or late money can be accepted as a payment; this is over.'), null)
})

test('the office knows why money is held by the words of the service', () => {
  const waits = (file: string, start: string): string => `waits: ${sentenceOf(file, start)}`
  const said = {
    reconcile: waits('ledger/books.ts', 'the database was restored'),
    takeover: waits('ledger/books.ts', 'another database server took over'),
    books: waits('ledger/books.ts', 'the books differ: '),
    lost: waits('refunds/refund-cover.ts', '18.000000 USDC paid for this order left the chain(?=`)'),
    chain: waits('ledger/claims.ts', 'the chain '),
    screening: waits('screening/screening-words.ts', 'the screening of'),
    screened: waits('screening/screening-words.ts', 'its destination did'),
  }
  assert.deepEqual(Object.values(said).map(findHold), Object.keys(said))
  assert.equal(findHold(waits('screening/screening-words.ts', 'the screening of the settlement')), 'screening')
  assert.equal(findHold(waits('screening/screening-words.ts', 'the company’s settlement')), 'screened')
  const used = ['has used its authorization, and brought ', 'has cancelled its authorization']
  const words = used.map((one) => `Transaction 0xab ${sentenceOf('chain/payout/payout-follow.ts', one)}`)
  assert.deepEqual(words.map(findHold), ['otherwise', 'cancelled'], 'the second can be cancelled here, too')
  assert.equal(findHold(`waits: ${poolWords(0n, ['Polygon'])}`), 'pool')
  assert.match(poolWords(0n, ['Polygon']), /^the database was restored, or another server took over, and /)
  const before = / before the database was restored or another server took over: /.exec(
    from('chain/payout/payout-recheck.ts'),
  )?.[0]
  const left = `left${before}transaction 0xab brought something.`
  const lost = ['this one', 'a later one', 'another one, which was then rejected or cancelled here,']
  const holds = lost.map((who) => findHold(`waits: ${who} ${left}`))
  assert.deepEqual(holds, ['left', 'another', 'dropped'], left)
  // what an earlier version has written stays with the payout until its next check
  assert.equal(findHold('waits: this one left before the database was restored: transaction 0xab.'), 'left')
  const earlier =
    'waits: the database was restored, and a transaction that was signed may still wait in the pool of a node'
  assert.equal(findHold(earlier), 'pool')
  const followed = sentenceOf('chain/payout/payout-follow.ts', 'It is signed, and only')
  assert.equal(findHold(followed), 'followed')
  assert.equal(findHold('waits: the node does not answer'), null)
})

test('the office knows what the service says most about a field', async () => {
  const app = fastify({ ajv: { customOptions: { allErrors: true } } })
  const nullable = (type: object) => ({ anyOf: [type, { type: 'null' }] })
  const properties = {
    absent: { type: 'string' },
    empty: { type: 'string', minLength: 1 },
    low: { type: 'integer', minimum: 0 },
    high: { type: 'integer', maximum: 720 },
    short: { type: 'string', minLength: 12 },
    long: nullable({ type: 'string', maxLength: 3 }),
    email: nullable({ type: 'string', format: 'email' }),
    url: { type: 'string', format: 'uri' },
    other: { type: 'string', pattern: '^x$' },
  }
  app.setErrorHandler((error, _, reply) => reply.send({ details: toAppError(error).details }))
  app.post('/', { schema: { body: { type: 'object', required: ['absent'], properties } } }, () => null)
  const payload = { empty: '', low: -1, high: 721, short: 'abc', long: 'abcd', email: 'a@b', url: 'shop', other: 'y' }
  const answer = await app.inject({ method: 'POST', url: '/', payload })
  const { details } = answer.json<{ details: { path: string; message: string }[] }>()
  const known = Object.fromEntries(details.map(({ path, message }) => [path, recognizeDetail(message)]))
  assert.deepEqual(known, {
    absent: { name: 'required', fact: '' },
    empty: { name: 'required', fact: '' },
    low: { name: 'least', fact: '0' },
    high: { name: 'most', fact: '720' },
    short: { name: 'short', fact: '12' },
    long: { name: 'long', fact: '3' },
    email: { name: 'email', fact: '' },
    url: { name: 'url', fact: '' },
    other: null,
  })
})

test('the office knows what the service says about the payout address, the terms and the VAT number of a company', () => {
  const detailOf = (work: () => unknown): string => {
    try {
      work()
    } catch (error) {
      if (error instanceof AppError) return error.details?.[0]?.message ?? ''
    }
    return ''
  }
  const typo = detailOf(() => readAddress('settlementAddress', `0xAb${'0'.repeat(38)}`))
  assert.equal(recognizeDetail(typo)?.name, 'address')
  assert.equal(recognizeDetail(sentenceOf('companies/company-service.ts', 'must be an http'))?.name, 'url')
  for (const [written, name] of [
    ['FR1', 'form'],
    ['1', 'vatCountry'],
  ] as const) {
    const read = readVatNumber(written)
    assert.equal('fault' in read && recognizeDetail(read.fault)?.name, name)
  }
})

test('the office knows everything that an account can still need, for each role, by the words of the service', () => {
  const at = new Date(0)
  const needs = (role: UserRole, verifiedAt: Date | null, approvedAt: Date | null, approved: boolean) =>
    missingOf({ role, verifiedAt, approvedAt, company: { approved } }).map(recognizeNeed)
  assert.deepEqual(needs('Cashier', null, null, false), ['verify', 'approval', 'company'])
  assert.deepEqual(needs('Observer', at, null, true), ['approval'])
  assert.deepEqual(needs('Manager', null, null, false), ['verify', 'company'])
  assert.deepEqual(needs('Manager', at, null, false), ['company'])
  assert.deepEqual(needs('Cashier', at, at, true), [])
})

test('an amount is read as it is written in any of our languages, and what is ambiguous or none is refused', () => {
  const read: Record<string, string | null> = {
    '12': '12',
    ' 12,5 ': '12.5',
    '12.50': '12.50',
    '1.234,56': '1234.56',
    '1,234.56': '1234.56',
    '1 234,56': '1234.56',
    '1\u202f234,56': '1234.56',
    '1’234.56': '1234.56',
    '1.234.567': '1234567',
    '12,345': '12.345',
    abc: null,
    '': null,
    '-5': null,
    '1e3': null,
    '12 34': null,
    '1.2.3': null,
    '1,23,456': null,
    '12,': null,
    '12 €': null,
  }
  assert.deepEqual(Object.fromEntries(Object.keys(read).map((text) => [text, readAmount(text)])), read)
})

test('an amount that may mean a thousand times more is asked about, not taken', () => {
  const german = { point: ',', digits: 2 } as const
  for (const typed of ['1.250', '1,250', ' 12.000 ', '999,999']) assert.ok(isAmbiguous(typed, german), typed)
  for (const typed of ['1250', '12,5', '12,50', '1.250,00', '1.250.000', '0,125', '1 250', '1250,000'])
    assert.ok(!isAmbiguous(typed, german), typed)
  // USDC has six decimals: three of them are written with the reader's own separator
  assert.equal(isAmbiguous('1,250', { point: ',', digits: 6 }), false)
  assert.equal(isAmbiguous('1.250', { point: ',', digits: 6 }), true)
  assert.equal(isAmbiguous('1.250', { point: '.', digits: 6 }), false)
  assert.equal(isAmbiguous('1,250', { point: '.', digits: 6 }), true)
})

/** What a German field sends, or what it says instead. */
function typed(kind: FieldKind, text: string, lang: 'de' | 'en' = 'de'): string {
  const read = readKind(kind, text, lang)
  return 'value' in read ? read.value : read.fault(de, '', String)
}

test('a field of money sends no thousandth of what was typed: it asks, or takes what has one meaning', () => {
  for (const kind of ['money', 'usdc', 'amount'] as const) {
    assert.deepEqual([typed(kind, '1.234,50'), typed(kind, '1,234.50', 'en')], ['1234.50', '1234.50'], kind)
    assert.deepEqual([typed(kind, ' 10000 '), typed(kind, '12,5')], ['10000', '12.5'], kind)
    assert.match(typed(kind, '10.000'), /^10\.000 ist nicht eindeutig\. Schreiben Sie 10000, /, kind)
    assert.match(typed(kind, '10,000', 'en'), /^10,000 ist nicht eindeutig/, kind)
    assert.equal(typed(kind, 'abc'), de.fields[kind])
  }
  assert.deepEqual([typed('usdc', '10,000'), typed('usdc', '0,000001')], ['10.000', '0.000001'])
  assert.deepEqual([typed('usdc', '0,0000001'), typed('money', '12,3456')], [de.fields.usdc, de.fields.money])
  assert.equal(typed('amount', '12,3456'), '12.3456', 'the service knows the decimals of a currency')
})

test('every field of money has a kind, and nothing else in the office reads a decimal comma', () => {
  const SRC = new URL('../web/office/src/', import.meta.url)
  const files = globSync('**/*.{ts,tsx}', { cwd: SRC.pathname }).filter((file) => !file.startsWith('kit/'))
  const read = (file: string): string => readFileSync(new URL(file, SRC), 'utf8')
  const OWN = /inputMode="decimal"|readAmount|replace\(['"/],['"/]/
  assert.deepEqual(
    files.filter((file) => OWN.test(read(file))),
    [],
  )
})

test('blanks that a copied address, code or number brings along are no part of it', () => {
  const [address, hash] = [`0x${'aB'.repeat(20)}`, `0x${'1f'.repeat(32)}`]
  const read: [FieldKind, string, string][] = [
    ['wallet', ` ${address.slice(0, 9)} ${address.slice(9)}\n`, address],
    ['wallet', `${address}\u200b`, address],
    ['transaction', `\t${hash}\u00a0`, hash],
    ['siret', '732 829 320 00074', '73282932000074'],
    ['sixDigits', '123 456 ', '123456'],
    ['code', ' ABCD - EFGH', 'ABCD-EFGH'],
    ['color', ' #aabbcc', '#aabbcc'],
    ['whole', '1 000', '1000'],
    ['phone', ' +41 22 123 45 67 ', '+41 22 123 45 67'],
  ]
  for (const [kind, text, value] of read) assert.equal(typed(kind, text), value, text)
  assert.equal(typed('sixDigits', '123 4567'), de.fields.sixDigits)
  assert.equal(typed('wallet', address.slice(0, 41)), de.fields.wallet)
})

test('a refund in the currency of the order is worth that amount to the cent, and the last one takes the rest', () => {
  const order = { fromAmount: '75.00', toAmount: '81.246753' }
  const all = order.toAmount
  assert.deepEqual([tokenFor(order, '25.00', all), tokenFor(order, '75', all)], ['27.082251', '81.246753'])
  // rounded down to cents, as a provider does, it is 25.00 and not 24.99
  assert.equal((27_082_251n * 7500n) / 81_246_753n, 2500n)
  assert.equal(tokenFor(order, '25.00', '27.082250'), '27.082250')
  assert.equal(tokenFor(order, '25', '27.082251'), '27.082251')
  assert.equal(tokenFor(order, '80', all), '86.663204')
  assert.equal(tokenFor({ fromAmount: '6000', toAmount: '54.300000' }, '1000', '54.300000'), '9.050000')
})

test('a browser is named as people call it, and what is not known stays as it was sent', () => {
  const like = 'Mozilla/5.0 (X) AppleWebKit/537.36 (KHTML, like Gecko)'
  const names = {
    [`${like.replace('X', 'Windows NT 10.0; Win64; x64')} Chrome/140.0 Safari/537.36 Edg/140.0`]: 'Edge · Windows',
    [`${like.replace('X', 'X11; Linux x86_64')} HeadlessChrome/140.0 Safari/537.36`]: 'Chrome · Linux',
    [`${like.replace('X', 'iPhone; CPU iPhone OS 19_0 like Mac OS X')} Version/19.0 Mobile/15E148 Safari/604.1`]:
      'Safari · iPhone',
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 15.5; rv:140.0) Gecko/20100101 Firefox/140.0': 'Firefox · macOS',
    'curl/8.7.1': 'curl/8.7.1',
  }
  assert.deepEqual(Object.fromEntries(Object.keys(names).map((text) => [text, browserName(text)])), names)
})

test('every failure of a webhook has a sentence in every language, and no sentence outlives its failure', () => {
  const source = readFileSync(new URL('../web/office/src/screens/webhooks/failure-texts.ts', import.meta.url), 'utf8')
  const keys = [...source.matchAll(/^ +(\w+_\w+|timeout):/gm)].map(([, key = '']) => key)
  assert.deepEqual(keys.toSorted(), FAILURES.flatMap((code) => Array(5).fill(code)).toSorted())
})

test('the story of an order has a word for every state of a mispayment, an identity check and a screening', async () => {
  // by its address: what it imports is for browsers, whose types tests do not have
  const { storyTexts } = (await import(import.meta.resolve('../web/office/src/screens/order/story-texts.ts'))) as {
    storyTexts: Record<
      string,
      Record<'kinds' | 'decided' | 'identityStatus' | 'screeningStatus', Record<string, string>>
    >
  }
  for (const [lang, words] of Object.entries(storyTexts)) {
    const has = (list: Record<string, string>, values: readonly string[]) =>
      assert.deepEqual(Object.keys(list).toSorted(), [...values].toSorted(), lang)
    has(words.kinds, MISPAYMENT_KINDS)
    has(words.decided, [...MISPAYMENT_STATUSES, 'refunding'])
    has(words.identityStatus, KYC_STATUSES)
    has(words.screeningStatus, SCREENING_STATUSES)
  }
})

test('an order shows what was paid of its price, the fee, what went back or was lost, and the rest, by its bookings', () => {
  const legs = (what: string, units: Record<string, string>): Booked[] =>
    Object.entries(units).map(([account, leg]) => ({ kind: 'booking', facts: { what, account, units: leg } }))
  const part = [
    ...legs('mispayment', { payer_clearing: '10123456', suspense: '-10123456' }),
    ...legs('late_accept', { suspense: '10123456', payer_clearing: '-10123456' }),
    ...legs('payment', {
      payer_clearing: '12123456',
      company_payable: '-9984765',
      fees: '-138691',
      suspense: '-2000000',
    }),
    ...legs('refund', { company_payable: '4000000', refunds: '-4000000' }),
  ]
  const paid = { paid: '10.123456', fee: '0.138691' }
  assert.deepEqual(paidIn(part), { ...paid, refunded: '4.000000', lost: '0.000000', net: '5.984765' })
  assert.equal(paidIn(part.slice(0, 4)), null)
  const dropped = [...part, ...legs('refund_dropped', { refunds: '4000000', company_payable: '-4000000' })]
  assert.deepEqual(paidIn(dropped), { ...paid, refunded: '0.000000', lost: '0.000000', net: '9.984765' })
  const borne = [...dropped, ...legs('loss_borne', { company_payable: '10123456', suspense: '-10123456' })]
  assert.deepEqual(paidIn(borne), { ...paid, refunded: '0.000000', lost: '10.123456', net: '-0.138691' })
})
