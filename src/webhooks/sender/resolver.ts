import { Resolver } from 'node:dns/promises'
import { readFileSync, statSync } from 'node:fs'

export type ResolvedAddress = { address: string; family: 4 | 6 }

/** All addresses of a host name. @throws DnsError */
export type Resolve = (host: string) => Promise<ResolvedAddress[]>

/** A name without a usable address; `code` as in node:dns (`ENOTFOUND`, `ETIMEOUT` …). */
export class DnsError extends Error {
  override readonly name = 'DnsError'
  readonly code: string
  constructor(host: string, code: string) {
    super(`cannot resolve ${host}: ${code}`)
    this.code = code
  }
}

const familyOf = (address: string): 4 | 6 => (address.includes(':') ? 6 : 4)

function parseHosts(text: string): Map<string, ResolvedAddress[]> {
  const hosts = new Map<string, ResolvedAddress[]>()
  for (const line of text.split('\n')) {
    const [address, ...names] = (line.split('#')[0] ?? '').trim().split(/\s+/)
    if (!address) continue
    for (const name of names.map((word) => word.toLowerCase())) {
      hosts.set(name, [...(hosts.get(name) ?? []), { address, family: familyOf(address) }])
    }
  }
  return hosts
}

/** Differs when the file was written, or replaced by another one, of whatever age; undefined: there is no file. */
function stampOf(path: string): string | undefined {
  const file = statSync(path, { throwIfNoEntry: false })
  return file && [file.ino, file.mtimeMs, file.size].join()
}

/** The machine's hosts file, reread when it changes. */
function hostTable(path: string): () => Map<string, ResolvedAddress[]> {
  let known: string | undefined
  let table = new Map<string, ResolvedAddress[]>()
  return () => {
    const stamp = stampOf(path)
    if (stamp !== known) {
      known = stamp
      table = stamp === undefined ? new Map() : parseHosts(readFileSync(path, 'utf8'))
    }
    return table
  }
}

/**
 * c-ares reads the machine's name servers once, when it is opened; so it is opened again when their file changes. While
 * the file is away the old ones stay.
 */
function systemServers(path: string, open: () => Resolver): () => Resolver {
  let known = stampOf(path)
  let dns = open()
  return () => {
    const stamp = stampOf(path)
    if (stamp !== undefined && stamp !== known) {
      known = stamp
      dns = open()
    }
    return dns
  }
}

function fixedServers(servers: string[], open: () => Resolver): () => Resolver {
  const dns = open()
  dns.setServers(servers)
  return () => dns
}

const LOOPBACK: ResolvedAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
]

/** How long to wait for the IPv6 answers once those for IPv4 have arrived (RFC 8305, section 3). */
const SECOND_FAMILY_DELAY_MS = 50

const codeOf = (error: unknown): string => (error as { code?: string }).code ?? 'EFAIL'

export type ResolverOptions = {
  /** Default: those of the machine. */
  servers?: string[]
  hostsPath?: string
  /** The file that names the machine's name servers, resolv.conf(5). */
  serversPath?: string
  timeoutMs?: number
}

/**
 * Resolves names by the hosts file, then by DNS (c-ares). Not by the system's `getaddrinfo`: a dead name server can
 * make it block one of libuv's four threads for any length of time, until nothing else in the process resolves or
 * hashes. Search domains are not applied: write full names.
 */
export function createResolver(options: ResolverOptions = {}): Resolve {
  const open = (): Resolver => new Resolver({ timeout: options.timeoutMs ?? 2500, tries: 2 })
  const { servers } = options
  const dns = servers ? fixedServers(servers, open) : systemServers(options.serversPath ?? '/etc/resolv.conf', open)
  const hosts = hostTable(options.hostsPath ?? '/etc/hosts')
  const query = (host: string, family: 4 | 6): Promise<ResolvedAddress[] | DnsError> =>
    (family === 4 ? dns().resolve4(host) : dns().resolve6(host)).then(
      (addresses) => addresses.map((address) => ({ address, family })),
      (error: unknown) => new DnsError(host, codeOf(error)),
    )
  return async (written) => {
    const host = written.replace(/\.$/, '').toLowerCase()
    const local = hosts().get(host)
    if (local) return local
    if (host === 'localhost' || host.endsWith('.localhost')) return LOOPBACK
    const [four, six] = [query(host, 4), query(host, 6)]
    const first = await four
    if (Array.isArray(first)) {
      const late = new Promise<null>((done) => setTimeout(done, SECOND_FAMILY_DELAY_MS, null))
      const second = await Promise.race([six, late])
      return Array.isArray(second) ? [...first, ...second] : first
    }
    const second = await six
    if (Array.isArray(second)) return second
    throw [first, second].find((error) => !['ENOTFOUND', 'ENODATA'].includes(error.code)) ?? first
  }
}
