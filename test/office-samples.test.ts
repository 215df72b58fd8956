import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { SAMPLES } from '../web/office/src/screens/developer/samples.ts'
import { type Merchant, startTestService, type TestService } from './harness/service.ts'

/* The code that the back office shows, run as it stands. An interpreter that is not installed is said so. */

let service: TestService
let folder: string

before(async () => {
  service = await startTestService()
  folder = mkdtempSync(join(tmpdir(), 'comptoir-samples-'))
})
after(async () => {
  await service?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const RUNS: Record<string, { command: string; file: string; args?: string[]; probe: string[] }> = {
  curl: { command: 'bash', file: 'sample.sh', probe: ['-c', 'command -v curl'] },
  JavaScript: { command: process.execPath, file: 'sample.mjs', probe: ['--version'] },
  PHP: { command: 'php', file: 'sample.php', probe: ['-r', 'exit(extension_loaded("curl") ? 0 : 1);'] },
  Python: { command: 'python3', file: 'sample.py', probe: ['--version'] },
}
const isHere = (language: string): boolean => {
  const { command, probe } = RUNS[language] as (typeof RUNS)[string]
  return spawnSync(command, probe).status === 0
}

/** Not in this process: it is also the server that the code calls. */
async function run(language: string, code: string): Promise<string> {
  const { command, file } = RUNS[language] as (typeof RUNS)[string]
  const path = join(folder, file)
  writeFileSync(path, code)
  return new Promise((resolve, reject) =>
    execFile(command, [path], { timeout: 15_000 }, (error, out, err) =>
      error ? reject(new Error(err)) : resolve(out),
    ),
  )
}

const absent = Object.keys(RUNS).filter((language) => !isHere(language))
if (absent.length > 0) console.log(`left out, not installed: ${absent.join(', ')}`)

const countKeys = async ({ companyId }: Merchant): Promise<number> => {
  const found = await service.db.one<{ count: number }>(
    sql`select count(*)::int as count from idempotency_keys where company_id = ${companyId}`,
  )
  return found.count
}

for (const language of Object.keys(RUNS).filter(isHere)) {
  test(`the first order in ${language} runs as it is shown, and each run is the order of another customer`, async () => {
    const merchant = await service.createMerchant()
    const headers = merchant.headers
    const key = { apiKey: headers['x-api-key'] ?? '', apiSecret: headers['x-api-secret'] ?? '' }
    const code = SAMPLES[language]?.({ origin: service.baseUrl, till: 'TILL-1', key }) ?? ''
    const first = /\/pay\?code=(\w{24})/.exec(await run(language, code))?.[1]
    const second = /\/pay\?code=(\w{24})/.exec(await run(language, code))?.[1]
    assert.ok(second)
    assert.ok(first)
    assert.notEqual(second, first)
    const { data } = await service.call<{ fromAmount: string }>('GET', `status/${first}`)
    assert.equal(data.fromAmount, '12.50')
    assert.equal(await countKeys(merchant), 2, 'each under a key of its own')
  })
}
