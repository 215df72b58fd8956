import { ApiError } from '../api/call.ts'
import { recognize, recognizeDetail } from '../api/sentences.ts'
import type { Core } from '../texts/core.ts'
import { type Lang, useCore, useLang } from '../texts/lang.ts'
import { formatMoney, formatWait } from './format.ts'

/** Codes with many meanings: our own words for them would often be false. */
const SAID_BY_THE_SERVICE = ['FORBIDDEN', 'OBJECT_CONFLICT', 'ILLEGAL_AMOUNT']

function inWords(core: Core, lang: Lang, message: string): string | null {
  const { refusals } = core
  const known = recognize(message)
  if (!known) return null
  const { name, facts } = known
  const [amount = '', asset = ''] = facts
  if (name === 'decimals') return refusals.decimals(amount, asset)
  if (name === 'least' || name === 'most' || name === 'payoutUnderWay')
    return refusals[name](formatMoney(lang, amount, asset))
  return refusals[name]
}

function detailInWords(core: Core, message: string): string {
  const known = recognizeDetail(message)
  if (!known) return message
  const words = core.details[known.name]
  return typeof words === 'string' ? words : words(known.fact)
}

function textOf(core: Core, lang: Lang, error: ApiError): string {
  const { code, message, retryAfter } = error
  const known = inWords(core, lang, message)
  if (known !== null) return known
  if (retryAfter !== null && code === 'TOO_MANY_REQUESTS') return core.refusals.tooMany(formatWait(lang, retryAfter))
  if (retryAfter !== null && code === 'ACCOUNT_LOCKED') return core.refusals.locked(formatWait(lang, retryAfter))
  return SAID_BY_THE_SERVICE.includes(code) ? message : (core.errors[code] ?? message)
}

/** What a form calls a field that the service names by its path; null: the form does not show it. */
export type LabelOf = (path: string) => string | null

/**
 * What the service refused, in the reader's language where we have words for it.
 * @returns a function that takes what was thrown and, inside a form, how the form calls its fields
 */
export function useRefusal(): (error: unknown, labelOf?: LabelOf) => string {
  const core = useCore()
  const lang = useLang()
  return (error, labelOf) => {
    if (!(error instanceof ApiError)) return error instanceof Error ? error.message : String(error)
    const detail = ({ path, message }: { path: string; message: string }): string => {
      const label = labelOf?.(path) ?? null
      return `${label === null ? path : `${label}:`} ${detailInWords(core, message)}`
    }
    const details = error.details.map(detail).join('; ')
    const text = textOf(core, lang, error)
    return details === '' ? text : `${text} (${details})`
  }
}
