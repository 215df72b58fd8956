import { createHash, randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

const require = createRequire(import.meta.url)
const ROOT = join(import.meta.dirname, '../..')
const SETTINGS = {
  optimizer: { enabled: true, runs: 200 },
  evmVersion: 'prague',
  outputSelection: { '*': { '*': ['evm.bytecode.object'] } },
}

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
      // the next folder; without any, the contract is compiled at each start
    }
  }
}

/** Loading the compiler costs a second and leaves listeners on the process that would end it on any stray rejection. */
function loadCompiler(): { compile(input: string, callbacks: object): string } {
  const events = ['uncaughtException', 'unhandledRejection'] as const
  const before = events.map((event) => process.rawListeners(event))
  const compiler = require('solc') as { compile(input: string, callbacks: object): string }
  for (const [index, event] of events.entries()) {
    for (const listener of process.rawListeners(event)) {
      if (!before[index]?.includes(listener)) process.removeListener(event, listener as () => void)
    }
  }
  return compiler
}

function build(name: string, source: string): string {
  const file = `${name}.sol`
  const input = { language: 'Solidity', sources: { [file]: { content: source } }, settings: SETTINGS }
  const importFile = (path: string) => ({ contents: readFileSync(require.resolve(path), 'utf8') })
  const output = JSON.parse(loadCompiler().compile(JSON.stringify(input), { import: importFile })) as Output
  const faults = (output.errors ?? []).filter((error) => error.severity === 'error')
  const code = output.contracts?.[file]?.[name]?.evm.bytecode.object
  if (faults.length > 0 || !code) {
    throw new Error(`${file} does not compile:\n${faults.map((fault) => fault.formattedMessage).join('\n')}`)
  }
  return `0x${code}`
}

/**
 * Creation code of a contract in this folder, without constructor arguments, as 0x-hex. Compiled at first use (about
 * 3 s of CPU), later read from a cache under the hash of everything it depends on.
 */
function bytecodeOf(name: 'TestUSDC' | 'SanctionsOracle'): string {
  const source = readFileSync(join(import.meta.dirname, `${name}.sol`), 'utf8')
  const versions = ['solc', '@openzeppelin/contracts'].map((dependency) => {
    const folder = dirname(require.resolve(`${dependency}/package.json`))
    return (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }).version
  })
  const file = `${createHash('sha256')
    .update(JSON.stringify([source, versions, SETTINGS]))
    .digest('hex')}.hex`
  const cached = CACHE_FOLDERS.map((folder) => readText(join(folder, file))).find(
    (text) => text !== undefined && /^0x[0-9a-f]+$/.test(text),
  )
  if (cached !== undefined) return cached
  const code = build(name, source)
  keep(file, code)
  return code
}

export const testUsdcBytecode = (): string => bytecodeOf('TestUSDC')
export const sanctionsOracleBytecode = (): string => bytecodeOf('SanctionsOracle')
