import { useEffect, useState } from 'react'
import { isSilence } from '../../api/hooks.ts'
import { formatCount } from '../../kit/format.ts'
import { Icon } from '../../kit/icons.tsx'
import { Refusal } from '../../kit/parts.tsx'
import { useLang, useTexts } from '../../texts/lang.ts'
import { printTexts } from './print-texts.ts'

const FIRST_LINES = 100
/** The most that the service gives. It adds up the whole statement for each page. */
const MORE_LINES = 500
/** 2100 lines: more is a file's business, not the paper's. */
const MOST_PAGES = 5

/** Lines of the page that begins there. */
export const limitOf = (after: string | undefined): number => (after ? MORE_LINES : FIRST_LINES)

type Pages = {
  data: { pages: unknown[] } | undefined
  error: Error | null
  errorUpdateCount: number
  isFetching: boolean
  hasNextPage: boolean
  fetchNextPage(): Promise<unknown>
}
type Props = { word: string; pages: Pages; lines: number; className?: string }

/** Fetches what the screen does not show yet, then prints all of it. */
export function Print({ word, pages, lines, className = '' }: Props) {
  const t = useTexts(printTexts)
  const lang = useLang()
  // how often fetching had failed when it was asked for
  const [faults, setFaults] = useState<number | null>(null)
  const { data, errorUpdateCount, isFetching, hasNextPage, fetchNextPage } = pages
  const isPart = hasNextPage && (data?.pages.length ?? 0) < MOST_PAGES
  useEffect(() => {
    if (faults === null || data === undefined || isFetching) return
    const isFailed = errorUpdateCount !== faults
    if (isPart && !isFailed) {
      void fetchNextPage()
      return
    }
    setFaults(null)
    if (!isFailed) window.print()
  }, [faults, data, isFetching, errorUpdateCount, isPart, fetchNextPage])
  const isBusy = faults !== null
  return (
    <button
      type="button"
      className={`btn ${className}`}
      aria-busy={isBusy}
      disabled={isBusy || data === undefined}
      onClick={() => setFaults(errorUpdateCount)}
    >
      <Icon name="print" />
      {isBusy && isPart ? t.fetched(formatCount(lang, lines)) : word}
    </button>
  )
}

/** Says on paper that it ends before the list does, also where the browser's own command printed it. */
export function Cut({ pages, lines }: { pages: Pages; lines: number }) {
  const t = useTexts(printTexts)
  const lang = useLang()
  return (
    <>
      {/* `Loaded` says the others */}
      <Refusal error={pages.data === undefined || isSilence(pages.error) ? null : pages.error} />
      {pages.hasNextPage && (
        <p className="hidden border-t border-line p-3 font-semibold print:block">{t.cut(formatCount(lang, lines))}</p>
      )}
    </>
  )
}
