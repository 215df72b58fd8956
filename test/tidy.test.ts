import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { test } from 'node:test'
import { MAGIC_CENTS, STORIES } from '../sandbox/providers/stories.ts'
import { hashSources } from '../scripts/office-sources.ts'
import { printDocs } from '../scripts/print-docs.ts'
import { CHANNEL_KINDS } from '../src/channels/kinds.ts'
import { TOPICS } from '../src/config/all-settings.ts'
import { PERMISSIONS } from '../src/http/permissions.ts'
import { CATALOGUE } from '../src/kernel/errors.ts'

/**
 * The rules of the house that a program can check. A rule that turns out to be wrong is changed here, with its
 * reason.
 */

const ROOT = join(import.meta.dirname, '..')
const PLACES = '{src,sandbox,sdk,cli,web,test,simulation,bench,scripts,bin,examples}/**/*.{ts,tsx,cjs,js,css,html,sol}'
// operations.d.ts is printed from the OpenAPI document and not kept
const SKIPPED = /(^|\/)(node_modules|dist|data|generated)\/|\/operations\.d\.ts$/

const list = (...patterns: string[]): string[] =>
  globSync(patterns, { cwd: ROOT })
    .filter((file) => !SKIPPED.test(file))
    .sort()
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')
const isTest = (file: string): boolean => /\.test\.tsx?$/.test(file)

const sources = list('src/**/*.ts').filter((file) => !isTest(file))
const programs = list(PLACES)

/** `file:line text` of every line that a rule objects to. */
const findLines = (files: readonly string[], objects: (line: string, file: string) => boolean): string[] =>
  files.flatMap((file) =>
    read(file)
      .split('\n')
      .flatMap((line, index) => (objects(line, file) ? [`${file}:${index + 1} ${line.trim().slice(0, 160)}`] : [])),
  )

/* ---- which folder may import which ---- */

/** Everything may import the kernel and the settings; the files directly in src put the service together. */
const isFloor = (target: string): boolean => /^src\/(kernel|config)\//.test(target)
const HTTP = ['http']

/** Besides the floor and `db`. A new folder gets a line here, which is the moment to think about its direction. */
const MAY_IMPORT: Record<string, string[]> = {
  kernel: [],
  config: [],
  db: [],
  'db/embedded': [],
  http: [],
  // what talks to the outside knows nothing of requests
  chain: [],
  channels: [],
  'channels/crypto': ['chain', 'channels'],
  // mails about a change to where money goes, beside its entry
  audit: [...HTTP, 'mail', 'texts'],
  // whether a purchase has money: of the chain only what its scanner wrote down, and whose a transfer is
  companies: [...HTTP, 'audit', 'chain/deposits/reservation-queries', 'chain/transfer-queries', 'mail'],
  keys: HTTP,
  // asks over HTTP as channels do
  screening: [...HTTP, 'audit', 'channels/provider-errors', 'channels/provider-http', 'companies', 'mail'],
  // who decided about money stands in the audit log, and still had the rights; whose a transfer is, the chain's
  // reservations say; two accounts of one making are one person
  ledger: [
    ...HTTP,
    'audit',
    'chain/deposits/reservation-queries',
    'chain/transfer-queries',
    // whose channels are paid at our addresses
    'channels/channel',
    'companies/company-scope',
    'mail',
    'screening',
    'users/maker-queries',
  ],
  // mails and pages share the words of a language, which has one for each role
  mail: [...HTTP, 'texts'],
  texts: ['channels', 'http/actor'],
  // what the operator sees of the chains and of the money that left
  operator: [...HTTP, 'audit', 'chain', 'ledger'],
  rates: HTTP,
  webhooks: [...HTTP, 'audit', 'companies', 'mail'],
  // of the mails only what a manager is told of a day
  orders: [
    ...HTTP,
    'chain/deposits/reservation-queries',
    'channels',
    'companies',
    'ledger',
    'mail/daily-mails',
    'rates',
    // whose reader may learn what a screening says
    'screening/screening-words',
    'webhooks',
  ],
  // who wrote and who removed a note stands in the audit log
  'orders/notes': [...HTTP, 'audit', 'companies/company-scope', 'orders'],
  payers: [...HTTP, 'audit', 'companies/company-scope', 'orders', 'rates'],
  compliance: [...HTTP, 'audit', 'companies', 'mail', 'orders', 'payers', 'rates', 'webhooks'],
  'compliance/sumsub': ['compliance/identity-provider'],
  // of the chain only what its scanner wrote down, and whose a transfer is
  payments: [
    ...HTTP,
    'audit',
    'companies',
    'chain/deposits/reservation-queries',
    'chain/transfer-queries',
    'channels',
    'compliance',
    'ledger',
    'mail',
    'orders',
    'payers',
    'rates',
    'screening',
  ],
  refunds: [
    ...HTTP,
    'audit',
    'channels',
    'companies/company-scope',
    'ledger',
    'orders',
    'payers',
    'payments',
    'screening',
    'users/maker-queries',
  ],
  'request-log': [...HTTP, 'companies'],
  users: [...HTTP, 'audit', 'companies', 'keys', 'mail'],
  sessions: [...HTTP, 'audit', 'companies', 'keys', 'mail', 'users'],
  tills: [...HTTP, 'audit', 'companies', 'sessions', 'users'],
  pages: [
    ...HTTP,
    'channels',
    // receipts are signed
    'keys',
    'companies',
    'compliance',
    'mail',
    'orders',
    'payers',
    'payments',
    // limits in EUR
    'rates',
    'refunds',
    'sessions',
    'texts',
    'users',
  ],
}

function importsOf(file: string): string[] {
  const found = [...read(file).matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)]
  return found.map(([, specifier = '']) => join(dirname(file), specifier))
}

/** The most exact line of the table for a file: `channels/crypto` before `channels`. */
function folderOf(file: string): string | undefined {
  const parts = dirname(file).split('/').slice(1)
  for (let length = parts.length; length > 0; length -= 1) {
    const folder = parts.slice(0, length).join('/')
    if (folder in MAY_IMPORT) return folder
  }
  return undefined
}

const isUnder = (target: string, place: string): boolean =>
  target === `src/${place}.ts` || target.startsWith(`src/${place}/`)

/** What starts the program imports every room, and no room imports it. */
const isAssembly = (file: string): boolean => dirname(file) === 'src' || /^src\/(assembly|checks|commands)\//.test(file)

test('imports point one way', () => {
  const wrong: string[] = []
  for (const file of sources.filter((source) => source.split('/').length > 2 && !isAssembly(source))) {
    const folder = folderOf(file)
    const isGround = folder === 'kernel' || folder === 'config'
    const allowed = folder === undefined ? [] : [...(isGround ? [] : ['db']), folder, ...(MAY_IMPORT[folder] ?? [])]
    if (folder === undefined) wrong.push(`${file}: its folder has no line in MAY_IMPORT`)
    for (const target of importsOf(file)) {
      if (folder === 'kernel' && !target.startsWith('src/kernel/')) wrong.push(`${file} imports ${target}`)
      else if (!isFloor(target) && !allowed.some((place) => isUnder(target, place)))
        wrong.push(`${file} imports ${target}`)
    }
  }
  assert.deepEqual(wrong, [])
})

/** More than that, and a file puts together what should be put together in parts. */
const MAX_IMPORTS = 35

test(`no file imports more than ${MAX_IMPORTS} others`, () => {
  const wrong = sources.flatMap((file) => {
    const count = new Set(importsOf(file)).size
    return count > MAX_IMPORTS ? [`${file}: ${count}`] : []
  })
  assert.deepEqual(wrong, [])
})

test('routes are known to the assembly alone', () => {
  const wrong = sources
    .filter((file) => !isAssembly(file))
    .flatMap((file) =>
      importsOf(file).flatMap((target) => (target.endsWith('-routes.ts') ? [`${file} imports ${target}`] : [])),
    )
  assert.deepEqual(wrong, [])
})

test('what talks over HTTP shares no code: service, sandbox, SDK and pages of the browser', () => {
  const apart: [string, RegExp][] = [
    ['src', /^(sandbox|sdk|web|test|simulation|bench|scripts)\//],
    ['sandbox', /^(src|sdk|web|test|bench|scripts)\//],
    ['sdk', /^(src|sandbox|cli|web|test|bench|scripts)\//],
    ['cli', /^(src|sandbox|web|test|bench|scripts)\//],
    ['web', /^(src|sandbox|test|bench|scripts)\//],
  ]
  const wrong = apart.flatMap(([place, forbidden]) =>
    programs
      .filter((file) => file.startsWith(`${place}/`) && !isTest(file))
      .flatMap((file) =>
        importsOf(file)
          .filter((target) => forbidden.test(target))
          .map((target) => `${file} imports ${target}`),
      ),
  )
  assert.deepEqual(wrong, [])
})

/* ---- what may stand where ---- */

test('only one function writes the status of an order, and only the transition calls it', () => {
  const writers = sources.filter((file) => /update orders\b(?!_)[\s\S]{0,200}?\bstatus =/.test(read(file)))
  assert.deepEqual(writers, ['src/orders/order-queries.ts'])
  const inserts = sources.filter((file) => /insert into orders\b(?!_)/.test(read(file)))
  assert.deepEqual(inserts, ['src/orders/order-insert-queries.ts'])
  const callers = sources.filter((file) => /\bupdateOrderStatus\b/.test(read(file)))
  assert.deepEqual(callers, ['src/orders/order-queries.ts', 'src/orders/order-transition.ts'])
})

test('SQL stands in query files', () => {
  const wrong = findLines(
    sources.filter((file) => !file.endsWith('-queries.ts') && !file.startsWith('src/db/')),
    (line) => /\bsql`/.test(line),
  )
  assert.deepEqual(wrong, [])
})

test('no number holds an amount', () => {
  const isBody = (line: string): boolean => line.includes('readAmount(amount: number | string')
  const wrong = findLines(sources, (line) => /\b\w*([aA]mount|[uU]nits)\??: number\b/.test(line) && !isBody(line))
  assert.deepEqual(wrong, [])
})

/** Decided already, but the room that uses it is still being furnished: take it out of here when it is. */
const AWAITED = ['channels.callback']

test('every permission has a route, and every error code is thrown somewhere', () => {
  const text = sources
    .filter((file) => !/src\/(errors|http\/permissions)\.ts$/.test(file))
    .map(read)
    .join('\n')
  const groups = new Set([...text.matchAll(/permission: `(\w+)\.\$\{/g)].map(([, group]) => group))
  const unused = Object.keys(PERMISSIONS).filter(
    (name) => !text.includes(`'${name}'`) && !groups.has(name.split('.')[0] ?? ''),
  )
  const asked = [...text.matchAll(/permission: '([\w.]+)'/g)].map(([, name = '']) => name)
  const unknown = asked.filter((name) => !Object.hasOwn(PERMISSIONS, name))
  const silent = Object.keys(CATALOGUE).filter(
    (code) => !text.includes(`'${code}'`) && !read('src/kernel/errors.ts').includes(`AppError('${code}'`),
  )
  const orphans = [...unused, ...unknown, ...silent].filter((name) => !AWAITED.includes(name))
  assert.deepEqual(orphans, [])
})

/* ---- sizes ---- */

type Block = { place: string; from: number; to: number }

/** Functions with a block body, by indentation: Biome formats, so a block ends where its indentation comes back. */
function blocksOf(file: string): Block[] {
  const lines = read(file).split('\n')
  const opens = /(=>|\)|\): .+) \{$/
  const isOther = /^\s*(\} )?(if|else|for|while|switch|catch|return new|class|export class|try)\b/
  return lines.flatMap((line, from) => {
    if (!opens.test(line) || isOther.test(line)) return []
    const indent = line.search(/\S/)
    const isEnd = (later: string): boolean => later.search(/\S/) === indent && later.trim().startsWith('}')
    const length = lines.slice(from + 1).findIndex(isEnd) + 1
    return [{ place: `${file}:${from + 1} ${line.trim().slice(0, 80)}`, from, to: from + length }]
  })
}

/** Lines of a function without those of the functions inside it: a factory is as long as what it says itself. */
function ownLines(block: Block, blocks: readonly Block[]): number {
  const inner = new Set<number>()
  for (const { from, to } of blocks) {
    if (from > block.from && to < block.to) for (let line = from; line <= to; line += 1) inner.add(line)
  }
  return block.to - block.from + 1 - inner.size
}

const tooLong = (file: string): string[] => {
  const blocks = blocksOf(file)
  return blocks.filter((block) => ownLines(block, blocks) > 70 && !isList(block.place)).map(({ place }) => place)
}

/** A list of routes is as long as the service has routes; each handler is measured by itself. */
const isList = (place: string): boolean => place.includes('FastifyPluginAsync')

test('no function is longer than 70 lines, no file longer than 500', () => {
  const typescript = programs.filter((file) => /\.tsx?$/.test(file))
  // one entry for each endpoint of the service, read as a list
  const isTable = (file: string): boolean => file === 'test/harness/permission-cases.ts'
  const files = typescript.filter((file) => read(file).split('\n').length > 500 && !isTable(file))
  assert.deepEqual([...typescript.flatMap(tooLong), ...files], [])
})

test('no line is longer than 120 characters, unless it holds a text that is not broken', () => {
  // pages carry their style and script as one text each
  const files = programs.filter((file) => !/-(style|script)\.ts$/.test(file))
  const wrong = findLines(files, (line, file) => {
    const isComment = /^\s*(\/\*|\*( |$)|\/\/)/.test(line)
    // statements stand as they are read, also those that benches and tests insert by the thousand
    const isSql = (file.endsWith('-queries.ts') || /^(bench|test)\//.test(file)) && !isComment
    return line.length > 120 && (isComment || (!/['"`]/.test(line) && !isSql))
  })
  assert.deepEqual(wrong, [])
})

/* ---- what must not be in the project ---- */

test('the lock file names no download address, so that any registry serves', () => {
  assert.deepEqual(
    findLines(['package-lock.json'], (line) => /"resolved":/.test(line)),
    [],
  )
})

test('every package in the lock file has an integrity hash: without it npm installs whatever it is given', () => {
  type Package = { integrity?: string; inBundle?: boolean }
  const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, Package> }
  // what travels inside another package is covered by that one's hash
  const names = Object.keys(packages).filter((name) => name.startsWith('node_modules/') && !packages[name]?.inBundle)
  assert.ok(names.length > 100, 'the packages of the lock file are found')
  assert.deepEqual(
    names.filter((name) => !/^sha512-/.test(packages[name]?.integrity ?? '')),
    [],
  )
})

test('no path of a machine, and nothing left to be done', () => {
  const texts = [...programs, ...list('*.{md,json}', 'docs/**/*.md', 'migrations/*.sql', '.env.example')]
  const homes = new RegExp(String.raw`(^|[\s'"\x60(=])/(${['home', 'Users', 'work', 'root'].join('|')})/\w`)
  const left = new RegExp(
    `\\b(${['TO', 'FIX'].map((start) => `${start}${start === 'TO' ? 'DO' : 'ME'}`).join('|')})\\b`,
  )
  const wrong = findLines(
    texts.filter((file) => file !== 'package-lock.json'),
    (line) => homes.test(line) || left.test(line),
  )
  assert.deepEqual(wrong, [])
})

test('what is cited can be read here: files that exist, and no numbers of a document that is elsewhere', () => {
  // what was, and what is to be written
  const documents = list('*.md', 'docs/**/*.md').filter((file) => !/^CHANGELOG|adding-a-channel/.test(file))
  const cites = new RegExp(`\\b(${['decisions', 'interface'].join('|')}) \\d`)
  assert.deepEqual(
    findLines([...programs, ...documents], (line) => cites.test(line)),
    [],
  )
  const missing = documents.flatMap((file) =>
    [...read(file).matchAll(/`((?:[\w.-]+\/)+[\w.-]+\.(?:ts|tsx|js|cjs|php|py|sh|yaml|sql))`/g)].flatMap(
      ([, cited = '']) =>
        SKIPPED.test(`/${cited}`) || [cited, `src/${cited}`].some((path) => existsSync(join(ROOT, path)))
          ? []
          : [`${file}: ${cited}`],
    ),
  )
  assert.deepEqual(missing, [])
})

/* ---- words ---- */

/** Words in backticks: those of a table's last column, and of the sentence below the table. */
function wordsNotUsed(): string[] {
  const lines = read('docs/glossary.md').split('\n')
  const cells = lines.filter((line) => /^\| (?!Word)/.test(line)).map((line) => line.split('|').at(-2) ?? '')
  const below = lines.filter((line) => line.startsWith('Words that say nothing'))
  return [...cells, ...below].flatMap((text) => [...text.matchAll(/`(\w+)`/g)].map(([, word = '']) => word))
}

test('no exported name contains a word that the glossary does not use for it', () => {
  const refused = wordsNotUsed()
  assert.ok(refused.includes('visit') && refused.includes('scene'), 'the words are read from the glossary')
  const wrong = list('{src,sandbox,sdk,cli}/**/*.ts').flatMap((file) => {
    const exports = [...read(file).matchAll(/^export (?:async )?(?:function|const|class|type|interface) (\w+)/gm)]
    return exports.flatMap(([, name = '']) => {
      const parts = name.split(/(?<=[a-z0-9])(?=[A-Z])|_/).map((part) => part.toLowerCase())
      return parts.some((part) => refused.includes(part)) ? [`${file} ${name}`] : []
    })
  })
  assert.deepEqual(wrong, [])
})

/* ---- documents in step with the code ---- */

test('the printed documents are what the code prints', () => {
  const differ = Object.entries(printDocs()).flatMap(([file, text]) => (read(file) === text ? [] : [file]))
  assert.deepEqual(differ, [], 'run: npm run docs')
})

test('each migration has a number of its own, so that their order is in sight', () => {
  const numbers = list('migrations/*.sql').map((path) => basename(path).slice(0, 4))
  assert.deepEqual(
    numbers.filter((number, index) => numbers.indexOf(number) !== index),
    [],
  )
})

test('the built back office follows from its sources', () => {
  assert.equal(read('web/office/dist/sources.txt').trim(), hashSources(), 'run: npm run build:office')
})

test('.env.example names what each payment channel needs, and docs/sandbox.md every story and magic amount', () => {
  const required = CHANNEL_KINDS.flatMap(({ env, settings }) =>
    Object.keys(settings).flatMap((name) => (settings[name]?.fallback === undefined ? [`CHANNEL_${env}_${name}`] : [])),
  )
  const example = read('.env.example')
  const unset = required.filter((name) => !new RegExp(`^# ?${name}=`, 'm').test(example))
  const sandbox = read('docs/sandbox.md')
  const untold = STORIES.filter((story) => !sandbox.includes(`\`${story}\``))
  const told = Object.entries(MAGIC_CENTS).map(([cents, story]) => `| \`${cents}\` | \`${story}\` |`)
  const silent = told.filter((row) => !sandbox.includes(row))
  assert.deepEqual({ unset, untold, silent }, { unset: [], untold: [], silent: [] })
})

test('.env.example names every variable, and every dependency has its sentence', () => {
  const example = read('.env.example')
  const names = TOPICS.flatMap(({ settings }) => settings.map(({ name }) => name))
  assert.ok(names.length > 30, 'the names are read from the settings')
  const missing = [...new Set(names)].filter((name) => !new RegExp(`^#? ?${name}=`, 'm').test(example))
  const { dependencies, devDependencies, optionalDependencies } = JSON.parse(read('package.json'))
  const all = Object.keys({ ...dependencies, ...devDependencies, ...optionalDependencies })
  const documented = read('docs/dependencies.md')
  const silent = all.filter((name) => !documented.includes(`\`${name}\``))
  assert.deepEqual({ missing, silent }, { missing: [], silent: [] })
})
