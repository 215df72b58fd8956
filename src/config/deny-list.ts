import { isAddress } from 'viem/utils'

/**
 * Addresses of a deny list, one per line, in lower case; `#` starts a comment. Checksums are not verified: blocking one
 * address too many is the smaller mistake.
 * @throws Error naming the first line that is not an address
 */
export function readDenyList(text: string): ReadonlySet<string> {
  const entries = new Set<string>()
  for (const [index, line] of text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .entries()) {
    const [given = ''] = line.split('#')
    const entry = given.trim().toLowerCase()
    if (entry === '') continue
    if (!isAddress(entry, { strict: false }))
      throw new Error(`line ${index + 1} is no address: 0x and 40 hexadecimal digits`)
    entries.add(entry)
  }
  return entries
}
