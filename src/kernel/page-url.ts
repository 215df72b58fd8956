import { invalid } from './errors.ts'

/** Browsers and we read `https:/shop.example` and `https:shop.example` each in another way. */
const WITH_HOST = /^https?:\/\/[^\\/?#]/i

/** @throws VALIDATION_FAILED unless the text is an http(s) URL without credentials */
export function readPageUrl(path: string, text: string | undefined): string | null {
  if (text === undefined) return null
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !WITH_HOST.test(text)) throw invalid(path, 'must be a URL that starts with https:// or http://')
  if (url.username !== '' || url.password !== '')
    throw invalid(path, 'must be a URL without a user name and password before the host')
  return text
}

/** An http(s) URL that was stored before `readPageUrl` read it, as it was meant; any other as it is. */
export const mendPageUrl = (text: string): string => (WITH_HOST.test(text) ? text : new URL(text).href)
