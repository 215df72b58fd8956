import { LANGS, type Lang } from '../../src/kernel/lang.ts'
import { TEXTS } from '../../src/texts/languages.ts'
import type { Texts } from '../../src/texts/texts.ts'

const OPEN = '⟦'
const CLOSE = '⟧'

/** Every text of a dictionary in brackets, also what its functions make: words without them stand in the code. */
function bracketed(value: unknown): unknown {
  if (typeof value === 'string') return `${OPEN}${value}${CLOSE}`
  if (typeof value === 'function') return (...facts: unknown[]) => bracketed(value(...facts))
  if (Array.isArray(value)) return value.map(bracketed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, bracketed(part)]))
}

/**
 * A sixth language for the time of a test, written from right to left: one object, and nothing else of the service is
 * told. @returns takes it out again
 */
export function addPseudoLanguage(code: string): () => void {
  const texts = { ...(bracketed(TEXTS.en) as Texts), locale: 'en-GB', name: 'Pseudo', dir: 'rtl' as const }
  const [all, codes] = [TEXTS as Record<string, Texts>, LANGS as unknown as string[]]
  all[code] = texts
  codes.push(code)
  return () => {
    delete all[code]
    codes.splice(codes.indexOf(code), 1)
  }
}

/** What stands outside the innermost brackets and is no name, number, address or unit. */
export function findUntranslated(shown: string, known: readonly string[]): string[] {
  let text = shown
  for (let before = ''; before !== text; ) {
    before = text
    text = text.replace(/⟦[^⟦⟧]*⟧/g, ' ')
  }
  for (const word of known) text = text.replaceAll(word, ' ')
  return text.match(/\p{L}{3,}/gu) ?? []
}

/** Every text of a dictionary that needs no facts. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}

/** English sentences on a page in another language. */
export function findEnglish(shown: string, lang: Lang): string[] {
  if (lang === 'en') return []
  const { mails: _, ...english } = TEXTS.en
  const own = new Set(textsIn(TEXTS[lang]))
  return textsIn(english).filter((text) => text.length > 8 && !own.has(text) && shown.includes(text))
}
