import type { ChannelId } from '../channels/channel.ts'
import { CHANNEL_NAMES } from '../channels/channel-names.ts'
import { isLang, type Lang } from '../kernel/lang.ts'
import { de } from './de.ts'
import { en } from './en.ts'
import { es } from './es.ts'
import { fr } from './fr.ts'
import { it } from './it.ts'
import type { PayTexts } from './page-texts.ts'
import type { Texts } from './texts.ts'

export const TEXTS: Readonly<Record<Lang, Texts>> = { en, fr, de, es, it }

/** Where the choice of the language switch is kept in the browser. */
export const LANGUAGE_COOKIE = 'lang'

/** What says which language a person reads; a missing part is left out. */
export type LanguageWish = {
  asked?: string | undefined
  remembered?: string | undefined
  accepted?: string | undefined
}

/**
 * The language of a page: the one asked for by `?lang=`, else the one chosen before, else the browser's first one that
 * we have, else English.
 * @param accepted the value of Accept-Language; browsers write weights in descending order, so its order counts
 */
export function chooseLanguage({ asked, remembered, accepted }: LanguageWish): Lang {
  const wanted = [asked ?? '', remembered ?? '', ...(accepted ?? '').split(',')]
  return wanted.map((part) => part.trim().slice(0, 2).toLowerCase()).find(isLang) ?? 'en'
}

export const channelName = (texts: PayTexts, channel: ChannelId): string =>
  texts.channels[channel] ?? CHANNEL_NAMES[channel]

/** What went wrong with the payer's last step, by the code of the error. */
export function problemText(texts: PayTexts, code: string): string {
  const known: Partial<Record<string, string>> = texts.problems
  return (Object.hasOwn(known, code) ? known[code] : undefined) ?? texts.problem
}
