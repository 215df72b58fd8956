import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { findPayout } from '../src/chain/payout/payout-queries.ts'
import type { Channel, RefundReport } from '../src/channels/channel.ts'
import { ProviderTrouble } from '../src/channels/provider-errors.ts'
import { sql } from '../src/db/db.ts'
import { invalid } from '../src/kernel/errors.ts'
import { releaseClaims } from '../src/ledger/claim-queries.ts'
import { cancelSettlement, reportSettlementPaid } from '../src/ledger/settlements/settlement-end.ts'
import { settlementPolls } from '../src/ledger/settlements/settlement-jobs.ts'
import { findSettlement } from '../src/ledger/settlements/settlement-queries.ts'
import {
  approveSettlement,
  createSettlement,
  type SettlementChain,
  type SettlementReport,
} from '../src/ledger/settlements/settlement-service.ts'
import { settleByHand } from '../src/refunds/manual-refund.ts'
import { applyRefundReport, refundPolls } from '../src/refunds/refund-jobs.ts'
import { rejectRefund, reportTransaction } from '../src/refunds/refund-naming.ts'
import { actorOf, contextFor, DUE, type ModelWorld, personFor, startModelWorld } from './harness/model-world.ts'
import {
  BY_HAND,
  beginNaming,
  CHAIN,
  createPaid,
  GONE,
  pending,
  REFUSED,
  read,
  startRefund,
  startSettling,
  walletOf,
} from './harness/named-payouts.ts'
import { openChannels } from './harness/one-channel-set.ts'

/*
 * A person names the transaction that paid a refund or a settlement while the service asks about its own payout. Naming
 * withdraws that payout, so the answer is a refusal (src/chain/payout/manual-transfer.ts), which must change nothing.
 */
const TX_HASH = [0, 1, 2, 3].map((digit) => `0x${`a${digit}`.repeat(32)}`)

let world: ModelWorld
before(async () => {
  world = await startModelWorld()
})
after(() => world?.stop())

async function followsTheNamed(id: string, txHash: string | undefined): Promise<void> {
  const { orderId, status, byHand, txHash: followed, nextCheckAt } = await read(world, id)
  assert.deepEqual([status, byHand, followed], ['submitted', true, txHash])
  assert.ok(nextCheckAt !== null)
  const order = await world.host.db.one<{ status: string }>(sql`select status from orders where id = ${orderId}`)
  assert.equal(order.status, 'REFUNDING')
}

test('a refund that a person sent and named is not dropped by a poll that began before', async () => {
  const { context, key } = await startRefund(world)
  const [txHash = ''] = TX_HASH
  const channel = walletOf({
    checkRefundTransaction: async () => pending(txHash),
    async refundPayment() {
      await reportTransaction(deps, await read(world, key.id), txHash, context)
      return REFUSED
    },
  })
  const deps = { ...world.refunds, channels: openChannels([channel]) }
  await refundPolls(deps).work(world.host.db, key)
  await followsTheNamed(key.id, txHash)
})

test('it is not dropped either by a poll that ends while its transaction is being checked', async () => {
  const { context, key } = await startRefund(world)
  const txHash = TX_HASH[1] ?? ''
  const channel = walletOf({
    async checkRefundTransaction() {
      await applyRefundReport(deps, await read(world, key.id), REFUSED)
      return pending(txHash)
    },
  })
  const deps = { ...world.refunds, channels: openChannels([channel]) }
  await reportTransaction(deps, await read(world, key.id), txHash, context)
  await followsTheNamed(key.id, txHash)
  // its sender's wallet sent another one in its place
  const gone = walletOf({ checkRefundTransaction: () => Promise.reject(invalid('txHash', 'is not known on Base')) })
  await refundPolls({ ...deps, channels: openChannels([gone]) }).work(world.host.db, key)
  await followsTheNamed(key.id, txHash)
  const { providerStatus } = await read(world, key.id)
  assert.match(providerStatus ?? '', /is not known on Base. If another one paid this, name that one\./)
})

test('a refund that a person has named is not sent by a poll that read it before', async () => {
  const { context, key } = await startRefund(world)
  const txHash = TX_HASH[2] ?? ''
  let sent = 0
  const channel = walletOf({
    checkRefundTransaction: async () => pending(txHash),
    async refundPayment() {
      sent += 1
      return pending(txHash)
    },
  })
  const deps = { ...world.refunds, channels: openChannels([channel]) }
  /** The person is faster than the last look at the books before sending. */
  const books = {
    ...deps.books,
    async findHold() {
      await reportTransaction(deps, await read(world, key.id), txHash, context)
      return null
    },
  }
  await refundPolls({ ...deps, books }).work(world.host.db, key)
  assert.equal(sent, 0)
  await followsTheNamed(key.id, txHash)
})

test('a refund stays named when the session of the person who names its transaction ends during the check', async () => {
  const { key } = await startRefund(world)
  const { db } = world.host
  const txHash = `0x${'c3'.repeat(32)}`
  const context = contextFor(await personFor(db, { role: 'Manager', companyId: key.companyId }))
  let checks = 0
  const channel = walletOf({
    async checkRefundTransaction() {
      checks += 1
      await db.run(sql`update sessions set revoked_at = now() where id = ${context.actor.sessionId}`)
      return pending(txHash)
    },
  })
  const deps = { ...world.refunds, channels: openChannels([channel]) }
  await assert.rejects(reportTransaction(deps, await read(world, key.id), txHash, context), { code: 'UNAUTHORIZED' })
  // naming has withdrawn our payout
  await applyRefundReport(deps, await read(world, key.id), REFUSED)
  const { status, providerStatus } = await read(world, key.id)
  assert.equal(status, 'ready')
  assert.match(providerStatus ?? '', new RegExp(`^Transaction ${txHash} was named for this`))
  await assert.rejects(reportTransaction(deps, await read(world, key.id), txHash, context), { code: 'UNAUTHORIZED' })
  assert.equal(checks, 1, 'nothing is checked, and no payout withdrawn, without a session')
  const { network, address: to, units } = await read(world, key.id)
  const asked = { id: key.id, network: network ?? 0, to, units, hold: null, isRejected: true }
  assert.ok(await db.tx((tx) => deps.withdrawPayout(tx, asked, 'paid by hand')))
  const gone = { ...deps, channels: openChannels([walletOf({ checkRefundTransaction: GONE })]) }
  const again = contextFor(await personFor(db, { role: 'Manager', companyId: key.companyId }))
  await assert.rejects(reportTransaction(gone, await read(world, key.id), txHash, again), { code: 'VALIDATION_FAILED' })
  assert.ok(await isNamed(txHash), 'once it was found, only a person gives it up')
})

test('a refund that is sent by hand does not ask to be sent again where naming was cut short', async () => {
  const { key } = await startRefund(world)
  const { db } = world.host
  const txHash = `0x${'c4'.repeat(32)}`
  const context = contextFor(await personFor(db, { role: 'Manager', companyId: key.companyId }))
  const channel = walletOf({
    refundPayment: async () => BY_HAND,
    async checkRefundTransaction() {
      await db.run(sql`update sessions set revoked_at = now() where id = ${context.actor.sessionId}`)
      return pending(txHash)
    },
  })
  const deps = { ...world.refunds, channels: openChannels([channel]) }
  await refundPolls(deps).work(db, key)
  const asked = await read(world, key.id)
  assert.deepEqual([asked.status, asked.providerStatus, asked.nextCheckAt], ['ready', 'send it by hand', null])
  await assert.rejects(reportTransaction(deps, asked, txHash, context), { code: 'UNAUTHORIZED' })
  assert.ok((await read(world, key.id)).nextCheckAt)
  await refundPolls(deps).work(db, key)
  const { providerStatus, nextCheckAt } = await read(world, key.id)
  assert.match(providerStatus ?? '', new RegExp(`^Transaction ${txHash} was named for this`))
  assert.ok(nextCheckAt)
})

test('a refund that a person rejects while it is being sent stays rejected, whatever the sending says', async () => {
  for (const says of ['pending', 'not sent']) {
    const { context, key } = await startRefund(world)
    const channel = walletOf({
      checkRefundTransaction: GONE,
      async refundPayment() {
        await rejectRefund(deps, await read(world, key.id), 'not returned', context)
        if (says === 'pending') return pending(`0x${'a9'.repeat(32)}`)
        throw new ProviderTrouble('no node answers', { notSent: true })
      },
    })
    const deps = { ...world.refunds, channels: openChannels([channel]) }
    await refundPolls(deps)
      .work(world.host.db, key)
      .catch(() => {})
    const { status, nextCheckAt } = await read(world, key.id)
    assert.deepEqual([status, nextCheckAt], ['rejected', null], says)
  }
})

test('a transaction does not settle a refund for which a person named another while it was checked', async () => {
  const { context, key } = await startRefund(world)
  const [first, second] = [`0x${'c1'.repeat(32)}`, `0x${'c2'.repeat(32)}`]
  let isPolled = false
  const channel = walletOf({
    async checkRefundTransaction(_, txHash) {
      if (!isPolled || txHash === second) return pending(txHash)
      await reportTransaction(deps, await read(world, key.id), second, context)
      return { ...pending(txHash), outcome: 'settled' }
    },
  })
  const deps = { ...world.refunds, channels: openChannels([channel]) }
  await reportTransaction(deps, await read(world, key.id), first, context)
  isPolled = true
  await refundPolls(deps).work(world.host.db, key)
  await followsTheNamed(key.id, second)
})

test('whoever names a transaction for a refund that another one settled meanwhile learns of it', async () => {
  const { context, key } = await startRefund(world)
  const [first, second] = [`0x${'c5'.repeat(32)}`, `0x${'c6'.repeat(32)}`]
  const channel = walletOf({
    async checkRefundTransaction(_, txHash) {
      if (txHash === second) await reportTransaction(deps, await read(world, key.id), first, context)
      return { ...pending(txHash), outcome: 'settled' }
    },
  })
  const deps = { ...world.refunds, channels: openChannels([channel]) }
  await assert.rejects(reportTransaction(deps, await read(world, key.id), second, context), {
    code: 'OBJECT_CONFLICT',
    message: new RegExp(`settled by ${first} meanwhile: ${second} paid it again`),
  })
  assert.deepEqual([(await read(world, key.id)).txHash, await isNamed(second)], [first, false])
})

test('a refund on a chain that is not set up waits, and is settled by hand only while nothing can have paid it', async () => {
  const { context, key } = await startRefund(world)
  const { db } = world.host
  const txHash = `0x${'c8'.repeat(32)}`
  const deps = { ...world.refunds, channels: openChannels([]) }
  const proof = { reference: 'bank-1', statement: 'by bank', file: null }
  const settle = async () => settleByHand(deps, context, await read(world, key.id), proof)
  await beginNaming(world, key, txHash)
  await refundPolls(deps).work(db, key)
  const { status, providerStatus } = await read(world, key.id)
  assert.deepEqual([status, providerStatus?.startsWith(`waits: the chain ${CHAIN} is not set up`)], ['ready', true])
  await assert.rejects(settle(), { code: 'OBJECT_CONFLICT', message: new RegExp(`^Transaction ${txHash} was named`) })
  await db.tx((tx) => releaseClaims(tx, { companyId: key.companyId, network: CHAIN, causeId: key.id }))
  const asked = { refundPayment: async () => BY_HAND, checkRefundTransaction: GONE }
  const whole = { ...world.refunds, channels: openChannels([walletOf(asked)]) }
  await assert.rejects(settleByHand(whole, context, await read(world, key.id), proof), /is proved by its transaction/)
  await settle()
  assert.equal((await read(world, key.id)).status, 'settled')
  assert.equal((await findPayout(db, key.id))?.kind, 'withdrawn')
})

test('a refund on a chain that was removed while another stays is left ready, and can be rejected', async () => {
  const { context, key } = await startRefund(world)
  const asked = { refundPayment: async () => BY_HAND, checkRefundTransaction: GONE }
  const channel = { ...walletOf(asked), refundNetworks: [8453] }
  const deps = { ...world.refunds, channels: openChannels([channel]) }
  await refundPolls(deps).work(world.host.db, key)
  const { status, providerStatus } = await read(world, key.id)
  assert.deepEqual([status, providerStatus?.startsWith(`waits: the chain ${CHAIN} is not set up`)], ['ready', true])
  await rejectRefund(deps, await read(world, key.id), 'its chain is gone', context)
  assert.equal((await read(world, key.id)).status, 'rejected')
})

test('a settlement that a person sent and named is polled on, whatever a poll that began before answers', async () => {
  const { merchant } = await createPaid(world)
  const { db } = world.host
  await db.run(sql`
    update companies set settlement_address = ${`0x${'b'.repeat(40)}`}, settlement_network = ${CHAIN}
    where id = ${merchant.companyId}`)
  const context = contextFor({ ...actorOf(merchant), role: 'SuperAdmin' })
  const txHash = TX_HASH[3] ?? ''
  const refused: SettlementReport = { outcome: 'refused', txHash: null, providerStatus: 'paid by hand' }
  const chain = {
    network: CHAIN,
    watch: async () => null,
    async pay() {
      await reportSettlementPaid(deps, context, _id, txHash)
      return refused
    },
    check: async () => ({ outcome: 'pending' as const, txHash, providerStatus: 'not final yet' }),
  }
  const deps = { ...world.settlements, chains: [chain] }
  const { _id } = await createSettlement(deps, context, { companyId: merchant.companyId })
  await approveSettlement(deps, context, _id)
  await settlementPolls(deps).work(db, { companyId: merchant.companyId, id: _id })
  const settlement = await findSettlement(db, _id)
  assert.deepEqual(
    [settlement?.status, settlement?.byHand, settlement?.txHash, settlement?.providerStatus],
    ['approved', true, txHash, 'not final yet'],
  )
  assert.ok(settlement?.nextCheckAt)
  const gone = { ...chain, check: () => Promise.reject(invalid('txHash', 'is not known on Base')) }
  await settlementPolls({ ...deps, chains: [gone] }).work(db, { companyId: merchant.companyId, id: _id })
  const after = await findSettlement(db, _id)
  assert.match(after?.providerStatus ?? '', /is not known on Base. If another one paid this, name that one\./)
  assert.deepEqual([after?.status, after?.txHash], ['approved', txHash])
})

test('a transaction does not pay a settlement for which a person named another while it was checked', async () => {
  const { merchant } = await createPaid(world)
  const { db } = world.host
  const { companyId } = merchant
  await db.run(sql`
    update companies set settlement_address = ${`0x${'d'.repeat(40)}`}, settlement_network = ${CHAIN}
    where id = ${companyId}`)
  const context = contextFor({ ...actorOf(merchant), role: 'SuperAdmin' })
  const [first, second] = [`0x${'d1'.repeat(32)}`, `0x${'d2'.repeat(32)}`]
  let isPolled = false
  const chain: SettlementChain = {
    ...{ network: CHAIN, pay: null, watch: async () => null },
    async check(_, txHash) {
      if (!isPolled || txHash === second) return { outcome: 'pending', txHash, providerStatus: 'not final yet' }
      await reportSettlementPaid(deps, context, _id, second)
      return { outcome: 'settled', txHash, providerStatus: 'final' }
    },
  }
  const deps = { ...world.settlements, chains: [chain] }
  const { _id } = await createSettlement(deps, context, { companyId })
  await approveSettlement(deps, context, _id)
  await reportSettlementPaid(deps, context, _id, first)
  isPolled = true
  await settlementPolls(deps).work(db, { companyId, id: _id })
  const { status, txHash } = (await findSettlement(db, _id)) ?? {}
  assert.deepEqual([status, txHash], ['approved', second])
})

test('a transaction that paid a settlement pays no other one, also where its claim is gone', async () => {
  const { merchant } = await createPaid(world)
  const { db } = world.host
  const { companyId } = merchant
  await db.run(sql`
    update companies set settlement_address = ${`0x${'e'.repeat(40)}`}, settlement_network = ${CHAIN}
    where id = ${companyId}`)
  const context = contextFor({ ...actorOf(merchant), role: 'SuperAdmin' })
  const txHash = `0x${'e1'.repeat(32)}`
  const left = { to: null, units: DUE / 2n }
  const chain: SettlementChain = {
    ...{ network: CHAIN, pay: null, watch: async () => null },
    check: async () => ({ outcome: 'settled', txHash, providerStatus: 'final', left }),
  }
  const deps = { ...world.settlements, chains: [chain] }
  const start = async (): Promise<string> => {
    const { _id } = await createSettlement(deps, context, { companyId })
    await approveSettlement(deps, context, _id)
    return _id
  }
  await reportSettlementPaid(deps, context, await start(), txHash)
  await db.run(sql`delete from claimed_transactions where tx_hash = ${txHash}`)
  await assert.rejects(reportSettlementPaid(deps, context, await start(), txHash), { code: 'VALIDATION_FAILED' })
})

const isNamed = async (txHash: string): Promise<boolean> =>
  (await world.host.db.maybe(sql`select 1 from claimed_transfers where tx_hash = ${txHash}`)) !== undefined

test('a transaction whose naming was cut short is free again once our own payout has paid', async () => {
  const { db } = world.host
  const { key } = await startRefund(world)
  const [named, own] = [`0x${'f1'.repeat(32)}`, `0x${'f2'.repeat(32)}`]
  await beginNaming(world, key, named)
  await applyRefundReport(world.refunds, await read(world, key.id), { ...pending(own), outcome: 'settled' })
  assert.deepEqual([(await read(world, key.id)).status, await isNamed(named)], ['settled', false])
  const { merchant } = await createPaid(world)
  const { companyId } = merchant
  await db.run(sql`
    update companies set settlement_address = ${`0x${'f'.repeat(40)}`}, settlement_network = ${CHAIN}
    where id = ${companyId}`)
  const pay = async (): Promise<SettlementReport> => ({ outcome: 'settled', txHash: own, providerStatus: 'final' })
  const deps = {
    ...world.settlements,
    chains: [{ network: CHAIN, pay, watch: pay, check: pay }],
  }
  const context = contextFor({ ...actorOf(merchant), role: 'SuperAdmin' })
  const { _id } = await createSettlement(deps, context, { companyId })
  await approveSettlement(deps, context, _id)
  await beginNaming(world, { companyId, id: _id }, named)
  await settlementPolls(deps).work(db, { companyId, id: _id })
  assert.deepEqual([(await findSettlement(db, _id))?.status, await isNamed(named)], ['paid', false])
})

const CHAIN_GONE = new RegExp(`the chain ${CHAIN} is not set up; give it back .*, then reject or cancel\\.$`)

for (const isPolled of [false, true])
  test(`a ${isPolled ? 'submitted' : 'ready'} refund is rejected once all that was named for it is gone, and not while one may pay`, async () => {
    const { key } = await startRefund(world)
    const { db } = world.host
    const [wrong, right] = [`0x${(isPolled ? '03' : '02').repeat(32)}`, `0x${(isPolled ? 'f3' : 'f4').repeat(32)}`]
    const beginBoth = async (): Promise<RefundReport> => {
      await beginNaming(world, key, wrong)
      await beginNaming(world, key, right)
      return REFUSED
    }
    const deps = { ...world.refunds, channels: openChannels([walletOf({ refundPayment: beginBoth })]) }
    if (isPolled) await refundPolls(deps).work(db, key)
    else await beginBoth()
    const { status, providerStatus } = await read(world, key.id)
    assert.deepEqual(
      [status, new RegExp(`${wrong} or ${right} was named for this`).test(providerStatus ?? '')],
      [isPolled ? 'submitted' : 'ready', isPolled],
    )
    const by = contextFor(await personFor(db, { role: 'SuperAdmin', companyId: null }))
    const reject = async (checkRefundTransaction: NonNullable<Channel['checkRefundTransaction']>): Promise<void> =>
      rejectRefund(
        { ...deps, channels: openChannels([walletOf({ checkRefundTransaction })]) },
        await read(world, key.id),
        'gone',
        by,
      )
    await assert.rejects(
      reject((_, txHash) => (txHash === wrong ? GONE() : Promise.resolve(pending(right)))),
      { code: 'OBJECT_CONFLICT', message: new RegExp(`^Transaction ${right} was named for this and may have paid it`) },
    )
    await assert.rejects(rejectRefund({ ...deps, channels: openChannels([]) }, await read(world, key.id), 'gone', by), {
      code: 'OBJECT_CONFLICT',
      message: CHAIN_GONE,
    })
    await reject(GONE)
    assert.deepEqual(
      [(await read(world, key.id)).status, await isNamed(wrong), await isNamed(right)],
      ['rejected', false, false],
    )
  })

test('an approved settlement whose naming was cut short is cancelled once its transaction is gone, and not before', async () => {
  const { db } = world.host
  const { companyId, context } = await startSettling(world)
  const txHash = `0x${'f5'.repeat(32)}`
  const chain: SettlementChain = {
    ...{ network: CHAIN, pay: null, watch: async () => null },
    check: async () => ({ outcome: 'settled', txHash, providerStatus: 'final' }),
  }
  const deps = { ...world.settlements, chains: [chain] }
  const { _id } = await createSettlement(deps, context, { companyId })
  await approveSettlement(deps, context, _id)
  await beginNaming(world, { companyId, id: _id }, txHash)
  for (const pay of [null, async (): Promise<SettlementReport> => REFUSED]) {
    await settlementPolls({ ...deps, chains: [{ ...chain, pay }] }).work(db, { companyId, id: _id })
    const { providerStatus, nextCheckAt } = (await findSettlement(db, _id)) ?? {}
    assert.match(providerStatus ?? '', new RegExp(`^Transaction ${txHash} was named for this`))
    assert.ok(nextCheckAt)
  }
  await assert.rejects(cancelSettlement(deps, context, _id), { code: 'OBJECT_CONFLICT' })
  const chainless = { ...deps, chains: [] }
  await assert.rejects(cancelSettlement(chainless, context, _id), { code: 'OBJECT_CONFLICT', message: CHAIN_GONE })
  await settlementPolls(chainless).work(db, { companyId, id: _id })
  assert.match((await findSettlement(db, _id))?.providerStatus ?? '', /is not set up; give it back \(CHAIN_\w+, \w+\)$/)
  assert.equal((await findSettlement(db, _id))?.status, 'approved')
  await cancelSettlement({ ...deps, chains: [{ ...chain, check: GONE }] }, context, _id)
  assert.deepEqual([(await findSettlement(db, _id))?.status, await isNamed(txHash)], ['cancelled', false])
})

test('what is named again while its chain is asked about it is neither rejected nor cancelled', async () => {
  const { context, key } = await startRefund(world)
  const { companyId, context: operator } = await startSettling(world)
  const [refunded, settled] = [`0x${'d7'.repeat(32)}`, `0x${'d8'.repeat(32)}`]
  const report = { outcome: 'pending', txHash: settled, providerStatus: 'not final yet' } as const
  const known: SettlementChain = { network: CHAIN, pay: null, watch: async () => null, check: async () => report }
  const settlements = { ...world.settlements, chains: [known] }
  const { _id: id } = await createSettlement(settlements, operator, { companyId })
  await approveSettlement(settlements, operator, id)
  const depsOf = (checkRefundTransaction: NonNullable<Channel['checkRefundTransaction']>) => ({
    ...world.refunds,
    channels: openChannels([walletOf({ checkRefundTransaction })]),
  })
  const nameRefund = async () =>
    reportTransaction(
      depsOf(async () => pending(refunded)),
      await read(world, key.id),
      refunded,
      context,
    )
  const nameSettlement = () => reportSettlementPaid(settlements, operator, id, settled)
  /** The chain does not know the transaction yet, and before that is heard its sender sends and names it again. */
  const overtaken = (nameAgain: () => Promise<unknown>) => async () => {
    world.clock.nowMs += 1
    await nameAgain()
    return GONE()
  }
  await Promise.all([nameRefund(), nameSettlement()])
  const deps = depsOf(overtaken(nameRefund))
  await assert.rejects(rejectRefund(deps, await read(world, key.id), 'gone', operator), { code: 'OBJECT_CONFLICT' })
  const chains = [{ ...known, check: overtaken(nameSettlement) }]
  await assert.rejects(cancelSettlement({ ...settlements, chains }, operator, id), { code: 'OBJECT_CONFLICT' })
  await followsTheNamed(key.id, refunded)
  assert.equal((await findSettlement(world.host.db, id))?.status, 'approved')
})

test('the refunds that one transaction pays are named at the same moment, by several persons', async () => {
  const { db } = world.host
  const txHash = `0x${'a7'.repeat(32)}`
  const started = await Promise.all(Array.from({ length: 8 }, () => startRefund(world)))
  const channel = walletOf({ checkRefundTransaction: async () => ({ ...pending(txHash), outcome: 'settled' }) })
  const deps = { ...world.refunds, channels: openChannels([channel]) }
  for (const [index, { key }] of started.entries())
    await db.run(sql`update refunds set address = ${`0x${`${index}`.repeat(40)}`} where id = ${key.id}`)
  await Promise.all(
    started.map(async ({ key, context }) => reportTransaction(deps, await read(world, key.id), txHash, context)),
  )
  const statuses = await Promise.all(started.map(async ({ key }) => (await read(world, key.id)).status))
  assert.deepEqual(new Set(statuses), new Set(['settled']))
})
