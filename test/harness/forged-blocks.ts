import { bloomOf } from '../../src/chain/bloom.ts'
import type { Hex } from '../../src/chain/endpoints/rpc.ts'
import { TRANSFER_TOPIC, toHex, toTopic } from '../../src/chain/transfer-logs.ts'
import { SECOND } from '../../src/kernel/clock.ts'
import type { TestChain } from './chain.ts'
import type { Faults } from './rpc-proxy.ts'

type Forged = { hash: string; number: Hex; timestamp: Hex }

/**
 * What a node answers that shows blocks after the newest one that no other has.
 * @param paid the first of them pays this address; without it, all are empty
 * @param atMs the time of the first; the others follow by a second each
 */
export async function forgeBlocks(
  chain: TestChain,
  { paid, atMs, count = 5 }: { paid?: string; atMs: number; count?: number },
): Promise<NonNullable<Faults['forges']>> {
  const base = await chain.call<Forged>('eth_getBlockByNumber', 'latest', false)
  const place = (above: number) => ({
    blockNumber: toHex(BigInt(base.number) + BigInt(above)),
    blockHash: above === 0 ? base.hash : `0x${above.toString(16).padStart(64, 'f')}`,
  })
  const log = paid && {
    ...{ ...place(1), address: chain.usdcAddress.toLowerCase(), transactionHash: `0x${'e'.repeat(64)}` },
    topics: [TRANSFER_TOPIC, toTopic(`0x${'5'.repeat(40)}`), toTopic(paid)],
    ...{ data: `0x${5_000_000_000n.toString(16).padStart(64, '0')}`, logIndex: '0x0', removed: false },
  }
  const blocks = Array.from({ length: count }, (_, index): Forged => {
    const { blockNumber, blockHash } = place(index + 1)
    const logsBloom = `0x${bloomOf(log && index === 0 ? [log] : []).toString('hex')}`
    const parentHash = place(index).blockHash
    const timestamp = toHex(BigInt(Math.floor(atMs / SECOND) + index))
    return { ...base, ...{ number: blockNumber, hash: blockHash, parentHash, timestamp, logsBloom } }
  })
  return ({ method, params }) => {
    const [asked] = params as [string | { blockHash?: string }]
    if (method === 'eth_getLogs') {
      const { blockHash, fromBlock } = asked as { blockHash?: string; fromBlock?: string }
      if (fromBlock && BigInt(fromBlock) > BigInt(base.number)) return []
      if (!blocks.some(({ hash }) => hash === blockHash)) return undefined
      return log && log.blockHash === blockHash ? [log] : []
    }
    if (method === 'eth_getBlockByNumber' && asked === 'latest') return blocks.at(-1)
    if (method !== 'eth_getBlockByNumber' && method !== 'eth_getBlockByHash') return undefined
    return blocks.find(({ number, hash }) => number === asked || hash === asked)
  }
}
