import type { FastifyBaseLogger } from 'fastify'
import { Gauge, type Registry } from 'prom-client'
import { OFFICE_PATHS } from '../config/office-paths.ts'
import type { Db } from '../db/db.ts'
import type { RaiseAlarm } from '../mail/operator-alarm.ts'
import type { DenyList } from './sources/deny-list.ts'

type WatchDeps = { db: Db; log: FastifyBaseLogger; alarm: RaiseAlarm; metrics: Registry; list: DenyList | null }

/** Checks the deny list between screenings, and raises one alarm when it becomes unusable. */
export function watchDenyList({ db, log, alarm, metrics, list }: WatchDeps): () => Promise<undefined> {
  if (list === null) return async () => undefined
  new Gauge({
    name: 'comptoir_deny_list_ok',
    help: '0 while the deny list is gone or unreadable and its last content is used.',
    registers: [metrics],
    collect() {
      this.set(list.look().fault === null ? 1 : 0)
    },
  })
  let told: string | null = null
  return async () => {
    const { fault, entries } = list.look()
    if (fault === null) {
      if (told !== null) log.info({ entries }, 'the deny list is readable again')
      told = null
      return
    }
    if (told !== null) return
    log.error({ fault, entries }, 'the deny list cannot be used; its last content stays in force')
    await db.tx((tx) =>
      alarm(tx, {
        subject: 'The deny list cannot be read',
        paragraphs: [
          `KYT_DENY_LIST_FILE: ${fault}.`,
          `Its last content (${entries} addresses) stays in force. A node that starts now refuses to.`,
          'Put the file back. It is read again by itself.',
        ],
        path: OFFICE_PATHS.system,
      }),
    )
    told = fault
  }
}
