import type { TestChain } from './chain.ts'
import type { Random } from './random.ts'
import type { RpcProxy } from './rpc-proxy.ts'

/** The blocks from one height on are other ones, well chained. */
export const otherHistory =
  (from: bigint): RpcProxy['faults']['alter'] =>
  ({ method }, result) => {
    const block = result as { number: string; parentHash: string } | null
    if (!method.startsWith('eth_getBlockBy') || block === null || BigInt(block.number) < from) return result
    const fake = (number: bigint): string => `0x${number.toString(16).padStart(64, 'f')}`
    const number = BigInt(block.number)
    return { ...block, hash: fake(number), parentHash: number > from ? fake(number - 1n) : block.parentHash }
  }

/**
 * One of the endpoints, chosen at random, does not do what it should; the others are honest again.
 * @param inventsFor a receiver (topic) of a transfer that never happened; null: none is invented
 */
export async function tellLie(
  { chain, other, proxies }: { chain: TestChain; other: TestChain; proxies: readonly RpcProxy[] },
  random: Random,
  inventsFor: string | null,
): Promise<void> {
  for (const proxy of proxies) proxy.heal()
  const { faults } = proxies[random(proxies.length)] as RpcProxy
  const head = await chain.blockNumber()
  const lies: (() => void)[] = [
    () => (faults.status = 503),
    () => (faults.hidesLogs = true),
    () => (faults.hidesOnce = 1 + random(2)),
    () => (faults.knowsUpTo = head - BigInt(random(4))),
    () => (faults.otherUrl = other.rpcUrl),
    () => (faults.alter = otherHistory(head - BigInt(random(5)))),
    () => (faults.maxBatch = 1 + random(5)),
  ]
  if (inventsFor !== null) lies.push(() => (faults.inventsFor = inventsFor))
  lies[random(lies.length)]?.()
}
