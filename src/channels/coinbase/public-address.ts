import { BlockList, isIPv4, isIPv6 } from 'node:net'

/** Not reachable from the internet (IANA special-purpose registries). */
const RESERVED = new BlockList()
for (const [net, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const)
  RESERVED.addSubnet(net, bits)
RESERVED.addSubnet('2001:db8::', 32, 'ipv6')

const GLOBAL = new BlockList()
GLOBAL.addSubnet('2000::', 3, 'ipv6')

/** The address in the form that Coinbase accepts as `clientIp`, or null when it is not public. */
export function publicAddress(ip: string | null): string | null {
  const plain = ip?.replace(/^::ffff:(?=\d+\.)/i, '') ?? ''
  if (isIPv4(plain)) return RESERVED.check(plain) ? null : plain
  if (!isIPv6(plain)) return null
  return GLOBAL.check(plain, 'ipv6') && !RESERVED.check(plain, 'ipv6') ? plain : null
}
