import { sanctionsOracleBytecode } from './compile.ts'
import { openRpcClient, type RpcCall, word } from './rpc.ts'
import { ORACLE_ADDRESS, ORACLE_OWNER } from './throwaway-keys.ts'
import { transact } from './token.ts'

const SELECTOR = {
  isSanctioned: '0xdf592f7d',
  addToSanctionsList: '0xb972dfcc',
  removeFromSanctionsList: '0xef782431',
  setFault: '0xa9a8e614',
}

/** How the oracle fails: `empty` answers 0x like a chain without the contract, `revert` rejects each call. */
export type OracleFault = 'empty' | 'revert' | null
const FAULT_CODES = { empty: 1n, revert: 2n } as const

export type SanctionsOracle = {
  address: string
  isSanctioned(address: string): Promise<boolean>
  setSanctioned(address: string, sanctioned: boolean): Promise<void>
  setFault(fault: OracleFault): Promise<void>
}

/** ABI encoding of `address[]` with one element: offset, length, element. */
const oneAddress = (address: string): string => word(32n) + word(1n) + word(address)

/** Deploys the oracle on a local chain, always at the same address; does nothing if it is there already. */
export async function deploySanctionsOracle(rpcUrl: string): Promise<SanctionsOracle> {
  const call: RpcCall = openRpcClient(rpcUrl)
  if ((await call<string>('eth_getCode', ORACLE_ADDRESS, 'latest')) === '0x') {
    const nonce = BigInt(await call<string>('eth_getTransactionCount', ORACLE_OWNER, 'latest'))
    if (nonce !== 0n)
      throw new Error('The deployer of the sanctions oracle was used for something else. Start with a new chain.')
    await transact(call, { from: ORACLE_OWNER, data: sanctionsOracleBytecode() })
  }
  const send = (data: string): Promise<void> => transact(call, { from: ORACLE_OWNER, to: ORACLE_ADDRESS, data })
  return {
    address: ORACLE_ADDRESS,
    async isSanctioned(address) {
      const data = SELECTOR.isSanctioned + word(address)
      return BigInt(await call<string>('eth_call', { to: ORACLE_ADDRESS, data }, 'latest')) === 1n
    },
    setSanctioned(address, sanctioned) {
      const selector = sanctioned ? SELECTOR.addToSanctionsList : SELECTOR.removeFromSanctionsList
      return send(selector + oneAddress(address))
    },
    setFault: (fault) => send(SELECTOR.setFault + word(fault === null ? 0n : FAULT_CODES[fault])),
  }
}
