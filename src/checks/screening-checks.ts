import { createRpc } from '../chain/endpoints/rpc.ts'
import type { Config } from '../config/config.ts'
import type { KytConfig } from '../config/kyt-config.ts'
import { systemClock } from '../kernel/clock.ts'
import { openSources } from '../screening/open-sources.ts'
import type { ContractRead } from '../screening/sources/oracle.ts'
import { bad, type Check, good } from './check.ts'

/** The zero address: every source knows it, and it belongs to no one. */
const NO_ONE = `0x${'0'.repeat(40)}`
const NOTHING: KytConfig = { denyListFile: null, oracles: [], sanctions: null, risk: null, trm: null }

type Part = { name: string; only: Partial<KytConfig>; fix: string; network?: number }

const partsOf = ({ denyListFile, oracles, sanctions, risk, trm }: KytConfig): Part[] => [
  ...(denyListFile === null ? [] : [{ name: 'deny-list', only: { denyListFile }, fix: 'KYT_DENY_LIST_FILE' }]),
  ...oracles.map((oracle) => ({
    ...{ name: `oracle ${oracle.chainId}`, only: { oracles: [oracle] }, network: oracle.chainId },
    fix: `KYT_ORACLE_${oracle.chainId}`,
  })),
  ...(sanctions ? [{ name: 'chainalysis', only: { sanctions }, fix: 'KYT_CHAINALYSIS_BASE_URL and _API_KEY' }] : []),
  ...(risk ? [{ name: 'chainalysis-risk', only: { risk }, fix: 'KYT_CHAINALYSIS_RISK_BASE_URL and _RISK_TOKEN' }] : []),
  ...(trm ? [{ name: 'trm', only: { trm }, fix: 'KYT_TRM_BASE_URL and _API_KEY' }] : []),
]

/** One check per configured screening source: a real query, whose answer must be a valid one. */
export function screeningChecks({ kyt, chains }: Pick<Config, 'kyt' | 'chains'>): Check[] {
  const readContract = (chainId: number): ContractRead | undefined => {
    const chain = chains.find((one) => one.chainId === chainId)
    if (!chain) return undefined
    return (call) =>
      Promise.all(
        chain.rpcUrls.map((url) => {
          const rpc = createRpc({ url })
          return rpc.call('eth_call', call, 'latest').finally(() => rpc.close())
        }),
      )
  }
  return partsOf(kyt).map(({ name, only, fix, network = null }) => ({
    name: `screening ${name}`,
    cure: `Check ${fix}.`,
    async run() {
      // in the sandbox the chain starts together with the service
      if (network === 31337 && readContract(network) === undefined) return good('Checked once the sandbox runs.')
      const sources = openSources({ ...NOTHING, ...only }, { clock: systemClock, readContract })
      try {
        const [answer] = await Promise.all(sources.all.map((one) => one.screen({ network, address: NO_ONE })))
        if (answer && answer.verdict !== 'unavailable') return good('It returns a usable answer.')
        return bad(`No usable answer: ${answer?.reasons.join(', ')}`, `Check ${fix}.`)
      } finally {
        await sources.close()
      }
    },
  }))
}
