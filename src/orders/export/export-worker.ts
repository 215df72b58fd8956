import { parentPort, workerData } from 'node:worker_threads'
import { openDb } from '../../db/db.ts'
import { exportFile } from './export-file.ts'
import type { ExportJob, ExportNews } from './export-thread.ts'

/** The thread of one export, started by `exportInThread`; sends one piece per request. */
async function writeFile({ connectionString, plan }: ExportJob, port: NonNullable<typeof parentPort>): Promise<void> {
  let asked = 0
  let wake = (): void => {}
  port.on('message', () => {
    asked += 1
    wake()
  })
  const send = async (news: ExportNews): Promise<void> => {
    while (asked === 0) {
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
    asked -= 1
    port.postMessage(news)
  }
  const db = openDb({ connectionString, max: 1, applicationName: 'comptoir-export' })
  for await (const piece of exportFile(db, plan)) await send(typeof piece === 'string' ? Buffer.from(piece) : piece)
  await db.close()
  await send(null)
  port.close()
}

if (parentPort) await writeFile(workerData as ExportJob, parentPort)
