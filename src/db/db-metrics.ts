import { Gauge, type Registry } from 'prom-client'
import type { Db } from './db.ts'
import { countParkedJobs, findWaitingJobs } from './job-queries.ts'

/** Database metrics for the operator, read at each scrape. */
export function registerDbMetrics(db: Db, metrics: Registry, mailJob: string): void {
  new Gauge({
    name: 'comptoir_db_pool_waiting',
    help: 'Requests that wait for a connection of the database on this node.',
    registers: [metrics],
    collect() {
      this.set(db.countWaiting())
    },
  })
  new Gauge({
    name: 'comptoir_db_pool_connections',
    help: 'Connections of this node to the database, by state.',
    labelNames: ['state'],
    registers: [metrics],
    collect() {
      const { totalCount, idleCount } = db.pool
      this.set({ state: 'idle' }, idleCount)
      this.set({ state: 'busy' }, totalCount - idleCount)
    },
  })
  new Gauge({
    name: 'comptoir_jobs_parked',
    help: 'Jobs that gave up and wait for a person.',
    registers: [metrics],
    async collect() {
      // without its database a node still serves its other metrics
      this.set(await countParkedJobs(db).catch(() => Number.NaN))
    },
  })
  new Gauge({
    name: 'comptoir_mail_waiting',
    help: 'Mails that were not handed to the mail server yet.',
    registers: [metrics],
    async collect() {
      this.set(
        await findWaitingJobs(db, mailJob).then(
          ({ count }) => count,
          () => Number.NaN,
        ),
      )
    },
  })
  new Gauge({
    name: 'comptoir_mail_oldest_seconds',
    help: 'Since when the oldest of these mails waits; 0: none does.',
    registers: [metrics],
    async collect() {
      this.set(
        await findWaitingJobs(db, mailJob).then(
          ({ oldestSeconds }) => oldestSeconds,
          () => Number.NaN,
        ),
      )
    },
  })
}
