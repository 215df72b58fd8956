import { privateKeyToAccount } from 'viem/accounts'
import type { Hex } from '../endpoints/rpc.ts'

/** EIP-712 data whose fields are all text or whole numbers. */
export type TypedData = {
  domain: { name: string; version: string; chainId: number; verifyingContract: Hex }
  types: Record<string, { name: string; type: string }[]>
  primaryType: string
  message: Record<string, unknown>
}

/** An EIP-1559 transaction before it is signed; fees in wei. */
export type UnsignedTransaction = {
  chainId: number
  nonce: number
  to: Hex
  data: Hex
  gas: bigint
  maxFeePerGas: bigint
  maxPriorityFeePerGas: bigint
}

/** A key that can sign, wherever it is kept: in our memory, or behind a service with these operations. */
export interface Signer {
  /** With EIP-55 checksum. */
  readonly address: Hex
  /** Absent: it can always sign. @throws RpcError if it cannot now */
  check?(): Promise<unknown>
  signTypedData(data: TypedData): Promise<Hex>
  /** @returns the signed bytes, ready for eth_sendRawTransaction */
  signTransaction(transaction: UnsignedTransaction): Promise<Hex>
}

/**
 * A private key held in memory.
 * @throws Error when it is not 32 bytes in hex; the message never contains the key
 */
export function localSigner(privateKey: string): Signer {
  const hex = privateKey.startsWith('0x') ? privateKey : `0x${privateKey}`
  if (!/^0x[0-9a-fA-F]{64}$/.test(hex)) throw new Error('a signing key must be 32 bytes: 64 hexadecimal digits')
  const account = privateKeyToAccount(hex as Hex)
  return {
    address: account.address,
    signTypedData: (data) => account.signTypedData(data),
    signTransaction: (transaction) => account.signTransaction({ ...transaction, type: 'eip1559' }),
  }
}

const refuse = (): Promise<never> => Promise.reject(new Error('no key is set up for this wallet'))

/** Where payouts are only watched. */
export const NOBODY: Signer = {
  address: '0x0000000000000000000000000000000000000000',
  signTypedData: refuse,
  signTransaction: refuse,
}
