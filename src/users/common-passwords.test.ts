import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isCommonPassword } from './common-passwords.ts'

const isCommon = (password: string, own: string[] = []): boolean => isCommonPassword(password, own, new Set())

test('a common word stays common under capitals, look-alikes, years and signs', () => {
  for (const password of [
    'Password123!',
    'P@ssw0rd1234!',
    'Passw0rd!!2024',
    'Welcome2024!!',
    'Qwertyuiop12!',
    'Azerty123456!',
    'Admin@123456',
    'Iloveyou1234!',
    'MotDePasse123!',
    'Contraseña123!',
    'Aaaaaaaaaa1!',
    'Abcdefghij1!',
    '123456789Aa!',
    'We1come12345!',
    'Summer2025!!!',
    'Football#1234',
    'AdminAdmin123!',
    'Test12345678!',
  ])
    assert.equal(isCommon(password), true, password)
})

test('a leaked password stays one under the same ornaments', () => {
  for (const password of [
    'Soleil123456!',
    'Loulou123456!',
    'Zaq12wsx!2024',
    '1qaz@WSX#3edc',
    'Kobe24-2024!!',
    'D1lbert!2024!',
  ])
    assert.equal(isCommon(password), true, password)
})

test('several unrelated words and random texts are not common', () => {
  for (const password of [
    'Str0ng!Passw0rd#9x',
    'Correct-Horse-9-Battery',
    'Tr0ub4dor&3-zebra',
    'Demo-kJ8vQz2L1xYp-1a',
    'S3cure!Merchant#2024',
    'Test-Password-123!',
    'Ünïcode-Wörter-7x',
    'パスワードAa1!Tokyo-Kyoto',
    'Gr8!xK9#mQ2$vL5',
    'Valid-Pass-2024!',
  ])
    assert.equal(isCommon(password), false, password)
})

test('the person’s own names are the first guess', () => {
  assert.equal(isCommon('Bernadette.Martin1!', ['bernadette.martin@cafe.example']), true)
  assert.equal(isCommon('Bernadette.Martin1!', ['someone@cafe.example']), false)
  assert.equal(isCommonPassword('Xk9!from-the-list', [], new Set(['xk9!from-the-list'])), true)
})
