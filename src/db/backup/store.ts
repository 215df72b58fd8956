import { MINUTE } from '../../kernel/clock.ts'

/**
 * Names of finished backups: when each was made, and of which life of a database (`readLife`). Those of older versions
 * do not say the latter. Drafts, and strangers' files in the same place, have other names.
 */
const NAME = /^comptoir-\d{8}T\d{6}Z(?:-([0-9a-f]{12}))?\.backup$/

export const isBackupName = (name: string): boolean => NAME.test(name)

export const backupNameAt = (madeAt: string, life: string | null = null): string =>
  `comptoir-${madeAt.replaceAll(/[-:]|\.\d+/g, '')}${life === null ? '' : `-${life}`}.backup`

/** Null: an older version made it, and whose it is is not known. */
export const backupLifeOf = (name: string): string | null => NAME.exec(name)?.[1] ?? null

/** When a backup was made, in milliseconds, according to its name. */
export function backupTimeOf(name: string): number {
  const [, y, mo, d, h, mi, s] = /(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)/.exec(name) ?? []
  return Date.parse(`${y}-${mo}-${d}T${h}:${mi}:${s}Z`)
}

/** More than clocks of well-kept machines differ by. */
const AHEAD_MS = 5 * MINUTE

/** Whether a backup claims a time that has not come: a clock was wrong when it was made, or is now. */
export const isAhead = (madeAtMs: number, nowMs: number): boolean => madeAtMs > nowMs + AHEAD_MS

export type Content = AsyncIterable<Buffer>

/** Where backups are stored: a folder, or a bucket. Names are those of `backupNameAt`. */
export type BackupStore = {
  /** As the operator wrote it; contains no secret. */
  place: string
  /** Finished backups, oldest first. @throws BackupFault */
  list(): Promise<string[]>
  /**
   * Stores a backup under its name, and reads it back. A backup that cannot be read back, or breaks off, is removed.
   * @param expectedBytes approximate maximum
   * @returns its bytes
   * @throws BackupFault, or what `content` and `verify` throw
   */
  put(
    name: string,
    content: Content,
    work: { expectedBytes: number; verify(stored: Content): Promise<void> },
  ): Promise<number>
  /** @throws BackupFault */
  get(name: string): Promise<{ bytes: number; content: Content }>
  remove(name: string): Promise<void>
  /** Removes half-written files that a crash left. @param nowMs what was written within the last hour stays */
  clean(nowMs: number): Promise<void>
  /** Where a person finds this backup. */
  pathOf(name: string): string
}
