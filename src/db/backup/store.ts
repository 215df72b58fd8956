/** Of finished backups. A draft, and what a stranger keeps in the same place, has another name. */
const NAME = /^comptoir-\d{8}T\d{6}Z\.backup$/

export const isBackupName = (name: string): boolean => NAME.test(name)
export const backupNameAt = (madeAt: string): string => `comptoir-${madeAt.replaceAll(/[-:]|\.\d+/g, '')}.backup`

/** When a backup was made, in milliseconds: its name says so. */
export function backupTimeOf(name: string): number {
  const [, y, mo, d, h, mi, s] = /(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)/.exec(name) ?? []
  return Date.parse(`${y}-${mo}-${d}T${h}:${mi}:${s}Z`)
}

export type Content = AsyncIterable<Buffer>

/** Where backups lie: a folder, or a bucket. Names are those of `backupNameAt`. */
export type BackupStore = {
  /** As the operator wrote it; holds no secret. */
  place: string
  /** Finished backups, oldest first. @throws BackupFault */
  list(): Promise<string[]>
  /**
   * Keeps a backup under its name, and reads it back. One that cannot be read back, or breaks off, is not kept.
   * @param expectedBytes about, at most
   * @returns its bytes @throws BackupFault, or what `content` and `verify` throw
   */
  put(
    name: string,
    content: Content,
    work: { expectedBytes: number; verify(stored: Content): Promise<void> },
  ): Promise<number>
  /** @throws BackupFault */
  get(name: string): Promise<{ bytes: number; content: Content }>
  remove(name: string): Promise<void>
  /** Removes what a crash left half written. */
  clean(): Promise<void>
  /** How a person finds this backup again. */
  pathOf(name: string): string
}
