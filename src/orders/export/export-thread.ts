import { Readable } from 'node:stream'
import { Worker } from 'node:worker_threads'
import { SECOND } from '../../kernel/clock.ts'
import { collectWhatPasses } from '../../kernel/process/garbage.ts'
import type { ExportPlan } from './export-file.ts'

/** V8 lets garbage grow while memory is free, and only a thread can have its own limit. It needs about 15 MB. */
const LIMITS = { maxYoungGenerationSizeMb: 3, maxOldGenerationSizeMb: 24 }
/** Starting a thread costs more than a small file, so an idle thread waits this long for the next one. */
const IDLE_MS = 30 * SECOND

export type ExportJob = { connectionString: string; prepared: boolean; plan: ExportPlan }

/** To the thread: a job to start, or null for the next chunk of it. */
export type ExportOrder = ExportJob | null
/** From the thread: a chunk of the file, or null at its end. */
export type ExportNews = Uint8Array | null

export type ExportThreads = {
  /**
   * Streams the file from a separate thread: a million rows take seconds of CPU time, which must not delay payers. The
   * thread writes at the reader's speed; destroying the stream before its end ends the thread.
   * @param note called with the number of bytes that the reader took
   */
  write(job: ExportJob, note: (bytes: number) => void): Readable
}

/** Threads for exports, started on demand. */
export function openExportThreads(): ExportThreads {
  const idle = new Map<Worker, NodeJS.Timeout>()
  const passes = collectWhatPasses()

  const start = (): Worker => {
    const worker = new Worker(new URL('./export-worker.ts', import.meta.url), { resourceLimits: LIMITS, execArgv: [] })
    worker.once('exit', () => {
      clearTimeout(idle.get(worker))
      idle.delete(worker)
    })
    return worker
  }
  const take = (): Worker => {
    const [waiting] = idle.keys()
    if (!waiting) return start()
    clearTimeout(idle.get(waiting))
    idle.delete(waiting)
    waiting.ref()
    return waiting
  }
  const giveBack = (worker: Worker): void => {
    worker.unref()
    idle.set(worker, setTimeout(() => void worker.terminate(), IDLE_MS).unref())
  }
  return {
    write(job, note) {
      const worker = take()
      let ended = false
      const onNews = (news: ExportNews): void => {
        ended = news === null
        if (news) {
          note(news.byteLength)
          passes(news.byteLength)
        }
        body.push(news)
      }
      const onError = (error: Error): void => void body.destroy(error)
      const onExit = (): void => void body.destroy(new Error('the export ended too early'))
      const body = new Readable({
        highWaterMark: 1 << 16,
        read: () => worker.postMessage(null),
        destroy(error, done) {
          worker.off('message', onNews).off('error', onError).off('exit', onExit)
          if (ended) {
            giveBack(worker)
            done(error)
          } else worker.terminate().then(() => done(error), done)
        },
      })
      worker.on('message', onNews).once('error', onError).once('exit', onExit)
      worker.postMessage(job)
      return body
    },
  }
}
