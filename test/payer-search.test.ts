import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
import { sql } from '../src/db/db.ts'
import type { UserRole } from '../src/http/actor.ts'
import { openVault, type Vault } from '../src/kernel/vault.ts'
import { listOrders, withLookUp } from '../src/orders/order-list-queries.ts'
import { openSearchKeys, sealPayer } from '../src/payers/payer-seal.ts'
import { keyPayers } from '../src/payers/payer-search.ts'
import { resealPayers } from '../src/payers/payer-service.ts'
import { type Client, logIn, logInSuperAdmin, newEmail, passwordHash } from './harness/accounts.ts'
import { insertPerson } from './harness/office-world.ts'
import { NO_FILTER, PAGE, scopeOf } from './harness/order-lists.ts'
import { type Answer, type Merchant, startTestService, TEST_MASTER_KEY, type TestService } from './harness/service.ts'
import { recordWork } from './harness/statement-companies.ts'

/* Orders are found by the payer's e-mail, which is sealed: by whoever may read it, and never without a trace. */

let host: TestService
let merchant: Merchant
let other: Merchant
let boss: Client
let admin: Client
const log = pino({ level: 'silent' })

type Page = { orders: { code: string }[]; total: number; nextCursor: string | null; complete: boolean }
type Made = { code: string; _id: string }

const LOGINS: Partial<Record<UserRole, string>> = { Service: 'auth/login', SimpleUser: 'auth/login' }

async function enter(role: UserRole, companyId = merchant.companyId): Promise<Client> {
  const { email, id } = await insertPerson(host.db, role, companyId, await passwordHash())
  const client = await logIn(host.baseUrl, email, LOGINS[role])
  if (role === 'SuperManager')
    await host.db.run(sql`insert into super_manager_companies (user_id, company_id) values (${id}, ${companyId})`)
  return client
}

before(async () => {
  host = await startTestService({ workers: true })
  merchant = await host.createMerchant()
  other = await host.createMerchant()
  boss = await enter('Manager')
  admin = await logInSuperAdmin(host)
})
after(() => host?.stop())

const save = (code: string, email: string, as = merchant) => host.call('POST', `email/${code}`, { as, body: { email } })

async function create(email?: string, as = merchant, more: object = {}): Promise<Made> {
  const body = { amount: 5, fromAsset: 'EUR', merchantIdentifier: 'TILL-1', ...more }
  const { data } = await host.call<{ order: Made }>('POST', 'request', { as, body })
  if (email !== undefined) assert.equal((await save(data.order.code, email, as)).status, 200)
  return data.order
}

const ask = (by: Client, payerEmail: string, more: object = {}): Promise<Answer<Page>> =>
  by.post<Page>('confirm_conversion/search', { payerEmail, ...more })

async function find(by: Client, email: string, more: object = {}): Promise<string[]> {
  const { status, data, text } = await ask(by, email, more)
  assert.equal(status, 200, text)
  assert.deepEqual([data.total, data.complete], [data.orders.length, true], 'the total is that of the list')
  return data.orders.map(({ code }) => code)
}

test('an order is found by the whole e-mail of its payer, however it is spelled', async () => {
  const email = newEmail('jane')
  const [first, second] = [await create(email), await create(email.toUpperCase(), merchant, { alias: `A-${email}` })]
  await create(newEmail('jane'))
  for (const text of [email, email.toUpperCase()])
    assert.deepEqual(await find(boss, text), [second.code, first.code], text)
  assert.deepEqual(await find(boss, email, { status: ['PAID'] }), [])
  assert.deepEqual(await find(boss, email, { sort: 'createdAt' }), [first.code, second.code])
  // the domain as people write it, and as browsers send it
  const umlaut = await create('max@bücher.example')
  assert.deepEqual(await find(boss, 'Max@xn--bcher-kva.example'), [umlaut.code])
  for (const part of [email.slice(1), email.replace('.example', '.exampl'), newEmail()])
    assert.deepEqual(await find(boss, part), [], part)
})

test('what is no e-mail address is refused, and none is no search for everyone', async () => {
  for (const text of ['jane', 'jane@', '%', "jane@example.com' or true --", `${'a'.repeat(320)}@example.com`]) {
    const { status, error } = await ask(boss, text)
    assert.deepEqual([status, error.details?.[0]?.path], [422, 'payerEmail'], text)
  }
  for (const body of [{}, { payerEmail: '' }, { payerEmail: null }])
    assert.equal((await boss.post('confirm_conversion/search', body)).status, 422)
})

test('another company’s orders never appear; an operator sees those of its companies, or of the one it names', async () => {
  const email = newEmail('both')
  const [ours, theirs] = [await create(email), await create(email, other)]
  assert.deepEqual(await find(boss, email), [ours.code])
  assert.deepEqual(await find(boss, email, { companyId: other.companyId }), [])
  assert.deepEqual(await find(admin, email), [theirs.code, ours.code])
  assert.deepEqual(await find(admin, email, { companyId: other.companyId }), [theirs.code])
  const attached = await enter('SuperManager')
  assert.deepEqual(await find(attached, email), [ours.code])
  assert.deepEqual(await find(attached, email, { companyId: other.companyId }), [])
})

test('who may not read payer information may not find orders by it, and is told what is missing', async () => {
  const email = newEmail('secret')
  await create(email)
  for (const role of ['Cashier', 'Observer', 'Service', 'SimpleUser'] as const) {
    const client = await enter(role)
    const { status, error } = await ask(client, email)
    assert.deepEqual([status, error.code], [403, 'FORBIDDEN'], role)
    assert.match(error.message, new RegExp(`The role ${role} may not do this. It needs one of: SuperAdmin, `))
    assert.equal((await client.get('confirm_conversion')).status, 200, 'the list itself stays open')
  }
  const body = { payerEmail: email }
  const { status, error } = await host.call('POST', 'search', { as: merchant, body })
  assert.equal(status, 403)
  assert.match(error.message, /API keys may not do this; log in instead\.$/)
  assert.equal((await fetch(`${host.baseUrl}/api/next/confirm_conversion/search`, { method: 'POST' })).status, 401)
})

test('after a change of the e-mail only the new one finds the order, and after the erasure none', async () => {
  const [old, next] = [newEmail('old'), newEmail('next')]
  const { code, _id } = await create(old)
  await save(code, next)
  assert.deepEqual([await find(boss, old), await find(boss, next)], [[], [code]])
  const name = { code, payerInformation: { firstName: 'Jane' } }
  assert.equal((await boss.post('confirm_conversion/payer-information', name)).status, 200)
  assert.deepEqual(await find(boss, next), [code])
  await boss.call('DELETE', `confirm_conversion/payer-information/${code}`)
  assert.deepEqual(await find(boss, next), [])
  assert.deepEqual(await host.db.many(sql`select 1 as row from payer_information where order_id = ${_id}`), [])
})

type Entry = { actor: string; companyId: string | null; detail: Record<string, unknown> }
const entriesSince = (seq: bigint): Promise<Entry[]> =>
  host.db.many<Entry>(sql`
    select actor, company_id, detail from audit_log where action = 'payer.search' and seq > ${seq} order by seq`)
const newestEntry = async (): Promise<bigint> =>
  (await host.db.one<{ seq: bigint }>(sql`select coalesce(max(seq), 0) as seq from audit_log`)).seq

test('each search is in the audit log: who, where, how many were found, and nowhere the e-mail', async () => {
  const email = newEmail('traced')
  await create(email)
  await create(email, other)
  const seq = await newestEntry()
  await find(boss, email)
  await find(boss, newEmail('nobody'))
  await find(admin, email)
  await find(admin, newEmail('nobody'))
  assert.equal((await host.call('POST', 'search', { as: merchant, body: { payerEmail: email } })).status, 403)
  const [user, operator] = [`user:${boss.userId}`, `user:${admin.userId}`]
  const { companyId } = merchant
  const entries = await entriesSince(seq)
  const shown = entries.map(({ detail, ...entry }) => ({ ...entry, detail: JSON.parse(String(detail)) }))
  assert.deepEqual(shown, [
    { actor: user, companyId, detail: { found: 1 } },
    { actor: user, companyId, detail: { found: 0 } },
    // each company sees that the operator found its order
    ...[companyId, other.companyId].sort().map((one) => ({ actor: operator, companyId: one, detail: { found: 1 } })),
    { actor: operator, companyId: null, detail: { found: 0, companies: 'all' } },
  ])
  const kept = await host.db.one<{ text: string }>(sql`select json_agg(a)::text as text from audit_log a`)
  const [local = ''] = email.split('@')
  for (const place of [kept.text, host.logLines.join('')]) assert.equal(place.includes(local), false)
  const keys = openSearchKeys(host.vault)(email)
  for (const key of keys) assert.equal(kept.text.includes(key), false, 'it would outlive the erasure')
})

test('a search whose session has ended finds nothing, also on a node that does not know it yet', async () => {
  const email = newEmail('late')
  await create(email)
  const gone = await enter('Manager')
  assert.equal((await find(gone, email)).length, 1)
  await host.db.run(sql`update sessions set revoked_at = now() where user_id = ${gone.userId}`)
  const { status, text } = await ask(gone, email)
  assert.deepEqual([status, text.includes('"code"') && text.includes('UNAUTHORIZED')], [401, true])
})

/** As a node of the version before writes it. */
const saveAsBefore = (vault: Vault, { _id }: Made, payer: object, at = sql`now()`) =>
  host.db.run(sql`
    insert into payer_information (company_id, order_id, sealed, updated_at)
    values (${merchant.companyId}, ${_id}, ${vault.seal(JSON.stringify(payer), `order:${_id}:payer`)}, ${at})
    on conflict (company_id, order_id) do update set sealed = excluded.sealed, updated_at = excluded.updated_at`)

const countUnkeyed = async (): Promise<number> =>
  (
    await host.db.one<{ rows: number }>(sql`
      select count(*)::integer as rows from payer_information where keyed_for is distinct from split_part(sealed, '.', 3)`)
  ).rows

test('a key that an older node left beside another e-mail is not believed, and the job keys it again', async () => {
  const [old, next] = [newEmail('stale'), newEmail('fresh')]
  const [order, silent] = [await create(old), await create()]
  // in the same millisecond, so that times would not tell them apart
  await saveAsBefore(
    host.vault,
    order,
    { email: next },
    sql`(select updated_at from payer_information where order_id = ${order._id})`,
  )
  await saveAsBefore(host.vault, silent, { firstName: 'No e-mail' })
  for (const email of [old, next]) {
    const { data } = await ask(boss, email)
    assert.deepEqual([data.orders, data.complete], [[], false], 'and the answer says that some are not found yet')
  }
  assert.equal(await countUnkeyed(), 2)
  // two nodes at once: what one has done is not left for the other
  const keyed = await Promise.all([keyPayers({ ...host, log }), keyPayers({ ...host, log })])
  assert.ok(keyed[0] + keyed[1] >= 2, keyed.join())
  assert.deepEqual([await find(boss, old), await find(boss, next)], [[], [order.code]])
  assert.deepEqual([await keyPayers({ ...host, log }), await countUnkeyed()], [0, 0])
})

test('an e-mail that is replaced while the one before is being keyed is found, and the one before is not', async () => {
  const [old, next] = [newEmail('keyed'), newEmail('saved')]
  const order = await create()
  await saveAsBefore(host.vault, order, { email: old })
  const { db } = host
  const slow: typeof db = {
    ...db,
    async run(statement) {
      await saveAsBefore(host.vault, order, { email: next })
      return db.run(statement)
    },
  }
  assert.equal(await keyPayers({ ...host, db: slow, log }), 1)
  assert.deepEqual((await ask(boss, old)).data.orders, [])
  assert.equal(await keyPayers({ ...host, log }), 1)
  assert.deepEqual([await find(boss, old), await find(boss, next)], [[], [order.code]])
})

test('what cannot be read keeps nobody else from being keyed; what an unknown key sealed waits for that key', async () => {
  const [broken, foreign, sound] = [await create(), await create(), await create()]
  const email = newEmail('sound')
  const unknown = openVault(Buffer.alloc(32, 3))
  await saveAsBefore(unknown, foreign, { email }, sql`now() - interval '2 hours'`)
  await saveAsBefore(host.vault, broken, { email }, sql`now() - interval '1 hour'`)
  await host.db.run(sql`update payer_information set sealed = sealed || 'AAAA' where order_id = ${broken._id}`)
  await saveAsBefore(host.vault, sound, { email })
  const lines: string[] = []
  const told = pino({}, { write: (line: string) => void lines.push(line) })
  assert.equal(await keyPayers({ ...host, log: told }), 2)
  assert.equal(await keyPayers({ ...host, log: told }), 0)
  assert.equal(lines.filter((line) => line.includes(broken._id)).length, 1)
  const { data } = await ask(boss, email)
  assert.deepEqual([data.orders.map(({ code }) => code), data.complete], [[sound.code], false])
  const vault = openVault(TEST_MASTER_KEY, [Buffer.alloc(32, 3)])
  assert.equal(await keyPayers({ db: host.db, vault, log }), 1)
  await host.db.run(sql`delete from payer_information where order_id = any(${[broken._id, foreign._id]})`)
})

test('a new master key finds what the old one keyed, before and after it is sealed again, and then needs no old one', async () => {
  const email = newEmail('rotated')
  const order = await create(email)
  const key = Buffer.alloc(32, 9)
  const [rotating, done] = [openVault(key, [TEST_MASTER_KEY]), openVault(key)]
  const scope = scopeOf(merchant.companyId)
  const findBy = async (vault: Vault): Promise<string[]> => {
    const payer = { keys: openSearchKeys(vault)(email), codes: null }
    const filter = await withLookUp(host.db, scope, { ...NO_FILTER, payer })
    return (await listOrders(host.db, scope, filter, PAGE)).map(({ code }) => code)
  }
  const seen = async () => [(await findBy(rotating)).length, (await findBy(done)).length]
  assert.deepEqual(await seen(), [1, 0])
  while ((await resealPayers({ db: host.db, vault: rotating })) > 0);
  assert.deepEqual([await seen(), await countUnkeyed()], [[1, 1], 0])
  // a node that still has the old key, and one of the version before, write during the change
  await host.db.run(sql`update payer_information set sealed = ${sealPayer(host.vault, order._id, textOf(email)).sealed}
    where order_id = ${order._id}`)
  assert.deepEqual(await seen(), [0, 0])
  await keyPayers({ db: host.db, vault: rotating, log })
  assert.deepEqual(await seen(), [1, 0], 'keyed as it is sealed')
  // the older version seals again too, without a key of its own
  const sealed = rotating.seal(textOf(email), `order:${order._id}:payer`)
  await host.db.run(sql`update payer_information set sealed = ${sealed} where order_id = ${order._id}`)
  await keyPayers({ db: host.db, vault: rotating, log })
  assert.deepEqual(await seen(), [1, 1])
  await host.db.run(sql`delete from payer_information where left(sealed, 12) = ${rotating.sealPrefix}`)
})

const textOf = (email: string): string => JSON.stringify({ email })

/** So many orders of one payer, and as many of others, the newest last. */
async function insertMany(email: string, count: number): Promise<void> {
  const [key = ''] = openSearchKeys(host.vault)(email)
  await host.db.run(sql`
    with made as (
      insert into orders (company_id, id, code, short_code, status, from_asset, from_units, to_asset, to_units, rate, quote_id,
        created_at, updated_at, expires_at)
      select ${merchant.companyId}, id, id, '~' || id, 'PAID', 'EUR', n, 'USDC', n, 1, 'q', now(), now(), now()
      from generate_series(1, ${2 * count}::integer) n, lateral (select lpad(to_hex(n), 24, '0') as id) as each
      returning company_id, id, from_units
    )
    insert into payer_information (company_id, order_id, sealed, email_key, keyed_for, updated_at)
    select company_id, id, 's1.' || left(md5(id), 8) || '.' || md5(id) || '.', case when from_units % 2 = 0 then ${key} else md5(id) end,
      md5(id), now() from made`)
}

test('a payer with many orders is paged through, each order once, by page and by cursor, in every order', async () => {
  const email = newEmail('regular')
  await insertMany(email, 250)
  for (const sort of ['-createdAt', 'createdAt', '-fromAmount', 'toAmount']) {
    const [paged, cursored]: [string[], string[]] = [[], []]
    let cursor = ''
    for (let page = 1; page <= 3; page += 1) {
      const { data } = await ask(boss, email, { limit: 100, sort, page })
      assert.equal(data.total, 250)
      paged.push(...data.orders.map(({ code }) => code))
      const next = await ask(boss, email, { limit: 100, sort, ...(cursor && { cursor }) })
      cursored.push(...next.data.orders.map(({ code }) => code))
      cursor = next.data.nextCursor ?? ''
    }
    const expected = Array.from({ length: 250 }, (_, index) => ((index + 1) * 2).toString(16).padStart(24, '0'))
    assert.deepEqual(paged, sort.startsWith('-') ? expected.toReversed() : expected, sort)
    assert.deepEqual([cursored, cursor], [paged, ''], sort)
  }
  assert.equal((await ask(boss, email, { status: ['INITIAL'] })).data.total, 0)
})

test('a search reads the payer’s rows and orders, not the company’s, by indices alone', async () => {
  const email = newEmail('one')
  const { code } = await create(email)
  await host.db.run(sql`vacuum analyze orders`)
  await host.db.run(sql`vacuum analyze payer_information`)
  const { db } = host
  const reads = (
    name: string,
  ) => sql`(select (pg_stat_get_xact_tuples_fetched(oid) + pg_stat_get_xact_tuples_returned(oid))
    ::integer from pg_class where oid = ${name}::regclass)`
  for (const companyIds of [[merchant.companyId], [merchant.companyId, other.companyId], null]) {
    const read = await db.tx(async (tx) => {
      await tx.run(sql`set local plan_cache_mode = auto`)
      const counts = () =>
        tx.one<{ rows: number }>(sql`select ${reads('orders')} + ${reads('payer_information')} as rows`)
      const before = (await counts()).rows
      const scope = { ...scopeOf(''), companyIds }
      const payer = { keys: openSearchKeys(host.vault)(email), codes: null }
      const filter = await withLookUp(tx, scope, { ...NO_FILTER, payer })
      assert.deepEqual(
        (await listOrders(tx, scope, filter, PAGE)).map((order) => order.code),
        [code],
      )
      return (await counts()).rows - before
    })
    assert.ok(read < 10, `${companyIds}: ${read}`)
  }
})

test('orders without an e-mail cost no statement more: creating and listing them touches nothing of payers', async () => {
  const recording = recordWork()
  await create()
  assert.equal((await boss.get('confirm_conversion')).status, 200)
  recording.stop()
  const texts = recording.works.flatMap((work) => work.texts)
  assert.ok(texts.some((text) => text.includes('orders')))
  assert.deepEqual(
    texts.filter((text) => text.includes('payer_information')),
    [],
  )
})

test('fifty searches at once are answered, and each is in the audit log', async () => {
  const email = newEmail('rush')
  const { code } = await create(email)
  const seq = await newestEntry()
  const answers = await Promise.all(Array.from({ length: 50 }, () => find(boss, email)))
  assert.ok(answers.every((codes) => codes.length === 1 && codes[0] === code))
  assert.equal((await entriesSince(seq)).length, 50)
})
