import { pathToFileURL } from 'node:url'
import { inspect } from 'node:util'
import { MAIN } from './programs.ts'

/* Runs commands of the service's bin one after another, as `openOperator` asks for them. */
export type WantedCommand = { args: readonly string[]; env: Record<string, string>; cwd: string }

const exit = process.exit.bind(process)

class Exit extends Error {
  readonly code: number
  constructor(code: number) {
    super(`exit code ${code}`)
    this.code = code
  }
}

/** The bin's top level runs again under another address; what it imports is loaded already. */
async function run({ args, env, cwd }: WantedCommand, turn: number): Promise<number> {
  process.argv = [process.execPath, MAIN, ...args]
  process.env = env
  process.chdir(cwd)
  try {
    await import(`${pathToFileURL(MAIN).href}?turn=${turn}`)
  } catch (error) {
    if (error instanceof Exit) return error.code
    throw error
  }
  throw new Error('It goes on, and is no command: start it in a process of its own.')
}

let [out, err, turn] = ['', '', 0]
process.stdout.write = (text: string | Uint8Array): boolean => {
  out += String(text)
  return true
}
process.stderr.write = (text: string | Uint8Array): boolean => {
  err += String(text)
  return true
}
process.exit = ((code: number) => {
  throw new Exit(code)
}) as typeof process.exit

process.on('disconnect', () => exit(0))
process.on('message', async (wanted: WantedCommand) => {
  ;[out, err, turn] = ['', '', turn + 1]
  const code = await run(wanted, turn).catch((error: unknown) => {
    err += inspect(error)
    return null
  })
  process.send?.({ code, out, err })
})
