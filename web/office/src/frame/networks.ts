import { useApi } from '../api/hooks.ts'
import { useCan } from '../api/session.ts'

/** Networks do not change while the service runs. */
function useNetworks() {
  const can = useCan()
  return useApi('GET /api/next/networks', {}, { enabled: can('channels.read') })
}

/** `8453` as "Base"; the number itself if the network is not configured here. */
export function useNetworkName(): (network: number) => string {
  const { data } = useNetworks()
  return (network) => data?.find((one) => one.network === network)?.name ?? String(network)
}

/** Choices by chain id, plus the current one, even if it is no longer configured. */
export function useNetworkOptions(current: number | null): [string, string][] {
  const { data = [] } = useNetworks()
  const known = data.map(({ network, name }): [string, string] => [String(network), `${name} (${network})`])
  if (current === null || data.some(({ network }) => network === current)) return known
  return [...known, [String(current), String(current)]]
}

/** Block explorer URL of a transaction; null if none is known. */
export function useExplorer(): (network: number, hash: string) => string | null {
  const { data } = useNetworks()
  return (network, hash) => {
    const base = data?.find((one) => one.network === network)?.explorerUrl
    return base && /^0x[0-9a-f]{64}$/i.test(hash) ? `${base}/tx/${hash}` : null
  }
}
