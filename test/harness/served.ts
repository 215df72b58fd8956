import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { bareEnv } from './bare-env.ts'
import { MAIN } from './programs.ts'

export type Served = {
  child: ChildProcess
  /** Its last words, for the message of a failure. */
  words(): string
  /** Resolves when it answers; rejects with its last words when it ended instead. */
  ready(): Promise<void>
  /** Sends the signal (by default -9) and waits until the process is gone. */
  end(signal?: NodeJS.Signals): Promise<void>
}

/** The service as its operator runs it: a process of its own, with nothing but its environment. */
export function startServed(
  env: Record<string, string>,
  options: { cwd?: string; main?: string; args?: readonly string[] } = {},
): Served {
  const { HOME = '', TMPDIR } = process.env
  const child = spawn(process.execPath, [options.main ?? MAIN, 'serve', ...(options.args ?? [])], {
    cwd: options.cwd,
    env: { ...bareEnv(), HOME, ...(TMPDIR === undefined ? {} : { TMPDIR }), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let words = ''
  const keep = (chunk: Buffer): void => {
    words = (words + chunk.toString('utf8')).slice(-8000)
  }
  child.stdout?.on('data', keep)
  child.stderr?.on('data', keep)
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null
  return {
    child,
    words: () => words,
    async ready() {
      while (!/Comptoir is ready|^\{"ready":true,/m.test(words)) {
        if (hasEnded()) throw new Error(`the service ended with ${child.exitCode ?? child.signalCode}:\n${words}`)
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    },
    async end(signal = 'SIGKILL') {
      if (hasEnded()) return
      const ended = once(child, 'exit')
      child.kill(signal)
      await ended
    },
  }
}
