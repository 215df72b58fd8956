import { networkFor } from '../chain/networks.ts'
import { checkManualTransfer } from '../chain/payout/manual-transfer.ts'
import { openPayouts } from '../chain/payout/payout.ts'
import { localSigner } from '../chain/payout/signer.ts'
import { createRpc } from '../chain/rpc.ts'
import type { Db } from '../db/db.ts'
import type { SettlementChain } from '../ledger/settlement-service.ts'
import type { ServiceBase } from './service-base.ts'

/** The chains that are set up, each with what can send money on it. */
export function openChains({ config, db, clock, log }: Pick<ServiceBase, 'config' | 'db' | 'clock' | 'log'>) {
  return config.chains.map((chain) => {
    const network = networkFor(chain)
    const rpc = createRpc({ url: chain.rpcUrl })
    const { xpub, refundKey, relayerKey } = chain
    if (refundKey === null || relayerKey === null) return { network, rpc, xpub, payouts: null }
    const signers = { refundSigner: localSigner(refundKey), relayerSigner: localSigner(relayerKey) }
    return { network, rpc, xpub, payouts: openPayouts({ db, rpc, network, clock, log, ...signers }) }
  })
}

export type Chains = ReturnType<typeof openChains>

/** A chain's name that payers know: "Base". */
export const nameNetworks =
  (chains: Chains) =>
  (chainId: number): string =>
    chains.find(({ network }) => network.chainId === chainId)?.network.name ?? `Chain ${chainId}`

/** How settlements are paid on a chain. */
export function settleOn(db: Db, chain: Chains[number]): SettlementChain {
  const { network, payouts } = chain
  return {
    network: network.chainId,
    pay: payouts ? (request) => payouts.send(request) : null,
    check: (request, txHash) => checkManualTransfer({ db, ...chain }, request, txHash),
    stop: (request) => (payouts ? payouts.withdraw(request, 'cancelled') : Promise.resolve(true)),
  }
}
