import { once } from 'node:events'
import { renameSync, writeFileSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { Registry } from 'prom-client'
import { buildService } from './app.ts'
import { hasOwnChain, hasOwnSandbox, sandboxKeys, withSandbox } from './assembly/sandbox-settings.ts'
import { findHead } from './chain/chain-queries.ts'
import { SANDBOX_CHAIN_ID } from './chain/networks.ts'
import { localSigner } from './chain/payout/signer.ts'
import type { CheckResult } from './checks/check.ts'
import { claimOf, filledCheck, runDatabaseChecks } from './checks/installation-checks.ts'
import { noteRestore } from './commands/backup/note-restore.ts'
import { tellRestored } from './commands/backup/tell-restore.ts'
import { startProgress } from './commands/progress.ts'
import type { Handover } from './commands/serve/messages.ts'
import { type DemoCredentials, demoButtonId, makeDemo, readDemo } from './companies/demo.ts'
import { type Config, ConfigError } from './config/config.ts'
import { chooseMasterKey } from './config/master-key.ts'
import { finishRestore } from './db/backup/restore-backup.ts'
import { restoreMarkOf } from './db/backup/restore-mark.ts'
import { type Db, openDb } from './db/db.ts'
import { lockDataDir } from './db/embedded/data-dir-lock.ts'
import { startEmbeddedPostgres } from './db/embedded/embedded.ts'
import { checkStateDirectory, noteElsewhere, refuseElsewhere, refuseNoDatabase } from './db/embedded/state-directory.ts'
import { type Claimed, migrateService, REHEARSAL, readIsRehearsal, writeInstallation } from './db/installation.ts'
import { API_SCOPES } from './http/actor.ts'
import { metricsHostOf, startMetricsServer } from './http/health/metrics-server.ts'
import { SECOND, systemClock } from './kernel/clock.ts'
import { armCrashPoint } from './kernel/crash-point.ts'
import { collectStartGarbage } from './kernel/process/garbage.ts'
import { makeFolder } from './kernel/process/make-folder.ts'
import { startTicker } from './kernel/ticker.ts'
import { openVault, type SandboxVault, type Vault } from './kernel/vault.ts'
import { openVaultOf } from './keys/sandbox-vault.ts'
import { followEventClock } from './orders/feed/event-feed-queries.ts'
import { assertSandboxInstalled, type SandboxProcess, startSandboxProcess } from './sandbox-process.ts'
import { hashApiSecret } from './sessions/api-keys/api-key-service.ts'
import { openPasswords } from './users/password.ts'
import { makeSuperAdmin } from './users/super-admin.ts'

type Closer = () => Promise<unknown>
type Say = (line: string) => void

export type Running = {
  app: FastifyInstance
  config: Config
  /** What a user of the sandbox needs; null in live mode. */
  facts: Record<string, unknown> | null
  metrics: Registry
  /**
   * Stops everything within five seconds.
   * @param drain let clients notice first: each answer closes its connection, and /readyz reports not ready
   */
  stop(options?: { drain?: boolean }): Promise<void>
}

/** Resources owned by another process, if this is one of several. */
export type Shared = Handover & { name: string; scrapeAll(): Promise<string> }

/** Started parts, closed in reverse order. */
export class Closers {
  readonly #closers: Closer[] = []
  add(closer: Closer): void {
    this.#closers.push(closer)
  }
  async closeAll(): Promise<void> {
    for (const closer of this.#closers.splice(0).reverse()) await closer().catch(() => {})
  }
}

const takenPort = ({ host, port }: Config, error: unknown): unknown =>
  (error as { code?: string }).code === 'EADDRINUSE'
    ? new Error(`Another program listens on ${host}:${port} already. End it, or set PORT to a free one.`, {
        cause: error,
      })
    : error

/**
 * Tried before any work, and after the folder's lock: an earlier process that is about to end has left the port then.
 * @throws Error with a sentence for the operator
 */
async function refuseTakenPort(config: Config): Promise<void> {
  const { roles, host, port } = config
  if (!roles.includes('api')) return
  const probe = createServer().listen(port, host)
  await once(probe, 'listening').catch((error: unknown) => {
    throw takenPort(config, error)
  })
  probe.close()
  await once(probe, 'close')
}

const unsignedRestore = (dataDir: string): string =>
  'The database bears the mark of a restore without the signature of this master key. Money is held until "comptoir ' +
  'reconcile", and the audit log records no restore: "comptoir audit verify --anchor" reports entries that are missing. ' +
  'If it was restored with a newer master key, start with that one as MASTER_KEY and this one as MASTER_KEY_PREVIOUS: ' +
  'then the restore is recorded. If an older version restored it, restore the backup again with this one; otherwise, ' +
  `find out who wrote that mark. It stays until you remove it: ${restoreMarkOf(join(dataDir, 'postgres'))}`

type Opening = { say: Say; closers: Closers; vault: Vault; claimed: Claimed }

async function openDatabase(config: Config, { say, closers, vault, claimed }: Opening): Promise<string> {
  if (config.databaseUrl !== null) {
    const lock = await lockDataDir(config.dataDir)
    closers.add(async () => lock.release())
    await refuseTakenPort(config)
    return config.databaseUrl
  }
  refuseElsewhere(config.dataDir)
  const server = await startEmbeddedPostgres({
    ...{ dataDir: config.dataDir, log: say, processes: config.processes },
    onLocked: () => refuseTakenPort(config),
  })
  closers.add(() => server.stop())
  const { connectionString } = server
  const restored = await finishRestore(
    { connectionString, dataDir: config.dataDir, vault },
    {
      refuse: async () =>
        refuseUnfit(await runDatabaseChecks({ connectionString, prepared: config.databasePrepared }, claimed)),
      tell: (tx, at) => tellRestored({ vault, clock: systemClock }, tx, at),
      note: (db, tx, at) => noteRestore({ db, vault, clock: systemClock }, tx, at),
    },
  )
  if (restored) say(restored.isOurs ? 'The database was restored from a backup.' : unsignedRestore(config.dataDir))
  return connectionString
}

async function readKnownBlock({ databasePrepared: prepared }: Config, connectionString: string): Promise<bigint> {
  const db = openDb({ connectionString, prepared, max: 1, applicationName: 'comptoir-sandbox' })
  return findHead(db, SANDBOX_CHAIN_ID)
    .then((head) => head?.number ?? 0n)
    .finally(() => db.close())
}

function openWholeVault(config: Config, connectionString: string, masterKey: Buffer): Promise<SandboxVault> {
  const db = openDb({ connectionString, prepared: config.databasePrepared, max: 1, applicationName: 'comptoir-keys' })
  return openVaultOf(db, config, masterKey).finally(() => db.close())
}

/** Started unless in live mode, or if another process runs the sandbox (a second node). */
async function openSandbox(
  config: Config,
  {
    connectionString,
    vault,
    say,
    closers,
  }: { connectionString: string; vault: SandboxVault; say: Say; closers: Closers },
): Promise<SandboxProcess | null> {
  if (!hasOwnSandbox(config)) return null
  const { port, chainPort } = config.sandbox
  const { refundKey, relayerKey } = sandboxKeys(vault)
  const funded = { refundWallet: localSigner(refundKey).address, relayer: localSigner(relayerKey).address }
  const knownBlock = await readKnownBlock(config, connectionString)
  const places = { dataDir: config.dataDir, port, chainPort, knownBlock, callbackBase: config.baseUrl }
  const hasChain = hasOwnChain(config)
  const sandbox = await startSandboxProcess({ ...places, ...funded, hasChain, log: say })
  closers.add(() => sandbox.stop())
  return sandbox
}

/** Writes everything that a user of the sandbox needs, for programs to read. */
function writeSandboxFile(
  config: Config,
  sandbox: SandboxProcess | null,
  demo: DemoCredentials,
  vault: SandboxVault,
): Record<string, unknown> {
  const [chain] = config.chains
  const facts = {
    baseUrl: config.baseUrl,
    payUrl: config.payUrl,
    officeUrl: config.officeUrl,
    docsUrl: `${config.baseUrl}/docs`,
    mailboxUrl: `${config.baseUrl}/mailbox`,
    demoShopUrl: `${config.baseUrl}/demo-shop`,
    buyButtonId: demoButtonId(vault),
    providersUrl: sandbox?.providersUrl ?? config.sandbox.providersUrl,
    rpcUrl: chain?.rpcUrls[0] ?? null,
    usdcAddress: chain?.usdcAddress ?? null,
    ...demo,
    payerPrivateKey: sandbox?.chain?.payerPrivateKey ?? null,
  }
  const path = join(config.dataDir, 'sandbox.json')
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, `${JSON.stringify(facts, null, 2)}\n`, { mode: 0o600 })
  renameSync(draft, path)
  return facts
}

/** Commands sign and call with what the file says: it follows what a person changes. */
function followDemo(
  { config, sandbox, vault }: Owned,
  { db, log, known }: { db: Db; log: FastifyBaseLogger; known: DemoCredentials },
): Closer {
  let written = known
  const ticker = startTicker('sandbox.file', SECOND, log, async () => {
    const demo = await readDemo({ db, vault })
    if (isDeepStrictEqual(demo, written)) return false
    writeSandboxFile(config, sandbox, demo, vault)
    written = demo
    return false
  })
  return () => ticker.stop()
}

/** With PORT=0 a free port is chosen first, because URLs that contain it are handed out before we listen. */
async function withPort(config: Config): Promise<Config> {
  if (config.port !== 0) return config
  const probe = createServer().listen(0, config.host)
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  const put = (url: string): string => url.replace(/^(http:\/\/localhost):0(?=\/|$)/, `$1:${port}`)
  return { ...config, port, baseUrl: put(config.baseUrl), payUrl: put(config.payUrl), officeUrl: put(config.officeUrl) }
}

/**
 * Starts the whole service: database, migrations, sandbox, API, workers.
 * @param shared resources that a parent owns; absent: this process owns them
 * @throws Error with a sentence for the operator; everything started by then is stopped again
 */
export async function serve(given: Config, say: Say, shared?: Shared): Promise<Running> {
  armCrashPoint(given.crashPoint)
  const closers = new Closers()
  try {
    const owned = await openOwned(given, say, { closers, shared })
    return await start(owned, { say, closers, shared })
  } catch (error) {
    await closers.closeAll()
    throw error
  }
}

/** @throws ConfigError with every check that failed, before anything is written */
function refuseUnfit(results: readonly CheckResult[]): void {
  const failed = results.filter(({ ok }) => !ok)
  if (failed.length > 0) throw new ConfigError(failed.map(({ name, message, fix }) => `${name}: ${message} ${fix}`))
}

export type Owned = {
  /** With a free port if any was requested, and with the sandbox's chain and providers. */
  config: Config
  connectionString: string
  sandbox: SandboxProcess | null
  vault: SandboxVault
  handover: Handover
  isRehearsal: boolean
}

/**
 * Runs the checks that can stop a start, then opens database, schema and sandbox: once, by the parent, for all
 * processes.
 */
export async function openOwned(
  given: Config,
  say: Say,
  { closers, shared }: { closers: Closers; shared?: Shared | undefined },
): Promise<Owned> {
  const config = await withPort(given)
  if (!shared && hasOwnChain(config)) assertSandboxInstalled()
  if (!shared && config.databaseUrl === null) {
    checkStateDirectory(config.dataDir, process.env.STATE_DIRECTORY)
    if (config.mode === 'live') refuseNoDatabase(config)
  }
  makeFolder(config.dataDir)
  const chosen = chooseMasterKey(config)
  const claimed = claimOf(config, chosen.key)
  const opening = { say, closers, claimed, vault: openVault(chosen.key, config.previousMasterKeys) }
  const own = shared ? null : await openDatabase(config, opening)
  const connectionString = own ?? shared?.connectionString ?? config.databaseUrl ?? ''
  const place = { connectionString, prepared: config.databasePrepared }
  refuseUnfit(await runDatabaseChecks(place, claimed, [filledCheck(connectionString, config)]))
  chosen.keep()
  if (!shared) {
    const onApplied = startProgress(say, 'Migrations', 'applied')
    await migrateService({ connectionString, directUrl: config.databaseDirectUrl }, { onApplied, onWaiting: say })
    const installedAt = await writeInstallation(connectionString, claimed)
    if (config.databaseUrl !== null) noteElsewhere(config.dataDir, installedAt)
  }
  const vault = await openWholeVault(config, connectionString, chosen.key)
  const opened = { connectionString, vault, say, closers }
  const sandbox = shared ? handedSandbox(shared) : await openSandbox(config, opened)
  const whole = await withSandbox(config, sandbox, vault)
  const handover: Handover = { connectionString, sandbox: null }
  if (sandbox) {
    const { stop: _, ...facts } = sandbox
    handover.sandbox = facts
  }
  const isRehearsal = await readIsRehearsal(connectionString)
  if (isRehearsal) say(REHEARSAL)
  return { config: whole, connectionString, sandbox, vault, handover, isRehearsal }
}

/** After a reload: these settings may have brought a new master key, and the processes have proved that it fits. */
export const noteInstallation = (config: Config, connectionString: string): Promise<Date> =>
  writeInstallation(connectionString, claimOf(config, chooseMasterKey(config).key))

const handedSandbox = ({ sandbox }: Shared): SandboxProcess | null => sandbox && { ...sandbox, stop: async () => {} }

type StartContext = { say: Say; closers: Closers; shared: Shared | undefined }

async function start(owned: Owned, { say, closers, shared }: StartContext): Promise<Running> {
  const { config, connectionString, sandbox, vault, isRehearsal } = owned
  const db = openDb({ connectionString, prepared: config.databasePrepared })
  closers.add(() => db.close())
  if (await followEventClock(db)) say('The data came from another cluster; the event feed goes on behind them.')
  const passwords = openPasswords({ memoryKib: config.passwordMemoryKib })
  if (config.superAdmin) await makeSuperAdmin(config.superAdmin, { db, vault, clock: systemClock, passwords })
  const demo =
    config.mode === 'sandbox'
      ? await makeDemo({
          ...{ db, vault, hashPassword: passwords.hash, hashApiSecret },
          ...{ scopes: API_SCOPES, baseUrl: config.baseUrl },
        })
      : null
  const service = await startService(config, { db, vault, shared, isRehearsal })
  closers.add(service.stop)
  const facts = demo && writeSandboxFile(config, sandbox, demo, vault)
  if (demo) closers.add(followDemo(owned, { db, log: service.app.log, known: demo }))
  const stop = async ({ drain = false }: { drain?: boolean } = {}): Promise<void> => {
    if (drain) await service.drain()
    await closers.closeAll()
  }
  return { app: service.app, metrics: service.metrics, config, facts, stop }
}

async function listen(app: FastifyInstance, config: Config): Promise<void> {
  const { host, port } = config
  await app.listen({ host, port }).catch((error: unknown) => {
    throw takenPort(config, error)
  })
}

/** Long enough for clients with keep-alive connections to send one more request. */
const DRAIN_MS = 1500

/** After the initial rush; a process that ends earlier never needs what this would compile. */
const SETTLED_MS = 60_000

/**
 * Does what the start deferred: caches code for the next start, compiles schemas that no request needed yet, and frees
 * memory.
 */
async function settle(app: FastifyInstance, config: Config): Promise<void> {
  flushCompileCache()
  if (config.roles.includes('api'))
    await app.compileSchemas().catch((error: unknown) => app.log.error({ err: error }, 'a schema is broken'))
  collectStartGarbage()
}

type StartedService = { app: FastifyInstance; metrics: Registry; stop: Closer; drain: Closer }

async function startService(
  config: Config,
  { db, vault, shared, isRehearsal }: Pick<Owned, 'vault' | 'isRehearsal'> & { db: Db; shared: Shared | undefined },
): Promise<StartedService> {
  let stopping = false
  const service = await buildService({
    ...{ config, db, vault, clock: systemClock, guardsClock: true, isStopping: () => stopping, isRehearsal },
    ...(config.mode === 'sandbox' && { demoButtonId: demoButtonId(vault) }),
    ...(shared && { process: { name: shared.name, scrapeAll: shared.scrapeAll } }),
  })
  if (config.roles.includes('api')) await listen(service.app, config)
  setTimeout(() => void settle(service.app, config), SETTLED_MS).unref()
  const { metricsPort, metricsToken } = config
  const place = { host: metricsHostOf(config), token: () => metricsToken }
  const scraped =
    metricsPort === null || shared ? null : await startMetricsServer(service.metrics, { ...place, port: metricsPort })
  if (config.roles.includes('worker')) await service.startWorkers()
  return {
    app: service.app,
    metrics: service.metrics,
    async drain() {
      stopping = true
      if (config.roles.includes('api')) await sleep(DRAIN_MS)
    },
    stop: async () => {
      stopping = true
      await Promise.all([service.app.close(), service.stopWorkers(), scraped?.close()])
    },
  }
}
