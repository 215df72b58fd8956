import { isIPv6 } from 'node:net'

/** The 16-bit groups of an IPv6 address that `isIPv6` accepts, without zone; the dotted tail becomes two groups. */
function groupsOf(address: string): number[] {
  const plain = address.split('%')[0] ?? ''
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(plain)
  const [, lead = '', a = '0', b = '0', c = '0', d = '0'] = dotted ?? []
  const hex = (high: string, low: string): string => (Number(high) * 256 + Number(low)).toString(16)
  const text = dotted ? `${lead}${hex(a, b)}:${hex(c, d)}` : plain
  const [left = '', right] = text.split('::')
  const parse = (part: string): number[] =>
    part
      .split(':')
      .filter(Boolean)
      .map((group) => Number.parseInt(group, 16))
  if (right === undefined) return parse(left)
  const [head, tail] = [parse(left), parse(right)]
  return [...head, ...Array<number>(8 - head.length - tail.length).fill(0), ...tail]
}

/**
 * What counts as one client: an IPv4 address (also as IPv4-mapped IPv6), or the /64 of an IPv6 address, the smallest
 * block that a network assigns to one customer.
 * @param address undefined where the client left before anyone asked for it: all of those count as one
 */
export function networkOf(address: string | undefined): string {
  if (address === undefined) return 'unknown'
  if (!address.includes(':') || !isIPv6(address)) return address
  const groups = groupsOf(address)
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff
  if (isMapped) {
    const [high = 0, low = 0] = groups.slice(6)
    return [high >> 8, high & 255, low >> 8, low & 255].join('.')
  }
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`
}
