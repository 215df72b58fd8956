import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { openDb } from '../../src/db/db.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { openVault } from '../../src/kernel/vault.ts'
import { startSender } from '../../src/webhooks/sender/sender.ts'
import { keepLog, SANDBOX_RULES, type WebhookWorld } from './webhook-world.ts'

/*
 * A sender as a process of its own, to be killed. Started as a program it runs one; `startNode` starts the program.
 */
export type NodeProcess = {
  name: string
  pid: number
  kill(signal: NodeJS.Signals): void
  /** Resolves with the exit code, null after a signal. */
  ended: Promise<number | null>
}

export function startNode(world: WebhookWorld, name: string, ownBuckets = false): Promise<NodeProcess> {
  const env = {
    ...process.env,
    NODE_URL: world.database.connectionString,
    NODE_KEY: world.masterKey.toString('base64'),
    NODE_NAME: name,
    NODE_OWN_BUCKETS: String(ownBuckets),
  }
  // without the flags of the test runner, which a fork inherits
  const options = { env, execArgv: [], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] as const }
  const child = fork(fileURLToPath(import.meta.url), [], { ...options, stdio: [...options.stdio] })
  const ended = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)))
  return new Promise((resolve, reject) => {
    void ended.then(() => reject(new Error(`${name} ended before it was ready`)))
    child.once('message', () => {
      resolve({ name, pid: child.pid ?? 0, kill: (signal) => void child.kill(signal), ended })
    })
  })
}

async function runNode(): Promise<void> {
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
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runNode()
