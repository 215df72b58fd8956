import { AppError } from '../kernel/errors.ts'
import { isCommonPassword } from './common-passwords.ts'
import { normalize } from './password.ts'

const MIN = 12
const MAX = 128

type Fault = 'short' | 'long' | 'upper' | 'lower' | 'digit' | 'special' | 'common'

const CLASSES: readonly [keyof typeof NEEDS, RegExp][] = [
  ['upper', /\p{Lu}/u],
  ['lower', /\p{Ll}/u],
  ['digit', /\p{Nd}/u],
  ['special', /[^\p{L}\p{N}\s]/u],
]

/** What a password needs, as programs read it; pages have sentences of their own. */
const NEEDS: Record<Exclude<Fault, 'common'>, string> = {
  short: `at least ${MIN} characters`,
  long: `at most ${MAX} characters`,
  upper: 'an upper-case letter',
  lower: 'a lower-case letter',
  digit: 'a digit',
  special: 'a special character',
}

export class WeakPassword extends AppError {
  /** All that is wrong with it. */
  readonly faults: readonly Fault[]
  constructor(faults: readonly Fault[], options: ConstructorParameters<typeof AppError>[1]) {
    super('WEAK_PASSWORD', options)
    this.faults = faults
  }
}

/**
 * Checks a new password: 12 to 128 characters, four classes, not a common one.
 * @param path the field's name in the body
 * @param own the user's name, e-mail and company, which attackers try first
 * @throws WeakPassword that lists everything missing
 */
export function checkPassword(
  password: string,
  { path, own, extra }: { path: string; own: readonly string[]; extra: ReadonlySet<string> },
): void {
  const text = normalize(password)
  const length = [...text].length
  const faults: Exclude<Fault, 'common'>[] = []
  if (length < MIN) faults.push('short')
  if (length > MAX) faults.push('long')
  for (const [fault, pattern] of CLASSES) if (!pattern.test(text)) faults.push(fault)
  if (faults.length > 0) {
    const message = `needs ${faults.map((fault) => NEEDS[fault]).join(', ')}`
    throw new WeakPassword(faults, { details: [{ path, message }] })
  }
  if (!isCommonPassword(text, own, extra)) return
  throw new WeakPassword(['common'], {
    message: 'This password is easy to guess. Choose several unrelated words, or let a password manager create one.',
    details: [{ path, message: 'is a common or breached password' }],
  })
}
