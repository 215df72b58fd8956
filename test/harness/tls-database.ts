import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { TLSSocket } from 'node:tls'
import type { Certificate } from './certificates.ts'

/** How a client asks for TLS: a length of 8 and this number. Source: PostgreSQL, "Message Formats", SSLRequest. */
const SSL_REQUEST = 80_877_103

/** The tests' database as a managed one is: reached by TCP, with this certificate; without one it offers no TLS. */
export async function startTlsDatabase(connectionString: string, certificate?: Certificate) {
  const url = new URL(connectionString)
  const path = join(url.searchParams.get('host') ?? '', `.s.PGSQL.${url.port}`)
  const open = new Set<Socket>()
  const cuts: (() => void)[] = []
  const server = createServer((client) => {
    open.add(client)
    client.on('error', () => {}).once('close', () => open.delete(client))
    client.once('data', (first) => {
      if (first.length !== 8 || first.readInt32BE(4) !== SSL_REQUEST) return client.destroy()
      client.write(certificate ? 'S' : 'N')
      if (!certificate) return
      const { keyPem: key, cert } = certificate
      const safe = new TLSSocket(client, { isServer: true, key, cert }).on('error', () => {})
      const backend = connect(path).on('error', () => {})
      safe.pipe(backend).pipe(safe)
      cuts.push(() => {
        safe.unpipe()
        backend.unpipe()
      })
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    /** @param query what follows the question mark */
    url: (query: string, host = 'localhost') => `postgres://${url.username}@${host}:${port}${url.pathname}?${query}`,
    /** From now on nothing comes and goes on the connections that are open. */
    vanish() {
      for (const cut of cuts.splice(0)) cut()
    },
    async stop() {
      for (const socket of open) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
