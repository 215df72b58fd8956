import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { loadConfig } from '../config/config.ts'
import { metricsHostOf } from '../http/health/metrics-server.ts'
import { findRisks } from './risks.ts'

const LIVE = {
  ...{ MODE: 'live', MASTER_KEY: randomBytes(32).toString('base64'), SMTP_URL: 'smtp://127.0.0.1:1' },
  ...{ BASE_URL: 'https://pay.example', OFFICE_URL: 'https://pay.example/app' },
}

test('a limit that is off is named as its variable, with what it guards', () => {
  const wordsOf = (limits: Record<string, string>): string | undefined =>
    findRisks(loadConfig({ ...LIVE, ...limits }))['limits-off']?.message
  assert.equal(wordsOf({}), undefined)
  assert.equal(
    wordsOf({ LIMIT_PAGE_PER_MINUTE: '0', LIMIT_LINK_PER_MINUTE: '0' }),
    'No limit: LIMIT_PAGE_PER_MINUTE, LIMIT_LINK_PER_MINUTE. One caller can use up what all share.',
  )
  assert.equal(
    wordsOf({ LIMIT_ADDRESS_PER_MINUTE: '0' }),
    'No limit: LIMIT_ADDRESS_PER_MINUTE. Passwords can be guessed without limit.',
  )
})

test('metrics without a token are open where others reach their port, which they do only if the operator says so', () => {
  const look = (env: Record<string, string>): [string, boolean] => {
    const config = loadConfig({ ...LIVE, HOST: '0.0.0.0', ...env })
    return [metricsHostOf(config), findRisks(config)['public-metrics'] !== null]
  }
  const port = { METRICS_PORT: '9464' }
  assert.equal(look({})[1], true)
  assert.deepEqual(look(port), ['127.0.0.1', false])
  assert.deepEqual(look({ ...port, METRICS_TOKEN: 'scrape-me-please' }), ['0.0.0.0', false])
  assert.deepEqual(look({ ...port, HOST: '::1' }), ['::1', false])
  assert.deepEqual(look({ ...port, ACCEPT_RISK: 'public-metrics' }), ['0.0.0.0', true])
})
