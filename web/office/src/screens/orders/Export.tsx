import { useState } from 'react'
import { request } from '../../api/call.ts'
import { useCompanyQuery } from '../../frame/company.tsx'
import { Icon } from '../../kit/icons.tsx'
import { say } from '../../kit/toasts.tsx'
import { stringifySearch } from '../../search.ts'
import { useLang, useTexts } from '../../texts/lang.ts'
import { texts } from './texts.ts'
import { type OrderSearch, toQuery } from './views.ts'

const sizeOf = (bytes: number): string =>
  bytes < 1_000_000 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`

async function collect(response: Response, onBytes: (bytes: number) => void): Promise<Blob> {
  const reader = response.body?.getReader()
  const parts: Uint8Array<ArrayBuffer>[] = []
  let bytes = 0
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined }
    if (done || !value) break
    parts.push(value as Uint8Array<ArrayBuffer>)
    bytes += value.length
    onBytes(bytes)
  }
  return new Blob(parts, { type: response.headers.get('content-type') ?? 'application/octet-stream' })
}

function saveAs(blob: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}

/** The list's filters as a file, streamed, with its size while it comes. */
export function Export({ search }: { search: OrderSearch }) {
  const t = useTexts(texts)
  const lang = useLang()
  const company = useCompanyQuery()
  const [bytes, setBytes] = useState<number | null>(null)
  const run = async (format: 'csv' | 'xlsx'): Promise<void> => {
    setBytes(0)
    try {
      const { status, sort: _, ...rest } = toQuery(search)
      const query = stringifySearch({ ...rest, ...company, status: status?.[0], format, headers: lang })
      const url = `/api/next/confirm_conversion/download${query}`
      const response = await request({ method: 'GET', url, body: undefined, key: null })
      const name = /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '')?.[1]
      saveAs(await collect(response, setBytes), name ?? `orders.${format}`)
      say(t.exported)
    } catch {
      say(t.exportFailed)
    }
    setBytes(null)
  }
  if (bytes !== null) {
    return (
      <p role="status" className="btn">
        {t.exporting(sizeOf(bytes))}
      </p>
    )
  }
  return (
    <>
      {(['csv', 'xlsx'] as const).map((format) => (
        <button key={format} type="button" className="btn" onClick={() => void run(format)}>
          <Icon name="download" size={18} />
          {`${t.export} ${format.toUpperCase()}`}
        </button>
      ))}
    </>
  )
}
