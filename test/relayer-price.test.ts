import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { HDKey } from '@scure/bip32'
import { parseTransaction } from 'viem/utils'
import { networkFor } from '../src/chain/networks.ts'
import { gasChecks } from '../src/checks/gas-checks.ts'
import { readConfig } from '../src/config/config.ts'
import { sql } from '../src/db/db.ts'
import { bareEnv } from './harness/bare-env.ts'
import { type Alter, withNodes } from './harness/payout-nodes.ts'
import { GWEI, type PayoutWorld, request, startPayoutWorld } from './harness/payout-world.ts'

/* What the relayer offers for gas where one of two nodes shows another price than the chain's. */

let world: PayoutWorld
before(async () => {
  world = await startPayoutWorld()
})
after(() => world?.stop())

const hex = (wei: bigint): string => `0x${wei.toString(16)}`

/** A node with these prices, and without a base fee where it is null. */
const prices =
  ({ baseFee, tip }: { baseFee: bigint | null; tip?: bigint }): Alter =>
  ({ method }, result) => {
    if (method === 'eth_maxPriorityFeePerGas' && tip !== undefined) return hex(tip)
    if (method === 'eth_feeHistory' && tip !== undefined)
      return { gasUsedRatio: [0.5], reward: [[hex(tip)]], baseFeePerGas: [] }
    if (method !== 'eth_getBlockByNumber' || !result) return result
    return { ...(result as object), baseFeePerGas: baseFee === null ? undefined : hex(baseFee) }
  }

type Odd = { alter: Alter; index: number; purse?: bigint; baseFee?: bigint }

/** Pays one refund at this base fee, where one of two nodes is odd. */
const pay = ({ alter, index, purse, baseFee = 30n * GWEI }: Odd, polls = 30) =>
  withNodes(world, 2, async (nodes) => {
    const wallet = await world.openWallet(15_000_000n)
    if (purse !== undefined) await world.setPurse(wallet.relayerSigner, purse)
    const odd = nodes.proxies[index]
    if (odd) odd.faults.alter = alter
    await world.mineAt(baseFee)
    const asked = request()
    for (let poll = 0; poll < polls && (await outcomeOf(asked)) !== 'final'; poll += 1) {
      await wallet.open({ ...nodes.options, maxFeeWei: 100n * GWEI }).send(asked)
      await world.mineAt(baseFee)
    }
    const { raw } = await world.db.one<{ raw: `0x02${string}` }>(sql`
      select raw from chain_payout_transactions where payout_id = ${asked.id} order by created_at desc limit 1`)
    return { row: await world.rowOf(asked), signed: parseTransaction(raw), tips: await world.feesOf(asked) }
  })
const outcomeOf = async ({ id }: { id: string }) =>
  (await world.db.maybe<{ status: string }>(sql`select status from chain_payouts where id = ${id}`))?.status

const LOW: Record<string, Alter> = {
  'shows no base fee and suggests no tip': prices({ baseFee: null, tip: 0n }),
  'shows a base fee of one wei and suggests no tip': prices({ baseFee: 1n, tip: 0n }),
}
for (const [what, alter] of Object.entries(LOW))
  for (const index of [0, 1])
    test(`the ${index === 0 ? 'first' : 'second'} of two nodes, which ${what}, holds up no payout`, async () => {
      const { row, tips } = await pay({ alter, index })
      assert.equal(row.status, 'final', `${row.words} ${tips}`)
      assert.equal(tips.length, 1)
    })

for (const index of [0, 1])
  test(`a base fee just below the ceiling, shown by node ${index + 1} of two, neither costs more nor needs more`, async () => {
    const alter = prices({ baseFee: 98n * GWEI })
    const rich = await pay({ alter, index })
    assert.deepEqual([rich.row.status, rich.signed.maxFeePerGas], ['final', 100n * GWEI], rich.row.words)
    // enough for the chain's own base fee, and not for the other
    const poor = await pay({ alter, index, purse: 120_000n * 65n * GWEI })
    assert.equal(poor.row.status, 'final', poor.row.words)
  })

test('what is signed pays no more than the ceiling where that is enough', async () => {
  const { row, signed } = await pay({ alter: (_, result) => result, index: 0, baseFee: 80n * GWEI })
  assert.deepEqual([row.status, signed.maxFeePerGas], ['final', 100n * GWEI], row.words)
})

test('a tip that is refused as too low rises to what another node suggests, also where one suggests none', async () => {
  let refused = 0
  const { row, tips } = await withNodes(world, 2, async (nodes) => {
    const wallet = await world.openWallet(15_000_000n)
    const [taking, lying] = nodes.proxies
    if (!taking || !lying) throw new Error('two nodes')
    taking.faults.alter = ({ method }, result) => {
      if (method === 'eth_maxPriorityFeePerGas') return hex(30n * GWEI)
      return method === 'eth_feeHistory' ? { gasUsedRatio: [0.5], reward: [[hex(30n * GWEI)]] } : result
    }
    taking.faults.refuses = ({ method, params }) => {
      if (method !== 'eth_sendRawTransaction') return false
      const isLow = (parseTransaction(params[0] as `0x02${string}`).maxPriorityFeePerGas ?? 0n) < 25n * GWEI
      refused += Number(isLow)
      return isLow
    }
    lying.faults.alter = prices({ baseFee: 1n, tip: 0n })
    const asked = request()
    for (let poll = 0; poll < 20; poll += 1) {
      await wallet.open({ ...nodes.options, maxFeeWei: 300n * GWEI }).send(asked)
      await world.mineAt(30n * GWEI)
    }
    return { row: await world.rowOf(asked), tips: await world.feesOf(asked) }
  })
  assert.equal(row.status, 'final', `${row.words} ${refused} ${tips}`)
  assert.ok((tips.at(-1) ?? 0n) <= 30n * GWEI, String(tips))
})

test('a tip just below the ceiling, suggested by one of two nodes, is not paid at once', async () => {
  for (const index of [0, 1]) {
    const { row, tips } = await pay({ alter: prices({ baseFee: 30n * GWEI, tip: 60n * GWEI }), index })
    assert.equal(row.status, 'final')
    assert.ok(tips.length === 1 && (tips[0] ?? 0n) <= 2n * GWEI, String(tips))
  }
})

test('a relayer that could pay for gas, and not for its data beside it, is said to have too little', async () => {
  const wallet = await world.openWallet(15_000_000n)
  await world.mineAt(30n * GWEI)
  const plain = networkFor({ chainId: world.chain.chainId, usdcAddress: world.chain.usdcAddress })
  const dataFee = 5n * 10n ** 17n
  // a contract that answers this to every question
  const answer = `0x7f${dataFee.toString(16).padStart(64, '0')}5f5260205ff3`
  const oracle = '0x420000000000000000000000000000000000000f'
  await world.setPurse(wallet.relayerSigner, dataFee)
  await world.chain.call('anvil_setCode', oracle, answer)
  try {
    const asked = request()
    const send = (hasDataFee: boolean) => wallet.open({ network: { ...plain, hasDataFee } }).send(asked)
    await send(true)
    const { status, words } = await world.rowOf(asked)
    assert.deepEqual([status, (await world.feesOf(asked)).length], ['reserved', 0])
    assert.match(words, /too little native coin for gas/)
    await world.setPurse(wallet.relayerSigner, 2n * dataFee)
    await send(true)
    assert.equal((await world.feesOf(asked)).length, 1)
  } finally {
    await world.chain.call('anvil_setCode', oracle, '0x')
  }
})

test('doctor says when gas costs more than the ceiling, which holds payouts up', async () => {
  const key = `0x${randomBytes(32).toString('hex')}`
  const check = (gwei: string) => {
    const { config } = readConfig({
      ...bareEnv(),
      CHAIN_31337_RPC_URL: world.chain.rpcUrl,
      CHAIN_31337_USDC: world.chain.usdcAddress,
      CHAIN_31337_XPUB: HDKey.fromMasterSeed(randomBytes(32)).derive("m/44'/60'/0'").publicExtendedKey,
      CHAIN_31337_REFUND_KEY: key,
      CHAIN_31337_RELAYER_KEY: key,
      CHAIN_31337_MAX_FEE_GWEI: gwei,
    })
    return Promise.all(gasChecks(config.chains).map((one) => one.run()))
  }
  await world.mineAt(30n * GWEI)
  const [[low], [high]] = [await check('5'), await check('500')]
  assert.equal(low?.ok, false)
  assert.match(
    low?.message ?? '',
    /^Gas costs \d+\.\d+ gwei with the tip, and 5\.0+ gwei are allowed: payouts and sweeps wait/,
  )
  assert.equal(high?.ok, true)
})
