import { ApiError } from '../api/call.ts'
import { lackOf } from '../api/lack.ts'
import { recognize, recognizeDetail } from '../api/sentences.ts'
import type { Core } from '../texts/core.ts'
import { type Lang, useCore, useLang } from '../texts/lang.ts'
import { formatMoney, formatWait } from './format.ts'

/** Codes with many meanings: a fixed text of ours would often be wrong. */
const SAID_BY_THE_SERVICE = ['FORBIDDEN', 'OBJECT_CONFLICT', 'ILLEGAL_AMOUNT']

function inWords(core: Core, lang: Lang, message: string): string | null {
  const { refusals } = core
  const known = recognize(message)
  if (!known) return null
  const { name, facts } = known
  const [first = '', second = ''] = facts
  if (name === 'decimals') return refusals.decimals(first, second)
  if (name === 'least' || name === 'most' || name === 'payoutUnderWay')
    return refusals[name](formatMoney(lang, first, second))
  if (name === 'accountInUse') return refusals.accountInUse(first, second)
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

/** A form's label for the field at a path from the service; null: the form does not show it. */
export type LabelOf = (path: string) => string | null

/**
 * The service's refusal, in the reader's language if we have a text for it.
 * @returns a function of the thrown error and, inside a form, the form's labels
 */
export function useRefusal(): (error: unknown, labelOf?: LabelOf) => string {
  const core = useCore()
  const lang = useLang()
  return (error, labelOf) => {
    if (!(error instanceof ApiError)) return error instanceof Error ? error.message : String(error)
    const lack = lackOf(error)
    if (lack)
      return core.refusals.notCovered(formatMoney(lang, lack.needs, 'USDC'), formatMoney(lang, lack.left, 'USDC'))
    const detail = ({ path, message }: { path: string; message: string }): string => {
      const label = labelOf?.(path) ?? null
      return `${label === null ? path : `${label}:`} ${detailInWords(core, message)}`
    }
    const details = error.details.map(detail).join('; ')
    const text = textOf(core, lang, error)
    return details === '' ? text : `${text} (${details})`
  }
}
