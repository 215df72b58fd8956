import { openEndpoints } from '../chain/endpoints/endpoints.ts'
import { createRpc } from '../chain/endpoints/rpc.ts'
import { networkFor } from '../chain/networks.ts'
import { signerKind } from '../chain/payout/chain-signers.ts'
import { readGasPrice } from '../chain/payout/relayer/gas-price.ts'
import type { ChainConfig } from '../config/config.ts'
import { formatDecimal } from '../kernel/money.ts'
import { bad, type Check, good, nodeFix } from './check.ts'

const gwei = (wei: bigint): string => `${formatDecimal(wei, 9)} gwei`

/** Payouts wait while gas costs more than the ceiling, which may be a default that the operator never set. */
const gasCheck = (chain: ChainConfig): Check => ({
  name: `gas ${chain.chainId}`,
  cure: nodeFix(chain.chainId),
  async run() {
    const network = networkFor(chain)
    const rpcs = chain.rpcUrls.map((url) => createRpc({ url }))
    try {
      const { baseFee, tip } = await readGasPrice(openEndpoints(network, rpcs).rpc)
      const costs = `Gas costs ${gwei(baseFee + tip)} with the tip, and ${gwei(network.maxFeeWei)} are allowed`
      if (baseFee + tip <= network.maxFeeWei) return good(`${costs}.`)
      return bad(
        `${costs}: payouts and sweeps wait.`,
        `Raise CHAIN_${chain.chainId}_MAX_FEE_GWEI, or for a while: comptoir admin allow-fee --chain ${chain.chainId}`,
      )
    } finally {
      await Promise.all(rpcs.map((rpc) => rpc.close()))
    }
  },
})

/** One check per chain that has a relayer. */
export const gasChecks = (chains: readonly ChainConfig[]): Check[] =>
  chains.filter((chain) => signerKind(chain, 'relayer') !== null).map(gasCheck)
