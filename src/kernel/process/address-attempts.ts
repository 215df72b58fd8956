import { setDefaultResultOrder } from 'node:dns'
import { setDefaultAutoSelectFamilyAttemptTimeout } from 'node:net'

/**
 * How long one address of a name may take to connect before the next one is tried. Node's own 250 ms are less than the
 * second after which TCP repeats a lost packet (RFC 6298, 2), and Node does not come back to an address: without IPv6,
 * one lost packet fails the connection to a host that has both. Short enough for two addresses within five seconds.
 */
const ATTEMPT_MS = 2000

/**
 * For all outgoing connections of this process: Node's own, those of `fetch`, and undici's. IPv4 comes first, as for
 * webhooks: where IPv6 drops packets, each connection would wait for it first.
 */
export const waitForEachAddress = (): void => {
  setDefaultAutoSelectFamilyAttemptTimeout(ATTEMPT_MS)
  setDefaultResultOrder('ipv4first')
}
