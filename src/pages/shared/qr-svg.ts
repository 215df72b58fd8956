import { encodeQR } from 'qr'
import { type Html, html, raw } from '../../kernel/html.ts'

const MARGIN = 4
/** Modules become whole pixels, so that all are the same size; the page leaves about this much room. */
const WIDTH_PX = 236
const MAX_KEPT = 500
const kept = new Map<string, Html>()

/** Dark modules row by row as strokes: `M` to the row, `h` along dark ones, `m` over light ones. */
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
 * A QR code (ISO/IEC 18004, error correction M) as SVG with its quiet zone of four modules, always dark on white:
 * scanners read no other. Kept by content: making one costs milliseconds, and all who watch an order see the same.
 * @param label what a screen reader says
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
