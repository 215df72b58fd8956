import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
import { getAddress } from 'viem/utils'
import { auditNextPage } from '../src/chain/deposits/deposit-audit.ts'
import { listBlocksAt } from '../src/chain/deposits/deposit-audit-queries.ts'
import { balanceCall } from '../src/chain/payout/usdc-token.ts'
import { openDepositChecks } from '../src/channels/crypto/deposit-checks.ts'
import { rescanAll } from '../src/commands/rescan.ts'
import { sql } from '../src/db/db.ts'
import { checkBeforeEnd, type DepositCheckDeps } from '../src/payments/deposit-checks.ts'
import { type ScannedChain, startScannedChain } from './harness/scanned-nodes.ts'

/* Node 1 hides a payment, and node 2, which shows it, does not answer for a while: node 1 alone decides nothing. */

let world: ScannedChain
before(async () => {
  world = await startScannedChain()
  await world.chain.mine(20)
})
after(() => world?.stop())

/** "over rate limit" */
const TOO_OFTEN = -32016
const ZERO = `0x${'0'.repeat(64)}`

type Nodes = Awaited<ReturnType<ScannedChain['openNodes']>>
type Question = { method: string; params: unknown[] }
type Log = { topics: string[] }

/** The service missed it, as node 1 hides it wherever it can. */
async function payHidden(nodes: Nodes, units: bigint): Promise<string> {
  const address = (await world.payNew(units)).toLowerCase()
  await nodes.lookOn(2)
  await world.db.run(sql`delete from chain_transfers where to_address = ${address}`)
  hide(nodes, address)
  return address
}

function hide(nodes: Nodes, address: string): void {
  nodes.proxy(1).heal()
  nodes.proxy(1).faults.alter = ({ method, params }, result) => {
    if (method === 'eth_call') return isBalance(params, address) ? ZERO : result
    return method === 'eth_getLogs' ? (result as Log[]).filter(({ topics }) => !isTo(topics, address)) : result
  }
}

const isBalance = ([call]: unknown[], address: string): boolean =>
  JSON.stringify(call) === JSON.stringify(balanceCall(world.network, address))

const isTo = (topics: string[], address: string): boolean => topics[2]?.endsWith(address.slice(2)) ?? false

function refuse(nodes: Nodes, refuses: (question: Question) => boolean): void {
  const { faults } = nodes.proxy(2)
  faults.refusalCode = TOO_OFTEN
  faults.refuses = refuses
}

const refusesLogs = ({ method }: Question): boolean => method === 'eth_getLogs'
const refusesAll = ({ method }: Question): boolean => method === 'eth_getLogs' || method === 'eth_call'

function openChecks({ endpoints }: Nodes) {
  const lines: { level: number; msg: string }[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const reader = { db: world.db, network: world.network, endpoints, log }
  const checks = openDepositChecks([reader])
  return {
    reader,
    /** Of these addresses, those whose orders do not expire. */
    held: (...addresses: string[]) => checks.auditDeposits(world.chain.chainId, addresses),
    alarms: () => lines.filter(({ level }) => level >= 50).map(({ msg }) => msg),
    warnings: () => lines.filter(({ level }) => level === 40).map(({ msg }) => msg),
  }
}

const differencesOf = (address: string) =>
  world.db.many<{ balanceUnits: string; isClosed: boolean }>(sql`
    select balance_units, closed_at is not null as is_closed from deposit_differences where address = ${address}`)

const roundsDone = async (): Promise<boolean> =>
  (
    await world.db.one<{ isDone: boolean }>(sql`
    select audited_at is not null and audit_cursor = '' as is_done from chain_heads`)
  ).isDone

const DIFFERS = 'ALARM: a deposit balance differs from the recorded transfers'

for (const [name, refuses] of [
  ['balances too', refusesAll],
  ['logs alone', refusesLogs],
] as const)
  test(`a payment that node 1 hides holds its order while node 2 refuses ${name}, also paused`, async (t) => {
    const nodes = await world.openNodes(t, 2)
    const address = await payHidden(nodes, 300n)
    refuse(nodes, refusesLogs)
    const { held, alarms } = openChecks(nodes)
    assert.deepEqual(await held(address), [address])
    refuse(nodes, refuses)
    for (let round = 0; round < 3; round += 1) {
      await assert.rejects(async () => nodes.endpoints.all[1]?.rpc.call('eth_getLogs', {}))
      assert.equal(nodes.faults()[1], 'down')
      assert.deepEqual(await held(address), [address])
    }
    assert.deepEqual([await differencesOf(address), alarms()], [[], []])
    nodes.proxy(2).heal()
    assert.deepEqual(await held(address), [])
    assert.deepEqual(await world.seen(address), ['300 seen'])
  })

test('an open difference is not closed on the word of node 1 while node 2 is silent', async (t) => {
  const nodes = await world.openNodes(t, 2)
  const address = await payHidden(nodes, 301n)
  // its logs lack the payment, and it shows the balance
  nodes.proxy(2).faults.hidesLogs = true
  nodes.proxy(1).heal()
  nodes.proxy(1).faults.hidesLogs = true
  const { held } = openChecks(nodes)
  await held(address)
  assert.deepEqual(await differencesOf(address), [{ balanceUnits: '301', isClosed: false }])
  hide(nodes, address)
  nodes.proxy(2).heal()
  refuse(nodes, refusesAll)
  assert.deepEqual(await held(address), [address])
  assert.deepEqual(await differencesOf(address), [{ balanceUnits: '301', isClosed: false }])
})

test('node 2 shows the balance, and refuses all that follows in the same audit: node 1 explains nothing', async (t) => {
  const nodes = await world.openNodes(t, 2)
  const address = await payHidden(nodes, 302n)
  let isShown = false
  refuse(nodes, (question) => {
    if (isShown || question.method !== 'eth_call') return refusesAll(question)
    isShown = isBalance(question.params, address)
    return false
  })
  const { held } = openChecks(nodes)
  assert.deepEqual(await held(address), [address])
  assert.deepEqual([isShown, await differencesOf(address)], [true, []])
})

test('a rescan asks a node that failed a moment ago, and fails if it does not answer', async (t) => {
  const nodes = await world.openNodes(t, 2)
  const address = await payHidden(nodes, 303n)
  const { reader } = openChecks(nodes)
  const head = (await world.head()) ?? 0n
  refuse(nodes, refusesAll)
  const again = () => rescanAll(reader, { from: 0n, to: head }, () => {})
  for (let round = 0; round < 2; round += 1)
    await assert.rejects(again(), { name: 'RpcError', kind: 'unknown', endpoint: 2 })
  assert.equal(nodes.faults()[1], 'down')
  nodes.proxy(2).heal()
  assert.equal((await again()).missed, 1)
  assert.deepEqual(await world.seen(address), ['303 seen'])
})

test('a lasting refusal holds one order, not the others nor the hourly round, and alarms after an hour', async (t) => {
  const nodes = await world.openNodes(t, 2)
  const other = (await world.payNew(5n)).toLowerCase()
  const address = await payHidden(nodes, 304n)
  refuse(nodes, refusesLogs)
  const { reader, held, alarms, warnings } = openChecks(nodes)
  const round = () => auditNextPage(reader, Date.now())
  while (await round());
  assert.equal(await roundsDone(), true)
  assert.deepEqual(warnings(), [
    'deposit addresses cannot be compared with their chain now; the next round compares them again',
  ])
  assert.deepEqual(await held(other, address), [address])
  assert.deepEqual([await differencesOf(address), alarms()], [[], []])
  await world.db.run(sql`update deposit_doubts set since = since - interval '1 hour'`)
  for (let repeat = 0; repeat < 2; repeat += 1) assert.deepEqual(await held(other, address), [address])
  assert.deepEqual(await differencesOf(address), [{ balanceUnits: '0', isClosed: false }])
  assert.deepEqual(alarms(), [DIFFERS])
  nodes.proxy(2).heal()
  assert.deepEqual(await held(other, address), [])
  assert.deepEqual(await world.seen(address), ['304 seen'])
  assert.equal((await world.db.many(sql`select 1 from deposit_doubts where address = ${address}`)).length, 0)
})

test('a deposit that never happened alarms at once, though a node refuses logs', async (t) => {
  const nodes = await world.openNodes(t, 2)
  const address = (await world.payNew(305n)).toLowerCase()
  await nodes.lookOn(2)
  await world.db.run(sql`update chain_transfers set units = 605 where to_address = ${address}`)
  refuse(nodes, refusesLogs)
  const { held, alarms } = openChecks(nodes)
  await held(address)
  assert.deepEqual(await differencesOf(address), [{ balanceUnits: '305', isClosed: false }])
  assert.deepEqual(alarms(), [DIFFERS])
})

test('what left is no difference while no node says what left', async (t) => {
  const nodes = await world.openNodes(t, 1)
  const address = (await world.payNew(306n)).toLowerCase()
  await world.chain.call('anvil_impersonateAccount', address)
  await world.chain.call('anvil_setBalance', address, '0xde0b6b3a7640000')
  await world.chain.pay({ to: world.chain.payer, units: 306n, from: address })
  await nodes.lookOn(2)
  const { held, alarms } = openChecks(nodes)
  const { faults } = nodes.proxy(1)
  faults.refusalCode = TOO_OFTEN
  faults.refuses = refusesLogs
  assert.deepEqual(await held(address), [address])
  assert.deepEqual([await differencesOf(address), alarms()], [[], []])
  nodes.proxy(1).heal()
  assert.deepEqual(await held(address), [])
  assert.deepEqual(await differencesOf(address), [{ balanceUnits: '0', isClosed: true }])
})

test('one of two nodes that is gone for good holds no order whose balance is as recorded', async (t) => {
  const nodes = await world.openNodes(t, 2)
  const address = (await world.payNew(307n)).toLowerCase()
  await nodes.lookOn(2)
  nodes.proxy(2).faults.status = 503
  const { held } = openChecks(nodes)
  for (let round = 0; round < 2; round += 1) assert.deepEqual(await held(address), [])
})

/** Its backend is a block behind, and refuses what is beyond it in so many words. */
function fallBehind(nodes: Nodes, head: bigint): void {
  const { faults } = nodes.proxy(2)
  faults.refusalCode = -32000
  faults.knowsUpTo = head - 1n
  faults.refuses = ({ method, params: [which] }) =>
    method === 'eth_call' || (method === 'eth_getLogs' && BigInt((which as { toBlock: string }).toBlock) >= head)
}

test('node 2 showed what node 1 hides, and is a block behind now: nothing is settled, nor is a rescan a success', async (t) => {
  const nodes = await world.openNodes(t, 2)
  const address = await payHidden(nodes, 400n)
  const head = (await world.head()) ?? assert.fail()
  refuse(nodes, refusesLogs)
  const { reader, held } = openChecks(nodes)
  assert.deepEqual(await held(address), [address])
  fallBehind(nodes, head)
  for (let round = 0; round < 2; round += 1) assert.deepEqual(await held(address), [address])
  assert.deepEqual(await differencesOf(address), [])
  // without the payment itself, which is in the newest block
  const since = { from: head, to: head }
  await assert.rejects(
    rescanAll(reader, since, () => {}),
    { endpoint: 2, kind: 'unknown' },
  )
  nodes.proxy(2).heal()
  assert.deepEqual(await held(address), [])
  assert.deepEqual(await world.seen(address), ['400 seen'])
})

/** A node showed 401 that no log shows. */
async function openDifference(nodes: Nodes): Promise<string> {
  const address = await payHidden(nodes, 401n)
  nodes.proxy(1).heal()
  for (const number of [1, 2]) nodes.proxy(number).faults.hidesLogs = true
  await openChecks(nodes).held(address)
  assert.deepEqual(await differencesOf(address), [{ balanceUnits: '401', isClosed: false }])
  hide(nodes, address)
  nodes.proxy(2).heal()
  return address
}

test('an open difference is not closed by node 1 while node 2 refuses everything in so many words', async (t) => {
  const nodes = await world.openNodes(t, 2)
  const address = await openDifference(nodes)
  const { faults } = nodes.proxy(2)
  faults.refusalCode = -32000
  faults.refuses = refusesAll
  assert.deepEqual(await openChecks(nodes).held(address), [address])
  assert.deepEqual(await differencesOf(address), [{ balanceUnits: '401', isClosed: false }])
})

test('nor while node 2 says no balance, and keeps logs from a later block on', async (t) => {
  const nodes = await world.openNodes(t, 2)
  const address = await openDifference(nodes)
  await world.chain.mine(3)
  await nodes.lookOn(1)
  const head = (await world.head()) ?? assert.fail()
  expireLogs(nodes, head)
  const { faults } = nodes.proxy(2)
  const { refuses } = faults
  faults.refuses = (question) => question.method === 'eth_call' || (refuses?.(question) ?? false)
  assert.deepEqual(await openChecks(nodes).held(address), [address])
  assert.deepEqual(await differencesOf(address), [{ balanceUnits: '401', isClosed: false }])
})

function expireLogs(nodes: Nodes, kept: bigint): void {
  const { faults } = nodes.proxy(2)
  faults.refusalCode = 4444
  faults.refuses = ({ method, params: [which] }) =>
    method === 'eth_getLogs' && BigInt((which as { fromBlock?: string }).fromBlock ?? kept) < kept
}

test('a node that expired old logs is read again from the first block on that it keeps', async (t) => {
  const nodes = await world.openNodes(t, 2)
  const address = await payHidden(nodes, 403n)
  const head = (await world.head()) ?? assert.fail()
  expireLogs(nodes, head - 3n)
  const { reader } = openChecks(nodes)
  assert.equal((await rescanAll(reader, { from: 0n, to: head }, () => {})).missed, 1)
  assert.deepEqual(await world.seen(address), ['403 seen'])
})

type Asked = { from: bigint; to: bigint; topics: unknown }

const PRUNED = {
  'refuses only those in which something fits': (paidIn: bigint, old: string) => (asked: Asked) =>
    asked.from <= paidIn && paidIn <= asked.to && JSON.stringify(asked.topics).includes(old.slice(2)),
  'expires more while it is read': (paidIn: bigint) => {
    let questions = 0n
    const edge = (): bigint => paidIn + 1n + (questions < 15n ? questions : 15n) / 3n
    return ({ from }: Asked) => {
      questions += 1n
      return from < edge()
    }
  },
}

for (const [how, open] of Object.entries(PRUNED))
  test(`a node that expired old logs, and ${how}, shows what it keeps`, async (t) => {
    const nodes = await world.openNodes(t, 2)
    const old = (await world.payNew(404n)).toLowerCase()
    await nodes.lookOn(2)
    const paidIn = (await world.head()) ?? assert.fail()
    await world.chain.mine(20)
    const recent = await payHidden(nodes, 405n)
    const refuses = open(paidIn, old)
    const { faults } = nodes.proxy(2)
    faults.refusalCode = 4444
    faults.refuses = ({ method, params: [which] }) => {
      if (method !== 'eth_getLogs') return false
      const { fromBlock, toBlock, topics } = which as { fromBlock?: string; toBlock?: string; topics?: unknown }
      if (!fromBlock || !toBlock) return false
      return refuses({ from: BigInt(fromBlock), to: BigInt(toBlock), topics })
    }
    const named: number[] = []
    const onRefused = ({ number }: { number: number }): void => void named.push(number)
    const range = { from: paidIn - 5n, to: (await world.head()) ?? assert.fail() }
    const { missed } = await rescanAll({ ...openChecks(nodes).reader, onRefused }, range, () => {})
    assert.deepEqual([missed, new Set(named)], [1, new Set([2])])
    assert.deepEqual(await world.seen(recent), ['405 seen'])
  })

test('after a restart while node 2 is silent, what node 1 hides stays unsure, and an open difference open', async (t) => {
  const nodes = await world.openNodes(t, 2)
  const differing = await openDifference(nodes)
  const unsure = await payHidden(nodes, 404n)
  refuse(nodes, refusesLogs)
  assert.deepEqual(await openChecks(nodes).held(unsure), [unsure])
  nodes.proxy(1).faults.alter = ({ method, params }, result) => {
    if (method === 'eth_call') return [unsure, differing].some((one) => isBalance(params, one)) ? ZERO : result
    return method === 'eth_getLogs' ? [] : result
  }
  const [, second] = nodes.endpoints.all
  assert.ok(second)
  const stays = async (): Promise<void> => {
    const { held } = openChecks(nodes)
    assert.deepEqual(await held(unsure, differing), [unsure, differing])
    assert.deepEqual(await differencesOf(differing), [{ balanceUnits: '401', isClosed: false }])
    assert.deepEqual(await differencesOf(unsure), [])
  }
  // it did not prove its token since the start
  nodes.proxy(2).faults.status = 503
  second.unproven = true
  await stays()
  second.unproven = false
  second.noteWrong('foreign')
  await stays()
  const { reader, warnings } = openChecks(nodes)
  const head = (await world.head()) ?? 0n
  await assert.rejects(
    rescanAll(reader, { from: head, to: head }, () => {}),
    {
      ...{ endpoint: 2, message: 'endpoint 2: its answers are ignored (foreign)' },
    },
  )
  assert.deepEqual(warnings(), [])
})

test('what a later block left open holds its order while the head is rewound', async (t) => {
  const nodes = await world.openNodes(t, 2)
  const even = (await world.payNew(6n)).toLowerCase()
  await world.chain.mine(8)
  const differing = await openDifference(nodes)
  const unsure = await payHidden(nodes, 405n)
  const { held } = openChecks(nodes)
  refuse(nodes, refusesLogs)
  assert.deepEqual(await held(unsure), [unsure])
  await world.db.run(sql`update deposit_doubts set since = since - interval '1 hour'`)
  assert.deepEqual(await held(unsure), [unsure])
  nodes.proxy(2).heal()
  const { number, hash } = await world.db.one<{ number: bigint; hash: string }>(sql`
    select number, hash from chain_heads`)
  const rewindTo = (to: { number: bigint; hash: string }) =>
    world.db.run(sql`update chain_heads set number = ${to.number}, hash = ${to.hash}`)
  const below = (await listBlocksAt(world.db, world.chain.chainId, [number - 8n]))[0] ?? assert.fail()
  await rewindTo(below)
  assert.deepEqual(await held(even, unsure, differing), [unsure, differing])
  assert.deepEqual(await held(unsure), [unsure])
  await rewindTo({ number, hash })
  assert.deepEqual(await held(even, unsure, differing), [])
  assert.deepEqual(await world.seen(unsure), ['405 seen'])
})

test('the third of three nodes is asked for what the first hides, where the second does not answer', async (t) => {
  const nodes = await world.openNodes(t, 3)
  const address = await payHidden(nodes, 402n)
  nodes.proxy(2).faults.status = 503
  const { held } = openChecks(nodes)
  await held(address)
  assert.deepEqual(await world.seen(address), ['402 seen'])
})

test('only the order of the unsure address is held before it ends, in whichever letters it is kept', async (t) => {
  const nodes = await world.openNodes(t, 2)
  const other = await world.payNew(5n)
  const hidden = await payHidden(nodes, 308n)
  refuse(nodes, refusesLogs)
  const { reader } = openChecks(nodes)
  const companyId = 'c'.repeat(24)
  for (const [id, address] of [
    ['a'.repeat(24), getAddress(other)],
    ['b'.repeat(24), getAddress(hidden)],
  ] as const)
    await world.db.run(sql`
      insert into payments (company_id, id, order_id, number, channel, own_account, status, merchant_reference,
        due_asset, due_units, deposit_address, network, opened_at, updated_at)
      values (${companyId}, ${id}, ${id}, 1, 'crypto', true, 'awaiting', ${id}, 'USDC', 1, ${address},
        ${world.chain.chainId}, now(), now())`)
  const orders = ['a', 'b'].map((letter) => ({ companyId, id: letter.repeat(24) }))
  const deps = { db: world.db, clock: Date.now, deposits: openDepositChecks([reader]) } as unknown as DepositCheckDeps
  assert.deepEqual(await checkBeforeEnd(deps, orders), orders.slice(0, 1))
})
