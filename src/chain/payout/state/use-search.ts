import { type Hex, type Rpc, RpcError } from '../../endpoints/rpc.ts'
import type { Network } from '../../networks.ts'
import { toHex } from '../../transfer-logs.ts'
import type { ChainView } from '../payout-view.ts'
import { type AuthorizationKey, findAuthorizationUse, isAuthorizationUsed } from '../usdc-token.ts'

const RECENT_BLOCKS = 1000n
/** Where a node refuses more blocks at once. An authorization is valid for an hour: 15 parts on Arbitrum. */
const MOST_PARTS = 100

/** Null: no node searches so many blocks at once. @throws RpcError */
async function findIn(
  { rpc, network }: { rpc: Rpc; network: Network },
  key: AuthorizationKey,
  range: { fromBlock: Hex; toBlock: Hex | 'latest' },
): Promise<string | undefined | null> {
  try {
    return await findAuthorizationUse(rpc, network, key, range)
  } catch (error) {
    if (error instanceof RpcError && error.kind === 'definite') return null
    throw error
  }
}

/** The transaction that used an authorization, newest blocks first: in parts where nodes refuse long ranges. */
export async function findUseTransaction(
  chain: { rpc: Rpc; network: Network },
  key: AuthorizationKey,
  { number: newest }: ChainView,
): Promise<string | undefined> {
  const startOf = (last: bigint) => (last >= RECENT_BLOCKS ? last - RECENT_BLOCKS + 1n : 0n)
  const start = startOf(newest)
  const recent = await findIn(chain, key, { fromBlock: toHex(start), toBlock: 'latest' })
  if (recent || start === 0n) return recent ?? undefined
  const ever = await findIn(chain, key, { fromBlock: '0x0', toBlock: 'latest' })
  if (ever !== null) return ever
  for (let last = start - 1n, part = 0; last >= 0n && part < MOST_PARTS; last = startOf(last) - 1n, part += 1) {
    const found = await findIn(chain, key, { fromBlock: toHex(startOf(last)), toBlock: toHex(last) })
    if (found === null) return undefined
    if (found !== undefined) return found
  }
  return undefined
}

/** `shown`: the block in which another node shows the transaction; none does: absent, or null. */
type Searched = { txHash: string; shown?: { hash: string } | null | undefined }

/**
 * For a node without the receipt of a transaction that may have used an authorization. One whose token does not know
 * that, or cannot say, contradicts whoever shows such a transaction; so does one whose block does not list it.
 * @throws RpcError if its token knows the authorization, and its block lists the transaction, or no other node shows it
 * in one: it may keep no old receipts, so its silence contradicts nobody, and bears out nobody who does not know it
 */
export async function checkKept(
  chain: { rpc: Rpc; network: Network },
  key: AuthorizationKey,
  searched: Searched,
): Promise<void> {
  if (await mayHaveForgotten(chain, key, searched))
    throw new RpcError('unknown', `the node does not keep the receipt of transaction ${searched.txHash}`)
}

async function mayHaveForgotten(
  { rpc, network }: { rpc: Rpc; network: Network },
  key: AuthorizationKey,
  { txHash, shown }: Searched,
): Promise<boolean> {
  try {
    if (!(await isAuthorizationUsed(rpc, network, key))) return false
    if (!shown) return true
    const block = await rpc.call<{ transactions: string[] } | null>('eth_getBlockByHash', shown.hash, false)
    return block?.transactions.includes(txHash) ?? false
  } catch (error) {
    if (error instanceof RpcError) return false
    throw error
  }
}
