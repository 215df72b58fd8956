import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'

/** Variables by section, in the order of the file. */
export type Section = { title: string; values: Readonly<Record<string, string>> }

const PLAIN = /^[\w:/.,@+=%?&~-]*$/

/** Node's and systemd's parsers agree on these quotes. @throws Error for a value that contains all of them */
function quote(value: string): string {
  if (PLAIN.test(value)) return value
  const mark = ["'", '"'].find((one) => !value.includes(one))
  if (mark === undefined) throw new Error('A value holds both kinds of quotes; give it in a file (<NAME>_FILE).')
  return `${mark}${value}${mark}`
}

const printSection = ({ title, values }: Section): string =>
  [`# ${title}`, ...Object.entries(values).map(([name, value]) => `${name}=${quote(value)}`)].join('\n')

/** The text of a `.env` file; empty sections are left out. */
export const printEnv = (sections: readonly Section[]): string =>
  `# Written by "comptoir init". .env.example explains every setting. Keep this file to yourself.\n\n${sections
    .filter(({ values }) => Object.keys(values).length > 0)
    .map(printSection)
    .join('\n\n')}\n`

/** Copies the file to one next to it, named after the current time. @returns its name */
function keepCopy(file: string): string {
  const copy = `${file}.${new Date()
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
    .replaceAll(':', '-')}`
  writeFileSync(copy, readFileSync(file), { mode: 0o600, flag: 'wx' })
  return copy
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
  return copy
}
