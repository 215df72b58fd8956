import type { Config } from '../config/config.ts'
import type { Partitioned } from './partitions.ts'

/** Delivery attempts are kept for at least this many days. */
const ATTEMPT_DAYS = 90

/** Zero keeps them forever. */
const orForEver = (days: number): number | null => (days === 0 ? null : days)

const eventInFeed = (partition: string, before: string): string =>
  `select from ${partition} where at >= '${before}' and event is not null and position is not null`

const stillDue = (partition: string): string =>
  `select from delivery_due due join ${partition} d on d.company_id = due.company_id and d.id = due.delivery_id`

type Retention = Pick<
  Config,
  'exchangeRetentionDays' | 'requestLogDays' | 'orderEventRetentionDays' | 'webhookRetentionDays'
>

/** The partitioned tables and their retention. docs/scaling.md says why others are not partitioned. */
export const partitionedTables = (config: Retention): readonly Partitioned[] => [
  {
    ...{ table: 'delivery_attempts', key: 'started_at', kind: 'time', unit: 'month', at: 'started_at' },
    keepDays: ATTEMPT_DAYS,
  },
  {
    ...{ table: 'channel_exchanges', key: 'at', kind: 'time', unit: 'day', at: 'at' },
    ...{ keepDays: config.exchangeRetentionDays, own: 'primary key (company_id, id)' },
  },
  {
    ...{ table: 'request_log', key: 'at', kind: 'time', unit: 'day', at: 'at' },
    ...{ keepDays: config.requestLogDays, own: 'primary key (company_id, id)' },
  },
  {
    ...{ table: 'order_events', key: 'order_id', kind: 'id', unit: 'month', at: 'at' },
    ...{ keepDays: orForEver(config.orderEventRetentionDays), neededBy: eventInFeed },
  },
  {
    ...{ table: 'deliveries', key: 'order_id', kind: 'id', unit: 'month', at: 'updated_at' },
    ...{ keepDays: orForEver(config.webhookRetentionDays), own: 'primary key (company_id, id)' },
    ...{ storage: 'fillfactor = 90', neededBy: stillDue },
  },
]
