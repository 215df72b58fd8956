import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

/** RFC 6455, 1.3 */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

export type HeadServer = {
  url: string
  /** Connections that were opened. */
  opened(): number
  /** What a new connection gets once it subscribes; by default the subscription, and nothing more. */
  behave(behaviour: Behaviour): void
  stop(): Promise<void>
}
export type Behaviour = (peer: { text(message: string): void; socket: Socket }) => void

/** An unfragmented text frame. @param claimed bytes that its header promises, where they differ from the truth */
export function textFrame(message: string, claimed = Buffer.byteLength(message)): Buffer {
  const header = Buffer.alloc(10)
  header[0] = 0x81
  header[1] = 127
  header.writeBigUInt64BE(BigInt(claimed), 2)
  return Buffer.concat([header, Buffer.from(message)])
}

export const SUBSCRIBED = JSON.stringify({ jsonrpc: '2.0', id: 1, result: '0x1' })
export const headOf = (hash: string): string =>
  JSON.stringify({ jsonrpc: '2.0', method: 'eth_subscription', params: { subscription: '0x1', result: { hash } } })

/** A node's WebSocket side that does what the test says. */
export async function startHeadServer(): Promise<HeadServer> {
  const sockets = new Set<Socket>()
  let opened = 0
  let behaviour: Behaviour = ({ text }) => text(SUBSCRIBED)
  const server = createServer((_, response) => void response.writeHead(426).end())
  server.on('upgrade', (request, stream) => {
    const socket = stream as Socket
    opened += 1
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => {})
    const accept = createHash('sha1').update(`${request.headers['sec-websocket-key']}${GUID}`).digest('base64')
    const lines = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade']
    socket.write(`${[...lines, `Sec-WebSocket-Accept: ${accept}`].join('\r\n')}\r\n\r\n`)
    // the first frame is the subscription
    socket.once('data', () => behaviour({ socket, text: (message) => void socket.write(textFrame(message)) }))
  })
  server.listen(0, '127.0.0.1')
  await new Promise<void>((resolve) => server.once('listening', () => resolve()))
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    opened: () => opened,
    behave: (next) => {
      behaviour = next
    },
    async stop() {
      for (const socket of sockets) socket.destroy()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}
