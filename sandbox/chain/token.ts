import { testUsdcBytecode } from './compile.ts'
import { openRpcClient, type RpcCall, word } from './rpc.ts'
import { DEPLOYER, USDC_ADDRESS } from './throwaway-keys.ts'

const SELECTOR = { balanceOf: '0x70a08231', mint: '0x40c10f19', transfer: '0xa9059cbb' }

/** "54.000000" is 54000000n. */
export function toUnits(amount: string): bigint {
  const match = /^(\d{1,30})(?:\.(\d{1,6}))?$/.exec(amount)
  if (!match) throw new Error(`"${amount}" is not an amount: a decimal with at most 6 digits after the point is needed`)
  return BigInt(`${match[1]}${(match[2] ?? '').padEnd(6, '0')}`)
}

type Receipt = { status: string; contractAddress: string | null }

/** Sends from an account of the node, and mines a block if none follows automatically. */
export async function transact(call: RpcCall, transaction: { from: string; to?: string; data: string }): Promise<void> {
  const hash = await call<string>('eth_sendTransaction', transaction)
  let receipt = await call<Receipt | null>('eth_getTransactionReceipt', hash)
  if (receipt === null) {
    await call('evm_mine')
    receipt = await call<Receipt | null>('eth_getTransactionReceipt', hash)
  }
  if (receipt?.status !== '0x1') throw new Error(`The local chain refused the transaction ${hash}`)
}

/** Deploys the test token on a local chain, always at the same address; does nothing if it is there already. */
export async function deployTestUsdc(rpcUrl: string): Promise<{ usdcAddress: string }> {
  const call = openRpcClient(rpcUrl)
  if ((await call<string>('eth_getCode', USDC_ADDRESS, 'latest')) === '0x') {
    const nonce = BigInt(await call<string>('eth_getTransactionCount', DEPLOYER, 'latest'))
    if (nonce !== 0n)
      throw new Error('The deployer of the test token was used for something else. Start with a new chain.')
    await transact(call, { from: DEPLOYER, data: testUsdcBytecode() + word(DEPLOYER) })
  }
  return { usdcAddress: USDC_ADDRESS }
}

export async function balanceOf(call: RpcCall, account: string): Promise<bigint> {
  return BigInt(
    await call<string>('eth_call', { to: USDC_ADDRESS, data: SELECTOR.balanceOf + word(account) }, 'latest'),
  )
}

/** Mints new test money. */
export async function mint(call: RpcCall, to: string, units: bigint, token: string = USDC_ADDRESS): Promise<void> {
  await transact(call, { from: DEPLOYER, to: token, data: SELECTOR.mint + word(to) + word(units) })
}

/** Call data of a token transfer. */
export const transferData = (to: string, units: bigint): string => SELECTOR.transfer + word(to) + word(units)
