import { ProviderTrouble } from '../../channels/provider-errors.ts'
import type { ProviderAnswer } from '../../channels/provider-http.ts'

/** Longer texts are cut in messages. */
const SHOWN = 200

const retryAfterOf = ({ headers }: ProviderAnswer): number | undefined => {
  const seconds = Number(headers['retry-after'])
  return seconds > 0 ? seconds * 1000 : undefined
}

/**
 * The JSON of an answer with one of the documented statuses. Anything else, even an error page with status 200, says
 * nothing about the address.
 * @throws ProviderTrouble
 */
export function readJson(answer: ProviderAnswer, statuses: readonly number[]): unknown {
  const { status, text } = answer
  if (!statuses.includes(status)) {
    const retryAfterMs = retryAfterOf(answer)
    throw new ProviderTrouble(`HTTP ${status}: ${text.slice(0, SHOWN)}`, retryAfterMs ? { retryAfterMs } : {})
  }
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new ProviderTrouble(`HTTP ${status} without JSON`, { cause: error })
  }
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** @throws ProviderTrouble: a documented field is missing */
export const lacks = (field: string): never => {
  throw new ProviderTrouble(`the answer lacks ${field}`)
}

export const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)
