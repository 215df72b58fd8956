import { useState } from 'react'
import { ApiError, request } from '../../api/call.ts'
import { useCompanyQuery } from '../../frame/company.tsx'
import { type Saved, saveAs } from '../../kit/files.ts'
import { formatCount } from '../../kit/format.ts'
import { Icon } from '../../kit/icons.tsx'
import { useRefusal } from '../../kit/refusal.ts'
import { say } from '../../kit/toasts.tsx'
import { stringifySearch } from '../../search.ts'
import { useLang, useTexts } from '../../texts/lang.ts'
import { texts } from './texts.ts'
import { type OrderSearch, toQuery } from './views.ts'
import { RowCollector } from './whole-rows.ts'

type Format = 'csv' | 'xlsx'
type Progress = { done: number; total: number; isResuming: boolean }

/** How often a broken connection is resumed, and the growing pause before. */
const TRIES = 6
const PAUSE_MS = 1000

const nameOf = (response: Response): string =>
  /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '')?.[1] ?? 'orders'
const totalOf = (response: Response): number => Number(response.headers.get('x-total-count') ?? 0)

async function* chunksOf(response: Response): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const reader = response.body?.getReader()
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined }
    if (done || !value) return
    yield value as Uint8Array<ArrayBuffer>
  }
}

/** The service refused it: the connection is not broken. */
const isRefused = (error: unknown): boolean => error instanceof ApiError && error.status >= 400 && error.status < 500

/** A broken connection is resumed, and so is what a limit refuses for a moment. */
const mayResume = (error: unknown): boolean => !isRefused(error) || (error instanceof ApiError && error.status === 429)

type Ask = (after: string | null) => Promise<Response>
type Tell = (progress: Progress) => void

/** A CSV is resumed after its last complete row when the connection breaks; nothing is loaded twice. */
async function loadRows(ask: Ask, tell: Tell): Promise<Saved> {
  const rows = new RowCollector()
  let [total, name, tries] = [0, '', 0]
  for (;;) {
    try {
      const response = await ask(rows.lastId)
      if (total === 0) [total, name] = [totalOf(response), nameOf(response)]
      const decoder = new TextDecoder()
      for await (const chunk of chunksOf(response)) {
        const before = rows.count
        rows.push(decoder.decode(chunk, { stream: true }))
        if (rows.count > before) tries = 0
        tell({ done: rows.count, total, isResuming: false })
      }
      return { name, blob: new Blob([rows.whole().text], { type: 'text/csv' }) }
    } catch (error) {
      tries += 1
      if (tries >= TRIES || !mayResume(error)) throw error
      rows.cut()
      tell({ done: rows.count, total, isResuming: true })
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS * tries))
    }
  }
}

/** A spreadsheet is one compressed file: after a broken connection it starts again. */
async function loadSheet(ask: Ask, tell: Tell): Promise<Saved> {
  for (let tries = 1; ; tries += 1) {
    try {
      const response = await ask(null)
      const total = totalOf(response)
      const parts: Uint8Array<ArrayBuffer>[] = []
      tell({ done: 0, total, isResuming: tries > 1 })
      for await (const chunk of chunksOf(response)) parts.push(chunk)
      const type = response.headers.get('content-type') ?? 'application/octet-stream'
      return { name: nameOf(response), blob: new Blob(parts, { type }) }
    } catch (error) {
      if (tries >= TRIES || !mayResume(error)) throw error
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS * tries))
    }
  }
}

/** Exports the list's filters as a file, and shows the number of orders while it loads. */
export function Export({ search }: { search: OrderSearch }) {
  const t = useTexts(texts)
  const lang = useLang()
  const refusal = useRefusal()
  const company = useCompanyQuery()
  const [progress, setProgress] = useState<Progress | null>(null)
  const run = async (format: Format): Promise<void> => {
    setProgress({ done: 0, total: 0, isResuming: false })
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
    const { done, total, isResuming } = progress
    return (
      <p role="status" className="btn">
        {isResuming ? t.resuming : t.exporting(formatCount(lang, done), formatCount(lang, total))}
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
