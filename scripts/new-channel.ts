import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Script } from 'node:vm'

/*
 * npm run new:channel -- <id> "<Name>" [base address]
 * Writes a payment channel that works at once against an imitation of a plain provider: docs/adding-a-channel.md
 */
const ROOT = join(import.meta.dirname, '..')
const TEMPLATES = join(import.meta.dirname, 'new-channel')
const USAGE = 'npm run new:channel -- <id> "<Name>" [base address], for example: acme "Acme Pay" https://api.acme.test'
const BIOME = 'node_modules/.bin/biome'
/** Without the rule that reads the types of every package first, for seconds; it mends nothing by itself. */
const QUICK = '--config-path=scripts/new-channel/without-types.json'

class BadInput extends Error {}

/** How one channel is called: `acme-pay`, ACME_PAY, acmePay, AcmePay, "Acme Pay". */
type Names = { id: string; env: string; camel: string; pascal: string; name: string; baseUrl: string }

const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')
const template = (name: string): string => readFileSync(join(TEMPLATES, `${name}.tpl`), 'utf8')

function checkWord(camel: string): void {
  const used = new RegExp(`\\b${camel}\\b`)
  if ([template('adapter.ts'), template('test.ts'), read('src/channels/kinds.ts')].some((text) => used.test(text)))
    throw new BadInput(`The code of a channel uses the word ${camel} already. Choose another id.`)
  try {
    new Script(`'use strict'; const ${camel} = 0`)
  } catch {
    throw new BadInput(`${camel} is a word of JavaScript. Choose another id.`)
  }
}

function readNames([id = '', name = '', baseUrl, ...rest]: readonly string[]): Names {
  if (id === '' || name === '' || rest.length > 0) throw new BadInput(`Usage: ${USAGE}`)
  if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(id) || id.length < 2 || id.length > 30)
    throw new BadInput(
      `The id must be small letters, digits and hyphens, 2 to 30, such as acme or acme-pay; not "${id}".`,
    )
  if (!/^[\p{L}\p{N}][\p{L}\p{N} .&+-]{0,29}$/u.test(name))
    throw new BadInput(
      `The name must be up to 30 letters, digits, blanks and . & + -, such as "Acme Pay"; not "${name}".`,
    )
  if (baseUrl !== undefined && !(URL.canParse(baseUrl) && /^https?:\/\/[^'"`\\$\s]+$/.test(baseUrl)))
    throw new BadInput(`The base address must begin with https://; not "${baseUrl}".`)
  if (new RegExp(`^  '${id}',$`, 'm').test(read('src/channels/channel.ts')))
    throw new BadInput(`There is a channel ${id} already: src/channels/${id}.`)
  const camel = id.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())
  checkWord(camel)
  const pascal = camel.replace(/^./, (letter) => letter.toUpperCase())
  const env = id.toUpperCase().replaceAll('-', '_')
  return { id, env, camel, pascal, name, baseUrl: baseUrl?.replace(/\/+$/, '') ?? `https://api.${id}.example` }
}

function fill(text: string, { id, env, camel, pascal, name, baseUrl }: Names): string {
  const words: Record<string, string> = {
    ID: id,
    ENV: env,
    CAMEL: camel,
    PASCAL: pascal,
    NAME: name,
    BASE_URL: baseUrl,
  }
  return text.replace(/__(BASE_URL|[A-Z]+?)__/g, (whole, word: string) => words[word] ?? whole)
}

function newFiles(names: Names): Map<string, string> {
  const { id } = names
  const parts = ['signature', 'api', 'status-map', 'callback', 'refunds', 'adapter']
  const places: [string, string][] = [
    ...parts.map((part): [string, string] => [`${part}.ts`, `src/channels/${id}/${part}.ts`]),
    ['test.ts', `src/channels/${id}/${id}.test.ts`],
    ['imitation.ts', `sandbox/providers/${id}.ts`],
    ['contract.md', `docs/channels/${id}.md`],
  ]
  const taken = places.map(([, file]) => file).filter((file) => existsSync(join(ROOT, file)))
  if (taken.length > 0) throw new BadInput(`${taken.join(', ')} exists already. Move it away, or choose another id.`)
  return new Map(places.map(([from, file]) => [file, fill(template(from), names)]))
}

/** Lines that go in front of the first `before` that follows `after`; both are lines that every version has. */
type Edit = { file: string; after: RegExp; before: RegExp; lines: string }

const TRAITS = "closes: true, refunds: 'provider', afterTimeout: 'the same payment'"

const editsFor = ({ id, camel, pascal, name }: Names): Edit[] => [
  {
    file: 'src/channels/channel.ts',
    after: /^export const CHANNEL_IDS = \[$/m,
    before: /^\] as const$/m,
    lines: `'${id}',`,
  },
  {
    file: 'src/channels/kinds.ts',
    after: /^/,
    before: /^import /m,
    lines: `import { ${camel} } from './${id}/adapter.ts'`,
  },
  { file: 'src/channels/kinds.ts', after: /^export const CHANNEL_KINDS\b.*\[$/m, before: /^\]$/m, lines: `${camel},` },
  {
    file: 'sandbox/providers/imitations.ts',
    after: /^/,
    before: /^import /m,
    lines: `import { open${pascal} } from './${id}.ts'`,
  },
  {
    file: 'sandbox/providers/imitations.ts',
    after: /^export const IMITATIONS\b.*\[$/m,
    before: /^\]$/m,
    lines: `open${pascal},`,
  },
  {
    file: 'src/channels/channel-names.ts',
    after: /^export const CHANNEL_NAMES\b.*\{$/m,
    before: /^\}$/m,
    lines: `'${id}': '${name}',`,
  },
  {
    file: 'test/channels.test.ts',
    after: /^const CHANNELS\b.*\{$/m,
    before: /^\}$/m,
    lines: `'${id}': { provider: '${id}', ${TRAITS} },`,
  },
  {
    file: 'test/channels.test.ts',
    after: /^const EXPECTED_DECLINE\b.*\{$/m,
    before: /^\}$/m,
    lines: `'${id}': 'ERROR',`,
  },
]

function place(text: string, { file, after, before, lines }: Edit): string {
  const start = after.exec(text)
  const from = start ? start.index + start[0].length : 0
  const end = start ? before.exec(text.slice(from)) : null
  if (!end)
    throw new BadInput(
      `${file} was changed so that this line has no place in it any more: ${lines} Put the place back, or mend editsFor ` +
        'in scripts/new-channel.ts. Nothing was written.',
    )
  const at = from + end.index
  return `${text.slice(0, at)}${lines}\n${text.slice(at)}`
}

/** Every changed file with its new text; nothing is written here. */
function changedFiles(names: Names): Map<string, string> {
  const texts = new Map<string, string>()
  for (const edit of editsFor(names)) texts.set(edit.file, place(texts.get(edit.file) ?? read(edit.file), edit))
  return texts
}

function run(args: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}\n${stdout}${stderr}`)
}

/** @throws BadInput before anything is written */
function makeChannel(args: readonly string[]): void {
  const names = readNames(args)
  if (!existsSync(join(ROOT, BIOME))) throw new BadInput('Run "npm ci" first: the new files are formatted with Biome.')
  const made = newFiles(names)
  const changed = changedFiles(names)
  for (const [file, text] of [...made, ...changed]) {
    mkdirSync(dirname(join(ROOT, file)), { recursive: true })
    writeFileSync(join(ROOT, file), text)
  }
  const code = [...made.keys(), ...changed.keys()].filter((file) => file.endsWith('.ts'))
  run([BIOME, 'check', '--write', QUICK, ...code])
  run(['scripts/print-docs.ts'])
  const { id, name } = names
  console.log(`${name} is a channel now. Written:`)
  for (const file of made.keys()) console.log(`  ${file}`)
  console.log(`Changed: ${[...changed.keys()].join(', ')}, docs/channels/settings.md`)
  console.log(`Try it:  npm test -- src/channels/${id}/${id}.test.ts`)
  console.log(`         CHANNELS=${id} npm test -- test/channels.test.ts`)
  console.log(`Next:    docs/channels/${id}.md, row by row, with the provider’s document open.`)
}

try {
  makeChannel(process.argv.slice(2))
} catch (error) {
  if (!(error instanceof BadInput)) throw error
  console.error(error.message)
  process.exitCode = 1
}
