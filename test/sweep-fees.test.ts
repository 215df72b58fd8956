import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { mnemonicToAccount } from 'viem/accounts'
import { networkFor } from '../src/chain/networks.ts'
import { localSigner } from '../src/chain/payout/signer.ts'
import { sumUp } from '../src/chain/sweep/sweep-plan.ts'
import { sql } from '../src/db/db.ts'
import { type Operator, openOperator } from './harness/installation.ts'
import { createPaid, payoutEnv } from './harness/refunds.ts'
import { type RpcProxy, startRpcProxy } from './harness/rpc-proxy.ts'
import { eventually, TEST_MASTER_KEY } from './harness/service.ts'
import { chainEnv, openShop, type Shop } from './harness/shop.ts'

/* A sweep on a chain like Base, where a transaction also pays for its data on Ethereum. */

/** A phrase of BIP-39's published test vectors: nothing of worth may ever come to its addresses. */
const PHRASE = 'legal winner thank year wave sausage worth useful legal winner thank yellow'
const XPUB = mnemonicToAccount(PHRASE, { path: "m/44'/60'/0'" }).getHdKey().publicExtendedKey
const DATA_FEE = 7_000_000_000_001n

let shop: Shop
let proxy: RpcProxy
let folder: string
let env: Record<string, string>
let relayer: string
let operator: Operator
let mining: NodeJS.Timeout

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'comptoir-sweep-fees-'))
  writeFileSync(join(folder, 'phrase'), `${PHRASE}\n`)
  let settings: Record<string, string> = {}
  shop = await openShop({
    env: async (chain) => {
      proxy = await startRpcProxy(chain.rpcUrl)
      settings = { ...(await payoutEnv(chain)), CHAIN_31337_XPUB: XPUB, CHAIN_31337_RPC_URL: proxy.url }
      return settings
    },
  })
  relayer = localSigner(settings.CHAIN_31337_RELAYER_KEY ?? '').address
  const { connectionString: DATABASE_URL } = shop.host.db
  const own = { DATA_DIR: folder, DATABASE_URL, MASTER_KEY: TEST_MASTER_KEY.toString('base64') }
  env = { ...own, ...chainEnv(shop.chain), ...settings }
  operator = openOperator()
  mining = setInterval(() => void shop.chain.mine().catch(() => {}), 150)
})
after(async () => {
  clearInterval(mining)
  await operator?.close()
  await shop?.stop()
  await proxy?.stop()
  rmSync(folder, { recursive: true, force: true })
})

async function run(args: string[], given = env): Promise<string> {
  const { code, out, err } = await operator.run(['sweep', ...args], given, folder)
  assert.equal(code, 0, out + err)
  return out
}

const nativeOf = async (address: string): Promise<bigint> =>
  BigInt(await shop.chain.call<string>('eth_getBalance', address, 'latest'))

test('what a sweep cost includes the fee for its data, which its gas does not say', async () => {
  const { toAddress } = await createPaid(shop)
  proxy.faults.alter = ({ method }, result) =>
    method === 'eth_getTransactionReceipt' && result !== null
      ? { ...(result as object), l1Fee: `0x${DATA_FEE.toString(16)}` }
      : result
  const [batch, phrase, before] = [join(folder, 'batch.json'), join(folder, 'phrase'), await nativeOf(relayer)]
  await run(['--out', batch])
  const { address } = localSigner(env.CHAIN_31337_REFUND_KEY ?? '')
  await run(['sign', '--in', batch, '--mnemonic-file', phrase, '--to', address], {})
  const said = JSON.parse(await run(['send', batch, '--json']))
  const gas = before - (await nativeOf(relayer))
  const look = () =>
    shop.host.db.one<{ status: string; fee: string | null }>(sql`
      select status, fee_wei as fee from sweeps where address = ${toAddress.toLowerCase()}`)
  const { fee } = await eventually(look, ({ status }) => status === 'done')
  assert.equal(BigInt(fee ?? 0), gas + DATA_FEE)
  const [network] = said.networks
  assert.deepEqual([network.network, network.done, network.fee], [31337, 1, said.fee])
})

test('fees of several networks are told apart, because their coins differ', () => {
  const swept = [
    { chainId: 8453, units: 2_000_000n, feeWei: 10n ** 15n },
    { chainId: 137, units: 1_000_000n, feeWei: 10n ** 17n },
    { chainId: 8453, units: 3_500_000n, feeWei: null },
  ]
  const networks = [8453, 137].map((chainId) => networkFor({ chainId }))
  const { total, fee, networks: each } = sumUp(swept, networks)
  assert.deepEqual([total, fee], ['6.500000', null])
  assert.deepEqual(
    each.map((one) => `${one.done} ${one.total} ${one.fee} ${one.coin} ${one.name}`),
    ['2 5.500000 0.001000000000000000 ETH Base', '1 1.000000 0.100000000000000000 POL Polygon'],
  )
  assert.deepEqual(
    networks.map(({ hasDataFee }) => hasDataFee),
    [true, false],
  )
})
