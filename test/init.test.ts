import assert from 'node:assert/strict'
import { pbkdf2Sync } from 'node:crypto'
import {
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { parseEnv } from 'node:util'
import { HDKey } from '@scure/bip32'
import { printEnv, writeEnv } from '../src/commands/init/env-file.ts'
import { listEarlier, listMoved } from '../src/commands/init/existing.ts'
import { freePort } from './harness/free-port.ts'
import { newFolder, openOperator, runOperator } from './harness/installation.ts'
import { startPriceSources } from './harness/price-sources.ts'
import { S3_SECRET, s3Env, startS3Store } from './harness/s3-store.ts'
import { startServed } from './harness/served.ts'

const place = newFolder()
const prices = await startPriceSources()
const operator = openOperator(prices.env)
after(async () => {
  await operator.close()
  prices.stop()
  place.remove()
})
const env = join(place.path, '.env')
/** What is typed first is a process of its own; one process runs the rest. */
const init = (...args: string[]) => operator.run(['init', ...args], {}, place.path)

/** The public test phrase (BIP-39): nothing of worth may ever come to it. */
const PHRASE = 'test test test test test test test test test test test junk'
const SEED = HDKey.fromMasterSeed(pbkdf2Sync(PHRASE, 'mnemonic', 2048, 64, 'sha512'))
const xpubOf = (account: number): string => SEED.derive(`m/44'/60'/${account}'`).publicExtendedKey
const XPUB = xpubOf(0)

const PERSON = ['--admin-email', 'boss@pay.example', '--accept-risk', 'no-mail,no-channel']
const FLAGS = ['--domain', 'pay.example', '--data-dir', 'database', '--backup-to', 'backups', ...PERSON]

test('without a terminal every flag that is missing is named at once, and a wrong one says why', async () => {
  const bare = await runOperator(['init'], {}, place.path)
  assert.deepEqual([bare.code, bare.out], [2, ''])
  assert.match(bare.err, /Without a terminal these are needed: --domain, --admin-email/)
  const wrong = await init('--domain', 'https://pay.example')
  assert.equal(wrong.code, 2)
  assert.match(wrong.err, /--domain: A domain without https/)
  const risky = await init('--domain', 'pay.example', '--admin-email', 'boss@pay.example')
  assert.equal(risky.code, 1)
  assert.match(risky.err, /embedded one, and no backup[\s\S]*ACCEPT_RISK=embedded-database[\s\S]*Nothing was written/)
  assert.equal(existsSync(env), false)
})

test('an xpub counts only after its addresses were compared, and a private key is refused unread', async () => {
  const chain = ['--chains', '8453', '--rpc-8453', 'http://127.0.0.1:1']
  const unseen = await init(...FLAGS, ...chain, '--xpub', XPUB)
  assert.equal(unseen.code, 1)
  // as every wallet shows it
  assert.match(unseen.err, /0\/0 {2}0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266[\s\S]*Nothing was written/)
  const key = '1f'.repeat(32)
  const secret = await init(...FLAGS, ...chain, '--xpub', key)
  assert.equal(secret.code, 2)
  assert.match(secret.err, /PRIVATE key/)
  assert.equal(secret.err.includes(key), false)
  assert.equal(existsSync(env), false)
})

test('a channel is kept only when its provider takes the account', async () => {
  const account = ['--channels', 'gatepay', '--gatepay-client-id', 'nobody', '--gatepay-secret', 'nothing']
  const done = await init(...FLAGS, ...account)
  assert.equal(done.code, 1, done.err)
  assert.match(done.err, /gatepay does not work, so nothing was written/)
  assert.equal(existsSync(env), false)
})

test('init writes a closed file, shows the key once, makes the SuperAdmin; the service starts, and migrate runs beside', async () => {
  const done = await runOperator(['init', ...FLAGS], prices.env, place.path)
  assert.equal(done.code, 0, done.err + done.out)
  const text = readFileSync(env, 'utf8')
  const key = /^MASTER_KEY=(.+)$/m.exec(text)?.[1] ?? ''
  assert.deepEqual([statSync(env).mode & 0o777, Buffer.from(key, 'base64').length], [0o600, 32])
  assert.equal(done.err.split(key).length, 2, 'shown once')
  assert.equal(done.out.includes(key), false)
  assert.match(done.out, /SuperAdmin boss@pay\.example was made[\s\S]*Password, shown only now: \S{12,}/)
  assert.match(done.out, /ok +settings/)
  assert.match(done.err, /Merchants register at https:\/\/pay\.example\/app\/register, and sell once you/)
  for (const words of [
    /was made\. Until SMTP_URL is set, codes .* `comptoir admin login-code`/,
    /ok +mail +Until SMTP_URL is set/,
  ])
    assert.match(done.out, words)
  const port = await freePort()
  const other = createServer().listen(port, '127.0.0.1')
  const refused = await operator.run(['serve'], { PORT: String(port) }, place.path)
  other.close()
  assert.equal(refused.code, 1)
  assert.match(refused.err, new RegExp(`Another program listens on 127.0.0.1:${port} already.*set PORT`))
  // as systemd starts it: with what its unit sets, in another folder
  const unit = readFileSync(join(import.meta.dirname, '../deploy/systemd/comptoir.service'), 'utf8')
  const given = [...unit.matchAll(/^Environment=(.+)$/gm)].flatMap(([, pairs = '']) => pairs.split(' '))
  const settings = Object.fromEntries(given.map((pair) => pair.split('=') as [string, string]))
  const asService = { ...settings, COMPTOIR_ENV_FILE: env, STATE_DIRECTORY: join(place.path, 'database') }
  const elsewhere = { ...asService, DATA_DIR: join(place.path, 'other'), PORT: '0' }
  const second = await operator.run(['serve'], elsewhere, place.path)
  assert.equal(second.code, 1)
  assert.match(second.err, /^DATA_DIR in the environment differs from the settings file\./m)
  assert.match(
    second.err,
    /database, holds a database, and DATA_DIR is .*other, where there is none\. Nothing was written/,
  )
  assert.equal(existsSync(elsewhere.DATA_DIR), false)
  // a unit of an earlier version began one of its own beside the one that init had made
  const units = join(place.path, 'unit')
  mkdirSync(join(units, 'postgres'), { recursive: true })
  writeFileSync(join(units, 'postgres/PG_VERSION'), '18')
  const both = await operator.run(['serve'], { ...asService, STATE_DIRECTORY: units, PORT: '0' }, place.path)
  assert.equal(both.code, 1)
  assert.match(
    both.err,
    /unit, holds a database, and DATA_DIR is .*database, where there is another\. Nothing was written/,
  )
  assert.match(both.err, /set DATA_DIR=.*unit in the settings file\. Otherwise move .*unit\/postgres out of the way/)
  const served = startServed({ ...asService, PORT: String(port), LOG_LEVEL: 'silent' }, { args: ['--json'] })
  try {
    await served.ready()
    const line =
      served
        .words()
        .split('\n')
        .find((words) => words.startsWith('{"ready"')) ?? ''
    const { ready, mode, baseUrl, port: heard } = JSON.parse(line) as Record<string, unknown>
    assert.deepEqual([ready, mode, baseUrl, heard], [true, 'live', 'https://pay.example', port])
    assert.equal(/DATA_DIR/.test(served.words()), false, served.words())
    const same = await operator.run(['admin', 'create', '--email', 'boss@pay.example'], asService, place.path)
    assert.match(same.err, /is registered already/, 'the service has the database that init made')
    assert.equal((await fetch(`http://127.0.0.1:${port}/readyz`)).status, 200)
    const beside = await operator.run(['migrate', '--json'], {}, place.path)
    assert.deepEqual([beside.code, beside.out], [0, '{"applied":[]}\n'], beside.err)
  } finally {
    await served.end('SIGTERM')
  }
})

test('a file that is there is not replaced', async () => {
  const before = readFileSync(env, 'utf8')
  const again = await init(...FLAGS)
  assert.equal(again.code, 1)
  assert.match(again.err, /exists\. Nothing was written; add --force/)
  assert.equal(readFileSync(env, 'utf8'), before)
  writeFileSync(env, before)
})

test('init --json prints one object, and what people read beside it', async () => {
  const { MASTER_KEY = '' } = parseEnv(readFileSync(env, 'utf8'))
  const { code, out, err } = await operator.run(
    ['init', ...FLAGS, '--out', 'json.env', '--json'],
    { MASTER_KEY },
    place.path,
  )
  assert.equal(code, 0, err + out)
  const { checks, ...facts } = JSON.parse(out) as { checks: { name: string; ok: boolean }[] }
  assert.deepEqual(facts, { file: join(place.path, 'json.env'), admin: 'boss@pay.example', ready: true })
  for (const wanted of ['mail', 'prices'])
    assert.ok(
      checks.some(({ name, ok }) => name === wanted && ok),
      wanted,
    )
  assert.match(err, /Written: .*json\.env[\s\S]*is registered already/)
})

test('an installation without a reachable price source is not ready: doctor says so, with the reason', async () => {
  const json = join(place.path, 'json.env')
  const nowhere = { RATE_KRAKEN_BASE_URL: 'https://127.0.0.1:1', RATE_ECB_BASE_URL: 'https://127.0.0.1:1' }
  const { code, out } = await operator.run(['doctor'], { COMPTOIR_ENV_FILE: json, ...nowhere }, place.path)
  assert.equal(code, 1)
  assert.match(out, /FAIL {2}prices .*Orders in EUR.* refused now.*kraken: .*; ecb: /)
  const one = await operator.run(['doctor'], { COMPTOIR_ENV_FILE: json, ...nowhere, RATE_MIN_SOURCES: '1' }, place.path)
  assert.match(one.out, /ok {4}prices .*Enough price sources answer; not all \(kraken: /)
})

test('a settings file that is empty or was cut off is no sandbox: doctor fails, and says how to put it back', async () => {
  const cut = join(place.path, 'cut.env')
  const whole = readFileSync(env, 'utf8')
  for (const [text, words] of [
    ['', 'holds no settings'],
    [whole.slice(0, whole.indexOf('MODE=')), 'has no MODE'],
  ] as const) {
    writeFileSync(cut, text)
    const { code, out } = await operator.run(['doctor'], { COMPTOIR_ENV_FILE: cut }, place.path)
    assert.equal(code, 1, out)
    assert.match(out, new RegExp(`FAIL {2}settings .*cut\\.env ${words}.*sandbox[\\s\\S]*→ Put it back`))
  }
  writeFileSync(cut, 'MODE=sandbox\nPORT=3999\n')
  const { out } = await operator.run(['doctor'], { COMPTOIR_ENV_FILE: cut }, place.path)
  assert.match(out, /ok {4}settings/)
})

test('what .env holds is read back as it was given, or refused', () => {
  const printed = (value: string): string => printEnv([{ title: 'One', values: { SMTP_URL: value } }])
  for (const value of ["it's", 'a "b" \\n c', 'a#b', '$x y ', 'a\\tb'])
    assert.equal(parseEnv(printed(value)).SMTP_URL, value)
  for (const value of ["it's\\nice", "o'k\\tz", `both ' and "`])
    assert.throws(
      () => printed(value),
      /^Error: SMTP_URL holds a quote.*Nothing was written\. Set it .*SMTP_URL_FILE\.$/,
    )
})

test('a file that is replaced more than once in a second leaves a copy of each', () => {
  const file = join(place.path, 'often.env')
  const copies = ['A=1\n', 'A=2\n', 'A=3\n', 'A=4\n'].map((text) => writeEnv(file, text, true))
  const kept = copies.map((copy) => copy && readFileSync(copy, 'utf8'))
  assert.deepEqual(kept, [undefined, 'A=1\n', 'A=2\n', 'A=3\n'])
})

test('root gives a service’s user no file of root that a link in his folder names', () => {
  if (process.getuid?.() !== 0) {
    console.log('left out: links in the folder of a service’s user, because we are not root')
    return
  }
  const theirs = join(place.path, 'theirs')
  mkdirSync(theirs)
  chownSync(theirs, 65_534, 65_534)
  const secret = join(place.path, 'secret')
  writeFileSync(secret, 'of root\n', { mode: 0o600 })
  for (const link of [symlinkSync, linkSync]) {
    const file = join(theirs, link.name)
    link(secret, file)
    assert.throws(() => writeEnv(file, 'A=1\n', true), /is a link into another place\. Nothing was written/)
  }
  const { uid } = statSync(secret)
  assert.deepEqual([uid, readFileSync(secret, 'utf8'), readdirSync(theirs).length], [0, 'of root\n', 2])
  const file = join(theirs, 'env')
  writeEnv(file, 'A=1\n', false)
  const copy = writeEnv(file, 'A=2\n', true) ?? ''
  const { uid: owner, mode } = statSync(file)
  assert.deepEqual([owner, mode & 0o777, statSync(copy).uid], [65_534, 0o600, 65_534])
  assert.deepEqual([readFileSync(copy, 'utf8'), readFileSync(file, 'utf8')], ['A=1\n', 'A=2\n'])
})

test('who moves the database by a flag reads where the old one stays', () => {
  const old = { DATA_DIR: '/srv/one', DATABASE_URL: 'postgres://a/b' }
  assert.deepEqual(listMoved(old, { ...old }), [])
  const [folder, database] = listMoved(old, { DATA_DIR: '/srv/two', DATABASE_URL: 'postgres://a/c' })
  assert.match(folder ?? '', /was \/srv\/one\. What is there stays there/)
  assert.match(database ?? '', /^DATABASE_URL is another/)
})

test('a file of an earlier unit, which set MODE beside it, answers where the database is; a sandbox’s does not', () => {
  const old = { BASE_URL: 'https://pay.example', DATABASE_URL: 'postgres://a/b' }
  const answered = (more: Record<string, string>) => {
    const { domain, 'database-url': database } = listEarlier({ ...old, ...more })
    return [domain, database]
  }
  assert.deepEqual(answered({ MASTER_KEY: 'any' }), ['pay.example', 'postgres://a/b'])
  assert.deepEqual(answered({ MASTER_KEY_FILE: '/any' }), ['pay.example', 'postgres://a/b'])
  for (const sandbox of [{}, { MODE: 'sandbox', MASTER_KEY: 'any' }] as Record<string, string>[])
    assert.deepEqual(answered(sandbox), [undefined, undefined])
  const local = { MASTER_KEY: 'any', BASE_URL: 'http://localhost:3000' }
  assert.deepEqual(answered(local), [undefined, 'postgres://a/b'])
})

const keyIn = (file: string): string => /^MASTER_KEY=(.+)$/m.exec(readFileSync(file, 'utf8'))?.[1] ?? ''
const tokenIn = (file: string): string => /^METRICS_TOKEN=(.+)$/m.exec(readFileSync(file, 'utf8'))?.[1] ?? ''
const copiesOf = (name: string): string[] => readdirSync(place.path).filter((file) => file.startsWith(`${name}.2`))

test('--force keeps the key and the token of the file it replaces, keeps the file, and says both', async () => {
  const written = readFileSync(env, 'utf8').replace(/^BASE_URL=.*$/m, '$&:8443')
  const behind = written.replace(/^TRUST_PROXY=.*$/m, 'TRUST_PROXY=10.1.2.3\nPROCESSES=2')
  writeFileSync(env, `${behind}REPORTS_NOTE=mine\n`)
  const before = readFileSync(env, 'utf8')
  const again = await operator.run(['init', ...PERSON, '--force'], {}, place.path)
  assert.equal(again.code, 0, again.err + again.out)
  const names = ['BASE_URL', 'TRUST_PROXY', 'PROCESSES', 'DATA_DIR', 'BACKUP_TO']
  const of = (text: string) => names.map((name) => parseEnv(text)[name])
  assert.deepEqual(of(readFileSync(env, 'utf8')), of(before), 'another place would hold an empty database')
  for (const secretIn of [keyIn, tokenIn])
    assert.equal(secretIn(env), secretIn(join(place.path, copiesOf('.env')[0] ?? '')))
  assert.ok(tokenIn(env).length > 20)
  const [copy = '', ...more] = copiesOf('.env')
  assert.deepEqual([more, readFileSync(join(place.path, copy), 'utf8')], [[], before])
  assert.equal(statSync(join(place.path, copy)).mode & 0o777, 0o600)
  assert.ok(!again.err.includes(keyIn(env)), 'a key that is known is not shown again')
  for (const words of ['The master key stays', copy, 'old file only: REPORTS_NOTE', 'registered already'])
    assert.ok(again.err.includes(words), `${words}\n${again.err}`)
})

test('a bucket for backups stays one, with its settings, and whoever leaves it reads where the backups are', async () => {
  const force = (...args: string[]) => operator.run(['init', ...PERSON, '--force', ...args], {}, place.path)
  const lacking = await force('--backup-to', 's3://my-bucket/comptoir')
  assert.equal(lacking.code, 2)
  assert.match(lacking.err, /--backup-to: BACKUP_S3_ACCESS_KEY_ID: missing.*BACKUP_S3_SECRET_ACCESS_KEY: missing/)
  const strange = await force('--backup-to', 'S3://my-bucket/comptoir')
  assert.match(strange.err, /--backup-to: A folder, or s3:\/\/bucket\/prefix/)
  const store = await startS3Store()
  try {
    writeFileSync(join(place.path, 's3-secret'), `${S3_SECRET}\n`)
    const { BACKUP_S3_SECRET_ACCESS_KEY: _, ...plain } = s3Env(store)
    const bucket = { BACKUP_TO: `s3://${store.bucket}/shop`, ...plain }
    const text = readFileSync(env, 'utf8').replace(/^BACKUP_TO=.*$/m, '')
    const lines = Object.entries({ ...bucket, BACKUP_S3_SECRET_ACCESS_KEY_FILE: 's3-secret' }).map((set) =>
      set.join('='),
    )
    writeFileSync(env, `${text}${lines.join('\n')}\n`)
    const kept = await force()
    assert.equal(kept.code, 0, kept.err + kept.out)
    const secret = { BACKUP_S3_SECRET_ACCESS_KEY_FILE: join(place.path, 's3-secret') }
    const set = parseEnv(readFileSync(env, 'utf8'))
    assert.deepEqual(Object.fromEntries(Object.entries(set).filter(([name]) => /^BACKUP_/.test(name))), {
      ...{ ...bucket, ...secret },
    })
    assert.doesNotMatch(kept.err, /old file only|BACKUP_TO was/)
    const moved = await force('--backup-to', 'backups')
    assert.equal(moved.code, 0, moved.err + moved.out)
    assert.match(moved.err, /BACKUP_TO was s3:\/\/.*\. Its backups stay there, and no more are added\./)
    assert.match(moved.err, /old file only: .*BACKUP_S3_SECRET_ACCESS_KEY_FILE/)
  } finally {
    await store.close()
  }
})

test('data of another key are refused before anything is written', async () => {
  const other = await init(...FLAGS, '--out', 'other.env')
  assert.equal(other.code, 1, other.out)
  assert.match(other.err, /made with another MASTER_KEY.*Nothing was written\. Run this again with that key/)
  assert.equal(existsSync(join(place.path, 'other.env')), false)
  const unreached = await init(...FLAGS, '--out', 'other.env', '--database-url', 'postgres://nobody@127.0.0.1:1/none')
  assert.match(unreached.err, /The database cannot be looked at \(ECONNREFUSED\)\. Nothing was written/)
  assert.equal(existsSync(join(place.path, 'other.env')), false)
})

test('after a restore the noted key, or the file that holds it, writes the configuration again', async () => {
  const key = keyIn(env)
  const backup = await runOperator(['backup', '--to', 'backups'], {}, place.path)
  assert.equal(backup.code, 0, backup.err)
  const foreign = { MASTER_KEY: Buffer.alloc(32, 9).toString('base64') }
  const kept = readdirSync(join(place.path, 'backups'))
  const refused = await operator.run(['backup', '--to', 'backups', '--keep', '1'], foreign, place.path)
  assert.equal(refused.code, 1)
  assert.match(refused.err, /master-key/)
  assert.deepEqual(readdirSync(join(place.path, 'backups')), kept)
  const elsewhere = newFolder()
  try {
    const from = ['restore', '--from', join(place.path, 'backups'), '--data-dir', 'database']
    const restored = await operator.run(from, { MASTER_KEY: key }, elsewhere.path)
    assert.equal(restored.code, 0, restored.err)
    const noted = await operator.run(['init', ...FLAGS], { MASTER_KEY: key }, elsewhere.path)
    assert.equal(noted.code, 0, noted.err + noted.out)
    assert.equal(keyIn(join(elsewhere.path, '.env')), key)
    writeFileSync(join(elsewhere.path, 'key'), `${key}\n`)
    const filed = await operator.run(['init', ...FLAGS, '--force'], { MASTER_KEY_FILE: 'key' }, elsewhere.path)
    assert.equal(filed.code, 0, filed.err + filed.out)
    assert.match(readFileSync(join(elsewhere.path, '.env'), 'utf8'), /^MASTER_KEY_FILE=\/.*\/key$/m)
    const chains = ['--chains', '1', '--rpc-1', 'https://127.0.0.1:1', '--xpub', XPUB, '--addresses-match', '--force']
    const exported = { CHAIN_8453_RPC_URL: 'https://127.0.0.1:1', CHAIN_8453_XPUB: xpubOf(1), MASTER_KEY_FILE: 'key' }
    const mixed = await operator.run(['init', ...FLAGS, ...chains], exported, elsewhere.path)
    const said = mixed.out + mixed.err
    assert.match(said, /Chain 8453 comes from the environment.*confirm-addresses --chain 8453/)
    assert.equal(mixed.out.split('Confirmed.').length, 2, 'only what the operator compared')
  } finally {
    elsewhere.remove()
  }
})
