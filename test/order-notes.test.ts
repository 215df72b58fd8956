import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import type { Actor, UserRole } from '../src/http/actor.ts'
import { checkPermission, listPermissions } from '../src/http/permissions.ts'
import { openVault } from '../src/kernel/vault.ts'
import { LONGEST_NOTE, MOST_NOTES, type Note, type NoteHead, resealNotes } from '../src/orders/notes/note-service.ts'
import { eraseNotesOlderThan } from '../src/orders/order-jobs.ts'
import { type Client, countStatuses, inParallel, type Person, register, registerManager } from './harness/accounts.ts'
import { type Merchant, startTestService, TEST_MASTER_KEY, type TestService } from './harness/service.ts'
import { TEST_XPUB } from './harness/shop.ts'

/* What staff write on an order for their colleagues. */

let host: TestService
let merchant: Merchant
let manager: Person
let cashier: Person

before(async () => {
  const env = {
    CHAIN_31337_RPC_URL: 'http://127.0.0.1:1',
    CHAIN_MAX_LAG_SECONDS: '86400',
    CHAIN_31337_USDC: '0x700b6A60ce7EaaEA56F065753d8dcB9653dbAD35',
    CHAIN_31337_XPUB: TEST_XPUB,
  }
  host = await startTestService({ env })
  merchant = await host.createMerchant()
  manager = await join('Manager', 'Maud')
  cashier = await join('Cashier', 'Carl')
})
after(() => host?.stop())

/** A person of the merchant's company; a cashier at its till. */
async function join(role: UserRole, firstName: string): Promise<Person> {
  const own = role === 'Manager' ? { companyName: 'X' } : { companyName: merchant.companyId }
  const person = await register(host.baseUrl, { role, firstName, ...(role === 'SimpleUser' ? {} : own) })
  if (role === 'SimpleUser') return person
  await host.db.run(sql`
    update users set company_id = ${merchant.companyId}, approved_at = now() where id = ${person.userId}`)
  if (role === 'Cashier')
    await host.db.run(sql`
      insert into collector_cashiers (collector_id, user_id) values (${merchant.collectorId}, ${person.userId})`)
  return person
}

async function create(as: Merchant = merchant): Promise<{ code: string; order: { _id: string } }> {
  const body = { amount: 50, fromAsset: 'EUR', merchantIdentifier: 'TILL-1' }
  return (await host.call<{ code: string; order: { _id: string } }>('POST', 'request', { as, body })).data
}

const path = (code: string): string => `confirm_conversion/notes/${code}`
const add = (client: Client, code: string, text: unknown, headers: Record<string, string> = {}) =>
  client.post<NoteHead>(path(code), { text }, headers)
const remove = (client: Client, code: string, id: string) => client.call('DELETE', `${path(code)}/${id}`)
const list = async (client: Client, code: string): Promise<Note[]> =>
  (await client.get<{ notes: Note[] }>(path(code))).data.notes
const textsOf = async (client: Client, code: string) => (await list(client, code)).map(({ text }) => text)

const audited = (orderId: string) =>
  host.db.many<{ actor: string; action: string; text: string; detail: Record<string, unknown> }>(sql`
    select actor, action, detail::text as text, detail::jsonb as detail from audit_log
    where object = ${`order:${orderId}`} and action like 'note.%' order by seq`)

test('staff write and read the notes of an order, newest first, each under the name of its author as it was', async () => {
  const { code } = await create()
  assert.equal((await add(manager.client, code, ' refund promised by Anna\r\nuntil Friday \n')).status, 200)
  await host.db.run(sql`update users set first_name = 'Renamed' where id = ${cashier.userId}`)
  const { data } = await add(cashier.client, code, 'called, comes on Friday')
  await host.db.run(sql`update users set first_name = 'Carl' where id = ${cashier.userId}`)
  assert.deepEqual(
    [data.author, data.authorName, 'text' in data],
    [`user:${cashier.userId}`, 'Renamed Beispiel', false],
  )
  const seen = await list(cashier.client, code)
  assert.deepEqual(
    seen.map(({ text, authorName, removable }) => [text, authorName, removable]),
    [
      ['called, comes on Friday', 'Renamed Beispiel', true],
      ['refund promised by Anna\nuntil Friday', 'Maud Beispiel', false],
    ],
  )
  assert.ok((await list(manager.client, code)).every(({ removable }) => removable))
})

test('whoever may not know the payer reads no note: an Observer, an API key, a till', async () => {
  const { code } = await create()
  const { data: note } = await add(manager.client, code, 'Ada called')
  const { client: observer } = await join('Observer', 'Olga')
  const asked = [observer.get(path(code)), add(observer, code, 'x'), remove(observer, code, note._id)]
  const byKey = [
    host.call('GET', `notes/${code}`, { as: merchant }),
    host.call('POST', `notes/${code}`, { as: merchant, body: { text: 'x' } }),
    host.call('DELETE', `notes/${code}/${note._id}`, { as: merchant }),
  ]
  for (const { status, error } of await Promise.all([...asked, ...byKey]))
    assert.deepEqual([status, error?.code], [403, 'FORBIDDEN'])
  const atTill = { kind: 'user', role: 'Cashier', valid: true, tillDeviceId: 'd' } as unknown as Actor
  assert.ok(listPermissions(atTill).includes('orders.list'))
  for (const row of ['notes.read', 'notes.write'] as const) {
    assert.ok(!listPermissions(atTill).includes(row))
    assert.throws(() => checkPermission(row, atTill, 0), /A till cannot do this/)
  }
  assert.deepEqual(await textsOf(manager.client, code), ['Ada called'])
})

test('another company’s order, an order of another till, and a note of another order are not found', async () => {
  const [{ code }, { code: second }] = [await create(), await create()]
  const { data: note } = await add(manager.client, code, 'a note')
  const stranger = await registerManager(host.baseUrl)
  const buyer = await join('SimpleUser', 'Ben')
  const refuses = async ({ client }: Person): Promise<void> => {
    const asked = [client.get(path(code)), add(client, code, 'x'), remove(client, code, note._id)]
    for (const { status, error } of await Promise.all(asked))
      assert.deepEqual([status, error?.code], [404, 'ORDER_NOT_FOUND'])
  }
  await refuses(stranger)
  await host.db.run(sql`update orders set collector_id = null where code = ${code}`)
  await refuses(cashier)
  // even of an order that is theirs, buyers see nothing of what the shop notes
  await host.db.run(sql`update orders set created_by = ${buyer.userId} where code = ${code}`)
  for (const answer of [await buyer.client.get(path(code)), await add(buyer.client, code, 'x')])
    assert.equal(answer.status, 403)
  for (const [at, id] of [
    [second, note._id],
    [code, '0'.repeat(24)],
  ] as const) {
    const answer = await remove(manager.client, at, id)
    assert.deepEqual([answer.status, answer.error.code], [404, 'OBJECT_NOT_FOUND'])
  }
  assert.deepEqual(await textsOf(manager.client, code), ['a note'])
})

test('a note sent twice under one key is one note, and what is stored for that holds no text', async () => {
  const { code } = await create()
  const key = { 'idempotency-key': `note-${code}` }
  const answers = await inParallel(10, () => add(cashier.client, code, 'only-once', key))
  const again = await add(cashier.client, code, 'only-once', key)
  assert.deepEqual([again.status, again.headers.get('idempotency-replayed')], [200, 'true'])
  assert.ok(answers.every(({ status }) => status === 200 || status === 409))
  assert.equal((await list(manager.client, code)).length, 1)
  assert.equal((await add(cashier.client, code, 'another', key)).error.code, 'IDEMPOTENCY_KEY_REUSED')
  const stored = await host.db.many(sql`select * from idempotency_keys where key = ${key['idempotency-key']}`)
  assert.doesNotMatch(JSON.stringify(stored), /only-once/)
  assert.deepEqual(await textsOf(manager.client, code), ['only-once'])
})

test('an order has so many notes at most, also when several are written at once; one is removed, one more fits', async () => {
  const { code, order } = await create()
  await add(manager.client, code, 'the first')
  await host.db.run(sql`
    insert into order_notes (company_id, order_id, id, sealed, author, author_name, created_at)
    select company_id, order_id, left(id, 20) || to_char(n, 'FM0000'), sealed, author, author_name, created_at
    from order_notes, generate_series(1, ${MOST_NOTES - 2}) as n where order_id = ${order._id}`)
  const answers = await inParallel(8, (index) => add(index % 2 ? manager.client : cashier.client, code, `n${index}`))
  assert.deepEqual(countStatuses(answers), { 200: 1, 409: 7 })
  const full = answers.find(({ status }) => status === 409)
  assert.match(full?.error.message ?? '', /^This order has 100 notes, and that is the most\. Remove one first\.$/)
  const notes = await list(manager.client, code)
  // what cannot be opened hides nothing else: the copies are bound to another row
  assert.deepEqual([notes.length, notes.filter(({ text }) => text !== null).length], [MOST_NOTES, 2])
  assert.equal((await remove(manager.client, code, notes.at(-1)?._id ?? '')).status, 200)
  assert.equal((await add(cashier.client, code, 'fits again')).status, 200)
})

test('any plain text is kept as it is, up to its length; control characters and turned writing are refused', async () => {
  const { code } = await create()
  const hostile = '<script>alert(1)</script> =1+1 https://evil.example \u2028 \u{1f468}\u200d\u{1f469} مرحبا'
  const longest = '🍵'.repeat(LONGEST_NOTE)
  for (const text of [hostile, ` ${longest}\n`]) assert.equal((await add(cashier.client, code, text)).status, 200)
  assert.deepEqual(await textsOf(cashier.client, code), [longest, hostile])
  const cases: [unknown, RegExp][] = [
    [`${longest}x`, /more than 2000 characters/],
    ['a\u0007b', /control characters/],
    ['a\tb', /control characters/],
    ['a\u009bb', /control characters/],
    ['pay \u202e123', /control characters/],
    [' \n\u200b ', /at least one character that people see/],
    ['', /required/],
    [undefined, /required/],
    [42, /string/],
  ]
  for (const [text, words] of cases) {
    const { status, error } = await add(cashier.client, code, text)
    assert.deepEqual([status, error?.details?.[0]?.path], [422, 'text'], JSON.stringify(text))
    assert.match(error.details?.[0]?.message ?? '', words)
  }
  const kept = await host.db.many<{ sealed: string }>(sql`
    select n.sealed from order_notes n join orders o on o.id = n.order_id where o.code = ${code}`)
  assert.ok(kept.length === 2 && kept.every(({ sealed }) => sealed.startsWith('s1.')))
  assert.doesNotMatch(host.logLines.join(''), /evil\.example/)
})

test('who wrote a note removes it, and a manager; nothing of the text stays, and the log says who did', async () => {
  const { code, order } = await create()
  const words = 'nothing-stays-of-this'
  const { data: ofManager } = await add(manager.client, code, words)
  const { data: ofCashier } = await add(cashier.client, code, `${words}-2`)
  const { data: another } = await add(cashier.client, code, `${words}-3`)
  const refused = await remove(cashier.client, code, ofManager._id)
  assert.deepEqual([refused.status, refused.error.code], [403, 'FORBIDDEN'])
  const twice = await inParallel(2, () => remove(cashier.client, code, ofCashier._id))
  assert.deepEqual(countStatuses(twice), { 200: 1, 404: 1 })
  for (const { _id } of [another, ofManager]) assert.equal((await remove(manager.client, code, _id)).status, 200)
  assert.deepEqual(await list(manager.client, code), [])
  const entries = await audited(order._id)
  const [by, from] = [`user:${manager.userId}`, `user:${cashier.userId}`]
  assert.deepEqual(
    entries.map(({ actor, action, detail }) => [actor, action, detail]),
    [
      [by, 'note.add', { note: ofManager._id }],
      [from, 'note.add', { note: ofCashier._id }],
      [from, 'note.add', { note: another._id }],
      [from, 'note.remove', { note: ofCashier._id, author: from }],
      [by, 'note.remove', { note: another._id, author: from }],
      [by, 'note.remove', { note: ofManager._id, author: by }],
    ],
  )
  assert.doesNotMatch(JSON.stringify(entries), new RegExp(words))
  assert.deepEqual(await host.db.many(sql`select id from order_notes where order_id = ${order._id}`), [])
})

test('no payer, file, event or history carries a note', async () => {
  const { code } = await create()
  const secret = 'for-colleagues-alone'
  assert.equal((await add(manager.client, code, secret)).status, 200)
  const { headers } = merchant
  const places = [
    [`/pay?code=${code}`],
    [`/api/next/confirm_conversion/status/${code}`],
    [`/api/next/confirm_conversion/status/${code}`, headers],
    [`/api/next/confirm_conversion/story/${code}`, headers],
    ['/api/next/confirm_conversion/download', headers],
    ['/api/next/events', headers],
  ] as const
  for (const [place, credential = {}] of places) {
    const answer = await fetch(`${host.baseUrl}${place}`, { headers: credential })
    const text = await answer.text()
    assert.equal(answer.status, 200, place)
    assert.ok(text.includes(code), place)
    assert.equal(text.includes(secret), false, place)
  }
  const bodies = await host.db.many(sql`select * from deliveries d join orders o on o.id = d.order_id`)
  assert.equal(JSON.stringify(bodies).includes(secret), false)
})

test('erasing the payer says how many notes remain, and erases none; those past the retention go', async () => {
  const { code, order } = await create()
  const erase = () =>
    manager.client.call<{ erased: boolean; notes: number }>('DELETE', `confirm_conversion/payer-information/${code}`)
  for (const text of ['Ada called', 'sent again']) await add(cashier.client, code, text)
  assert.deepEqual((await erase()).data, { erased: false, notes: 2 })
  const payer = { code, payerInformation: { firstName: 'Ada' } }
  assert.equal((await host.call('POST', 'payer-information', { as: merchant, body: payer })).status, 200)
  assert.deepEqual((await erase()).data, { erased: true, notes: 2 })
  const { detail } = await host.db.one<{ detail: Record<string, unknown> }>(sql`
    select detail::jsonb as detail from audit_log where object = ${`order:${order._id}`} and action = 'payer.erase'`)
  assert.equal(detail.notes, 2)
  const [newest, oldest] = await list(manager.client, code)
  await remove(manager.client, code, newest?._id ?? '')
  assert.deepEqual((await erase()).data, { erased: false, notes: 1 })
  await host.db.run(sql`update order_notes set created_at = now() - interval '31 days' where id = ${oldest?._id}`)
  await add(manager.client, code, 'young')
  assert.equal(await eraseNotesOlderThan({ db: host.db, clock: Date.now }, 32), 0)
  assert.equal(await eraseNotesOlderThan({ db: host.db, clock: Date.now }, 30), 1)
  assert.deepEqual(await textsOf(manager.client, code), ['young'])
})

test('after a change of the master key notes are sealed again, and one that no key opens holds up none', async () => {
  const { code, order } = await create()
  await add(manager.client, code, 'kept')
  await host.db.run(sql`
    insert into order_notes (company_id, order_id, id, sealed, author, created_at)
    values (${merchant.companyId}, ${order._id}, 'foreign', 's1.deadbeef.x.y', 'user:x', now())`)
  // ahead of all others, and more than one batch of them
  await host.db.run(sql`
    insert into order_notes (company_id, order_id, id, sealed, author, created_at)
    select company_id, order_id, '00000' || n, left(sealed, 12) || '.x.y', author, now()
    from order_notes, generate_series(1, 5) as n where order_id = ${order._id} and id <> 'foreign'`)
  const next = openVault(Buffer.alloc(32, 9), [TEST_MASTER_KEY])
  while ((await resealNotes({ db: host.db, vault: next }, 2)) > 0);
  const sealed = async (prefix: string) =>
    host.db.many(sql`select id from order_notes where order_id = ${order._id} and left(sealed, 12) = ${prefix}`)
  assert.deepEqual([(await sealed(host.vault.sealPrefix)).length, (await sealed(next.sealPrefix)).length], [5, 1])
  await host.db.run(sql`delete from order_notes where order_id = ${order._id} and id like '00000%'`)
  assert.deepEqual(await textsOf(manager.client, code), [null, null])
  const back = openVault(TEST_MASTER_KEY, [Buffer.alloc(32, 9)])
  while ((await resealNotes({ db: host.db, vault: back })) > 0);
  assert.deepEqual(await textsOf(manager.client, code), [null, 'kept'])
})
