import { isIP, type LookupFunction } from 'node:net'
import { Agent, buildConnector, type Dispatcher } from 'undici'
import { type AddressRule, addressRule } from '../outbox/address-ranges.ts'
import { bareHost } from '../outbox/webhook-url.ts'
import { acceptContinue } from './interim.ts'
import { createResolver, type Resolve } from './resolver.ts'

/** The address, or one of the addresses of the name, is private or reserved. No connection was opened. */
export class AddressRefusedError extends Error {
  override readonly name = 'AddressRefusedError'
  readonly code = 'ADDRESS_REFUSED'
  constructor(host: string, address: string) {
    super(`${host} is at ${address}, where webhooks are not sent`)
  }
}

/**
 * How long one of several addresses may take to connect; the last one has what remains of the whole. TCP repeats a lost
 * packet after one second and after three (RFC 6298): both count. IPv4 is tried first, so a receiver whose IPv6 is out
 * of our reach is not slowed down.
 */
const ATTEMPT_MS = 4000

export type VettedConnectorOptions = {
  allowedRanges: readonly string[]
  resolve?: Resolve
  /** PEM certificates of the operator's own certificate authority; default: those of the runtime. */
  ca?: string
  timeoutMs?: number
}

/**
 * A `lookup` for `net.connect` that returns only addresses that passed the rule: the address checked is the address
 * connected to.
 */
function vettedLookup(isAllowed: AddressRule, resolve: Resolve): LookupFunction {
  return (host, options, callback) => {
    resolve(host).then(
      (addresses) => {
        const refused = addresses.find(({ address }) => !isAllowed(address))
        const [first] = addresses
        if (refused || !first) callback(new AddressRefusedError(host, refused?.address ?? 'no address'), '', 0)
        else if (options.all) callback(null, addresses)
        else callback(null, first.address, first.family)
      },
      (error: Error) => callback(error, '', 0),
    )
  }
}

/**
 * Opens undici's connections to vetted addresses only. A literal address is checked first (`lookup` is never called for
 * one), a name by all its addresses inside the lookup that the connection uses, and the peer once more after
 * connecting. A name that changes its answer between check and use (DNS rebinding) gains nothing.
 */
export function createVettedConnector(options: VettedConnectorOptions): buildConnector.connector {
  const isAllowed = addressRule(options.allowedRanges)
  const connect = buildConnector({
    allowH2: false,
    timeout: options.timeoutMs ?? 10_000,
    maxCachedSessions: 10_000,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ATTEMPT_MS,
    lookup: vettedLookup(isAllowed, options.resolve ?? createResolver()),
    ...(options.ca === undefined ? {} : { ca: options.ca }),
  })
  return (target, callback) => {
    const host = bareHost(target.hostname)
    if (isIP(host) !== 0 && !isAllowed(host)) {
      callback(new AddressRefusedError(host, host), null)
      return
    }
    connect(target, (...[error, socket]) => {
      const peer = socket?.remoteAddress
      if (socket && (peer === undefined || !isAllowed(peer))) {
        socket.destroy()
        callback(new AddressRefusedError(host, peer ?? 'an unknown address'), null)
      } else if (socket) {
        acceptContinue(socket)
        callback(null, socket)
      } else callback(error ?? new Error('no connection'), null)
    })
  }
}

/**
 * Some frameworks put their debug output into the answer's header. More than this would let one company's receivers,
 * which send it slowly on a thousand connections at once, take the memory of a small node.
 */
const MAX_HEADER_BYTES = 64 * 1024

/**
 * The one dispatcher of all webhooks: keep-alive HTTP/1.1 connections, as many per receiver as its lanes allow, no
 * redirects, no timers of its own (each attempt has one overall deadline).
 */
export function createWebhookAgent(options: VettedConnectorOptions): Dispatcher {
  return new Agent({
    connect: createVettedConnector(options),
    allowH2: false,
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: 4000,
    keepAliveMaxTimeout: 60_000,
    maxHeaderSize: MAX_HEADER_BYTES,
  })
}
