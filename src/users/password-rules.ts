import { AppError } from '../kernel/errors.ts'
import { isCommonPassword } from './common-passwords.ts'
import { normalize } from './password.ts'

const MIN = 12
const MAX = 128

const CLASSES: readonly [RegExp, string][] = [
  [/\p{Lu}/u, 'an upper-case letter'],
  [/\p{Ll}/u, 'a lower-case letter'],
  [/\p{Nd}/u, 'a digit'],
  [/[^\p{L}\p{N}\s]/u, 'a special character'],
]

/**
 * Checks a new password: 12 to 128 characters, four classes, not a common one.
 * @param path the field's name in the body
 * @param own the user's name, e-mail and company, which attackers try first
 * @throws WEAK_PASSWORD that lists everything missing
 */
export function checkPassword(
  password: string,
  { path, own, extra }: { path: string; own: readonly string[]; extra: ReadonlySet<string> },
): void {
  const text = normalize(password)
  const length = [...text].length
  const faults: string[] = []
  if (length < MIN) faults.push(`at least ${MIN} characters`)
  if (length > MAX) faults.push(`at most ${MAX} characters`)
  for (const [pattern, name] of CLASSES) if (!pattern.test(text)) faults.push(name)
  if (faults.length > 0) {
    throw new AppError('WEAK_PASSWORD', { details: [{ path, message: `needs ${faults.join(', ')}` }] })
  }
  if (!isCommonPassword(text, own, extra)) return
  throw new AppError('WEAK_PASSWORD', {
    message: 'This password is easy to guess. Choose several unrelated words, or let a password manager create one.',
    details: [{ path, message: 'is a common or breached password' }],
  })
}
