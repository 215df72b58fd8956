import { openProviderHttp, type ProviderHttp } from '../channels/provider-http.ts'
import type { KytConfig } from '../config/kyt-config.ts'
import { type Clock, SECOND } from '../kernel/clock.ts'
import { openAddressRisk } from './sources/address-risk.ts'
import { type DenyList, openDenyList } from './sources/deny-list.ts'
import { type ContractRead, openOracle } from './sources/oracle.ts'
import { openSanctionsApi } from './sources/sanctions-api.ts'
import { type SafeSource, superviseSource } from './sources/supervised.ts'
import { openTrm } from './sources/trm.ts'

/** Per request; Address Screening needs two. */
const TIMEOUT_MS = 5 * SECOND

export type Sources = {
  all: readonly SafeSource[]
  denyList: DenyList | null
  close(): Promise<void>
}

/**
 * Every configured source.
 * @param readContract queries an oracle on its chain; undefined: the chain is not configured
 */
export function openSources(
  config: KytConfig,
  { clock, readContract }: { clock: Clock; readContract(chainId: number): ContractRead | undefined },
): Sources {
  const { denyListFile, oracles, sanctions, risk, trm } = config
  const secrets = [sanctions?.apiKey, risk?.token, trm?.apiKey].filter((secret) => secret !== undefined)
  const provider = openProviderHttp({ secrets, clock })
  const http: ProviderHttp = (call) => provider.http({ timeoutMs: TIMEOUT_MS, ...call })
  const denyList = denyListFile === null ? null : openDenyList(denyListFile, clock)
  const contracts = oracles.map(({ chainId, address }) => ({
    chainId,
    contract: address,
    read: readContract(chainId) ?? (() => Promise.reject(new Error(`chain ${chainId} is not set up`))),
  }))
  const sources = [
    denyList,
    contracts.length > 0 ? openOracle(contracts) : null,
    sanctions && openSanctionsApi({ http, ...sanctions }),
    risk && openAddressRisk({ http, ...risk }),
    trm && openTrm({ http, ...trm }),
  ].filter((source) => source !== null)
  return { all: sources.map((source) => superviseSource(source, clock)), denyList, close: provider.close }
}
