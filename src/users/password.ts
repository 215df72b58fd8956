import { availableParallelism } from 'node:os'
import { hash, verify } from '@node-rs/argon2'
import { AppError } from '../kernel/errors.ts'

/** argon2id (RFC 9106) in 2 passes and 1 lane. */
const ARGON2 = { timeCost: 2, parallelism: 1 } as const
/** Memory of a hash in KiB, twice what OWASP recommends with so much memory; about 30 ms on one core. */
const MEMORY_KIB = 47_104

/** Maximum waiting hashes: enough for every admitted login, plus registrations. */
const QUEUE = 200
/** Maximum concurrent logins: the last one is answered after 100 hashes, about 4 s on one core. */
const PLACES = 100
/** How long further logins wait for a slot, and how many may wait. */
const PLACE_WAIT_MS = 2000
const MAX_WAITING = 500
const RETRY_AFTER_SECONDS = 2

/**
 * The hashes run on libuv's threads (4 by default). One thread stays free for files and DNS, and one core for other
 * requests: with a hash on every core, reads during a flood of logins took ten times as long (bench/logins.ts).
 */
const THREADS = Number(process.env.UV_THREADPOOL_SIZE ?? 4)
const AT_ONCE = Math.max(1, Math.min(availableParallelism() - 1, THREADS - 1))

export type Passwords = {
  /** A PHC string. @throws BUSY when too many hashes wait */
  hash(password: string): Promise<string>
  /** Takes the same time for an unknown user (`stored` null), for whom no password is correct. @throws BUSY */
  verify(password: string, stored: string | null): Promise<boolean>
  /**
   * Runs a whole login once it has a slot, in order of arrival: waiting logins cost no database work.
   * @throws BUSY when no slot becomes free in time
   */
  admit<Result>(work: () => Promise<Result>): Promise<Result>
  /** True when `stored` uses older parameters and should be rehashed at the next login. */
  isOutdated(stored: string): boolean
  /** Hashes running now, and the highest number so far, for metrics and tests. */
  readonly load: { running: number; most: number }
}

/** Treats equivalent Unicode as equal (NFKC); trims and truncates nothing. */
export const normalize = (password: string): string => password.normalize('NFKC')

const busy = (): AppError => new AppError('BUSY', { retryAfter: RETRY_AFTER_SECONDS })

/** Grants slots in order of arrival; a request that gets none in time is refused. */
function openPlaces(places: number, waitMs: number): <Result>(work: () => Promise<Result>) => Promise<Result> {
  const waiting: (() => void)[] = []
  let taken = 0
  const enter = (): Promise<void> => {
    if (taken < places) {
      taken += 1
      return Promise.resolve()
    }
    if (waiting.length >= MAX_WAITING) return Promise.reject(busy())
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(admit), 1)
        reject(busy())
      }, waitMs)
      const admit = (): void => {
        clearTimeout(timer)
        resolve()
      }
      waiting.push(admit)
    })
  }
  return async (work) => {
    await enter()
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else taken -= 1
    }
  }
}

export type PasswordOptions = {
  /** KiB of a new hash. One that was made with another is made again at its owner's next login. */
  memoryKib?: number
  atOnce?: number
  queue?: number
  places?: number
  placeWaitMs?: number
}

/**
 * Hashes passwords with bounded concurrency and a short queue, then BUSY: a flood of logins must not stall the node.
 */
export function openPasswords(options: PasswordOptions = {}): Passwords {
  const { atOnce = AT_ONCE, queue = QUEUE, places = PLACES, placeWaitMs = PLACE_WAIT_MS } = options
  const argon2 = { ...ARGON2, memoryCost: options.memoryKib ?? MEMORY_KIB }
  const current = `$argon2id$v=19$m=${argon2.memoryCost},t=${argon2.timeCost},p=${argon2.parallelism}$`
  const load = { running: 0, most: 0 }
  const waiting: (() => void)[] = []
  const bounded = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (load.running >= atOnce) {
      if (waiting.length >= queue) throw busy()
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
  let decoy: Promise<string> | undefined
  return {
    hash: (password) => bounded(() => hash(normalize(password), argon2)),
    async verify(password, stored) {
      decoy ??= hash('nobody has this password', argon2)
      // an invited user has no password yet
      const against = stored?.startsWith('$') ? stored : await decoy
      const right = await bounded(() => verify(against, normalize(password)))
      return right && against === stored
    },
    admit: openPlaces(places, placeWaitMs),
    isOutdated: (stored) => !stored.startsWith(current),
    load,
  }
}
