import { Readable } from 'node:stream'
import { Worker } from 'node:worker_threads'
import type { ExportPlan } from './export-file.ts'

/** V8 lets garbage grow while memory is free; a thread can have a limit. It needs about 15 MB. */
const LIMITS = { maxYoungGenerationSizeMb: 3, maxOldGenerationSizeMb: 24 }

export type ExportJob = { connectionString: string; plan: ExportPlan }

/** From the thread: a piece of the file, or null for its end. To the thread: null, one more piece is wanted. */
export type ExportNews = Uint8Array | null

/**
 * Streams the file from a separate thread: a million rows take seconds of processor time, which must not delay payers.
 * It is written at the reader’s speed; destroying the stream ends the thread.
 */
export function exportInThread(job: ExportJob): Readable {
  const file = new URL('./export-worker.ts', import.meta.url)
  const worker = new Worker(file, { workerData: job, resourceLimits: LIMITS, execArgv: [] })
  let ended = false
  const body = new Readable({
    highWaterMark: 1 << 16,
    read: () => worker.postMessage(null),
    destroy: (error, done) => void worker.terminate().then(() => done(error), done),
  })
  worker.on('message', (news: ExportNews) => {
    ended = news === null
    body.push(news)
  })
  worker.once('error', (error) => body.destroy(error))
  worker.once('exit', () => {
    if (!ended) body.destroy(new Error('the export ended too early'))
  })
  return body
}
