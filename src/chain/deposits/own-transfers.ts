import type { Db } from '../../db/db.ts'
import type { Rpc } from '../endpoints/rpc.ts'
import { toWord } from '../endpoints/rpc.ts'
import type { Network } from '../networks.ts'
import { readReceipts } from '../payout/receipt.ts'
import { type AuthorizedTransfer, transferOfAuthorization } from '../payout/usdc-token.ts'
import type { RpcLog } from '../transfer-logs.ts'
import { listOwnPayouts, type OwnPayout } from './balance-audit-queries.ts'

type Chain = { db: Db; network: Network; rpc: Rpc }

const movedBy = ({ topics, data }: RpcLog): AuthorizedTransfer => ({
  to: `0x${topics[2]?.slice(26)}`.toLowerCase(),
  units: toWord(data),
})

/** What the payout's authorization moved, where that is not what is stored: it left before a restore, and was named. */
async function readLeft({ network, rpc }: Chain, { txHash, keys }: OwnPayout): Promise<AuthorizedTransfer[]> {
  const [receipt] = await readReceipts(rpc, [txHash])
  return keys.flatMap((key) => transferOfAuthorization(receipt?.logs ?? [], network, key) ?? [])
}

/**
 * Of transfers out of a wallet, those that no payout of ours explains; in the same order. A payout explains exactly
 * what it moved, not its transaction: anyone may submit what we signed together with other calls, so whoever has the
 * wallet's key may hide a transfer of their own behind it.
 * @throws RpcError
 */
export async function withoutOwn<One extends { log: RpcLog }>(
  chain: Chain,
  wallet: string,
  transfers: readonly One[],
): Promise<One[]> {
  const hashes = new Set(transfers.map(({ log }) => log.transactionHash))
  const payouts = await listOwnPayouts(chain.db, { chainId: chain.network.chainId, wallet, hashes: [...hashes] })
  const byHash = Map.groupBy(payouts, ({ txHash }) => txHash)
  // two nodes may show a transaction in two blocks
  const byBlock = Map.groupBy(transfers, ({ log }) => `${log.blockHash} ${log.transactionHash}`)
  const own = new Set<One>()
  for (const together of byBlock.values()) {
    const explain = ({ to, units }: AuthorizedTransfer): boolean => {
      const found = together.find((one) => {
        const moved = movedBy(one.log)
        return !own.has(one) && moved.to === to && moved.units === units
      })
      if (found) own.add(found)
      return found !== undefined
    }
    for (const payout of byHash.get(together[0]?.log.transactionHash ?? '') ?? [])
      if (!explain({ to: payout.toAddress, units: payout.units })) (await readLeft(chain, payout)).forEach(explain)
  }
  return transfers.filter((one) => !own.has(one))
}
