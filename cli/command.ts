import { parseArgs } from 'node:util'

/** Wrong usage: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

type Flag = { type: 'string' | 'boolean'; description: string; value?: string; short?: string }
export type Values = Record<string, string | boolean | undefined>

export type Run = {
  args: string[]
  flags: Values
  /** For people; silent with `--json`. */
  say(line: string): void
  /** Prints the result: one JSON line with `--json`, otherwise the text. */
  show(data: unknown, words: string | string[]): void
  isJson: boolean
}

export type Command = {
  name: string
  summary: string
  /** Shown after the name in the usage line, for example `CODE`. */
  takes?: string
  flags?: Record<string, Flag>
  /** Allowed number of arguments: [minimum, maximum]. */
  arity?: [number, number]
  /** What its argument may be, for completions. */
  choices?: readonly string[]
  examples?: string[]
  subcommands?: Command[]
  run?(run: Run): Promise<void>
}

/** Of every command. */
export const COMMON: Record<string, Flag> = {
  json: { type: 'boolean', description: 'print JSON, one document a line' },
  url: { type: 'string', value: 'URL', description: 'address of the service' },
  help: { type: 'boolean', description: 'show this', short: 'h' },
}

export const EXIT_CODES = 'Exit codes: 0 done, 1 failed, 2 wrong use.'

const flagLine = ([name, { value, description }]: [string, Flag]): string =>
  `  --${`${name}${value ? ` ${value}` : ''}`.padEnd(26)} ${description}`

/** The help text of one level. */
export function helpOf(command: Command, path: string): string {
  const { subcommands = [], takes = '', flags = {}, examples = [] } = command
  const usage = subcommands.length > 0 ? `${path} COMMAND` : `${path}${takes ? ` ${takes}` : ''} [flags]`
  const lines = [`${command.summary}`, '', `Usage: ${usage}`]
  if (subcommands.length > 0) {
    lines.push('', 'Commands:', ...subcommands.map(({ name, summary }) => `  ${name.padEnd(28)} ${summary}`))
  }
  const all = subcommands.length > 0 ? { help: COMMON.help as Flag } : { ...flags, ...COMMON }
  lines.push('', 'Flags:', ...Object.entries(all).map(flagLine))
  if (examples.length > 0) lines.push('', 'Examples:', ...examples.map((example) => `  ${example}`))
  return [...lines, '', EXIT_CODES].join('\n')
}

function read(command: Command, args: string[]): { values: Values; positionals: string[] } {
  const options = Object.fromEntries(
    Object.entries({ ...command.flags, ...COMMON }).map(([name, { type, short }]) => [
      name,
      { type, ...(short && { short }) },
    ]),
  )
  try {
    return parseArgs({ args, options, allowPositionals: true, strict: true })
  } catch (error) {
    throw new UsageError((error as Error).message.split('. ')[0] ?? 'wrong use')
  }
}

function checkArity({ arity = [0, 0], takes = '' }: Command, count: number, path: string): void {
  const [least, most] = arity
  if (count < least) throw new UsageError(`${path} needs ${takes}.`)
  if (count > most) throw new UsageError(`${path} takes ${most === 0 ? 'no arguments' : takes}, but got more.`)
}

/**
 * What came from outside, an alias or a name, without what would steer the terminal: C0 but tab and line feed, DEL, C1,
 * and what turns the direction of writing. JSON escapes it by itself.
 */
export const printable = (text: string): string =>
  text.replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, (letter) => (/[\t\n]/.test(letter) ? letter : '\ufffd'))

/** Runs the command that the arguments name. @throws UsageError */
export async function runCommand(command: Command, args: string[], path: string): Promise<void> {
  const { subcommands } = command
  const print = (text: string): void => void process.stdout.write(`${text}\n`)
  if (subcommands) {
    const [word, ...rest] = args
    if (word === undefined || ['--help', '-h', 'help'].includes(word)) return print(helpOf(command, path))
    const next = subcommands.find(({ name }) => name === word)
    const names = subcommands.map(({ name }) => name).join(', ')
    if (!next) throw new UsageError(`There is no "${path} ${word}". Choose from: ${names}.`)
    return runCommand(next, rest, `${path} ${word}`)
  }
  const { values, positionals } = read(command, args)
  if (values.help) return print(helpOf(command, path))
  checkArity(command, positionals.length, path)
  const isJson = values.json === true
  await command.run?.({
    args: positionals,
    flags: values,
    isJson,
    say: (line) => void (isJson || process.stderr.write(`${printable(line)}\n`)),
    show: (data, words) => print(isJson ? JSON.stringify(data) : printable([words].flat().join('\n'))),
  })
}

export const textOf = (flags: Values, name: string): string | undefined => {
  const value = flags[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** A whole number from a flag. @throws UsageError */
export function numberOf(flags: Values, name: string, fallback: number): number {
  const text = textOf(flags, name)
  if (text === undefined) return fallback
  if (!/^\d{1,9}$/.test(text)) throw new UsageError(`--${name} takes a whole number, not "${text}".`)
  return Number(text)
}
