import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { cpSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { FRUGAL_TSC } from '../scripts/steps.ts'

const ROOT = join(import.meta.dirname, '..')
const API_TYPES = 'web/office/src/api/operations.d.ts'
const LEFT_OUT = /^(node_modules|data|dist|coverage|\.git|\.cache)(\/|$)/

type Run = { code: number | null; text: string }

let tree: string

/** Runs this Node in the copy; output in one text. The outer run's database is in the environment. */
function run(args: readonly string[], env: Record<string, string> = {}): Promise<Run> {
  const { NODE_TEST_CONTEXT: _, ...inherited } = process.env
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: tree, env: { ...inherited, ...env } })
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      text += part
    })
    child.stderr.setEncoding('utf8').on('data', (part: string) => {
      text += part
    })
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, text }))
  })
}

/** Runs the command's top level again and again in one process: to start it takes most of what a refusal costs. */
const AGAIN = `
  const runs = []
  for (const [turn, args] of JSON.parse(process.argv[1]).entries()) {
    let text = ''
    console.error = (line) => { text += line + '\\n' }
    console.log = console.error
    process.argv = [process.execPath, 'scripts/new-channel.ts', ...args]
    process.exitCode = 0
    await import(process.cwd() + '/scripts/new-channel.ts?turn=' + turn)
    runs.push({ code: process.exitCode, text })
  }
  process.exitCode = 0
  process.stdout.write(JSON.stringify(runs))`

async function newChannels(cases: readonly (readonly string[])[]): Promise<Run[]> {
  const { code, text } = await run(['--input-type=module', '--eval', AGAIN, JSON.stringify(cases)])
  assert.equal(code, 0, text)
  return JSON.parse(text) as Run[]
}

const newChannel = (...args: string[]): Promise<Run> => run(['scripts/new-channel.ts', ...args])
const runTest = (file: string, env?: Record<string, string>): Promise<Run> =>
  run(['--test', '--test-isolation=none', '--test-force-exit', '--test-reporter=tap', file], env)
const readCopy = (file: string): string => readFileSync(join(tree, file), 'utf8')
const passed = ({ text }: Run): number => Number(/^# pass (\d+)$/m.exec(text)?.[1] ?? 0)

/** Ends with 1 where the service would refuse to start with these minutes. */
const SET_MINUTES = `
  const { readEnvironment } = await import(process.cwd() + '/src/checks/environment.ts')
  const { config, refusals } = readEnvironment({ ORDER_CHANNEL_MINUTES: 'acme-pay=20' })
  console.log(refusals.join())
  process.exitCode = config.orders.channelMinutes['acme-pay'] === 20 && refusals.length === 0 ? 0 : 1`

/** From the first failure on; where none is named, the end. */
const faultIn = (text: string): string => (/^ *not ok [\s\S]*/m.exec(text)?.[0] ?? text.slice(-8000)).slice(0, 8000)

const TOUCHED = [
  'src/channels/channel.ts',
  'src/channels/kinds.ts',
  'sandbox/providers/imitations.ts',
  'src/channels/channel-names.ts',
  'test/channels.test.ts',
  '.env.example',
]
const readTouched = (): string[] => TOUCHED.map(readCopy)

/** What the command wrote or changed; the outer run checks the format of the rest. */
function listWritten(): string[] {
  const files = globSync('{src,sandbox,test}/**/*.ts', { cwd: tree })
  const isAsBefore = (file: string): boolean =>
    existsSync(join(ROOT, file)) && readFileSync(join(ROOT, file), 'utf8') === readCopy(file)
  const written = files.filter((file) => !isAsBefore(file))
  assert.ok(written.length > TOUCHED.length - 1, written.join(' '))
  return written
}

before(async () => {
  tree = mkdtempSync(join(tmpdir(), 'comptoir-new-channel-'))
  cpSync(ROOT, tree, { recursive: true, filter: (from) => !LEFT_OUT.test(relative(ROOT, from)) })
  symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'))
  // printed before types are checked, so a checkout where they never were has none
  if (!existsSync(join(tree, API_TYPES))) assert.equal((await run(['scripts/office-api.ts'])).code, 0)
})
after(() => rmSync(tree, { recursive: true, force: true }))

describe('npm run new:channel', () => {
  test('bad input gets a sentence, and nothing is written', async () => {
    const untouched = readTouched()
    const cases: [string[], RegExp][] = [
      [[], /^Usage: npm run new:channel -- <id> "<Name>"/],
      [['acme', 'Acme', 'https://api.acme.test', 'more'], /^Usage:/],
      [['kucoinpay', 'KuCoin'], /There is a channel kucoinpay already: src\/channels\/kucoinpay/],
      [['Acme', 'Acme'], /The id must be small letters/],
      [['../acme', 'Acme'], /The id must be small letters/],
      [['acme', 'A’cme'], /The name must be/],
      [['acme', 'Acme', 'api.acme.test'], /The base address must begin with/],
      [['class', 'Class'], /class is a word of JavaScript/],
      [['secret', 'Secret'], /uses the word secret already/],
    ]
    const runs = await newChannels(cases.map(([args]) => args))
    assert.equal(runs.length, cases.length)
    for (const [index, { code, text }] of runs.entries()) {
      assert.equal(code, 1, text)
      assert.match(text, cases[index]?.[1] ?? /^$/)
      assert.equal(text.trim().split('\n').length, 1, text)
    }
    assert.deepEqual(readTouched(), untouched)
    assert.equal(existsSync(join(tree, 'src/channels/acme')), false)
  })

  test('a file that was changed so that its line has no place is named, and nothing is written', async () => {
    const file = 'src/channels/channel-names.ts'
    const text = readCopy(file)
    const changed = text.replace('export const CHANNEL_NAMES', 'export const NAMES')
    writeFileSync(join(tree, file), changed)
    const untouched = readTouched()
    const { code, text: said } = await newChannel('acme-pay', 'Acme Pay')
    writeFileSync(join(tree, file), text)
    assert.equal(code, 1)
    assert.match(
      said,
      /^src\/channels\/channel-names\.ts was changed so that .*'acme-pay': 'Acme Pay',.* Nothing was written\.$/m,
    )
    assert.deepEqual(untouched, readTouched().with(TOUCHED.indexOf(file), changed))
    assert.equal(existsSync(join(tree, 'src/channels/acme-pay')), false)
  })

  test('the new channel passes types, format, house rules, its own test and the suite of every channel', async () => {
    const made = await newChannel('acme-pay', 'Acme Pay', 'https://api.acme.test/')
    assert.equal(made.code, 0, made.text)
    assert.match(readCopy('docs/channels/settings.md'), /CHANNEL_ACME_PAY_BASE_URL` .*https:\/\/api\.acme\.test`/)
    const again = await newChannel('acme-pay', 'Acme Pay')
    assert.match(again.text, /There is a channel acme-pay already/)

    const suite = runTest('test/channels.test.ts', { CHANNELS: 'acme-pay' })
    const format = ['node_modules/.bin/biome', 'check', '--diagnostic-level=error', ...listWritten()]
    const checks = {
      types: await run([...FRUGAL_TSC.args, '--noEmit'], FRUGAL_TSC.env),
      format: await run(format),
      unit: await runTest('src/channels/acme-pay/acme-pay.test.ts'),
      suite: await suite,
      setting: await run(['--input-type=module', '--eval', SET_MINUTES]),
    }
    for (const [name, { code, text }] of Object.entries(checks)) assert.equal(code, 0, `${name}: ${faultIn(text)}`)
    // what the rest of the tree does wrong is told by the outer run of these rules
    const rules = await runTest('test/tidy.test.ts')
    assert.deepEqual(
      rules.text.split('\n').filter((line) => /acme|settings\.md/i.test(line)),
      [],
    )
    assert.match(rules.text, /^ok \d+ - the printed documents are what the code prints$/m)
    assert.ok(passed(checks.unit) >= 16, `${passed(checks.unit)} unit tests ran`)
    assert.ok(passed(checks.suite) >= 12, `${passed(checks.suite)} tests of the suite ran`)
    assert.match(checks.suite.text, /^# Subtest: acme-pay$/m)
    assert.doesNotMatch(checks.suite.text, /^# Subtest: (binance|gatepay)$/m)
  })
})
