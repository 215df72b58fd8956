import type { ChannelId } from '../channels/channel.ts'
import { CHANNEL_NAMES } from '../channels/channel-names.ts'
import { isLang, type Lang } from '../kernel/lang.ts'
import { withFrenchBlanks } from './blanks.ts'
import { de } from './de.ts'
import { en } from './en.ts'
import { es } from './es.ts'
import { fr } from './fr.ts'
import { it } from './it.ts'
import type { PayTexts } from './page-texts.ts'
import type { Texts } from './texts.ts'

export const TEXTS: Readonly<Record<Lang, Texts>> = { en, fr: withFrenchBlanks(fr), de, es, it }

/** Cookie with the choice of the language switch. */
export const LANGUAGE_COOKIE = 'lang'

/** Sources of a person's language; missing ones are left out. */
export type LanguageWish = {
  asked?: string | undefined
  remembered?: string | undefined
  accepted?: string | undefined
}

/**
 * The language of a page: the one requested by `?lang=`, otherwise the one chosen before, the browser's first one that
 * we have, or English.
 * @param accepted the value of Accept-Language; browsers list languages by descending weight, so the order of the list
 * counts
 */
export function chooseLanguage({ asked, remembered, accepted }: LanguageWish): Lang {
  const wanted = [asked ?? '', remembered ?? '', ...(accepted ?? '').split(',')]
  return wanted.map((part) => part.trim().slice(0, 2).toLowerCase()).find(isLang) ?? 'en'
}

export const channelName = (texts: PayTexts, channel: ChannelId): string =>
  texts.channels[channel] ?? CHANNEL_NAMES[channel]

/** What went wrong in the payer's last step, by error code. */
export function problemText(texts: PayTexts, code: string): string {
  const known: Partial<Record<string, string>> = texts.problems
  return (Object.hasOwn(known, code) ? known[code] : undefined) ?? texts.problem
}
