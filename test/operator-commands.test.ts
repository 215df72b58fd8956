import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { DEVELOPER_COMMANDS } from '../cli/main.ts'
import { newFolder, runOperator } from './harness/installation.ts'

/** The operator's commands in a folder where nothing is yet. */

const place = newFolder()
after(() => place.remove())
const run = (...args: string[]) => runOperator(args, {}, place.path)

test('--help names every command, the developer’s too, and --version is the package’s', async () => {
  const [help, version] = await Promise.all([run('--help'), run('--version')])
  assert.equal(help.code, 0, help.err)
  for (const { name } of DEVELOPER_COMMANDS) assert.match(help.out, new RegExp(` ${name}\\b`))
  const text = readFileSync(join(import.meta.dirname, '../package.json'), 'utf8')
  const wanted = (JSON.parse(text) as { version: string }).version
  assert.deepEqual([version.code, version.out], [0, `${wanted}\n`])
})

test('init --help names each flag once', async () => {
  const { out } = await run('init', '--help')
  const flags: string[] = out.match(/--[a-z][a-z-]+/g) ?? []
  assert.ok(flags.includes('--whitepay-token'))
  assert.deepEqual(
    flags.filter((flag, index) => flag.startsWith('--whitepay') && flags.indexOf(flag) !== index),
    [],
  )
})

test('what only looks, or only ends something, makes no database: it says that there is none', async () => {
  const onAccounts = [
    ['revoke-sessions', '--all', '--yes'],
    ['rotate-keys', '--yes'],
    ['addresses', '--chain', '1'],
  ].map((args) => ['admin', ...args])
  for (const args of [['sweep'], ['audit', 'verify'], ['ledger', 'verify'], ['reconcile'], ...onAccounts]) {
    const { code, err } = await run(...args)
    assert.equal(code, 1, args.join(' '))
    assert.match(err, /There is no database in .*data\. Start the service first, or set DATA_DIR/)
  }
  assert.deepEqual(readdirSync(place.path), [])
})

test('sweep refuses wrong options before it looks at anything, also where only the plan is wanted', async () => {
  for (const args of [
    ['--to', '0x12'],
    ['--valid-days', '0'],
    ['--min', 'one'],
  ])
    assert.equal((await run('sweep', ...args)).code, 2, args.join(' '))
})

test('doctor says once that the database does not answer, and what to do', async () => {
  const key = Buffer.alloc(32, 7).toString('base64')
  const env = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none', MASTER_KEY: key }
  const { code, out } = await runOperator(['doctor', '--json'], env, place.path)
  const { checks } = JSON.parse(out) as { checks: { ok: boolean; message: string; fix: string }[] }
  const failed = checks.filter(({ ok }) => !ok).map(({ message, fix }) => `${message} ${fix}`)
  const sentence = 'The database does not answer (ECONNREFUSED). Check DATABASE_URL, and that PostgreSQL runs there.'
  assert.deepEqual([code, failed], [1, [sentence]])
})

test('doctor says which settings it looked at: those of another folder would be fine without an installation', async () => {
  const folder = join(place.path, 'elsewhere')
  mkdirSync(folder)
  const settings = join(place.path, 'settings')
  const first = async (env: Record<string, string>, command = ['doctor']) => {
    const { out, err } = await runOperator(command, env, folder)
    return `${out}${err}`.split('\n')[0]
  }
  assert.equal(await first({}), `Sandbox; no .env in ${folder}, only the environment.`)
  writeFileSync(settings, 'MODE=live\nBASE_URL=https://pay.example\n')
  assert.equal(await first({ COMPTOIR_ENV_FILE: settings }), `Live; settings from ${settings}.`)
  writeFileSync(join(folder, '.env'), 'MODE=live\n')
  assert.equal(await first({}), `Live; settings from ${join(folder, '.env')}.`)
  assert.match((await first({ COMPTOIR_ENV_FILE: join(place.path, 'none') })) ?? '', /none does not exist/)
})
