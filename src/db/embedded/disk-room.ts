import { statfs } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'

export type DiskRoom = { freeBytes: number; totalBytes: number }

/** Free and total bytes of the disk that holds, or will hold, this folder. */
export async function readDiskRoom(folder: string): Promise<DiskRoom> {
  try {
    const { bavail, blocks, bsize } = await statfs(folder)
    return { freeBytes: bavail * bsize, totalBytes: blocks * bsize }
  } catch (error) {
    const parent = dirname(resolve(folder))
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' && parent !== resolve(folder)) return readDiskRoom(parent)
    throw error
  }
}

const GIB = 2 ** 30

/**
 * With less than a gibibyte, or a tenth of a small disk, PostgreSQL may soon be unable to write, so no new order is
 * accepted.
 */
export const isShortOfRoom = ({ freeBytes, totalBytes }: DiskRoom): boolean =>
  freeBytes < Math.min(GIB, totalBytes / 10)

export const describeRoom = ({ freeBytes, totalBytes }: DiskRoom): string =>
  `${Math.round(freeBytes / 1e6)} of ${Math.round(totalBytes / 1e6)} MB are free`
