import { pathToFileURL } from 'node:url'
import { answerCommands, type WantedCommand } from './answer-commands.ts'
import { MAIN } from './programs.ts'

/* Runs commands of the service's bin one after another, as `openOperator` asks for them. */
class Exit extends Error {
  readonly code: number
  constructor(code: number) {
    super(`exit code ${code}`)
    this.code = code
  }
}

process.exit = ((code: number) => {
  throw new Exit(code)
}) as typeof process.exit

/** The bin's top level runs again under another address; what it imports is loaded already. */
async function run({ args }: WantedCommand, turn: number): Promise<number> {
  process.argv = [process.execPath, MAIN, ...args]
  try {
    await import(`${pathToFileURL(MAIN).href}?turn=${turn}`)
  } catch (error) {
    if (error instanceof Exit) return error.code
    throw error
  }
  throw new Error('It goes on, and is no command: start it in a process of its own.')
}

answerCommands(run)
