import { appendFileSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { packFiles, unpackFiles } from '../../src/db/backup/archive.ts'
import { backupItems } from '../../src/db/backup/cluster-files.ts'
import type { EmbeddedPostgres } from '../../src/db/embedded/embedded.ts'
import { chooseAccount, giveTo } from '../../src/db/embedded/system-user.ts'

/** PostgreSQL manual, "Setting Up a Standby Server": a base backup, standby.signal, and where to follow. */
export async function copyAsStandby(primary: EmbeddedPostgres, from: string, to: string): Promise<void> {
  const client = new pg.Client({ connectionString: primary.connectionString })
  await client.connect()
  const draft = join(to, 'draft')
  mkdirSync(draft, { recursive: true, mode: 0o700 })
  await unpackFiles(packFiles(backupItems(client, join(from, 'postgres'))), draft, () => {})
  await client.end()
  const host = new URL(primary.connectionString).searchParams.get('host')
  appendFileSync(join(draft, 'postgresql.auto.conf'), `primary_conninfo = 'host=${host} port=5432 user=comptoir'\n`)
  writeFileSync(join(draft, 'standby.signal'), '')
  giveTo(chooseAccount(to, join(to, 'postgres')), draft)
  renameSync(draft, join(to, 'postgres'))
}
