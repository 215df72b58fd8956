import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { call, type Headers, ORDERS, sleep } from './hostile.ts'
import type { Facts } from './service.ts'

/*
 * The hostile company of `npm run bench -- hostile`, as a separate process. It gets a message with URL and credentials,
 * and answers "stop" with the count of each action.
 */

/** Does everything at once that a company with a key, a password and a browser can do. */
function attack(facts: Facts, hostile: Headers, code: string): { stop(): Promise<Record<string, number>> } {
  const { baseUrl, manager } = facts
  const done: Record<string, number> = {}
  let stopped = false
  const abort = new AbortController()
  const repeat = async (name: string, work: () => Promise<unknown>): Promise<void> => {
    while (!stopped) {
      await work().catch(() => sleep(5))
      done[name] = (done[name] ?? 0) + 1
    }
  }
  const workers = (count: number, name: string, work: () => Promise<unknown>): Promise<void>[] =>
    Array.from({ length: count }, () => repeat(name, work))
  const stream = async (): Promise<void> => {
    const answer = await fetch(`${baseUrl}/pay/events?code=${code}`, { signal: abort.signal })
    for await (const _chunk of answer.body ?? []) if (stopped) return
  }
  const sockets: Socket[] = Array.from({ length: 100 }, () => {
    const { hostname, port } = new URL(baseUrl)
    const socket = connect(Number(port), hostname)
    socket.on('error', () => {})
    socket.write('POST /api/next/auth/login HTTP/1.1\r\nhost: x\r\ncontent-length: 60000\r\n\r\n')
    return socket
  })
  const drip = setInterval(() => {
    for (const socket of sockets) if (!socket.destroyed) socket.write('x')
  }, 1000)
  const login = { ...manager, origin: 'dashboard' }
  const running = [
    ...workers(30, 'reverts', () => call(`${baseUrl}${ORDERS}/revert/${code}`, hostile, { amount: '0.000001' })),
    ...workers(10, 'lists', () => call(`${baseUrl}${ORDERS}?limit=100&search=5`, hostile)),
    ...workers(4, 'exports', () => call(`${baseUrl}${ORDERS}/download?format=csv`, hostile)),
    ...workers(20, 'logins', () => call(`${baseUrl}/api/next/auth/login/manager`, {}, login)),
    ...workers(50, 'streams', stream),
  ]
  return {
    async stop() {
      stopped = true
      clearInterval(drip)
      abort.abort()
      for (const socket of sockets) socket.destroy()
      await Promise.all(running)
      return done
    },
  }
}

const [{ facts, code }] = (await once(process, 'message')) as [{ facts: Facts; code: string }]
const hostility = attack(facts, { 'x-api-key': facts.apiKey, 'x-api-secret': facts.apiSecret }, code)
await once(process, 'message')
process.send?.(await hostility.stop())
process.disconnect()
