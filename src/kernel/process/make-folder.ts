import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/** It may be there already, or be made by another process meanwhile. */
function makeOne(folder: string, mode: number): void {
  try {
    mkdirSync(folder, { mode })
  } catch (error) {
    // a link exists whose folder is gone: the reason is the folder
    const isThere = (error as NodeJS.ErrnoException).code === 'EEXIST'
    if (!statSync(folder, { throwIfNoEntry: isThere })?.isDirectory()) throw error
  }
}

/**
 * Makes a folder and those above it, like `mkdir -p`. Node's own `recursive` never returns where a folder exists but
 * answers ENOENT to one in it, as /proc does: it goes up and down for ever, at full processor time.
 * @throws the system's error
 */
export function makeFolder(folder: string, mode = 0o777): void {
  try {
    makeOne(folder, mode)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(folder) === folder) throw error
    makeFolder(dirname(folder), mode)
    makeOne(folder, mode)
  }
}
