import { isIP } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { HOUR } from '../../kernel/clock.ts'

const HEADER = 'x-forwarded-for'

/** `203.0.113.5:40001`, `[2001:db8::1]:443`, also quoted. Some proxies write the port, another one each time. */
const WITH_PORT = /^"?(?:(\d+\.\d+\.\d+\.\d+)(?::\d*)?|\[([^\]]*)\](?::\d*)?)"?$/

const addressIn = (text: string): string => {
  const [, dotted, bracketed] = WITH_PORT.exec(text.trim()) ?? []
  return dotted ?? bracketed ?? text.trim()
}

/**
 * Makes `request.ip` an address, whatever a proxy writes into X-Forwarded-For: the limits, the log and the list of
 * sessions read it. A proxy named in TRUST_PROXY that writes no address there, such as `unknown`, is the nearest sender
 * that is known, so what it forwards that way counts as one, under the proxy's own address. What stands left of such a
 * word is not read, because the visitor may have written it. The log says so, at most once an hour.
 */
export function registerForwarded(app: FastifyInstance, clock: () => number): void {
  let nextMs = 0
  app.addHook('onRequest', (request, _reply, done) => {
    const { headers } = request.raw
    const sent = headers[HEADER]
    if (sent === undefined) return done()
    const hops = String(sent).split(',').map(addressIn)
    headers[HEADER] = hops.join(', ')
    const seen = request.ip
    if (isIP(seen) !== 0 || !hops.includes(seen)) return done()
    const rest = hops.slice(hops.lastIndexOf(seen) + 1)
    if (rest.length > 0) headers[HEADER] = rest.join(', ')
    else delete headers[HEADER]
    if (clock() >= nextMs) {
      nextMs = clock() + HOUR
      const shown = JSON.stringify(seen.slice(0, 60))
      const fix = 'Set it to write the visitor’s address: until then the limits count all whom it forwards so as one.'
      request.log.warn({ proxy: request.ip }, `A trusted proxy writes ${shown} into X-Forwarded-For. ${fix}`)
    }
    done()
  })
}
