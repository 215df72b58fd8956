import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pino from 'pino'
import { keccak256, parseTransaction } from 'viem/utils'
import { type Rpc, RpcError } from '../src/chain/endpoints/rpc.ts'
import { networkFor } from '../src/chain/networks.ts'
import { fillNonce } from '../src/chain/payout/account-nonces.ts'
import { agreeAlone } from '../src/chain/payout/agreement.ts'
import { PAYOUT_TIMES, type PayoutRequest } from '../src/chain/payout/payout.ts'
import { readChainView } from '../src/chain/payout/payout-view.ts'
import { readGasPrice } from '../src/chain/payout/relayer/gas-price.ts'
import { insertPayoutTransaction, listPayoutTransactions } from '../src/chain/payout/relayer/transaction-queries.ts'
import { sql } from '../src/db/db.ts'
import { ETHER, GWEI, type PayoutWorld, request, startPayoutWorld, VALID_SECONDS } from './harness/payout-world.ts'

/*
 * What a relayer's transactions pay, and what becomes of its account nonces, where a node loses what it took, hides
 * what waits, or takes no small tip.
 */

let world: PayoutWorld
before(async () => {
  world = await startPayoutWorld()
})
after(() => world?.stop())

test('a node that takes transactions and loses them raises no fee, and holds nothing up later', async () => {
  const { open } = await world.openWallet(15_000_000n)
  const asked = request()
  const payouts = open({ stuckBlocks: 1n, maxFeeWei: 50n * GWEI, validSeconds: 3600 })
  await world.mineAt(10n * GWEI)
  for (let poll = 0; poll < 60; poll += 1) {
    await payouts.send(asked)
    await world.chain.call('anvil_dropAllTransactions')
    await world.mineAt(10n * GWEI)
  }
  assert.equal((await world.feesOf(asked)).length, 1)
  const behind = request()
  for (let poll = 0; poll < 6; poll += 1) {
    for (const one of [asked, behind]) await payouts.send(one)
    await world.mineAt(10n * GWEI)
  }
  assert.deepEqual([(await world.rowOf(asked)).status, (await world.rowOf(behind)).status], ['final', 'final'])
})

test('a transaction that stays in the pool is replaced until its tip is ten times the present one', async () => {
  const { open } = await world.openWallet(15_000_000n)
  const asked = request()
  const payouts = open({ stuckBlocks: 0n, validSeconds: 3600 })
  await world.mineAt(GWEI)
  for (let poll = 0; poll < 60; poll += 1) await payouts.send(asked)
  const tips = await world.feesOf(asked)
  const [first = 0n, last = 0n] = [tips.at(0), tips.at(-1)]
  assert.ok(last > first * 5n && last <= first * 10n, `${tips.length} tips from ${first} to ${last}`)
  await world.chain.mine(4)
  assert.equal((await payouts.send(asked)).outcome, 'settled')
})

/** Each node is the chain's own, with something of another kind of node. */
const nodeWith = (changed: Record<string, (raw: `0x02${string}`, go: () => Promise<unknown>) => unknown>): Rpc => ({
  ...world.rpc,
  call: async <Result>(name: string, ...params: unknown[]): Promise<Result> => {
    const go = () => world.rpc.call<unknown>(name, ...params)
    return (await (changed[name]?.(params[0] as `0x02${string}`, go) ?? go())) as Result
  },
})

const hex = (wei: bigint): string => `0x${wei.toString(16)}`
/** What a node suggests, and what its blocks were paid. */
const tipOf = (suggested: bigint, paid = suggested) => ({
  eth_maxPriorityFeePerGas: () => hex(suggested),
  eth_feeHistory: () => ({ gasUsedRatio: [0.5, 0.5], reward: [[hex(paid)], [hex(paid)]] }),
})

/** Polygon's: suggests 30 gwei, and takes no tip below 25 (bor's txpool.pricelimit). */
const bor = (): Rpc =>
  nodeWith({
    ...tipOf(30n * GWEI),
    eth_sendRawTransaction: (raw, go) => {
      const { maxPriorityFeePerGas: tip = 0n } = parseTransaction(raw)
      if (tip >= 25n * GWEI) return go()
      throw new RpcError('definite', `transaction underpriced: gas tip cap ${tip}, minimum needed 25000000000`)
    },
  })

/** go-ethereum: a replacement needs a tenth more of both fees. */
function geth(): Rpc {
  const pool = new Map<number, { tip: bigint; most: bigint }>()
  return nodeWith({
    ...tipOf(30n * GWEI),
    eth_sendRawTransaction: async (raw, go) => {
      const { nonce = 0, maxPriorityFeePerGas: tip = 0n, maxFeePerGas: most = 0n } = parseTransaction(raw)
      const known = pool.get(nonce)
      if (known?.tip === tip && known.most === most) throw new RpcError('definite', 'already known')
      if (known && (tip * 10n < known.tip * 11n || most * 10n < known.most * 11n))
        throw new RpcError('definite', 'replacement transaction underpriced')
      const hash = await go()
      pool.set(nonce, { tip, most })
      return hash
    },
  })
}

/** Answers a duplicate with its hash, and shows nothing that is in no block. */
function quiet(): Rpc {
  const seen = new Set<string>()
  return nodeWith({
    eth_getTransactionByHash: async (_, go) => {
      const found = (await go()) as { blockHash: string | null } | null
      return found?.blockHash ? found : null
    },
    eth_sendRawTransaction: (raw, go) => {
      const hash = keccak256(raw)
      if (seen.has(hash)) return hash
      seen.add(hash)
      return go()
    },
  })
}

test('the account nonce of a payout that ran out is filled where the node takes no small tip', async () => {
  const { open } = await world.openWallet(15_000_000n)
  const payouts = open({ rpc: bor() })
  const both = [request(), request()]
  const [lost, behind] = both as [PayoutRequest, PayoutRequest]
  await payouts.send(lost)
  await world.chain.call('anvil_dropAllTransactions')
  await world.pass(VALID_SECONDS - 60)
  await payouts.send(behind)
  await world.pass(200)
  for (let poll = 0; poll < 10; poll += 1) {
    for (const one of both) await payouts.send(one)
    await world.chain.mine()
  }
  assert.deepEqual(
    (await Promise.all(both.map(world.rowOf))).map(({ status }) => status),
    ['final', 'final'],
  )
})

test('an expired transaction that waits for a lower base fee is replaced, and holds no other up', async () => {
  const { open, relayerSigner } = await world.openWallet(15_000_000n)
  const payouts = open({ rpc: geth(), maxFeeWei: 500n * GWEI })
  const both = [request(), request()]
  const [old, behind] = both as [PayoutRequest, PayoutRequest]
  await world.mineAt(30n * GWEI)
  await payouts.send(old)
  for (let poll = 0; poll < 12; poll += 1) {
    await world.mineAt(600n * GWEI) // dearer than the operator allows
    await payouts.send(old)
  }
  await world.pass(VALID_SECONDS - 100)
  await world.mineAt(200n * GWEI)
  await payouts.send(behind)
  await world.pass(200)
  for (let poll = 0; poll < 6; poll += 1) {
    await world.mineAt(600n * GWEI)
    for (const one of both) await payouts.send(one)
  }
  assert.deepEqual(await world.fillingsOf(relayerSigner, 0n), [], 'the operator’s limit holds for it too')
  for (let poll = 0; poll < 12; poll += 1) {
    await world.mineAt(200n * GWEI)
    for (const one of both) await payouts.send(one)
  }
  assert.deepEqual(
    (await Promise.all(both.map(world.rowOf))).map(({ status }) => status),
    ['final', 'final'],
  )
  assert.equal((await world.fillingsOf(relayerSigner, 0n)).length, 1)
})

test('what fills an account nonce is raised while no block takes it, on each node', async () => {
  const { open, relayerSigner } = await world.openWallet(15_000_000n)
  const lines: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
  const node = geth()
  const own = { rpc: node, log, maxFeeWei: 5000n * GWEI }
  const nodes = [open(own), open(own)]
  const both = [request(), request()]
  const [lost, behind] = both as [PayoutRequest, PayoutRequest]
  const look = async () => {
    for (const payouts of nodes) for (const one of both) await payouts.send(one)
  }
  await world.mineAt(30n * GWEI)
  await nodes[0]?.send(lost)
  await world.chain.call('anvil_dropAllTransactions')
  await world.pass(VALID_SECONDS - 100)
  await nodes[0]?.send(behind)
  await world.pass(200)
  await world.mineAt(100n * GWEI)
  for (let visit = 0; visit < 3; visit += 1) await look()
  assert.equal((await world.fillingsOf(relayerSigner, 0n)).length, 1, 'the same bytes again')
  for (const baseFee of [300n, 1500n]) {
    for (let block = 0; block < 10; block += 1) await world.mineAt(baseFee * GWEI)
    for (let visit = 0; visit < 3; visit += 1) await look()
  }
  const fees = await world.fillingsOf(relayerSigner, 0n)
  assert.equal(fees.length, 3)
  for (const [index, fee] of fees.entries()) assert.ok(index === 0 || fee * 8n >= (fees[index - 1] ?? 0n) * 9n)
  assert.deepEqual(lines, [])
  for (let poll = 0; poll < 5; poll += 1) {
    await world.mineAt(1500n * GWEI)
    await look()
  }
  for (let poll = 0; poll < 5; poll += 1) {
    await world.mineAt(30n * GWEI)
    await look()
  }
  assert.deepEqual(
    (await Promise.all(both.map(world.rowOf))).map(({ status }) => status),
    ['final', 'final'],
  )
})

test('an account nonce is used again after the highest tip was signed with it and every node has lost that', async () => {
  const { open } = await world.openWallet(15_000_000n)
  const refusing = nodeWith({
    eth_sendRawTransaction: () => Promise.reject(new RpcError('definite', 'transaction type not supported')),
  })
  const asked = request()
  await world.mineAt(GWEI)
  for (let poll = 0; poll < 60; poll += 1) {
    await open({ rpc: refusing, validSeconds: 3600 }).send(asked)
    // as an earlier version, which may run beside this one, stores it
    if (poll === 3)
      await world.db.run(sql`update chain_payout_transactions set signer_address = null where payout_id = ${asked.id}`)
  }
  const refused = await world.feesOf(asked)
  const [first = 0n, last = 0n] = [refused.at(0), refused.at(-1)]
  assert.deepEqual(
    refused,
    refused.toSorted((a, b) => Number(a - b)),
  )
  assert.ok(last > first * 5n && last < first * 12n, `${refused.length} tips from ${first} to ${last}`)
  for (let poll = 0; poll < 3; poll += 1) {
    await open({ validSeconds: 3600 }).send(asked)
    await world.chain.mine(4)
  }
  assert.equal((await world.rowOf(asked)).status, 'final', (await world.rowOf(asked)).words)
})

test('a gap that is being filled is no news each minute, one that cannot be filled is', async () => {
  const { relayerSigner } = await world.openWallet(0n)
  const network = networkFor({ chainId: world.chain.chainId, usdcAddress: world.chain.usdcAddress })
  const lines: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
  const fillAgainst = async (error: Error): Promise<string[]> => {
    lines.length = 0
    const node = nodeWith({ eth_sendRawTransaction: () => Promise.reject(error) })
    const deps = { ...{ db: world.db, rpc: node, network, relayerSigner, log, clock: Date.now }, ...PAYOUT_TIMES }
    await fillNonce(
      { ...deps, agree: agreeAlone(node), refundSigner: null },
      await readChainView(world.rpc, network),
      7n,
    )
    return lines
  }
  const refused = (words: string) => new RpcError('definite', `eth_sendRawTransaction: ${words}`, -32000)
  for (const words of ['already known', 'nonce too low: next nonce 8, tx nonce 7'])
    assert.deepEqual(await fillAgainst(refused(words)), [], words)
  assert.equal((await world.fillingsOf(relayerSigner, 7n)).length, 1)
  for (const words of ['replacement transaction underpriced', 'insufficient funds for gas * price + value']) {
    const [line, ...more] = await fillAgainst(refused(words))
    assert.match(line ?? '', /account nonces was not filled/)
    assert.deepEqual(more, [])
  }
  assert.equal((await world.fillingsOf(relayerSigner, 7n)).length, 3, 'a refused one is raised')
  await assert.rejects(fillAgainst(new RpcError('unknown', 'no answer in 10 s', null)), /no answer/)
  assert.equal((await world.fillingsOf(relayerSigner, 7n)).length, 3, 'a node that may have taken it is asked again')
})

test('a gap is filled by a relayer that can pay for it, and not for a payout’s data on another chain', async () => {
  const { relayerSigner } = await world.openWallet(0n)
  const plain = networkFor({ chainId: world.chain.chainId, usdcAddress: world.chain.usdcAddress })
  const network = { ...plain, hasDataFee: true }
  let paid = 0n
  let submitted = 0
  const node = nodeWith({
    eth_getBalance: () => hex(paid),
    // for each byte, and for what every transaction has
    eth_call: (call) => {
      const { data } = call as unknown as { data: string }
      return `0x${((BigInt(`0x${data.slice(74, 138)}`) * 100n + 1n) * GWEI).toString(16).padStart(64, '0')}`
    },
    eth_sendRawTransaction: (raw) => {
      submitted += 1
      return keccak256(raw)
    },
  })
  const deps = { db: world.db, rpc: node, network, relayerSigner, log: pino({ level: 'silent' }), clock: Date.now }
  const fill = async (): Promise<number> => {
    await fillNonce(
      { ...deps, ...PAYOUT_TIMES, agree: agreeAlone(node), refundSigner: null },
      await readChainView(world.rpc, plain),
      9n,
    )
    return submitted
  }
  await world.mineAt(1000n)
  // enough for 21 000 gas, were it not for its other fields on the other chain
  paid = GWEI
  assert.equal(await fill(), 0)
  const { tip, baseFee } = await readGasPrice(node)
  paid = 21_000n * (2n * baseFee + tip) + GWEI
  assert.equal(await fill(), 1)
})

test('a risen base fee is met where the node takes a duplicate and shows nothing that waits', async () => {
  const { open } = await world.openWallet(15_000_000n)
  const payouts = open({ rpc: quiet(), validSeconds: 3600 })
  const all = [request(), request(), request()]
  await world.mineAt(10n * GWEI)
  for (const one of all) await payouts.send(one)
  for (let poll = 0; poll < 30; poll += 1) {
    await world.mineAt(60n * GWEI)
    for (const one of all) await payouts.send(one)
  }
  assert.deepEqual(
    (await Promise.all(all.map(world.rowOf))).map(({ status }) => status),
    ['final', 'final', 'final'],
  )
  for (const one of all) assert.ok((await world.feesOf(one)).length <= 2)
})

/** One payout is raised up to the operator's limit, no block takes it, every node loses it, and it runs out. */
async function loseTheDearest(limit: bigint) {
  const wallet = await world.openWallet(15_000_000n)
  const payouts = wallet.open({ stuckBlocks: 0n, maxFeeWei: limit })
  const lost = request()
  await world.mineAt(GWEI)
  for (let poll = 0; poll < 18; poll += 1) await payouts.send(lost)
  const tips = await world.feesOf(lost)
  await world.chain.call('anvil_dropAllTransactions')
  return { ...wallet, lost, tips, normal: wallet.open({ maxFeeWei: limit }) }
}

test('after a payout that was raised up to the limit was lost, the relayer pays on at the same base fee', async () => {
  const { lost, tips, normal } = await loseTheDearest(6n * GWEI)
  assert.ok((tips.at(-1) ?? 0n) > 4n * GWEI, String(tips.at(-1)))
  await world.pass(VALID_SECONDS + 100)
  const next = request()
  for (let poll = 0; poll < 10; poll += 1) {
    await world.mineAt(GWEI)
    for (const one of [lost, next]) await normal.send(one)
  }
  const rows = await Promise.all([lost, next].map(world.rowOf))
  assert.deepEqual(
    rows.map(({ status }) => status),
    ['final', 'final'],
    rows.map(({ words }) => words).join(' | '),
  )
})

test('the same, with a payout that waits behind it', async () => {
  const { lost, normal, relayerSigner } = await loseTheDearest(6n * GWEI)
  const behind = request()
  await world.pass(VALID_SECONDS - 100)
  await world.mineAt(GWEI)
  await normal.send(behind)
  await world.pass(200)
  for (let poll = 0; poll < 18; poll += 1) {
    await world.mineAt(GWEI)
    for (const one of [lost, behind]) await normal.send(one)
  }
  await world.pass(VALID_SECONDS)
  for (let poll = 0; poll < 10; poll += 1) {
    await world.mineAt(GWEI)
    for (const one of [lost, behind]) await normal.send(one)
  }
  const rows = await Promise.all([lost, behind].map(world.rowOf))
  assert.deepEqual(
    [rows.map(({ status }) => status), (await world.fillingsOf(relayerSigner, 0n)).length],
    [['final', 'final'], 1],
    rows.map(({ words }) => words).join(' | '),
  )
})

test('an operator allowed more for a while: when that ended, the relayer pays on', async () => {
  const wallet = await world.openWallet(15_000_000n)
  const lost = request()
  const allowed = wallet.open({ stuckBlocks: 0n, maxFeeWei: 50n * GWEI })
  await world.mineAt(GWEI)
  for (let poll = 0; poll < 18; poll += 1) await allowed.send(lost)
  await world.chain.call('anvil_dropAllTransactions')
  await world.pass(VALID_SECONDS + 100)
  const normal = wallet.open({ maxFeeWei: 5n * GWEI })
  const next = request()
  for (let poll = 0; poll < 10; poll += 1) {
    await world.mineAt(GWEI)
    for (const one of [next, lost]) await normal.send(one)
  }
  const rows = await Promise.all([next, lost].map(world.rowOf))
  assert.deepEqual(
    rows.map(({ status }) => status),
    ['final', 'final'],
    rows.map(({ words }) => words).join(' | '),
  )
})

/** What the payment of one refund cost the relayer, and the row when it was sent. */
async function costOf(rpc: Rpc, options: { maxFeeWei?: bigint } = {}) {
  const { open, relayerSigner } = await world.openWallet(15_000_000n)
  const asked = request()
  const readPurse = async () => BigInt(await world.rpc.call<string>('eth_getBalance', relayerSigner.address, 'latest'))
  const before = await readPurse()
  await world.mineAt(GWEI)
  await open({ rpc, ...options }).send(asked)
  await world.chain.mine()
  return {
    cost: before - (await readPurse()),
    tips: await world.feesOf(asked),
    words: (await world.rowOf(asked)).words,
  }
}

/** Several nodes of one chain, the first of which is asked first. */
const nodesOf = (...nodes: Rpc[]): Rpc => ({ ...(nodes[0] ?? world.rpc), nodes: async () => nodes })

/** A proof of what the blocks were paid that only the chain's own node gives. */
async function payTips(tip: bigint): Promise<void> {
  const [from] = await world.rpc.call<string[]>('eth_accounts')
  const fees = { maxPriorityFeePerGas: hex(tip), maxFeePerGas: hex(1000n * GWEI) }
  await world.chain.call('eth_sendTransaction', { from, to: from, ...fees })
  await world.chain.mine()
}

test('a node that suggests a tip which no block was paid does not have the relayer pay it', async () => {
  await payTips(GWEI)
  const lying = nodeWith({ eth_maxPriorityFeePerGas: () => hex(60_000n * GWEI) })
  const { tips, cost } = await costOf(lying)
  assert.equal(tips.length, 1)
  assert.ok((tips[0] ?? 0n) <= 2n * GWEI, String(tips))
  assert.ok(cost < ETHER / 1000n, String(cost))
})

test('a node that also invents what blocks were paid is overruled by others, and alone pays no more than the ceiling', async () => {
  const lying = nodeWith(tipOf(60_000n * GWEI))
  const silent = nodeWith({ eth_maxPriorityFeePerGas: () => Promise.reject(new RpcError('unknown', 'no answer')) })
  for (const nodes of [
    [lying, world.rpc],
    [lying, world.rpc, world.rpc],
    [lying, silent, world.rpc],
  ]) {
    const { tips } = await costOf(nodesOf(...nodes))
    assert.equal(tips.length, 1)
    assert.ok((tips[0] ?? 0n) <= 2n * GWEI, String(tips))
  }
  const alone = await costOf(lying)
  assert.deepEqual([alone.tips, alone.cost], [[], 0n])
  assert.match(
    alone.words,
    /^Gas on Sandbox chain costs 6\d{4}\.\d{9} gwei, more than the 500\.000000000 that are allowed/,
  )
  assert.equal((await costOf(lying, { maxFeeWei: 70_000n * GWEI })).tips.length, 1, 'the operator allows more')
})

test('a node that invents a base fee neither stops a payout nor has it signed for more', async () => {
  const lying = nodeWith({
    eth_getBlockByNumber: async (_, go) => ({ ...((await go()) as object), baseFeePerGas: hex(60_000n * GWEI) }),
  })
  const { tips, words } = await costOf(nodesOf(lying, world.rpc, world.rpc))
  assert.equal(tips.length, 1, words)
})

test('where no block says what was paid, the node’s own suggestion stands up to the ceiling', async () => {
  for (const eth_feeHistory of [
    () => ({ gasUsedRatio: [0, 0], reward: [['0x0'], ['0x0']] }),
    () => Promise.reject(new RpcError('definite', 'the method eth_feeHistory does not exist', -32601)),
  ]) {
    const { tips } = await costOf(nodeWith({ ...tipOf(30n * GWEI), eth_feeHistory }))
    assert.deepEqual(tips, [30n * GWEI])
  }
})

test('bytes that are signed a second time are the newest of their payout, and not yet submitted', async () => {
  const { open, relayerSigner } = await world.openWallet(15_000_000n)
  const asked = request()
  await open().send(asked)
  const list = () => listPayoutTransactions(world.db, asked.id)
  const [first] = await list()
  assert.ok(first?.sentBlock)
  const own = { ...first, signerAddress: relayerSigner.address }
  const other = { ...own, txHash: keccak256('0x01'), relayerNonce: 1n, raw: '0x01' as const }
  for (const [index, one] of [other, own].entries())
    await world.db.tx((tx) =>
      insertPayoutTransaction(tx, world.chain.chainId, one, new Date(Date.now() + (index + 1) * 60_000)),
    )
  const newest = (await list()).at(-1)
  assert.deepEqual([newest?.txHash, newest?.sentBlock], [first.txHash, null])
})
