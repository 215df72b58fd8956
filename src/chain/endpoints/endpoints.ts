import type { Clock } from '../../kernel/clock.ts'
import type { Network } from '../networks.ts'
import { Endpoint, type EndpointEvents, type EndpointFault, ForeignChain } from './endpoint.ts'
import { NetworkMismatch } from './network-check.ts'
import { isReverted, type Rpc, RpcError } from './rpc.ts'

/** All nodes of one chain. */
export type Endpoints = {
  readonly all: readonly Endpoint[]
  /** The trusted ones, in the order of configuration; last those that lack what others prove. */
  usable(): Endpoint[]
  /** Those to read from, in this order: the trusted ones; without any, those that merely failed, or are behind. */
  candidates(): Endpoint[]
  /**
   * Asks them in order until one answers. What one cannot or will not answer, the next one may; a contract's refusal is
   * an answer. A transaction goes to one node only: its sender decides what to do next.
   */
  readonly rpc: Rpc
  /** What only one of them shows counts, too: none is left out because it failed a moment ago, or fails now. */
  readonly isEachHeard?: boolean
}

const isIgnored = (fault: EndpointFault | null): boolean => fault !== null && fault !== 'down' && fault !== 'behind'

/** Of another chain, or of another token: nothing is asked of it until it proves the right one. */
const isForeign = (fault: EndpointFault | null): boolean => fault === 'foreign' || fault === 'unproven'

const ignoredWords = (fault: EndpointFault | null): Error => new Error(`its answers are ignored (${fault})`)

/** Lets an endpoint prove that it serves this chain. @throws RpcError, also where it is not to be asked */
export async function verifyChain(endpoint: Endpoint, network: Pick<Network, 'chainId'>): Promise<void> {
  const fault = endpoint.fault()
  if (isForeign(fault)) refuse(endpoint, ignoredWords(fault))
  await endpoint.verify(network).catch((error: unknown) => refuse(endpoint, error))
}

/** @throws RpcError */
function refuse(endpoint: Endpoint, error: unknown): never {
  if (error instanceof RpcError) throw error
  throw silenceOf(endpoint, `endpoint ${endpoint.number}: ${(error as Error).message}`)
}

/** What an endpoint said instead of an answer, whatever it was: another one does not speak for it. */
export function silenceOf(endpoint: Endpoint, words: string, cause?: unknown): RpcError {
  const silence = new RpcError('unknown', words, null, cause)
  silence.endpoint = endpoint.number
  return silence
}

type ChainEndpoints = {
  endpoints: Pick<Endpoints, 'all' | 'usable' | 'isEachHeard'>
  network: Pick<Network, 'chainId'>
}

const noneOf = ({ chainId }: Pick<Network, 'chainId'>): RpcError =>
  new RpcError('unknown', `no endpoint of chain ${chainId} is available`)

/**
 * Each endpoint, as it may know what another one hides, the usable ones first: also one that failed a moment ago, is
 * behind, was outvoted, or is not to be asked. Whoever asks one calls `verifyChain` before. One that then fails did not
 * answer: nothing follows from its silence.
 * @throws RpcError where each is to be heard, if the answers of one are ignored
 */
export function audibleEndpoints({ endpoints: { all, usable, isEachHeard = false } }: ChainEndpoints): Endpoint[] {
  const first = usable()
  const ignored = all.find((endpoint) => isEachHeard && isIgnored(endpoint.fault()))
  if (ignored) refuse(ignored, ignoredWords(ignored.fault()))
  return [...first, ...all.filter((endpoint) => !first.includes(endpoint))]
}

/**
 * Available endpoints, each proven to serve this chain and its token.
 * @throws RpcError if none is; where each is to be heard, if one is not
 */
export async function provenEndpoints({
  endpoints: { all, usable, isEachHeard = false },
  network,
}: ChainEndpoints): Promise<Endpoint[]> {
  const proven: Endpoint[] = []
  let last: unknown = noneOf(network)
  for (const endpoint of isEachHeard || usable().length === 0 ? all : usable()) {
    const fault = endpoint.fault()
    if (isEachHeard && isIgnored(fault)) refuse(endpoint, ignoredWords(fault))
    if (isForeign(fault)) continue
    try {
      await endpoint.verify(network)
      proven.push(endpoint)
    } catch (error) {
      if (isEachHeard) refuse(endpoint, error)
      last = error
    }
  }
  if (proven.length === 0) throw last instanceof RpcError ? last : new RpcError('unknown', (last as Error).message)
  return proven
}

/** What is refused here is refused because of the transaction, whatever the words (EIP-1474 has no code for it). */
const isAboutTransaction = (method: string): boolean => method === 'eth_estimateGas'

const QUIET: EndpointEvents = { onError: () => {}, onLearned: () => {} }

/** @param rpcs in the order of configuration */
export function openEndpoints(
  network: Pick<Network, 'chainId'>,
  rpcs: readonly Rpc[],
  { clock = Date.now, events = QUIET }: { clock?: Clock; events?: EndpointEvents } = {},
): Endpoints {
  const all = rpcs.map((rpc, index) => new Endpoint(index + 1, rpc, { clock, events }))
  const usable = (): Endpoint[] =>
    all
      .filter((endpoint) => endpoint.fault() === null)
      .toSorted((left, right) => Number(left.lacking) - Number(right.lacking))

  // who merely failed may be back
  const candidates = (): Endpoint[] => {
    const fit = usable()
    if (fit.length > 0) return fit
    return all.filter((endpoint) => ['down', 'behind'].includes(endpoint.fault() ?? ''))
  }

  type How = { once?: boolean; isFinal(error: RpcError): boolean }

  async function ask<Result>(question: (rpc: Rpc) => Promise<Result>, { once, isFinal }: How): Promise<Result> {
    let refused: RpcError | undefined
    let last: unknown = noneOf(network)
    for (const endpoint of candidates()) {
      try {
        await endpoint.verify(network)
      } catch (error) {
        last = error instanceof ForeignChain ? new RpcError('unknown', error.message) : error
        continue
      }
      try {
        return await question(endpoint.rpc)
      } catch (error) {
        last = error
        if (error instanceof NetworkMismatch) continue // another one may show the token
        if (once || !(error instanceof RpcError) || isFinal(error)) throw error
        if (error.kind === 'definite') refused ??= error
      }
    }
    throw refused ?? last
  }

  const isRevert = (error: RpcError): boolean => error.kind === 'definite' && isReverted(error)
  const rpc: Rpc = {
    call: (method, ...params) =>
      ask((one) => one.call(method, ...params), {
        once: method === 'eth_sendRawTransaction',
        isFinal: (error) => isRevert(error) || (error.kind === 'definite' && isAboutTransaction(method)),
      }),
    batch: (calls) => ask((one) => one.batch(calls), { isFinal: isRevert }),
    first: (question) => ask(question, { isFinal: isRevert }),
    nodes: async () => (await provenEndpoints({ endpoints: { all, usable }, network })).map((one) => one.rpc),
    all: () => all.map((one) => one.rpc),
    close: async () => void (await Promise.all(rpcs.map((one) => one.close()))),
  }
  return { all, usable, candidates, rpc }
}
