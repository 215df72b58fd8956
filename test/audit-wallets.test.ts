import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
import { getContractAddress } from 'viem/utils'
import { mint } from '../sandbox/chain/token.ts'
import { findUnknownPayouts } from '../src/chain/after-backup.ts'
import { auditWallets } from '../src/chain/deposits/balance-audit.ts'
import { createRpc } from '../src/chain/endpoints/rpc.ts'
import { localSigner } from '../src/chain/payout/signer.ts'
import { authorizationData, authorizedTransferData } from '../src/chain/payout/usdc-token.ts'
import { sql } from '../src/db/db.ts'
import { type ScannedChain, startScannedChain } from './harness/scanned-nodes.ts'

/* What leaves a paying wallet beside a payout, in one transaction with it. */

type Hex = `0x${string}`
type Nodes = Awaited<ReturnType<ScannedChain['openNodes']>>

let world: ScannedChain
before(async () => {
  world = await startScannedChain()
})
after(() => world?.stop())

const newHex = (bytes: number): Hex => `0x${randomBytes(bytes).toString('hex')}`

/** The wallet of the next `payMany`: its contract. */
async function nextWallet(): Promise<string> {
  const { call, payer } = world.chain
  const nonce = BigInt(await call<string>('eth_getTransactionCount', payer, 'latest'))
  return getContractAddress({ from: payer as Hex, nonce }).toLowerCase()
}

type Stored = { wallet: string; to: string; units: bigint; txHash: string | null; kind?: string; leftNonce?: string }

/** @returns its id */
async function store({ wallet, to, units, txHash, kind = 'payout', leftNonce }: Stored): Promise<string> {
  const id = randomBytes(12).toString('hex')
  await world.db.run(sql`
    insert into chain_payouts (id, chain_id, kind, from_address, to_address, units, authorization_nonce, token_address, status, words,
      tx_hash, left_nonce, created_at, updated_at)
    values (${id}, ${world.chain.chainId}, ${kind}, ${wallet}, ${to}, ${String(units)}::numeric, ${newHex(32)},
      ${world.chain.usdcAddress.toLowerCase()}, ${leftNonce === undefined ? 'mined' : 'failed'}, 'x', ${txHash},
      ${leftNonce ?? null}, now(), now())`)
  return id
}

/** Units that nobody answers for, of all that left since the beginning: by the audit, and after a restore. */
async function listForeign(nodes: Nodes, wallet: string) {
  const { db, network, chain } = world
  const { endpoints } = nodes
  await chain.mine(3)
  await nodes.lookOn(2)
  await db.run(sql`
    insert into wallet_audits (chain_id, address, block_number, balance_units) values (${network.chainId}, ${wallet}, 0, 0)
    on conflict (chain_id, address) do update set block_number = 0`)
  const { faults } = await auditWallets({ db, network, endpoints }, async () => false)
  const reader = { db, network, endpoints, log: pino({ level: 'silent' }) }
  const unknown = await findUnknownPayouts(reader, { from: 0n, to: await chain.blockNumber() }, wallet)
  return {
    audit: faults.filter(({ subject }) => subject === `wallet ${wallet}`).map(({ expected }) => expected),
    restore: unknown.map(({ address, units }) => [address, units]),
  }
}

test('a transfer in one transaction with a payout is foreign, as is what a relayer submitted for a payer', async (t) => {
  const nodes = await world.openNodes(t, 1)
  const [payee, other, thief] = [newHex(20), newHex(20), newHex(20)]
  const wallet = await nextWallet()
  const all = [
    ...[payee, other].map((to) => ({ to, units: 1_000_000n })),
    // the same amount to the same payee again is no payout either
    ...[thief, payee].map((to) => ({ to, units: to === thief ? 90_000_000n : 1_000_000n })),
  ]
  const txHash = await world.chain.payMany(all)
  await store({ wallet, to: payee, units: 1_000_000n, txHash })
  // it is the relayer's own, and not yet found in its block
  const id = await store({ wallet, to: other, units: 1_000_000n, txHash: null })
  await world.db.run(sql`
    insert into chain_payout_transactions (chain_id, tx_hash, payout_id, relayer_nonce, raw, max_fee_wei, priority_fee_wei, created_at)
    values (${world.chain.chainId}, ${txHash}, ${id}, 0, '0x', 1, 1, now())`)
  await store({ wallet, to: thief, units: 90_000_000n, txHash, kind: 'payment' })
  assert.deepEqual(await listForeign(nodes, wallet), {
    audit: ['91000000'],
    restore: [
      [thief, 90_000_000n],
      [payee, 1_000_000n],
    ],
  })
  await store({ wallet, to: thief, units: 90_000_000n, txHash })
  await store({ wallet, to: payee, units: 1_000_000n, txHash })
  assert.deepEqual(await listForeign(nodes, wallet), { audit: [], restore: [] })
})

test('what an authorization moved before a restore is its own, also where something else is stored', async (t) => {
  const nodes = await world.openNodes(t, 1)
  const { chain, network } = world
  const rpc = createRpc({ url: chain.rpcUrl })
  const signer = localSigner(newHex(32))
  await mint(chain.call, signer.address, 5_000_000n)
  const [wallet, to, nonce] = [signer.address.toLowerCase(), newHex(20), newHex(32)]
  const authorization = { from: signer.address, to, units: 2_000_000n, validBefore: 1n << 40n, nonce }
  const signature = await signer.signTypedData(await authorizationData(rpc, network, authorization))
  const data = authorizedTransferData(authorization, signature)
  const txHash = await chain.call<string>('eth_sendTransaction', { from: chain.payer, to: chain.usdcAddress, data })
  await store({ wallet, to, units: 1_000_000n, txHash })
  assert.deepEqual((await listForeign(nodes, wallet)).audit, ['2000000'])
  await store({ wallet, to, units: 3_000_000n, txHash, leftNonce: nonce })
  assert.deepEqual(await listForeign(nodes, wallet), { audit: [], restore: [] })
  await rpc.close()
})
