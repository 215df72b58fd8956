import { BlockList, isIP } from 'node:net'

/**
 * Ranges that no webhook may reach: IANA's special-purpose registries (RFC 6890 and its successors). In IPv6 only
 * 2000::/3 is public unicast, so everything else is refused, unique local and link-local addresses among it. Two ways
 * to embed an IPv4 address in IPv6 count as that address (`embedded` below); all others are refused.
 */
const REFUSED_RANGES = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12'],
  ...['192.0.0.0/24', '192.0.2.0/24', '192.31.196.0/24', '192.52.193.0/24', '192.88.99.0/24', '192.168.0.0/16'],
  ...['192.175.48.0/24', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
  ...['::/3', '4000::/2', '8000::/1', '2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'],
]

type Family = 'ipv4' | 'ipv6'

const familyOf = (address: string): Family => (isIP(address) === 6 ? 'ipv6' : 'ipv4')

/** One list per family: a `BlockList` compares IPv4 addresses with IPv6 ranges as `::ffff:a.b.c.d`. */
type Ranges = Record<Family, BlockList>

/** @throws Error when a range is not of the form address/prefix */
function toRanges(written: readonly string[]): Ranges {
  const ranges = { ipv4: new BlockList(), ipv6: new BlockList() }
  for (const range of written) {
    const [address = '', prefix = ''] = range.split('/')
    if (isIP(address) === 0 || !/^\d{1,3}$/.test(prefix))
      throw new Error(`"${range}" is not an address range like 10.0.0.0/8`)
    const family = familyOf(address)
    ranges[family].addSubnet(address, Number(prefix), family)
  }
  return ranges
}

/** The last 32 bits of an IPv6 address; every spelling of one is brought to the same form by the URL parser. */
function lastFourBytes(address: string): string {
  const [high = '', low = ''] = new URL(`http://[${address}]`).hostname.slice(1, -1).split(':').slice(-2)
  const [upper, lower] = [Number.parseInt(high || '0', 16), Number.parseInt(low || '0', 16)]
  return [upper >> 8, upper & 255, lower >> 8, lower & 255].join('.')
}

const EMBEDDING = new BlockList()
EMBEDDING.addSubnet('::ffff:0:0', 96, 'ipv6')
EMBEDDING.addSubnet('64:ff9b::', 96, 'ipv6')

/**
 * The IPv4 address that an IPv6 address leads to: the kernel takes `::ffff:7f00:1` as 127.0.0.1, and a translator
 * (NAT64) sends what goes to `64:ff9b::7f00:1` there (RFC 6052, 2.1). Translators of other prefixes are not known here.
 */
function embedded(address: string): string {
  return isIP(address) === 6 && EMBEDDING.check(address, 'ipv6') ? lastFourBytes(address) : address
}

const refused = toRanges(REFUSED_RANGES)
const rules = new WeakMap<readonly string[], AddressRule>()

/** Says whether a webhook may be sent to an address (dotted IPv4, or IPv6 without brackets). */
export type AddressRule = (address: string) => boolean

/**
 * @param allowedRanges CIDR ranges of the operator's own network that are allowed although they are not public
 * @throws Error when a range is malformed
 */
export function addressRule(allowedRanges: readonly string[]): AddressRule {
  const known = rules.get(allowedRanges)
  if (known) return known
  const allowed = toRanges(allowedRanges)
  const rule: AddressRule = (written) => {
    const address = embedded(written.split('%')[0] ?? '')
    if (isIP(address) === 0) return false
    const family = familyOf(address)
    return allowed[family].check(address, family) || !refused[family].check(address, family)
  }
  rules.set(allowedRanges, rule)
  return rule
}
