/** Languages of mails and of the pages that they link to. */
export const LANGS = ['en', 'fr', 'de', 'es', 'it'] as const
export type Lang = (typeof LANGS)[number]

export const isLang = (text: string): text is Lang => (LANGS as readonly string[]).includes(text)
