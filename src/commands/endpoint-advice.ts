import { RpcError } from '../chain/endpoints/rpc.ts'

export const adviceFor = (chainId: number): string =>
  `Wait until it has caught up, or leave it out of CHAIN_${chainId}_RPC_URL for this command.`

/** For the operator: what such an endpoint alone would show is not known. */
export const silentWords = (chainId: number, endpoint: number, why: string): string =>
  `Endpoint ${endpoint} of chain ${chainId} does not answer (${why}): what it shows was not compared. ${adviceFor(chainId)}`

/** @throws Error that names the endpoint that gave no usable answer, and what to do */
export const namingSilent = <Result>(chainId: number, work: Promise<Result>): Promise<Result> =>
  work.catch((error: unknown) => {
    if (!(error instanceof RpcError) || error.kind !== 'unknown' || error.endpoint === null) throw error
    throw new Error(silentWords(chainId, error.endpoint, error.message), { cause: error })
  })
