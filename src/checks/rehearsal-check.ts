import { REHEARSAL, readIsRehearsal } from '../db/installation.ts'
import { bad, type Check, type CheckResult, good } from './check.ts'

const FIX = 'To go on with these data for real, restore the backup again without --rehearsal (docs/backup.md).'

/** For a running service, which read it at its start. */
export const rehearsalResult = (): CheckResult => ({ name: 'rehearsal', ...bad(REHEARSAL, FIX) })

export const rehearsalCheck = (connectionString: string): Check => ({
  name: 'rehearsal',
  cure: 'Check DATABASE_URL, and that PostgreSQL runs there.',
  run: async () =>
    (await readIsRehearsal(connectionString)) ? bad(REHEARSAL, FIX) : good('The database is no rehearsal.'),
})
