import { readFileSync, renameSync, writeFileSync } from 'node:fs'

/** The three HTTP services; the oracle is a contract on the sandbox chain. */
export const SOURCES = ['sanctions', 'risk', 'trm'] as const
export type Source = (typeof SOURCES)[number]

/** How a service fails: no answer, an error, a page of the CDN's edge, or an answer without its fields. */
export const FAULTS = ['500', '503', '403', 'html-403', '429', 'html', 'empty', 'list', 'hang'] as const
export type Fault = (typeof FAULTS)[number]

export const RISKS = ['Severe', 'High', 'Medium', 'Low'] as const
export type Risk = (typeof RISKS)[number]
export const RISK_TYPES = ['OWNERSHIP', 'COUNTERPARTY', 'INDIRECT'] as const
export type RiskType = (typeof RISK_TYPES)[number]
/** TRM's levels: 15 severe, 10 high, 5 medium, 1 low, 0 unknown. */
export const LEVELS = [15, 10, 5, 1, 0] as const
export type Level = (typeof LEVELS)[number]

/** The services' data about one address. */
export type Listing = {
  /** On the public sanctions list of Chainalysis. */
  sanctions: boolean
  /** On the list of the oracle contract. */
  oracle: boolean
  /** The answer of Chainalysis' Address Screening. */
  risk: Risk
  /** TRM's worst indicator; null: none. */
  trm: { riskType: RiskType; level: Level } | null
}

export const CLEAN: Listing = { sanctions: false, oracle: false, risk: 'Low', trm: null }
export const SANCTIONED: Listing = {
  sanctions: true,
  oracle: true,
  risk: 'Severe',
  trm: { riskType: 'OWNERSHIP', level: 15 },
}

/** The listed address of Chainalysis' documentation examples. */
const DOCUMENTED_ADDRESS = '1JHdQHkBZiim1cb4hyUh2PbzEbbg6z2Trf'.toLowerCase()

/** Address endings that select the answer, so that a test needs no call here. */
function byEnding(address: string): Listing {
  if (address.endsWith('bad1')) return SANCTIONED
  if (address.endsWith('bad2')) return { ...CLEAN, risk: 'Severe', trm: { riskType: 'OWNERSHIP', level: 15 } }
  if (address.endsWith('bad3')) return { ...CLEAN, risk: 'Medium', trm: { riskType: 'COUNTERPARTY', level: 10 } }
  return address === DOCUMENTED_ADDRESS ? { ...CLEAN, sanctions: true, oracle: false } : CLEAN
}

type SavedState = { listings: [string, Listing][]; oracleFault: Fault | null }

function load(file: string | null): SavedState {
  try {
    return file === null ? EMPTY : (JSON.parse(readFileSync(file, 'utf8')) as SavedState)
  } catch {
    return EMPTY
  }
}
const EMPTY: SavedState = { listings: [], oracleFault: null }

/**
 * Addresses and the state of each service, as the sandbox's staff set them. Listings survive a restart, like the
 * oracle's on the chain; faults of the services do not.
 */
export class ScreeningList {
  readonly #listings: Map<string, Listing>
  readonly #file: string | null
  #oracleFault: Fault | null
  readonly #faults = new Map<Source, { fault: Fault; until: number }>()
  readonly #now: () => number

  constructor({ now, file }: { now(): number; file: string | null }) {
    this.#now = now
    this.#file = file
    const { listings, oracleFault } = load(file)
    this.#listings = new Map(listings)
    this.#oracleFault = oracleFault
  }

  find(address: string): Listing {
    const key = address.toLowerCase()
    return this.#listings.get(key) ?? byEnding(key)
  }

  set(address: string, change: Partial<Listing>): Listing {
    const listing = { ...this.find(address), ...change }
    this.#listings.set(address.toLowerCase(), listing)
    this.#save()
    return listing
  }

  clear(address: string): void {
    this.#listings.delete(address.toLowerCase())
    this.#save()
  }

  all(): [string, Listing][] {
    return [...this.#listings]
  }

  /** @param seconds duration; without it, until it is changed */
  setFault(source: Source, fault: Fault | null, seconds?: number): void {
    if (fault === null) this.#faults.delete(source)
    else this.#faults.set(source, { fault, until: seconds ? this.#now() + seconds * 1000 : Number.POSITIVE_INFINITY })
  }

  /** How the service fails now, in general or for these addresses; null: it works. */
  faultOf(source: Source, addresses: readonly string[] = []): Fault | null {
    const set = this.#faults.get(source)
    if (set && this.#now() < set.until) return set.fault
    if (addresses.some((address) => address.endsWith('0503'))) return '503'
    return addresses.some((address) => address.endsWith('0403')) ? 'html-403' : null
  }

  setOracleFault(fault: Fault | null): void {
    this.#oracleFault = fault
    this.#save()
  }

  faults(): Record<Source | 'oracle', Fault | null> {
    const [sanctions, risk, trm] = [this.faultOf('sanctions'), this.faultOf('risk'), this.faultOf('trm')]
    return { sanctions, risk, trm, oracle: this.#oracleFault }
  }

  #save(): void {
    if (this.#file === null) return
    const state: SavedState = { listings: this.all(), oracleFault: this.#oracleFault }
    writeFileSync(`${this.#file}.new`, JSON.stringify(state), { mode: 0o600 })
    renameSync(`${this.#file}.new`, this.#file)
  }
}
