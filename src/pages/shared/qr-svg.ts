import { encodeQR } from 'qr'
import { type Html, html, raw } from '../../kernel/html.ts'

const MARGIN = 4
/** Each module is a whole number of pixels, so that all are the same size; the page has about this much room. */
const WIDTH_PX = 236
const MAX_KEPT = 500
const kept = new Map<string, Html>()

/** Dark modules as strokes, row by row: `M` to the row, `h` along dark ones, `m` over light ones. */
function strokesOf(rows: readonly (readonly boolean[])[]): string {
  return rows
    .map((row, y) => {
      let path = ''
      let at = 0
      for (let x = 0; x < row.length; ) {
        let end = x
        while (end < row.length && row[end] === row[x]) end += 1
        if (row[x]) {
          path += path === '' ? `M${x} ${y}.5h${end - x}` : `m${x - at} 0h${end - x}`
          at = end
        }
        x = end
      }
      return path
    })
    .join('')
}

/**
 * A QR code (ISO/IEC 18004, error correction M) as SVG with its quiet zone of four modules, always dark on white,
 * because scanners read nothing else. Cached by content: creating one takes milliseconds, and all viewers of an order
 * see the same one.
 * @param label text for screen readers
 */
export function qrSvg(content: string, label: string): Html {
  const key = `${label}\n${content}`
  const known = kept.get(key)
  if (known) return known
  const framed = encodeQR(content, 'raw', { ecc: 'medium', border: MARGIN })
  const size = framed.length
  const width = Math.max(1, Math.floor(WIDTH_PX / size)) * size
  const svg = html`<svg class="qr" width="${width}" viewBox="0 0 ${size} ${size}" role="img" aria-label="${label}"
    shape-rendering="crispEdges"><path fill="#fff" d="M0 0h${size}v${size}H0z"/>
    <path stroke="#000" d="${raw(strokesOf(framed))}"/></svg>`
  if (kept.size >= MAX_KEPT) kept.delete(kept.keys().next().value ?? '')
  kept.set(key, svg)
  return svg
}
