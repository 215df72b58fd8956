import type { FastifyRequest } from 'fastify'
import { type Html, html, raw } from '../../kernel/html.ts'
import { TEXTS } from '../../texts/languages.ts'
import { hashOf } from '../shared/framing.ts'
import { languageOf } from '../shared/language.ts'

/**
 * Script for the page inside a shop's frame. It tells the shop's page, and no other, the state of the order, and when
 * the payer pressed Escape, because a page gets no key events from its frames. It keeps every step of the payer inside
 * the frame, and opens other websites in a window, because they refuse to be framed: also those that a form leads to.
 */
const SCRIPT = `(() => {
const { origin, code } = document.currentScript.dataset
const live = document.getElementById('live')
const inFrame = (text, stays = true) => {
  const url = new URL(text, location.href)
  if (!url.pathname.includes('/pay')) return url.href
  if (stays) url.searchParams.set('embed', '1')
  // a browser gives no cookie to a page in the frame of another website
  if (!url.searchParams.has('lang')) url.searchParams.set('lang', document.documentElement.lang)
  return url.href
}
const keep = () => {
  for (const form of document.forms) {
    const isOurs = new URL(form.action).origin === location.origin
    const stays = isOurs && !form.dataset.leaves
    if (isOurs) form.action = inFrame(form.action, stays)
    if (!stays) form.target = '_blank'
  }
  for (const button of document.querySelectorAll('[formaction]'))
    if (new URL(button.formAction).origin === location.origin) button.formAction = inFrame(button.formAction)
  for (const link of document.links) {
    const url = new URL(link.href)
    if (url.origin === location.origin && url.pathname.endsWith('/pay')) link.href = inFrame(link.href)
    else { link.target = url.origin === origin ? '_top' : '_blank'; link.rel = 'noopener noreferrer' }
  }
  if (parent === window) return
  const { state, final } = live?.firstElementChild?.dataset ?? {}
  const height = document.body.scrollHeight
  parent.postMessage({ conversionCode: code }, origin)
  parent.postMessage({ type: 'comptoir:state', conversionCode: code, state, final: Boolean(final), height }, origin)
}
addEventListener('keydown', ({ key }) => {
  if (key === 'Escape' && parent !== window) parent.postMessage({ type: 'comptoir:escape' }, origin)
})
addEventListener('DOMContentLoaded', () => {
  if (live) new MutationObserver(keep).observe(live, { childList: true })
  new ResizeObserver(keep).observe(document.body)
})
keep()
})()`
  .replace(/\n\s*\/\/.*/g, '')
  .replace(/\n\s*/g, '\n')

const SCRIPT_HASH = hashOf(SCRIPT)

/** Whether the request is for the page inside a shop's frame. */
export const isEmbedded = ({ query }: FastifyRequest): boolean => (query as { embed?: string }).embed === '1'

/** The order code in a payer's page or form. */
export const codeOf = ({ query, body }: FastifyRequest): string =>
  (query as { code?: string }).code ?? (body as { code?: string } | undefined)?.code ?? ''

export const embeddedPolicy = (policy: string, origin: string): string =>
  policy
    .replace("frame-ancestors 'none'", `frame-ancestors ${origin}`)
    .replace(/script-src(-elem)? /, (directive) => `${directive}${SCRIPT_HASH} `)

/** Inserted before the page's own script, which may submit a form at once. */
export function withEmbedScript(page: string, origin: string, code: string): string {
  const script = html`<script data-origin="${origin}" data-code="${code}">${raw(SCRIPT)}</script>`.text
  const at = page.lastIndexOf('<script')
  const place = at === -1 ? page.lastIndexOf('</body>') : at
  return page.slice(0, place) + script + page.slice(place)
}

/** Inside a frame: opens a page that must not be framed in a new window. */
export function renderWayOut(request: FastifyRequest, to: string): Html {
  const lang = languageOf(request)
  const { newPage, openPage } = TEXTS[lang].button
  return html`<!doctype html><html lang="${lang}"><head><meta charset="utf-8"><title>${openPage}</title>
    <meta name="viewport" content="width=device-width,initial-scale=1"></head>
    <body><main><p>${newPage}</p><p><a href="${to}" target="_blank" rel="noopener">${openPage}</a></p></main></body></html>`
}
