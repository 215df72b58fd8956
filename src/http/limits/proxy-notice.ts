import { BlockList } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { HOUR } from '../../kernel/clock.ts'
import { networkOf } from '../address.ts'

/**
 * Where an operator's own proxy runs: on this machine, or in private networks. Source: RFC 1122, 1918, 6598, 4193,
 * 4291.
 */
const OWN = new BlockList()
for (const [network, bits] of [
  ['127.0.0.0', 8],
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['100.64.0.0', 10],
] as const)
  OWN.addSubnet(network, bits, 'ipv4')
OWN.addAddress('::1', 'ipv6')
OWN.addSubnet('fc00::', 7, 'ipv6')
OWN.addSubnet('fe80::', 10, 'ipv6')

const isOwn = (address: string): boolean => OWN.check(address, address.includes(':') ? 'ipv6' : 'ipv4')

/**
 * Logs once an hour that a proxy forwards visitors but is not named in TRUST_PROXY. The limits then treat all visitors
 * as one, and refuse payers when there are many.
 */
export function registerProxyNotice(app: FastifyInstance, clock: () => number): void {
  let nextMs = 0
  const look = (request: FastifyRequest): void => {
    const peer = request.socket.remoteAddress ?? ''
    const address = networkOf(peer).includes('/') ? peer : networkOf(peer)
    // behind a trusted proxy there are the visitor's address and the proxy's, which may be one: of this machine
    const isTrusted = (request.ips?.length ?? 0) > 1
    if (isTrusted || !isOwn(address)) return
    nextMs = clock() + HOUR
    const fix = `Set TRUST_PROXY=${address}: without it the limits count all visitors as one, and payers are refused.`
    request.log.warn({ proxy: address }, `A proxy that TRUST_PROXY does not name forwards visitors. ${fix}`)
  }
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.headers['x-forwarded-for'] !== undefined && clock() >= nextMs) look(request)
    done()
  })
}
