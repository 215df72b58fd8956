import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { describeVerdict, verifyLedger } from '../src/ledger/ledger-verify.ts'
import { openScreeningWorld, type ScreeningData, type ScreeningWorld } from './harness/screening-world.ts'
import { eventually } from './harness/service.ts'
import type { OrderStory, Payable } from './harness/shop.ts'

/* Every source at once, over the real service and a real chain. */
let world: ScreeningWorld
before(async () => {
  world = await openScreeningWorld()
})
after(() => world?.stop())

const checkBooks = async (): Promise<void> => {
  const verdict = await verifyLedger(world.host.db)
  assert.equal(verdict.difference, null, describeVerdict(verdict))
}
const until = (order: Payable, isRight: (story: OrderStory) => boolean): Promise<OrderStory> =>
  eventually(() => world.story(order.orderId), isRight)
const verdictsOf = ({ answers }: ScreeningData): Record<string, string> =>
  Object.fromEntries(answers.map(({ source, verdict }) => [source, verdict]))

test('a clean sender pays as if nothing had asked, and every source’s word is kept with its evidence', async () => {
  const [order, wallet] = [await world.createAwaiting(), await world.newWallet()]
  await world.payFrom(wallet, order)
  await world.reaches(order.code, 'PAID')
  const screening = await world.screened(order, 'clean')
  assert.deepEqual(verdictsOf(screening), {
    ...{ chainalysis: 'clean', chainalysis_risk: 'clean', deny_list: 'clean', oracle: 'clean', trm: 'clean' },
  })
  const { data } = await world.admin.get<ScreeningData>(`screenings/${screening._id}`)
  const evidence = data.evidence?.find(({ source }) => source === 'chainalysis_risk')?.evidence as { risk: string }
  assert.equal(evidence.risk, 'Low')
  assert.deepEqual((await world.story(order.orderId)).mispayments, [])
  await checkBooks()
})

const SOURCES = {
  deny_list: async (wallet: string) => world.denyList.write(wallet.toUpperCase().replace('0X', '0x')),
  oracle: (wallet: string) => world.list(wallet, { oracle: true }),
  chainalysis: (wallet: string) => world.list(wallet, { sanctions: true }),
  chainalysis_risk: (wallet: string) => world.list(wallet, { risk: 'High' }),
  trm: (wallet: string) => world.list(wallet, { trm: { riskType: 'OWNERSHIP', level: 10 } }),
}

for (const [source, listIn] of Object.entries(SOURCES)) {
  test(`a sender that ${source} alone names is KYT_FAILED, and nothing moves`, async () => {
    const [order, wallet] = [await world.createAwaiting(), await world.newWallet()]
    await listIn(wallet)
    await world.payFrom(wallet, order)
    await world.reaches(order.code, 'KYT_FAILED')
    const screening = await world.screened(order, 'blocked')
    assert.equal(verdictsOf(screening)[source], 'blocked')
    assert.equal(Object.values(verdictsOf(screening)).filter((verdict) => verdict !== 'clean').length, 1)
    const story = await until(order, ({ mispayments }) => mispayments.length > 0)
    assert.deepEqual(
      story.mispayments.map(({ kind, status, units }) => [kind, status, units]),
      [['held', 'open', String(order.units)]],
    )
    assert.equal(await world.chain.balanceOf(order.toAddress), order.units)
    assert.ok(!story.history.some(({ toStatus }) => toStatus === 'PAID'))
    await eventually(
      () => world.story(order.orderId),
      ({ deliveries }) =>
        deliveries.some(({ event, status }) => event === 'order.kyt_failed' && status === 'delivered'),
    )
    await checkBooks()
  })
}

/** As if these had been screened more than a day ago. */
async function makeOld(...orders: Payable[]): Promise<void> {
  // both at once: with answers younger than the screening, the service's own look would renew it
  await world.host.db.tx(async (tx) => {
    await tx.run(sql`alter table screening_answers disable trigger screening_answers__append_only`)
    await tx.run(sql`update screening_answers set at = now() - interval '25 hours'`)
    await tx.run(sql`alter table screening_answers enable trigger screening_answers__append_only`)
    await tx.run(sql`
      update screenings set updated_at = now() - interval '25 hours'
      where order_id = any(${orders.map(({ orderId }) => orderId)})`)
  })
}

test('a payment that takes longer than a day is screened again; a paid order is not', async () => {
  const [wallet, other] = [await world.newWallet(), await world.newWallet()]
  const [slow, paid] = [await world.createAwaiting(), await world.createAwaiting()]
  await world.payFrom(wallet, slow, 1_000_000n)
  await world.payFrom(other, paid)
  await world.reaches(paid.code, 'PAID')
  await world.screened(slow, 'clean')
  for (const address of [wallet, other]) await world.list(address, { sanctions: true })
  await makeOld(slow, paid)
  await world.payFrom(other, paid, 1_000_000n)
  await until(paid, ({ mispayments }) => mispayments.some(({ kind }) => kind === 'over'))
  assert.deepEqual(
    (await world.screeningsOf(paid)).map(({ status }) => status),
    ['clean'],
  )
  await world.payFrom(wallet, slow, slow.units - 1_000_000n)
  await world.reaches(slow.code, 'KYT_FAILED')
})

test('a part that lay for more than a day is accepted as the price only when its sender is still clean', async () => {
  const [wallet, bad] = [await world.newWallet(), await world.newWallet()]
  const [order, tainted] = [await world.createAwaiting(), await world.createAwaiting()]
  await world.payFrom(wallet, order, 1_000_000n)
  await world.payFrom(bad, tainted, 1_000_000n)
  await until(order, ({ mispayments }) => mispayments.some(({ kind }) => kind === 'under'))
  await until(tainted, ({ mispayments }) => mispayments.some(({ kind }) => kind === 'under'))
  await world.list(bad, { sanctions: true })
  await makeOld(order, tainted)
  const accept = async ({ code }: Payable) => {
    const { data } = await world.admin.get<{ mispayments: { _id: string }[] }>(`mispayments?code=${code}`)
    return world.admin.post(`mispayments/${data.mispayments[0]?._id}/accept`, {})
  }
  for (const one of [order, tainted]) {
    const refused = await accept(one)
    assert.equal(refused.status, 409)
    assert.match(refused.error.message, /is being screened again/)
  }
  await world.screened(order, 'clean')
  assert.equal((await accept(order)).status, 200)
  await world.reaches(tainted.code, 'KYT_FAILED')
  await until(tainted, ({ mispayments }) => mispayments.some(({ kind }) => kind === 'held'))
  assert.equal((await accept(tainted)).status, 409)
  await checkBooks()
})
