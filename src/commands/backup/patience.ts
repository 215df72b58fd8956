import { setTimeout as sleep } from 'node:timers/promises'
import { type Endpoints, openEndpoints } from '../../chain/endpoints/endpoints.ts'
import { RpcError } from '../../chain/endpoints/rpc.ts'
import type { Network } from '../../chain/networks.ts'
import { SECOND } from '../../kernel/clock.ts'

/** Where it did not answer. */
const PAUSES_MS = [SECOND, 3 * SECOND, 9 * SECOND]
/** Where it answered, and the question may have been too large: then smaller ones do. */
const PAUSES_REFUSED_MS = [SECOND]

function pausesAfter(error: unknown): readonly number[] {
  if (!(error instanceof RpcError) || error.kind !== 'unknown') return []
  return error.refused ? PAUSES_REFUSED_MS : PAUSES_MS
}

async function patiently<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  for (let tries = 0; ; tries += 1)
    try {
      return await ask()
    } catch (error) {
      const pauseMs = pausesAfter(error)[tries]
      if (pauseMs === undefined) throw error
      await sleep(pauseMs)
    }
}

/** The same nodes, each heard: one request of thousands that fails for a moment ends nothing. */
export function openPatient(network: Network, { all }: Pick<Endpoints, 'all'>): Endpoints {
  const rpcs = all.map(({ rpc }) => ({
    call: <Result>(method: string, ...params: unknown[]) => patiently(() => rpc.call<Result>(method, ...params)),
    batch: <Result>(calls: Parameters<typeof rpc.batch>[0]) => patiently(() => rpc.batch<Result>(calls)),
    close: () => rpc.close(),
  }))
  const patient = openEndpoints(network, rpcs, {
    events: { onError: () => {}, onLearned: (number, limits) => all[number - 1]?.learn(limits) },
  })
  for (const [index, endpoint] of patient.all.entries()) endpoint.limits = { ...endpoint.limits, ...all[index]?.limits }
  return { ...patient, isEachHeard: true }
}
