import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { isBackupName } from '../src/db/backup/store.ts'
import { putCluster } from './harness/cluster.ts'
import { freePort } from './harness/free-port.ts'
import { newFolder } from './harness/installation.ts'
import { startServed } from './harness/served.ts'
import { eventually, TEST_MASTER_KEY } from './harness/service.ts'

const place = newFolder()
after(() => place.remove())

test('one backup is made when one is due, however many workers there are', async () => {
  const [dataDir, backups] = [join(place.path, 'data'), join(place.path, 'backups')]
  putCluster(dataDir)
  const port = await freePort()
  const served = startServed({
    ...{ DATA_DIR: dataDir, BACKUP_TO: backups, ROLES: 'worker', PROCESSES: '2', LOG_LEVEL: 'info' },
    ...{ PORT: String(port), BASE_URL: `http://127.0.0.1:${port}`, MASTER_KEY: TEST_MASTER_KEY.toString('base64') },
  })
  let said = ''
  served.child.stdout?.on('data', (chunk: Buffer) => {
    said += chunk.toString('utf8')
  })
  const made = (): string[] => said.split('\n').filter((line) => line.includes('backed up and read back'))
  try {
    await served.ready()
    await eventually(
      async () => made(),
      ({ length }) => length > 0,
      60_000,
    )
    // both began at once: the other one would be done by now, too
    await sleep(5000)
    assert.equal(made().length, 1)
    assert.equal(readdirSync(backups).filter(isBackupName).length, 1)
  } finally {
    await served.end('SIGTERM')
  }
})
