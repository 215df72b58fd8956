import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { nonceOf } from '../src/chain/payout/payout-deps.ts'
import type { Channel } from '../src/channels/channel.ts'
import { sql } from '../src/db/db.ts'
import { markRestored } from '../src/db/restored-queries.ts'
import { releaseClaims } from '../src/ledger/claim-queries.ts'
import { cancelSettlement, reportSettlementPaid, settlePaid } from '../src/ledger/settlements/settlement-end.ts'
import { settlementPolls } from '../src/ledger/settlements/settlement-jobs.ts'
import type { SettlementLimits } from '../src/ledger/settlements/settlement-limits.ts'
import { findSettlement } from '../src/ledger/settlements/settlement-queries.ts'
import {
  approveSettlement,
  createSettlement,
  type SettlementChain,
} from '../src/ledger/settlements/settlement-service.ts'
import { readSettlementStatement } from '../src/ledger/settlements/settlement-statement.ts'
import { settleByHand } from '../src/refunds/manual-refund.ts'
import { applyRefundReport, refundPolls } from '../src/refunds/refund-jobs.ts'
import { rejectRefund, reportTransaction } from '../src/refunds/refund-naming.ts'
import { wakeRefundsHandedOver } from '../src/refunds/waiting/wake-queries.ts'
import { actorOf, contextFor, DUE, type ModelWorld, personFor, startModelWorld } from './harness/model-world.ts'
import {
  BY_HAND,
  beginNaming,
  CHAIN,
  createPaid,
  GONE,
  pending,
  read,
  startRefund,
  startSettling,
  walletOf,
} from './harness/named-payouts.ts'
import { openChannels } from './harness/one-channel-set.ts'
import { noteReconciled } from './harness/restored.ts'

/* What a person was asked to send, or named, is not sent by the service. */
let world: ModelWorld
before(async () => {
  world = await startModelWorld()
})
after(() => world?.stop())

/** A node with the keys of the chain: it sends, or follows what it had signed, which is nothing. */
function keyedFor(deps: typeof world.refunds, check: NonNullable<Channel['checkRefundTransaction']>) {
  const sent: string[] = []
  const channel = walletOf({
    async refundPayment({ refundId, followOnly }) {
      if (followOnly) return BY_HAND
      sent.push(refundId)
      return { ...pending(''), txHash: null, providerStatus: 'Fund it.' }
    },
    checkRefundTransaction: check,
  })
  return { sent, deps: { ...deps, channels: openChannels([channel]) } }
}

for (const version of ['this', 'an earlier'])
  test(`a refund that a node of ${version} version asked a person to send is never sent, also after a wrong naming`, async () => {
    const { context, key } = await startRefund(world)
    const { db } = world.host
    const keyless = walletOf({ refundPayment: async () => BY_HAND })
    if (version === 'this') await refundPolls({ ...world.refunds, channels: openChannels([keyless]) }).work(db, key)
    else await db.run(sql`update refunds set last_words = 'send it by hand', next_check_at = null where id = ${key.id}`)
    const { sent, deps } = keyedFor(world.refunds, GONE)
    const typo = `0x${(version === 'this' ? '1a' : '1b').repeat(32)}`
    await assert.rejects(reportTransaction(deps, await read(world, key.id), typo, context), {
      code: 'VALIDATION_FAILED',
    })
    assert.ok((await read(world, key.id)).nextCheckAt)
    await refundPolls(deps).work(db, key)
    const { status, providerStatus, nextCheckAt } = await read(world, key.id)
    assert.deepEqual([sent, status, providerStatus, nextCheckAt], [[], 'ready', 'send it by hand', null])
  })

for (const isWaiting of [false, true])
  test(`a ${isWaiting ? 'waiting' : 'new'} refund is not sent while a transaction is named for it, and is once that was refused`, async () => {
    const { context, key } = await startRefund(world)
    const { db } = world.host
    const named = `0x${(isWaiting ? '2a' : '2b').repeat(32)}`
    const { sent, deps } = keyedFor(world.refunds, GONE)
    const poll = () => refundPolls(deps).work(db, key)
    if (isWaiting) await poll()
    const before = [...sent]
    await beginNaming(world, key, named)
    await poll()
    const { status, providerStatus, handedOverAt } = await read(world, key.id)
    assert.deepEqual([sent, status, handedOverAt], [before, isWaiting ? 'submitted' : 'ready', null])
    assert.match(providerStatus ?? '', new RegExp(`^Transaction ${named} was named for this`))
    await assert.rejects(reportTransaction(deps, await read(world, key.id), named, context), {
      code: 'VALIDATION_FAILED',
    })
    await poll()
    assert.deepEqual(sent, [...before, key.id])
  })

test('a settlement is not sent while a transaction is named for it, nor ever once a person was asked to send it', async () => {
  const { db } = world.host
  const { companyId, context } = await startSettling(world)
  let sent = 0
  const chain: SettlementChain = {
    ...{ network: CHAIN, watch: async () => null, check: GONE },
    async pay() {
      sent += 1
      return { outcome: 'pending', txHash: null, providerStatus: 'Fund it.' }
    },
  }
  const deps = { ...world.settlements, chains: [chain] }
  const { _id: id } = await createSettlement(deps, context, { companyId })
  await approveSettlement(deps, context, id)
  const named = `0x${'3a'.repeat(32)}`
  const poll = async (part: Partial<typeof deps> = {}) => {
    await settlementPolls({ ...deps, ...part }).work(db, { companyId, id })
    const { providerStatus, handedOverAt } = (await findSettlement(db, id)) ?? {}
    return {
      sent,
      isNamed: providerStatus?.startsWith(`Transaction ${named} was named`),
      handedOver: handedOverAt !== null,
    }
  }
  const release = () => db.tx((tx) => releaseClaims(tx, { companyId, network: CHAIN, causeId: id }))
  /** The person is faster than the last look at the books before sending. */
  const books = {
    ...deps.books,
    async findHold() {
      await beginNaming(world, { companyId, id }, named)
      return null
    },
  }
  assert.deepEqual(await poll({ books }), { sent: 0, isNamed: false, handedOver: false })
  assert.deepEqual(await poll(), { sent: 0, isNamed: true, handedOver: false })
  await assert.rejects(reportSettlementPaid(deps, context, id, named), { code: 'VALIDATION_FAILED' })
  assert.equal((await poll()).sent, 1)
  await beginNaming(world, { companyId, id }, named)
  assert.deepEqual(await poll({ chains: [{ ...chain, pay: null }] }), { sent: 1, isNamed: true, handedOver: true })
  await release()
  assert.deepEqual(await poll(), { sent: 1, isNamed: false, handedOver: true })
})

test('a settlement that a person is asked to send during the last look at the books is not sent', async () => {
  const { db } = world.host
  const { companyId, context } = await startSettling(world)
  let sent = 0
  const chain: SettlementChain = {
    ...{ network: CHAIN, watch: async () => null, check: GONE },
    async pay() {
      sent += 1
      return { outcome: 'pending', txHash: null, providerStatus: 'Fund it.' }
    },
  }
  const deps = { ...world.settlements, chains: [chain] }
  const { _id: id } = await createSettlement(deps, context, { companyId })
  await approveSettlement(deps, context, id)
  const books = {
    ...deps.books,
    async findHold() {
      await db.run(sql`update settlements set handed_over_at = now() where id = ${id}`)
      return null
    },
  }
  await settlementPolls({ ...deps, books }).work(db, { companyId, id })
  assert.equal(sent, 0)
  assert.match((await findSettlement(db, id))?.providerStatus ?? '', /^waits: a person sends it/)
})

test('a person is asked to send a settlement once all checks pass, which are repeated then; it counts in the day’s sum', async () => {
  const { db } = world.host
  const { companyId, context } = await startSettling(world)
  const chain: SettlementChain = { ...{ network: CHAIN, watch: async () => null, check: GONE }, pay: null }
  const deps = { ...world.settlements, chains: [chain] }
  const { _id: id } = await createSettlement(deps, context, { companyId })
  // where the keys are set up, approval leaves the day's limit to the poll
  const pay = () => Promise.reject(new Error('not called'))
  await approveSettlement({ ...deps, chains: [{ ...chain, pay }] }, context, id)
  const poll = async (part: Partial<typeof deps> = {}) => {
    await settlementPolls({ ...deps, ...part }).work(db, { companyId, id })
    const { providerStatus, handedOverAt, releasedAt } = (await findSettlement(db, id)) ?? {}
    const words = ['send it by hand', 'waits: the books differ', 'SETTLEMENT_DAY_LIMIT']
    return [words.find((one) => providerStatus?.includes(one)), handedOverAt !== null, releasedAt !== null]
  }
  const differ = { books: { ...deps.books, findHold: async () => 'the books differ' } }
  const limited = { limits: { ...deps.limits, dayLimitUnits: 1n } }
  assert.deepEqual(await poll(differ), ['waits: the books differ', false, false])
  assert.deepEqual(await poll(limited), ['SETTLEMENT_DAY_LIMIT', false, false])
  assert.deepEqual(await poll(), ['send it by hand', true, true])
  assert.deepEqual(await poll(differ), ['waits: the books differ', true, true])
  assert.deepEqual(await poll(limited), ['send it by hand', true, true])
})

test('a settlement is no larger than what may leave in a day, and one from before a lower limit is made again', async () => {
  const { db } = world.host
  const { companyId, context } = await startSettling(world)
  const chain: SettlementChain = { ...{ network: CHAIN, watch: async () => null, check: GONE }, pay: null }
  const within = (dayLimitUnits: bigint | null) => ({
    ...world.settlements,
    ...{ chains: [chain], limits: { ...world.settlements.limits, dayLimitUnits } },
  })
  const create = async (limit: bigint | null) => {
    const { _id: id, amount, heldBack } = await createSettlement(within(limit), context, { companyId })
    return { id, amount: BigInt(amount.replace('.', '')), heldBack }
  }
  const whole = await create(null)
  const limit = whole.amount - 1_500_000n
  const smaller = within(limit)
  await assert.rejects(
    approveSettlement(smaller, context, whole.id),
    /be paid: .*_DAY_LIMIT\). Cancel it and settle again/,
  )
  await cancelSettlement(smaller, context, whole.id)
  await assert.rejects(create(0n), /SETTLEMENT_DAY_LIMIT is 0/)
  await db.run(sql`update settlements set released_at = null`)
  const part = await create(limit)
  assert.deepEqual([whole.heldBack, part.amount, part.heldBack], [null, limit, '1.500000'])
  const settlement = await findSettlement(db, part.id)
  assert.ok(settlement)
  const { summary } = await readSettlementStatement(db, settlement, { after: null, limit: 10 })
  assert.equal(summary.heldBack, '-1.500000', 'the statement adds up')
  assert.equal((await approveSettlement(smaller, context, part.id)).status, 'approved')
  await assert.rejects(create(limit), new RegExp(part.id), 'one at a time')
  const approved = await findSettlement(db, part.id)
  assert.ok(approved)
  await settlePaid(smaller, approved, { txHash: null, providerStatus: 'sent' })
  const rest = await create(limit)
  assert.deepEqual([rest.amount, rest.heldBack], [1_500_000n, null])
  await assert.rejects(approveSettlement(smaller, context, rest.id), /left in the last 24 hours; .* Approve it later/)
})

test('a settlement that is approved while its manager cancels it is not cancelled by him', async () => {
  const { companyId, context } = await startSettling(world)
  const manager = contextFor(await personFor(world.host.db, { role: 'Manager', companyId }))
  const { _id } = await createSettlement(world.settlements, context, { companyId })
  const deps = {
    ...world.settlements,
    /** The operator is faster. */
    async findWithdrawalHold() {
      await approveSettlement(world.settlements, context, _id)
      return null
    },
  }
  await assert.rejects(cancelSettlement(deps, manager, _id), { code: 'OBJECT_CONFLICT' })
  assert.equal((await findSettlement(world.host.db, _id))?.status, 'approved')
})

test('settlements that are released at the same moment pass no limit of a day', async () => {
  const { db } = world.host
  let sent = 0
  const chain: SettlementChain = {
    ...{ network: CHAIN, watch: async () => null, check: GONE },
    async pay() {
      sent += 1
      return { outcome: 'settled', txHash: null, providerStatus: 'final' }
    },
  }
  const approved: { companyId: string; id: string }[] = []
  for (let count = 0; count < 8; count += 1) {
    const { companyId, context } = await startSettling(world)
    const deps = { ...world.settlements, chains: [chain] }
    const { _id: id } = await createSettlement(deps, context, { companyId })
    await approveSettlement(deps, context, id)
    approved.push({ companyId, id })
  }
  await db.run(sql`update settlements set released_at = null`)
  const limits = { ...world.settlements.limits, dayLimitUnits: DUE }
  let looking = approved.length
  const all = Promise.withResolvers<null>()
  /** The last look before the release. */
  const findOtherPayout = () => {
    looking -= 1
    if (looking === 0) all.resolve(null)
    return all.promise
  }
  const { work } = settlementPolls({ ...world.settlements, chains: [chain], limits, findOtherPayout })
  await Promise.all(approved.map((key) => work(db, key)))
  assert.equal(sent, 1)
})

test('what is paid by hand while a poll cannot sign it counts in the day’s sum', async () => {
  const { db } = world.host
  const { companyId, context } = await startSettling(world)
  const chain: SettlementChain = {
    ...{ network: CHAIN, watch: async () => null, check: GONE },
    async pay() {
      const approved = await findSettlement(db, id)
      assert.ok(approved)
      await settlePaid(deps, approved, { txHash: null, providerStatus: 'final' })
      return { outcome: 'pending', txHash: null, providerStatus: 'Fund it.' }
    },
  }
  const deps = { ...world.settlements, chains: [chain] }
  const { _id: id } = await createSettlement(deps, context, { companyId })
  await approveSettlement(deps, context, id)
  await settlementPolls(deps).work(db, { companyId, id })
  const { status, releasedAt } = (await findSettlement(db, id)) ?? {}
  assert.deepEqual([status, releasedAt !== null], ['paid', true])
})

test('a refund that is rejected while its poll looks at the books is not sent, and stays rejected', async () => {
  const { context, key } = await startRefund(world)
  const { sent, deps } = keyedFor(world.refunds, GONE)
  const books = {
    ...deps.books,
    async findHold() {
      await rejectRefund(deps, await read(world, key.id), 'not returned', context)
      return null
    },
  }
  await refundPolls({ ...deps, books }).work(world.host.db, key)
  const { status, nextCheckAt } = await read(world, key.id)
  assert.deepEqual([sent, status, nextCheckAt], [[], 'rejected', null])
})

test('a settlement that is cancelled while its poll looks at the books, or sends it, stays cancelled', async () => {
  const { db } = world.host
  const { companyId, context } = await startSettling(world)
  for (const isSending of [false, true]) {
    let sent = 0
    const cancel = () => cancelSettlement(deps, context, id)
    const chain: SettlementChain = {
      ...{ network: CHAIN, watch: async () => null, check: GONE },
      async pay() {
        sent += 1
        if (isSending) await cancel()
        return { outcome: 'pending', txHash: null, providerStatus: 'Fund it.' }
      },
    }
    const deps = { ...world.settlements, chains: [chain] }
    const { _id: id } = await createSettlement(deps, context, { companyId })
    await approveSettlement(deps, context, id)
    const books = {
      ...deps.books,
      async findHold() {
        if (!isSending) await cancel()
        return null
      },
    }
    await settlementPolls({ ...deps, books }).work(db, { companyId, id })
    assert.deepEqual([sent, (await findSettlement(db, id))?.status], [isSending ? 1 : 0, 'cancelled'])
  }
})

test('a refund that is over stays as it is when an answer from before says that it was paid', async () => {
  const { db } = world.host
  const SETTLED = { ...pending(''), outcome: 'settled', txHash: null } as const
  for (const end of ['rejected', 'settled']) {
    const { context, key, orderId } = await startRefund(world)
    const asked = await read(world, key.id)
    if (end === 'rejected') await rejectRefund(keyedFor(world.refunds, GONE).deps, asked, 'not returned', context)
    else await applyRefundReport(world.refunds, asked, SETTLED)
    const look = async () => [
      (await read(world, key.id)).status,
      await db.one(sql`select status, refunded_units as units from orders where id = ${orderId}`),
    ]
    const before = await look()
    await applyRefundReport(world.refunds, asked, SETTLED)
    assert.deepEqual([before[0], await look()], [end, before])
  }
})

test('a refund that a person is asked to send waits like any other, and is polled again after a loss and a restore', async () => {
  const { key, orderId } = await startRefund(world)
  const { db } = world.host
  const channels = openChannels([walletOf({ refundPayment: async () => BY_HAND, checkRefundTransaction: GONE })])
  const poll = async (hold: string | null = null) => {
    const books = { ...world.books, findHold: async () => hold }
    await refundPolls({ ...world.refunds, channels, books }).work(db, key)
    const { status, providerStatus, nextCheckAt, handedOverAt } = await read(world, key.id)
    return [status, providerStatus, nextCheckAt !== null, handedOverAt !== null]
  }
  const BY_PERSON = ['ready', 'send it by hand', false, true]
  const isPolled = async () => (await read(world, key.id)).nextCheckAt !== null
  assert.deepEqual(await poll(), BY_PERSON)
  await db.tx((tx) => wakeRefundsHandedOver(tx, { companyId: key.companyId, id: orderId }, new Date()))
  assert.equal(await isPolled(), true)
  assert.deepEqual(await poll('the money left'), ['ready', 'waits: the money left', true, true])
  assert.deepEqual(await poll(), BY_PERSON)
  await db.run(sql`insert into installation (mode, key_mark) values ('sandbox', 'x') on conflict do nothing`)
  await db.tx((tx) => markRestored(tx, { backupMadeAt: new Date(), restoredAt: new Date() }))
  assert.equal(await isPolled(), true)
  await noteReconciled(db)
})

/** What was signed for it on a chain that is not set up ran out three days ago. */
const runOut = (id: string, units: bigint) =>
  world.host.db.run(sql`
    insert into chain_payouts (id, chain_id, from_address, to_address, units, authorization_nonce, status, words,
      signature, valid_before, created_at, updated_at)
    values (${id}, ${CHAIN}, ${`0x${'d'.repeat(40)}`}, ${`0x${'c'.repeat(40)}`}, ${units}, ${nonceOf(id)}, 'reserved',
      'Fund it.', '0x', ${Math.floor(world.clock.nowMs / 1000) - 3 * 86_400}, now(), now())`)

test('what was signed for on a chain that was removed cannot be dropped, and says that the chain must come back', async () => {
  const { context, key } = await startRefund(world)
  const { companyId, context: operator } = await startSettling(world)
  const { db } = world.host
  const refunds = { ...world.refunds, channels: openChannels([]) }
  const chain: SettlementChain = { network: CHAIN, pay: null, watch: async () => null, check: GONE }
  const { _id: id } = await createSettlement({ ...world.settlements, chains: [chain] }, operator, { companyId })
  await approveSettlement({ ...world.settlements, chains: [chain] }, operator, id)
  const settlements = { ...world.settlements, chains: [] }
  await runOut(key.id, (await read(world, key.id)).units)
  await runOut(id, DUE)
  await settlementPolls(settlements).work(db, { companyId, id })
  assert.match((await findSettlement(db, id))?.providerStatus ?? '', /give it back \(CHAIN_\w+, \w+\)$/)
  const fault = {
    code: 'OBJECT_CONFLICT',
    message: /now\. Something was signed for it .* 31337 is not set up; give it/,
  }
  await assert.rejects(rejectRefund(refunds, await read(world, key.id), 'gone', context), fault)
  const proof = { reference: 'bank-2', statement: 'by bank', file: null }
  await assert.rejects(settleByHand(refunds, context, await read(world, key.id), proof), fault)
  await assert.rejects(cancelSettlement(settlements, operator, id), fault)
})

test('an address that is taken off the list is not paid, also once a person was asked to send', async () => {
  const { companyId, context } = await startSettling(world)
  const { db } = world.host
  const chain: SettlementChain = { network: CHAIN, pay: null, watch: async () => null, check: GONE }
  const deps = { ...world.settlements, chains: [chain] }
  const { _id: id } = await createSettlement(deps, context, { companyId })
  await approveSettlement(deps, context, id)
  const poll = async (limits: Partial<SettlementLimits> = {}): Promise<string> => {
    await settlementPolls({ ...deps, limits: { ...deps.limits, ...limits } }).work(db, { companyId, id })
    return (await findSettlement(db, id))?.providerStatus ?? ''
  }
  assert.match(await poll(), /send it by hand/)
  assert.match(await poll({ allowList: [`0x${'e'.repeat(40)}`] }), /^waits: .* \(SETTLEMENT_ALLOW_LIST\)$/)
  assert.match(await poll({ dayLimitUnits: 1n }), /send it by hand/, 'it counts in the day’s sum already')
})

test('what had gone to another address before a restore is named by a second person, where two approve', async () => {
  const { merchant } = await createPaid(world)
  const { db } = world.host
  await db.run(sql`
    update companies set settlement_address = ${`0x${'b'.repeat(40)}`}, settlement_network = ${CHAIN}
    where id = ${merchant.companyId}`)
  const approver = contextFor({ ...actorOf(merchant), role: 'SuperAdmin' })
  const other = contextFor({ ...actorOf(merchant), role: 'SuperAdmin', id: 'a'.repeat(24) })
  const txHash = `0x${'b7'.repeat(32)}`
  const left = { to: `0x${'c'.repeat(40)}`, units: DUE / 4n }
  const chain: SettlementChain = {
    ...{ network: CHAIN, pay: null, watch: async () => null },
    async check(_, named, accepts) {
      await accepts(left)
      return { outcome: 'settled', txHash: named, providerStatus: 'left', left }
    },
  }
  const deps = { ...world.settlements, chains: [chain] }
  const { _id } = await createSettlement(deps, approver, { companyId: merchant.companyId })
  await approveSettlement(deps, approver, _id)
  const from = (twoPersonsFromUnits: bigint) => ({ ...deps, limits: { ...deps.limits, twoPersonsFromUnits } })
  // also where what left is less than two approve, but not what was asked
  for (const limit of [1n, DUE / 2n])
    await assert.rejects(reportSettlementPaid(from(limit), approver, _id, txHash), /A second person has to name it/)
  assert.equal((await findSettlement(db, _id))?.status, 'approved')
  await reportSettlementPaid(from(1n), other, _id, txHash)
  const { status, leftUnits, leftTo } = (await findSettlement(db, _id)) ?? {}
  assert.deepEqual([status, leftUnits, leftTo], ['paid', left.units, left.to])
})
