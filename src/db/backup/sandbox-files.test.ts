import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { packFiles, unpackFiles } from './archive.ts'
import { lacksChain, placeSandboxFiles, SANDBOX_FOLDER, sandboxItems } from './sandbox-files.ts'

test('what a sandbox keeps beside its database is restored, and what is there already stays', async (t) => {
  const [from, draft, to] = [0, 1, 2].map(() => mkdtempSync(join(tmpdir(), 'comptoir-files-'))) as [
    string,
    string,
    string,
  ]
  t.after(() => {
    for (const folder of [from, draft, to]) rmSync(folder, { recursive: true, force: true })
  })
  writeFileSync(join(from, 'chain.json'), 'blocks')
  writeFileSync(join(from, 'providers.json'), 'payments')
  writeFileSync(join(from, 'master.key'), 'never in a backup')
  writeFileSync(join(to, 'providers.json'), 'newer payments')
  await unpackFiles(packFiles(sandboxItems(from)), draft, () => {})
  assert.deepEqual(readdirSync(join(draft, SANDBOX_FOLDER)).sort(), ['chain.json', 'providers.json'])
  assert.equal(lacksChain(to), true)
  await placeSandboxFiles(draft, to)
  assert.equal(lacksChain(to), false)
  const read = (name: string): string => readFileSync(join(to, name), 'utf8')
  assert.deepEqual([read('chain.json'), read('providers.json')], ['blocks', 'newer payments'])
  assert.deepEqual([readdirSync(draft), readdirSync(to).sort()], [[], ['chain.json', 'providers.json']])
})
