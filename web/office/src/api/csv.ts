import { saveAs } from '../kit/files.ts'
import { stringifySearch } from '../search.ts'
import { request } from './call.ts'
import { csvBlob } from './csv-blob.ts'

/** More than the names of the columns are long. */
const MAX_HEAD = 1000

type Statement = { path: string; query?: Record<string, unknown>; columns: Record<string, string> }

/**
 * Saves the API's response with `format=csv`, under the file name from the service.
 * @param columns their names for the reader, by those of the API
 */
export async function saveCsv({ path, query = {}, columns }: Statement): Promise<void> {
  const url = `/api/next/${path}${stringifySearch({ ...query, format: 'csv' })}`
  const response = await request({ method: 'GET', url, body: undefined, key: null })
  const [, name = 'statement.csv'] = /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '') ?? []
  const sent = await response.blob()
  const [head = ''] = (await sent.slice(0, MAX_HEAD).text()).split('\r\n')
  const named = head.split(',').map((column) => columns[column] ?? column)
  saveAs({ blob: csvBlob([named.join(), sent.slice(head.length)]), name })
}
