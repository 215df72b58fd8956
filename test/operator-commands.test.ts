import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import TABLE from '../bin/commands.json' with { type: 'json' }
import { DEVELOPER_COMMANDS } from '../cli/main.ts'
import { newFolder, openDeveloper, openOperator, runOperator } from './harness/installation.ts'

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

test('the table of commands names what both halves know: the developer’s commands, and each flag that a help shows', async (t) => {
  assert.deepEqual(
    TABLE.developer,
    DEVELOPER_COMMANDS.map(({ name }) => name),
  )
  const operator = openOperator()
  t.after(() => operator.close())
  for (const [name, entry] of Object.entries(TABLE.service)) {
    const { code, out } = await operator.run([name, name === 'serve' ? '-h' : '--help'], {}, place.path)
    const shown = new Set([...out.matchAll(/--([a-z][a-z0-9-]*[a-z])\b(?!-<)/g)].map(([, flag]) => flag))
    assert.deepEqual([name, code, [...shown].sort()], [name, 0, [...entry.flags].sort()])
    for (const word of 'words' in entry ? entry.words : []) assert.match(out, new RegExp(`comptoir ${name} ${word}\\b`))
  }
})

test('completions offer commands, names and flags of both halves where they fit, and no command twice', async (t) => {
  const developer = openDeveloper(place.path)
  t.after(() => developer.close())
  const completion = async (shell: string): Promise<string> =>
    (await developer.run({ args: ['completion', shell], env: {}, cwd: place.path })).out
  const script = await completion('bash')
  const complete = (...words: string[]): string[] => {
    const typed = ['comptoir', ...words].map((word) => `'${word}'`).join(' ')
    const lines = `COMP_WORDS=(${typed}) COMP_CWORD=${words.length}\n_comptoir\necho "\${COMPREPLY[@]}"`
    const { stdout } = spawnSync('bash', ['-c', `${script}\n${lines}`], { encoding: 'utf8' })
    return stdout.trim().split(' ').filter(Boolean)
  }
  const names = [...Object.keys(TABLE.service), ...TABLE.developer]
  assert.deepEqual(complete(''), names)
  assert.deepEqual(complete('orders', 'cr'), ['create'])
  assert.deepEqual(complete('orders', 'create', '--cur'), ['--currency'])
  assert.deepEqual(complete('trigger', 'order.pa'), ['order.paid'])
  for (const after of [['trigger', 'order.paid'], ['explain'], ['serve'], ['orders', 'create', '--amount']])
    assert.deepEqual(complete(...after, ''), [], `after ${after.join(' ')}`)
  assert.deepEqual(complete('admin', 'set'), ['set-password'])
  assert.deepEqual(complete('sweep', 'sign', '--mne'), ['--mnemonic-file'])
  assert.deepEqual(complete('serve', '-'), ['--json', '--help'])
  for (const other of [await completion('zsh'), await completion('fish')])
    for (const name of names) assert.ok(other.includes(name), name)
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
