import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { getAddress } from 'viem/utils'
import { sql } from '../src/db/db.ts'
import { type Client, openCompany } from './harness/accounts.ts'
import { bareEnv } from './harness/bare-env.ts'
import { payoutEnv } from './harness/refunds.ts'
import { eventually, TEST_MASTER_KEY } from './harness/service.ts'
import { chainEnv, FINAL_AFTER, type Instructions, type OrderData, openShop, type Shop } from './harness/shop.ts'

// a company names addresses of its wallet without a proof that they are its own

const MAIN = join(import.meta.dirname, '../bin/comptoir.cjs')
const folder = mkdtempSync(join(tmpdir(), 'comptoir-claims-'))
let shop: Shop
let keys: Record<string, string> = {}

type Company = { client: Client; id: string; till: string }
let mallory: Company
let alice: Company

async function found(): Promise<Company> {
  const { manager, companyId, till } = await openCompany(shop.host.baseUrl)
  return { client: manager, id: companyId, till }
}

before(async () => {
  const env: typeof payoutEnv = async (chain) => {
    keys = await payoutEnv(chain)
    return keys
  }
  shop = await openShop({ env })
  ;[mallory, alice] = [await found(), await found()]
})
after(async () => {
  await shop?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const newAddress = (): string => getAddress(`0x${randomBytes(20).toString('hex')}`)
const claim = ({ client }: Company, ...addresses: string[]) =>
  client.call('PUT', 'channel-accounts/crypto', { settings: { MODE: 'pool', ADDRESSES: addresses.join(',') } })
const give = ({ client }: Company) => client.call('DELETE', 'channel-accounts/crypto')
async function place({ client, till }: Company, more: Record<string, string> = {}) {
  const body = { amount: 50, fromAsset: 'EUR', merchantIdentifier: till }
  const { code } = (await client.post<{ order: OrderData }>('confirm_conversion/request', body)).data.order
  const accepted = await client.post<Instructions>(`confirm_conversion/accept/${code}`, {
    ...{ paymentChannel: 'crypto', ...more },
  })
  return { code, accepted }
}
async function release(...args: string[]): Promise<{ code: number; text: string }> {
  const env = {
    ...{ ...bareEnv(), DATA_DIR: folder, DATABASE_URL: shop.host.db.connectionString },
    ...{ MASTER_KEY: TEST_MASTER_KEY.toString('base64'), ...chainEnv(shop.chain), ...keys },
  }
  const all = [MAIN, 'admin', 'release-address', ...args]
  return promisify(execFile)(process.execPath, all, { env }).then(
    ({ stdout }) => ({ code: 0, text: stdout }),
    ({ code, stderr }: { code: number; stderr: string }) => ({ code, text: stderr }),
  )
}

test('a claim that no order used goes with the wallet: the address is its owner’s again, and is not watched', async () => {
  const [safe, payout, other] = [newAddress(), newAddress(), newAddress()]
  assert.equal((await claim(mallory, safe, payout, other)).status, 200)
  assert.equal((await claim(alice, safe)).status, 422)
  assert.equal((await claim(mallory, other)).status, 200)
  assert.equal((await claim(alice, safe)).status, 200)
  const settlement = { settlementAddress: payout, settlementNetwork: shop.chain.chainId }
  const saved = await alice.client.call('PUT', `companies/${alice.id}`, settlement)
  assert.equal(saved.status, 200, saved.text)
  assert.equal((await give(mallory)).status, 200)
  const { watched } = await shop.host.db.one<{ watched: string }>(sql`
    select count(*)::text as watched from deposit_addresses where company_id = ${mallory.id}`)
  assert.equal(watched, '0')
})

const isPaidOutAt = ({ client, id }: Company, settlementAddress: string) =>
  client.call('PUT', `companies/${id}`, { settlementAddress, settlementNetwork: shop.chain.chainId })

test('no address is both where a company is paid out and one of a wallet, whichever is named first, or both at once', async () => {
  const own = newAddress()
  assert.equal((await isPaidOutAt(alice, own)).status, 200)
  for (const MODE of ['pool', 'static']) {
    const settings = { MODE, ADDRESSES: own.toLowerCase() }
    const { status, error } = await alice.client.call('PUT', 'channel-accounts/crypto', { settings })
    assert.deepEqual([status, error.details?.[0]?.path], [422, 'settings.ADDRESSES'])
    assert.match(error.details?.[0]?.message ?? '', /receives your settlements.*change your settlement address first/)
  }
  for (const company of Array.from({ length: 6 }, () => [alice, mallory]).flat()) {
    const address = newAddress()
    const both = await Promise.all([claim(company, address), isPaidOutAt(alice, address)])
    assert.deepEqual(both.map(({ status }) => status).toSorted(), [200, 422], address)
  }
  for (const company of [alice, mallory]) assert.equal((await claim(company, newAddress())).status, 200)
})

test('of a wallet that was saved before, no order gets the address where settlements go, and the shop reads why', async () => {
  const settledTo = (address: string) =>
    shop.host.db.run(sql`update companies set settlement_address = ${address} where id = ${mallory.id}`)
  const [one, two] = [newAddress(), newAddress()]
  assert.equal((await claim(mallory, one, two)).status, 200)
  await settledTo(one)
  assert.equal((await place(mallory)).accepted.data.toAddress, two)
  const full = (await place(mallory)).accepted
  assert.match(
    full.error.message,
    /all 1 addresses of the shop serve open orders; not used, because settlements go there: 1/,
  )
  const settings = { MODE: 'static', ADDRESSES: newAddress() }
  assert.equal((await mallory.client.call('PUT', 'channel-accounts/crypto', { settings })).status, 200)
  assert.equal((await place(mallory)).accepted.status, 200)
  await settledTo(settings.ADDRESSES)
  const { accepted } = await place(mallory)
  assert.equal(accepted.error.code, 'CHANNEL_UNAVAILABLE', accepted.text)
  type Offers = { paymentChannel: string; available: boolean; reason: string | null }[]
  const { data } = await mallory.client.get<Offers>('channels')
  const crypto = data.find(({ paymentChannel }) => paymentChannel === 'crypto')
  assert.equal(crypto?.available, false)
  for (const words of [crypto?.reason, accepted.error.message])
    assert.match(words ?? '', /settlements go to the address of the shop’s wallet.*must give another address/)
})

test('a payer is not refused because a company named his wallet; an address that an order had stays', async () => {
  const [payer, used] = [newAddress(), newAddress()]
  assert.equal((await claim(mallory, payer)).status, 200)
  const { accepted } = await place(alice, { userAddress: payer })
  assert.equal(accepted.status, 200, accepted.text)
  assert.equal((await claim(mallory, used)).status, 200)
  assert.equal((await place(mallory)).accepted.data.toAddress, used)
  assert.equal((await give(mallory)).status, 200)
  assert.equal((await claim(alice, used)).status, 422, 'late money of that order comes there')
  const named = await place(alice, { userAddress: used })
  assert.equal(named.accepted.status, 422, named.accepted.text)
  await shop.host.db.run(sql`update deposit_reservations set until_at = now() where address = ${used.toLowerCase()}`)
  assert.equal((await give(alice)).status, 200)
  const later = await place(alice, { userAddress: used })
  assert.equal(later.accepted.status, 200, 'no payment can take money there any more')
})

test('the operator takes an address from a company: not while orders there are open, and knowing what was paid', async () => {
  const [squatted, paid] = [newAddress(), newAddress()]
  const by = ['--by', 'Olga', '--reason', 'its owner signed with it']
  assert.equal((await claim(mallory, squatted)).status, 200)
  const { code, accepted } = await place(mallory)
  assert.equal(accepted.data.toAddress, squatted)
  const open = await release('--address', squatted, ...by)
  assert.match(open.text, /1 open payments of company/)
  assert.equal((await mallory.client.post(`confirm_conversion/cancel/${code}`)).status, 200)
  // the job that closes it writes the time, too
  await eventually(
    () =>
      shop.host.db.one<{ status: string }>(
        sql`select status from payments where deposit_address = ${squatted.toLowerCase()}`,
      ),
    ({ status }) => status === 'closed',
  )
  await shop.host.db.run(sql`
    update payments set closed_at = now() - interval '2 hours', next_check_at = null
    where deposit_address = ${squatted.toLowerCase()}`)
  assert.equal((await release('--address', squatted)).code, 2)
  const done = await release('--address', squatted, ...by)
  assert.equal(done.code, 0, done.text)
  // its wallet still names it, and gets it no more
  assert.equal((await place(mallory)).accepted.status, 400)
  assert.equal((await claim(alice, squatted)).status, 200)
  const { detail } = await shop.host.db.one<{ detail: string }>(sql`
    select detail from audit_log where action = 'channel.address_released'`)
  assert.deepEqual(JSON.parse(detail), { address: squatted.toLowerCase(), by: 'Olga', reason: by[3] })
  assert.equal((await claim(mallory, squatted)).status, 422)
  const order = await place(alice)
  assert.equal(order.accepted.status, 200, order.accepted.text)
  await shop.chain.pay({ to: squatted, units: BigInt(order.accepted.data.tokenAmount.replace('.', '')) })
  await shop.chain.mine(FINAL_AFTER)
  const status = async () => (await shop.host.call<OrderData>('GET', `status/${order.code}`)).data.status
  await eventually(status, (seen) => seen === 'PAID')
  await shop.host.db.run(sql`
    update payments set status = 'closed', closed_at = now(), next_check_at = null
    where deposit_address = ${squatted.toLowerCase()}`)
  const used = await release('--address', squatted, ...by)
  assert.match(used.text, /1 payments of company .* were made there, of \d+\.\d+ USDC in all.*add --paid 1/)
  assert.equal((await release('--address', squatted, ...by, '--paid', '2')).code, 1)
  const proved = await release('--address', squatted, ...by, '--paid', '1')
  assert.equal(proved.code, 0, proved.text)
  assert.match((await release('--address', paid, ...by)).text, /no address that a company named/)
})
