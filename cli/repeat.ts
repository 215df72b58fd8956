import { type CallOptions, isComptoirError } from '../sdk/index.ts'
import { textOf, UsageError, type Values } from './command.ts'

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

/**
 * Sends what must not be done twice, under `--key` or a key of its own.
 * @throws MayBeDone when the answer was lost: it says how to repeat the command
 */
export async function doOnce<Data>(deed: Deed, send: (options: CallOptions) => Promise<Data>): Promise<Data> {
  const key = keyOf(deed.flags)
  try {
    return await send({ idempotencyKey: key })
  } catch (error) {
    if (!isComptoirError(error) || !error.mayBeDone) throw error
    throw new MayBeDone(error, [
      `Perhaps ${deed.what} was made. Look: ${deed.look}`,
      `To make it once, repeat exactly this: ${typed(deed, key)}`,
    ])
  }
}
