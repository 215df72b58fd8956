import { HDKey } from '@scure/bip32'
import { type Config, NO_CHAIN } from '../config/config.ts'
import { readKyc } from '../config/kyc-config.ts'
import { SECOND } from '../kernel/clock.ts'
import type { SandboxVault } from '../kernel/vault.ts'

/** The wallet of the sandbox's deposit addresses, derived from the master key. Never in live mode. */
export const sandboxAccount = (vault: SandboxVault): HDKey =>
  HDKey.fromMasterSeed(vault.deriveSandbox('sandbox-deposits')).derive("m/44'/60'/0'")

const sandboxXpub = (vault: SandboxVault): string => sandboxAccount(vault).publicExtendedKey

/** THROW-AWAY KEYS of the sandbox's own chain, from the master key, so that every node has the same. */
export const sandboxKeys = (vault: SandboxVault): { refundKey: string; relayerKey: string } => ({
  refundKey: vault.deriveSandbox('sandbox-refund-key').toString('hex'),
  relayerKey: vault.deriveSandbox('sandbox-relayer-key').toString('hex'),
})

/** Where a running sandbox is reached. */
export type SandboxPlace = {
  chainId: number
  rpcUrl: string
  usdcAddress: string
  providersUrl: string
  /** Absent: the sandbox is asked for them. */
  credentials?: Record<string, string>
}

/** Not in live mode, and not if the settings name a chain that runs elsewhere (a second node, a test). */
export const hasOwnSandbox = ({ mode, chains }: Config): boolean => mode === 'sandbox' && chains.length === 0

/** Adds the sandbox's chain to the configured ones, with deposit addresses of a wallet derived from the master key. */
export function withSandboxChain(config: Config, sandbox: SandboxPlace | null, vault: SandboxVault): Config {
  if (config.mode === 'live') return config
  if (!sandbox || config.chains.some((chain) => chain.chainId === sandbox.chainId))
    return withSandboxXpub(config, vault)
  const { chainId, rpcUrl, usdcAddress, providersUrl } = sandbox
  const keys = { xpub: sandboxXpub(vault), ...sandboxKeys(vault) }
  return {
    ...config,
    sandbox: { ...config.sandbox, providersUrl },
    chains: [...config.chains, { ...NO_CHAIN, chainId, rpcUrls: [rpcUrl], usdcAddress, ...keys }],
  }
}

/** A test chain that runs elsewhere gets deposit addresses too. */
const withSandboxXpub = (config: Config, vault: SandboxVault): Config => ({
  ...config,
  chains: config.chains.map((chain) => ({ ...chain, xpub: chain.xpub ?? sandboxXpub(vault) })),
})

/** It runs on this machine, or next to it. */
const CREDENTIALS_MS = 10 * SECOND

/** @throws Error with a sentence for the operator */
async function fetchCredentials(providersUrl: string): Promise<Record<string, string>> {
  try {
    const answer = await fetch(`${providersUrl}/credentials`, { signal: AbortSignal.timeout(CREDENTIALS_MS) })
    if (!answer.ok) throw new Error(`It answers ${answer.status}.`)
    return (await answer.json()) as Record<string, string>
  } catch (error) {
    throw new Error(`The sandbox does not answer at ${providersUrl}. Start it first.`, { cause: error })
  }
}

/** The imitated providers are configured like real ones; the operator's own settings take precedence. */
async function withProviders(config: Config, credentials: Record<string, string> | undefined): Promise<Config> {
  const { providersUrl } = config.sandbox
  if (config.mode === 'live' || (credentials === undefined && providersUrl === null)) return config
  const found = credentials ?? (await fetchCredentials(providersUrl ?? ''))
  const provider = { ...found, ...config.provider }
  return { ...config, provider, kyc: readKyc(provider, false, []) }
}

/**
 * The settings that the sandbox brings: its chain, its wallets and its providers. The service and the commands next to
 * it share them.
 * @throws Error with a sentence for the operator when the sandbox does not answer
 */
export const withSandbox = (config: Config, sandbox: SandboxPlace | null, vault: SandboxVault): Promise<Config> =>
  withProviders(withSandboxChain(config, sandbox, vault), sandbox?.credentials)
