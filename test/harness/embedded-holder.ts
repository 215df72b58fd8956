import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { startEmbeddedPostgres } from '../../src/db/embedded/embedded.ts'

/*
 * A Comptoir that does nothing but own its database: prints the connection string, then the number of each row after
 * its commit was acknowledged, until it is ended. SIGTERM ends it properly.
 */
const [dataDir = ''] = process.argv.slice(2)
const server = await startEmbeddedPostgres({ dataDir, log: console.error })
const client = new pg.Client({ connectionString: server.connectionString })
client.on('error', () => {})
let ending = false
process.on('SIGTERM', () => {
  ending = true
})
await client.connect()
await client.query('create table if not exists rows (id bigint generated always as identity primary key)')
console.log(server.connectionString)
while (!ending) {
  const { rows } = await client.query<{ id: string }>('insert into rows default values returning id')
  console.log(rows[0]?.id)
  // hundreds a second are as good as thousands
  await sleep(1)
}
await client.end()
await server.stop()
