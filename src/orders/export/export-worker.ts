import { parentPort } from 'node:worker_threads'
import { type Db, openDb } from '../../db/db.ts'
import { exportFile } from './export-file.ts'
import type { ExportJob, ExportNews, ExportOrder } from './export-thread.ts'

/** Body of a thread of `openExportThreads`: writes one file after another and sends one chunk per request. */
function serve(port: NonNullable<typeof parentPort>): void {
  let db: Db | undefined
  let asked = 0
  let wake = (): void => {}

  const send = async (news: ExportNews): Promise<void> => {
    while (asked === 0) {
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
    asked -= 1
    if (news === null) return port.postMessage(null)
    // transfer the buffer if it holds only this chunk; copy a chunk of a shared buffer, or all of that buffer would go
    // with it
    const isAlone = news.buffer instanceof ArrayBuffer && news.buffer.byteLength === news.byteLength
    const piece = isAlone ? news : new Uint8Array(news)
    port.postMessage(piece, [piece.buffer as ArrayBuffer])
  }
  const write = async ({ connectionString, prepared, plan }: ExportJob): Promise<void> => {
    if (db?.connectionString !== connectionString) {
      await db?.close()
      db = openDb({ connectionString, prepared, max: 1, applicationName: 'comptoir-export' })
    }
    for await (const piece of exportFile(db, plan)) await send(piece)
    await send(null)
  }
  port.on('message', (order: ExportOrder) => {
    if (order !== null) void write(order)
    else {
      asked += 1
      wake()
    }
  })
}

if (parentPort) serve(parentPort)
