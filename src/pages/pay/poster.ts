import { type Html, html, raw } from '../../kernel/html.ts'
import { TEXTS } from '../../texts/languages.ts'
import { showFiat } from '../shared/format.ts'
import { hashOf } from '../shared/framing.ts'
import { shell } from '../shared/notice.ts'
import { PAY_STYLE } from '../shared/page-style.ts'
import { qrSvg } from '../shared/qr-svg.ts'
import { brandStyle, type Shop, shopLogo, shopStyle } from '../shared/shop.ts'
import type { PageContext } from './pay-parts.ts'
import type { PayView } from './pay-service.ts'
import { POSTER_STYLE } from './poster-style.ts'

const SCRIPT = `const b=document.getElementById('print');b.hidden=false;b.onclick=()=>print()`

export const posterPolicy = (shop: Shop): string => {
  const brand = brandStyle(shop)
  const styles = [PAY_STYLE, POSTER_STYLE, ...(brand === '' ? [] : [brand])].map(hashOf).join(' ')
  return (
    `default-src 'none'; style-src ${styles}; script-src ${hashOf(SCRIPT)}; img-src 'self' data:; ` +
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
  )
}

/** The order's link as a code to print and put up: shop, amount, code, address. */
export function renderPoster(view: PayView, page: PageContext): Html {
  const { language, basePath, payUrl, locale } = page
  const { link } = TEXTS[language].order
  const url = `${payUrl}/pay?code=${view.code}`
  const body = html`<main class="poster">${shopLogo(view.shop, basePath)}<h1>${view.shop.name}</h1>
      ${view.goodsName && html`<p class="goods">${view.goodsName}</p>`}
      <p class="price">${showFiat(view.fiat, locale)}</p>
      ${qrSvg(url, url)}
      <p>${link.posterText}</p><p class="link">${url}</p>
      <button class="wide" id="print" hidden>${link.print}</button>
    </main><script>${raw(SCRIPT)}</script>`
  const head = html`<style>${raw(POSTER_STYLE)}</style>${shopStyle(view.shop)}`
  return shell({ language, title: `${link.poster} · ${view.shop.name}`, head, body })
}
