import { saveAs } from '../kit/files.ts'
import { stringifySearch } from '../search.ts'
import { request } from './call.ts'

/** Saves the API's response with `format=csv`, under the file name from the service. */
export async function saveCsv(path: string, query: Record<string, unknown> = {}): Promise<void> {
  const url = `/api/next/${path}${stringifySearch({ ...query, format: 'csv' })}`
  const response = await request({ method: 'GET', url, body: undefined, key: null })
  const [, name = 'statement.csv'] = /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '') ?? []
  saveAs({ blob: await response.blob(), name })
}
