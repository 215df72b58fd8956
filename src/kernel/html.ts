import { invalid } from './errors.ts'

/** Markup that is safe to send: made by `html`, which escapes, or by `raw`. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
  toString(): string {
    return this.text
  }
}

/** Allowed values in a template; null, undefined and false render nothing. */
export type HtmlValue = string | number | bigint | Html | null | undefined | false | readonly HtmlValue[]

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** Removes the marks that change the text direction of what follows: a name must not rewrite the amount after it. */
export const withoutTurns = (text: string): string => text.replace(/[\u202a-\u202e\u2066-\u2069]/g, '')

export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"'\u202a-\u202e\u2066-\u2069]/g, (letter) => ENTITIES[letter] ?? '')

function render(value: HtmlValue): string {
  if (value === null || value === undefined || value === false) return ''
  if (value instanceof Html) return value.text
  if (typeof value === 'object') return value.map(render).join('')
  return escapeHtml(String(value))
}

const squeezed = new WeakMap<TemplateStringsArray, readonly string[]>()

/**
 * The template's own text without its indentation: a line break between tags is dropped, elsewhere it becomes a space.
 */
function squeeze(strings: TemplateStringsArray): readonly string[] {
  const known = squeezed.get(strings)
  if (known) return known
  const short = strings.map((text) =>
    text
      .replace(/(^|>)\s*\n\s*/g, '$1')
      .replace(/\s*\n\s*(<|$)/g, '$1')
      .replace(/\n\s*/g, ' '),
  )
  squeezed.set(strings, short)
  return short
}

/** Markup from a template: every value is escaped, for text and for quoted attributes, unless it is markup already. */
export function html(strings: TemplateStringsArray, ...values: HtmlValue[]): Html {
  const parts = squeeze(strings)
  let text = parts[0] ?? ''
  for (const [index, value] of values.entries()) text += render(value) + (parts[index + 1] ?? '')
  return new Html(text)
}

/** Trusted markup that needs no escaping. Never for anything from outside. */
export const raw = (text: string): Html => new Html(text)

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

/** A link that is safe in `href`: http and https only, with its host, otherwise null. */
export function webLink(text: string | null | undefined): string | null {
  if (!text || !URL.canParse(text)) return null
  return ['http:', 'https:'].includes(new URL(text).protocol) ? mendPageUrl(text) : null
}

const NEVER_LINKED = ['javascript:', 'data:', 'blob:', 'file:', 'vbscript:', 'about:']

/** A link that may open a payer's app: a custom scheme, but none that runs or reads anything in the browser. */
export function appLink(text: string | null | undefined): string | null {
  if (!text || !URL.canParse(text)) return null
  return NEVER_LINKED.includes(new URL(text).protocol) ? null : text
}
