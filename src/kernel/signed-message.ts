import { recoverMessageAddress } from 'viem/utils'

/**
 * The address (lower case) whose key signed a text as wallets sign (EIP-191, `personal_sign`), or undefined when the
 * signature is invalid. No chain is queried, so signatures of contract wallets (EIP-1271) are not recognised.
 */
export async function findMessageSigner(message: string, signature: string): Promise<string | undefined> {
  if (!/^0x[0-9a-fA-F]{130}$/.test(signature)) return undefined
  try {
    return (await recoverMessageAddress({ message, signature: signature as `0x${string}` })).toLowerCase()
  } catch {
    return undefined
  }
}
