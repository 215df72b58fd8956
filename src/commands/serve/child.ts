import { pino } from 'pino'
import { describeFailure } from '../../checks/database-words.ts'
import { loadConfig } from '../../config/config.ts'
import { waitForEachAddress } from '../../kernel/process/address-attempts.ts'
import { type Running, serve } from '../../serve.ts'
import type { FromChild, ToChild } from './messages.ts'

/*
 * One of several processes of the service, started by parent.ts: it has no database server and no sandbox of its own,
 * listens through its parent, and ends with it.
 */
const say = (line: string): void => void process.stderr.write(`${line}\n`)
/** Without its parent it ends by `disconnect`, and not by a message that could not be sent. */
const tell = (message: FromChild): void => void process.send?.(message, undefined, undefined, () => {})

let running: Running | undefined
let stopping = false
const scrapes = new Map<number, (text: string) => void>()
let lastScrape = 0

/** `/metrics` of one process shows the metrics of all. */
const scrapeAll = (): Promise<string> =>
  new Promise((resolve) => {
    lastScrape += 1
    scrapes.set(lastScrape, resolve)
    tell({ kind: 'scrape', id: lastScrape })
  })

async function stop(): Promise<void> {
  if (stopping) return
  stopping = true
  await running?.stop({ drain: true })
  process.exit(0)
}

async function start({ name, roles, handover }: Extract<ToChild, { kind: 'start' }>): Promise<void> {
  const config = { ...loadConfig(process.env), roles, processes: 1 as const }
  try {
    running = await serve(config, say, { ...handover, name, scrapeAll })
    tell({ kind: 'ready', facts: running.facts })
  } catch (error) {
    pino({ base: null }).error(describeFailure(error))
    process.exit(1)
  }
}

async function tellMetrics(id: number): Promise<void> {
  const text = await running?.metrics.metrics().catch((error: unknown) => say(`The metrics cannot be read: ${error}`))
  tell({ kind: 'metrics', id, text: text ?? '' })
}

process.on('message', (message: ToChild) => {
  if (message.kind === 'start') void start(message)
  if (message.kind === 'stop') void stop()
  if (message.kind === 'metrics') void tellMetrics(message.id)
  if (message.kind === 'scraped') {
    scrapes.get(message.id)?.(message.text)
    scrapes.delete(message.id)
  }
})
// a terminal sends these to every process; the parent decides
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
process.on('disconnect', () => void stop())
waitForEachAddress()
tell({ kind: 'hello' })
