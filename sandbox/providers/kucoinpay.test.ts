import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sealPayer } from './kucoinpay/protocol.ts'
import { rsaKeyOf } from './rsa-keys.ts'

test('the payer’s data are sealed as KuCoin seals them', () => {
  assert.equal(
    sealPayer({ firstName: 'Ada' }, Buffer.alloc(32, 7), Buffer.alloc(16, 9)),
    'CQkJCQkJCQkJCQkJCQkJCTr7gPQWTABvPGBGJj6FTCm8IV1Rws6M0ycK5ME6hKsJ',
  )
})

test('a key is the same after a restart, and another one for another secret', () => {
  const key = rsaKeyOf('one')
  assert.equal(key.asymmetricKeyDetails?.modulusLength, 2048)
  assert.ok(key.equals(rsaKeyOf('one')))
  assert.ok(!key.equals(rsaKeyOf('two')))
})
