import { useState } from 'react'
import { request } from '../../api/call.ts'
import { useCompanyQuery } from '../../frame/company.tsx'
import { saveAs } from '../../kit/files.ts'
import { formatCount, formatNumber } from '../../kit/format.ts'
import { Icon } from '../../kit/icons.tsx'
import { useRefusal } from '../../kit/refusal.ts'
import { say } from '../../kit/toasts.tsx'
import { stringifySearch } from '../../search.ts'
import { useLang, useTexts } from '../../texts/lang.ts'
import { type Ask, isRefused, loadRows, loadSheet, type Progress } from './load-export.ts'
import { texts } from './texts.ts'
import { type OrderSearch, toQuery } from './views.ts'

const MEGABYTE = 1_000_000
type Format = 'csv' | 'xlsx'

/** Exports the list's filters as a file, and shows how much of it has come. */
export function Export({ search }: { search: OrderSearch }) {
  const t = useTexts(texts)
  const lang = useLang()
  const refusal = useRefusal()
  const company = useCompanyQuery()
  const [progress, setProgress] = useState<Progress | null>(null)
  const run = async (format: Format): Promise<void> => {
    setProgress({ isResuming: false, ...(format === 'csv' ? { done: 0, total: 0 } : { bytes: 0 }) })
    const { status, sort: _, ...rest } = toQuery(search)
    const ask: Ask = (after) => {
      const query = stringifySearch({ ...rest, ...company, status: status?.[0], format, headers: lang, after })
      return request({
        method: 'GET',
        url: `/api/next/confirm_conversion/download${query}`,
        body: undefined,
        key: null,
      })
    }
    try {
      saveAs(await (format === 'csv' ? loadRows(ask, setProgress) : loadSheet(ask, setProgress)))
      say(t.exported)
    } catch (error) {
      say(isRefused(error) ? refusal(error) : t.exportFailed)
    }
    setProgress(null)
  }
  if (progress !== null) {
    const come =
      'bytes' in progress
        ? t.exportingSize(formatNumber(lang, (progress.bytes / MEGABYTE).toFixed(1)))
        : t.exporting(formatCount(lang, progress.done), formatCount(lang, progress.total))
    return (
      <p role="status" className="btn">
        {progress.isResuming ? t.resuming : come}
      </p>
    )
  }
  return (['csv', 'xlsx'] as const).map((format) => (
    <button key={format} type="button" className="btn" onClick={() => void run(format)}>
      <Icon name="download" size={18} />
      <span className="max-sm:sr-only">{t.export(format.toUpperCase())}</span>
      <span className="sm:hidden" aria-hidden="true">
        {format.toUpperCase()}
      </span>
    </button>
  ))
}
