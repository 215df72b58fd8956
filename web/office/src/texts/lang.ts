import { useSyncExternalStore } from 'react'
import { withFrenchBlanks } from './blanks.ts'
import type { Core, Widen } from './core.ts'

export const LANGS = ['en', 'fr', 'de', 'es', 'it'] as const
export type Lang = (typeof LANGS)[number]
export const LANG_NAMES: Record<Lang, string> = {
  en: 'English',
  fr: 'Français',
  de: 'Deutsch',
  es: 'Español',
  it: 'Italiano',
}

export type Texts<Text> = Record<Lang, Widen<Text>>

/** The texts of one screen in every language; they are loaded with the screen. */
export const defineTexts = <Text>(english: Text, others: Record<Exclude<Lang, 'en'>, Widen<Text>>): Texts<Text> =>
  ({ en: english, ...others, fr: withFrenchBlanks(others.fr) }) as Texts<Text>

const LOADERS: Record<Lang, () => Promise<Core>> = {
  en: async () => (await import('./en.ts')).en,
  fr: async () => withFrenchBlanks((await import('./fr.ts')).fr),
  de: async () => (await import('./de.ts')).de,
  es: async () => (await import('./es.ts')).es,
  it: async () => (await import('./it.ts')).it,
}

const isLang = (text: string | null | undefined): text is Lang => LANGS.some((lang) => lang === text)

/** `?lang=`, then the earlier choice, then the browser's preference. */
function firstLang(): Lang {
  const asked = new URLSearchParams(location.search).get('lang')
  if (isLang(asked)) return asked
  const kept = localStorage.getItem('lang')
  if (isLang(kept)) return kept
  for (const wish of navigator.languages) {
    const short = wish.slice(0, 2)
    if (isLang(short)) return short
  }
  return 'en'
}

let state: { lang: Lang; core: Core } | null = null
const listeners = new Set<() => void>()

async function showLang(lang: Lang): Promise<void> {
  const core = await LOADERS[lang]()
  state = { lang, core }
  localStorage.setItem('lang', lang)
  document.documentElement.lang = lang
  for (const listener of listeners) listener()
}

export const startLang = (): Promise<void> => showLang(firstLang())

/** A person's choice. The service keeps it in a cookie for its own pages, such as the one for a new password. */
export async function chooseLang(lang: Lang): Promise<void> {
  await showLang(lang)
  // without an answer those pages follow the browser, as before
  await fetch(`/app?lang=${lang}`, { method: 'HEAD' }).catch(() => null)
}
export const hasChosenLang = (): boolean => isLang(new URLSearchParams(location.search).get('lang'))

function useLangState(): { lang: Lang; core: Core } {
  const now = useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => state,
  )
  if (!now) throw new Error('the language is chosen before anything is shown')
  return now
}

export const useLang = (): Lang => useLangState().lang
export const useCore = (): Core => useLangState().core
export const useTexts = <Text>(texts: Record<Lang, Text>): Text => texts[useLangState().lang]

/** The text for a value of the API, or the value itself if a newer service sends one that we do not know. */
export const wordFor = (words: Record<string, string>, value: string): string => words[value] ?? value
