import { isComptoirError } from '../sdk/index.ts'
import { type Command, printable, runCommand, UsageError } from './command.ts'
import { openCompletion } from './commands/completion.ts'
import { explain } from './commands/explain.ts'
import { fixtures } from './commands/fixtures.ts'
import { listen } from './commands/listen.ts'
import { login, logout } from './commands/login.ts'
import { logs } from './commands/logs.ts'
import { orders } from './commands/orders.ts'
import { receipt } from './commands/receipt.ts'
import { trigger } from './commands/trigger.ts'
import { webhooks } from './commands/webhooks.ts'
import { MayBeDone } from './repeat.ts'

/** The developer's commands. They use HTTP only, so they work against any instance. */
export const DEVELOPER_COMMANDS: readonly Command[] = [
  login,
  logout,
  listen,
  trigger,
  orders,
  explain,
  logs,
  webhooks,
  receipt,
  fixtures,
  openCompletion(() => DEVELOPER_COMMANDS),
]

export const isDeveloperCommand = (word: string | undefined): boolean =>
  DEVELOPER_COMMANDS.some(({ name }) => name === word)

function reasonsOf(error: unknown): string[] {
  if (error instanceof MayBeDone) return [...reasonsOf(error.cause), ...error.advice]
  if (!isComptoirError(error)) return [error instanceof Error ? error.message : String(error)]
  const details = error.details.map(({ path, message }) => `  ${path}: ${message}`)
  const request = error.requestId ? [`  request ${error.requestId}`] : []
  return [`${error.code}: ${error.message}`, ...details, ...request, ...(error.docs ? [`  ${error.docs}`] : [])]
}

function factsOf(error: unknown): Record<string, unknown> {
  const failed = error instanceof MayBeDone ? error.cause : error
  if (!isComptoirError(failed)) return {}
  const { code, requestId, docs, mayBeDone, idempotencyKey } = failed
  return { code, requestId, docs, ...(mayBeDone ? { mayBeDone, idempotencyKey } : {}) }
}

/** Runs a developer's command. @returns the exit code: 0 done, 1 failed, 2 wrong usage */
export async function runDeveloper(args: string[]): Promise<number> {
  const root: Command = { name: 'comptoir', summary: 'Comptoir for developers.', subcommands: [...DEVELOPER_COMMANDS] }
  try {
    await runCommand(root, args, 'comptoir')
    return Number(process.exitCode ?? 0)
  } catch (error) {
    const isUsage = error instanceof UsageError
    const lines = isUsage ? [error.message, `See: comptoir ${args[0] ?? ''} --help`] : reasonsOf(error)
    if (args.includes('--json')) {
      process.stdout.write(`${JSON.stringify({ error: { message: lines[0], ...factsOf(error) } })}\n`)
    }
    process.stderr.write(`${printable(lines.join('\n'))}\n`)
    return isUsage ? 2 : 1
  }
}
