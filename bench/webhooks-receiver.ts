import { type AddressInfo, createServer, type Socket } from 'node:net'

/*
 * The merchant's server of the benchmark, as a separate process: answers 200 at once and records when each id arrived.
 * As lean as possible, because it shares the machine with what it measures: one request at a time on a connection, none
 * without a content length. Messages: `reset` clears the records, `report` sends them.
 */
let arrivals: [id: string, atMs: number][] = []

const HEADER_END = '\r\n\r\n'
const ANSWER = 'HTTP/1.1 200 OK\r\nconnection: keep-alive\r\ncontent-length: 0\r\n\r\n'

/** The request's head, once it and the body have arrived completely. */
function readHead(bytes: Buffer): string | undefined {
  const end = bytes.indexOf(HEADER_END)
  if (end < 0) return undefined
  const head = bytes.toString('latin1', 0, end)
  const [, length = '0'] = /\r\ncontent-length: (\d+)/i.exec(head) ?? []
  return bytes.length >= end + HEADER_END.length + Number(length) ? head : undefined
}

function serve(socket: Socket): void {
  let rest: Buffer | undefined
  socket.setNoDelay(true).on('error', () => {})
  socket.on('data', (chunk: Buffer) => {
    const bytes = rest === undefined ? chunk : Buffer.concat([rest, chunk])
    const head = readHead(bytes)
    rest = head === undefined ? bytes : undefined
    if (head === undefined) return
    const [, id = ''] = /\r\nservice-webhook-id: (\w+)/i.exec(head) ?? []
    arrivals.push([id, performance.timeOrigin + performance.now()])
    socket.write(ANSWER, 'latin1')
  })
}

const server = createServer(serve)
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))

process.on('message', (message) => {
  if (message === 'count') process.send?.({ count: arrivals.length })
  if (message === 'report') process.send?.({ arrivals })
  if (message === 'reset') arrivals = []
})
process.on('disconnect', () => process.exit(0))
