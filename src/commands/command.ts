import TABLE from '../../bin/commands.json' with { type: 'json' }

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

/** Imports only what this command needs, so that a quick one stays quick. Absent in the table, or here: no compile. */
export type Commands = Readonly<Record<keyof typeof TABLE.service, () => Promise<Command>>>

/** The result of a command: for people or, with `--json`, for programs. */
export const print = (text: string): void => void process.stdout.write(`${text}\n`)

const listCommands = (): string => {
  const lines = Object.entries(TABLE.service).map(([name, { summary }]) => `  ${name.padEnd(10)} ${summary}`)
  const forDevelopers = `For developers, over HTTP with any instance:\n  ${TABLE.developer.join('  ')}`
  return `comptoir <command> [options]\n\n${lines.join('\n')}\n\n${forDevelopers}\n\nEach command explains itself: comptoir <command> --help`
}

const isKnown = (commands: Commands, name: string): name is keyof Commands => Object.hasOwn(commands, name)

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
  out: { say(text: string): void; describe(error: unknown): string; version(): string },
): Promise<number> {
  const [name = 'serve', ...rest] = args
  if (name === '--help' || name === '-h' || name === 'help') {
    print(listCommands())
    return 0
  }
  if (name === '--version' || name === 'version') {
    print(out.version())
    return 0
  }
  if (!isKnown(commands, name)) {
    out.say(`There is no command "${name}".\n\n${listCommands()}`)
    return 2
  }
  const command = await commands[name]()
  if (rest.includes('--help') || rest.includes('-h')) {
    print(command.usage)
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
