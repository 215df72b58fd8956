import type { SumsubConfig } from '../../config/kyc-config.ts'
import type { Clock } from '../../kernel/clock.ts'
import { IdentityProviderError, type RemoteProvider } from '../identity-provider.ts'
import { readSumsubCallback } from './callback.ts'
import { openSumsubClient } from './client.ts'
import { readReview } from './review.ts'

/** Valid for one load of the page; never stored. */
const TOKEN_SECONDS = 600

/** @throws IdentityProviderError when the answer does not match the provider's documentation */
function textOf(json: unknown, name: string, what: string): string {
  const value = (Object(json) as Record<string, unknown>)[name]
  if (typeof value === 'string' && value !== '') return value
  throw new IdentityProviderError('unknown', `sumsub ${what}: an answer without ${name}`)
}

/** Checks people through Sumsub. Sources of every fact: docs/kyc.md. */
export function openSumsubProvider(config: SumsubConfig, clock: Clock, timeoutMs?: number): RemoteProvider {
  const client = openSumsubClient({ ...config, clock, ...(timeoutMs === undefined ? {} : { timeoutMs }) })
  const levelName = (level: 'basic' | 'enhanced'): string => (level === 'basic' ? config.level : config.eddLevel)
  const findApplicant: RemoteProvider['findApplicant'] = async (externalUserId) => {
    const path = `/resources/applicants/-;externalUserId=${encodeURIComponent(externalUserId)}/one`
    const { status, json } = await client.call({ what: 'find applicant', method: 'GET', path, expected: [200, 404] })
    return status === 404 ? null : { applicantId: textOf(json, 'id', 'find applicant') }
  }
  return {
    id: 'sumsub',
    embedding: { scriptUrl: config.sdkUrl, frameOrigin: new URL(config.baseUrl).origin },
    findApplicant,
    async createApplicant(externalUserId) {
      const path = `/resources/applicants?levelName=${encodeURIComponent(config.level)}`
      const { status, json } = await client.call({
        what: 'create applicant',
        method: 'POST',
        path,
        body: { externalUserId },
        expected: [200, 201, 409],
      })
      if (status !== 409) return { applicantId: textOf(json, 'id', 'create applicant') }
      const existing = await findApplicant(externalUserId)
      if (existing) return existing
      throw new IdentityProviderError('unknown', 'sumsub create applicant: it exists, but cannot be read', status)
    },
    async fetchReview(applicantId) {
      const path = `/resources/applicants/${encodeURIComponent(applicantId)}/status`
      const { status, json } = await client.call({ what: 'read status', method: 'GET', path, expected: [200, 404] })
      return status === 404 ? null : readReview(json, config)
    },
    async resetApplicant(applicantId) {
      const path = `/resources/applicants/${encodeURIComponent(applicantId)}/reset`
      await client.call({ what: 'reset applicant', method: 'POST', path, expected: [200] })
    },
    async openSession(userId, level) {
      const body = { userId, levelName: levelName(level), ttlInSecs: TOKEN_SECONDS }
      const { json } = await client.call({
        what: 'access token',
        method: 'POST',
        path: '/resources/accessTokens/sdk',
        body,
        expected: [200, 201],
      })
      return { token: textOf(json, 'token', 'access token') }
    },
    readCallback: (callback) => readSumsubCallback(config.webhookSecret, callback),
  }
}
