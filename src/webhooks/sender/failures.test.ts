import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { AddressRefusedError } from './connector.ts'
import { FAILURES, failureOf } from './failures.ts'
import { DnsError } from './resolver.ts'

const withCode = (code: string): Error => Object.assign(new Error(code), { code })

test('every error code stands in the reference', () => {
  const reference = readFileSync(join(import.meta.dirname, '../../../docs/webhooks.md'), 'utf8')
  for (const failure of FAILURES) assert.ok(reference.includes(`\`${failure}\``), failure)
})

test('what the network, DNS, TLS and HTTP report has its own code; a reset inside the answer is told apart', () => {
  const cases: [unknown, string][] = [
    [withCode('ECONNREFUSED'), 'connection_refused'],
    [withCode('ECONNRESET'), 'connection_reset'],
    [withCode('EHOSTUNREACH'), 'host_unreachable'],
    [withCode('UND_ERR_CONNECT_TIMEOUT'), 'connect_timeout'],
    [new DnsError('x', 'ENOTFOUND'), 'dns_not_found'],
    [new DnsError('x', 'ETIMEOUT'), 'dns_timeout'],
    [new DnsError('x', 'ESERVFAIL'), 'dns_failed'],
    [withCode('CERT_HAS_EXPIRED'), 'tls_certificate_expired'],
    [withCode('ERR_TLS_CERT_ALTNAME_INVALID'), 'tls_wrong_host'],
    [withCode('ERR_SSL_WRONG_VERSION_NUMBER'), 'tls_failed'],
    [withCode('HPE_INVALID_CONSTANT'), 'bad_answer'],
    [withCode('UND_ERR_RES_CONTENT_LENGTH_MISMATCH'), 'bad_answer'],
    [new AddressRefusedError('x', '10.0.0.1'), 'address_refused'],
    [new AggregateError([withCode('ECONNREFUSED'), withCode('ENETUNREACH')]), 'connection_refused'],
    [withCode('SOMETHING_NEW'), 'send_failed'],
    ['no error at all', 'send_failed'],
  ]
  for (const [error, failure] of cases) assert.equal(failureOf(error, false), failure)
  assert.equal(failureOf(withCode('ECONNRESET'), true), 'answer_cut_off')
})
