import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { zstdCompressSync } from 'node:zlib'
import type pg from 'pg'
import { folderStore, refuseUnwritable } from '../src/db/backup/folder-store.ts'
import { chooseBackup, findStoreFaults } from '../src/db/backup/places.ts'
import { type S3Settings, s3Store } from '../src/db/backup/s3-store.ts'
import { seal } from '../src/db/backup/sealed.ts'
import { type BackupStore, backupNameAt } from '../src/db/backup/store.ts'
import {
  listBackups,
  ownOf,
  pruneBackups,
  takeBackup,
  verifyBackup,
  withBackupConnection,
} from '../src/db/backup/take-backup.ts'
import { HOUR } from '../src/kernel/clock.ts'
import { openVault } from '../src/kernel/vault.ts'
import { freePort } from './harness/free-port.ts'
import { newFolder } from './harness/installation.ts'
import { checkSignature, S3_KEY, S3_REGION, S3_SECRET, type S3StandIn, startS3Store } from './harness/s3-store.ts'
import { silence } from './harness/silent-mount.ts'

const MIB = 1024 * 1024
const places = newFolder()
let standIn: S3StandIn
let settings: S3Settings
let stores: Record<'folder' | 'bucket', BackupStore>

before(async () => {
  standIn = await startS3Store()
  settings = { endpoint: standIn.url, region: S3_REGION, accessKeyId: S3_KEY, secretAccessKey: S3_SECRET }
  stores = { folder: folderStore(join(places.path, 'kept')), bucket: s3Store('s3://backups/shop/one', settings) }
})
after(async () => {
  await standIn?.close()
  places.remove()
})

const NOW = Date.now()
const LIFE = '0123456789ab'
const nameOf = (day: number): string => backupNameAt(`2020-01-0${day}T00:00:00.000Z`, LIFE)

async function* inPieces(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let from = 0; from < bytes.length; from += 300_000) yield bytes.subarray(from, from + 300_000)
}

async function gather(content: AsyncIterable<Buffer>): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of content) pieces.push(piece)
  return Buffer.concat(pieces)
}

const readsItself = (bytes: Buffer) => ({
  expectedBytes: bytes.length,
  verify: async (stored: AsyncIterable<Buffer>) => assert.ok((await gather(stored)).equals(bytes)),
})

test('the stand-in takes the signature that Amazon’s document calculates, and no other request with it', () => {
  // "Examples: Signature Calculations in AWS Signature Version 4", GET Object
  const empty = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
  const request = {
    ...{ method: 'GET', target: '/test.txt', body: Buffer.alloc(0) },
    headers: {
      authorization:
        'AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
      ...{ host: 'examplebucket.s3.amazonaws.com', range: 'bytes=0-9' },
      ...{ 'x-amz-content-sha256': empty, 'x-amz-date': '20130524T000000Z' },
    },
  }
  const owner = {
    ...{ key: 'AKIAIOSFODNN7EXAMPLE', secret: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY', region: 'us-east-1' },
    nowMs: Date.parse('2013-05-24T00:01:00Z'),
  }
  checkSignature(request, owner)
  const refuses = (changed: Partial<typeof request>, code: RegExp, by = owner): void =>
    assert.throws(() => checkSignature({ ...request, ...changed }, by), code)
  refuses({ target: '/test.txt?acl' }, /SignatureDoesNotMatch/)
  refuses({ method: 'DELETE' }, /SignatureDoesNotMatch/)
  refuses({ headers: { ...request.headers, range: 'bytes=0-99' } }, /SignatureDoesNotMatch/)
  refuses({ body: Buffer.from('x') }, /XAmzContentSHA256Mismatch/)
  refuses({}, /RequestTimeTooSkewed/, { ...owner, nowMs: owner.nowMs + 20 * 60_000 })
  refuses({}, /AuthorizationHeaderMalformed/, { ...owner, region: 'eu-west-3' })
})

test('a folder and a bucket keep backups alike: read back, listed in order, the oldest removed', async () => {
  for (const store of Object.values(stores)) {
    assert.deepEqual(await store.list(), [])
    for (const day of [2, 1, 3]) {
      const bytes = randomBytes(700_000)
      assert.equal(await store.put(nameOf(day), inPieces(bytes), readsItself(bytes)), bytes.length)
      const { bytes: size, content } = await store.get(nameOf(day))
      assert.deepEqual([size, (await gather(content)).equals(bytes)], [bytes.length, true])
    }
    assert.deepEqual(await store.list(), [1, 2, 3].map(nameOf))
    // made under a clock that was far ahead: it neither counts as kept nor as the newest
    const future = backupNameAt('2040-01-01T00:00:00.000Z', LIFE)
    // of a restored copy, and of whichever database an older version was
    const others = [backupNameAt('2020-01-04T00:00:00.000Z', 'ffffffffffff'), backupNameAt('2020-01-01T00:00:00.000Z')]
    for (const name of [future, ...others]) {
      const bytes = randomBytes(9)
      await store.put(name, inPieces(bytes), readsItself(bytes))
    }
    await pruneBackups(store, { life: LIFE, keep: 2, nowMs: NOW })
    assert.deepEqual(await store.list(), [...[2, 3].map(nameOf), ...others, future].sort())
    assert.equal(ownOf((await listBackups(store, NOW)).found, LIFE).at(-1)?.name, nameOf(3))
    for (const name of [future, ...others]) await store.remove(name)
  }
})

test('a folder that the system does not let anyone make is refused at once', {
  skip: process.platform !== 'linux',
}, () => {
  const store = JSON.stringify(import.meta.resolve('../src/db/backup/folder-store.ts'))
  const program = `
    const { folderStore } = await import(${store})
    const put = folderStore('/proc/backups/daily').put('x', [], { verify: async () => {} })
    await put.catch((error) => console.log(error.message))`
  // in a process of its own: what never returns could not be stopped here
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { timeout: 20_000 })
  const reason = 'it does not exist and cannot be made. Nothing of this backup was kept.'
  assert.equal(stdout.toString().trim(), `/proc/backups cannot be used: ${reason}`, stderr.toString())
})

test('a draft that another process is writing stays, one that a crash left is removed', async () => {
  const folder = join(places.path, 'drafts')
  const store = folderStore(folder)
  let cleaned = false
  async function* slow(): AsyncGenerator<Buffer> {
    yield Buffer.from('first ')
    await store.clean(Date.now())
    cleaned = true
    // in the same second as the other one
    await store.put(nameOf(8), inPieces(Buffer.from('twin')), readsItself(Buffer.from('twin')))
    yield Buffer.from('second')
  }
  await store.put(nameOf(8), slow(), readsItself(Buffer.from('first second')))
  assert.ok(cleaned)
  assert.deepEqual(readdirSync(folder), [nameOf(8)])
  for (const left of [`${nameOf(9)}.part`, `${nameOf(9)}.0badcafe.part`]) {
    writeFileSync(join(folder, left), 'half')
    utimesSync(join(folder, left), new Date(), new Date(Date.now() - 2 * HOUR))
  }
  await store.clean(Date.now())
  assert.deepEqual(readdirSync(folder), [nameOf(8)])
})

test('a large backup goes in parts of one size; a part that the store refuses for a moment is sent again', async () => {
  const bytes = randomBytes(37 * MIB)
  standIn.partBytes.length = 0
  standIn.refuseParts = 1
  await stores.bucket.put(nameOf(4), inPieces(bytes), readsItself(bytes))
  assert.deepEqual(standIn.partBytes, [16 * MIB, 16 * MIB, 5 * MIB])
  assert.equal(standIn.uploads.size, 0)
})

test('a read that the network cuts off goes on where it ended; one that is cut again and again says where', async () => {
  const bytes = randomBytes(3 * MIB)
  await stores.bucket.put(nameOf(7), inPieces(bytes), readsItself(bytes))
  const read = async () => gather((await stores.bucket.get(nameOf(7))).content)
  standIn.cutAnswersAfter.push(MIB, MIB + 7)
  assert.ok((await read()).equals(bytes))
  assert.equal(standIn.cutAnswersAfter.length, 0)
  standIn.cutAnswersAfter.push(0, 0, 0, 0)
  await assert.rejects(read(), /broke off at 0 of 3145728 bytes: no answer \(UND_ERR_SOCKET\)/)
  assert.equal(standIn.cutAnswersAfter.length, 0, 'four tries')
  await stores.bucket.remove(nameOf(7))
})

test('a backup that breaks off, or is not what was written, is not kept in either place', async () => {
  async function* breaking(): AsyncGenerator<Buffer> {
    yield randomBytes(20 * MIB)
    throw new Error('the database went away')
  }
  const lies = { expectedBytes: 9, verify: () => Promise.reject(new Error('read back otherwise')) }
  for (const store of Object.values(stores)) {
    await assert.rejects(store.put(nameOf(5), breaking(), readsItself(Buffer.alloc(0))), /the database went away/)
    await assert.rejects(store.put(nameOf(6), inPieces(Buffer.from('short')), lies), /read back otherwise/)
    const kept = await store.list()
    assert.deepEqual([kept.includes(nameOf(5)), kept.includes(nameOf(6))], [false, false])
  }
  assert.equal(standIn.uploads.size, 0)
  assert.deepEqual(
    readdirSync(join(places.path, 'kept')).filter((file) => file.endsWith('.part')),
    [],
  )
})

test('a store that gives back an older backup for the one that was written has not kept it', async () => {
  const vault = openVault(randomBytes(32))
  const facts = { madeAt: '2030-02-01T00:00:00.000Z', mode: 'live', schema: '0001', life: LIFE } as const
  const [older, newer] = [facts, { ...facts, madeAt: '2030-02-02T00:00:00.000Z' }]
  const back = await gather(seal(inPieces(zstdCompressSync('files')), { vault, facts }))
  await verifyBackup(inPieces(back), vault, older)
  await assert.rejects(verifyBackup(inPieces(back), vault, newer), /2030-02-02.* read back as the backup of 2030-02-01/)
  const other = { ...facts, life: 'ffffffffffff' }
  await assert.rejects(verifyBackup(inPieces(back), vault, other), /read back as the backup of .* of another database/)
})

test('a folder that cannot be written is said in words, and the service outlives it', async () => {
  const cluster = join(places.path, 'cluster')
  mkdirSync(join(cluster, 'global'), { recursive: true })
  // more than all buffers on the way hold
  for (const file of ['base', 'global/pg_control']) writeFileSync(join(cluster, file), randomBytes(8 * MIB))
  symlinkSync(join(places.path, 'unmounted/kept'), join(places.path, 'gone'))
  writeFileSync(join(places.path, 'a-file'), '')
  const facts = { madeAt: '2030-01-01T00:00:00.000Z', mode: 'sandbox', schema: '', life: LIFE } as const
  const take = (folder: string) =>
    withBackupConnection(process.env.TEST_DATABASE_URL ?? '', (client) =>
      takeBackup({
        ...{ client, cluster, to: folderStore(join(places.path, folder)) },
        ...{ vault: openVault(randomBytes(32)), facts, onProgress: () => {} },
      }),
    )
  const uncaught: unknown[] = []
  const keep = (error: unknown): void => void uncaught.push(error)
  process.on('uncaughtException', keep)
  await assert.rejects(take('gone'), /gone cannot be used: it does not exist .* Nothing of this backup was kept/)
  await assert.rejects(take('a-file/x'), /a-file\/x cannot be used: it is not a folder/)
  await setTimeout(300)
  process.off('uncaughtException', keep)
  assert.deepEqual(uncaught, [])
  await assert.rejects(refuseUnwritable(join(places.path, 'a-file')), /it is not a folder/)
  await refuseUnwritable(join(places.path, 'not/yet/there'))
})

test('a backup whose place stops answering ends, and keeps neither its slot nor the log of the database', async () => {
  const cluster = join(places.path, 'another-cluster')
  mkdirSync(join(cluster, 'global'), { recursive: true })
  for (const file of ['base', 'global/pg_control']) writeFileSync(join(cluster, file), randomBytes(8 * MIB))
  const folder = join(places.path, 'nas')
  const to = folderStore(folder)
  const facts = { madeAt: '2030-01-01T00:00:00.000Z', mode: 'sandbox', schema: '', life: LIFE } as const
  const url = process.env.TEST_DATABASE_URL ?? ''
  let backend = 0
  let comeBack: Promise<() => Promise<void>> | undefined
  const taken = withBackupConnection(url, async (client) => {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    backend = rows[0]?.pid ?? 0
    return takeBackup({
      ...{ client, cluster, to, vault: openVault(randomBytes(32)), facts },
      onProgress(done) {
        if (done > MIB) comeBack ??= silence(folder)
      },
    })
  })
  await assert.rejects(taken, /nas has not answered since .*Z\. Nothing of this backup was kept/)
  const listSlots = (client: pg.Client) =>
    client.query('select from pg_replication_slots where slot_name = $1', [`comptoir_backup_${backend}`])
  const { rowCount } = await withBackupConnection(url, listSlots)
  assert.equal(rowCount, 0)
  await assert.rejects(to.list(), /nas has not answered since/)
  await (await comeBack)?.()
  assert.deepEqual(await to.list(), [])
})

test('what a store refuses is said in words, without the keys and without what was signed', async () => {
  const at = (place: string, changed: Partial<S3Settings>) => s3Store(place, { ...settings, ...changed }).list()
  const cases: [() => Promise<unknown>, RegExp][] = [
    [() => at('s3://backups/x', { secretAccessKey: 'another' }), /BACKUP_S3_SECRET_ACCESS_KEY does not belong/],
    [() => at('s3://backups/x', { accessKeyId: 'another' }), /does not know BACKUP_S3_ACCESS_KEY_ID/],
    [() => at('s3://backups/x', { region: 'us-east-1' }), /BACKUP_S3_REGION is not the region/],
    [() => at('s3://elsewhere/x', {}), /the bucket does not exist/],
  ]
  for (const [ask, words] of cases) {
    const error = await ask().then(
      () => assert.fail('it was not refused'),
      (fault: Error) => fault,
    )
    assert.match(error.message, words)
    const everything = JSON.stringify([error, error.message, error.stack, error.cause])
    for (const secret of [S3_SECRET, S3_KEY]) assert.equal(everything.includes(secret), false)
  }
})

test('a restore takes the backup that is named, or the newest of a place', async () => {
  const config = {
    ...{ backupS3Endpoint: standIn.url, backupS3Region: S3_REGION },
    ...{ backupS3AccessKeyId: S3_KEY, backupS3SecretAccessKey: S3_SECRET },
  }
  const choose = async (from: string): Promise<string> => (await chooseBackup(from, config)).name
  assert.equal(await choose('s3://backups/shop/one'), nameOf(4))
  assert.equal(await choose(`s3://backups/shop/one/${nameOf(2)}`), nameOf(2))
  assert.equal(await choose(join(places.path, 'kept')), nameOf(3))
  assert.equal(await choose(join(places.path, 'kept', nameOf(2))), nameOf(2))
  const unknown = backupNameAt('2020-01-09T00:00:00.000Z')
  writeFileSync(join(places.path, 'kept', unknown), '')
  const several = await choose(join(places.path, 'kept')).catch(({ message }: Error) => message)
  assert.match(several, /holds backups of 2 databases, .* Name the one that you want:/)
  for (const name of [nameOf(3), unknown]) assert.ok(several.includes(join(places.path, 'kept', name)), several)
  const ahead = join(places.path, 'kept', backupNameAt(new Date(Date.now() + HOUR).toISOString(), LIFE))
  writeFileSync(ahead, '')
  await assert.rejects(choose(join(places.path, 'kept')), /has a time that has not come: your clock says /)
  assert.equal(await choose(join(places.path, 'kept', nameOf(2))), nameOf(2))
  await assert.rejects(choose('s3://backups/other'), /There is no backup in s3:\/\/backups\/other/)
  await assert.rejects(
    chooseBackup('s3://backups/shop', { ...config, backupS3SecretAccessKey: null }),
    /needs BACKUP_S3_ACCESS_KEY_ID and/,
  )
})

test('a bucket without its keys, or named like none, stops the start with a line for each fault', () => {
  const none = { backupS3Endpoint: null, backupS3Region: 'auto', backupS3AccessKeyId: null }
  const faults = (backupTo: string) => findStoreFaults({ ...none, backupS3SecretAccessKey: null, backupTo })
  assert.deepEqual(faults('/mnt/backup'), [])
  assert.match(
    faults('s3://Bucket_').join('\n'),
    /^BACKUP_TO: write s3:.*\nBACKUP_S3_ACCESS_KEY_ID: .*\nBACKUP_S3_SECRET/,
  )
})

test('a store that does not answer is named at once', async () => {
  const nowhere = s3Store('s3://backups/x', { ...settings, endpoint: `http://127.0.0.1:${await freePort()}` })
  await assert.rejects(nowhere.list(), /s3:\/\/backups\/x\/ refused: no answer \(ECONNREFUSED\)/)
})

test('a store whose list has always another page, or drips, is left after a while: no backup is waited for without end', async (t) => {
  const page = '<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>a</NextContinuationToken>'
  const server = createServer((request, response) => {
    response.writeHead(200, { 'content-type': 'application/xml' })
    if (request.url?.includes('drip')) response.write(page)
    else response.end(`${page}</ListBucketResult>`)
  }).listen(0, '127.0.0.1')
  t.after(() => server.close().closeAllConnections())
  await once(server, 'listening')
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  for (const place of ['s3://backups/endless', 's3://backups/drip']) {
    const store = s3Store(place, { ...settings, endpoint, answerMs: 500 })
    await assert.rejects(store.list(), /refused: no answer \((TimeoutError|AbortError)\)/, place)
  }
})
