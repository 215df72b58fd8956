import { closeSync, createReadStream, existsSync, openSync, renameSync, rmSync, truncateSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Command, textOf, UsageError } from '../command.ts'
import { connect } from '../connection.ts'

const SAY_EVERY_MS = 1000
/** Disconnections and passing refusals in a row without a new row. */
const MAX_BREAKS = 5
const BREAK_MS = 1000
/** A service that asks for more time is not waited for. */
const MAX_WAIT_MS = 60_000

const [QUOTE, NEW_LINE] = [0x22, 0x0a]
const ID_BYTES = 24

/** Finds where complete CSV rows end while the file arrives: a line break inside quotes ends no row. */
class Rows {
  count = 0
  /** Bytes up to the end of the last complete row. */
  wholeBytes = 0
  lastId = ''
  #bytes = 0
  #quoted = false
  #start = ''

  /** Continues after the last complete row. */
  continue(): void {
    this.#bytes = this.wholeBytes
    this.#quoted = false
    this.#start = ''
  }
  restart(): void {
    this.wholeBytes = 0
    this.continue()
  }
  read(chunk: Uint8Array): void {
    for (const byte of chunk) {
      this.#bytes += 1
      if (this.#start.length < ID_BYTES) this.#start += String.fromCharCode(byte)
      if (byte === QUOTE) this.#quoted = !this.#quoted
      if (byte !== NEW_LINE || this.#quoted) continue
      if (this.wholeBytes > 0) {
        this.count += 1
        this.lastId = this.#start
      }
      this.wholeBytes = this.#bytes
      this.#start = ''
    }
  }
}

type Download = { url: URL; headers: Record<string, string>; part: string; say(line: string): void }

const REASONS: Record<string, string> = {
  ENOENT: 'there is no such folder',
  EACCES: 'you may not write there',
  EROFS: 'the disk is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'your share of the disk is full',
}

const fileError = ({ code = '', message }: NodeJS.ErrnoException, file: string): Error =>
  new Error(`${file} cannot be written: ${REASONS[code] ?? message}.`)

const isFromSystem = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && 'syscall' in error && 'errno' in error

/** Why a request did not bring the whole rest, and when to ask again. */
type Break = { why: string; waitMs: number }

const BROKEN: Break = { why: 'The connection broke.', waitMs: BREAK_MS }

/** @returns null: everything came */
async function writeAll(
  body: AsyncIterable<Uint8Array>,
  part: string,
  note: (chunk: Uint8Array) => void,
): Promise<Break | null> {
  const out = await open(part, 'a')
  const chunks = body[Symbol.asyncIterator]()
  try {
    for (;;) {
      const next = await chunks.next().catch(() => null)
      if (next === null) return BROKEN
      if (next.done) return null
      await out.writeFile(next.value)
      note(next.value)
    }
  } finally {
    await chunks.return?.()
    await out.close()
  }
}

async function refusalOf(answer: Response): Promise<string> {
  const text = await answer.text().catch(() => '')
  try {
    const { error } = JSON.parse(text) as { error: { code: string; message: string } }
    return `${error.code}: ${error.message}`
  } catch {
    return `HTTP ${answer.status}`
  }
}

function waitMsOf(answer: Response): number {
  const seconds = answer.headers.get('retry-after') ?? ''
  return /^\d+$/.test(seconds) ? Number(seconds) * 1000 : BREAK_MS
}

/** How far the file is, and where to continue after a disconnection. */
class Progress {
  readonly rows: Rows | null
  #total = 0
  #bytes = 0
  #saidAtMs = Date.now()

  constructor(isCsv: boolean) {
    this.rows = isCsv ? new Rows() : null
  }
  begin(total: number): void {
    this.#total ||= total
    this.#bytes = this.rows?.wholeBytes ?? 0
  }
  note(chunk: Uint8Array, say: (line: string) => void): void {
    this.rows?.read(chunk)
    this.#bytes += chunk.length
    if (Date.now() - this.#saidAtMs < SAY_EVERY_MS) return
    this.#saidAtMs = Date.now()
    say(
      `Exporting: ${this.rows ? `${this.rows.count} of ` : ''}${this.#total} orders, ${Math.round(this.#bytes / 1e6)} MB`,
    )
  }
  get total(): number {
    return this.#total
  }
}

/**
 * Makes one request and appends it to the file.
 * @returns null: everything came
 * @throws Error for a refusal that asking again does not change
 */
async function receive({ url, headers, part, say }: Download, progress: Progress): Promise<Break | null> {
  const { rows } = progress
  if (rows && rows.wholeBytes > 0) {
    truncateSync(part, rows.wholeBytes)
    rows.continue()
    if (rows.lastId !== '') url.searchParams.set('after', rows.lastId)
  }
  // without a complete row there is nowhere to continue; truncating first also reveals an unwritable file before any
  // request
  if (!rows?.lastId) {
    closeSync(openSync(part, 'w'))
    rows?.restart()
  }
  // following a redirect would give the API secret to another host
  const answer = await fetch(url, { headers, redirect: 'manual' }).catch(() => null)
  if (answer === null) return BROKEN
  if (!answer.ok || !answer.body) {
    const why = await refusalOf(answer)
    if (answer.status !== 429 && answer.status < 500) throw new Error(why)
    return { why, waitMs: waitMsOf(answer) }
  }
  progress.begin(Number(answer.headers.get('x-total-count')))
  const note = (chunk: Uint8Array): void => progress.note(chunk, say)
  return writeAll(answer.body, part, note)
}

/** An interrupted CSV continues after its last complete row; a spreadsheet starts over. */
async function download(wanted: Download, progress: Progress): Promise<void> {
  for (let breaks = 0, rowsBefore = 0; ; breaks += 1) {
    const broken = await receive(wanted, progress)
    if (broken === null) return
    const rows = progress.rows?.count ?? 0
    if (rows > rowsBefore) breaks = 0
    const { why, waitMs } = broken
    if (breaks >= MAX_BREAKS || waitMs > MAX_WAIT_MS) throw new Error(`${why} Gave up for now: try later.`)
    rowsBefore = rows
    wanted.say(`${why} Trying again${waitMs > BREAK_MS ? ` in ${waitMs / 1000} s` : ''}.`)
    await sleep(waitMs)
  }
}

/** Reads what an earlier run left. @throws UsageError without a complete row */
async function readPart(part: string, rows: Rows | null): Promise<void> {
  if (rows === null) throw new UsageError('A spreadsheet cannot be continued. Export it again without --continue.')
  if (existsSync(part)) for await (const chunk of createReadStream(part)) rows.read(chunk)
  if (rows.lastId === '') throw new UsageError(`There is nothing in ${part} to continue. Export without --continue.`)
}

/** Keeps the rows that came, unless the disk refused them, and says how to get the others. */
function failureOf(error: unknown, { file, part, rows }: { file: string; part: string; rows: Rows | null }): unknown {
  const fromSystem = isFromSystem(error)
  if (rows && rows.count > 0 && !fromSystem) {
    const how = 'For the rest, repeat the command with --continue and the same filters.'
    return new Error(`${(error as Error).message}\n${rows.count} orders are in ${part}. ${how}`)
  }
  rmSync(part, { force: true })
  return fromSystem ? fileError(error, file) : error
}

export const exportOrders: Command = {
  name: 'export',
  summary: 'Export orders to a CSV or XLSX file',
  takes: 'FILE',
  arity: [1, 1],
  flags: {
    status: { type: 'string', value: 'PAID,REFUNDED', description: 'only these states' },
    till: { type: 'string', value: 'TILL-1', description: 'only this till (merchantIdentifier)' },
    from: { type: 'string', value: 'TIME', description: 'created at this time or later (ISO 8601)' },
    to: { type: 'string', value: 'TIME', description: 'created at this time or before' },
    headers: { type: 'string', value: 'en', description: 'titles in en, fr, de, es or it; default: the API’s names' },
    force: { type: 'boolean', description: 'replace the file if there is one' },
    continue: { type: 'boolean', description: 'go on with FILE.part, which a failed export of a CSV left' },
  },
  examples: ['comptoir orders export orders.csv', 'comptoir orders export 2026.xlsx --from 2026-01-01T00:00:00Z'],
  async run({ args, flags, say, show }) {
    const [file = ''] = args
    const format = /\.(csv|xlsx)$/i.exec(file)?.[1]?.toLowerCase()
    if (format === undefined) throw new UsageError('FILE must end in .csv or .xlsx.')
    if (existsSync(file) && flags.force !== true) throw new UsageError(`${file} exists. Add --force to replace it.`)
    const { url: baseUrl, headers } = connect(flags)
    const url = new URL(`${baseUrl.replace(/\/+$/, '')}/api/next/confirm_conversion/download?format=${format}`)
    for (const name of ['status', 'from', 'to', 'headers']) {
      const value = textOf(flags, name)
      if (value !== undefined) url.searchParams.set(name, value)
    }
    const till = textOf(flags, 'till')
    if (till !== undefined) url.searchParams.set('merchantIdentifier', till)
    const part = `${file}.part`
    const progress = new Progress(format === 'csv')
    if (flags.continue === true) await readPart(part, progress.rows)
    try {
      await download({ url, headers, part, say }, progress)
      renameSync(part, file)
    } catch (error) {
      throw failureOf(error, { file, part, rows: progress.rows })
    }
    const orders = progress.rows?.count ?? progress.total
    show({ file, orders }, `${orders} orders are in ${file}.`)
  },
}
