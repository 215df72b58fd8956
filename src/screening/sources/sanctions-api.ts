import { getAddress } from 'viem/utils'
import type { ProviderHttp } from '../../channels/provider-http.ts'
import { type Answer, clean, type ScreeningSource } from '../screening.ts'
import { isRecord, lacks, readJson, textOf } from './read-answer.ts'

/**
 * Public sanctions API of Chainalysis: `GET /address/{address}` with `X-API-Key`. An empty list of identifications
 * means not listed; any identification blocks. A 403 may come from the CDN's edge.
 * https://www.chainalysis.com/free-cryptocurrency-sanctions-screening-tools/
 */
export function openSanctionsApi({
  http,
  baseUrl,
  apiKey,
}: {
  http: ProviderHttp
  baseUrl: string
  apiKey: string
}): ScreeningSource {
  return {
    id: 'chainalysis',
    async screen({ address }) {
      const url = `${baseUrl}/address/${getAddress(address)}`
      const headers = { 'X-API-Key': apiKey, accept: 'application/json' }
      return readIdentifications(readJson(await http({ method: 'GET', url, headers }), [200]))
    },
  }
}

function readIdentifications(evidence: unknown): Answer {
  const found = isRecord(evidence) ? evidence.identifications : undefined
  if (!Array.isArray(found)) return lacks('identifications')
  if (found.length === 0) return clean(evidence)
  const reasons = found.map((one) => (isRecord(one) && textOf(one.name)) || 'listed')
  return { verdict: 'blocked', level: 'sanctions', reasons, evidence }
}
