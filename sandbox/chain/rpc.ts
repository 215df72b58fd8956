import { Agent, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'

/** One call to a local node. Throws with the node's own message. */
export type RpcCall = <Result>(method: string, ...params: unknown[]) => Promise<Result>

const TIMEOUT_MS = 60_000
const JSON_HEADERS = { 'content-type': 'application/json' }

/** node:http, because `fetch` alone would cost an idle sandbox 7 MB. */
function post(rpcUrl: string, agent: Agent, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { ...JSON_HEADERS, 'content-length': Buffer.byteLength(body) }
    const onResponse = (response: IncomingMessage): void => void text(response).then(resolve, reject)
    const asked = request(rpcUrl, { method: 'POST', headers, agent, timeout: TIMEOUT_MS }, onResponse)
    asked.once('timeout', () => asked.destroy(new Error(`the node said nothing for ${TIMEOUT_MS / 1000} s`)))
    asked.once('error', reject)
    asked.end(body)
  })
}

export function openRpcClient(rpcUrl: string): RpcCall {
  const agent = new Agent({ keepAlive: true })
  return async <Result>(method: string, ...params: unknown[]): Promise<Result> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const answer = JSON.parse(await post(rpcUrl, agent, body)) as { result?: Result; error?: { message: string } }
    if (answer.error) throw new Error(`${method}: ${answer.error.message}`)
    return answer.result as Result
  }
}

/** A 32-byte argument of a contract call: an address or a whole number. */
export const word = (value: string | bigint): string =>
  (typeof value === 'bigint' ? value.toString(16) : value.slice(2).toLowerCase()).padStart(64, '0')
