import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Client } from 'pg'
import { type ArchiveItem, readExactly } from './archive.ts'

/*
 * A consistent copy of a running cluster's files. Source: PostgreSQL manual, "Making a Base Backup Using the Low Level
 * API"; for what is left out, "Backing Up the Data Directory".
 */
const EMPTIED = [
  ...['pg_wal', 'pg_replslot', 'pg_dynshmem', 'pg_notify', 'pg_serial', 'pg_snapshots', 'pg_stat_tmp'],
  ...['pg_subtrans'],
]
const LEFT_OUT = new RegExp(
  [
    ...[/^postmaster\.(pid|opts)$/, /^backup_label/, /^tablespace_map/, /^pg_internal\.init/, /^current_logfiles$/],
    ...[/^\.s\.PGSQL\./, /^(recovery|standby)\.(signal|done)$/, /^comptoir\.(restored|sandbox)/, /^pgsql_tmp/],
  ]
    .map(({ source }) => source)
    .join('|'),
)

/** Read last, because it says from where on the write-ahead log is needed. */
const CONTROL = 'global/pg_control'

/** Folders and files below the cluster, relative to it; those that are deleted meanwhile are left out. */
function* walk(cluster: string, folder = ''): Generator<string> {
  for (const entry of readdirSync(join(cluster, folder), { withFileTypes: true })) {
    if (LEFT_OUT.test(entry.name)) continue
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`
    if (entry.isDirectory()) {
      yield `${path}/`
      if (!EMPTIED.includes(path)) yield* walk(cluster, path)
    } else if (entry.isFile()) yield path
  }
}

const sizeOf = (file: string): number | undefined => statSync(file, { throwIfNoEntry: false })?.size

/** Approximate number of bytes that a backup reads. */
export function measureCluster(cluster: string): number {
  let bytes = 0
  for (const path of walk(cluster)) if (!path.endsWith('/')) bytes += sizeOf(join(cluster, path)) ?? 0
  return bytes
}

function* listItems(cluster: string): Generator<ArchiveItem> {
  for (const path of [...walk(cluster)].filter((name) => name !== CONTROL)) {
    const file = join(cluster, path)
    if (path.endsWith('/')) {
      yield { folder: path.slice(0, -1) }
      continue
    }
    const bytes = sizeOf(file)
    if (bytes !== undefined) yield { path, bytes, content: vanishing(file, bytes) }
  }
  const file = join(cluster, CONTROL)
  const bytes = sizeOf(file) ?? 0
  yield { path: CONTROL, bytes, content: readExactly(file, bytes) }
}

/** A table that is dropped between being listed and being read is empty in the copy; the log drops it there too. */
async function* vanishing(file: string, bytes: number): AsyncGenerator<Buffer> {
  let given = 0
  try {
    for await (const piece of readExactly(file, bytes)) {
      given += piece.length
      yield piece
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    yield* readExactly('/dev/null', bytes - given)
  }
}

const text = (content: string): { bytes: number; content: AsyncIterable<Buffer> } => {
  const buffer = Buffer.from(content)
  async function* once(): AsyncGenerator<Buffer> {
    yield buffer
  }
  return { bytes: buffer.length, content: once() }
}

type Stopped = { lsn: string; label: string; map: string; first: string; last: string }

/**
 * Everything that a consistent copy needs, in the order in which it must be read. The connection holds the slot that
 * keeps the write-ahead log, and stays in backup mode until the last item was taken.
 */
export async function* backupItems(client: Client, cluster: string): AsyncGenerator<ArchiveItem> {
  await client.query("select pg_create_physical_replication_slot('comptoir_backup_' || pg_backend_pid(), true, true)")
  const { rows: started } = await client.query<{ first: string }>(
    "select pg_walfile_name(pg_backup_start('comptoir', true)) as first",
  )
  for (const item of listItems(cluster)) yield item
  const { rows: stopped } = await client.query<Omit<Stopped, 'first'>>(
    'select lsn::text, labelfile as label, spcmapfile as map, pg_walfile_name(lsn) as last from pg_backup_stop(false)',
  )
  const [stop] = stopped
  const first = started[0]?.first
  if (!stop || first === undefined) throw new Error('PostgreSQL did not end the backup.')
  if (stop.map.trim() !== '') throw new Error('The cluster has tablespaces of its own; back it up with pg_basebackup.')
  for (const name of readdirSync(join(cluster, 'pg_wal')).sort()) {
    const isSegment = /^[0-9A-F]{24}$/.test(name) && name >= first && name <= stop.last
    if (!isSegment && !name.endsWith('.history')) continue
    const file = join(cluster, 'pg_wal', name)
    const bytes = sizeOf(file) ?? 0
    yield { path: `pg_wal/${name}`, bytes, content: readExactly(file, bytes) }
  }
  yield { path: 'backup_label', ...text(stop.label) }
}
