import {
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
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

/** How a file of ours begins. */
export const WRITTEN = '# Written by "comptoir init".'

/** The text of a `.env` file; empty sections are left out. */
export const printEnv = (sections: readonly Section[]): string =>
  `${WRITTEN} .env.example explains every setting. Keep this file to yourself.\n\n${sections
    .filter(({ values }) => Object.keys(values).length > 0)
    .map(printSection)
    .join('\n\n')}\n`

/** Who owns the folder of the service's file; undefined: nobody but us, or we are not root. */
function otherOwner(file: string): Owner | undefined {
  const { uid, gid } = statSync(dirname(resolve(file)))
  return process.getuid?.() === 0 && uid !== 0 ? { uid, gid } : undefined
}

type Owner = { uid: number; gid: number }

/**
 * Opens a file, and gives it to the folder's owner, who has to read it. Where that is another user than we, who are
 * root, he could have put a link to somebody else's file there.
 * @throws Error for a link
 */
function openOurs<Result>(
  file: string,
  flags: number,
  work: (handle: number, owner: Owner | undefined) => Result,
): Result {
  const owner = otherOwner(file)
  const why = `${file} is a link into another place. Nothing was written. Name the file itself with --out, or remove the link.`
  let handle: number
  try {
    handle = openSync(file, flags | (owner ? constants.O_NOFOLLOW : 0), 0o600)
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ELOOP' ? new Error(why, { cause: error }) : error
  }
  try {
    if (owner && fstatSync(handle).nlink > 1) throw new Error(why)
    return work(handle, owner)
  } finally {
    closeSync(handle)
  }
}

function write(file: string, text: string | Buffer, flags: number): void {
  openOurs(file, constants.O_WRONLY | constants.O_CREAT | flags, (handle, owner) => {
    ftruncateSync(handle)
    fchmodSync(handle, 0o600)
    writeFileSync(handle, text)
    if (owner) fchownSync(handle, owner.uid, owner.gid)
  })
}

/** Copies the file to one next to it, named after the current time. @returns its name */
function keepCopy(file: string): string {
  const time = new Date()
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
    .replaceAll(':', '-')
  let copy = `${file}.${time}`
  // several in one second
  for (let number = 2; existsSync(copy); number += 1) copy = `${file}.${time}-${number}`
  write(
    copy,
    openOurs(file, constants.O_RDONLY, (handle) => readFileSync(handle)),
    constants.O_EXCL,
  )
  return copy
}

/**
 * Writes the file so that only its owner can read it, from the first byte on.
 * @returns the copy of the replaced file
 * @throws Error when a file exists, unless it may be replaced
 */
export function writeEnv(file: string, text: string, replace: boolean): string | undefined {
  const copy = replace && existsSync(file) ? keepCopy(file) : undefined
  write(file, text, replace ? 0 : constants.O_EXCL)
  return copy
}
