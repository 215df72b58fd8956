import { provenEndpoints } from '../endpoints/endpoints.ts'
import { type Rpc, RpcError } from '../endpoints/rpc.ts'
import { confirm, Outvoted } from '../opinions.ts'
import { type ChainReader, panelOf } from '../rescan.ts'
import type { ChainDoubt } from '../transfer-logs.ts'

type Question<Answer> = {
  own(rpc: Rpc): Promise<Answer>
  /** Whether another endpoint agrees; undefined while it cannot know. */
  other(rpc: Rpc, own: Answer): Promise<Answer | undefined>
  keyOf(answer: Answer): string
  subject: string
}

/**
 * What the proven endpoints of a chain agree on: none is trusted alone where there are others.
 * @throws RpcError when no endpoint answers; ChainDoubt while they do not agree
 */
export type Agree = <Answer>(question: Question<Answer>) => Promise<Answer>

export const openAgree =
  (reader: Pick<ChainReader, 'endpoints' | 'network' | 'log'>): Agree =>
  async ({ own: askFirst, other, keyOf, subject }) => {
    let last: unknown
    for (const endpoint of await provenEndpoints(reader)) {
      try {
        const own = await askFirst(endpoint.rpc)
        const ask = (rpc: Rpc) => other(rpc, own)
        await confirm(panelOf(reader, endpoint), { own, ask, keyOf, subject, isMoney: true })
        return own
      } catch (error) {
        const passes = error instanceof Outvoted || (error instanceof RpcError && error.kind === 'unknown')
        if (!passes) throw error
        last = error
      }
    }
    throw last
  }

/** Trusts one node, because no other is configured. */
export const agreeAlone =
  (rpc: Rpc): Agree =>
  ({ own }) =>
    own(rpc)

/** As a provider status: what the payout waits for. */
export const doubtWords = (error: ChainDoubt): string =>
  `the nodes of the chain do not agree about it yet: ${error.message}`
