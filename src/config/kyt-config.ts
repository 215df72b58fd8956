import { readFileSync } from 'node:fs'
import { parseAddress } from '../kernel/addresses.ts'
import { readDenyList } from './deny-list.ts'
import type { Reader } from './setting.ts'
import { KYT } from './settings/kyt.ts'

/** The sources that screen addresses; see docs/screening.md. */
export type KytConfig = {
  denyListFile: string | null
  oracles: readonly { chainId: number; address: string }[]
  /** Public sanctions API of Chainalysis: everything before `/address`. */
  sanctions: { baseUrl: string; apiKey: string } | null
  /** Address Screening of Chainalysis: everything before `/api/risk`. */
  risk: { baseUrl: string; token: string } | null
  /** Everything before `/public`. */
  trm: { baseUrl: string; apiKey: string } | null
}

const SANCTIONS_URL = 'https://public.chainalysis.com/api/v1'
const RISK_URL = 'https://api.chainalysis.com'
const TRM_URL = 'https://api.trmlabs.com'

function readOracles({ values, faults }: Reader): KytConfig['oracles'] {
  const names = Object.keys(values).flatMap((name) => /^KYT_ORACLE_(\d+)$/.exec(name)?.[1] ?? [])
  return names.flatMap((id) => {
    const name = `KYT_ORACLE_${id}`
    const given = values[name] ?? ''
    const address = parseAddress(given)
    if (address === undefined) {
      faults.push(`${name}: must be an EVM address in one case or with a right checksum, not "${given}"`)
      return []
    }
    return [{ chainId: Number(id), address: address.toLowerCase() }]
  })
}

/** A list that cannot be read at the start would let every address pass. */
function checkDenyList(file: string, faults: string[]): void {
  try {
    readDenyList(readFileSync(file, 'utf8'))
  } catch (error) {
    faults.push(`${KYT.denyListFile.name}: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** Reads `KYT_…`. */
export function readKyt(reader: Reader): KytConfig {
  const { faults } = reader
  const given = reader.group(KYT)
  const pairs = [
    [KYT.sanctionsUrl.name, given.sanctionsUrl, KYT.sanctionsKey.name, given.sanctionsKey],
    [KYT.riskUrl.name, given.riskUrl, KYT.riskToken.name, given.riskToken],
    [KYT.trmUrl.name, given.trmUrl, KYT.trmKey.name, given.trmKey],
  ] as const
  for (const [urlName, url, keyName, key] of pairs) {
    // an invalid URL is already reported
    if (url !== null && key === null) faults.push(`${keyName}: missing; ${urlName} is of no use without it`)
  }
  if (given.denyListFile !== null) checkDenyList(given.denyListFile, faults)
  const { sanctionsKey, riskToken, trmKey } = given
  return {
    denyListFile: given.denyListFile,
    oracles: readOracles(reader),
    sanctions: sanctionsKey === null ? null : { baseUrl: given.sanctionsUrl ?? SANCTIONS_URL, apiKey: sanctionsKey },
    risk: riskToken === null ? null : { baseUrl: given.riskUrl ?? RISK_URL, token: riskToken },
    trm: trmKey === null ? null : { baseUrl: given.trmUrl ?? TRM_URL, apiKey: trmKey },
  }
}

/** An oracle is queried through its chain's nodes. The sandbox's own chain is started later. */
export function checkOracles(
  { oracles }: KytConfig,
  chains: readonly { chainId: number }[],
  { mode, faults }: { mode: 'sandbox' | 'live'; faults: string[] },
): void {
  for (const { chainId } of oracles) {
    const isOwn = mode === 'sandbox' && chainId === 31337
    if (!isOwn && !chains.some((chain) => chain.chainId === chainId))
      faults.push(`KYT_ORACLE_${chainId}: chain ${chainId} is not set up; set CHAIN_${chainId}_RPC_URL too`)
  }
}
