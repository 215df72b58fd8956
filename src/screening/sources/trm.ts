import type { ProviderHttp } from '../../channels/provider-http.ts'
import type { Answer, ScreeningSource, Verdict } from '../screening.ts'
import { worstOf } from '../screening.ts'
import { isRecord, lacks, readJson, textOf } from './read-answer.ts'

/** TRM's names of chains. An unknown chain is queried as Ethereum, because EVM addresses are the same there. */
const CHAIN_WORDS: Readonly<Record<number, string>> = {
  1: 'ethereum',
  10: 'optimism',
  56: 'binance_smart_chain',
  137: 'polygon',
  8453: 'base',
  42161: 'arbitrum',
  43114: 'avalanche_c_chain',
}

/** 15 severe, 10 high, 5 medium, 1 low, 0 unknown. */
const HIGH = 10
const SEVERE = 15

/**
 * TRM Labs: `POST /public/v2/screening/addresses`, HTTP Basic with the key as user and password; takes and returns an
 * array, in any order.
 */
export function openTrm({
  http,
  baseUrl,
  apiKey,
}: {
  http: ProviderHttp
  baseUrl: string
  apiKey: string
}): ScreeningSource {
  const authorization = `Basic ${Buffer.from(`${apiKey}:${apiKey}`).toString('base64')}`
  const headers = { authorization, accept: 'application/json', 'content-type': 'application/json' }
  return {
    id: 'trm',
    async screen({ network, address }) {
      const chain = CHAIN_WORDS[network ?? 1] ?? 'ethereum'
      const body = JSON.stringify([{ address, chain, accountExternalId: null }])
      const url = `${baseUrl}/public/v2/screening/addresses`
      return readItems(readJson(await http({ method: 'POST', url, headers, body }), [200, 201]), address)
    },
  }
}

type Fields = ReadonlyMap<string, unknown>

/** Samples differ in the spelling of field names, so their case is ignored. */
const fieldsOf = (value: unknown): Fields | null =>
  isRecord(value) ? new Map(Object.entries(value).map(([name, field]) => [name.toLowerCase(), field])) : null

function readItems(answer: unknown, address: string): Answer {
  if (!Array.isArray(answer)) return lacks('the list of addresses')
  const isOurs = (item: unknown): boolean => {
    const fields = fieldsOf(item)
    const names = [fields?.get('address'), fields?.get('addresssubmitted')]
    return names.some((name) => textOf(name)?.toLowerCase() === address)
  }
  const evidence: unknown = answer.find(isOurs) ?? lacks('the address')
  const fields = fieldsOf(evidence)
  const indicators = fields?.get('addressriskindicators')
  if (!Array.isArray(indicators)) return lacks('addressRiskIndicators')
  const entities = fields?.get('entities')
  const found = [
    ...indicators.map(readIndicator),
    ...(Array.isArray(entities) ? entities.map((entity) => readEntity(entity)) : []),
  ]
  const verdict = worstOf(['clean', ...found.map((one) => one.verdict)])
  const telling = found.filter((one) => one.verdict === verdict && verdict !== 'clean')
  return { verdict, level: telling[0]?.level ?? null, reasons: telling.map(({ reason }) => reason), evidence }
}

type Finding = { verdict: Verdict; level: string; reason: string }

const scoreOf = (fields: Fields | null, name: string): number => {
  const score = Number(fields?.get(name) ?? Number.NaN)
  return Number.isFinite(score) ? score : lacks(name)
}

const wordsOf = (fields: Fields | null, ...names: string[]): string =>
  names.flatMap((name) => textOf(fields?.get(name)) ?? []).join(', ')

const levelOf = (score: number): string => (score >= SEVERE ? 'Severe' : score >= HIGH ? 'High' : String(score))

/** A release at one level does not cover the next one (`doubts.ts`), so each reason names its own. */
const withLevel = (reason: string, level: string): string => `${reason} (${level})`

/** High risk of its own blocks; high risk of its counterparties, or of an unnamed kind, needs a person. */
function readIndicator(value: unknown): Finding {
  const fields = fieldsOf(value)
  const score = scoreOf(fields, 'categoryriskscorelevel')
  const type = textOf(fields?.get('risktype'))?.toUpperCase() ?? 'UNNAMED'
  const high: Verdict = type === 'OWNERSHIP' ? 'blocked' : type === 'INDIRECT' ? 'clean' : 'hold'
  const level = textOf(fields?.get('categoryriskscorelevellabel')) ?? levelOf(score)
  const verdict = score >= HIGH ? high : 'clean'
  return { verdict, level, reason: withLevel(`${type}: ${wordsOf(fields, 'category')}`, level) }
}

/** An entity owns the address. */
function readEntity(value: unknown): Finding {
  const fields = fieldsOf(value)
  const score = scoreOf(fields, 'riskscorelevel')
  const level = textOf(fields?.get('riskscorelevellabel')) ?? levelOf(score)
  const reason = withLevel(wordsOf(fields, 'entity', 'category'), level)
  return { verdict: score >= HIGH ? 'blocked' : 'clean', level, reason }
}
