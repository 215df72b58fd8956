import { findHead } from '../chain-queries.ts'
import { provenEndpoints } from '../endpoints/endpoints.ts'
import type { Hex } from '../endpoints/rpc.ts'
import type { ChainReader } from '../rescan.ts'
import { insertNativeGain, listKeyedAmong } from './native-coin-queries.ts'

/** Less than a hundred-thousandth of a coin is not a payer's mistake but spam sent to many addresses. */
const LEAST_WEI = 10n ** 13n
const PAGE = 100

/**
 * Looks for native coin at deposit addresses. No log reports it, so it compares the balance at the last block read with
 * what is recorded. If the owner of the key moves money away meanwhile, that can hide a later gain of the same size.
 * @returns addresses that hold more than was recorded
 * @throws RpcError if no endpoint answers
 */
export async function noticeNative(reader: ChainReader, addresses: readonly string[]): Promise<string[]> {
  const { db, network, log } = reader
  const { chainId, coin } = network
  const keyed = await listKeyedAmong(db, addresses)
  const head = keyed.length === 0 ? undefined : await findHead(db, chainId)
  if (!head) return []
  const [endpoint] = await provenEndpoints(reader)
  if (!endpoint) return []
  const gained: string[] = []
  for (let start = 0; start < keyed.length; start += PAGE) {
    const page = keyed.slice(start, start + PAGE)
    const calls = page.map((address) => ({ method: 'eth_getBalance', params: [address, { blockHash: head.hash }] }))
    const balances = (await endpoint.rpc.batch<Hex>(calls)).map(BigInt)
    for (const [index, address] of page.entries()) {
      const balance = balances[index] ?? 0n
      if (balance < LEAST_WEI) continue
      const added = await db.tx((tx) => insertNativeGain(tx, { chainId, address, balance, block: head.number }))
      if (added === 0) continue
      gained.push(address)
      log.warn({ chainId, address, coin }, 'native coin arrived at a deposit address; it is not USDC and pays nothing')
    }
  }
  return gained
}
