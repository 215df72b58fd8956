import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type ReceivedWebhook = {
  path: string
  headers: Record<string, string>
  rawHeaders: string[]
  body: string
  /** ms since 1970, when the whole request was there */
  atMs: number
  /** ms since 1970, when the answer ended or the connection closed; null while open */
  endedAtMs: number | null
}

export type Answer = (request: ReceivedWebhook, response: ServerResponse, raw: IncomingMessage) => void

export type Receiver = {
  /** `http://127.0.0.1:<port>` */
  url: string
  port: number
  received: ReceivedWebhook[]
  /** What has arrived under this path. */
  at(path: string): ReceivedWebhook[]
  /** How the path answers from now on; by default 200. */
  answer(path: string, answer: Answer | number): void
  /** Requests open at the same time, now and at most, by path. */
  open(path: string): { now: number; most: number }
  close(): Promise<void>
}

const header = (raw: IncomingMessage): Record<string, string> =>
  Object.fromEntries(Object.entries(raw.headers).map(([name, value]) => [name, String(value)]))

const withStatus =
  (status: number): Answer =>
  (_request, response) =>
    void response.writeHead(status).end()

/** A merchant's server: keeps what arrives and answers as told. `server` may be an HTTPS server. */
export async function startReceiver(server: Server = createServer(), host = '127.0.0.1'): Promise<Receiver> {
  const received: ReceivedWebhook[] = []
  const answers = new Map<string, Answer>()
  const open = new Map<string, { now: number; most: number }>()
  const openAt = (path: string) => open.get(path) ?? { now: 0, most: 0 }
  server.on('request', (raw, response) => {
    const path = raw.url ?? ''
    const count = openAt(path)
    open.set(path, { now: count.now + 1, most: Math.max(count.most, count.now + 1) })
    const chunks: Buffer[] = []
    raw.on('data', (chunk: Buffer) => chunks.push(chunk))
    raw.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8')
      const { rawHeaders } = raw
      const request: ReceivedWebhook = {
        path,
        headers: header(raw),
        rawHeaders,
        body,
        atMs: Date.now(),
        endedAtMs: null,
      }
      received.push(request)
      response.on('close', () => {
        request.endedAtMs = Date.now()
      })
      const answer = answers.get(path) ?? withStatus(200)
      answer(request, response, raw)
    })
    response.on('close', () => {
      const { now, most } = openAt(path)
      open.set(path, { now: now - 1, most })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://${host}:${port}`,
    port,
    received,
    at: (path) => received.filter((request) => request.path === path),
    answer: (path, answer) => void answers.set(path, typeof answer === 'number' ? withStatus(answer) : answer),
    open: openAt,
    close: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

/** Waits until `condition` holds. @throws Error naming what was waited for, after `timeoutMs` */
export async function waitFor(
  what: string,
  condition: () => boolean | Promise<boolean>,
  timeoutMs = 30_000,
): Promise<void> {
  const endMs = performance.now() + timeoutMs
  while (!(await condition())) {
    if (performance.now() > endMs) throw new Error(`waited ${timeoutMs} ms in vain for: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 15))
  }
}

/** Waits until a count stays the same for a while: what was on its way has arrived. */
export async function untilQuiet(count: () => number, quietMs = 1500): Promise<void> {
  for (let seen = -1; seen !== count(); ) {
    seen = count()
    await new Promise((resolve) => setTimeout(resolve, quietMs))
  }
}
