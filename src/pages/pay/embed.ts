import type { FastifyRequest } from 'fastify'
import { type Html, html, raw } from '../../kernel/html.ts'
import { TEXTS } from '../../texts/languages.ts'
import { hashOf } from '../shared/framing.ts'
import { languageOf } from '../shared/language.ts'
import { shell } from '../shared/notice.ts'
import { pagePolicy } from '../shared/page-policy.ts'

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

/**
 * Script for the way out: the order's page comes back by itself. A hidden page asks nothing, because the payer is at
 * the other one, and asks at once when it is seen again.
 */
const WAY_OUT_SCRIPT = `(() => {
const live = document.getElementById('live')
const look = () => document.hidden || fetch(location.href).then((r) => r.text()).then((text) => {
  const page = new DOMParser().parseFromString(text, 'text/html').getElementById('live')
  if (page && page.dataset.id !== live.dataset.id) location.reload()
}).catch(() => {})
setInterval(look, 5000)
document.addEventListener('visibilitychange', look)
})()`.replace(/\n\s*/g, '\n')

export const WAY_OUT_POLICY = pagePolicy({ scripts: [WAY_OUT_SCRIPT], more: ["connect-src 'self'"] })

/**
 * Inside a frame: opens a page that must not be framed in a new window.
 * @param way.state what the shop's page hears of the order meanwhile
 */
export function renderWayOut(request: FastifyRequest, { to, state }: { to: string; state: string }): Html {
  const language = languageOf(request)
  const { newPage, openPage } = TEXTS[language].button
  const link = html`<a class="button main" href="${to}" target="_blank" rel="noopener">${openPage}</a>`
  return shell({
    language,
    title: openPage,
    head: html`<noscript><meta http-equiv="refresh" content="10"></noscript>`,
    body: html`<main id="live" data-id="out ${state}"><div data-state="${state}"><p>${newPage}</p>${link}</div></main>
      <script>${raw(WAY_OUT_SCRIPT)}</script>`,
  })
}
