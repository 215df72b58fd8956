import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { refuseUnwritable } from '../src/db/backup/folder-store.ts'
import { canReach } from '../src/db/embedded/system-user.ts'
import { readMigrations } from '../src/db/installation.ts'
import { createEmptyDatabase } from './harness/database.ts'
import { newFolder, openOperator } from './harness/installation.ts'
import { startPriceSources } from './harness/price-sources.ts'

const place = newFolder()
const prices = await startPriceSources()
const operator = openOperator(prices.env)
after(async () => {
  await operator.close()
  prices.stop()
  place.remove()
})

const KEY = randomBytes(32).toString('base64')
const FLAGS = [
  ...['--domain', 'pay.example', '--backup-to', join(place.path, 'backups'), '--admin-email', 'boss@pay.example'],
  ...['--accept-risk', 'no-mail,no-channel'],
]

/** A folder like that of an unpacked archive. */
function unpack(version: string, under = '.'): string {
  const folder = join(place.path, under, `comptoir-${version}`)
  mkdirSync(folder, { recursive: true })
  return folder
}

const old = unpack('0.1.0')
const fresh = unpack('0.2.0')
const data = join(place.path, 'comptoir-data')

test('init keeps the data beside the folder of a release, which is removed after the next upgrade', async () => {
  const done = await operator.run(['init', ...FLAGS, '--new-database'], { MASTER_KEY: KEY }, old)
  assert.equal(done.code, 0, done.err + done.out)
  assert.match(readFileSync(join(old, '.env'), 'utf8'), new RegExp(`^DATA_DIR=${data}$`, 'm'))
  assert.equal(existsSync(join(data, 'postgres')), true)
})

test('a new release without settings is no sandbox beside one that has them: every command says what to copy', async () => {
  for (const args of [['doctor'], ['migrate'], ['serve']]) {
    const refused = await operator.run(args, {}, fresh)
    assert.equal(refused.code, 1, args.join(' '))
    assert.match(
      refused.err + refused.out,
      /those of another release are in .*comptoir-0\.1\.0\/\.env\. Copy the file here/,
    )
  }
  assert.deepEqual(readdirSync(fresh), [])
  writeFileSync(join(fresh, '.env'), readFileSync(join(old, '.env')))
  const moved = await operator.run(['migrate'], {}, fresh)
  assert.deepEqual([moved.code, moved.out.trim()], [0, 'The schema is the newest already.'], moved.err)
})

test('migrate makes no database: an empty one beside that of the orders would look like success', async () => {
  const elsewhere = join(place.path, 'nothing')
  const refused = await operator.run(['migrate'], { MODE: 'sandbox', DATA_DIR: elsewhere }, place.path)
  assert.equal(refused.code, 1)
  assert.match(refused.err, /There is no database in .*nothing\. Start the service first/)
  assert.equal(existsSync(elsewhere), false)
})

test('a restore needs no settings file: who restores may have lost it', async () => {
  const backup = await operator.run(['backup', '--to', join(place.path, 'backups')], {}, old)
  assert.equal(backup.code, 0, backup.err)
  const lost = { COMPTOIR_ENV_FILE: join(place.path, 'lost/env') }
  const to = join(place.path, 'restored')
  const from = ['restore', '--from', join(place.path, 'backups'), '--data-dir', to]
  const without = await operator.run(from, lost, place.path)
  assert.equal(without.code, 1)
  assert.match(without.err, /Set MASTER_KEY/)
  const restored = await operator.run(from, { ...lost, MASTER_KEY: KEY }, place.path)
  assert.equal(restored.code, 0, restored.err)
  const other = await operator.run(['doctor'], lost, place.path)
  assert.match(other.err + other.out, /lost\/env does not exist/)
})

test('settings without DATA_DIR, brought along to the next release, begin no second database there', async () => {
  const next = unpack('0.3.0')
  const settings = readFileSync(join(old, '.env'), 'utf8').replace(/^DATA_DIR=.*$/m, '')
  writeFileSync(join(next, '.env'), settings)
  for (const args of [['doctor'], ['serve'], ['admin', 'create', '--email', 'other@pay.example']]) {
    const refused = await operator.run(args, {}, next)
    assert.equal(refused.code, 1, args.join(' '))
    assert.match(
      refused.err + refused.out,
      /There is no database in .*comptoir-0\.3\.0\/data\.\s+(→ )?Set DATA_DIR to the folder that holds it/,
    )
  }
  assert.deepEqual(readdirSync(next), ['.env'])
})

test('init begins no second database under known keys, unless a person says so', async () => {
  const fifth = unpack('0.5.0', 'apart')
  const settings = readFileSync(join(old, '.env'), 'utf8').replace(/^DATA_DIR=.*$/m, '')
  writeFileSync(join(fifth, '.env'), settings)
  const checked = await operator.run(['doctor'], {}, fifth)
  assert.doesNotMatch(checked.out, /comptoir init/)
  const again = await operator.run(['init', ...FLAGS, '--force'], {}, fifth)
  assert.equal(again.code, 1)
  assert.match(
    again.err,
    /There is no database in .*apart\/comptoir-data, and .*\.env is of an installation.*Nothing was written\..*--new-database/s,
  )
  assert.equal(readFileSync(join(fifth, '.env'), 'utf8'), settings)
  // the settings of an installation that were not brought along, and a key that was noted
  const sixth = unpack('0.6.0', 'apart')
  const bare = await operator.run(['init', ...FLAGS], {}, sixth)
  assert.equal(bare.code, 1)
  assert.match(bare.err, /and the settings of another release are in .*comptoir-0\.5\.0\/\.env/)
  const keyed = ['init', ...FLAGS, '--data-dir', join(place.path, 'forgotten'), '--out', join(place.path, 'keyed.env')]
  const noted = await operator.run(keyed, { MASTER_KEY: KEY }, place.path)
  assert.equal(noted.code, 1)
  assert.match(noted.err, /no database in .*forgotten, and the MASTER_KEY was given/)
  assert.deepEqual(readdirSync(join(place.path, 'apart')).sort(), ['comptoir-0.5.0', 'comptoir-0.6.0'])
  assert.deepEqual([readdirSync(sixth), existsSync(join(place.path, 'forgotten'))], [[], false])
  const empty = await createEmptyDatabase()
  try {
    const url = [...keyed, '--database-url', empty.connectionString]
    const refused = await operator.run(url, { MASTER_KEY: KEY }, place.path)
    assert.equal(refused.code, 1)
    assert.match(refused.err, /The database of DATABASE_URL is empty, and the MASTER_KEY was given/)
    assert.deepEqual(await readMigrations(empty.connectionString), [])
    assert.equal(existsSync(join(place.path, 'keyed.env')), false)
    const begun = await operator.run([...url, '--new-database'], { MASTER_KEY: KEY }, place.path)
    assert.equal(begun.code, 0, begun.err + begun.out)
    const kept = await operator.run([...url, '--force'], {}, place.path)
    assert.equal(kept.code, 0, `${kept.err}: it has the database that init began, if no start has`)
  } finally {
    await empty.drop()
  }
})

test('a live start, and a command, leave an empty database as it is; after migrate they take it', async () => {
  const database = await createEmptyDatabase()
  const env = {
    ...{ MODE: 'live', BASE_URL: 'https://pay.example', METRICS_TOKEN: 'scrape-me-please', MASTER_KEY: KEY, PORT: '0' },
    ...{
      ACCEPT_RISK: 'no-mail,no-channel',
      DATABASE_URL: database.connectionString,
      DATA_DIR: join(place.path, 'none'),
    },
  }
  const create = ['admin', 'create', '--email', 'boss@pay.example']
  try {
    for (const args of [['serve'], create, ['doctor']]) {
      const refused = await operator.run(args, env, place.path)
      assert.equal(refused.code, 1, args.join(' '))
      assert.match(
        refused.err + refused.out,
        /DATABASE_URL is empty\. Nothing was written\.\s+(→ )?If it should have your orders, correct/,
      )
    }
    assert.deepEqual(await readMigrations(database.connectionString), [])
    assert.equal((await operator.run(['migrate'], env, place.path)).code, 0)
    const made = await operator.run(create, env, place.path)
    assert.equal(made.code, 0, made.err)
  } finally {
    await database.drop()
  }
})

test('after a restore that failed no live start makes an empty database there; the restore is run again', async () => {
  const to = join(place.path, 'failed')
  const backups = join(place.path, 'backups')
  const [name = ''] = readdirSync(backups)
  const cut = join(place.path, 'cut.backup')
  writeFileSync(cut, readFileSync(join(backups, name)).subarray(0, 200_000))
  const env = { MASTER_KEY: KEY, COMPTOIR_ENV_FILE: join(old, '.env'), DATA_DIR: to }
  const failed = await operator.run(['restore', '--from', cut, '--data-dir', to], env, place.path)
  assert.match(failed.err, /cut off/)
  const started = await operator.run(['serve'], env, place.path)
  assert.equal(started.code, 1)
  assert.match(started.err, /A restore into .*failed was cut off or failed.* Run comptoir restore again/)
  assert.equal(existsSync(join(to, 'postgres')), false)
  const again = await operator.run(['restore', '--from', backups, '--data-dir', to], env, place.path)
  assert.equal(again.code, 0, again.err)
})

test('where a restore was cut off, a start makes no empty database; the restore is run again', async () => {
  const cutOff = join(place.path, 'cut-off')
  mkdirSync(join(cutOff, 'postgres.restoring'), { recursive: true })
  const env = { MASTER_KEY: KEY, DATA_DIR: cutOff }
  const started = await operator.run(
    ['init', ...FLAGS, '--data-dir', cutOff, '--out', join(cutOff, 'env')],
    env,
    place.path,
  )
  assert.equal(started.code, 1)
  assert.match(started.err + started.out, /A restore into .*cut-off was cut off or failed.* Run comptoir restore again/)
  assert.deepEqual([existsSync(join(cutOff, 'postgres')), existsSync(join(cutOff, 'env'))], [false, false])
  const from = ['restore', '--from', join(place.path, 'backups'), '--data-dir', cutOff]
  const again = await operator.run(from, env, place.path)
  assert.equal(again.code, 0, again.err)
  assert.deepEqual(
    readdirSync(cutOff).filter((name) => name.startsWith('postgres.restoring')),
    [],
  )
})

const NOBODY = { uid: 65_534, gid: 65_534 }

/** Everything in a folder that this user could not change. */
const foreignIn = (folder: string, uid: number): string[] =>
  readdirSync(folder).filter((name) => statSync(join(folder, name)).uid !== uid)

if (process.getuid?.() === 0 && canReach(NOBODY, place.path.slice(0, place.path.lastIndexOf('/')))) {
  const theirs = join(place.path, 'theirs')

  test('what root restores and writes for the service, the service can use', async () => {
    chownSync(place.path, NOBODY.uid, NOBODY.gid)
    mkdirSync(theirs)
    chownSync(theirs, NOBODY.uid, NOBODY.gid)
    const from = ['restore', '--from', join(place.path, 'backups'), '--data-dir', theirs]
    const restored = await operator.run(from, { MASTER_KEY: KEY }, place.path)
    assert.equal(restored.code, 0, restored.err)
    const settings = ['--data-dir', theirs, '--out', join(theirs, 'env')]
    const done = await operator.run(['init', ...FLAGS, ...settings], { MASTER_KEY: KEY }, place.path)
    assert.match(done.out + done.err, /Written/)
    assert.deepEqual(foreignIn(theirs, NOBODY.uid), [])
    assert.doesNotMatch(restored.out, /chown/)
    const made = join(place.path, 'made by root')
    const alone = await operator.run([...from.slice(0, -1), made], { MASTER_KEY: KEY }, place.path)
    assert.match(
      alone.out,
      /belongs to user number \d+\. If .* first give it the folder: chown -R <user>: .*made by root/,
    )
  })

  test('doctor as root says of a folder for backups whether the service may write there', async () => {
    const closed = join(place.path, 'closed')
    mkdirSync(closed, { mode: 0o700 })
    const env = { COMPTOIR_ENV_FILE: join(theirs, 'env'), BACKUP_TO: join(closed, 'backups') }
    const refused = await operator.run(['doctor'], env, place.path)
    assert.match(refused.out, /closed cannot be used: user number 65534, whom the data belong to, may not write there/)
    chownSync(closed, NOBODY.uid, NOBODY.gid)
    const fine = await operator.run(['doctor'], env, place.path)
    assert.match(fine.out, /closed\/backups will be made; newest backup: none yet/)
    await assert.rejects(refuseUnwritable(old, NOBODY), /may not write there/)
    rmSync(closed, { recursive: true })
  })
}
