import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { getAddress } from 'viem/utils'
import { type Client, logIn, registerManager } from './harness/accounts.ts'
import { openShop, type Shop } from './harness/shop.ts'

let shop: Shop
let manager: Client

before(async () => {
  shop = await openShop()
  const person = await registerManager(shop.host.baseUrl)
  manager = await logIn(shop.host.baseUrl, person.email)
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
