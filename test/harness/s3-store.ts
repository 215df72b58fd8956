import { createHash, createHmac, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/*
 * A store that speaks S3, for tests: what Amazon documents of signature version 4, of multi-part uploads and of reading
 * from a byte on, no more.
 * Sources, in the Amazon S3 API Reference: "Authenticating Requests: Using the Authorization Header (AWS Signature
 * Version 4)" and its "Signature Calculations"; "Uploading and copying objects using multipart upload"; "GetObject",
 * which names RFC 9110 for the range header (its section 14), and "Error Responses" for InvalidRange.
 */
export const S3_KEY = 'AKIDTESTONLY00000000'
export const S3_SECRET = 'throw-away/S3+secret+for+tests+only=='
export const S3_REGION = 'eu-test-1'
const MIN_PART_BYTES = 5 * 1024 * 1024
const SKEW_MS = 15 * 60_000

class Refusal extends Error {
  readonly status: number
  readonly code: string
  constructor(status: number, code: string) {
    super(code)
    this.status = status
    this.code = code
  }
}

export type S3Request = {
  method: string
  /** As sent: path and query, encoded. */
  target: string
  headers: Readonly<Record<string, string | string[] | undefined>>
  body: Buffer
}

const sha256 = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex')
const hmac = (key: Buffer | string, text: string): Buffer => createHmac('sha256', key).update(text).digest()
const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)

/** Names and values decoded and encoded again as the document wants them, sorted by name. */
function canonicalQuery(query: string): string {
  const pairs = query === '' ? [] : query.split('&').map((pair) => pair.split('=') as [string, string?])
  const encoded = pairs.map(([name, value = '']) => [decodeURIComponent(name), decodeURIComponent(value)].map(encode))
  return encoded
    .map(([name = '', value = '']) => `${name}=${value}`)
    .sort()
    .join('&')
}

const timeOf = (stamp: string): number =>
  Date.parse(stamp.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))

/** @throws Refusal when the request is not signed by the key's owner, for this region, now, and as it was sent */
export function checkSignature(
  { method, target, headers, body }: S3Request,
  { key, secret, region, nowMs }: { key: string; secret: string; region: string; nowMs: number },
): void {
  const [, credential = '', signed = '', signature = ''] =
    /^AWS4-HMAC-SHA256 Credential=([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
      String(headers.authorization ?? ''),
    ) ?? []
  if (signature === '') throw new Refusal(403, 'AccessDenied')
  const [givenKey = '', ...scope] = credential.split('/')
  if (givenKey !== key) throw new Refusal(403, 'InvalidAccessKeyId')
  const stamp = String(headers['x-amz-date'] ?? '')
  if (!(Math.abs(timeOf(stamp) - nowMs) <= SKEW_MS)) throw new Refusal(403, 'RequestTimeTooSkewed')
  if (scope.join('/') !== `${stamp.slice(0, 8)}/${region}/s3/aws4_request`)
    throw new Refusal(400, 'AuthorizationHeaderMalformed')
  const names = signed.split(';')
  const must = ['host', ...Object.keys(headers).filter((name) => name.startsWith('x-amz-'))]
  if (!must.every((name) => names.includes(name)) || names.join() !== [...names].sort().join())
    throw new Refusal(403, 'AccessDenied')
  const payload = String(headers['x-amz-content-sha256'] ?? '')
  if (payload === '') throw new Refusal(400, 'InvalidRequest')
  if (payload !== 'UNSIGNED-PAYLOAD' && payload !== sha256(body)) throw new Refusal(400, 'XAmzContentSHA256Mismatch')
  const [path = '', query = ''] = target.split('?', 2)
  const lines = names.map(
    (name) =>
      `${name}:${String(headers[name] ?? '')
        .trim()
        .replace(/ +/g, ' ')}\n`,
  )
  const request = [method, path, canonicalQuery(query), lines.join(''), names.join(';'), payload].join('\n')
  const toSign = ['AWS4-HMAC-SHA256', stamp, scope.join('/'), sha256(request)].join('\n')
  const signingKey = scope.reduce<Buffer>((from, part) => hmac(from, part), Buffer.from(`AWS4${secret}`))
  if (hmac(signingKey, toSign).toString('hex') !== signature) throw new Refusal(403, 'SignatureDoesNotMatch')
}

type Upload = { key: string; parts: Map<number, { etag: string; bytes: Buffer }> }
type Answer = {
  status?: number
  headers?: Record<string, string>
  body?: string | Buffer
  cutAfter?: number | undefined
}

export type S3StandIn = {
  url: string
  bucket: string
  objects: Map<string, Buffer>
  uploads: Map<string, Upload>
  /** Sizes of the parts that arrived, in their order. */
  partBytes: number[]
  /** The next so many parts are answered with 503. */
  refuseParts: number
  /** The next GETs of objects take one number each: after so many bytes of the body the connection breaks off. */
  cutAnswersAfter: number[]
  close(): Promise<void>
}

const etagOf = (bytes: Buffer): string => `"${createHash('md5').update(bytes).digest('hex')}"`
const xml = (text: string): string => `<?xml version="1.0" encoding="UTF-8"?>\n${text}`

/** @throws Refusal unless the parts are those that arrived, in ascending order, and large enough */
function assemble(upload: Upload, body: string): Buffer {
  const listed = [...body.matchAll(/<Part>(.*?)<\/Part>/gs)].map(([, part = '']) => ({
    number: Number(/<PartNumber>(\d+)</.exec(part)?.[1]),
    etag: (/<ETag>(.*?)</.exec(part)?.[1] ?? '').replaceAll('&quot;', '"').replaceAll('"', ''),
  }))
  if (listed.length === 0) throw new Refusal(400, 'MalformedXML')
  return Buffer.concat(
    listed.map(({ number, etag }, index) => {
      const part = upload.parts.get(number)
      if (part?.etag.replaceAll('"', '') !== etag) throw new Refusal(400, 'InvalidPart')
      if (index > 0 && number <= (listed[index - 1]?.number ?? 0)) throw new Refusal(400, 'InvalidPartOrder')
      if (index < listed.length - 1 && part.bytes.length < MIN_PART_BYTES) throw new Refusal(400, 'EntityTooSmall')
      return part.bytes
    }),
  )
}

/**
 * The whole or, with 206, the bytes `range` asks for. Only `N-` and `N-M` are understood: the RFC lets a server ignore
 * any range (14.2). Amazon answers `-N` too, the last bytes; several ranges and a backward one it ignores, as others
 * saw (basho/riak_cs#304, localstack/localstack#9076).
 * @throws Refusal when the range starts past the end
 */
function read(whole: Buffer, range: string): Answer {
  const headers = { etag: etagOf(whole), 'accept-ranges': 'bytes' }
  const [, start = '', end = ''] = /^bytes=(\d+)-(\d*)$/i.exec(range) ?? []
  const first = Number(start)
  const last = end === '' ? Number.POSITIVE_INFINITY : Number(end)
  if (start === '' || last < first) return { headers, body: whole }
  if (first >= whole.length) throw new Refusal(416, 'InvalidRange')
  const body = whole.subarray(first, last + 1)
  const contentRange = `bytes ${first}-${first + body.length - 1}/${whole.length}`
  return { status: 206, headers: { ...headers, 'content-range': contentRange }, body }
}

class Store {
  readonly bucket = 'backups'
  readonly objects = new Map<string, Buffer>()
  readonly uploads = new Map<string, Upload>()
  readonly partBytes: number[] = []
  refuseParts = 0
  readonly cutAnswersAfter: number[] = []

  answer({ method, target, headers, body }: S3Request): Answer {
    const { pathname, searchParams: query } = new URL(target, 'http://store')
    const [, bucket, ...path] = pathname.split('/').map(decodeURIComponent)
    if (bucket !== this.bucket) throw new Refusal(404, 'NoSuchBucket')
    const key = path.join('/')
    if (key === '') return this.#list(query)
    const id = query.get('uploadId')
    if (method === 'POST' && query.has('uploads')) return this.#begin(key)
    if (id !== null) return this.#continue({ method, id, key, body, number: Number(query.get('partNumber')) })
    if (method === 'DELETE') {
      this.objects.delete(key)
      return { status: 204 }
    }
    const found = this.objects.get(key)
    if (method !== 'GET' || !found) throw new Refusal(404, 'NoSuchKey')
    return { ...read(found, String(headers.range ?? '')), cutAfter: this.cutAnswersAfter.shift() }
  }

  #list(query: URLSearchParams): Answer {
    if (query.get('list-type') !== '2') throw new Refusal(400, 'InvalidRequest')
    const keys = [...this.objects.keys()].filter((key) => key.startsWith(query.get('prefix') ?? '')).sort()
    const contents = keys.map((key) => {
      const bytes = this.objects.get(key) ?? Buffer.alloc(0)
      return `<Contents><Key>${key}</Key><LastModified>2030-01-01T00:00:00.000Z</LastModified><ETag>${etagOf(bytes)}</ETag><Size>${bytes.length}</Size><StorageClass>STANDARD</StorageClass></Contents>`
    })
    const head = `<Name>${this.bucket}</Name><KeyCount>${keys.length}</KeyCount><IsTruncated>false</IsTruncated>`
    return { body: xml(`<ListBucketResult>${head}${contents.join('')}</ListBucketResult>`) }
  }

  #begin(key: string): Answer {
    const id = randomUUID()
    this.uploads.set(id, { key, parts: new Map() })
    const ids = `<Bucket>${this.bucket}</Bucket><Key>${key}</Key><UploadId>${id}</UploadId>`
    return { body: xml(`<InitiateMultipartUploadResult>${ids}</InitiateMultipartUploadResult>`) }
  }

  #continue(call: { method: string; id: string; key: string; body: Buffer; number: number }): Answer {
    const { method, id, key, body, number } = call
    const upload = this.uploads.get(id)
    if (upload?.key !== key) throw new Refusal(404, 'NoSuchUpload')
    if (method === 'PUT') {
      if (!(number >= 1 && number <= 10_000)) throw new Refusal(400, 'InvalidArgument')
      if (this.refuseParts > 0) {
        this.refuseParts -= 1
        throw new Refusal(503, 'SlowDown')
      }
      const etag = etagOf(body)
      upload.parts.set(number, { etag, bytes: body })
      this.partBytes.push(body.length)
      return { headers: { etag } }
    }
    this.uploads.delete(id)
    if (method === 'DELETE') return { status: 204 }
    const whole = assemble(upload, body.toString())
    this.objects.set(key, whole)
    const ids = `<Bucket>${this.bucket}</Bucket><Key>${key}</Key><ETag>${etagOf(whole)}</ETag>`
    return { body: xml(`<CompleteMultipartUploadResult>${ids}</CompleteMultipartUploadResult>`) }
  }
}

async function readRequest(request: IncomingMessage): Promise<S3Request> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  const { method = '', url: target = '', headers } = request
  return { method, target, headers, body: Buffer.concat(pieces) }
}

/** As the original does, the answer repeats the key and what was signed. */
function refuse(response: ServerResponse, error: unknown): void {
  const { status, code } = error instanceof Refusal ? error : { status: 500, code: 'InternalError' }
  const body = `<Error><Code>${code}</Code><Message>${code}</Message><AWSAccessKeyId>${S3_KEY}</AWSAccessKeyId></Error>`
  response.writeHead(status, { 'content-type': 'application/xml' }).end(xml(body))
}

/** Destroys the socket once the head, which promises the full length, and the start of the body have left. */
function breakOff(response: ServerResponse, start: Buffer): void {
  response.flushHeaders()
  response.write(start, () => response.destroy())
}

export async function startS3Store(): Promise<S3StandIn> {
  const store = new Store()
  const server = createServer(async (incoming, response) => {
    const request = await readRequest(incoming)
    try {
      checkSignature(request, { key: S3_KEY, secret: S3_SECRET, region: S3_REGION, nowMs: Date.now() })
      const { status = 200, headers = {}, body = '', cutAfter } = store.answer(request)
      const type = typeof body === 'string' ? 'application/xml' : 'application/octet-stream'
      response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body), ...headers })
      if (cutAfter === undefined) response.end(body)
      else breakOff(response, Buffer.from(body).subarray(0, cutAfter))
    } catch (error) {
      refuse(response, error)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return Object.assign(store, { url, close })
}

export const s3Env = (store: S3StandIn): Record<string, string> => ({
  BACKUP_S3_ENDPOINT: store.url,
  BACKUP_S3_REGION: S3_REGION,
  BACKUP_S3_ACCESS_KEY_ID: S3_KEY,
  BACKUP_S3_SECRET_ACCESS_KEY: S3_SECRET,
})
