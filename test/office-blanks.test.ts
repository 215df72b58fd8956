import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { withFrenchBlanks as withBlanks } from '../src/texts/blanks.ts'
import { fr as pagesAndMails } from '../src/texts/fr.ts'
import { TEXTS } from '../src/texts/languages.ts'
import { withFrenchBlanks } from '../web/office/src/texts/blanks.ts'
import { fr as core } from '../web/office/src/texts/fr.ts'

for (const [place, bind] of [
  ['the office', withFrenchBlanks],
  ['the pages and mails', withBlanks],
] as const)
  test(`in ${place} no line of a French text breaks before a question mark, also in what a function makes`, () => {
    const texts = bind({
      ask: 'Quel code ?',
      parts: { said: 'Il dit : « oui » ; et après !', plain: 'Rien à faire' },
      count: (count: number) => `${count} de plus ?`,
      mail: () => ({ paragraphs: ['Prêt ?'], note: null }),
    })
    assert.equal(texts.ask, 'Quel code\u00a0?')
    assert.equal(texts.parts.said, 'Il dit\u00a0: «\u00a0oui\u00a0»\u00a0; et après\u00a0!')
    assert.equal(texts.parts.plain, 'Rien à faire')
    assert.equal(texts.count(2), '2 de plus\u00a0?')
    assert.deepEqual(texts.mail(), { paragraphs: ['Prêt\u00a0?'], note: null })
  })

test('the French texts of pages and mails have these blanks', () => {
  assert.equal(TEXTS.fr.pay.sandbox, 'Environnement de test\u00a0: aucun argent réel.')
  const mail = TEXTS.fr.mails.kinds.loginCode({ name: 'Ada', code: '123456' })
  assert.match(mail.paragraphs.join(), /connexion\u00a0:$/)
})

const OFFICE = join(import.meta.dirname, '../web/office/src')

/** The strings of a dictionary, and what its functions are made of, as they stand in the source. */
function stringsOf(part: unknown): string[] {
  if (typeof part === 'string') return [part]
  if (typeof part === 'function') return [...String(part).matchAll(/['`]([^'`]*)['`]/g)].map(([, text = '']) => text)
  return typeof part === 'object' && part !== null ? Object.values(part).flatMap(stringsOf) : []
}

/** A mark that has two parts and stands right after a word, or what is filled in. */
const GLUED = /[\p{L}\p{N}}%)»][?!;:](?=\s|$)|«\S|\S»/u

test('every French text has a blank before ? ! ; : and inside quotation marks, and calls the operator by one word', async () => {
  const files = globSync('screens/**/*texts.ts', { cwd: OFFICE }).concat(globSync('frame/*texts.ts', { cwd: OFFICE }))
  const dictionaries = await Promise.all(
    files.map(async (file) => Object.values((await import(join(OFFICE, file))) as Record<string, { fr?: unknown }>)),
  )
  const french = dictionaries.flat().flatMap((dictionary) => (dictionary?.fr ? stringsOf(dictionary.fr) : []))
  const all = [...french, ...stringsOf(core), ...stringsOf(pagesAndMails)]
  assert.ok(all.length > 1500, `${all.length} texts`)
  assert.deepEqual(
    all.filter((text) => GLUED.test(text) || /opérateur/i.test(text)),
    [],
  )
})

/** A header of HTTP. */
const HEADER = /`\$\{name\}: \$\{value\}`/g

test('no screen puts a colon after a text itself: French has a blank there', () => {
  const glued = globSync('**/*.tsx', { cwd: OFFICE }).filter((file) => {
    const source = readFileSync(join(OFFICE, file), 'utf8').replaceAll(HEADER, '')
    return /`\$\{[^`]*\}: \$\{|\)\}: ?[<{]/.test(source)
  })
  assert.deepEqual(glued, [])
})
