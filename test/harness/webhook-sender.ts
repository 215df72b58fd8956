import { openDb } from '../../src/db/db.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { openVault } from '../../src/kernel/vault.ts'
import { startSender } from '../../src/webhooks/sender/sender.ts'
import { keepLog, SANDBOX_RULES } from './webhook-world.ts'

/* A sender as a process of its own, to be killed; `startNode` starts it. */
const { NODE_URL = '', NODE_KEY = '', NODE_NAME = '', NODE_OWN_BUCKETS } = process.env
const db = openDb({ connectionString: NODE_URL, max: 6 })
const vault = openVault(Buffer.from(NODE_KEY, 'base64'))
const config = { webhooks: SANDBOX_RULES, port: 0 }
const sender = await startSender({
  db,
  vault,
  config,
  clock: systemClock,
  log: keepLog(),
  nodeName: NODE_NAME,
  ownBuckets: NODE_OWN_BUCKETS === 'true',
})
process.once('SIGTERM', () => {
  void sender.stop().then(async () => {
    await db.close()
    process.exit(0)
  })
})
process.once('disconnect', () => process.exit(1))
process.send?.('ready')
