import { getAddress } from 'viem/utils'
import { ProviderTrouble } from '../../channels/provider-errors.ts'
import type { ProviderHttp } from '../../channels/provider-http.ts'
import { ownAt } from '../../kernel/json.ts'
import type { Answer, ScreeningSource, Verdict } from '../screening.ts'
import { isRecord, lacks, readJson, textOf } from './read-answer.ts'

const VERDICT_OF: Readonly<Record<string, Verdict>> = {
  severe: 'blocked',
  high: 'blocked',
  medium: 'hold',
  low: 'clean',
}

/**
 * Address Screening of Chainalysis: `POST /api/risk/v2/entities` registers an address, `GET …/{address}` returns its
 * risk; header `Token`. docs.chainalysis.com/api/address-screening
 */
export function openAddressRisk({
  http,
  baseUrl,
  token,
}: {
  http: ProviderHttp
  baseUrl: string
  token: string
}): ScreeningSource {
  const root = `${baseUrl}/api/risk/v2/entities`
  const headers = { Token: token, accept: 'application/json', 'content-type': 'application/json' }
  return {
    id: 'chainalysis_risk',
    async screen({ address }) {
      const asked = getAddress(address)
      readJson(await http({ method: 'POST', url: root, headers, body: JSON.stringify({ address: asked }) }), [200, 201])
      return readRisk(readJson(await http({ method: 'GET', url: `${root}/${asked}`, headers }), [200]), address)
    },
  }
}

function readRisk(evidence: unknown, address: string): Answer {
  if (!isRecord(evidence)) return lacks('risk')
  const level = textOf(evidence.risk) ?? lacks('risk')
  const about = textOf(evidence.address) ?? lacks('address')
  if (about.toLowerCase() !== address) throw new ProviderTrouble(`the answer is about ${about}`)
  const verdict = ownAt(VERDICT_OF, level.toLowerCase())
  if (verdict === undefined) throw new ProviderTrouble(`the risk "${level}" is not documented`)
  const reason = textOf(evidence.riskReason)
  return { verdict, level, reasons: reason === null ? [] : [reason], evidence }
}
