import { hashOf } from './framing.ts'
import { PAY_STYLE } from './page-style.ts'
import { brandStyle, type Shop } from './shop.ts'

type Allowed = {
  /** Whose colour the page wears. */
  shop?: Shop | null
  /** Beside the payers' style. */
  styles?: readonly string[]
  /** Of ours, inline. */
  scripts?: readonly string[]
  /** Websites whose scripts run beside ours. */
  hosts?: readonly string[]
  /** Where forms go; absent: nowhere. */
  forms?: "'self'"
  /** Further directives, such as a provider's frame. */
  more?: readonly string[]
}

/** A payers' page as strict as it goes: our own style and scripts by their hash, our own pictures, framed by nobody. */
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
