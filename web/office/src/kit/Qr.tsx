import encodeQR from 'qr'
import { useMemo } from 'react'

/** A QR code, with the white frame that scanners need even in the dark scheme. */
export function Qr({ text, label, className }: { text: string; label: string; className?: string }) {
  const { path, size } = useMemo(() => {
    const rows = encodeQR(text, 'raw', { border: 3 })
    const cells = rows.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])))
    return { path: cells.join(''), size: rows.length }
  }, [text])
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${size} ${size}`}
      shapeRendering="crispEdges"
      className={`rounded-lg bg-white ${className ?? 'size-56'}`}
    >
      <path d={path} fill="#000" />
    </svg>
  )
}
