import { spawnSync } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

const require = createRequire(import.meta.url)
const ROOT = join(import.meta.dirname, '../..')
const SETTINGS = {
  optimizer: { enabled: true, runs: 200 },
  evmVersion: 'cancun',
  outputSelection: { '*': { '*': ['evm.bytecode.object'] } },
}

const CONTRACTS = ['TestUSDC', 'SanctionsOracle'] as const
type Contract = (typeof CONTRACTS)[number]
type Shipped = { key: string; code: string }

export const SHIPPED = join(import.meta.dirname, 'bytecode.json')

type Output = {
  errors?: { severity: string; formattedMessage: string }[]
  contracts?: Record<string, Record<string, { evm: { bytecode: { object: string } } }>>
}

/** The first writable folder is used: an installation may be read-only. */
const CACHE_FOLDERS = [join(ROOT, 'node_modules/.cache/contracts'), join(tmpdir(), 'comptoir-contracts')]

const readText = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

function keep(name: string, text: string): void {
  for (const folder of CACHE_FOLDERS) {
    try {
      mkdirSync(folder, { recursive: true })
      const draft = join(folder, `${name}.${randomUUID()}`)
      writeFileSync(draft, text)
      renameSync(draft, join(folder, name))
      return
    } catch {
      // try the next folder; without any, the contract is compiled at each start
    }
  }
}

type Compiler = { compile(input: string, callbacks: object): string }

/** Runs the compiler, in this process. @throws Error with its faults */
function compile(name: string): string {
  const file = `${name}.sol`
  const content = readFileSync(join(import.meta.dirname, file), 'utf8')
  const input = { language: 'Solidity', sources: { [file]: { content } }, settings: SETTINGS }
  const importFile = (path: string) => ({ contents: readFileSync(require.resolve(path), 'utf8') })
  const compiler = require('solc') as Compiler
  const output = JSON.parse(compiler.compile(JSON.stringify(input), { import: importFile })) as Output
  const faults = (output.errors ?? []).filter((error) => error.severity === 'error')
  const code = output.contracts?.[file]?.[name]?.evm.bytecode.object
  if (faults.length > 0 || !code) {
    throw new Error(`${file} does not compile:\n${faults.map((fault) => fault.formattedMessage).join('\n')}`)
  }
  return `0x${code}`
}

/**
 * Compiles in a separate process: the compiler never frees its 90 MB, and ends its process on any unhandled rejection.
 */
function build(name: string): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [import.meta.filename, name], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${name}.sol was not compiled:\n${stderr}`)
  return stdout
}

/** Hash of everything that determines the code: source, compiler and library with their versions, settings. */
function keyOf(name: Contract): string {
  const source = readFileSync(join(import.meta.dirname, `${name}.sol`), 'utf8')
  const versions = ['solc', '@openzeppelin/contracts'].map((dependency) => {
    const folder = dirname(require.resolve(`${dependency}/package.json`))
    return (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }).version
  })
  return createHash('sha256')
    .update(JSON.stringify([source, versions, SETTINGS]))
    .digest('hex')
}

/**
 * Creation code of a contract in this folder, without constructor arguments, as 0x-hex. It is stored next to the
 * contract, under the hash of everything that it depends on; after a change it is compiled at first use (about 3 s of
 * CPU) and cached.
 */
function bytecodeOf(name: Contract): string {
  const key = keyOf(name)
  const { [name]: shipped } = JSON.parse(readFileSync(SHIPPED, 'utf8')) as Partial<Record<Contract, Shipped>>
  if (shipped?.key === key) return shipped.code
  const file = `${key}.hex`
  const cached = CACHE_FOLDERS.map((folder) => readText(join(folder, file))).find(
    (text) => text !== undefined && /^0x[0-9a-f]+$/.test(text),
  )
  if (cached !== undefined) return cached
  const code = build(name)
  keep(file, code)
  return code
}

export const testUsdcBytecode = (): string => bytecodeOf('TestUSDC')
export const sanctionsOracleBytecode = (): string => bytecodeOf('SanctionsOracle')

/** The required content of `bytecode.json`. */
export const printBytecode = (): string => {
  const all = CONTRACTS.map((name) => [name, { key: keyOf(name), code: build(name) } satisfies Shipped])
  return `${JSON.stringify(Object.fromEntries(all), null, 2)}\n`
}

if (import.meta.main) {
  const [name = ''] = process.argv.slice(2)
  // node sandbox/chain/compile.ts --write, after a change of a contract, the compiler or the library
  if (name === '--write') writeFileSync(SHIPPED, printBytecode())
  else process.stdout.write(compile(name))
}
