import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { loadConfig } from '../config/config.ts'
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
