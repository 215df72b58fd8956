import { type Html, html, raw } from '../../kernel/html.ts'
import type { Lang } from '../../kernel/lang.ts'
import type { Money } from '../../kernel/money.ts'
import { TEXTS } from '../../texts/languages.ts'
import { showFiat } from './format.ts'
import { languageSwitch } from './language.ts'
import { shell } from './notice.ts'
import { pagePolicy } from './page-policy.ts'
import { POSTER_STYLE } from './poster-style.ts'
import { qrSvg } from './qr-svg.ts'
import { type Shop, shopLogo, shopStyle } from './shop.ts'

const SCRIPT = `const b=document.getElementById('print');b.hidden=false;b.onclick=()=>print()`

export const posterPolicy = (shop: Shop): string => pagePolicy({ shop, styles: [POSTER_STYLE], scripts: [SCRIPT] })

export type Poster = {
  language: Lang
  shop: Shop
  /** What it is for: the goods, the table. */
  name: string | null
  /** Null: the payer enters it. */
  price: Money | null
  /** Content of the QR code. */
  url: string
  /** The poster's own URL, with parameters besides the language. */
  path: string
  query: Readonly<Record<string, string>>
  basePath: string
}

/** A link as a QR code to print and put up: shop, amount, code, URL. */
export function renderPoster(poster: Poster): Html {
  const { language, shop, name, price, url, path, query, basePath } = poster
  const { link } = TEXTS[language].order
  const body = html`<main class="poster">${shopLogo(shop, basePath)}<h1>${shop.name}</h1>
      ${name && html`<p class="goods">${name}</p>`}
      ${price && html`<p class="price">${showFiat(price, TEXTS[language].locale)}</p>`}
      ${qrSvg(url, url)}
      <p>${link.posterText}</p><p class="link">${url}</p>
      <button class="wide" id="print" hidden>${link.print}</button>
    </main><footer>${languageSwitch(language, path, query)}</footer><script>${raw(SCRIPT)}</script>`
  const head = html`<style>${raw(POSTER_STYLE)}</style>${shopStyle(shop)}`
  return shell({ language, title: `${link.poster} · ${shop.name}`, head, body })
}
