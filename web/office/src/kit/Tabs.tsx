import { useEffect, useRef } from 'react'
import { useAddress } from '../frame/address.ts'

/** A choice kept in the URL as `?status=`. */
export function StatusTabs({ options, label }: { options: readonly (readonly [string, string])[]; label: string }) {
  const [{ status = '' }, go] = useAddress()
  const choose = (value: string): void => go({ status: value || undefined, page: undefined })
  return (
    <fieldset className="mb-4 flex flex-wrap gap-2">
      <legend className="sr-only">{label}</legend>
      {options.map(([value, word]) => (
        <button
          key={value}
          type="button"
          className="chip min-h-8 border border-line px-3 aria-pressed:border-fill aria-pressed:bg-fill aria-pressed:text-white"
          aria-pressed={status === value}
          onClick={() => choose(value)}
        >
          {word}
        </button>
      ))}
    </fieldset>
  )
}

/** The page of a list, kept in the URL. */
export function usePage(): [number, (page: number) => void] {
  const [{ page }, go] = useAddress()
  return [page ?? 1, (next) => go({ page: next > 1 ? next : undefined })]
}

/** On a phone the chosen part is in sight: at first, and whenever a word's size changes, as with a late font. */
function keepInSight(row: HTMLElement | null): (() => void) | undefined {
  const chosen = row?.querySelector('[aria-pressed="true"]')
  if (!row || !chosen) return
  // only the row moves; `scrollIntoView` would move the page as well
  const watch = new ResizeObserver(() => {
    const [whole, part] = [row.getBoundingClientRect(), chosen.getBoundingClientRect()]
    row.scrollLeft += part.left + part.width / 2 - (whole.left + whole.width / 2)
  })
  for (const sized of [row, ...row.querySelectorAll('button')]) watch.observe(sized)
  return () => watch.disconnect()
}

type Part = { name: string; word: string }

/** Parts of one screen, in the URL as `?tab=`; the first one needs no parameter. Switching parts resets the filters. */
export function Parts({ parts, label }: { parts: readonly Part[]; label: string }) {
  const [, go] = useAddress()
  const current = usePart(parts)
  const row = useRef<HTMLFieldSetElement>(null)
  const names = parts.map(({ name }) => name).join()
  // biome-ignore lint/correctness/useExhaustiveDependencies: another part is chosen, or the row has others
  useEffect(() => keepInSight(row.current), [current, names])
  return (
    <fieldset ref={row} className="mb-5 flex min-w-0 gap-5 overflow-x-auto border-b border-line">
      <legend className="sr-only">{label}</legend>
      {parts.map(({ name, word }, index) => (
        <button
          key={name}
          type="button"
          className="-mb-px min-h-10 border-b-2 border-transparent px-0.5 font-medium whitespace-nowrap text-soft hover:text-ink aria-pressed:border-brand aria-pressed:text-ink"
          aria-pressed={name === current}
          onClick={() => go({ ...NO_FILTERS, tab: index === 0 ? undefined : name })}
        >
          {word}
        </button>
      ))}
    </fieldset>
  )
}

const NO_FILTERS = {
  status: undefined,
  search: undefined,
  page: undefined,
  check: undefined,
  from: undefined,
  to: undefined,
}

/** The part named in the URL, or the first one. */
export function usePart(parts: readonly Part[]): string {
  const [{ tab }] = useAddress()
  return (parts.find(({ name }) => name === tab) ?? parts[0])?.name ?? ''
}
