import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { markRestored } from '../src/db/restored-queries.ts'
import { type Client, logIn, logInSuperAdmin, type Person, registerManager } from './harness/accounts.ts'
import { createPaid, newAddress } from './harness/refunds.ts'
import { noteReconciled, openRestoredShop, type RestoredShop } from './harness/restored.ts'
import { eventually } from './harness/service.ts'

/* Where two persons approve a settlement, they also stand for an address of which the backup does not know. */

type Settlement = { _id: string; status: string; address: string; amount: string; message: string | null }

let world: RestoredShop
let boss: Person
let companyId: string

before(async () => {
  world = await openRestoredShop(async () => ({ SETTLEMENT_TWO_PERSONS_FROM: '1' }))
  const { host, merchant } = world.shop
  companyId = merchant.companyId
  boss = await registerManager(host.baseUrl)
  await host.db.run(sql`
    update users set company_id = ${companyId}, verified_at = now(), approved_at = now() where id = ${boss.userId}`)
})
after(() => world?.stop())

/** The database is restored so long ago that all pools are empty, with this address in the backup. */
async function restoreWith(address: string): Promise<void> {
  const { db } = world.shop.host
  await db.run(sql`
    update companies set settlement_address = ${address}, settlement_network = 31337, settlement_set_by = 'the manager'
    where id = ${companyId}`)
  const restoredAt = new Date(Date.now() - 94 * 60_000)
  await db.tx((tx) => markRestored(tx, { backupMadeAt: restoredAt, restoredAt }))
  await noteReconciled(db)
}

const ask = async (client: Client, path: string, body?: object) => {
  const { status, error } = await client.post(path, body)
  return [status, error?.message ?? ''] as const
}

/** The company saves its address. */
async function saves(settlementAddress: string): Promise<void> {
  const { db, baseUrl } = world.shop.host
  const manager = await logIn(baseUrl, boss.email)
  await db.run(sql`update sessions set second_factor_at = now() where user_id = ${boss.userId}`)
  assert.equal((await manager.call('PUT', `companies/${companyId}`, { settlementAddress })).status, 200)
}

/** Once the settlement says which transaction has left, that one is named, and pays it. */
async function isNamed(client: Client, { _id }: Settlement, txHash: string): Promise<void> {
  const reaches = (isRight: (settlement: Settlement) => boolean) =>
    eventually(async () => {
      await world.shop.chain.mine()
      return (await client.get<Settlement>(`settlements/${_id}`)).data
    }, isRight)
  await reaches(({ message }) => message?.includes(txHash) === true)
  assert.deepEqual(await ask(client, `settlements/${_id}/paid`, { txHash }), [200, ''])
  await reaches(({ status }) => status === 'paid')
}

test('what had left to the company’s address of today is paid with the next settlement, and none goes to the old one', async () => {
  const { host, chain } = world.shop
  const [old, today] = [newAddress(), newAddress()]
  await createPaid(world.shop)
  await restoreWith(old)
  const [first, second] = [await logInSuperAdmin(host), await logInSuperAdmin(host)]
  const { data: made } = await first.post<Settlement>('settlements', { companyId })
  const units = BigInt(made.amount.replace('.', ''))
  // before the loss, this number went to the address that the company had named after the backup
  const txHash = await world.leave({ id: made._id, to: today, units })
  assert.ok(txHash)
  await saves(today)

  assert.match((await ask(first, `settlements/${made._id}/approve`))[1], /name its transaction; otherwise cancel it/)
  const [status, words] = await ask(first, `settlements/${made._id}/paid`, { txHash })
  assert.equal(status, 409)
  assert.match(words, /Cancel this settlement and make it again/)
  assert.equal(words.includes(old), false)
  assert.deepEqual(await ask(first, `settlements/${made._id}/cancel`), [200, ''])

  const { data: again } = await first.post<Settlement>('settlements', { companyId })
  assert.equal(again.address, today)
  for (const person of [first, second]) await ask(person, `settlements/${again._id}/approve`)
  await isNamed(first, again, txHash)
  assert.deepEqual([await chain.balanceOf(old), await chain.balanceOf(today)], [0n, units])
})

test('what had left to an address of which neither the backup nor the company knows is paid by the steps of the answer', async () => {
  const { host, chain } = world.shop
  const [old, gone, today] = [newAddress(), newAddress(), newAddress()]
  await createPaid(world.shop)
  await restoreWith(old)
  const [first, second] = [await logInSuperAdmin(host), await logInSuperAdmin(host)]
  const { data: made } = await first.post<Settlement>('settlements', { companyId })
  const units = BigInt(made.amount.replace('.', ''))
  const txHash = await world.leave({ id: made._id, to: gone, units })
  assert.ok(txHash)
  await saves(today)
  const [, words] = await ask(first, `settlements/${made._id}/paid`, { txHash })
  const inOrder = [
    `saves ${gone}`,
    'Cancel',
    'make it again',
    'approve',
    'name this transaction',
    `saves ${today} again`,
  ]
  assert.match(words, new RegExp(inOrder.join('.*'), 'i'))

  await saves(gone)
  assert.deepEqual(await ask(first, `settlements/${made._id}/cancel`), [200, ''])
  const { data: again } = await first.post<Settlement>('settlements', { companyId })
  for (const person of [first, second]) await ask(person, `settlements/${again._id}/approve`)
  await isNamed(first, again, txHash)
  await saves(today)
  await createPaid(world.shop)
  const { data: next } = await first.post<Settlement>('settlements', { companyId })
  assert.equal(next.address.toLowerCase(), today.toLowerCase())
  assert.deepEqual([await chain.balanceOf(old), await chain.balanceOf(gone)], [0n, units])
})
