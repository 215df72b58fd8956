import { type Anvil, CHAIN_ID, type Log, startAnvil } from './anvil.ts'
import type { RpcCall } from './rpc.ts'
import { PAYER, USDC_ADDRESS } from './throwaway-keys.ts'
import { balanceOf, deployTestUsdc, mint, toUnits, transferData } from './token.ts'

export type SandboxChain = {
  rpcUrl: string
  chainId: typeof CHAIN_ID
  usdcAddress: string
  payerPrivateKey: string
  payerAddress: string
  /**
   * Pays from the test wallet. Resolves when the transfer is in a block that is on disk, within about a second.
   * @param amount decimal USDC, at most 6 digits after the point
   */
  pay(payment: { to: string; amount: string }): Promise<{ txHash: string }>
  stop(): Promise<void>
}

const PURSE = toUnits('1000000')
/** 100 of the native coin, in wei. */
const GAS_PURSE = 100n * 10n ** 18n

async function fillPurse(call: RpcCall, account: string): Promise<void> {
  const balance = await balanceOf(call, account)
  if (balance < PURSE) await mint(call, account, PURSE - balance)
}

/** A local chain with one block a second, the test token, and a wallet with 1,000,000 of it, refilled at each start. */
export async function startSandboxChain(options: {
  stateFile: string
  /** The last block that the service has read. */
  known?: bigint
  port?: number
  /** A service's wallet for refunds, and the account that pays its gas: also refilled at each start. */
  refundWallet?: string
  relayer?: string
  log?: Log
}): Promise<SandboxChain> {
  const { refundWallet = '', relayer = '', ...chainOptions } = options
  const anvil = await startAnvil({ ...chainOptions, mining: 'interval' })
  try {
    const { usdcAddress } = await deployTestUsdc(anvil.rpcUrl)
    await fillPurse(anvil.call, PAYER.address)
    if (refundWallet !== '') await fillPurse(anvil.call, refundWallet)
    if (relayer !== '') await anvil.call('anvil_setBalance', relayer, `0x${GAS_PURSE.toString(16)}`)
    return {
      rpcUrl: anvil.rpcUrl,
      chainId: CHAIN_ID,
      usdcAddress,
      payerPrivateKey: PAYER.privateKey,
      payerAddress: PAYER.address,
      pay: payer(anvil),
      stop: anvil.stop,
    }
  } catch (error) {
    await anvil.stop()
    throw error
  }
}

/** One payment at a time, because two concurrent ones would use the same nonce. */
function payer(anvil: Anvil): SandboxChain['pay'] {
  let last: Promise<unknown> = Promise.resolve()
  return async ({ to, amount }) => {
    if (!/^0x[0-9a-fA-F]{40}$/.test(to)) throw new Error(`"${to}" is not an address`)
    const transaction = { from: PAYER.address, to: USDC_ADDRESS, data: transferData(to, toUnits(amount)) }
    await anvil.call('eth_call', transaction, 'latest') // throws with the reason if the token would refuse
    const sent = last.then(() => anvil.call<string>('eth_sendTransaction', transaction))
    last = sent.catch(() => {})
    const txHash = await sent
    await waitUntilMined(anvil, txHash)
    return { txHash }
  }
}

async function waitUntilMined(
  { call, miner }: { call: RpcCall; miner: Anvil['miner'] },
  txHash: string,
): Promise<void> {
  for (let block = 0; miner && block < 5; block += 1) {
    await miner.nextBlock()
    const receipt = await call<{ status: string } | null>('eth_getTransactionReceipt', txHash)
    if (receipt?.status === '0x1') return
    if (receipt) throw new Error(`The token refused the transfer ${txHash}`)
  }
  if (miner) throw new Error(`The transfer ${txHash} is not in a block yet. Look it up again in a moment.`)
}
