import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

/** Look-alikes that people use in place of letters. */
const LOOKALIKES: Record<string, string> = {
  '0': 'o',
  '1': 'i',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '7': 't',
  '@': 'a',
  $: 's',
  '!': 'i',
  '€': 'e',
}

const WALKS = [
  'qwertyuiopasdfghjklzxcvbnm',
  'azertyuiopqsdfghjklmwxcvbn',
  'qwertzuiopasdfghjklyxcvbnm',
  'abcdefghijklmnopqrstuvwxyz',
]

let words: Set<string> | undefined

/** Words that common passwords are built from, one per line; see docs/dependencies.md. */
function readWords(): Set<string> {
  words ??= new Set(
    readFileSync(join(import.meta.dirname, 'common-passwords.txt'), 'utf8')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#')),
  )
  return words
}

let leaked: Set<string> | undefined

/** The 49 000 most used passwords of real leaks, in lower case. */
function readLeaked(): Set<string> {
  leaked ??= new Set(createRequire(import.meta.url)('@zxcvbn-ts/language-common/src/passwords.json') as string[])
  return leaked
}

const fold = (text: string): string => text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()

/** Strips digits and symbols from both ends first, so that `Password123!` is not read as `passwordi2ei`. */
function coresOf(password: string): string[] {
  const text = fold(password)
  const trimmed = text.replace(/^[^a-z]+|[^a-z]+$/g, '')
  const decode = (part: string): string => [...part].map((sign) => LOOKALIKES[sign] ?? sign).join('')
  const letters = (part: string): string => part.replace(/[^a-z]/g, '')
  const plainTail = text.replace(/[^a-z@$€!0-9]/g, '')
  return [...new Set([letters(text), letters(decode(trimmed)), letters(decode(plainTail.replace(/[0-9!]+$/, '')))])]
}

/** With its digits, without signs, and without what people append: `Zaq12wsx!2024` is `zaq12wsx`. */
function mixedCoresOf(password: string): string[] {
  const text = fold(password)
  const plain = text.replace(/[^a-z0-9]/g, '')
  return [text, plain, plain.replace(/[0-9]+$/, '')]
}

/** `abcabc` gives `abc`. */
function unrepeat(text: string): string {
  for (let length = 1; length <= text.length / 2; length += 1) {
    if (text.length % length === 0 && text.slice(0, length).repeat(text.length / length) === text)
      return text.slice(0, length)
  }
  return text
}

function isWalk(text: string): boolean {
  if (text.length < 3) return true
  return WALKS.some((walk) => {
    const backwards = [...walk].reverse().join('')
    return walk.includes(text) || backwards.includes(text)
  })
}

/**
 * Is this password easy to guess: a common word, a leaked password, a keyboard walk or the user's own name, even when
 * decorated with capitals, look-alikes, years and signs?
 * @param own the user's e-mail, names and company
 * @param extra the operator's own list (`PASSWORD_LIST_FILE`), compared whole, in lower case
 */
export function isCommonPassword(password: string, own: readonly string[], extra: ReadonlySet<string>): boolean {
  if (extra.has(password.toLowerCase())) return true
  if (new Set(password).size < 5) return true
  const personal = new Set(
    own.flatMap((text) => [fold(text), fold(text.split('@')[0] ?? '')]).map((text) => text.replace(/[^a-z]/g, '')),
  )
  const isKnown = (core: string): boolean => readWords().has(core) || readLeaked().has(core)
  return (
    mixedCoresOf(password).some((core) => readLeaked().has(core)) ||
    coresOf(password)
      .map(unrepeat)
      .some((core) => core.length < 3 || isWalk(core) || isKnown(core) || (core.length > 3 && personal.has(core)))
  )
}
