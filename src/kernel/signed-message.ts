import { recoverMessageAddress } from 'viem/utils'

/**
 * Whose key signed a text as wallets sign (EIP-191, `personal_sign`): the address in lower case, or undefined when the
 * signature is invalid. No chain is asked, so wallets that are contracts (EIP-1271) cannot be recognised.
 */
export async function findMessageSigner(message: string, signature: string): Promise<string | undefined> {
  if (!/^0x[0-9a-fA-F]{130}$/.test(signature)) return undefined
  try {
    return (await recoverMessageAddress({ message, signature: signature as `0x${string}` })).toLowerCase()
  } catch {
    return undefined
  }
}
