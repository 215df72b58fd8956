import { setTimeout as sleep } from 'node:timers/promises'
import { S3mini, S3ServiceError, type UploadPart } from 's3mini'
import { MINUTE, SECOND } from '../../kernel/clock.ts'
import { ownAt } from '../../kernel/json.ts'
import { BackupFault } from './sealed.ts'
import { type BackupStore, type Content, isBackupName } from './store.ts'

export type S3Settings = {
  /** URL of the service; the bucket is part of the path, which every S3-compatible store supports. */
  endpoint: string
  region: string
  accessKeyId: string
  secretAccessKey: string
  /** Time limit for one request, or for a whole list; default five minutes. */
  answerMs?: number
}

/** Size of a part: kept in memory, and sent again when it fails. S3 requires at least 5 MiB for all but the last. */
const PART_BYTES = 16 * 1024 * 1024
/** S3 accepts 10 000 parts; some stores require equal sizes, so the size is chosen before the first part. */
const MOST_PARTS = 9000
const GAPS_MS = [SECOND, 2 * SECOND, 4 * SECOND]
/**
 * Limit for one part, one request, or all pages of a list: a store that always returns another page would otherwise
 * never end. A download has no limit as a whole; a pause of five minutes ends it.
 */
const ANSWER_MS = 5 * MINUTE

const REASONS: Record<string, string> = {
  AccessDenied: 'the key may not do this; it needs to list, read, write and delete in the bucket',
  InvalidAccessKeyId: 'it does not know BACKUP_S3_ACCESS_KEY_ID',
  SignatureDoesNotMatch:
    'BACKUP_S3_SECRET_ACCESS_KEY does not belong to the key id, or BACKUP_S3_REGION is another one',
  AuthorizationHeaderMalformed: 'BACKUP_S3_REGION is not the region of the bucket',
  NoSuchBucket: 'the bucket does not exist',
  RequestTimeTooSkewed: 'the clock of this machine is wrong; run a time service',
}

/** A store's answers repeat the key and what was signed, so only the error code is passed on. */
function describe(error: unknown): string {
  if (error instanceof S3ServiceError) {
    const { serviceCode = 'no code', status } = error
    return ownAt(REASONS, serviceCode) ?? `it answered ${status} (${serviceCode})`
  }
  const { code, cause } = error as { code?: unknown; cause?: { code?: string } }
  return `no answer (${typeof code === 'string' ? code : (cause?.code ?? (error as Error).name)})`
}

const isWorthAnotherTry = (error: unknown): boolean =>
  !(error instanceof S3ServiceError) || error.status >= 500 || error.status === 429

async function* partsOf(source: Content, bytes: number): AsyncGenerator<Buffer> {
  let pieces: Buffer[] = []
  let size = 0
  for await (const piece of source) {
    for (let from = 0; from < piece.length; ) {
      const taken = piece.subarray(from, from + bytes - size)
      pieces.push(taken)
      from += taken.length
      size += taken.length
      if (size < bytes) continue
      yield Buffer.concat(pieces)
      pieces = []
      size = 0
    }
  }
  if (size > 0) yield Buffer.concat(pieces)
}

const PLACE = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([^?#]*))?$/

export type S3Place = { bucket: string; prefix: string }

/** `s3://bucket/some/prefix`; undefined for anything else. */
export function readS3Place(place: string): S3Place | undefined {
  const [, bucket, path = ''] = PLACE.exec(place) ?? []
  if (bucket === undefined) return undefined
  const prefix = path.replace(/\/+$/, '')
  return { bucket, prefix: prefix === '' ? '' : `${prefix}/` }
}

type Body = NonNullable<Response['body']>

class S3Store implements BackupStore {
  readonly place: string
  readonly #client: S3mini
  readonly #prefix: string
  readonly #answerMs: number
  #listing: AbortSignal | null = null
  constructor({ bucket, prefix }: S3Place, { endpoint, answerMs = ANSWER_MS, ...credentials }: S3Settings) {
    this.place = `s3://${bucket}/${prefix}`
    this.#prefix = prefix
    this.#answerMs = answerMs
    // a request signed for one host must not follow a redirect to another
    const timely: typeof fetch = (input, init) => {
      const isList = new URL(String(input)).searchParams.has('list-type')
      const limit = isList ? this.#listing : init?.method === 'GET' ? null : AbortSignal.timeout(answerMs)
      return fetch(input, { ...init, redirect: 'manual', ...(limit && { signal: limit }) })
    }
    this.#client = new S3mini({ ...credentials, endpoint: `${endpoint}/${bucket}`, fetch: timely })
  }

  pathOf(name: string): string {
    return this.place + name
  }

  /**
   * @param gapsMs between tries; without them a person's request fails at once
   * @throws BackupFault
   */
  async #ask<Answer>(question: () => Promise<Answer>, gapsMs: readonly number[] = []): Promise<Answer> {
    for (let turn = 0; ; turn += 1) {
      try {
        return await question()
      } catch (error) {
        const gapMs = gapsMs[turn]
        if (gapMs === undefined || !isWorthAnotherTry(error))
          throw new BackupFault(`The store of ${this.place} refused: ${describe(error)}.`)
        await sleep(gapMs)
      }
    }
  }

  async list(): Promise<string[]> {
    this.#listing = AbortSignal.timeout(this.#answerMs)
    const objects = await this.#ask(() => this.#client.listObjects('/', this.#prefix))
    if (objects === null) throw new BackupFault(`The store of ${this.place} refused: ${REASONS.NoSuchBucket}.`)
    return objects
      .map(({ Key }) => Key.slice(this.#prefix.length))
      .filter(isBackupName)
      .sort()
  }

  async #upload(key: string, content: Content, partBytes: number): Promise<number> {
    const client = this.#client
    const id = await this.#ask(() => client.getMultipartUploadId(key))
    const parts: UploadPart[] = []
    let bytes = 0
    try {
      for await (const part of partsOf(content, partBytes)) {
        parts.push(await this.#ask(() => client.uploadPart(key, id, part, parts.length + 1), GAPS_MS))
        bytes += part.length
      }
      await this.#ask(() => client.completeMultipartUpload(key, id, parts), GAPS_MS)
      return bytes
    } catch (error) {
      await client.abortMultipartUpload(key, id).catch(() => {})
      throw error
    }
  }

  async put(name: string, content: Content, work: Parameters<BackupStore['put']>[2]): Promise<number> {
    const partBytes = Math.max(PART_BYTES, Math.ceil(work.expectedBytes / MOST_PARTS))
    const bytes = await this.#upload(this.#prefix + name, content, partBytes)
    try {
      await work.verify((await this.get(name)).content)
      return bytes
    } catch (error) {
      await this.remove(name).catch(() => {})
      throw error
    }
  }

  async get(name: string): Promise<{ bytes: number; content: Content }> {
    const found = await this.#ask(() => this.#client.getObjectResponse(this.#prefix + name))
    if (!found?.body) throw new BackupFault(`There is nothing at ${this.pathOf(name)}.`)
    const bytes = Number(found.headers.get('content-length') ?? 0)
    return { bytes, content: this.#read(name, found.body, bytes) }
  }

  /** Resumes a connection that breaks off where it ended: many gigabytes rarely arrive over one. */
  async *#read(name: string, first: Body, bytes: number): AsyncGenerator<Buffer> {
    let body = first
    let read = 0
    for (let turn = 0; ; turn += 1) {
      try {
        for await (const piece of body) {
          read += piece.length
          turn = 0
          yield Buffer.from(piece)
        }
        return
      } catch (error) {
        if (bytes > 0 && read >= bytes) return
        const gapMs = GAPS_MS[turn]
        if (gapMs === undefined)
          throw new BackupFault(
            `The store of ${this.place} broke off at ${read} of ${bytes} bytes: ${describe(error)}.`,
          )
        await sleep(gapMs)
      }
      body = await this.#continue(name, read)
    }
  }

  async #continue(name: string, from: number): Promise<Body> {
    const found = await this.#ask(() => this.#client.getObjectRaw(this.#prefix + name, false, from), GAPS_MS)
    if (found.status === 206 && found.body) return found.body
    throw new BackupFault(`The store of ${this.place} broke off at byte ${from} and does not read on from there.`)
  }

  async remove(name: string): Promise<void> {
    await this.#ask(() => this.#client.deleteObject(this.#prefix + name))
  }

  /** An upload that a crash cut off is invisible; a lifecycle rule of the bucket removes its parts. */
  async clean(): Promise<void> {}
}

/** Backups as objects of a bucket. @throws BackupFault when `place` is not `s3://bucket/prefix` */
export function s3Store(place: string, settings: S3Settings): BackupStore {
  const read = readS3Place(place)
  if (!read) throw new BackupFault(`"${place}" is no place in a bucket; write s3://bucket/prefix.`)
  return new S3Store(read, settings)
}
