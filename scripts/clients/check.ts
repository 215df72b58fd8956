import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readOpenApi } from '../office-api.ts'
import { LANGUAGES, type Language, PACKAGES } from './languages.ts'
import { lowerSchemas } from './lower.ts'
import { run } from './run.ts'

const USAGE = `npm run check:clients             clients in four languages, made from the OpenAPI document and compiled
npm run check:clients -- --keep   leaves the folder with the clients
The generators come from the npm registry into a folder of their own; none of their install scripts runs.
Fails if a client does not compile or lacks an operation, and if fewer than three languages could be compiled.`

const NEEDED_LANGUAGES = 3
const SHOWN_LINES = 20

type Outcome = 'compiled' | 'left out' | 'FAILED'

/** Generators spell an operation addPasskey, AddPasskey or add_passkey. */
const flatten = (text: string): string => text.replaceAll('_', '').toLowerCase()

async function prepare(folder: string): Promise<string[]> {
  const document = await readOpenApi()
  const save = (name: string, value: unknown) => writeFileSync(join(folder, name), JSON.stringify(value))
  save('openapi.json', document)
  save('lowered.json', lowerSchemas(document))
  save('package.json', { private: true, dependencies: PACKAGES })
  run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder })
  const files = ['--input', 'lowered.json', '--output', 'openapi-3.0.json']
  run('node_modules/.bin/openapi-down-convert', files, { cwd: folder })
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods))
  return operations.flatMap(({ operationId }) => operationId ?? [])
}

function compileClient(language: Language, folder: string, operations: readonly string[]): string {
  const client = join(folder, language.name.toLowerCase())
  mkdirSync(client)
  language.generate(folder, client)
  const files = globSync(language.sources, { cwd: client })
  const text = flatten(files.map((file) => readFileSync(join(client, file), 'utf8')).join('\n'))
  const lacking = operations.filter((operation) => !text.includes(flatten(operation)))
  if (lacking.length > 0) throw new Error(`${language.generator} left out ${lacking.join(', ')}`)
  language.compile(client)
  return `${language.generator}, ${files.length} ${files.length === 1 ? 'file' : 'files'}, ${language.compiler}`
}

function checkLanguage(language: Language, folder: string, operations: readonly string[]): Outcome {
  const print = (outcome: Outcome, detail: string): Outcome => {
    console.log(`${language.name.padEnd(11)} ${outcome.padEnd(9)} ${detail}`)
    return outcome
  }
  const missing = language.missing(folder)
  if (missing) return print('left out', missing)
  try {
    return print('compiled', compileClient(language, folder, operations))
  } catch (error) {
    return print('FAILED', String(error).split('\n').slice(0, SHOWN_LINES).join('\n'))
  }
}

if (process.argv.includes('--help')) {
  console.log(USAGE)
  process.exit()
}
const folder = mkdtempSync(join(tmpdir(), 'comptoir-clients-'))
try {
  const operations = await prepare(folder)
  console.log(`Clients of ${operations.length} operations, from the OpenAPI document of this checkout\n`)
  const outcomes = LANGUAGES.map((language) => checkLanguage(language, folder, operations))
  const compiled = outcomes.filter((outcome) => outcome === 'compiled').length
  console.log(`\n${compiled} of ${LANGUAGES.length} languages compile; ${NEEDED_LANGUAGES} are needed.`)
  if (outcomes.includes('FAILED') || compiled < NEEDED_LANGUAGES) process.exitCode = 1
} finally {
  if (process.argv.includes('--keep')) console.log(`The clients are in ${folder}.`)
  else rmSync(folder, { recursive: true, force: true })
}
