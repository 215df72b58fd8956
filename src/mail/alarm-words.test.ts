import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NAME_PATTERN, VISIBLE_PATTERN } from '../kernel/names.ts'
import { plainName } from './alarm-words.ts'
import { writeMail } from './mail-layout.ts'
import { receiptNotice } from './notices.ts'

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

const HIDDEN = ['\ufe0f', '\u200d', '\u200c', '\u034f', '\u180b', '\u2060', '\u{e0100}', '\u{e0041}']

test('what is not seen behind a dot makes no link of a shop’s name', () => {
  for (const hidden of HIDDEN)
    for (const host of [`evil.${hidden}example`, `evil.${hidden}4${hidden}example`, `203.${hidden}0.113.9`]) {
      const facts = { contact: null, shortCode: 'AB12', url: 'https://pay.example/x', amount: '5 EUR' }
      const data = receiptNotice('en', { merchant: `Refund at ${host}/pay`, ...facts })
      const { text, subject } = writeMail({ to: '', lang: 'en', kind: 'notice', data }, 'https://office.example')
      const seen = `${subject} ${text}`.replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '')
      assert.doesNotMatch(seen, /evil\.\S|203\.\S/, JSON.stringify(host))
    }
})

test('a number keeps its dot, an address of numbers and other dots do not', () => {
  const names: [name: string, shown: string][] = [
    ['203.0.113.9/pay', '203. 0. 113. 9/pay'],
    ['www\uff0e203.0.113.9', 'www\uff0e 203. 0. 113. 9'],
    ['evil\u2024example, evil\ufe52example', 'evil\u2024 example, evil\ufe52 example'],
    ['evil\uff61example', 'evil\uff61 example'],
    ['a.1-b.example', 'a. 1-b. example'],
    ['shop.\u0301example', 'shop. \u0301example'],
    ['Menu 3.0, v2.5 and 7.5.', 'Menu 3.0, v2.5 and 7.5.'],
    ['Dr. Roth & Co., Bern...', 'Dr. Roth & Co., Bern...'],
    ['3.0\u200dx', '3. 0\u200dx'],
  ]
  assert.deepEqual(
    names.map(([name]) => plainName(name)),
    names.map(([, shown]) => shown),
  )
})

test('names with characters that are not seen, or with a link, are refused; joiners and emoji are not', () => {
  const isName = (name: string): boolean => new RegExp(NAME_PATTERN, 'u').test(name)
  for (const name of [
    'a\u{e0100}b',
    'a\u{e0041}b',
    'a\u200bb',
    'www\uff0eevil',
    'wWw.evil',
    'a://b',
    '\u200d',
    '\u{1d173}',
  ])
    assert.equal(isName(name), false, JSON.stringify(name))
  for (const name of ['Café ❤\ufe0f', '👩\u200d🍳', 'نامه\u200cای', '🍞 𝒜', 'Boulangerie n° 3.0', '𠮷野家'])
    assert.equal(isName(name), true, name)
  assert.equal(new RegExp(VISIBLE_PATTERN, 'u').test('\u{e0041}\u{e0100}'), false)
  // programs that read the schema without the flag u refuse no further name
  assert.ok(new RegExp(NAME_PATTERN).test('Café {eu0} 👩\u200d🍳'))
})
