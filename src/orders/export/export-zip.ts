import { crc32, createDeflateRaw } from 'node:zlib'

/** A file in the archive: short text, or bytes generated while they are sent. */
export type ZipEntry = { name: string; content: string | AsyncIterable<Buffer> }

type Written = {
  name: Buffer
  flags: number
  method: number
  crc: number
  packed: number
  size: number
  offset: number
}

const LOCAL = 0x04034b50
const DESCRIPTOR = 0x08074b50
const CENTRAL = 0x02014b50
const END = 0x06054b50
/** Flag: the sizes follow the data, because they are not known before it. */
const SIZES_FOLLOW = 0x0008
const STORED = 0
const DEFLATED = 8
const MAX_BYTES = 0xffffffff

function dosTime(at: Date): { time: number; date: number } {
  const time = (at.getUTCHours() << 11) | (at.getUTCMinutes() << 5) | (at.getUTCSeconds() >> 1)
  const date = ((at.getUTCFullYear() - 1980) << 9) | ((at.getUTCMonth() + 1) << 5) | at.getUTCDate()
  return { time, date }
}

/** The fields that local and central headers share, from "version needed" to the length of the name. */
function commonFields(entry: Written, at: Date): Buffer {
  const { time, date } = dosTime(at)
  const fields = Buffer.alloc(24)
  fields.writeUInt16LE(20, 0)
  fields.writeUInt16LE(entry.flags, 2)
  fields.writeUInt16LE(entry.method, 4)
  fields.writeUInt16LE(time, 6)
  fields.writeUInt16LE(date, 8)
  fields.writeUInt32LE(entry.crc, 10)
  fields.writeUInt32LE(entry.packed, 14)
  fields.writeUInt32LE(entry.size, 18)
  fields.writeUInt16LE(entry.name.length, 22)
  return fields
}

const u32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

const localHeader = (entry: Written, at: Date): Buffer =>
  Buffer.concat([u32(LOCAL), commonFields(entry, at), Buffer.alloc(2), entry.name])

function centralHeader(entry: Written, at: Date): Buffer {
  const rest = Buffer.alloc(16)
  rest.writeUInt32LE(entry.offset, 12)
  return Buffer.concat([u32(CENTRAL), Buffer.from([20, 0]), commonFields(entry, at), rest, entry.name])
}

function endRecord(count: number, size: number, offset: number): Buffer {
  const end = Buffer.alloc(22)
  end.writeUInt32LE(END, 0)
  end.writeUInt16LE(count, 8)
  end.writeUInt16LE(count, 10)
  end.writeUInt32LE(size, 12)
  end.writeUInt32LE(offset, 16)
  return end
}

/** Frees a chunk's memory now. V8 is late to collect chunks that had to wait, and a sheet has thousands. */
function free({ buffer, byteLength }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}

/** Deflates at the fastest level and counts bytes in and out. Frees each chunk once it is compressed. */
async function* deflate(pieces: AsyncIterable<Buffer>, entry: Written): AsyncGenerator<Buffer> {
  const packer = createDeflateRaw({ level: 1, chunkSize: 1 << 16 })
  const pack = (bytes: Buffer) =>
    new Promise<void>((resolve, reject) => {
      packer.write(bytes, (error) => (error ? reject(error) : resolve()))
    })
  const feed = async (): Promise<void> => {
    for await (const bytes of pieces) {
      entry.crc = crc32(bytes, entry.crc)
      entry.size += bytes.length
      if (entry.size > MAX_BYTES) throw new Error('a file in a zip archive cannot be larger than 4 GiB')
      await pack(bytes)
      free(bytes)
    }
    packer.end()
  }
  const feeding = feed().catch((error: Error) => void packer.destroy(error))
  for await (const bytes of packer as AsyncIterable<Buffer>) {
    entry.packed += bytes.length
    yield bytes
  }
  await feeding
}

/**
 * A zip archive in constant memory (PKWARE APPNOTE 6.3; no ZIP64, which spreadsheet programs complain about).
 * @throws Error when an entry or the archive grows over 4 GiB
 */
export async function* zipFile(entries: Iterable<ZipEntry>, at: Date): AsyncGenerator<Buffer> {
  const written: Written[] = []
  let offset = 0
  for (const { name, content } of entries) {
    const entry: Written = { name: Buffer.from(name), flags: 0, method: STORED, crc: 0, packed: 0, size: 0, offset }
    written.push(entry)
    if (typeof content === 'string') {
      const bytes = Buffer.from(content)
      Object.assign(entry, { crc: crc32(bytes), packed: bytes.length, size: bytes.length })
      yield Buffer.concat([localHeader(entry, at), bytes])
      offset += 30 + entry.name.length + bytes.length
    } else {
      Object.assign(entry, { flags: SIZES_FOLLOW, method: DEFLATED })
      yield localHeader(entry, at)
      yield* deflate(content, entry)
      yield Buffer.concat([u32(DESCRIPTOR), u32(entry.crc), u32(entry.packed), u32(entry.size)])
      offset += 30 + entry.name.length + entry.packed + 16
    }
    if (offset > MAX_BYTES) throw new Error('a zip archive cannot be larger than 4 GiB')
  }
  const central = Buffer.concat(written.map((entry) => centralHeader(entry, at)))
  yield Buffer.concat([central, endRecord(written.length, central.length, offset)])
}
