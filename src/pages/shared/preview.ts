import { type Html, html } from '../../kernel/html.ts'
import type { Shop } from './shop.ts'

/** What a messenger shows of a link, with the shop's logo. */
export function preview(
  shop: Shop,
  { payUrl, title, description = null }: { payUrl: string; title: string; description?: string | null },
): Html {
  const image = shop.logo && new URL(`${payUrl}/logo/${shop.logo}`).href
  return html`<meta property="og:title" content="${title}"><meta property="og:site_name" content="${shop.name}">
    ${description && html`<meta property="og:description" content="${description}">`}
    ${image && html`<meta property="og:image" content="${image}">`}`
}
