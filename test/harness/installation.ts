import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDb, sql } from '../../src/db/db.ts'
import { findEmbeddedPostgres } from '../../src/db/embedded/embedded.ts'
import { openVault } from '../../src/kernel/vault.ts'
import { EVENTS } from '../../src/webhooks/outbox/events.ts'
import type { WantedCommand } from './answer-commands.ts'
import { bareEnv } from './bare-env.ts'
import { MAIN, programFile } from './programs.ts'
import { insertMerchant, type Merchant, TEST_MASTER_KEY } from './service.ts'

export type Ended = { code: number | null; out: string; err: string }

/** Where programs and temporary files are, and nothing else of this environment. */
function operatorEnv(env: Record<string, string>): Record<string, string> {
  const { HOME = '', TMPDIR } = process.env
  return { ...bareEnv(), HOME, ...(TMPDIR === undefined ? {} : { TMPDIR }), ...env }
}

/** One command of the service's bin, as its operator types it, with nothing but this environment. */
export function runOperator(args: readonly string[], env: Record<string, string>, cwd?: string): Promise<Ended> {
  const child = spawn(process.execPath, [MAIN, ...args], {
    ...{ cwd, env: operatorEnv(env) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [out, err] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk
  })
  child.stderr.on('data', (chunk: Buffer) => {
    err += chunk
  })
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, out, err })))
}

/** A process that runs commands, one after another: to load the program takes most of what one costs. */
export type Runner = {
  run(wanted: WantedCommand): Promise<Ended>
  close(): Promise<void>
}

function openRunner(file: string, env: Record<string, string>): Runner {
  const child = fork(file, [], { env, execArgv: [] })
  const ended = once(child, 'exit')
  let last: Promise<unknown> = Promise.resolve()
  const ask = async (wanted: WantedCommand): Promise<Ended> => {
    const answered = once(child, 'message')
    child.send(wanted)
    const [answer] = await Promise.race([answered, ended])
    if (typeof answer === 'object' && answer !== null) return answer as Ended
    throw new Error(`the process that should run ${wanted.args.join(' ')} ended with ${answer}`)
  }
  return {
    run(wanted) {
      const next = last.then(() => ask(wanted))
      last = next.catch(() => {})
      return next
    },
    async close() {
      if (child.connected) child.disconnect()
      await ended
    },
  }
}

export type Operator = {
  /** Like `runOperator`, after the commands before it. */
  run(args: readonly string[], env: Record<string, string>, cwd: string): Promise<Ended>
  close(): Promise<void>
}

/** For many commands of the service's bin. @param base what all of them have in their environment */
export function openOperator(base: Record<string, string> = {}): Operator {
  const { run, close } = openRunner(programFile('command-runner'), operatorEnv(base))
  return { run: (args, env, cwd) => run({ args, env: operatorEnv({ ...base, ...env }), cwd }), close }
}

/** For many of the developer's commands. That a process of one ends is not asked here: a test types it itself. */
export const openDeveloper = (home: string): Runner =>
  openRunner(join(import.meta.dirname, 'developer-runner.ts'), { ...bareEnv(), HOME: home })

/** Short: a socket lies in it. */
export function newFolder(): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'cb-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

/** A merchant that hears of everything. */
export async function insertMerchantIn(connectionString: string): Promise<Merchant> {
  const db = openDb({ connectionString, max: 1 })
  try {
    const merchant = await insertMerchant(db, openVault(TEST_MASTER_KEY))
    await db.run(sql`update companies set optional_events = ${[...EVENTS]} where id = ${merchant.companyId}`)
    return merchant
  } finally {
    await db.close()
  }
}

/** The same in the database that a running service keeps in its folder. */
export async function insertMerchantAt(dataDir: string): Promise<Merchant> {
  const connectionString = await findEmbeddedPostgres(dataDir)
  if (connectionString === null) throw new Error(`no database answers in ${dataDir}`)
  return insertMerchantIn(connectionString)
}
