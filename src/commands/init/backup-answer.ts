import { resolve } from 'node:path'
import { readConfig } from '../../config/config.ts'
import { findStoreFaults, isBucket } from '../../db/backup/places.ts'
import type { Asker } from './asker.ts'

type Values = Record<string, string>

const KEYS_HINT =
  'Give them in the environment, a secret also as a file: BACKUP_S3_SECRET_ACCESS_KEY_FILE=… comptoir init'

/** Where backups go. @param bucket the settings of one that are known already, from the environment or the old file */
const readPlace =
  (bucket: Values) =>
  (answer: string): string => {
    if (!isBucket(answer)) {
      if (/^\w[\w+.-]*:\/\//.test(answer)) throw new Error('A folder, or s3://bucket/prefix.')
      return resolve(answer)
    }
    const faults = findStoreFaults(readConfig({ ...bucket, BACKUP_TO: answer }).config)
    if (faults.length === 0) return answer
    throw new Error(`${faults.join('; ')}. ${KEYS_HINT}`)
  }

/** The place of backups, and with a bucket its settings: init asks for no key of a store, but keeps one. */
export async function askBackup(asker: Asker, bucket: Values): Promise<Values> {
  const to = await asker.ask({
    flag: 'backup-to',
    text: 'Place for backups: a folder, best on another machine’s disk, or s3://bucket/prefix',
    fallback: '',
    read: readPlace(bucket),
  })
  if (to === '') return {}
  return { BACKUP_TO: to, ...(isBucket(to) && bucket) }
}
