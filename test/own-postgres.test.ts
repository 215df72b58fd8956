import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { startEmbeddedPostgres } from '../src/db/embedded/embedded.ts'
import { withClient } from '../src/db/wire/connection.ts'
import { putCluster } from './harness/cluster.ts'
import { freePort } from './harness/free-port.ts'
import { openOperator } from './harness/installation.ts'
import { startServed } from './harness/served.ts'
import { callService } from './harness/service.ts'

/* docs/guides/own-postgresql.md: the folder of the embedded server is taken along to a PostgreSQL of one's own. */

const operator = openOperator()
after(() => operator.close())

async function runIn(folder: string, args: string[], env: Record<string, string>) {
  const { code: status, out, err } = await operator.run(args, env, folder)
  return { status, text: `${out}${err}` }
}

test('an installation moves to another PostgreSQL with its orders, keys, books and audit log, and goes on selling', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'comptoir-own-'))
  chmodSync(folder, 0o755)
  putCluster(join(folder, 'data'))
  const PORT = String(await freePort())
  const baseUrl = `http://localhost:${PORT}`
  let server: { connectionString: string; stop(): Promise<void> } | undefined
  const first = startServed({ PORT }, { cwd: folder })
  try {
    await first.ready()
    const { apiKey, apiSecret } = JSON.parse(readFileSync(join(folder, 'data/sandbox.json'), 'utf8'))
    const headers = { 'x-api-key': apiKey, 'x-api-secret': apiSecret }
    const sell = async (alias: string): Promise<string> => {
      const body = { amount: '12.50', fromAsset: 'EUR', merchantIdentifier: 'TILL-1', alias }
      const made = await callService<{ code: string }>(baseUrl, 'POST', '/api/next/confirm_conversion/request', {
        ...{ headers, body },
      })
      assert.equal(made.status, 200, made.text)
      return made.data.code
    }
    const code = await sell('BEFORE')
    await first.end('SIGTERM')
    mkdirSync(join(folder, 'own'), { mode: 0o755 })
    const copied = spawnSync('cp', ['-a', join(folder, 'data/postgres'), join(folder, 'own/postgres')])
    assert.equal(copied.status, 0, copied.stderr.toString())
    server = await startEmbeddedPostgres({ dataDir: join(folder, 'own'), log: () => {} })
    const run = (args: string[], given: Record<string, string>) => runIn(folder, args, { PORT, ...given })
    await withClient({ connectionString: server.connectionString }, (client) => client.query('create database empty'))
    const empty = { DATABASE_URL: server.connectionString.replace('/comptoir?', '/empty?') }
    for (const command of ['serve', 'doctor']) {
      const refused = await run([command], empty)
      assert.equal(refused.status, 1, `${command}: ${refused.text}`)
      assert.match(refused.text, /database of DATABASE_URL is empty, and .*data\/postgres holds one with your orders/)
      assert.doesNotMatch(refused.text, /belongs to this|comptoir migrate/)
    }
    renameSync(join(folder, 'data/postgres'), join(folder, 'kept'))
    assert.match((await run(['doctor'], empty)).text, /is empty: it belongs to no installation yet/)
    const env = { PORT, DATABASE_URL: server.connectionString }
    const second = startServed(env, { cwd: folder })
    try {
      await second.ready()
      const found = await callService<{ alias: string }>(baseUrl, 'GET', `status/${code}`, { headers })
      assert.deepEqual([found.status, found.data.alias], [200, 'BEFORE'], 'the same key reads the same order')
      await sell('AFTER')
      for (const what of ['ledger', 'audit']) {
        const done = await run([what, 'verify'], env)
        assert.equal(done.status, 0, `${what}: ${done.text}`)
      }
    } finally {
      await second.end('SIGTERM')
    }
    for (const command of ['serve', 'migrate']) {
      const lost = await run([command], {})
      assert.notEqual(lost.status, 0, lost.text)
      assert.match(lost.text, /DATABASE_URL is not set.*Set DATABASE_URL again/)
    }
    assert.equal(existsSync(join(folder, 'data/postgres')), false, 'no other database begins here')
    for (const command of ['serve', 'doctor']) {
      const mistyped = await run([command], empty)
      assert.equal(mistyped.status, 1, `${command}: ${mistyped.text}`)
      assert.match(mistyped.text, /database of DATABASE_URL is empty, and .*database-elsewhere says/)
    }
    await withClient({ connectionString: server.connectionString }, (client) =>
      client.query("update installation set created_at = created_at - interval '1 second'"),
    )
    const another = await run(['serve'], { DATABASE_URL: server.connectionString })
    assert.equal(another.status, 1, another.text)
    assert.match(another.text, /belongs to another installation, and .*database-elsewhere says/)
  } finally {
    await first.end()
    await server?.stop()
    rmSync(folder, { recursive: true, force: true })
  }
})
