import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'

/**
 * A wire to the tests' database whose other end can vanish without a word (power, a failover, a dropped NAT entry), be
 * slow, or be cut.
 */
export async function startSilentWire(target: string) {
  const url = new URL(target)
  const path = join(url.searchParams.get('host') ?? '', `.s.PGSQL.${url.port}`)
  const silent = new WeakSet<Socket>()
  const open = new Set<Socket>()
  let isCut = false
  let passed: (chunk: Buffer) => boolean = () => true
  let delayOf: (chunk: Buffer) => number = () => 0
  const server = createServer((client) => {
    if (isCut) return void client.destroy()
    const backend = connect(path).on('error', () => {})
    open.add(client.on('error', () => {}))
    client.on('data', (chunk) => {
      const delayMs = delayOf(chunk)
      const isHeard = !silent.has(client)
      if (isHeard && delayMs > 0) setTimeout(() => backend.write(chunk), delayMs)
      else if (isHeard) backend.write(chunk)
      if (!passed(chunk)) silent.add(client)
    })
    backend.on('data', (chunk) => void (silent.has(client) || client.write(chunk)))
    backend.on('close', () => void (silent.has(client) || client.destroy()))
    client.on('close', () => {
      open.delete(client)
      backend.destroy()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    connectionString: `postgres://${url.username}@127.0.0.1:${port}${url.pathname}?sslmode=disable`,
    /** All connections of now are dead, and nobody hears of it; new ones work. @returns how many */
    vanish: () => {
      for (const socket of open) silent.add(socket)
      return open.size
    },
    /** The next statement that contains this reaches the server, and its answer is lost with the connection. */
    vanishAfter: (words: string) => {
      passed = (chunk) => {
        if (!chunk.includes(words)) return true
        passed = () => true
        return false
      }
    },
    /** From now on a statement reaches the server so many ms later. */
    delay: (ms: (chunk: Buffer) => number) => {
      delayOf = ms
    },
    /** Breaks all connections and refuses new ones until `mend`. */
    cut: () => {
      isCut = true
      for (const socket of open) socket.destroy()
    },
    mend: () => {
      isCut = false
    },
    stop: () => {
      for (const socket of open) socket.destroy()
      server.close()
    },
  }
}
