import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { KYC_TRIGGERS } from '../src/compliance/kyc.ts'
import { PERMISSIONS } from '../src/http/permissions.ts'
import { DECISION_NAMES } from '../src/screening/screening-decisions.ts'

const SRC = join(import.meta.dirname, '../src')
type Words = Record<string, Record<string, string>>

/** Of modules of the browser's, which are checked with their own types. */
async function readWords(name: 'account' | 'money'): Promise<Words> {
  const path = join(import.meta.dirname, `../web/office/src/screens/audit/${name}-action-texts.ts`)
  const module = (await import(path)) as Record<string, Words>
  return module[`${name}ActionTexts`] ?? {}
}

const [ofAccounts, ofMoney] = await Promise.all([readWords('account'), readWords('money')])
const langs = Object.keys(ofAccounts)
const wordsOf = (lang: string): Record<string, string> => ({ ...ofAccounts[lang], ...ofMoney[lang] })

const NAME = /'([a-z][a-z-]*\.[a-z][a-z_-]*)'/g
/** Of what an entry can be about; other names with a dot are files, jobs and events. */
const subjects = new Set(Object.keys(wordsOf('en')).map((name) => name.split('.')[0]))
/** Events of webhooks, which a source may name beside its entries. */
const EVENTS = ['kyc.edd_completed']

/** Jobs have names of the same form. */
const NO_WRITERS = /^(?:jobs\.ts$|assembly\/|http\/)/

/** Every name of an action in the sources that write entries. */
const written = globSync('**/*.ts', { cwd: SRC })
  .filter((file) => !NO_WRITERS.test(file))
  .map((file) => readFileSync(join(SRC, file), 'utf8'))
  .filter((source) => /\b(?:audit|noteChange)\b/.test(source))
  .flatMap((source) => [...source.matchAll(NAME)].map(([, name = '']) => name))
  .filter((name) => subjects.has(name.split('.')[0]) && !(name in PERMISSIONS) && !EVENTS.includes(name))

test('the audit log says in every language what was done, for every action that is written', () => {
  const all = [
    ...written,
    ...KYC_TRIGGERS.map((trigger) => `kyc.${trigger}`),
    ...DECISION_NAMES.map((decision) => `screening.${decision}`),
  ]
  assert.ok(written.length > 60, `${written.length} actions are found`)
  assert.equal(langs.length, 5)
  for (const lang of langs)
    assert.deepEqual(
      all.filter((name) => wordsOf(lang)[name] === undefined),
      [],
      lang,
    )
})
