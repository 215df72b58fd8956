import { Readable } from 'node:stream'
import { runDeveloper } from '../../cli/main.ts'
import { answerCommands } from './answer-commands.ts'

/* Runs developer's commands one after another, as `openDeveloper` asks for them. */
answerCommands(async ({ args, input = '' }) => {
  process.exitCode = undefined
  Object.defineProperty(process, 'stdin', { value: Readable.from(input === '' ? [] : [input]), configurable: true })
  return await runDeveloper([...args])
})
