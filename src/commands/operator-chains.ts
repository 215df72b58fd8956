import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  hasOwnChain,
  hasOwnSandbox,
  type SandboxPlace,
  withSandbox,
  withSandboxChain,
} from '../assembly/sandbox-settings.ts'
import { SANDBOX_CHAIN_ID } from '../chain/networks.ts'
import type { ChainConfig, Config } from '../config/config.ts'
import type { SandboxVault } from '../kernel/vault.ts'

const fileOf = ({ dataDir }: Config): string => join(dataDir, 'sandbox.json')

type Facts = { rpcUrl: string; usdcAddress: string; providersUrl: string }

/**
 * What the running sandbox records for programs, also beside a chain of one's own; null: no sandbox runs.
 * @throws Error when the file is damaged
 */
function findSandbox(config: Config): SandboxPlace | null {
  const file = fileOf(config)
  if (!hasOwnSandbox(config) || !existsSync(file)) return null
  try {
    const { rpcUrl, usdcAddress, providersUrl } = JSON.parse(readFileSync(file, 'utf8')) as Facts
    const chain = hasOwnChain(config) ? { chainId: SANDBOX_CHAIN_ID, rpcUrl, usdcAddress } : null
    return { chain, providersUrl }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new Error(`${file} is damaged. Start the sandbox with "npm start": it writes the file again.`, {
      cause: error,
    })
  }
}

/**
 * The service's chains and wallets. The sandbox's own are not in the environment: the running sandbox records its URL,
 * and its wallets follow from the key of its first start.
 */
export const listOperatorChains = (config: Config, vault: SandboxVault): ChainConfig[] =>
  withSandboxChain(config, findSandbox(config), vault).chains

/**
 * The settings of the service that runs: in the sandbox its chain, wallets and providers are not in the environment.
 * @throws Error with a sentence for the operator when the sandbox does not run yet
 */
export function withServiceSettings(config: Config, vault: SandboxVault): Promise<Config> {
  const sandbox = findSandbox(config)
  if (sandbox === null && hasOwnChain(config))
    throw new Error(`The sandbox is not ready: ${fileOf(config)} is missing. Wait until "comptoir serve" says so.`)
  return withSandbox(config, sandbox, vault)
}
