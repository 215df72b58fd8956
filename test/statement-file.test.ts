import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createPaid, newAddress, payoutEnv, refundReaches, revert } from './harness/refunds.ts'
import { openShop, type Shop } from './harness/shop.ts'

/* The statement as a file, for who keeps the books of the shop. */

let shop: Shop
before(async () => {
  shop = await openShop({ env: payoutEnv })
})
after(() => shop?.stop())

async function readFile(): Promise<Record<string, string>[]> {
  const { text } = await shop.host.call('GET', '/api/next/ledger?format=csv', { as: shop.merchant })
  const [head = '', ...lines] = text.trimEnd().split('\r\n')
  const names = head.split(',')
  return lines.map((line) => Object.fromEntries(line.split(',').map((cell, index) => [names[index] ?? '', cell])))
}

test('each line has the shop’s reference of its order, and the price stands once beside what was paid', async () => {
  const order = await createPaid(shop, { amount: '49.90', alias: 'INV-7' })
  await createPaid(shop, { amount: '20.10' })
  await revert(shop, order.code, { amount: '4', address: newAddress() })
  await refundReaches(shop, order.orderId, 'settled')
  const lines = await readFile()
  const own = lines.filter(({ order: code }) => code === order.code)
  assert.ok(own.length > 4 && own.every(({ alias }) => alias === 'INV-7'))
  assert.ok(lines.filter(({ order: code }) => code !== order.code).every(({ alias }) => alias === ''))
  const priced = lines.filter(({ fromAmount }) => fromAmount !== '')
  assert.deepEqual(
    priced.map(({ kind, account, fromAmount, fromAsset }) => [kind, account, fromAmount, fromAsset]),
    [
      ['payment', 'company_payable', '49.90', 'EUR'],
      ['payment', 'company_payable', '20.10', 'EUR'],
    ],
  )
})
