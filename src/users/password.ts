import { availableParallelism } from 'node:os'
import { hash, verify } from '@node-rs/argon2'
import { AppError } from '../kernel/errors.ts'

/** argon2id (RFC 9106), above the OWASP floor: 46 MiB, 2 passes, 1 lane; about 30 ms on one core. */
export const ARGON2 = { memoryCost: 47_104, timeCost: 2, parallelism: 1 } as const

const CURRENT = `$argon2id$v=19$m=${ARGON2.memoryCost},t=${ARGON2.timeCost},p=${ARGON2.parallelism}$`

const QUEUE = 32
const RETRY_AFTER_SECONDS = 2

/**
 * The hashes run on libuv's threads (4 by default); one of them stays free for files and the DNS. One core stays free
 * for everybody else: with a hash on every core, reads beside a flood of logins took ten times as long
 * (bench/logins.ts).
 */
const THREADS = Number(process.env.UV_THREADPOOL_SIZE ?? 4)
const AT_ONCE = Math.max(1, Math.min(availableParallelism() - 1, THREADS - 1))

export type Passwords = {
  /** A PHC string. @throws BUSY when too many hashes wait */
  hash(password: string): Promise<string>
  /** Takes the same time for an unknown user (`stored` null), which is never right. @throws BUSY */
  verify(password: string, stored: string | null): Promise<boolean>
  /**
   * Does the whole of a login, unless too many are under way already: a flood then costs no database work either.
   * @throws BUSY
   */
  admit<Result>(work: () => Promise<Result>): Promise<Result>
  /** True when `stored` was made with older parameters and should be made again at the next login. */
  isOutdated(stored: string): boolean
  /** Hashes that run now and at most ran at once, for the metrics and tests. */
  readonly load: { running: number; most: number }
}

/** Unicode that looks the same counts as the same: NFKC, nothing trimmed, nothing cut off. */
export const normalize = (password: string): string => password.normalize('NFKC')

/** Password hashing, fewer at once than cores, a short queue, then BUSY: hash work must not be a lever. */
export function openPasswords({ atOnce = AT_ONCE, queue = QUEUE } = {}): Passwords {
  const load = { running: 0, most: 0 }
  const waiting: (() => void)[] = []
  const bounded = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (load.running >= atOnce) {
      if (waiting.length >= queue) throw new AppError('BUSY', { retryAfter: RETRY_AFTER_SECONDS })
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else load.running += 1
    load.most = Math.max(load.most, load.running)
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else load.running -= 1
    }
  }
  let admitted = 0
  let decoy: Promise<string> | undefined
  return {
    hash: (password) => bounded(() => hash(normalize(password), ARGON2)),
    async verify(password, stored) {
      decoy ??= hash('nobody has this password', ARGON2)
      // an invited user has no password yet
      const against = stored?.startsWith('$') ? stored : await decoy
      const right = await bounded(() => verify(against, normalize(password)))
      return right && against === stored
    },
    async admit(work) {
      if (admitted >= atOnce + queue) throw new AppError('BUSY', { retryAfter: RETRY_AFTER_SECONDS })
      admitted += 1
      try {
        return await work()
      } finally {
        admitted -= 1
      }
    },
    isOutdated: (stored) => !stored.startsWith(CURRENT),
    load,
  }
}
