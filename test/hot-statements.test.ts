import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { waitFor } from './harness/receiver.ts'
import { callService, eventually, type Merchant } from './harness/service.ts'
import { openShop, type Shop } from './harness/shop.ts'
import { recordWork, type Touch, touchesOf, type Work } from './harness/statement-companies.ts'

/*
 * Two shops create, read, list, are paid, catch up on events and look at their deliveries, at the same time. What the
 * service really sends to PostgreSQL meanwhile names one company, or stands here with the reason why not.
 */
const guide = readFileSync(join(import.meta.dirname, '../docs/scaling.md'), 'utf8')
const section = guide.split(/^### /m).find((part) => part.startsWith('Distributed by company')) ?? ''
const lines = section.split('\n').filter((line) => line.startsWith('`'))
const distributed = new Set(lines.flatMap((line) => [...line.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)))

/** Statements that go further than one company, by a part of their text. */
const EXCEPTIONS: [part: RegExp, reason: string][] = [
  // each row brings its company, and tables are joined on it
  [/^with input as \( select f\[1\]::text as company_id/, 'creations that arrive together, each with its company'],
  [/^insert into request_log .* string_to_array/, 'the log of requests that were answered together'],
  [/as i \(company_id, id, order_id, event, refund_id/, 'the deliveries of one transaction'],
  [/as i \(company_id, delivery_id, series, epoch/, 'outcomes of attempts that ended together'],
  [
    /unnest\(\$1::text\[\], \$2::text\[\]\) as k \(company_id, id\) join delivery_attempts/,
    'attempts of listed deliveries',
  ],
  [/with started as \( insert into delivery_due/, 'redeliveries of one request'],
  [/from payments as p join unnest\(.*\) as o \(company_id, id\)/, 'the addresses of orders that end together'],
  [/insert into ledger_entries .* journal/, 'entries take the company of their journal, which is a parameter'],
  // the caller's companies: one, unless it is a person of the operator
  [/company_id = any ?\(\$\d+(::text\[\])?\)/, 'lists of a person who works in several companies'],
  // a key that carries its company
  [
    /from orders where code = (\$1|any\(\$1::text\[\]\))( for update)?$/,
    'a code is random and unique; whoever opens a pay page knows nothing else',
  ],
  [/from payments where deposit_address (= any|in \()/, 'a transfer names an address; its payment names the company'],
  [/^insert into unmatched_transfers .* from chain_transfers/, 'transfers that match no payment, once a scan'],
  [
    /^select t\.tx_hash, t\.to_address from chain_transfers t .* unmatched_transfers/,
    'transfers that came before their order had the address, once a scan',
  ],
  // workers, not requests: an index on the time finds what is due, whosever it is
  [/where t\.next_check_at <= \$\d+/, 'the poll of what had no final answer'],
  [/where t\.next_check_at > \$\d+/, 'the same poll’s rows that a clock put off too far, every five minutes'],
  [/from orders where status in \('INITIAL', 'PENDING', 'AWAITING'\) and expires_at <= \$1/, 'the poll of expiries'],
  [/^with h as materialized .* from sale_mails s/, 'the poll of people who get a mail for each sale'],
  [/^select company_id, sum\(mispayments\)/, 'the hourly look at what waits for people, for one mail a day'],
  [/from link_mails where remind_at <= /, 'the poll of payers to remind'],
  [/^with recursive owners as/, 'the poll of lanes with due deliveries, of one company after the other'],
  [/^with due as \( select company_id, id from order_count_changes/, 'the poll that adds up the counters of orders'],
  [/from payments as p where p\.deposit_address is not null and p\.audited_at is null/, 'the poll of paid addresses'],
  [
    /from chain_transfers t cross join lateral \( select \* from deposit_res/,
    'transfers to a shared address, once a scan',
  ],
  [
    /^update payments set audited_at = \$1 where \(company_id, id\) in \(select \* from unnest/,
    'the same poll’s result',
  ],
  [/^with recursive asked as/, 'the contracts that payers were asked for, some steps in an index, once a scan'],
  [/select count\(\*\)::integer as due/, 'the poll that measures the queue'],
  [/due\.\* from \(select\) one left join/, 'the poll of due deliveries; nodes that own buckets divide the companies'],
  [/from delivery_due d where d\.crashes > 0/, 'the poll of deliveries that were interrupted, of which there are few'],
  [/^with locked as materialized \( select d\.ctid/, 'the claim of what that poll found'],
  [/cross join lateral \( select d\.ctid as place/, 'the poll of lanes whose turn it is'],
  [/^select id from companies c where exists/, 'the hourly check of all books'],
  [/_default\b/, 'the hourly upkeep of partitions'],
]

const oneLine = (text: string): string => text.replaceAll(/--.*$/gm, '').replaceAll(/\s+/g, ' ').trim()
const isPlanned = (text: string): boolean => /^(select|insert|update|delete|with)\b/.test(text)

let shop: Shop
let other: Merchant
let works: Work[]

async function sell(merchant: Merchant): Promise<void> {
  const { host, chain, receiver } = shop
  const call = <Data>(method: string, path: string, body?: object) =>
    callService<Data>(host.baseUrl, method, path, {
      ...{ as: merchant, headers: { 'idempotency-key': crypto.randomUUID() } },
      ...(body && { body }),
    })
  const alias = `INV-${merchant.companyId}`
  const webhookUrl = `${receiver.url}/${merchant.companyId}`
  const order = { amount: 50, fromAsset: 'EUR', merchantIdentifier: 'TILL-1', webhookUrl, alias }
  const { data } = await call<{ code: string }>('POST', 'request', order)
  await Promise.all([1, 2, 3, 4].map(() => call('POST', 'request', { ...order, alias: null })))
  for (const path of [`status/${data.code}`, `status/order/${alias}`, 'links', '/api/next/events?limit=10'])
    assert.equal((await call('GET', path)).status, 200, path)
  const past = `from=2020-01-01T00:00:00Z&to=${new Date().toISOString()}`
  for (const query of ['', 'status=PAID&limit=5', 'search=INV', 'search=50.00', past])
    assert.equal((await call('GET', `?${query}`)).status, 200, query)
  type Instructions = { toAddress: string; tokenAmount: string }
  const accepted = await call<Instructions>('POST', `accept/${data.code}`, { paymentChannel: 'crypto' })
  const { toAddress: to, tokenAmount } = accepted.data
  await chain.pay({ to, units: BigInt(tokenAmount.replace('.', '')) })
  // the blocks of the other sale may make this payment final at once
  const status = async () => (await call<{ status: string }>('GET', `status/${data.code}`)).data.status
  await eventually(status, (seen) => seen === 'WAITING_CHAIN_CONFIRMATION' || seen === 'PAID')
  await shop.makeFinal()
  await shop.reaches(data.code, 'PAID')
  assert.equal((await call('POST', `confirm/${data.code}`)).status, 200)
  await waitFor('the webhook', () => receiver.at(`/${merchant.companyId}`).some(({ body }) => body.includes('PAID')))
  assert.equal((await call('GET', '/api/next/webhook-addresses')).status, 200)
  type Deliveries = { deliveries: { id: string }[] }
  const look = async () => (await call<Deliveries>('GET', '/api/next/webhook-deliveries?status=delivered')).data
  const [first] = (await eventually(look, ({ deliveries }) => deliveries.length > 0)).deliveries
  assert.equal((await call('GET', `/api/next/webhook-deliveries/${first?.id}`)).status, 200)
  assert.equal((await call('POST', `/api/next/webhook-deliveries/${first?.id}/redeliver`)).status, 200)
}

before(async () => {
  shop = await openShop({ allEvents: true })
  other = await shop.host.createMerchant()
  const recording = recordWork()
  await Promise.all([shop.merchant, other].map(sell))
  recording.stop()
  works = recording.works
})
after(() => shop?.stop())

test('every statement of creating, reading, listing, paying, events and deliveries names one company', async () => {
  const texts = new Set(works.flatMap((work) => work.texts).map(oneLine))
  const used = new Set<RegExp>()
  const wide: string[] = []
  let narrow = 0
  for (const text of [...texts].filter(isPlanned)) {
    const touches = await touchesOf(shop.host.db, text, distributed)
    if (touches.every(({ reach }) => reach === 'one')) narrow += Math.sign(touches.length)
    else {
      const exception = EXCEPTIONS.find(([part]) => part.test(text))
      if (exception) used.add(exception[0])
      else wide.push(`${touches.map(({ table, reach }: Touch) => `${table}: ${reach}`).join(', ')} in ${text}`)
    }
  }
  assert.deepEqual(wide, [])
  assert.ok(narrow > 30, `${narrow} statements name one company`)
  // what runs once an hour may not run here
  const unused = EXCEPTIONS.filter(([part, reason]) => !used.has(part) && !/hourly|poll|together$|scan$/.test(reason))
  assert.deepEqual(unused, [], 'an exception that is not needed')
})

test('no transaction writes for two companies', () => {
  const both = works.filter(
    ({ texts, values }) =>
      texts.length > 1 && [shop.merchant, other].every(({ companyId }) => values.includes(companyId)),
  )
  assert.deepEqual(
    both.map(({ texts }) => texts.map(oneLine)),
    [],
  )
  const open = works.filter(({ texts }) => /^begin/.test(texts[0] ?? ''))
  for (const { companyId } of [shop.merchant, other])
    assert.ok(open.filter(({ values }) => values.includes(companyId)).length > 5, 'its transactions were seen')
})
