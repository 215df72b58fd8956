import type { Endpoint } from '../endpoints/endpoint.ts'
import { provenEndpoints } from '../endpoints/endpoints.ts'
import { isReverted, type Rpc, RpcError } from '../endpoints/rpc.ts'
import { confirm, Outvoted } from '../hearing/vote.ts'
import type { Network } from '../networks.ts'
import { type ChainReader, panelOf } from '../rescan.ts'
import { blockCall, ChainDoubt } from '../transfer-logs.ts'
import { type ChainView, readChainView } from './payout-view.ts'

/** A block that an answer rests on. */
export type AnsweredBlock = { number: bigint; hash: string }

/** Each endpoint is asked the same, and says what it sees itself. */
export type AgreeQuestion<Answer> = {
  /**
   * What one endpoint says; `own`: it is asked about what another one said. @throws RpcError; ChainDoubt where its word
   * alone makes us wait
   */
  look(rpc: Rpc, own?: Answer): Promise<Answer>
  /** Equal for answers that are the same; `own`: the one that the others are compared with. */
  keyOf(answer: Answer, own: Answer): string
  subject: string
  /** Nothing follows from this answer, so one endpoint is enough for it. */
  isHarmless?(own: Answer): boolean
  /** An endpoint whose chain ends before this block cannot know the answer yet. Null: it rests on none. */
  blockOf?(own: Answer): AnsweredBlock | null
  /** Another endpoint sees the same as this one, but less of it: it cannot know yet. */
  isEarlier?(theirs: Answer, own: Answer): boolean
}

/**
 * What the proven endpoints of a chain agree on: none is trusted alone where there are others.
 * @throws RpcError when no endpoint answers; ChainDoubt while they do not agree
 */
export type Agree = <Answer>(question: AgreeQuestion<Answer>) => Promise<Answer>

/**
 * Whether an endpoint's chain ends before a block. One that has another block at its height contradicts it, unless it
 * may be of another chain.
 */
async function endsBefore(endpoint: Endpoint, { number, hash }: AnsweredBlock): Promise<boolean> {
  const known = { method: 'eth_getBlockByHash', params: [hash, false] }
  const [block, newest] = await endpoint.rpc.batch<{ number: string } | null>([known, blockCall('latest')])
  if (block) return false
  return ['foreign', 'unproven'].includes(endpoint.fault() ?? '') || !newest || BigInt(newest.number) < number
}

export function openAgree(reader: Pick<ChainReader, 'endpoints' | 'network' | 'log'>): Agree {
  /** What another endpoint says about an answer; undefined while it cannot know: its chain has not come so far. */
  async function hear<Answer>(question: AgreeQuestion<Answer>, own: Answer, endpoint: Endpoint) {
    const { look, keyOf, blockOf, isEarlier } = question
    const block = blockOf?.(own) ?? null
    // first, so that what it says is said of a chain with this block
    const isBehind = block !== null && (await endsBefore(endpoint, block))
    const theirs = await look(endpoint.rpc, own)
    const isSame = keyOf(theirs, own) === keyOf(own, own)
    return !isEarlier?.(theirs, own) && (isSame || !isBehind) ? theirs : undefined
  }

  /** @throws Outvoted, RpcError where another endpoint may say more; ChainDoubt */
  async function askThrough<Answer>(question: AgreeQuestion<Answer>, endpoint: Endpoint, own: Answer): Promise<void> {
    const { keyOf, subject } = question
    await confirm(panelOf(reader, endpoint), {
      ...{ own, subject, isMoney: true },
      ask: (_rpc: Rpc, other: Endpoint) => hear(question, own, other),
      keyOf: (answer) => keyOf(answer, own),
    })
  }

  return async <Answer>(question: AgreeQuestion<Answer>) => {
    const { look, isHarmless, isEarlier } = question
    let harmless: { answer: Answer } | undefined
    let last: unknown
    for (const endpoint of await provenEndpoints(reader)) {
      try {
        const own = await look(endpoint.rpc)
        if (isHarmless?.(own)) {
          // it may stand still: where more than half see more, that counts
          harmless ??= { answer: own }
          if (isEarlier) continue
          return own
        }
        await askThrough(question, endpoint, own)
        return own
      } catch (error) {
        const isRefusal = error instanceof RpcError && error.kind === 'definite' && isReverted(error)
        const isDoubt = error instanceof ChainDoubt && !(error instanceof Outvoted)
        if (isDoubt && harmless) return harmless.answer
        if (isRefusal || !(error instanceof Outvoted || error instanceof RpcError)) throw error
        last = error
      }
    }
    if (harmless) return harmless.answer
    throw last
  }
}

/** Trusts one node, because no other is configured. */
export const agreeAlone =
  (rpc: Rpc): Agree =>
  ({ look }) =>
    look(rpc)

/**
 * Whether all nodes see it in their newest block. One that does not is right as far as it is asked; one that has not
 * got the others' newest block yet makes us wait.
 */
export async function isSeenByAll(
  { agree, network }: { agree: Agree; network: Network },
  subject: string,
  isSeen: (rpc: Rpc, view: ChainView) => Promise<boolean>,
): Promise<boolean> {
  type Seen = { view: ChainView; isSo: boolean }
  const look = async (rpc: Rpc): Promise<Seen> => {
    const view = await readChainView(rpc, network)
    return { view, isSo: await isSeen(rpc, view) }
  }
  try {
    const { isSo } = await agree<Seen>({
      ...{ look, subject, keyOf: (seen) => String(seen.isSo) },
      isHarmless: (own) => !own.isSo,
      blockOf: ({ view }) => view,
    })
    return isSo
  } catch (error) {
    if (error instanceof ChainDoubt) return false
    throw error
  }
}

/** As a provider status: what the payout waits for. */
export const doubtWords = (error: ChainDoubt): string =>
  `the nodes of the chain do not agree about it yet: ${error.message}`
