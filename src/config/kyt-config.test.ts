import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { findUnknownVariables } from './all-settings.ts'
import { readConfig } from './config.ts'

const ORACLE = '0x40C57923924B5c5c5455c48D93317139ADDaC8fb'
const faultsOf = (env: Record<string, string>): string[] => readConfig(env).faults

test('a key alone turns a source on, at its documented address', () => {
  const { config, faults } = readConfig({
    KYT_CHAINALYSIS_API_KEY: 'a',
    KYT_CHAINALYSIS_RISK_TOKEN: 'b',
    KYT_TRM_API_KEY: 'c',
    KYT_ORACLE_31337: ORACLE,
  })
  assert.deepEqual(faults, [])
  assert.deepEqual(config.kyt, {
    denyListFile: null,
    oracles: [{ chainId: 31337, address: ORACLE.toLowerCase() }],
    sanctions: { baseUrl: 'https://public.chainalysis.com/api/v1', apiKey: 'a' },
    risk: { baseUrl: 'https://api.chainalysis.com', token: 'b' },
    trm: { baseUrl: 'https://api.trmlabs.com', apiKey: 'c' },
  })
})

test('what is half set up stops the start and names the variable', () => {
  assert.match(faultsOf({ KYT_TRM_BASE_URL: 'https://t.example' }).join(), /^KYT_TRM_API_KEY: missing/)
  assert.match(faultsOf({ KYT_ORACLE_31337: '0x12' }).join(), /^KYT_ORACLE_31337: must be an EVM address/)
  assert.match(faultsOf({ KYT_ORACLE_1: ORACLE }).join(), /^KYT_ORACLE_1: chain 1 is not set up/)
  assert.match(faultsOf({ KYT_DENY_LIST_FILE: '/nowhere/list' }).join(), /^KYT_DENY_LIST_FILE: ENOENT/)
})

test('a deny list with a line that is no address stops the start', (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'comptoir-kyt-'))
  context.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'list')
  writeFileSync(file, `# ours\n${ORACLE}\nbob\n`)
  assert.match(faultsOf({ KYT_DENY_LIST_FILE: file }).join(), /line 3 is no address/)
  writeFileSync(file, `# ours\n${ORACLE}\n`)
  assert.deepEqual(faultsOf({ KYT_DENY_LIST_FILE: file }), [])
})

test('the deny list’s file and the oracles are known variables, a misspelt source is not', () => {
  const env = { KYT_DENY_LIST_FILE: '/x', KYT_ORACLE_8453: ORACLE, KYT_TRM_API_KEY_FILE: '/y' }
  assert.deepEqual(findUnknownVariables(env, []), [])
  assert.match(findUnknownVariables({ KYT_TRM_KEY: 'x' }, []).join(), /KYT_TRM_KEY: no such variable/)
  assert.match(findUnknownVariables({ KYT_ELLIPTIC_API_KEY: 'x' }, []).join(), /no such variable/)
})
