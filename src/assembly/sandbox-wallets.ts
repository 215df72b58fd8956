import { HDKey } from '@scure/bip32'
import type { Vault } from '../kernel/vault.ts'

/** The wallet of the sandbox's deposit addresses, derived from the master key. Never in live mode. */
export const sandboxAccount = (vault: Vault): HDKey =>
  HDKey.fromMasterSeed(vault.derive('sandbox-deposits')).derive("m/44'/60'/0'")

export const sandboxXpub = (vault: Vault): string => sandboxAccount(vault).publicExtendedKey

/** THROW-AWAY KEYS of the sandbox's own chain, from the master key, so that every node has the same. */
export const sandboxKeys = (vault: Vault): { refundKey: string; relayerKey: string } => ({
  refundKey: vault.derive('sandbox-refund-key').toString('hex'),
  relayerKey: vault.derive('sandbox-relayer-key').toString('hex'),
})
