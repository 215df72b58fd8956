import { ApiError } from '../../api/call.ts'
import { csvBlob } from '../../api/csv-blob.ts'
import { RowCollector } from './whole-rows.ts'

/** Of a spreadsheet only the bytes are known: its rows are compressed. */
export type Progress = { isResuming: boolean } & ({ done: number; total: number } | { bytes: number })

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
export const isRefused = (error: unknown): boolean =>
  error instanceof ApiError && error.status >= 400 && error.status < 500

/** A broken connection is resumed, and so is what a limit refuses for a moment. */
const mayResume = (error: unknown): boolean => !isRefused(error) || (error instanceof ApiError && error.status === 429)

export type Ask = (after: string | null) => Promise<Response>
type Loaded = { blob: Blob; name: string }
type Tell = (progress: Progress) => void

/** A CSV is resumed after its last complete row when the connection breaks; nothing is loaded twice. */
export async function loadRows(ask: Ask, tell: Tell): Promise<Loaded> {
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
      return { name, blob: csvBlob([rows.whole().text]) }
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
export async function loadSheet(ask: Ask, tell: Tell): Promise<Loaded> {
  for (let tries = 1; ; tries += 1) {
    try {
      const response = await ask(null)
      const parts: Uint8Array<ArrayBuffer>[] = []
      let bytes = 0
      for await (const chunk of chunksOf(response)) {
        parts.push(chunk)
        bytes += chunk.length
        tell({ bytes, isResuming: false })
      }
      const type = response.headers.get('content-type') ?? 'application/octet-stream'
      return { name: nameOf(response), blob: new Blob(parts, { type }) }
    } catch (error) {
      if (tries >= TRIES || !mayResume(error)) throw error
      tell({ bytes: 0, isResuming: true })
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS * tries))
    }
  }
}
