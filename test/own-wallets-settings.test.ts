import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { getAddress } from 'viem/utils'
import { accountContext } from '../src/channels/accounts.ts'
import { sql } from '../src/db/db.ts'
import { deriveAddress, parseXpub } from '../src/kernel/xpub.ts'
import { type Client, logIn, readMails, registerManager } from './harness/accounts.ts'
import { newTestXpub } from './harness/chain.ts'
import { eventually } from './harness/service.ts'
import { openShop, type Shop } from './harness/shop.ts'

let shop: Shop
let manager: Client
let companyId: string
let email: string

before(async () => {
  shop = await openShop()
  const person = await registerManager(shop.host.baseUrl)
  manager = await logIn(shop.host.baseUrl, person.email)
  companyId = person.companyId ?? ''
  email = person.email
})
after(() => shop?.stop())

const newAddress = (): string => getAddress(`0x${randomBytes(20).toString('hex')}`)
const save = (settings: Record<string, string>) => manager.call('PUT', 'channel-accounts/crypto', { settings })

test('a pool has up to a thousand addresses', async () => {
  const pool = (count: number) => Array.from({ length: count }, newAddress).join(', ')
  for (const count of [190, 1000]) {
    const saved = await save({ MODE: 'pool', ADDRESSES: pool(count) })
    assert.equal(saved.status, 200, saved.text)
  }
  const refused = await save({ MODE: 'pool', ADDRESSES: pool(1001) })
  assert.equal(refused.status, 422)
  assert.match(refused.error.details?.[0]?.message ?? '', /are at most 1000/)
})

test('where payers’ money went and goes now stands in the audit log and in the mail', async () => {
  const [ours, theirs] = [newAddress(), newAddress()]
  const key = newTestXpub()
  const chainId = String(shop.chain.chainId)
  assert.equal((await save({ MODE: 'static', ADDRESSES: ours })).status, 200)
  assert.equal((await save({ MODE: 'static', ADDRESSES: theirs, NETWORKS: chainId })).status, 200)
  assert.equal((await save({ MODE: 'xpub', XPUB: key })).status, 200)
  assert.equal((await manager.call('DELETE', 'channel-accounts/crypto')).status, 200)
  const rows = await shop.host.db.many<{ detail: string }>(sql`
    select detail from audit_log where company_id = ${companyId} and action like 'channel.account_%' order by seq`)
  const told = rows.slice(-3).map(({ detail }) => JSON.parse(detail))
  const xpub = `xpub ${parseXpub(key).id.slice(0, 16)}: ${deriveAddress(key, 0)} …`
  assert.deepEqual(
    told.map(({ before, after }) => [before, after]),
    [
      [`static: ${ours}`, `static: ${theirs} [${chainId}]`],
      [`static: ${theirs} [${chainId}]`, xpub],
      [xpub, null],
    ],
  )
  const isTold = (text: string) => text.includes(`Before: static: ${ours}. Now: static: ${theirs}`)
  await eventually(
    () => readMails(shop.host.baseUrl, email),
    (mails) => mails.some(({ text }) => isTold(text.replace(/\s+/g, ' '))),
  )
})

test('of a large pool the audit log says what was added and taken out', async () => {
  const pool = Array.from({ length: 30 }, newAddress)
  const other = newAddress()
  assert.equal((await save({ MODE: 'pool', ADDRESSES: pool.join(',') })).status, 200)
  assert.equal((await save({ MODE: 'pool', ADDRESSES: [...pool.slice(1), other].join(',') })).status, 200)
  const { detail } = await shop.host.db.one<{ detail: string }>(sql`
    select detail from audit_log where company_id = ${companyId} and action = 'channel.account_saved'
    order by seq desc limit 1`)
  const { before, after, added, removed } = JSON.parse(detail)
  assert.match(before, /^pool \(30\): 0x.* … sha256 [0-9a-f]{16}$/)
  assert.notEqual(before.slice(-16), after.slice(-16))
  assert.deepEqual([added, removed], [[other], [pool[0]]])
})

test('what can spend money is not repeated, wherever it was pasted, and its owner is told that it is lost', async () => {
  const key = randomBytes(32).toString('hex')
  const phrase = 'legal winner thank year wave sausage worth useful legal winner thank yellow'
  for (const secret of [key, `0x${key}`, `0x${key.toUpperCase()}`, `${newAddress()},0x${key}`, phrase]) {
    const { status, text } = await save({ MODE: 'pool', ADDRESSES: secret })
    assert.equal(status, 422)
    assert.match(text, /anyone who has it can take all the money\. It was not stored\. Treat it as lost/)
    assert.ok(!text.toLowerCase().includes(key.slice(0, 6)) && !text.includes('sausage'), text)
  }
  const mistyped = await save({ MODE: 'pool', ADDRESSES: `${newAddress()}, 0x${key}a` })
  assert.match(mistyped.text, /entry 2/)
  assert.ok(!mistyped.text.includes(key.slice(0, 6)), mistyped.text)
})

test('a wallet whose saved settings are not complete any more is not offered, nor is the operator’s in its place', async () => {
  const offers = async () => (await manager.get<{ paymentChannel: string }[]>('channels')).data
  const hasCrypto = (list: { paymentChannel: string }[]) => list.some((one) => one.paymentChannel === 'crypto')
  assert.equal((await save({ MODE: 'static', ADDRESSES: newAddress() })).status, 200)
  assert.ok(hasCrypto(await offers()))
  const sealed = shop.host.vault.seal('{"MODE":"static"}', accountContext(companyId, 'crypto'))
  await shop.host.db.run(sql`
    update channel_accounts set sealed = ${sealed}, updated_at = updated_at + interval '1 s'
    where company_id = ${companyId}`)
  await eventually(offers, (list) => !hasCrypto(list))
  assert.equal((await manager.call('DELETE', 'channel-accounts/crypto')).status, 200)
  await eventually(offers, hasCrypto)
})
