import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError, loadConfig } from './config.ts'

const GROUP = {
  KYC_SUMSUB_BASE_URL: 'https://api.sumsub.com/',
  KYC_SUMSUB_APP_TOKEN: 'sbx:token',
  KYC_SUMSUB_SECRET_KEY: 'secret',
  KYC_SUMSUB_WEBHOOK_SECRET: 'webhook',
}

const faultsOf = (env: Record<string, string>): string[] => {
  try {
    loadConfig(env)
    return []
  } catch (error) {
    assert.ok(error instanceof ConfigError)
    return error.faults
  }
}

test('Sumsub is used when all of it is given, with the documented names', () => {
  assert.deepEqual(loadConfig({}).kyc, { provider: 'manual' })
  assert.deepEqual(loadConfig({ ...GROUP, KYC_PROVIDER: 'manual' }).kyc, { provider: 'manual' })
  assert.deepEqual(loadConfig(GROUP).kyc, {
    provider: 'sumsub',
    sumsub: {
      baseUrl: 'https://api.sumsub.com',
      appToken: 'sbx:token',
      secretKey: 'secret',
      webhookSecret: 'webhook',
      level: 'basic-kyc-level',
      eddLevel: 'enhanced-kyc-level',
      sdkUrl: 'https://static.sumsub.com/idensic/static/sns-websdk-builder.js',
    },
  })
})

test('a half-set group, a wrong choice, equal levels and a test token in live mode stop the start with one line', () => {
  const { KYC_SUMSUB_SECRET_KEY: _, ...half } = GROUP
  const cases: [Record<string, string>, RegExp][] = [
    [half, /^KYC_SUMSUB_SECRET_KEY: missing/],
    [{ KYC_PROVIDER: 'sumsub' }, /^KYC_SUMSUB_BASE_URL, .*: missing/],
    [{ KYC_PROVIDER: 'onfido' }, /^KYC_PROVIDER: choose from/],
    [{ ...GROUP, KYC_SUMSUB_BASE_URL: 'ftp://x' }, /^KYC_SUMSUB_BASE_URL: must be a URL/],
    [{ ...GROUP, KYC_SUMSUB_LEVEL: 'enhanced-kyc-level' }, /must differ/],
  ]
  for (const [env, fault] of cases) {
    const faults = faultsOf(env)
    assert.equal(faults.length, 1, faults.join('\n'))
    assert.match(faults[0] ?? '', fault)
  }
  const live = faultsOf({ ...GROUP, MODE: 'live' })
  assert.ok(live.some((fault) => /^KYC_SUMSUB_APP_TOKEN: live mode/.test(fault)))
  assert.equal(
    live.some((fault) => fault.includes('sbx:token')),
    false,
    'no secret stands in a message',
  )
})
