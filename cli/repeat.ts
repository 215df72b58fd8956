import { type CallOptions, isComptoirError } from '../sdk/index.ts'
import { printable, textOf, UsageError, type Values } from './command.ts'

/** Of commands that move money or create something. */
export const KEY_FLAG = {
  type: 'string',
  value: 'KEY',
  description: 'your name of it (Idempotency-Key): within 48 hours, the same again with it is done once',
} as const

/** A command whose answer was lost, with what its user can do about it. */
export class MayBeDone extends Error {
  override readonly name = 'MayBeDone'
  readonly advice: string[]

  constructor(cause: Error, advice: string[]) {
    super(cause.message, { cause })
    this.advice = advice
  }
}

type Deed = {
  /** As it is typed, without flags. */
  command: string
  flags: Values
  /** What may have been made: “the refund”. */
  what: string
  /** The command that shows whether it was. */
  look: string
}

const quoted = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)

function typed({ command, flags }: Deed, key: string): string {
  const given = Object.entries({ ...flags, key }).flatMap(([name, value]) =>
    typeof value === 'string' ? [`--${name} ${quoted(value)}`] : value ? [`--${name}`] : [],
  )
  return [command, ...given].join(' ')
}

/** @throws UsageError for a key that no header carries */
function keyOf(flags: Values): string {
  const key = textOf(flags, 'key') ?? crypto.randomUUID()
  if (!/^[\x20-\x7e]{1,255}$/.test(key)) throw new UsageError('--key takes 1 to 255 printable characters of ASCII.')
  return key
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Says how to repeat what a person ends while it is under way; then the signal does what it would. @returns ends it */
function sayOnSignal(advice: readonly string[]): () => void {
  const say = (signal: NodeJS.Signals): void => {
    end()
    process.stderr.write(`${printable(advice.join('\n'))}\n`)
    process.kill(process.pid, signal)
  }
  const end = (): void => {
    for (const signal of SIGNALS) process.off(signal, say)
  }
  for (const signal of SIGNALS) process.on(signal, say)
  return end
}

/**
 * Sends what must not be done twice, under `--key` or a key of its own.
 * @throws MayBeDone when the answer was lost: it says how to repeat the command
 */
export async function doOnce<Data>(deed: Deed, send: (options: CallOptions) => Promise<Data>): Promise<Data> {
  const key = keyOf(deed.flags)
  const advice = [
    `Perhaps ${deed.what} was made. Look: ${deed.look}`,
    `To make it once, repeat exactly this: ${typed(deed, key)}`,
  ]
  const stopListening = sayOnSignal(advice)
  try {
    return await send({ idempotencyKey: key })
  } catch (error) {
    if (!isComptoirError(error) || !error.mayBeDone) throw error
    throw new MayBeDone(error, advice)
  } finally {
    stopListening()
  }
}
