import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withFrenchBlanks } from '../web/office/src/texts/blanks.ts'

test('no line of a French text breaks before a question mark, also in what a function of the texts makes', () => {
  const texts = withFrenchBlanks({
    ask: 'Quel code ?',
    parts: { said: 'Il dit : « oui » ; et après !', plain: 'Rien à faire' },
    count: (count: number) => `${count} de plus ?`,
  })
  assert.equal(texts.ask, 'Quel code\u00a0?')
  assert.equal(texts.parts.said, 'Il dit\u00a0: «\u00a0oui\u00a0»\u00a0; et après\u00a0!')
  assert.equal(texts.parts.plain, 'Rien à faire')
  assert.equal(texts.count(2), '2 de plus\u00a0?')
})
