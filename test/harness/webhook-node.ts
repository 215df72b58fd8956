import { fork } from 'node:child_process'
import { programFile } from './programs.ts'
import type { WebhookWorld } from './webhook-world.ts'

/** A sender as a process of its own, to be killed. */
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
  const child = fork(programFile('webhook-sender'), [], { ...options, stdio: [...options.stdio] })
  const ended = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)))
  return new Promise((resolve, reject) => {
    void ended.then(() => reject(new Error(`${name} ended before it was ready`)))
    child.once('message', () => {
      resolve({ name, pid: child.pid ?? 0, kill: (signal) => void child.kill(signal), ended })
    })
  })
}
