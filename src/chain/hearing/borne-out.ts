import type { Endpoint } from '../endpoints/endpoint.ts'
import { findNodeBlock, type RpcLog } from '../transfer-logs.ts'
import { isProven } from './header-proof.ts'
import { eventOf, readReceipts } from './receipts.ts'
import { areProven } from './receipts-root.ts'

/** A log, and which endpoints show it. */
export type Shown = { log: RpcLog; by: readonly Endpoint[] }

/** The others are asked about so many of the logs that one endpoint alone shows: a liar may show thousands. */
const MOST_CHECKED = 20

/**
 * Whether another endpoint bears out a log that it does not show: its receipts hold it, or its header of the block
 * proves the receipts of the one that shows it. An index of logs may have a hole.
 * @returns undefined if it does not have the block's height, so that it says nothing @throws RpcError
 */
async function bearsOut(other: Endpoint, { log, by: [shower] }: Shown): Promise<boolean | undefined> {
  const header = await findNodeBlock(other.rpc, BigInt(log.blockNumber))
  if (!header) return undefined
  if (header.hash !== log.blockHash) return false
  const its = await readReceipts(other, log.blockHash)
  const holds = (logs: readonly RpcLog[]): boolean => logs.some((one) => eventOf(one) === eventOf(log))
  if (typeof its !== 'string' && holds(its.logs)) return true
  const shown = shower ? await readReceipts(shower, log.blockHash) : 'answer'
  if (typeof shown === 'string' || !shown.all) return false
  return isProven(header) && areProven(header, shown.all) && holds(shown.logs)
}

/** Where no other one says anything about the block, the word of the one that shows the log is all there is. */
async function isBorneOut(others: readonly Endpoint[], one: Shown): Promise<boolean> {
  const words = await Promise.all(others.map((other) => bearsOut(other, one)))
  return words.includes(true) || words.every((word) => word === undefined)
}

/** `borneOut`: a second endpoint bears these out. `unchecked`: none was asked about these, as there were too many. */
export type Checked = Record<'borneOut' | 'unchecked', ReadonlySet<Shown>>

/**
 * Which of the logs that some of these showed a second endpoint bears out.
 * @param shown the most important ones first
 * @throws RpcError
 */
export async function checkShown(heard: readonly Endpoint[], shown: readonly Shown[]): Promise<Checked> {
  const isAlone = ({ by }: Shown): boolean => by.length < 2 && heard.length > 1
  const borneOut = new Set(shown.filter((one) => !isAlone(one)))
  const alone = shown.filter(isAlone)
  for (const one of alone.slice(0, MOST_CHECKED)) {
    const others = heard.filter((endpoint) => !one.by.includes(endpoint))
    if (await isBorneOut(others, one)) borneOut.add(one)
  }
  return { borneOut, unchecked: new Set(alone.slice(MOST_CHECKED)) }
}
