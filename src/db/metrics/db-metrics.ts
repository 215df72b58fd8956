import { Gauge, type Registry } from 'prom-client'
import { type Db, sql } from '../db.ts'
import { countParkedJobs, findWaitingJobs } from '../job-queries.ts'
import { openStoredGauge, shareFigures } from './stored-gauge.ts'

/** Database metrics for the operator, read at each scrape. */
export function registerDbMetrics(db: Db, metrics: Registry, mailJob: string): void {
  const registers = [metrics]
  const isUp = shareFigures(() => db.one(sql`select 1 as answer`))
  new Gauge({
    name: 'comptoir_database_up',
    help: '1 while the database answers this process; at 0 every metric that is read from it is absent.',
    registers,
    async collect() {
      this.set((await isUp()) === null ? 0 : 1)
    },
  })
  new Gauge({
    name: 'comptoir_db_pool_waiting',
    help: 'Requests that wait for a connection of the database on this node.',
    registers,
    collect() {
      this.set(db.countWaiting())
    },
  })
  new Gauge({
    name: 'comptoir_db_pool_connections',
    help: 'Connections of this node to the database, by state.',
    labelNames: ['state'],
    registers,
    collect() {
      const { totalCount, idleCount } = db.pool
      this.set({ state: 'idle' }, idleCount)
      this.set({ state: 'busy' }, totalCount - idleCount)
    },
  })
  openStoredGauge(
    { name: 'comptoir_jobs_parked', help: 'Jobs that gave up and wait for a person.', registers },
    shareFigures(() => countParkedJobs(db)),
    (gauge, count) => gauge.set(count),
  )
  const mails = shareFigures(() => findWaitingJobs(db, mailJob))
  openStoredGauge(
    { name: 'comptoir_mail_waiting', help: 'Mails that were not handed to the mail server yet.', registers },
    mails,
    (gauge, { count }) => gauge.set(count),
  )
  openStoredGauge(
    {
      name: 'comptoir_mail_oldest_seconds',
      help: 'Since when the oldest of these mails waits; 0: none does.',
      registers,
    },
    mails,
    (gauge, { oldestSeconds }) => gauge.set(oldestSeconds),
  )
}
