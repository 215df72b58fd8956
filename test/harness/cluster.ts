import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'

/** Owners and modes stay: for root the files belong to the user that runs PostgreSQL. */
export function copyCluster(cluster: string, dataDir: string): void {
  mkdirSync(dataDir, { recursive: true })
  execFileSync('cp', ['-a', cluster, join(dataDir, 'postgres')])
}

/**
 * The database that a first start makes, before it holds any data: three seconds of processor time less, for a test
 * that does not ask how a first start goes.
 */
export const putCluster = (dataDir: string): void => copyCluster(process.env.TEST_CLUSTER ?? '', dataDir)
