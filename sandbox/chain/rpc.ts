/** One call to a local node. Throws with the node's own message. */
export type RpcCall = <Result>(method: string, ...params: unknown[]) => Promise<Result>

export function openRpcClient(rpcUrl: string): RpcCall {
  return async <Result>(method: string, ...params: unknown[]): Promise<Result> => {
    const response = await fetch(rpcUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      signal: AbortSignal.timeout(60_000),
    })
    const answer = (await response.json()) as { result?: Result; error?: { message: string } }
    if (answer.error) throw new Error(`${method}: ${answer.error.message}`)
    return answer.result as Result
  }
}

/** A 32-byte argument of a contract call: an address or a whole number. */
export const word = (value: string | bigint): string =>
  (typeof value === 'bigint' ? value.toString(16) : value.slice(2).toLowerCase()).padStart(64, '0')
