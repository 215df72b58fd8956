import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ChainConfig, type Config, NO_CHAIN } from '../config/config.ts'

/** @throws Error when the file is damaged */
function readSandbox(file: string): { rpcUrl: string; usdcAddress: string } {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as { rpcUrl: string; usdcAddress: string }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new Error(`${file} is damaged. Start the sandbox with "npm start": it writes the file again.`, {
      cause: error,
    })
  }
}

/** The configured chains. The sandbox's own is not in the environment: the running sandbox records its URL. */
export function listOperatorChains(config: Config): ChainConfig[] {
  const file = join(config.dataDir, 'sandbox.json')
  if (config.mode === 'live' || config.chains.some(({ chainId }) => chainId === 31337) || !existsSync(file))
    return config.chains
  const { rpcUrl, usdcAddress } = readSandbox(file)
  return [...config.chains, { ...NO_CHAIN, chainId: 31337, rpcUrls: [rpcUrl], usdcAddress }]
}
