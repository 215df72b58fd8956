import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { mint } from '../sandbox/chain/token.ts'
import { localSigner } from '../src/chain/payout/signer.ts'
import { sql } from '../src/db/db.ts'
import { acceptedWith, type Doubt, isAccepted, withoutEnded } from '../src/screening/doubts.ts'
import { createPaid, newAddress, PURSE_UNITS, type RefundData, revert } from './harness/refunds.ts'
import { openScreeningWorld, type ScreeningData, type ScreeningWorld } from './harness/screening-world.ts'
import { eventually } from './harness/service.ts'
import type { Payable } from './harness/shop.ts'

/* A release answers the doubt that a person saw, and is asked about again where more than that is at stake. */
let world: ScreeningWorld
before(async () => {
  world = await openScreeningWorld()
})
after(() => world?.stop())

const release = (id: string) =>
  eventually(
    () => world.admin.post(`screenings/${id}/release`, { reason: 'a known customer' }),
    ({ status }) => status === 200,
  )

/** The first USDC of an order, from a wallet that a person releases. */
async function releasedWith(wallet: string): Promise<{ order: Payable; id: string }> {
  const order = await world.createAwaiting()
  await world.payFrom(wallet, order, 1_000_000n)
  const { _id: id } = await world.screened(order, 'held')
  await release(id)
  return { order, id }
}

const makeOlder = (id: string, hours: number) =>
  world.host.db.run(sql`
    update screenings set updated_at = updated_at - make_interval(hours => ${hours}),
      opened_at = opened_at - make_interval(hours => ${hours})
    where id = ${id}`)

const over = ({ orderId }: Payable) =>
  eventually(
    () => world.story(orderId),
    ({ status }) => ['PAID', 'KYT_FAILED'].includes(status),
  )

for (const source of ['sanctions', 'denyList'] as const)
  test(`released in an outage for 1 USDC, then listed (${source}): the rest of the price pays nothing`, async () => {
    const wallet = await world.newWallet()
    await world.fault('risk', '503')
    const { order } = await releasedWith(wallet)
    await world.fault('risk', null)
    if (source === 'denyList') world.denyList.write(wallet)
    else await world.list(wallet, { sanctions: true })
    await world.payFrom(wallet, order, order.units - 1_000_000n)
    assert.equal((await over(order)).status, 'KYT_FAILED')
    world.denyList.write('# nobody')
  })

test('released for what a source asked a person: more from the same sender pays, and nobody is asked again', async () => {
  const wallet = await world.newWallet()
  await world.list(wallet, { risk: 'Medium' })
  const { order, id } = await releasedWith(wallet)
  await makeOlder(id, 50)
  await world.payFrom(wallet, order, order.units - 1_000_000n)
  assert.equal((await over(order)).status, 'PAID')
  const [row] = await world.screeningsOf(order)
  assert.deepEqual([row?.status, row?.reason], ['released', 'a known customer'])
})

test('released in an outage that lasts: more from the same sender waits until its source answers', async () => {
  const wallet = await world.newWallet()
  await world.fault('risk', '503')
  const { order } = await releasedWith(wallet)
  await world.payFrom(wallet, order, order.units - 1_000_000n)
  await world.screened(order, 'held')
  await world.fault('risk', null)
  await eventually(
    async () => {
      await world.askNow()
      return world.story(order.orderId)
    },
    ({ status }) => status === 'PAID',
  )
})

test('another doubt than the one that was released waits for a person; a release of an earlier version counts', async () => {
  const wallet = await world.newWallet()
  await world.list(wallet, { risk: 'Medium' })
  const { order, id } = await releasedWith(wallet)
  await world.host.db.run(sql`update screenings set accepted = null, shown_units = null where id = ${id}`)
  await world.payFrom(wallet, order, 1_000_000n)
  await eventually(
    async () => (await world.screeningsOf(order))[0]?.status,
    (status) => status === 'released',
  )
  await world.list(wallet, { trm: { riskType: 'COUNTERPARTY', level: 15 } })
  await world.payFrom(wallet, order, order.units - 2_000_000n)
  await world.screened(order, 'held')
  await release(id)
  assert.equal((await over(order)).status, 'PAID')
})

test('a decision about less money, or other doubts, than there are now is refused', async () => {
  const wallet = await world.newWallet()
  await world.list(wallet, { risk: 'Medium' })
  const order = await world.createAwaiting()
  await world.payFrom(wallet, order, 1_000_000n)
  const { _id } = await world.screened(order, 'held')
  const read = async () => (await world.admin.get<{ updatedAt: string }>(`screenings/${_id}`)).data.updatedAt
  const seen = await read()
  await world.payFrom(wallet, order, 1_000_000n)
  await eventually(read, (updatedAt) => updatedAt !== seen)
  const stale = await world.admin.post(`screenings/${_id}/release`, { reason: 'one dollar', updatedAt: seen })
  assert.equal(stale.error.code, 'OBJECT_CONFLICT')
})

test('a refund’s destination that was released in an outage is asked about again before anything is signed', async () => {
  const order = await createPaid(world)
  const purse = localSigner(world.env.CHAIN_31337_REFUND_KEY ?? '').address
  await world.chain.call('anvil_impersonateAccount', purse)
  await world.chain.call('anvil_setBalance', purse, '0xde0b6b3a7640000')
  await world.chain.pay({ to: newAddress(), units: PURSE_UNITS, from: purse })
  await world.chain.mine(3)
  await world.fault('trm', '503')
  const to = newAddress()
  await revert(world, order.code, { address: to })
  const { _id } = await world.screened(order, 'held', 'refund')
  await release(_id)
  const refund = async () =>
    (await world.admin.get<{ refunds: RefundData[] }>(`refunds?code=${order.code}`)).data.refunds[0]
  const askRefund = () =>
    world.host.db.run(sql`update refunds set next_check_at = now() where next_check_at is not null`)
  await eventually(refund, (one) => /holds|Fund/.test(one?.message ?? ''))
  // the same outage: it waits for money again, not for a person
  await makeOlder(_id, 2)
  const isAskedAgain = async (): Promise<boolean> => {
    await askRefund()
    const reopened = sql`select from screenings where id = ${_id} and opened_at > now() - interval '1 hour'`
    return (await world.host.db.many(reopened)).length === 1
  }
  await eventually(isAskedAgain, (isAsked) => isAsked)
  await eventually(refund, (one) => /holds|Fund/.test(one?.message ?? ''))
  await world.fault('trm', null)
  await world.list(to, { sanctions: true })
  await makeOlder(_id, 2)
  await mint(world.chain.call, purse, PURSE_UNITS)
  await world.chain.mine(3)
  const asked = async () => {
    // a poll that is under way would put it off
    await askRefund()
    return refund()
  }
  await eventually(asked, (one) => /did not pass the screening/.test(one?.message ?? ''))
  assert.equal(await world.chain.balanceOf(to), 0n)
})

test('while a source is down, the others are asked no more often than promised, and record nothing twice', async () => {
  const { db, baseUrl } = world.host
  await world.fault('trm', '503')
  const [order, wallet] = [await world.createAwaiting(), await world.newWallet()]
  await world.list(wallet, { risk: 'Medium' })
  await world.payFrom(wallet, order)
  const { _id: id } = await world.screened(order, 'held')
  const questions = async (): Promise<number> => {
    const text = await (await fetch(`${baseUrl}/metrics`)).text()
    const counts = text.matchAll(/^comptoir_screening_answers_total\{source="chainalysis_risk".*\} (\d+)$/gm)
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0)
  }
  const poll = async (minutesLater = 0) => {
    const change = sql`
      update screenings set next_check_at = now(), last_asked = (
          select jsonb_object_agg(key, value::timestamptz - make_interval(mins => ${minutesLater}))
          from jsonb_each_text(last_asked)),
        opened_at = opened_at - interval '1 day' where id = ${id} and lease_until is null returning checks`
    const before = await eventually(
      () => db.maybe<{ checks: number }>(change),
      (row) => row !== undefined,
    )
    await eventually(
      () =>
        db.one<{ checks: number; free: boolean }>(sql`
        select checks, lease_until is null as free from screenings where id = ${id}`),
      (row) => row.checks > (before?.checks ?? 0) && row.free,
    )
    return questions()
  }
  const recorded = async () =>
    (
      await db.many<object>(
        sql`select source, verdict from screening_answers where screening_id = ${id} order by source`,
      )
    ).map((row) => Object.values(row).join(' '))
  const first = await recorded()
  const asked = await questions()
  for (const minutesLater of [0, 0, 10]) assert.equal(await poll(minutesLater), asked)
  assert.equal(await poll(5), asked + 1)
  assert.equal(await poll(), asked + 1)
  assert.deepEqual(await recorded(), first)
  assert.deepEqual(
    first.filter((one) => !one.endsWith('clean')),
    ['chainalysis_risk hold', 'trm unavailable'],
  )
  await world.fault('trm', null)
  // its circuit may be open for some seconds
  const ask = async (): Promise<string[]> => {
    await world.askNow()
    return recorded()
  }
  await eventually(ask, (rows) => rows.includes('trm clean'), 30_000)
})

test('of a long record the newest answers are shown in their order, and how many older ones there are', async () => {
  await world.fault('trm', '503')
  const order = await world.createAwaiting()
  await world.payFrom(await world.newWallet(), order)
  const { _id: id } = await world.screened(order, 'held')
  const { companyId } = world.merchant
  await world.host.db.run(sql`
    insert into screening_answers (company_id, id, screening_id, source, verdict, reasons, at)
    select ${companyId}, 'ff' || lpad(to_hex(n), 22, '0'), ${id}, 'trm', 'unavailable', '{}', now() + n * interval '1 second'
    from generate_series(1, 600) as n`)
  const { data } = await world.admin.get<ScreeningData>(`screenings/${id}`)
  const times = (data.evidence ?? []).map(({ at }) => at)
  assert.deepEqual(times, times.toSorted())
  const { total, newest } = await world.host.db.one<{ total: bigint; newest: Date }>(sql`
    select count(*) as total, max(at) as newest from screening_answers where screening_id = ${id}`)
  assert.deepEqual([times.length, times.at(-1)], [500, newest.toISOString()])
  assert.equal(data.evidenceLeftOut, Number(total) - 500)
  await world.fault('trm', null)
})

test('the same doubt has other figures; an outage is over once its source answers', () => {
  const doubt = { source: 'chainalysis_risk', verdict: 'hold', level: 'Medium', reasons: ['Mixing: 12.5 %'] } as const
  const outage = { source: 'trm', verdict: 'unavailable', level: null, reasons: ['HTTP 503'] } as const
  const accepted: Doubt[] = acceptedWith(
    [],
    [
      { ...doubt, reasons: [...doubt.reasons] },
      { ...outage, reasons: [] },
    ],
  )
  assert.ok(isAccepted(accepted, { ...doubt, reasons: ['Mixing: 13 %'] }))
  assert.ok(!isAccepted(accepted, { ...doubt, reasons: ['Mixing: 13 %', 'Scam'] }))
  assert.ok(!isAccepted(accepted, { ...doubt, level: 'High', reasons: [] }))
  assert.ok(!isAccepted(accepted, { ...doubt, source: 'trm', reasons: [] }))
  const clean = { source: 'trm', verdict: 'clean', level: null, reasons: [] } as const
  assert.deepEqual(
    withoutEnded(accepted, [{ ...clean, reasons: [] }]).map(({ source }) => source),
    ['chainalysis_risk'],
  )
})
