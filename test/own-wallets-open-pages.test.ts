import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { getAddress } from 'viem/utils'
import { sql } from '../src/db/db.ts'
import { findOrderByCode } from '../src/orders/order-queries.ts'
import { POLL_MS } from '../src/pages/pay/live-updates.ts'
import { isShownUnread } from '../src/payments/accept/requote-queries.ts'
import { type Client, openCompany } from './harness/accounts.ts'
import { eventually } from './harness/service.ts'
import { type Instructions, type OrderData, openShop, type Shop } from './harness/shop.ts'

// a company’s wallet changes while pages that show an address of the one before are open

let shop: Shop
let manager: Client
let till: string

before(async () => {
  shop = await openShop()
  ;({ manager, till } = await openCompany(shop.host.baseUrl))
})
after(() => shop?.stop())

/** Whoever may have paid at an address that is shown no more reads so, and a wallet's script tells what it sent. */
const isToldOf = (page: string, to: string): boolean =>
  page.includes(`Do not send anything to ${to} (`) &&
  page.includes('do not pay again: contact') &&
  page.includes('&quot;closed&quot;:true')
const newAddress = (): string => getAddress(`0x${randomBytes(20).toString('hex')}`)
const asPool = (...addresses: string[]) => ({ MODE: 'pool', ADDRESSES: addresses.join(',') })
async function save(settings: Record<string, string>): Promise<void> {
  const saved = await manager.call('PUT', 'channel-accounts/crypto', { settings })
  assert.equal(saved.status, 200, saved.text)
}
async function place() {
  const body = { amount: 50, fromAsset: 'EUR', merchantIdentifier: till, alias: crypto.randomUUID() }
  const { code } = (await manager.post<{ order: OrderData }>('confirm_conversion/request', body)).data.order
  const { data, text } = await manager.post<Instructions>(`confirm_conversion/accept/${code}`, {
    paymentChannel: 'crypto',
  })
  assert.equal(data?.status, 'AWAITING', text)
  return { code, to: data.toAddress, units: BigInt(data.tokenAmount.replace('.', '')) }
}

/** A page that stays open: what its stream said, and the last state. */
async function watch(code: string) {
  const closing = new AbortController()
  const url = `${shop.host.config.payUrl}/pay/events?code=${code}`
  const answer = await fetch(url, { signal: closing.signal })
  let heard = ''
  const reading = (async () => {
    for await (const chunk of answer.body ?? []) heard += Buffer.from(chunk).toString()
  })().catch(() => {})
  const last = (): string => heard.slice(heard.lastIndexOf('event: state'))
  return {
    shows: (isRight: (state: string) => boolean, ms?: number) => eventually(async () => last(), isRight, ms),
    async close() {
      closing.abort()
      await reading
    },
  }
}

/** @returns saves these settings as another node does: this one hears nothing of it */
async function prepareElsewhere(settings: Record<string, string>, present: Record<string, string>) {
  await save(settings)
  const { sealed } = await shop.host.db.one<{ sealed: string }>(
    sql`select sealed from channel_accounts where channel = 'crypto'`,
  )
  await save(present)
  return () =>
    shop.host.db.run(sql`update channel_accounts set sealed = ${sealed}, updated_at = now() where channel = 'crypto'`)
}

for (const where of ['here', 'on another node'])
  test(`an open page stops asking for money at an address that is taken out of the wallet ${where}, also for the rest of a part`, async () => {
    const [before, also, now] = [newAddress(), newAddress(), newAddress()]
    const saveElsewhere = await prepareElsewhere(asPool(now), asPool(before, also))
    const [order, part] = [await place(), await place()]
    await shop.chain.pay({ to: part.to, units: part.units / 2n })
    const [page, other] = [await watch(order.code), await watch(part.code)]
    await page.shows((state) => state.includes(order.to.slice(-8)))
    await other.shows((state) => state.includes('id="amount"') && state.includes('Part of your payment'))
    // what is polled for the first time changes, and would refresh the page for another reason
    await shop.host.db.run(sql`update payments set next_check_at = now() where last_words is null`)
    await eventually(
      () => shop.host.db.many(sql`select 1 from payments where last_words is null`),
      ({ length }) => length === 0,
    )
    // the first look at an order is a change of its own
    await sleep(2 * POLL_MS)
    if (where === 'here') await save(asPool(now))
    else await saveElsewhere()
    // another node learns it at its next look
    const ms = where === 'here' ? 5000 : 40_000
    const isAsked = (state: string): boolean => state.includes('id="address"') || state.includes('ethereum:')
    await page.shows((state) => !isAsked(state) && state.includes('Choose how to pay') && isToldOf(state, order.to), ms)
    await other.shows((state) => !state.includes(part.to.slice(-8)) && !state.includes('id="amount"'))
    await Promise.all([page.close(), other.close()])
  })

test('a payer is not sent to a chain that was taken out of the settings, and gets no fresh rate for what it may hold', async () => {
  const { db, config } = shop.host
  const read = async (code: string) => (await fetch(`${config.payUrl}/pay?code=${code}`)).text()
  const gone = 1313161554
  await save(asPool(newAddress()))
  const [own, operators] = [await place(), await shop.createAwaiting()]
  for (const { code, to } of [own, { ...operators, to: operators.toAddress }]) {
    assert.ok((await read(code)).includes(`id="address"`), code)
    // as the settings with that chain stored it
    await db.run(sql`update payments set network = ${gone} where deposit_address = ${to.toLowerCase()}`)
    const shown = await read(code)
    assert.doesNotMatch(shown, /id="address"|ethereum:|class="code"|data-auto/)
    assert.ok(isToldOf(shown, to), shown)
    // while another node, with other settings, reads it
    for (const isLeased of [true, false]) {
      await db.run(sql`
        insert into chain_heads (chain_id, lease_owner, lease_until)
        values (${gone}, 'other', now() + make_interval(mins => ${isLeased ? 1 : -1}))
        on conflict (chain_id) do update set lease_until = excluded.lease_until`)
      const asked = await fetch(`${config.payUrl}/pay/read?network=${gone}`)
      const isRemoved = asked.ok && 'removed' in ((await asked.json()) as object)
      assert.deepEqual([isRemoved, (await read(code)).includes(`id="address"`)], [!isLeased, isLeased], code)
    }
    const end = sql`update orders set expires_at = now() - interval '1 second' where code = ${code}`
    await db.run(end)
    const { status } = await eventually(
      () => db.one<{ status: string }>(sql`select status from orders where code = ${code}`),
      (order) => order.status === 'EXPIRED',
    )
    const order = (await findOrderByCode(db, code)) ?? assert.fail(status)
    const chains = [shop.chain.chainId]
    assert.equal(await isShownUnread(db, order, chains), true)
    assert.doesNotMatch(await read(code), /name="requote"/)
    // it was read up to the order's end before it was taken out
    await db.run(sql`
      insert into chain_heads (chain_id, number, hash, block_at) values (${gone}, 7, '0x7', now())
      on conflict (chain_id) do update set block_at = excluded.block_at`)
    assert.equal(await isShownUnread(db, order, chains), false)
    assert.match(await read(code), /name="requote"/)
    assert.match(await read(code), new RegExp(`Do not send anything to ${to} `), 'before a fresh rate')
    await db.run(sql`delete from chain_heads where chain_id = ${gone}`)
  }
})

test('a payer whose shop has withdrawn its wallet reads where nothing is to be sent any more, in every language', async () => {
  await save(asPool(newAddress()))
  const { code, to } = await place()
  const removed = await manager.call('DELETE', 'channel-accounts/crypto')
  assert.equal(removed.status, 200, removed.text)
  const read = async (lang: string) => (await fetch(`${shop.host.config.payUrl}/pay?code=${code}&lang=${lang}`)).text()
  assert.ok(isToldOf(await read('en'), to))
  for (const lang of ['de', 'fr', 'es', 'it'])
    assert.match(await read(lang), new RegExp(`<p class="note goods">[^<]+${to}`))
})

test('the page of a wallet asks how far its chain has been read, and of one that is read no more gets that', async () => {
  const ask = (network: string) => fetch(`${shop.host.config.payUrl}/pay/read?network=${network}`)
  await shop.chain.mine()
  const head = sql`select number::int as block from chain_heads`
  const { block } = await eventually(
    () => shop.host.db.one<{ block: number | null }>(head),
    (found) => found.block !== null,
  )
  const answered = await eventually(
    () => ask(String(shop.chain.chainId)),
    ({ ok }) => ok,
  )
  const read = (await answered.json()) as { block: number; ageMs: number }
  assert.ok(read.block >= Number(block) && read.ageMs >= 0, JSON.stringify(read))
  assert.equal((await ask('1; drop')).ok, false)
  for (const other of ['424242', '1313161554', '9999999999'])
    assert.deepEqual(await (await ask(other)).json(), { removed: true }, other)
  // one that the settings named once; and while another node, with other settings, reads it
  const setLease = (minutes: number) =>
    shop.host.db.run(sql`
      insert into chain_heads (chain_id, number, hash, block_at, advanced_at, lease_owner, lease_until)
      values (424242, 7, '0x7', now(), now(), 'other', now() + make_interval(mins => ${minutes}))
      on conflict (chain_id) do update set lease_until = excluded.lease_until`)
  await setLease(-1)
  assert.deepEqual(await (await ask('424242')).json(), { removed: true })
  await setLease(1)
  assert.equal(((await (await ask('424242')).json()) as { block: number }).block, 7)
  // another node's turn, or a long queue after an outage
  const { cursor } = await shop.host.db.one<{ cursor: bigint }>(sql`
    insert into payment_chain_cursors as c (chain_id, after_change) values (${shop.chain.chainId}, 0)
    on conflict (chain_id) do update set after_change = c.after_change returning after_change as cursor`)
  await shop.host.db.run(sql`update chain_transfers set change = change + 1000000 where change = ${cursor}`)
  const answer = await ask(String(shop.chain.chainId))
  assert.equal(answer.ok, false, 'a transfer that no payment knows of yet')
})
