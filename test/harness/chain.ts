import { randomBytes } from 'node:crypto'
import { HDKey } from '@scure/bip32'
import { request } from 'undici'
import { getContractAddress } from 'viem/utils'
import { type Anvil, CHAIN_ID, startAnvil } from '../../sandbox/chain/anvil.ts'
import { testUsdcBytecode } from '../../sandbox/chain/compile.ts'
import { word } from '../../sandbox/chain/rpc.ts'
import { DEPLOYER, PAYER } from '../../sandbox/chain/throwaway-keys.ts'
import { balanceOf, deployTestUsdc, mint, transferData } from '../../sandbox/chain/token.ts'
import { knowAnswers } from './known-answers.ts'

export type TestChain = {
  rpcUrl: string
  chainId: typeof CHAIN_ID
  usdcAddress: string
  payer: string
  call: Anvil['call']
  /** Mines blocks; by default one. */
  mine(blocks?: number): Promise<void>
  /** Hands in a transfer of the payer (or another account of the node); it waits for the next block. */
  send(payment: { to: string; units: bigint; token?: string; from?: string }): Promise<string>
  /** Hands in a transfer and mines it. */
  pay(payment: { to: string; units: bigint; token?: string; from?: string }): Promise<string>
  /** Hands in many transfers of one account at once; they wait for the next block. */
  sendAll(payments: readonly { to: string; units: bigint }[], from?: string): Promise<void>
  /** As many transfers of one account, each in a block of its own. */
  payEach(payments: readonly { to: string; units: bigint }[], from?: string): Promise<void>
  /** A transfer of nothing in the name of another account, as anyone may send it; mines it. */
  forge(transfer: { from: string; to: string }): Promise<string>
  /** Replaces the newest blocks by as many empty ones; what was in them is forgotten unless it is sent again. */
  reorg(depth: number): Promise<void>
  /** The signed bytes of a transaction, to hand it in again after a reorganisation. */
  rawTransaction(txHash: string): Promise<string>
  resend(raw: string): Promise<string>
  /** Takes blocks away, without others in their place. */
  rollback(depth: number): Promise<void>
  /** Another token of the same kind, with money for the payer: it transfers like USDC and is not USDC. */
  deployOtherToken(): Promise<string>
  /** Several transfers in one transaction, by a contract; mines it. */
  payMany(payments: { to: string; units: bigint }[], token?: string): Promise<string>
  balanceOf(address: string): Promise<bigint>
  blockNumber(): Promise<bigint>
  stop(): Promise<void>
}

/** The public account key of a wallet that is made now and forgotten. */
export const newTestXpub = (): string => HDKey.fromMasterSeed(randomBytes(32)).derive("m/44'/60'/0'").publicExtendedKey

const TRANSFER_FROM = '0x23b872dd'
const TRANSFER_GAS = '0x186a0'
/** A transfer uses a third of its gas: beside one, no second fits, and the price of gas does not rise. */
const ROOM_FOR_ONE = '0x1fbd0'
/** anvil's own. */
const ROOMY = '0x1c9c380'

const PURSE = 1_000_000_000_000n

/**
 * A chain of its own with the test token, for one test file. No block comes by itself: `mine`, `pay` and `reorg` make
 * them. Reorganisations reach 60 blocks back.
 */
export async function startTestChain(options: { stateFile?: string; port?: number } = {}): Promise<TestChain> {
  const anvil = await startAnvil({ ...options, mining: 'manual' })
  const { rpcUrl } = anvil
  const { usdcAddress } = await deployTestUsdc(rpcUrl)
  const known = knowAnswers(rpcUrl)
  const call: Anvil['call'] = (method, ...params) => known.ask(method, () => anvil.call(method, ...params))
  await mint(call, PAYER.address, PURSE)

  const mine = async (blocks = 1): Promise<void> => void (await call('anvil_mine', toHex(blocks)))
  const send: TestChain['send'] = ({ to, units, token = usdcAddress, from = PAYER.address }) =>
    call<string>('eth_sendTransaction', { from, to: token, data: transferData(to, units), gas: TRANSFER_GAS })
  const sendAll: TestChain['sendAll'] = async (payments, from = PAYER.address) => {
    const first = Number(await call<string>('eth_getTransactionCount', from, 'pending'))
    const calls = payments.map(({ to, units }, id) => {
      const data = transferData(to, units)
      // the node may take a batch in any order
      const params = [{ from, to: usdcAddress, data, gas: TRANSFER_GAS, nonce: toHex(first + id) }]
      return { jsonrpc: '2.0', id, method: 'eth_sendTransaction', params }
    })
    const headers = { 'content-type': 'application/json' }
    const answer = await request(rpcUrl, { method: 'POST', headers, body: JSON.stringify(calls) })
    const refused = ((await answer.body.json()) as { error?: { message: string } }[]).find(({ error }) => error)
    if (refused) throw new Error(`a transfer was refused: ${refused.error?.message}`)
  }
  const payEach: TestChain['payEach'] = async (payments, from) => {
    await sendAll(payments, from)
    await call('evm_setBlockGasLimit', ROOM_FOR_ONE)
    await mine(payments.length)
    await call('evm_setBlockGasLimit', ROOMY)
  }
  const afterMining = async (txHash: string): Promise<string> => {
    await mine()
    const receipt = await call<{ status: string } | null>('eth_getTransactionReceipt', txHash)
    if (receipt?.status !== '0x1') throw new Error(`the transaction ${txHash} was not mined well`)
    return txHash
  }

  return {
    rpcUrl,
    chainId: CHAIN_ID,
    usdcAddress,
    payer: PAYER.address,
    call,
    mine,
    ...{ send, sendAll, payEach },
    pay: async (payment) => afterMining(await send(payment)),
    forge: async ({ from, to }) => {
      const data = TRANSFER_FROM + word(from) + word(to) + word(0n)
      return afterMining(await call<string>('eth_sendTransaction', { from: PAYER.address, to: usdcAddress, data }))
    },
    reorg: async (depth) => void (await call('anvil_reorg', depth, [])),
    rollback: async (depth) => void (await call('anvil_rollback', depth)),
    rawTransaction: (txHash) => call<string>('eth_getRawTransactionByHash', txHash),
    resend: (raw) => call<string>('eth_sendRawTransaction', raw),
    deployOtherToken: async () => {
      const token = await deploy(call, testUsdcBytecode() + word(DEPLOYER))
      await mint(call, PAYER.address, PURSE, token)
      return token
    },
    payMany: async (payments, token = usdcAddress) => {
      const total = payments.reduce((sum, payment) => sum + payment.units, 0n)
      await mint(call, await nextContract(call), total, token)
      const data = sendManyCode(token, payments)
      const gas = toHex(1_000_000 + 50_000 * payments.length)
      return afterMining(await call<string>('eth_sendTransaction', { from: PAYER.address, data, gas }))
    },
    balanceOf: (address) => balanceOf(call, address),
    blockNumber: async () => BigInt(await call<string>('eth_blockNumber')),
    stop: () => {
      known.end()
      return anvil.stop()
    },
  }
}

const toHex = (number: number): string => `0x${number.toString(16)}`

async function deploy(call: Anvil['call'], data: string): Promise<string> {
  const txHash = await call<string>('eth_sendTransaction', { from: DEPLOYER, data })
  await call('evm_mine')
  return (await call<{ contractAddress: string }>('eth_getTransactionReceipt', txHash)).contractAddress
}

async function nextContract(call: Anvil['call']): Promise<string> {
  const nonce = BigInt(await call<string>('eth_getTransactionCount', PAYER.address, 'latest'))
  return getContractAddress({ from: PAYER.address, nonce })
}

/** Creation code that, instead of making a contract, calls `transfer` once for each payment out of its own balance. */
function sendManyCode(token: string, payments: readonly { to: string; units: bigint }[]): string {
  const PAYLOAD_BYTES = 68
  const STEP_BYTES = 42
  const codeBytes = payments.length * STEP_BYTES + 1
  const steps = payments.map((_, index) => {
    const offset = (codeBytes + index * PAYLOAD_BYTES).toString(16).padStart(4, '0')
    const copy = `6044 61${offset} 6000 39` // CODECOPY(0, offset, 68)
    const transfer = `6000 6000 6044 6000 6000 73${token.slice(2)} 5a f1 50` // CALL(gas, token, 0, 0, 68, 0, 0), POP
    return (copy + transfer).replaceAll(' ', '')
  })
  const payloads = payments.map(({ to, units }) => transferData(to, units).slice(2))
  return `0x${steps.join('')}00${payloads.join('')}`
}
