import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { webhookHeaders } from './signature.ts'

test('the signature is HMAC-SHA-256 of t, a dot and the body, keyed by the whole secret text', () => {
  // computed with: printf '1700000000.{"a":1}' | openssl dgst -sha256 -hmac 'whsec_test'
  const expected = '38877139021993b830af32feea6e18a8da83eb2f6e49ee50bd9e4cf4ca4d3789'
  const message = { id: 'f'.repeat(32), event: 'order.paid', body: '{"a":1}', secret: 'whsec_test' }
  const headers = webhookHeaders({ ...message, atSeconds: 1_700_000_000 })
  assert.equal(headers[headers.indexOf('service-signature') + 1], `t=1700000000,v1=${expected}`)
})

test('the Standard Webhooks signature equals that of the reference library', () => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
  const headers = webhookHeaders({
    id: 'f'.repeat(32),
    event: 'order.paid',
    body: '{"é":"€"}',
    secret,
    atSeconds: 1_700_000_000,
  })
  const own = headers[headers.indexOf('webhook-signature') + 1]
  assert.equal(own, new Webhook(secret).sign('f'.repeat(32), new Date(1_700_000_000_000), '{"é":"€"}'))
})
