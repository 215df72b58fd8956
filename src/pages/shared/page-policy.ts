import { hashOf } from './framing.ts'
import { PAY_STYLE } from './page-style.ts'
import { brandStyle, type Shop } from './shop.ts'

type Allowed = {
  /** Whose brand colour the page uses. */
  shop?: Shop | null
  /** In addition to the payers' style. */
  styles?: readonly string[]
  /** Our own inline scripts. */
  scripts?: readonly string[]
  /** Websites whose scripts run next to ours. */
  hosts?: readonly string[]
  /** Where forms go; absent: nowhere. */
  forms?: "'self'"
  /** Further directives, such as a provider's frame. */
  more?: readonly string[]
}

/** The strictest policy for a payers' page: our own style and scripts by hash, our own images, no framing. */
export function pagePolicy({ shop = null, styles = [], scripts = [], hosts = [], forms, more = [] }: Allowed): string {
  const brand = shop === null ? '' : brandStyle(shop)
  const allStyles = [PAY_STYLE, ...styles, ...(brand === '' ? [] : [brand])]
  return [
    "default-src 'none'",
    `style-src ${allStyles.map(hashOf).join(' ')}`,
    ...(scripts.length > 0 ? [`script-src ${[...scripts.map(hashOf), ...hosts].join(' ')}`] : []),
    "img-src 'self' data:",
    `form-action ${forms ?? "'none'"}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
    ...more,
  ].join('; ')
}
