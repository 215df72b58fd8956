import type { Queryable } from '../../db/db.ts'
import { type Html, html, raw, webLink } from '../../kernel/html.ts'
import { findShop, type ShopRow } from './payer-page-queries.ts'

/** A company as its payers see it. */
export type Shop = Omit<ShopRow, 'name' | 'displayName'> & {
  /** The name shown to payers. */
  name: string
}

const NOBODY: Shop = {
  name: '',
  legalName: null,
  siret: null,
  vatNumber: null,
  brandColor: null,
  supportEmail: null,
  supportPhone: null,
  termsUrl: null,
  logo: null,
}

export async function readShop(q: Queryable, companyId: string): Promise<Shop> {
  const row = await findShop(q, companyId)
  if (!row) return NOBODY
  const { name, displayName, ...shop } = row
  return { ...shop, name: displayName ?? name }
}

/* ---- colour ---- */

type Rgb = readonly [number, number, number]

const readColor = (text: string): Rgb =>
  [1, 3, 5].map((at) => Number.parseInt(text.slice(at, at + 2), 16)) as unknown as Rgb
const showColor = (color: Rgb): string => `#${color.map((part) => part.toString(16).padStart(2, '0')).join('')}`

/** Relative luminance (WCAG 2.2). */
function luminance(color: Rgb): number {
  const [red = 0, green = 0, blue = 0] = color.map((part) => {
    const share = part / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** Contrast ratio (WCAG 2.2), 1 to 21. */
export function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(readColor(one)), luminance(readColor(other))].sort((a, b) => a - b)
  return (light + 0.05) / (dark + 0.05)
}

/** WCAG AA for text, plus a margin, because fields are tinted. */
const ENOUGH = 4.9

/** The colour, moved towards black or white until it is readable on the background. */
function readableOn(color: string, ground: string, towards: '#000000' | '#ffffff'): string {
  const [from, to] = [readColor(color), readColor(towards)]
  for (let step = 0; step <= 20; step += 1) {
    const mixed = showColor(
      from.map((part, at) => Math.round(part + ((to[at] ?? 0) - part) * (step / 20))) as unknown as Rgb,
    )
    if (contrast(mixed, ground) >= ENOUGH) return mixed
  }
  return towards
}

const wordsOn = (color: string): string =>
  contrast('#ffffff', color) >= contrast('#10151a', color) ? '#ffffff' : '#10151a'

/** Darkest and lightest background behind coloured text: card and field of the page's style. */
const GROUND = { light: '#f4f5f6', dark: '#20262c' }

/**
 * The shop's colour as the page's accent, light and dark, always readable. Built from six hexadecimal digits only, so
 * that nothing else from the shop gets into the style.
 */
export function brandStyle({ brandColor }: Pick<Shop, 'brandColor'>): string {
  if (brandColor === null || !/^#[0-9a-f]{6}$/.test(brandColor)) return ''
  const light = readableOn(brandColor, GROUND.light, '#000000')
  const dark = readableOn(brandColor, GROUND.dark, '#ffffff')
  const rule = (accent: string): string => `:root{--accent:${accent};--on-accent:${wordsOn(accent)}}`
  return `${rule(light)}@media(prefers-color-scheme:dark){${rule(dark)}}`
}

/* ---- parts of a page ---- */

/** @param basePath path prefix of the pages, without a trailing slash */
export function shopLogo({ logo, name }: Shop, basePath: string): Html | null {
  return logo === null ? null : html`<img class="logo" src="${basePath}/logo/${logo}" alt="${name}" height="40">`
}

export const shopStyle = (shop: Shop): Html | null => {
  const style = brandStyle(shop)
  return style === '' ? null : html`<style>${raw(style)}</style>`
}

/** The other party of the contract, and its terms. */
export function shopImprint({ legalName, name, termsUrl }: Shop, terms: string): Html | null {
  const link = webLink(termsUrl)
  if (link === null && (legalName === null || legalName === name)) return null
  return html`<p class="imprint">${legalName}${legalName !== null && link !== null && ' · '}
    ${link && html`<a href="${link}" rel="noopener noreferrer">${terms}</a>`}</p>`
}
