import { integer, optional, optionalUrl, text } from '../setting.ts'

/** Backups of the embedded database, and the bucket that may store them. */
export const BACKUPS = {
  backupTo: optional(
    'BACKUP_TO',
    'Where encrypted backups of the embedded database go: a folder, best on another machine’s disk, or s3://bucket/prefix. The service makes them.',
    { example: '/mnt/backup/comptoir' },
  ),
  backupWatch: optional(
    'BACKUP_WATCH',
    'A folder into which another program backs up the database of DATABASE_URL: doctor, a metric and a mail say when its newest file is overdue.',
    { example: '/dumps' },
  ),
  backupEveryMinutes: integer('BACKUP_EVERY_MINUTES', 'Minutes between two backups.', {
    ...{ fallback: '360', min: 1, max: 10_080 },
  }),
  backupKeep: integer('BACKUP_KEEP', 'How many backups of this database stay there; older ones are removed.', {
    ...{ fallback: '28', min: 1, max: 10_000 },
  }),
  backupS3Endpoint: optionalUrl(
    'BACKUP_S3_ENDPOINT',
    'The S3-compatible store of BACKUP_TO=s3://…, without the bucket. Default: Amazon’s, of BACKUP_S3_REGION.',
    { example: 'https://s3.fr-par.scw.cloud' },
  ),
  backupS3Region: text('BACKUP_S3_REGION', 'Its region; "auto" where the store has none.', 'us-east-1'),
  backupS3AccessKeyId: optional('BACKUP_S3_ACCESS_KEY_ID', 'Its key: may list, read, write and delete in the bucket.', {
    secret: true,
  }),
  backupS3SecretAccessKey: optional('BACKUP_S3_SECRET_ACCESS_KEY', 'The secret of that key.', { secret: true }),
}
