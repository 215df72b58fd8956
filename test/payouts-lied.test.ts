import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import pino from 'pino'
import { keccak256, stringToHex } from 'viem/utils'
import { word } from '../sandbox/chain/rpc.ts'
import { DEPLOYER } from '../sandbox/chain/throwaway-keys.ts'
import { mint } from '../sandbox/chain/token.ts'
import { openEndpoints } from '../src/chain/endpoints/endpoints.ts'
import { createRpc, type Rpc, RpcError } from '../src/chain/endpoints/rpc.ts'
import { networkFor, tokenOf } from '../src/chain/networks.ts'
import { openAgree } from '../src/chain/payout/agreement.ts'
import { checkManualTransfer } from '../src/chain/payout/manual-transfer.ts'
import { openPayouts, PAYOUT_TIMES, type PayoutRequest, type Payouts, workOn } from '../src/chain/payout/payout.ts'
import { nonceOf } from '../src/chain/payout/payout-deps.ts'
import { claimPayout } from '../src/chain/payout/payout-queries.ts'
import { insertRelayed } from '../src/chain/payout/relayer/relayed-queries.ts'
import { localSigner, type Signer } from '../src/chain/payout/signer.ts'
import { authorizationData, authorizedTransferData } from '../src/chain/payout/usdc-token.ts'
import { blockCall, TRANSFER_TOPIC, toTopic } from '../src/chain/transfer-logs.ts'
import { type Db, openDb, sql } from '../src/db/db.ts'
import { newId } from '../src/kernel/ids.ts'
import { startTestChain, type TestChain } from './harness/chain.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'
import { type RpcProxy, startRpcProxy } from './harness/rpc-proxy.ts'

/** Payouts where one of two endpoints lies. What the engine does on an honest chain is in payouts.test.ts. */

let chain: TestChain
let database: TestDatabase
let db: Db
let rpc: Rpc
let refundSigner: Signer
let relayerSigner: Signer

const newKey = (): string => `0x${randomBytes(32).toString('hex')}`

type Options = Partial<Parameters<typeof openPayouts>[0]>

const open = (options: Options): Payouts =>
  openPayouts({
    ...{ db, rpc, refundSigner, relayerSigner, clock: Date.now, log: pino({ level: 'silent' }) },
    network: networkFor({ chainId: chain.chainId, usdcAddress: chain.usdcAddress }),
    ...options,
  })

before(async () => {
  ;[chain, database] = await Promise.all([startTestChain(), createTestDatabase()])
  db = openDb({ connectionString: database.connectionString })
  rpc = createRpc({ url: chain.rpcUrl })
  refundSigner = localSigner(newKey())
  relayerSigner = localSigner(newKey())
  await mint(chain.call, refundSigner.address, 1_000_000_000n)
  await chain.call('anvil_setBalance', relayerSigner.address, '0x8ac7230489e80000')
})
after(async () => {
  await rpc?.close()
  await db?.close()
  await database?.drop()
  await chain?.stop()
})

const request = (): PayoutRequest => ({
  id: newId(),
  to: localSigner(newKey()).address.toLowerCase(),
  units: 1_500_000n,
})
const rowOf = (id: string) =>
  db.one<{ relayerNonce: bigint | null }>(sql`select relayer_nonce from chain_payouts where id = ${id}`)
const issuer = async (data: string): Promise<void> => {
  await chain.call('eth_sendTransaction', { from: DEPLOYER, to: chain.usdcAddress, data })
  await chain.mine()
}
const settle = async (asked: PayoutRequest, payouts: Payouts) => {
  await chain.mine(3)
  return payouts.send(asked)
}

/** Two endpoints, of which the first may lie. */
async function withTwo(
  work: (two: { liar: RpcProxy; options: Required<Pick<Options, 'rpc' | 'agree'>> }) => Promise<void>,
) {
  const liar = await startRpcProxy(chain.rpcUrl)
  const rpcs = [createRpc({ url: liar.url }), createRpc({ url: chain.rpcUrl })]
  const network = networkFor({ chainId: chain.chainId, usdcAddress: chain.usdcAddress })
  const endpoints = openEndpoints(network, rpcs, { clock: Date.now })
  const agree = openAgree({ endpoints, network, log: pino({ level: 'silent' }) })
  try {
    await work({ liar, options: { rpc: endpoints.rpc, agree } })
  } finally {
    await Promise.all([...rpcs.map((one) => one.close()), liar.stop()])
  }
}

/** Shows a transaction as mined five blocks ago, with the authorization and the transfer that is asked about. */
async function showsPaid({ id, to, units }: PayoutRequest): Promise<RpcProxy['faults']['alter']> {
  await chain.mine(6)
  const [block] = await rpc.batch<{ hash: string; number: string }>([blockCall((await chain.blockNumber()) - 5n)])
  const from = toTopic(refundSigner.address)
  const used = [keccak256(stringToHex('AuthorizationUsed(address,bytes32)')), from, keccak256(stringToHex(id))]
  const logs = [
    { address: chain.usdcAddress, topics: used, data: '0x', logIndex: '0x0' },
    {
      address: chain.usdcAddress,
      topics: [TRANSFER_TOPIC, from, toTopic(to)],
      data: `0x${word(units)}`,
      logIndex: '0x1',
    },
  ]
  return ({ method, params }, result) => {
    if (method !== 'eth_getTransactionReceipt') return result
    const place = { transactionHash: params[0], blockHash: block?.hash, blockNumber: block?.number }
    return { ...place, status: '0x1', logs: logs.map((log) => ({ ...log, ...place })) }
  }
}

test('one of two endpoints that shows a payment which never was settles neither a payout nor what a person names', () =>
  withTwo(async ({ liar, options }) => {
    const network = networkFor({ chainId: chain.chainId, usdcAddress: chain.usdcAddress })
    const [asked, named] = [request(), request()]
    const lied = open(options)
    liar.faults.alter = await showsPaid(asked)
    assert.equal((await lied.send(asked)).outcome, 'pending')
    const seen = await lied.send(asked)
    assert.deepEqual([seen.outcome, await chain.balanceOf(asked.to)], ['pending', 0n])
    assert.match(seen.providerStatus, /do not agree about it yet/)
    liar.faults.alter = await showsPaid(named)
    const check = () =>
      checkManualTransfer(
        { db, clock: Date.now, network, watchPayout: async () => null, ...options },
        named,
        `0x${randomBytes(32).toString('hex')}`,
      )
    await assert.rejects(check(), /has nodes that do not agree about it, so the transaction cannot be checked/)
    liar.heal()
    await assert.rejects(check(), { code: 'VALIDATION_FAILED' })
    assert.equal((await settle(asked, lied)).outcome, 'settled')
    assert.equal(await chain.balanceOf(asked.to), asked.units)
  }))

test('one of two endpoints that shows more than had left before a restore is not believed; the chain says it', () =>
  withTwo(async ({ liar, options }) => {
    const network = networkFor({ chainId: chain.chainId, usdcAddress: chain.usdcAddress })
    const asked = request()
    const payouts = open(options)
    await payouts.send(asked)
    const { txHash } = await settle(asked, payouts)
    await db.run(sql`delete from chain_payout_transactions where payout_id = ${asked.id}`)
    await db.run(sql`delete from chain_payouts where id = ${asked.id}`)
    const grown = { ...asked, units: 9_000_000n, accepts: async () => {} }
    await payouts.send(grown)
    liar.faults.alter = ({ method }, result) => {
      if (method !== 'eth_getTransactionReceipt') return result
      const { logs, ...receipt } = result as { logs: { topics: string[] }[] }
      const shown = logs.map((log) => (log.topics[0] === TRANSFER_TOPIC ? { ...log, data: `0x${word(8n)}` } : log))
      return { ...receipt, logs: shown }
    }
    const check = () =>
      checkManualTransfer(
        { db, clock: Date.now, network, payouts, watchPayout: async () => null, ...options },
        grown,
        txHash ?? '',
      )
    await assert.rejects(check(), /has nodes that do not agree about it/)
    liar.heal()
    for (const time of ['first', 'after a crash']) assert.equal((await check()).left?.units, asked.units, time)
  }))

test('a transaction that used our nonce for a wallet of its own is one by hand, and nothing that left ours', async () => {
  const [asked, other] = [request(), localSigner(newKey())]
  const network = networkFor({ chainId: chain.chainId, usdcAddress: chain.usdcAddress })
  await mint(chain.call, other.address, asked.units)
  const to = asked.to as `0x${string}`
  const authorization = {
    ...{ from: other.address, to, units: asked.units },
    ...{ validBefore: 1n << 40n, nonce: nonceOf(asked.id) },
  }
  const signature = await other.signTypedData(await authorizationData(rpc, network, authorization))
  const data = authorizedTransferData(authorization, signature)
  const txHash = await chain.call<string>('eth_sendTransaction', { from: DEPLOYER, to: chain.usdcAddress, data })
  await chain.mine(6)
  const deps = { db, clock: Date.now, network, rpc, payouts: open({}), watchPayout: async () => null }
  assert.equal((await checkManualTransfer(deps, asked, txHash)).outcome, 'settled')
  const [row] = await db.many(sql`
    select from_address = ${other.address.toLowerCase()} as is_others, left_from, tx_hash, words
    from chain_payouts where id = ${asked.id}`)
  assert.deepEqual(row, { isOthers: false, leftFrom: null, txHash: null, words: 'paid by hand' })
})

test('one of two endpoints whose clock runs ahead drops no refund that was signed and can still be paid', () =>
  withTwo(async ({ liar, options }) => {
    const asked = request()
    const late = open(options)
    await late.send(asked)
    await chain.call('anvil_dropAllTransactions')
    await issuer(`0xf9f92be4${word(asked.to)}`)
    liar.faults.alter = ({ method }, result) => {
      const block = result as { timestamp: string }
      const later = () => `0x${(BigInt(block.timestamp) + 7200n).toString(16)}`
      return method === 'eth_getBlockByNumber' ? { ...block, timestamp: later() } : result
    }
    assert.equal((await late.send(asked)).outcome, 'pending')
    liar.heal()
    await issuer(`0x1a895266${word(asked.to)}`)
    await chain.mine()
    await late.send(asked)
    assert.equal((await settle(asked, late)).outcome, 'settled')
  }))

test('one of two endpoints that counts a million transactions of the relayer makes no gap that nothing fills', () =>
  withTwo(async ({ liar, options }) => {
    const asked = request()
    const misled = open(options)
    liar.faults.alter = ({ method }, result) => (method === 'eth_getTransactionCount' ? '0xf4240' : result)
    const doubted = await misled.send(asked)
    assert.deepEqual([doubted.outcome, (await rowOf(asked.id)).relayerNonce], ['unknown', null])
    assert.match(
      doubted.providerStatus,
      /do not agree about it yet: endpoints 1 and 2 disagree about the transactions of/,
    )
    liar.heal()
    await misled.send(asked)
    assert.equal((await settle(asked, misled)).outcome, 'settled')
  }))

test('one of two endpoints that says a destination is blocked, or refuses every transfer, ends no payout', () =>
  withTwo(async ({ liar, options }) => {
    const payouts = open(options)
    const [blocked, refused] = [request(), request()]
    const isAbout = (to: string, params: unknown[]) => JSON.stringify(params[0]).includes(to.slice(2))
    liar.faults.alter = ({ method, params }, result) =>
      method === 'eth_call' && isAbout(blocked.to, params) ? `0x${word(1n)}` : result
    liar.faults.refuses = ({ method, params }) =>
      method === 'eth_call' && isAbout(refused.to, params) && JSON.stringify(params[0]).includes('0xa9059cbb')
    for (let visit = 0; visit < 10; visit += 1) {
      assert.equal((await payouts.send(blocked)).outcome, 'pending')
      assert.equal((await payouts.send(refused)).outcome, 'pending')
    }
    liar.heal()
    for (const asked of [blocked, refused]) {
      await payouts.send(asked)
      assert.equal((await settle(asked, payouts)).outcome, 'settled')
    }
  }))

test('one of two endpoints whose clock runs ahead does not end what someone else may still submit', () =>
  withTwo(async ({ liar, options }) => {
    const { id, units } = request()
    const from = refundSigner.address
    const signed = { nonce: `0x${randomBytes(32).toString('hex')}`, signature: '0x12', validBefore: 1n << 40n } as const
    const { chainId, usdcAddress } = chain
    const token = tokenOf(chain)
    await insertRelayed(
      db,
      { id, reference: id, chainId, from, to: localSigner(newKey()).address, units, token, ...signed },
      new Date(),
    )
    const now = Date.now()
    const claimed = await claimPayout(db, id, new Date(now), new Date(now + 60_000))
    assert.ok(claimed)
    liar.faults.alter = ({ method }, result) =>
      method === 'eth_getBlockByNumber' ? { ...(result as object), timestamp: '0x20000000000' } : result
    const wallets = { refundSigner: null, relayerSigner, watchOnly: true }
    const network = networkFor({ chainId, usdcAddress })
    const log = pino({ level: 'silent' })
    const deps = { db, network, clock: Date.now, log, ...PAYOUT_TIMES, ...wallets, ...options }
    assert.equal((await workOn(deps, claimed)).outcome, 'pending')
  }))

test('an account nonce that another program took is given up, in whatever words the node refuses it', async () => {
  const other = localSigner(newKey())
  await chain.call('anvil_setBalance', other.address, '0x8ac7230489e80000')
  const asked = request()
  const cut: Rpc = {
    ...rpc,
    call: (name, ...params) =>
      name === 'eth_sendRawTransaction' ? Promise.reject(new Error('the process ends')) : rpc.call(name, ...params),
  }
  await assert.rejects(open({ rpc: cut, relayerSigner: other }).send(asked))
  await chain.call('anvil_impersonateAccount', other.address)
  await chain.call('eth_sendTransaction', { from: other.address, to: DEPLOYER, value: '0x1' })
  await chain.mine()
  const nethermind: Rpc = {
    ...rpc,
    call: <Result>(name: string, ...params: unknown[]) =>
      rpc.call<Result>(name, ...params).catch((error: unknown) => {
        if (!(error instanceof RpcError) || !/nonce too low/i.test(error.message)) throw error
        throw new RpcError('definite', 'OldNonce, Current nonce: 1, nonce of rejected tx: 0')
      }),
  }
  const payouts = open({ rpc: nethermind, relayerSigner: other })
  for (let poll = 0; poll < 3; poll += 1) await payouts.send(asked)
  assert.equal((await settle(asked, payouts)).outcome, 'settled')
})
