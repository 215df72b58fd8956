import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import type { Vault } from '../../kernel/vault.ts'

/*
 * A sealed backup: one header line of text, then chunks under AES-256-GCM. The chunk number and "this is the last one"
 * are part of each nonce, so that a missing, moved or truncated chunk is detected (the STREAM construction; Hoang,
 * Reyhanitabar, Rogaway, Vizár 2015). The header is authenticated with every chunk.
 */
const MAGIC = 'comptoir-backup 1 '
const CHUNK_BYTES = 65_536
const TAG_BYTES = 16
const MAX_HEAD_BYTES = 4096

export type BackupFacts = {
  madeAt: string
  mode: 'sandbox' | 'live'
  /** Id of the newest migration. */
  schema: string
  /** Which life of a database it is of (`readLife`); null: an older version made it, or of an older schema. */
  life: string | null
}

/** The heads of older versions have no `life`. */
type Head = Omit<BackupFacts, 'life'> & { life?: string | null; keyMark: string; salt: string }

export class BackupFault extends Error {
  override readonly name = 'BackupFault'
}

/** Identifies the master key without revealing anything about it. */
const keyMarkOf = (vault: Vault): string => vault.derive('backup-mark').toString('hex').slice(0, 16)

const keyOf = (vault: Vault, salt: Buffer): Buffer =>
  Buffer.from(hkdfSync('sha256', vault.derive('backup'), salt, 'comptoir:backup-file', 32))

function nonceOf(index: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(12)
  nonce.writeUIntBE(index, 5, 6)
  nonce[11] = isLast ? 1 : 0
  return nonce
}

/** Cuts pieces of any size into chunks; the last one may be short, and is marked as the last. */
async function* chunksOf(
  source: AsyncIterable<Buffer>,
  bytes: number,
): AsyncGenerator<{ chunk: Buffer; last: boolean }> {
  let parts: Buffer[] = []
  let size = 0
  for await (const piece of source) {
    parts.push(piece)
    size += piece.length
    if (size <= bytes) continue
    const joined = Buffer.concat(parts)
    let from = 0
    for (; joined.length - from > bytes; from += bytes)
      yield { chunk: joined.subarray(from, from + bytes), last: false }
    parts = [joined.subarray(from)]
    size = joined.length - from
  }
  yield { chunk: Buffer.concat(parts), last: true }
}

/** Seals a stream with a key derived from the master key and a fresh salt. */
export async function* seal(
  source: AsyncIterable<Buffer>,
  { vault, facts }: { vault: Vault; facts: BackupFacts },
): AsyncGenerator<Buffer> {
  const salt = randomBytes(32)
  const head: Head = { ...facts, keyMark: keyMarkOf(vault), salt: salt.toString('base64') }
  const line = Buffer.from(`${MAGIC}${JSON.stringify(head)}\n`)
  const key = keyOf(vault, salt)
  yield line
  let index = 0
  for await (const { chunk, last } of chunksOf(source, CHUNK_BYTES)) {
    const cipher = createCipheriv('aes-256-gcm', key, nonceOf(index, last)).setAAD(line)
    yield Buffer.concat([cipher.update(chunk), cipher.final(), cipher.getAuthTag()])
    index += 1
  }
}

function readHead(start: Buffer): { head: Head; line: Buffer } {
  const end = start.indexOf(10)
  const line = start.subarray(0, end + 1)
  if (!start.toString('latin1').startsWith(MAGIC) || end < 0)
    throw new BackupFault('This file is not a backup of Comptoir, or its beginning is lost.')
  try {
    return { head: JSON.parse(line.subarray(MAGIC.length).toString('utf8')) as Head, line }
  } catch {
    throw new BackupFault('The beginning of this backup is damaged. Take another one.')
  }
}

/** @throws BackupFault when none of the keys made it */
function chooseKey(head: Head, vaults: readonly Vault[]): Buffer {
  const vault = vaults.find((candidate) => keyMarkOf(candidate) === head.keyMark)
  if (vault) return keyOf(vault, Buffer.from(head.salt, 'base64'))
  const given = vaults.map(keyMarkOf).join(', ')
  throw new BackupFault(
    `This backup was sealed with another master key (its mark is ${head.keyMark}, the given one has ${given}). ` +
      'Set MASTER_KEY to the key that was in use when it was made.',
  )
}

function openChunk(sealed: Buffer, index: number, { key, line, last }: { key: Buffer; line: Buffer; last: boolean }) {
  if (sealed.length < TAG_BYTES) return undefined
  const decipher = createDecipheriv('aes-256-gcm', key, nonceOf(index, last)).setAAD(line)
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
  const opened = decipher.update(sealed.subarray(0, -TAG_BYTES))
  try {
    decipher.final()
    return opened
  } catch {
    return undefined
  }
}

async function* startingWith(first: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield first
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value
}

/**
 * Opens what `seal` made. No data is released before it is authenticated.
 * @param vaults of the master key and its predecessors
 * @throws BackupFault: no backup, another key, damaged, or truncated
 */
export async function unseal(
  source: AsyncIterable<Buffer>,
  vaults: readonly Vault[],
): Promise<{ facts: BackupFacts; content: AsyncGenerator<Buffer> }> {
  const pieces = source[Symbol.asyncIterator]()
  let start = Buffer.alloc(0)
  while (start.indexOf(10) < 0 && start.length < MAX_HEAD_BYTES) {
    const next = await pieces.next()
    if (next.done) break
    start = Buffer.concat([start, next.value])
  }
  const { head, line } = readHead(start)
  const key = chooseKey(head, vaults)
  const sealed = startingWith(start.subarray(line.length), pieces)
  async function* content(): AsyncGenerator<Buffer> {
    let index = 0
    for await (const { chunk, last } of chunksOf(sealed, CHUNK_BYTES + TAG_BYTES)) {
      const opened = openChunk(chunk, index, { key, line, last })
      if (opened === undefined) throw new BackupFault(whyClosed(chunk, index, { key, line, last }))
      yield opened
      index += 1
    }
  }
  const { madeAt, mode, schema, life = null } = head
  return { facts: { madeAt, mode, schema, life }, content: content() }
}

function whyClosed(chunk: Buffer, index: number, { key, line, last }: { key: Buffer; line: Buffer; last: boolean }) {
  const isCut = last && (chunk.length < CHUNK_BYTES + TAG_BYTES || openChunk(chunk, index, { key, line, last: false }))
  if (isCut) return 'The backup is cut off: its end is missing. Copy it again, or take another one.'
  return `The backup is damaged at byte ${line.length + index * (CHUNK_BYTES + TAG_BYTES)}. Take another one.`
}
