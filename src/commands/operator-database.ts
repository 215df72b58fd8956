import type { Config } from '../config/config.ts'
import { findEmbeddedPostgres, startEmbeddedPostgres } from '../db/embedded/embedded.ts'
import { refuseElsewhere, refuseNoDatabase } from '../db/embedded/state-directory.ts'

type Say = (line: string) => void
type Place = Pick<Config, 'databaseUrl' | 'dataDir' | 'mode'>

/** Its own server is started for the duration of the task, unless it runs. @param refuse throws before it is started */
async function withServer<Result>(
  { databaseUrl, dataDir }: Place,
  { say, refuse }: { say: Say; refuse(): void },
  work: (connectionString: string, serviceRuns: boolean) => Promise<Result>,
): Promise<Result> {
  const running = databaseUrl ?? (await findEmbeddedPostgres(dataDir))
  if (running === null) refuse()
  const own = running === null ? await startEmbeddedPostgres({ dataDir, log: say }) : null
  try {
    return await work(running ?? own?.connectionString ?? '', running !== null)
  } finally {
    await own?.stop()
  }
}

/**
 * The database of this installation, even while the service runs. If it is embedded and not running, it is started for
 * the duration of the task. @throws InstallationFault when there is none, or the orders are in another one
 */
export const withDatabaseServer = <Result>(
  place: Place,
  say: Say,
  work: (connectionString: string, serviceRuns: boolean) => Promise<Result>,
): Promise<Result> => withServer(place, { say, refuse: () => refuseNoDatabase(place) }, work)

/** The same for `init`, which begins an installation: where there is no database yet, an empty one is made. */
export const withNewDatabase = <Result>(
  place: Place,
  say: Say,
  work: (connectionString: string) => Promise<Result>,
): Promise<Result> => withServer(place, { say, refuse: () => refuseElsewhere(place.dataDir) }, work)
