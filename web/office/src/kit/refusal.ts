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

/** The service's words about one field, in the reader's language if we have a text for them. */
export function detailInWords(core: Core, message: string): string {
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

/** Whether a form shows the field at a path from the service, with what is wrong with it. */
export type IsAtField = (path: string) => boolean

/**
 * The service's refusal, in the reader's language if we have a text for it.
 * @returns a function of the thrown error and, inside a form, of what its fields say themselves
 */
export function useRefusal(): (error: unknown, isAtField?: IsAtField) => string {
  const core = useCore()
  const lang = useLang()
  return (error, isAtField) => {
    if (!(error instanceof ApiError)) return error instanceof Error ? error.message : String(error)
    const lack = lackOf(error)
    if (lack)
      return core.refusals.notCovered(formatMoney(lang, lack.needs, 'USDC'), formatMoney(lang, lack.left, 'USDC'))
    const others = error.details.filter(({ path }) => !isAtField?.(path))
    const details = others.map(({ path, message }) => `${path} ${detailInWords(core, message)}`).join('; ')
    const text = textOf(core, lang, error)
    return details === '' ? text : `${text} (${details})`
  }
}
