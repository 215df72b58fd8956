import { readFileSync } from 'node:fs'

/**
 * The operator's own list (`PASSWORD_LIST_FILE`), for example of breached passwords: one per line, compared in
 * lower case.
 * @throws Error that names the file when it cannot be read
 */
export function readRefusedPasswords(file: string | null): ReadonlySet<string> {
  if (file === null) return new Set()
  try {
    const lines = readFileSync(file, 'utf8').split(/\r?\n/)
    return new Set(lines.filter((line) => line !== '').map((line) => line.normalize('NFKC').toLowerCase()))
  } catch (error) {
    throw new Error(`PASSWORD_LIST_FILE: cannot read ${file}`, { cause: error })
  }
}
