import { chmodSync, chownSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { parseEnv } from 'node:util'

/** Variables by section, in the order of the file. */
export type Section = { title: string; values: Readonly<Record<string, string>> }

const PLAIN = /^[\w:/.,@+=%?&~-]*$/

/** In double quotes Node.js and systemd each read a backslash in their own way. */
const MARKS = [
  { mark: "'", breaks: /'/ },
  { mark: '"', breaks: /["\\]/ },
]

/** Node's and systemd's parsers agree on these quotes. @throws Error for a value that would be read back changed */
function quote(name: string, value: string): string {
  if (PLAIN.test(value)) return value
  const mark = MARKS.find(({ breaks }) => !breaks.test(value))?.mark
  const quoted = `${mark}${value}${mark}`
  if (mark !== undefined && parseEnv(`V=${quoted}`).V === value) return quoted
  throw new Error(
    `${name} holds a quote together with another kind of quote or a backslash, and would be read back changed. ` +
      `Nothing was written. Set it by hand as a file: ${name}_FILE.`,
  )
}

const printSection = ({ title, values }: Section): string =>
  [`# ${title}`, ...Object.entries(values).map(([name, value]) => `${name}=${quote(name, value)}`)].join('\n')

/** The text of a `.env` file; empty sections are left out. */
export const printEnv = (sections: readonly Section[]): string =>
  `# Written by "comptoir init". .env.example explains every setting. Keep this file to yourself.\n\n${sections
    .filter(({ values }) => Object.keys(values).length > 0)
    .map(printSection)
    .join('\n\n')}\n`

/** Copies the file to one next to it, named after the current time. @returns its name */
function keepCopy(file: string): string {
  const time = new Date()
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
    .replaceAll(':', '-')
  let copy = `${file}.${time}`
  // several in one second
  for (let number = 2; existsSync(copy); number += 1) copy = `${file}.${time}-${number}`
  writeFileSync(copy, readFileSync(file), { mode: 0o600, flag: 'wx' })
  giveToFolder(copy)
  return copy
}

/** What root writes into a folder of the service's user is that user's, who has to read it. */
function giveToFolder(file: string): void {
  const { uid, gid } = statSync(dirname(resolve(file)))
  if (process.getuid?.() === 0 && uid !== 0) chownSync(file, uid, gid)
}

/**
 * Writes the file so that only its owner can read it, from the first byte on.
 * @returns the copy of the replaced file
 * @throws Error when a file exists, unless it may be replaced
 */
export function writeEnv(file: string, text: string, replace: boolean): string | undefined {
  const copy = replace && existsSync(file) ? keepCopy(file) : undefined
  if (copy !== undefined) chmodSync(file, 0o600)
  writeFileSync(file, text, { mode: 0o600, flag: replace ? 'w' : 'wx' })
  giveToFolder(file)
  return copy
}
