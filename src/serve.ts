import { once } from 'node:events'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { buildService } from './app.ts'
import { sandboxKeys, sandboxXpub } from './assembly/sandbox-wallets.ts'
import { localSigner } from './chain/payout/signer.ts'
import { type Check, runChecks } from './checks/check.ts'
import { claimOf, databaseChecks } from './checks/installation-checks.ts'
import { startProgress } from './commands/progress.ts'
import { type DemoCredentials, demoButtonId, makeDemo } from './companies/demo.ts'
import { type Config, ConfigError, NO_CHAIN } from './config/config.ts'
import { readKyc } from './config/kyc-config.ts'
import { readMasterKey } from './config/master-key.ts'
import { finishRestore } from './db/backup/restore-backup.ts'
import { type Db, openDb } from './db/db.ts'
import { lockDataDir } from './db/embedded/data-dir-lock.ts'
import { startEmbeddedPostgres } from './db/embedded/embedded.ts'
import { writeInstallation } from './db/installation.ts'
import { migrate } from './db/migrate.ts'
import { API_SCOPES } from './http/actor.ts'
import { startMetricsServer } from './http/health/metrics-server.ts'
import { systemClock } from './kernel/clock.ts'
import { armCrashPoint } from './kernel/crash-point.ts'
import { openVault, type Vault } from './kernel/vault.ts'
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
  /** What the user of the sandbox needs; null in live mode. */
  facts: Record<string, unknown> | null
  /** Ends everything within five seconds. */
  stop(): Promise<void>
}

/** What was started, ended in reverse order. */
class Closers {
  readonly #closers: Closer[] = []
  add(closer: Closer): void {
    this.#closers.push(closer)
  }
  async closeAll(): Promise<void> {
    for (const closer of this.#closers.splice(0).reverse()) await closer().catch(() => {})
  }
}

async function openDatabase(config: Config, say: Say, closers: Closers): Promise<string> {
  if (config.databaseUrl !== null) {
    const lock = await lockDataDir(config.dataDir)
    closers.add(async () => lock.release())
    return config.databaseUrl
  }
  const server = await startEmbeddedPostgres({ dataDir: config.dataDir, log: say })
  closers.add(() => server.stop())
  if (await finishRestore(server.connectionString, config.dataDir)) say('The database was restored from a backup.')
  return server.connectionString
}

const startsSandbox = ({ mode, chains }: Config): boolean => mode === 'sandbox' && chains.length === 0

/** Started unless this is live, or another process runs the sandbox (a second node, a test). */
async function openSandbox(config: Config, vault: Vault, say: Say, closers: Closers): Promise<SandboxProcess | null> {
  if (!startsSandbox(config)) return null
  const { port, chainPort } = config.sandbox
  const { refundKey, relayerKey } = sandboxKeys(vault)
  const funded = { refundWallet: localSigner(refundKey).address, relayer: localSigner(relayerKey).address }
  const places = { dataDir: config.dataDir, port, chainPort, callbackBase: config.baseUrl }
  const sandbox = await startSandboxProcess({ ...places, ...funded, log: say })
  closers.add(() => sandbox.stop())
  return sandbox
}

/** The imitated providers are set up like real ones; what the operator set up himself stays. */
async function withProviders(config: Config, sandbox: SandboxProcess | null): Promise<Config> {
  const { providersUrl } = config.sandbox
  if (config.mode === 'live' || (!sandbox && providersUrl === null)) return config
  const credentials = sandbox?.credentials ?? ((await (await fetch(`${providersUrl}/credentials`)).json()) as object)
  const provider = { ...(credentials as Record<string, string>), ...config.provider }
  return { ...config, provider, kyc: readKyc(provider, false, []) }
}

/**
 * The sandbox's chain joins the configured ones, with deposit addresses of a wallet that follows from the master key.
 */
function withSandbox(config: Config, sandbox: SandboxProcess | null, vault: Vault): Config {
  if (!sandbox || config.chains.some((chain) => chain.chainId === sandbox.chainId))
    return withSandboxXpub(config, vault)
  const { chainId, rpcUrl, usdcAddress, providersUrl } = sandbox
  const keys = { xpub: sandboxXpub(vault), ...sandboxKeys(vault) }
  return {
    ...config,
    sandbox: { ...config.sandbox, providersUrl },
    chains: [...config.chains, { ...NO_CHAIN, chainId, rpcUrls: [rpcUrl], usdcAddress, ...keys }],
  }
}

/** A test chain that runs elsewhere has deposit addresses, too. */
const withSandboxXpub = (config: Config, vault: Vault): Config => ({
  ...config,
  chains: config.chains.map((chain) => ({ ...chain, xpub: chain.xpub ?? sandboxXpub(vault) })),
})

/** Everything that a user of the sandbox needs, for programs to read. */
function writeSandboxFile(
  config: Config,
  sandbox: SandboxProcess | null,
  demo: DemoCredentials,
  vault: Vault,
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
    payerPrivateKey: sandbox?.payerPrivateKey ?? null,
  }
  const path = join(config.dataDir, 'sandbox.json')
  writeFileSync(path, `${JSON.stringify(facts, null, 2)}\n`, { mode: 0o600 })
  chmodSync(path, 0o600)
  return facts
}

/** With PORT=0 a free port is chosen first, because addresses that contain it are handed out before we listen. */
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
 * @throws Error with a sentence for the operator; what was started by then is ended again
 */
export async function serve(given: Config, say: Say): Promise<Running> {
  armCrashPoint(given.crashPoint)
  const closers = new Closers()
  try {
    return await start(await withPort(given), say, closers)
  } catch (error) {
    await closers.closeAll()
    throw error
  }
}

/** @throws ConfigError with every check that failed, before anything is written */
async function refuseUnfit(checks: readonly Check[]): Promise<void> {
  const failed = (await runChecks(checks)).filter(({ ok }) => !ok)
  if (failed.length > 0) throw new ConfigError(failed.map(({ name, message, fix }) => `${name}: ${message} ${fix}`))
}

async function start(given: Config, say: Say, closers: Closers): Promise<Running> {
  if (startsSandbox(given)) assertSandboxInstalled()
  mkdirSync(given.dataDir, { recursive: true })
  const connectionString = await openDatabase(given, say, closers)
  const masterKey = readMasterKey(given)
  const vault = openVault(masterKey, given.previousMasterKeys)
  const claimed = claimOf(given, masterKey)
  await refuseUnfit(databaseChecks(connectionString, claimed))
  const sandbox = await openSandbox(given, vault, say, closers)
  const config = await withProviders(withSandbox(given, sandbox, vault), sandbox)
  await migrate(given.databaseDirectUrl ?? connectionString, { onApplied: startProgress(say, 'Migrations', 'applied') })
  await writeInstallation(connectionString, claimed)
  const db = openDb({ connectionString, prepared: given.databasePrepared })
  closers.add(() => db.close())
  if (await followEventClock(db)) say('The data came from another cluster; the event feed goes on behind them.')
  const passwords = openPasswords()
  if (config.superAdmin) await makeSuperAdmin(config.superAdmin, { db, vault, clock: systemClock, passwords })
  const demo =
    config.mode === 'sandbox'
      ? await makeDemo({
          ...{ db, vault, hashPassword: passwords.hash, hashApiSecret },
          ...{ scopes: API_SCOPES, baseUrl: config.baseUrl },
        })
      : null
  const { app, stop: stopService } = await startService(config, db, vault)
  closers.add(stopService)
  const facts = demo && writeSandboxFile(config, sandbox, demo, vault)
  return { app, config, facts, stop: () => closers.closeAll() }
}

async function startService(config: Config, db: Db, vault: Vault): Promise<{ app: FastifyInstance; stop: Closer }> {
  let stopping = false
  const service = await buildService({ config, db, vault, clock: systemClock, isStopping: () => stopping })
  if (config.roles.includes('api')) await service.app.listen({ host: config.host, port: config.port })
  const { host, metricsPort, metricsToken: token } = config
  const scraped =
    metricsPort === null ? null : await startMetricsServer(service.metrics, { host, port: metricsPort, token })
  if (config.roles.includes('worker')) await service.startWorkers()
  return {
    app: service.app,
    stop: async () => {
      stopping = true
      await Promise.all([service.app.close(), service.stopWorkers(), scraped?.close()])
    },
  }
}
