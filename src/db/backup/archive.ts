import { createReadStream } from 'node:fs'
import { mkdir, open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { BackupFault } from './sealed.ts'

/*
 * Format of several files in one stream: for each the length of its description (four bytes), the description as JSON,
 * and its bytes. The last entry holds the number of files.
 */
type Entry = { path: string; bytes: number } | { folder: string } | { end: number }

export type ArchiveItem = { folder: string } | { path: string; bytes: number; content: AsyncIterable<Buffer> }

const describe = (entry: Entry): Buffer => {
  const text = Buffer.from(JSON.stringify(entry))
  const length = Buffer.alloc(4)
  length.writeUInt32BE(text.length)
  return Buffer.concat([length, text])
}

/**
 * Reads exactly that many bytes of a file that may be changing. A file that became shorter is padded with zeros, as in
 * PostgreSQL's own base backup; the write-ahead log repairs half-written pages.
 */
export async function* readExactly(file: string, bytes: number): AsyncGenerator<Buffer> {
  let left = bytes
  if (bytes > 0) {
    for await (const piece of createReadStream(file, { end: bytes - 1, highWaterMark: 1 << 18 })) {
      left -= (piece as Buffer).length
      yield piece as Buffer
    }
  }
  while (left > 0) {
    const zeros = Buffer.alloc(Math.min(left, 1 << 18))
    left -= zeros.length
    yield zeros
  }
}

export async function* packFiles(items: AsyncIterable<ArchiveItem>): AsyncGenerator<Buffer> {
  let count = 0
  for await (const item of items) {
    count += 1
    if ('folder' in item) {
      yield describe({ folder: item.folder })
      continue
    }
    yield describe({ path: item.path, bytes: item.bytes })
    yield* item.content
  }
  yield describe({ end: count })
}

/** Reads a stream in pieces of given lengths. */
class Taker {
  readonly #source: AsyncIterator<Buffer>
  #rest: Buffer = Buffer.alloc(0)
  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]()
  }
  /** @returns at most `bytes`, at least one @throws BackupFault at the end */
  async some(bytes: number): Promise<Buffer> {
    while (this.#rest.length === 0) {
      const next = await this.#source.next()
      if (next.done) throw new BackupFault('The backup ends too early. Take another one.')
      this.#rest = next.value
    }
    const taken = this.#rest.subarray(0, bytes)
    this.#rest = this.#rest.subarray(taken.length)
    return taken
  }
  async exactly(bytes: number): Promise<Buffer> {
    const parts: Buffer[] = []
    for (let left = bytes; left > 0; left -= parts.at(-1)?.length ?? 0) parts.push(await this.some(left))
    return Buffer.concat(parts)
  }
  /** Reads to the end, so that the last chunk is authenticated too. */
  async finish(): Promise<void> {
    const next = await this.#source.next()
    if (!next.done || this.#rest.length > 0) throw new BackupFault('The backup holds more than it says.')
  }
}

const isPlain = (path: string): boolean =>
  path !== '' && !path.startsWith('/') && !path.split('/').some((part) => part === '' || part === '.' || part === '..')

async function readEntry(taker: Taker): Promise<Entry> {
  const length = (await taker.exactly(4)).readUInt32BE()
  if (length > 65_536) throw new BackupFault('The backup is damaged. Take another one.')
  return JSON.parse((await taker.exactly(length)).toString('utf8')) as Entry
}

/**
 * Writes the files of a stream below `folder`. @param onBytes progress @throws BackupFault when the stream does not
 * match its descriptions
 */
export async function unpackFiles(
  source: AsyncIterable<Buffer>,
  folder: string,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const taker = new Taker(source)
  for (let count = 0; ; count += 1) {
    const entry = await readEntry(taker)
    if ('end' in entry) {
      if (entry.end !== count) throw new BackupFault('The backup lacks files. Take another one.')
      return taker.finish()
    }
    const path = 'folder' in entry ? entry.folder : entry.path
    if (!isPlain(path)) throw new BackupFault(`The backup names a file outside its folder: ${path}`)
    if ('folder' in entry) await mkdir(join(folder, path), { recursive: true, mode: 0o700 })
    else await writeEntry(taker, join(folder, path), { bytes: entry.bytes, onBytes })
  }
}

async function writeEntry(
  taker: Taker,
  file: string,
  { bytes, onBytes }: { bytes: number; onBytes: (bytes: number) => void },
): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  const handle = await open(file, 'wx', 0o600)
  try {
    for (let left = bytes; left > 0; ) {
      const piece = await taker.some(left)
      await handle.writeFile(piece)
      left -= piece.length
      onBytes(piece.length)
    }
    await handle.sync()
  } finally {
    await handle.close()
  }
}
