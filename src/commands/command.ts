/** Wrong usage: exit code 2, with the usage text. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

export type Command = {
  /** Its usage, one option per line. */
  usage: string
  /** False: it found a fault (exit code 1). @throws UsageError, or Error with a sentence */
  run(args: string[]): Promise<boolean | undefined>
}

/** `summary`: one line for the list; `load`: imports only what this command needs, so that a quick one stays quick. */
export type Commands = Readonly<Record<string, { summary: string; load(): Promise<Command> }>>

/** bin/comptoir.cjs passes them to cli/, which is optional for a service. */
const DEVELOPER_NAMES =
  'login  logout  listen  trigger  orders  explain  logs  webhooks  verify-receipt  fixtures  completion'

const printList = (commands: Commands): string => {
  const lines = Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(10)} ${summary}`)
  return `comptoir <command> [options]\n\n${lines.join('\n')}\n\nFor developers, over HTTP with any instance:\n  ${DEVELOPER_NAMES}\n\nEach command explains itself: comptoir <command> --help`
}

/** A longer usage would push the error message out of sight. */
const SHORT_LINES = 8

const isWrongUse = (error: unknown): boolean =>
  error instanceof UsageError || /^ERR_PARSE_ARGS_/.test((error as { code?: string }).code ?? '')

/**
 * Runs one command line.
 * @returns the exit code: 0 done, 1 failed, 2 wrong usage (docs/cli.md)
 */
export async function runCommand(
  commands: Commands,
  args: readonly string[],
  out: { print(text: string): void; say(text: string): void; describe(error: unknown): string; version(): string },
): Promise<number> {
  const [name = 'serve', ...rest] = args
  if (name === '--help' || name === '-h' || name === 'help') {
    out.print(printList(commands))
    return 0
  }
  if (name === '--version' || name === 'version') {
    out.print(out.version())
    return 0
  }
  const entry = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!entry) {
    out.say(`There is no command "${name}".\n\n${printList(commands)}`)
    return 2
  }
  const command = await entry.load()
  if (rest.includes('--help') || rest.includes('-h')) {
    out.print(command.usage)
    return 0
  }
  try {
    return (await command.run(rest)) === false ? 1 : 0
  } catch (error) {
    if (!isWrongUse(error)) {
      out.say(out.describe(error))
      return 1
    }
    const { message } = error as Error
    const isShort = command.usage.split('\n').length <= SHORT_LINES
    const more = isShort ? `\n${command.usage}` : `See: comptoir ${name} --help`
    out.say(message === '' ? command.usage : `${message}\n${more}`)
    return 2
  }
}
