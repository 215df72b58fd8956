import { HDKey } from '@scure/bip32'
import { SANDBOX_CHAIN_ID } from '../chain/networks.ts'
import { type Config, NO_CHAIN } from '../config/config.ts'
import { readKyc } from '../config/kyc-config.ts'
import type { KytConfig } from '../config/kyt-config.ts'
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
  chain: { chainId: number; rpcUrl: string; usdcAddress: string } | null
  providersUrl: string
  /** Absent: the sandbox is asked for them. */
  credentials?: Record<string, string>
  screening?: Record<string, string>
}

/**
 * Imitated providers: unless the settings name a sandbox that runs elsewhere, as a second node's do, or a test network.
 * There real providers' test accounts belong, and a container's image holds no imitations.
 */
export const hasOwnSandbox = ({ mode, sandbox, chains }: Config): boolean =>
  mode === 'sandbox' &&
  sandbox.providersUrl === null &&
  (chains.length === 0 || chains.some(({ chainId }) => chainId === SANDBOX_CHAIN_ID))

/** With a chain: unless the settings name one. */
export const hasOwnChain = (config: Config): boolean => hasOwnSandbox(config) && config.chains.length === 0

/** Adds the sandbox's chain to the configured ones, with deposit addresses of a wallet derived from the master key. */
export function withSandboxChain(config: Config, sandbox: SandboxPlace | null, vault: SandboxVault): Config {
  if (config.mode === 'live') return config
  const whole = sandbox ? { ...config, sandbox: { ...config.sandbox, providersUrl: sandbox.providersUrl } } : config
  if (!sandbox?.chain) return withSandboxXpub(whole, vault)
  const { chainId, rpcUrl, usdcAddress } = sandbox.chain
  const keys = { xpub: sandboxXpub(vault), ...sandboxKeys(vault) }
  return { ...whole, chains: [{ ...NO_CHAIN, chainId, rpcUrls: [rpcUrl], usdcAddress, ...keys }] }
}

/** A test chain that runs elsewhere gets deposit addresses too. */
const withSandboxXpub = (config: Config, vault: SandboxVault): Config => ({
  ...config,
  chains: config.chains.map((chain) => ({ ...chain, xpub: chain.xpub ?? sandboxXpub(vault) })),
})

/** It runs on this machine, or next to it. */
const CREDENTIALS_MS = 10 * SECOND

/** @throws Error with a sentence for the operator */
async function fetchVariables(providersUrl: string, path: string): Promise<Record<string, string>> {
  try {
    const answer = await fetch(`${providersUrl}${path}`, { signal: AbortSignal.timeout(CREDENTIALS_MS) })
    if (!answer.ok) throw new Error(`It answers ${answer.status}.`)
    return (await answer.json()) as Record<string, string>
  } catch (error) {
    throw new Error(`The sandbox does not answer at ${providersUrl}. Start it first.`, { cause: error })
  }
}

/** One source is enough for every story; the settings may name the others. */
function withScreening(kyt: KytConfig, variables: Record<string, string>): KytConfig {
  const { KYT_CHAINALYSIS_BASE_URL: baseUrl, KYT_CHAINALYSIS_API_KEY: apiKey } = variables
  if (kyt.sanctions !== null || baseUrl === undefined || apiKey === undefined) return kyt
  return { ...kyt, sanctions: { baseUrl, apiKey } }
}

/** What is imitated is configured like what is real; the operator's own settings take precedence. */
async function withProviders(config: Config, sandbox: SandboxPlace | null): Promise<Config> {
  const { providersUrl } = config.sandbox
  if (config.mode === 'live' || (sandbox?.credentials === undefined && providersUrl === null)) return config
  const ask = (path: string) => fetchVariables(providersUrl ?? '', path)
  const credentials = sandbox?.credentials ?? (await ask('/credentials'))
  const screening = sandbox?.screening ?? (await ask('/screening/credentials'))
  const provider = { ...credentials, ...config.provider }
  return { ...config, provider, kyc: readKyc(provider, false, []), kyt: withScreening(config.kyt, screening) }
}

/**
 * The settings that the sandbox brings: its chain, its wallets, its providers and the screening of addresses. The
 * service and the commands next to it share them.
 * @throws Error with a sentence for the operator when the sandbox does not answer
 */
export const withSandbox = (config: Config, sandbox: SandboxPlace | null, vault: SandboxVault): Promise<Config> =>
  withProviders(withSandboxChain(config, sandbox, vault), sandbox)
