import type { FastifyRequest } from 'fastify'
import { type Html, html, raw } from '../../kernel/html.ts'
import { TEXTS } from '../../texts/languages.ts'
import { hashOf } from '../shared/framing.ts'
import { languageOf } from '../shared/language.ts'

/**
 * In a shop's frame: tells the shop's page where the order stands, and that page alone, and that the payer pressed
 * Escape, because a page does not hear the keys of its frames; keeps every step of the payer
 * inside the frame; opens what other websites show on pages of their own, because they refuse to be framed.
 */
const SCRIPT = `(() => {
const { origin, code } = document.currentScript.dataset
const live = document.getElementById('live')
const inFrame = (text) => {
  const url = new URL(text, location.href)
  if (url.pathname.includes('/pay')) url.searchParams.set('embed', '1')
  return url.href
}
const keep = () => {
  for (const form of document.forms) {
    if (new URL(form.action).origin === location.origin) form.action = inFrame(form.action)
    else form.target = '_blank'
  }
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
})()`.replace(/\n\s*/g, '\n')

const SCRIPT_HASH = hashOf(SCRIPT)

/** Whether the request is for the page inside a shop's frame. */
export const isEmbedded = ({ query }: FastifyRequest): boolean => (query as { embed?: string }).embed === '1'

/** The code of the order that a page or form of the payer names. */
export const codeOf = ({ query, body }: FastifyRequest): string =>
  (query as { code?: string }).code ?? (body as { code?: string } | undefined)?.code ?? ''

export const embeddedPolicy = (policy: string, origin: string): string =>
  policy
    .replace("frame-ancestors 'none'", `frame-ancestors ${origin}`)
    .replace(/script-src(-elem)? /, (directive) => `${directive}${SCRIPT_HASH} `)

/** Before the page's own script, which may send a form at once. */
export function withEmbedScript(page: string, origin: string, code: string): string {
  const script = html`<script data-origin="${origin}" data-code="${code}">${raw(SCRIPT)}</script>`.text
  const at = page.lastIndexOf('<script')
  const place = at === -1 ? page.lastIndexOf('</body>') : at
  return page.slice(0, place) + script + page.slice(place)
}

/** Inside a frame: a page that must not be framed opens beside it. */
export function renderWayOut(request: FastifyRequest, to: string): Html {
  const lang = languageOf(request)
  const { newPage, openPage } = TEXTS[lang].button
  return html`<!doctype html><html lang="${lang}"><head><meta charset="utf-8"><title>${openPage}</title>
    <meta name="viewport" content="width=device-width,initial-scale=1"></head>
    <body><main><p>${newPage}</p><p><a href="${to}" target="_blank" rel="noopener">${openPage}</a></p></main></body></html>`
}
