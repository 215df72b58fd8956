import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plainName } from './alarm-words.ts'

test('a name in an alarm is one short line that no mail program makes a link of', () => {
  const names: [name: string, shown: string][] = [
    ['Café de la Gare', 'Café de la Gare'],
    ['Boulangerie n° 3.0', 'Boulangerie n° 3.0'],
    ['A\r\nBcc: all@evil.example', 'A Bcc: all@ evil. example'],
    ['pay at https://evil.example/x now', 'pay at https: //evil. example/x now'],
    ['evil.example', 'evil. example'],
    ['evil。example', 'evil。 example'],
    ['mailto:x@evil.example', 'mailto: x@ evil. example'],
    ['A\u202egpj.exe\u200b', 'A gpj. exe'],
    [' \u2028\u00ad ', ''],
  ]
  assert.deepEqual(
    names.map(([name]) => plainName(name)),
    names.map(([, shown]) => shown),
  )
  assert.equal([...plainName('🍞'.repeat(200))].length, 60)
})
