import type { User } from '../../api/call.ts'
import { recognizeNeed } from '../../api/sentences.ts'

/** Cashiers and Observers who registered themselves wait until a manager lets them in; who was invited does not. */
export const waits = (user: User): boolean =>
  !user.disabled && user.missing.some((line) => recognizeNeed(line) === 'approval')
