import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../../config/config.ts'
import type { Clock } from '../../kernel/clock.ts'
import { type Html, html } from '../../kernel/html.ts'
import type { Lang } from '../../kernel/lang.ts'
import { TEXTS } from '../../texts/languages.ts'
import { compressPage } from '../shared/compress.ts'
import { allowFrame } from '../shared/framing.ts'
import { languageOf } from '../shared/language.ts'
import { NOTICE_POLICY, shell } from '../shared/notice.ts'
import type { Shop } from '../shared/shop.ts'
import { codeOf, embeddedPolicy, isEmbedded, renderWayOut, WAY_OUT_POLICY, withEmbedScript } from './embed.ts'
import type { PageContext } from './pay-parts.ts'
import { contentSecurityPolicy } from './pay-view.ts'

/** `policy` if the page has its own style or script. */
export type SentPage = { status: number; html: Html; shop: Shop | null; policy?: string }

/** @property token of the check that the payer was led out of the shop's frame to */
export type Said = { problem?: string; typed?: string; token?: string }

/** A provider's page, and what the link to it says. */
export type Away = { url: string; label: string }

/**
 * Leads on at once, also without a script. A redirect would not do: browsers hold it, and every further one of the
 * provider's, against the `form-action` of the page that has the form.
 */
const renderAway = (request: FastifyRequest, { url, label }: Away): Html =>
  shell({
    language: languageOf(request),
    title: label,
    head: html`<meta http-equiv="refresh" content="0;url=${url}">`,
    body: html`<main><p><a class="button main" href="${url}" rel="noopener noreferrer">${label}</a></p></main>`,
  })

/** Sends the payer's pages. */
export type PayPages = {
  /** @param lastUsed the channel that this browser paid with before */
  contextOf(language: Lang, lastUsed?: string | null): PageContext
  /** @param shop whose brand colour the page uses */
  send(request: FastifyRequest, reply: FastifyReply, page: SentPage): Promise<FastifyReply>
  /**
   * Redirects to the order's page, which shows the current state.
   * @param said a failure, which the page explains in the payer's language, and the input, encrypted
   */
  sendBack(request: FastifyRequest, reply: FastifyReply, code: string, said?: Said): FastifyReply
  /** Sends the payer to a provider's page. */
  sendAway(request: FastifyRequest, reply: FastifyReply, to: Away): Promise<FastifyReply>
  /** Redirects to the page of a check, on the requested host; in a shop's frame to the way out to it. */
  sendOn(request: FastifyRequest, reply: FastifyReply, to: URL): Promise<FastifyReply>
  /** @param way.state what the shop's page hears of the order */
  sendWayOut(request: FastifyRequest, reply: FastifyReply, way: { token: string; state: string }): Promise<FastifyReply>
}

export function openPayPages(deps: {
  config: Pick<Config, 'payUrl' | 'baseUrl'>
  clock: Clock
  providersUrl: string | null
  explorerUrl: PageContext['explorerUrl']
  walletNetworks: PageContext['walletNetworks']
  /** The website of the button that created the order; null for other orders. */
  findShopOrigin(code: string): Promise<string | null>
}): PayPages {
  const { config, clock, providersUrl, explorerUrl, walletNetworks, findShopOrigin } = deps
  const basePath = new URL(config.payUrl).pathname.replace(/\/+$/, '')
  /** The one website that may frame this response; null: none. */
  const framingOf = async (request: FastifyRequest): Promise<string | null> =>
    isEmbedded(request) ? findShopOrigin(codeOf(request)) : null
  return {
    contextOf: (language, lastUsed = null) => ({
      language,
      texts: TEXTS[language].pay,
      locale: TEXTS[language].locale,
      basePath,
      payUrl: config.payUrl,
      providersUrl,
      explorerUrl,
      walletNetworks,
      lastUsed,
      search: null,
      kept: {},
      nowMs: clock(),
    }),
    async send(
      request,
      reply,
      { status, html: page, shop, policy = contentSecurityPolicy({ providersUrl, ...config }, shop) },
    ) {
      const origin = await framingOf(request)
      if (origin !== null) allowFrame(reply)
      void reply.code(status).headers({
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': origin === null ? policy : embeddedPolicy(policy, origin),
        // with no-referrer the browser would send `Origin: null` with our own forms
        'referrer-policy': 'same-origin',
        'cache-control': 'no-store',
        'content-language': languageOf(request),
      })
      const text = origin === null ? page.text : withEmbedScript(page.text, origin, codeOf(request))
      return reply.send(await compressPage(request, reply, text))
    },
    sendAway(request, reply, to) {
      return this.send(request, reply, {
        status: 200,
        html: renderAway(request, to),
        shop: null,
        policy: NOTICE_POLICY,
      })
    },
    async sendOn(request, reply, { pathname, searchParams }) {
      const token = searchParams.get('token')
      if (token && (await framingOf(request)) !== null) return this.sendBack(request, reply, codeOf(request), { token })
      const { lang } = request.query as { lang?: string }
      if (lang) searchParams.set('lang', lang)
      return reply.redirect(`${pathname}?${searchParams}`, 303)
    },
    sendWayOut(request, reply, { token, state }) {
      const to = `${basePath}/kyc?${new URLSearchParams({ code: codeOf(request), token, lang: languageOf(request) })}`
      const html = renderWayOut(request, { to, state })
      return this.send(request, reply, { status: 200, html, shop: null, policy: WAY_OUT_POLICY })
    },
    sendBack(request, reply, code, { problem, typed, token } = {}) {
      const { lang } = request.query as { lang?: string }
      const query = new URLSearchParams({ code })
      if (lang) query.set('lang', lang)
      if (isEmbedded(request)) query.set('embed', '1')
      if (problem) query.set('problem', problem)
      if (typed) query.set('typed', typed)
      if (token) query.set('token', token)
      return reply.redirect(`${basePath}/pay?${query}`, 303)
    },
  }
}
