import { type ChainConfig, ConfigError } from '../../config/config.ts'
import { isKeystore, openKeystore } from './keystore.ts'
import { localSigner, type Signer } from './signer.ts'
import { web3signer } from './web3signer.ts'

/** The signers of a chain: `refund` holds the money, `relayer` pays for gas. */
export type SignerRole = 'refund' | 'relayer'
export const SIGNER_ROLES: readonly SignerRole[] = ['refund', 'relayer']

/** `key`: a bare private key in memory, for the sandbox and tests. */
export type SignerKind = 'key' | 'keystore' | 'web3signer'

type SignerSettings = Pick<
  ChainConfig,
  | 'chainId'
  | 'web3signerUrl'
  | 'refundKey'
  | 'refundPassword'
  | 'refundAddress'
  | 'relayerKey'
  | 'relayerPassword'
  | 'relayerAddress'
>

const settingsOf = (chain: SignerSettings, role: SignerRole) =>
  role === 'refund'
    ? { key: chain.refundKey, password: chain.refundPassword, address: chain.refundAddress }
    : { key: chain.relayerKey, password: chain.relayerPassword, address: chain.relayerAddress }

/** How a signer's key is kept; null without a signer. */
export function signerKind(chain: SignerSettings, role: SignerRole): SignerKind | null {
  const { key, address } = settingsOf(chain, role)
  if (key !== null) return isKeystore(key) ? 'keystore' : 'key'
  return address === null ? null : 'web3signer'
}

/**
 * Opens a signer according to the settings of its chain.
 * @throws ConfigError when a keystore does not open
 */
export function openSigner(chain: SignerSettings, role: SignerRole): Signer | null {
  const { key, password, address } = settingsOf(chain, role)
  if (key !== null && isKeystore(key)) {
    try {
      return localSigner(openKeystore(key, password ?? ''))
    } catch (error) {
      const name = `CHAIN_${chain.chainId}_${role.toUpperCase()}_KEY`
      throw new ConfigError([`${name}: ${(error as Error).message}`])
    }
  }
  if (key !== null) return localSigner(key)
  if (address === null || chain.web3signerUrl === null) return null
  return web3signer({ url: chain.web3signerUrl, address })
}
