import type { ReactNode } from 'react'
import { useCore } from '../texts/lang.ts'

export type Bar = { key: string; label: string; value: number; text: string }

const WIDTH = 600
const HEIGHT = 160
const GAP = 3

/** A bar chart; the same figures follow as a table, for screen readers and for copying. */
export function Bars({ bars, title, head }: { bars: readonly Bar[]; title: string; head: [string, string] }) {
  const core = useCore()
  const top = Math.max(...bars.map(({ value }) => value), 1e-9)
  const step = WIDTH / Math.max(1, bars.length)
  return (
    <figure>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} className="h-44 w-full" preserveAspectRatio="none" aria-hidden="true">
        <path d={`M0 ${HEIGHT - 0.5}H${WIDTH}`} className="stroke-line" />
        {bars.map(({ key, label, value, text }, index) => {
          const height = Math.max(value > 0 ? 2 : 0, (value / top) * (HEIGHT - 8))
          return (
            <rect
              key={key}
              x={index * step + GAP / 2}
              y={HEIGHT - height}
              width={Math.max(1, step - GAP)}
              height={height}
              rx="2"
              className="fill-brand"
            >
              <title>{core.pair(label, text)}</title>
            </rect>
          )
        })}
      </svg>
      <div className="flex justify-between text-[13px] text-soft" aria-hidden="true">
        <span>{bars[0]?.label}</span>
        <span>{bars.at(-1)?.label}</span>
      </div>
      <Figures summary={title} head={head} rows={bars} />
    </figure>
  )
}

/** Shares of a whole, one line each. */
export function Shares({ bars }: { bars: readonly Bar[] }) {
  const top = Math.max(...bars.map(({ value }) => value), 1e-9)
  return (
    <ul className="space-y-3">
      {bars.map(({ key, label, value, text }) => (
        <li key={key}>
          <div className="flex justify-between gap-3 text-sm">
            <span>{label}</span>
            <span className="num">{text}</span>
          </div>
          <div className="mt-1 h-2 rounded bg-sunken" aria-hidden="true">
            <div className="h-2 rounded bg-brand" style={{ width: `${Math.max(1, (value / top) * 100)}%` }} />
          </div>
        </li>
      ))}
    </ul>
  )
}

type FiguresProps = { summary: ReactNode; head: [string, string]; rows: readonly Bar[] }

const Figures = ({ summary, head, rows }: FiguresProps) => (
  <details className="mt-3">
    <summary className="link inline-block text-sm">{summary}</summary>
    <div className="mt-2 max-h-72 overflow-y-auto">
      <table className="table">
        <thead>
          <tr>
            <th scope="col">{head[0]}</th>
            <th scope="col" className="text-right">
              {head[1]}
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, label, text }) => (
            <tr key={key}>
              <td>{label}</td>
              <td className="num text-right">{text}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  </details>
)
