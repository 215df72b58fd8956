import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/*
 * The merchant's server of the benchmark, a process of its own: answers 200 at once and notes when each id came.
 * Messages: `reset` empties the notes, `report` sends them.
 */
let arrivals: [id: string, atMs: number][] = []

const server = createServer((request, response) => {
  request.resume()
  request.on('end', () => {
    arrivals.push([String(request.headers['service-webhook-id']), performance.timeOrigin + performance.now()])
    response.writeHead(200).end()
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))

process.on('message', (message) => {
  if (message === 'count') process.send?.({ count: arrivals.length })
  if (message === 'report') process.send?.({ arrivals })
  if (message === 'reset') arrivals = []
})
process.on('disconnect', () => process.exit(0))
