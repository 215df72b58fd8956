import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { mint } from '../sandbox/chain/token.ts'
import { type Rpc, RpcError } from '../src/chain/endpoints/rpc.ts'
import { networkFor } from '../src/chain/networks.ts'
import type { PayoutRequest } from '../src/chain/payout/payout.ts'
import { localSigner, type Signer } from '../src/chain/payout/signer.ts'
import { sql } from '../src/db/db.ts'
import { GWEI, type PayoutWorld, request, startPayoutWorld, VALID_SECONDS } from './harness/payout-world.ts'

/* Which transaction pays a payout, and who submits it; what waits behind its account nonce. */

let world: PayoutWorld
before(async () => {
  world = await startPayoutWorld()
})
after(() => world?.stop())

const newSigner = () => localSigner(`0x${randomBytes(32).toString('hex')}`)
const ending = (): Rpc => ({
  ...world.rpc,
  call: (name, ...params) =>
    name === 'eth_sendRawTransaction'
      ? Promise.reject(new Error('the process ends here'))
      : world.rpc.call(name, ...params),
})
const silent = (signer: Signer): Signer => ({
  ...signer,
  signTransaction: () => Promise.reject(new RpcError('unknown', 'the signer does not answer')),
})
const fastClock = () => Date.now() + world.aheadMs() + 300_000
const statusesOf = async (all: readonly PayoutRequest[]) =>
  (await Promise.all(all.map(world.rowOf))).map(({ status }) => status)

for (const how of ['signed and not submitted', 'sent, and lost by the node'])
  test(`a payout of a former wallet, ${how}, holds up no payout of the present one`, async () => {
    const { open } = await world.openWallet(15_000_000n)
    const [old, next] = [request(), request()]
    if (how.startsWith('signed'))
      await open({ rpc: ending() })
        .send(old)
        .catch(() => {})
    else {
      await open().send(old)
      await world.chain.call('anvil_dropAllTransactions')
    }
    // the operator changes the paying wallet, the relayer stays
    const refundSigner = newSigner()
    await mint(world.chain.call, refundSigner.address, 15_000_000n)
    await world.chain.mine()
    const since = open({ refundSigner })
    for (let poll = 0; poll < 8; poll += 1) {
      for (const one of [old, next]) await since.send(one)
      await world.chain.mine()
    }
    const wasSent = how.startsWith('sent')
    assert.deepEqual(await statusesOf([old, next]), [wasSent ? 'final' : 'reserved', 'final'])
    assert.equal(
      await world.chain.balanceOf(old.to),
      wasSent ? old.units : 0n,
      'nothing is submitted for the first time',
    )
  })

test('what was sent is not submitted again once a person names what paid it, and holds up no other payout', async () => {
  const { open } = await world.openWallet(15_000_000n)
  const [old, next] = [request(), request()]
  await open().send(old)
  await world.chain.call('anvil_dropAllTransactions')
  const refundSigner = newSigner()
  await mint(world.chain.call, refundSigner.address, 15_000_000n)
  await world.chain.mine()
  const findNamedHold = async (_: unknown, { id }: { id: string }) =>
    id === old.id ? 'a person named what paid it' : null
  const since = open({ refundSigner, findNamedHold })
  for (let poll = 0; poll < 8; poll += 1) {
    for (const one of [old, next]) await since.send(one)
    await world.chain.mine()
  }
  assert.deepEqual(await statusesOf([old, next]), ['reserved', 'final'])
  assert.equal(await world.chain.balanceOf(old.to), 0n)
})

test('a payout that ran out in one contract is paid in the next one, also where the relayer’s signer is silent once', async () => {
  const { open, refundSigner, relayerSigner } = await world.openWallet(15_000_000n)
  const other = await world.chain.deployOtherToken()
  await mint(world.chain.call, refundSigner.address, 15_000_000n, other)
  await world.chain.mine()
  const network = networkFor({ chainId: world.chain.chainId, usdcAddress: other })
  const asked = request()
  await open().send(asked)
  await world.chain.call('anvil_dropAllTransactions')
  await world.pass(VALID_SECONDS + 100)
  const since = (options = {}) => open({ network, validSeconds: 3600, ...options })
  await since().send(asked)
  await since({ relayerSigner: silent(relayerSigner) }).send(asked)
  for (let poll = 0; poll < 6; poll += 1) {
    await since().send(asked)
    await world.chain.mine()
  }
  assert.deepEqual(await statusesOf([asked]), ['final'])
  const { token } = await world.db.one<{ token: string }>(
    sql`select token_address as token from chain_payouts where id = ${asked.id}`,
  )
  assert.equal(token, other.toLowerCase())
})

test('what was signed and never submitted is submitted after a check only; what a node knows goes on', async () => {
  const { open } = await world.openWallet(15_000_000n)
  const asked = request()
  await open({ rpc: ending() })
    .send(asked)
    .catch(() => {})
  assert.deepEqual(await statusesOf([asked]), ['signed'])
  for (let poll = 0; poll < 3; poll += 1) {
    assert.match((await open().resume(asked)).providerStatus, /^It is checked again/)
    await world.chain.mine(4)
  }
  assert.equal(await world.chain.balanceOf(asked.to), 0n)
  assert.equal((await open().send(asked)).outcome, 'pending')
  await world.chain.mine(4)
  assert.equal((await open().resume(asked)).outcome, 'settled')
  const taken = request()
  await open().send(taken)
  // the process ended before it wrote down that the node took it
  await world.db.run(sql`update chain_payouts set status = 'signed' where id = ${taken.id}`)
  await world.db.run(sql`update chain_payout_transactions set sent_block = null where payout_id = ${taken.id}`)
  await open().resume(taken)
  assert.deepEqual(await statusesOf([taken]), ['sent'])
})

test('a payout whose first transaction a node with a fast clock signed is sent by another node', async () => {
  const { open, relayerSigner } = await world.openWallet(15_000_000n)
  const [asked, behind] = [request(), request()]
  await open({ clock: fastClock }).send(asked)
  await world.chain.call('anvil_dropAllTransactions')
  // something else used the account nonce
  const raw = await relayerSigner.signTransaction({
    ...{ chainId: world.chain.chainId, nonce: 0, to: relayerSigner.address, data: '0x', gas: 21_000n },
    ...{ maxFeePerGas: 100n * GWEI, maxPriorityFeePerGas: 2n * GWEI },
  })
  await world.rpc.call('eth_sendRawTransaction', raw)
  await world.chain.mine()
  for (let poll = 0; poll < 10; poll += 1) {
    for (const one of [asked, behind]) await open().send(one)
    await world.chain.mine()
  }
  assert.deepEqual(await statusesOf([asked, behind]), ['final', 'final'])
})

test('a raised transaction is submitted where a node with a fast clock signed the one before', async () => {
  const { open } = await world.openWallet(15_000_000n)
  const asked = request()
  const submitted = new Set<string>()
  const rpc: Rpc = {
    ...world.rpc,
    call: (name, ...params) => {
      if (name === 'eth_sendRawTransaction') submitted.add(String(params[0]))
      return world.rpc.call(name, ...params)
    },
  }
  await open({ clock: fastClock, validSeconds: 3600 }).send(asked)
  const other = open({ rpc, stuckBlocks: 0n, validSeconds: 3600, maxFeeWei: 20n * GWEI })
  for (let poll = 0; poll < 4; poll += 1) await other.send(asked)
  assert.ok(submitted.size > 1, `${(await world.feesOf(asked)).length} signed, ${submitted.size} submitted`)
})

test('a node of an earlier version names the present transaction by storing it', async () => {
  const { open } = await world.openWallet(15_000_000n)
  const asked = request()
  await open().send(asked)
  await world.db.run(sql`
    insert into chain_payout_transactions (chain_id, tx_hash, signer_address, payout_id, relayer_nonce, raw, max_fee_wei,
      priority_fee_wei, created_at)
    select chain_id, '0xlater', signer_address, payout_id, relayer_nonce, raw, max_fee_wei, priority_fee_wei,
      created_at - interval '1 minute' from chain_payout_transactions where payout_id = ${asked.id}`)
  const { hash } = await world.db.one<{ hash: string }>(
    sql`select present_tx_hash as hash from chain_payouts where id = ${asked.id}`,
  )
  assert.equal(hash, '0xlater')
})

test('what one of two nodes claims to have is not submitted without a check, and then gives its account nonce up', async () => {
  const { open } = await world.openWallet(15_000_000n)
  const asked = request()
  await open({ rpc: ending() })
    .send(asked)
    .catch(() => {})
  const lying: Rpc = {
    ...world.rpc,
    batch: async <Result>(calls: readonly { method: string; params: unknown[] }[]) =>
      calls.every(({ method }) => method === 'eth_getTransactionByHash')
        ? calls.map(() => ({}) as Result)
        : world.rpc.batch<Result>(calls),
  }
  const rpc: Rpc = { ...world.rpc, nodes: async () => [world.rpc, lying] }
  for (const watcher of [open({ rpc }), open({ rpc, refundSigner: newSigner() })])
    for (let poll = 0; poll < 2; poll += 1) {
      await watcher.resume(asked)
      await world.chain.mine()
      assert.equal((await world.rowOf(asked)).status, 'signed')
    }
  const nonceOf = () =>
    world.db.one<{ nonce: bigint | null }>(sql`select relayer_nonce as nonce from chain_payouts where id = ${asked.id}`)
  assert.notEqual((await nonceOf()).nonce, null)
  await open({ rpc, clock: fastClock }).resume(asked)
  assert.deepEqual([(await world.rowOf(asked)).status, (await nonceOf()).nonce], ['reserved', null])
  await world.chain.mine()
  assert.equal(await world.chain.balanceOf(asked.to), 0n)
})
