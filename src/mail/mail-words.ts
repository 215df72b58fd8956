import type { Lang } from '../kernel/lang.ts'
import type { MailKind, MailKinds } from './mail.ts'
import { wordsDe } from './mail-words-de.ts'
import { wordsEn } from './mail-words-en.ts'
import { wordsEs } from './mail-words-es.ts'
import { wordsFr } from './mail-words-fr.ts'
import { wordsIt } from './mail-words-it.ts'

/** One mail in words; the layout adds the rest. */
export type MailText = {
  subject: string
  paragraphs: string[]
  /** Shown large, for typing over. */
  code?: string
  button?: { label: string; url: string }
  /** Small print: how long it is good, what to do if it was not you. */
  note?: string
}

export type MailWords = {
  greeting(name: string): string
  closing: string
  kinds: { [Kind in MailKind]: (data: MailKinds[Kind]) => MailText }
}

export const MAIL_WORDS: Record<Lang, MailWords> = {
  en: wordsEn,
  fr: wordsFr,
  de: wordsDe,
  es: wordsEs,
  it: wordsIt,
}
