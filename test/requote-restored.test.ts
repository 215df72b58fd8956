import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { markRestored } from '../src/db/restored-queries.ts'
import { noteReconciled } from './harness/restored.ts'
import { eventually } from './harness/service.ts'
import { type OrderData, openShop, type Shop } from './harness/shop.ts'

/* Orders that were open in a backup get no fresh rate before it is reconciled: they may be paid. */

let shop: Shop
before(async () => {
  shop = await openShop()
})
after(() => shop?.stop())

const requote = (code: string) => shop.accept(code, { network: shop.chain.chainId, requote: true })
const statusOf = async (code: string): Promise<string> =>
  (await shop.host.call<OrderData>('GET', `status/${code}`, { as: shop.merchant })).data.status
const readPage = async (code: string): Promise<string> => (await fetch(`${shop.host.baseUrl}/pay?code=${code}`)).text()
const minePage = async (code: string): Promise<string> => {
  await shop.chain.mine()
  return readPage(code)
}

test('an order of before a restore is neither ended nor reopened by its payer before it is reconciled', async () => {
  const { db } = shop.host
  const old = await shop.createAwaiting()
  const ended = await shop.createAwaiting()
  await shop.host.call('POST', `expire/${ended.code}`, { as: shop.merchant })
  await db.run(sql`insert into installation (mode, key_mark) values ('sandbox', 'x') on conflict do nothing`)
  const restoredAt = new Date(Date.now() + 1)
  await db.tx((tx) => markRestored(tx, { backupMadeAt: restoredAt, restoredAt }))
  await new Promise((resolve) => setTimeout(resolve, 5))
  const later = await shop.createAwaiting()
  await db.run(sql`
    update orders set expires_at = (select block_at from chain_heads) where id in (${old.orderId}, ${later.orderId})`)
  await eventually(
    () => minePage(later.code),
    (page) => page.includes('name="requote"'),
  )
  for (const { code } of [old, ended]) {
    assert.doesNotMatch(await readPage(code), /name="requote"/)
    const refused = await requote(code)
    assert.deepEqual([refused.status, refused.error.code], [409, 'ORDER_STATE_CONFLICT'])
    assert.match(refused.error.message, /restored from a backup .* Do not pay again/)
  }
  assert.deepEqual([await statusOf(old.code), await statusOf(ended.code)], ['AWAITING', 'EXPIRED'])
  assert.equal((await requote(later.code)).status, 200)
  await noteReconciled(db)
  for (const { code } of [old, ended]) {
    const again = await requote(code)
    assert.equal(again.status, 200, again.text)
  }
})
