import type pg from 'pg'
import { connectionConfig, withClient } from './connection.ts'

type Asked = Pick<pg.ClientBase, 'query'>

/**
 * Partitions come and go, and have theirs from the table that they belong to. An index that is being built, or whose
 * building was interrupted, keeps nothing right.
 */
const PARTS = `
  select c.relname || ': unique index ' || x.relname as part from pg_index i
    join pg_class x on x.oid = i.indexrelid join pg_class c on c.oid = i.indrelid
    where i.indisunique and i.indisvalid and x.relname !~ '_cc(new|old)[0-9]*$' and not c.relispartition and c.relnamespace = current_schema()::regnamespace
  union all
  select c.relname || ': foreign key ' || k.conname from pg_constraint k join pg_class c on c.oid = k.conrelid
    where k.contype = 'f' and k.conparentid = 0 and not c.relispartition
      and c.relnamespace = current_schema()::regnamespace
  union all
  select c.relname || ': trigger ' || t.tgname from pg_trigger t join pg_class c on c.oid = t.tgrelid
    where not t.tgisinternal and t.tgparentid = 0 and not c.relispartition
      and c.relnamespace = current_schema()::regnamespace`

/** What the newest migration left and a table that is there lacks now; nothing before anything was noted. */
async function listMissing(client: Asked): Promise<string[]> {
  const { rows } = await client.query<{ part: string }>(`
    with noted as (
      select to_jsonb(m)->'parts' as parts from migrations m
      where jsonb_typeof(to_jsonb(m)->'parts') = 'array' order by id desc limit 1)
    select part from noted, jsonb_array_elements_text(parts) as part
    where to_regclass(quote_ident(split_part(part, ':', 1))) is not null
      and part not in (${PARTS}) order by part`)
  return rows.map(({ part }) => part)
}

export const readMissingParts = (connectionString: string): Promise<string[]> =>
  withClient(
    connectionConfig({ connectionString, prepared: false, applicationName: 'comptoir-check' }),
    async (client) => {
      const { rows } = await client.query<{ found: boolean }>("select to_regclass('migrations') is not null as found")
      return rows[0]?.found === true ? listMissing(client) : []
    },
  )

/** Few are named: a load that ended early lacks hundreds. */
export const missingWords = (missing: readonly string[]): string =>
  `The database lacks ${missing.length} of its unique indices, foreign keys and triggers, as after a load that ended ` +
  `early: ${missing.slice(0, 3).join(', ')}${missing.length > 3 ? ', …' : ''}.`

const NOTE = `
  update migrations set parts = (select coalesce(jsonb_agg(part order by part), '[]') from (${PARTS}) every_part)
  where id = (select max(id) from migrations)`

/**
 * Before migrations run. What was missing by then stays missed: a migration does not complete a load that ended early.
 * @param dropped indices that an interrupted run may have dropped already, before it noted anything
 * @returns notes what is there now. Call it in the transaction of each migration, because the next one may fail
 */
export async function openNoting(client: Asked, dropped: readonly string[]): Promise<() => Promise<void>> {
  const { rows } = await client.query<{ noted: boolean }>(`
    select jsonb_typeof(to_jsonb(m)->'parts') = 'array' as noted from migrations m order by id desc limit 1`)
  const missing = await listMissing(client)
  const isWhole = missing.every((part) => dropped.some((name) => part.endsWith(`: unique index ${name}`)))
  const note = async (): Promise<void> => {
    // the table has had the column only since a migration
    const { rowCount } = await client.query(`
      select from pg_attribute where attrelid = 'migrations'::regclass and attname = 'parts' and not attisdropped`)
    if (isWhole && rowCount === 1) await client.query(NOTE)
  }
  if (rows[0]?.noted !== true) await note()
  return note
}
