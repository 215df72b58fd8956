import type { TransportOptions } from 'nodemailer'
import { checkNetwork } from '../chain/endpoints/network-check.ts'
import { createRpc } from '../chain/endpoints/rpc.ts'
import { whyUnreached } from '../chain/endpoints/unreached.ts'
import { networkFor } from '../chain/networks.ts'
import type { ChainConfig, Config } from '../config/config.ts'
import { findSilence, refuseUnwritable } from '../db/backup/folder-store.ts'
import { isBackupOverdue, type KnownBackups, openKnownBackups, readBackupAge } from '../db/backup/newest-backup.ts'
import { isBucket } from '../db/backup/places.ts'
import { countConnections, readConnectionLimit } from '../db/connection-need.ts'
import { assertDurable } from '../db/durable.ts'
import { describeRoom, isShortOfRoom, readDiskRoom } from '../db/embedded/disk-room.ts'
import { findLeftDatabase, readElsewhere } from '../db/embedded/state-directory.ts'
import { serviceAccount } from '../db/embedded/system-user.ts'
import {
  type Claimed,
  EMPTY,
  findInstallationFaults,
  type Installation,
  isLeftEmpty,
  readClockSkew,
  readInstallation,
  readIsStillSealed,
  readMigrations,
} from '../db/installation.ts'
import { findHistoryFault, listMigrations } from '../db/migrate.ts'
import type { Connecting } from '../db/wire/connection.ts'
import { missingWords, readMissingParts } from '../db/wire/schema-parts.ts'
import { describeSkew } from '../kernel/clock.ts'
import { openVault } from '../kernel/vault.ts'
import { MAIL_DAYS } from '../mail/mail.ts'
import { bad, type Check, type CheckResult, good, nodeFix, runChecks } from './check.ts'
import { credentialChecks } from './credential-checks.ts'
import { explainDatabaseFault, isConnectionFix } from './database-words.ts'
import { gasChecks } from './gas-checks.ts'
import { priceCheck, rateCheck } from './rate-checks.ts'
import { screeningChecks } from './screening-checks.ts'
import { signerChecks } from './signer-checks.ts'

const MAX_SKEW_SECONDS = 5
const PROBE_MS = 5000

const markOf = (key: Buffer): string => openVault(key).derive('installation-mark').toString('hex').slice(0, 32)

/** @param masterKey as read: in the sandbox it may come from the data directory */
export const claimOf = (
  config: Pick<Config, 'mode' | 'previousMasterKeys' | 'dataDir' | 'databaseUrl'>,
  masterKey: Buffer,
): Claimed => ({
  mode: config.mode,
  keyMark: markOf(masterKey),
  previousMarks: config.previousMasterKeys.map(markOf),
  sealPrefixes: [masterKey, ...config.previousMasterKeys].map((key) => openVault(key).sealPrefix),
  leftDatabase: findLeftDatabase(config.dataDir, config.databaseUrl),
  elsewhere: readElsewhere(config.dataDir, config.databaseUrl),
})

const UNREACHED_FIX = 'Check DATABASE_URL, and that PostgreSQL runs there.'
/** It was reached: what else is known about it is still reported. */
const DATABASE_FIX = 'Correct the database that DATABASE_URL names, or look at its log.'

/** As the service reaches it. */
export type DatabasePlace = Pick<Connecting, 'connectionString' | 'prepared'>

/**
 * All checks of the database; if it does not answer, only that is reported. @param more further checks of the database
 */
export async function runDatabaseChecks(
  place: DatabasePlace,
  claimed: Claimed,
  more: readonly Check[] = [],
): Promise<CheckResult[]> {
  const results = await runChecks([...databaseChecks(place, claimed), ...more])
  const isUnreached = (fix: string | null): boolean => fix === UNREACHED_FIX || isConnectionFix(fix)
  const unreached = results.find(({ name, ok, fix }) => name === 'database' && !ok && isUnreached(fix))
  if (unreached) return [unreached]
  // to bring its schema up to date would be the wrong advice
  const isAnother = results.some(({ name, ok }) => name === 'mode' && !ok)
  return isAnother ? results.filter(({ name }) => name !== 'schema') : results
}

/** @param isStillSealed whether one of these keys still seals data about a payer; null: not known in time */
async function keyWords(
  { sealPrefixes: [present, ...previous], previousMarks }: Claimed,
  known: Installation,
  isStillSealed: (prefixes: readonly string[]) => Promise<boolean | null>,
): Promise<string> {
  const fine = 'The master key is the one of this database.'
  if (previous.length === 0) return fine
  if (known.keyMark && previousMarks.includes(known.keyMark)) return `${fine} ${NOT_STARTED}`
  const isUsed = known.sealPrefixes.some((prefix) => prefix !== present)
  if (isUsed) return `${fine} ${STILL_NEEDED}`
  const isSealed = await isStillSealed(previous)
  if (isSealed === null) return `${fine} ${NOT_KNOWN}`
  return `${fine} ${isSealed ? STILL_NEEDED : NOT_NEEDED}`
}

const STILL_NEEDED = 'MASTER_KEY_PREVIOUS is still needed: the service seals its values again.'
const NOT_KNOWN =
  'Whether MASTER_KEY_PREVIOUS is still needed, the database did not say in time. Keep it, and ask again when less is going on.'

const NOT_STARTED =
  'MASTER_KEY_PREVIOUS is still needed: the service has not started with the new key yet, and goes by the old one.'
const NOT_NEEDED =
  'No stored secret or text needs MASTER_KEY_PREVIOUS any more. Without it, links in mails sent before the change, recovery codes made before it and ' +
  'PINs not used since stop working. Keep it for two days at least, and for old backups.'

/** Database, mode, key, schema and clock: checked before the start writes anything. */
function databaseChecks(place: DatabasePlace, claimed: Claimed): Check[] {
  const { connectionString } = place
  // a start must not fail because a large table answers slowly
  const isStillSealed = (prefixes: readonly string[]): Promise<boolean | null> =>
    readIsStillSealed(connectionString, prefixes).catch(() => null)
  const fits = (check: 'mode' | 'master-key', message: (known?: Installation) => string | Promise<string>): Check => ({
    name: check,
    cure: UNREACHED_FIX,
    async run() {
      const known = await readInstallation(connectionString)
      const fault = findInstallationFaults(known, claimed).find((found) => found.check === check)
      return fault ? bad(fault.message, fault.fix) : good(await message(known))
    },
  })
  return [
    {
      name: 'database',
      cure: DATABASE_FIX,
      async run() {
        try {
          const advice = await assertDurable(connectionString, place)
          return good(['The database answers, and its commits are durable.', ...(advice ? [advice] : [])].join(' '))
        } catch (error) {
          const { code, message } = error as { code?: string; message: string }
          const refused = explainDatabaseFault(error)
          if (refused) return bad(refused.message, refused.fix)
          if (code === undefined) throw error
          const words = /^E[A-Z]+$/.test(code) ? `does not answer (${code})` : `refuses us: ${message}`
          return bad(`The database ${words}.`, UNREACHED_FIX)
        }
      },
    },
    fits('mode', (known) =>
      known
        ? `The database belongs to this ${claimed.mode} installation.`
        : 'The database is empty: it belongs to no installation yet.',
    ),
    fits('master-key', (known) =>
      known ? keyWords(claimed, known, isStillSealed) : 'The database is empty: no key belongs to it yet.',
    ),
    {
      name: 'clock',
      cure: UNREACHED_FIX,
      async run() {
        const { seconds, doubtSeconds } = await readClockSkew(connectionString)
        if (Math.abs(seconds) <= MAX_SKEW_SECONDS + doubtSeconds) return good('Our clock and the database’s agree.')
        const message = `The database’s clock is ${describeSkew(seconds)} ours.`
        return bad(message, 'Run a time service (chrony, systemd-timesyncd) on both machines.')
      },
    },
  ]
}

/** Before a start migrates it. */
export const filledCheck = (connectionString: string, config: Pick<Config, 'mode' | 'databaseUrl'>): Check => ({
  name: 'schema',
  cure: UNREACHED_FIX,
  run: async () =>
    (await isLeftEmpty(connectionString, config)) ? bad(EMPTY.message, EMPTY.fix) : good('A start may migrate it.'),
})

const MISSING_FIX =
  'Stop the service, load the dump or backup again as a whole (docs/backup.md), and start it only then.'

export const schemaCheck = (connectionString: string, config: Pick<Config, 'mode' | 'databaseUrl'>): Check => ({
  name: 'schema',
  cure: UNREACHED_FIX,
  async run() {
    if (await isLeftEmpty(connectionString, config)) return bad(EMPTY.message, EMPTY.fix)
    const known = listMigrations()
    const newest = known.at(-1)?.id
    const applied = await readMigrations(connectionString)
    const last = applied.at(-1)?.id
    const fault = findHistoryFault(applied, known)
    if (fault !== undefined) return bad(fault, 'Install the version that belongs to this database.')
    const missing = known.filter(({ id }) => !applied.some((one) => one.id === id))
    if (missing.length > 0)
      return bad(`The schema is at ${last ?? 'nothing'}, this program needs ${newest}.`, 'Run: comptoir migrate')
    const lost = await readMissingParts(connectionString)
    if (lost.length > 0) return bad(missingWords(lost), MISSING_FIX)
    if (last === newest) return good(`The schema is the newest (${newest}).`)
    return good(`The schema is that of a newer version (${last}), which only added to what this one needs (${newest}).`)
  },
})

/** PgBouncer shares its own few among all; the embedded server is started for as many as are needed. */
export function connectionChecks(config: Config): Check[] {
  const { databaseUrl, databasePrepared } = config
  if (databaseUrl === null || !databasePrepared) return []
  const run: Check['run'] = async () => {
    const [limit, needed] = [await readConnectionLimit(databaseUrl), countConnections(config)]
    const message = `The database takes ${limit} connections; this node opens at most ${needed}, and twice as many during a reload.`
    if (needed > limit) return bad(message, CONNECTIONS_FIX)
    return good(2 * needed > limit ? `${message} A reload would use up what it takes.` : message)
  }
  return [{ name: 'connections', cure: UNREACHED_FIX, run }]
}

const CONNECTIONS_FIX =
  'Raise max_connections of the server (or the limit of the role or database), lower PROCESSES, or put PgBouncer in between.'

/** Measured by the answer's Date header (RFC 9110, 6.6.1); a provider rejects requests whose time is too far off. */
function skewOf(answer: Response): number {
  const date = Date.parse(answer.headers.get('date') ?? '')
  return Number.isNaN(date) ? 0 : (date - Date.now()) / 1000
}

const ADDRESS_FIX = 'Check the address, and that this machine may reach it.'

const providerCheck = (name: string, url: string): Check => ({
  name: `provider ${name.replace(/_BASE_URL$/, '').toLowerCase()}`,
  cure: ADDRESS_FIX,
  async run() {
    const answer = await fetch(url, { signal: AbortSignal.timeout(PROBE_MS), redirect: 'manual' }).catch(
      (error: unknown) => whyUnreached(error) ?? 'no answer',
    )
    if (typeof answer === 'string') return bad(`${name}: ${answer}.`, ADDRESS_FIX)
    const skew = skewOf(answer)
    // Date has whole seconds
    if (Math.abs(skew) <= MAX_SKEW_SECONDS + 1) return good('It answers, and its clock agrees with ours.')
    return bad(`Its clock is ${describeSkew(skew)} ours.`, 'Run a time service on this machine.')
  },
})

const chainCheck = (chain: ChainConfig): Check => ({
  name: `chain ${chain.chainId}`,
  cure: nodeFix(chain.chainId),
  async run() {
    for (const url of chain.rpcUrls) await checkNetwork({ rpc: createRpc({ url }) }, networkFor(chain))
    return good('Every node serves this chain, and its token is USDC.')
  },
})

/** Writes nothing: whether a bucket accepts writes shows only with the first backup. */
function backupChecks(config: Config, backups: KnownBackups | null): Check[] {
  if (backups === null) return []
  const { backupTo, databaseUrl, backupEveryMinutes } = config
  const run: Check['run'] = async () => {
    const folder = databaseUrl === null && backupTo !== null && !isBucket(backupTo) ? backupTo : null
    const [isThere, { newest, ahead, others, ageMs, unknownSinceMs }] = await Promise.all([
      folder === null || refuseUnwritable(folder, serviceAccount(config.dataDir)).catch(passSilence),
      readBackupAge(backups, Date.now()),
    ])
    const [future] = ahead
    if (future !== undefined) return bad(`${future} in ${backups.place} has a time that has not come.`, FUTURE_FIX)
    const when = newest ? new Date(newest.madeAtMs).toISOString() : 'none yet'
    if (unknownSinceMs !== undefined) {
      const since = new Date(unknownSinceMs).toISOString()
      return bad(`${backups.place} has not answered since ${since}; newest backup until then: ${when}.`, SILENT_FIX)
    }
    const foreign = others === 0 ? '' : ` ${othersWords(others)}`
    const message = `${backups.place} ${isThere ? 'answers' : 'will be made'}; newest backup: ${when}.${foreign}`
    if (!isBackupOverdue(ageMs, backupEveryMinutes)) return good(message)
    const fix = databaseUrl === null ? OLD_BACKUP_FIX : OLD_DUMP_FIX
    return bad(`${message} One is due every ${backupEveryMinutes} minutes.`, fix)
  }
  const place = databaseUrl === null ? 'BACKUP_TO' : 'BACKUP_WATCH'
  const cure = `Check ${place}, and that this user reaches the place and may use it.`
  return [{ name: 'backups', cure, run }]
}

/** What was known before is still worth saying. */
function passSilence(error: unknown): boolean {
  if (findSilence(error) === undefined) throw error
  return true
}

const SILENT_FIX =
  'See whether the machine behind this mount is there, and the network to it. Payments go on; no backup is made meanwhile.'

const othersWords = (count: number): string =>
  `${count} there ${count === 1 ? 'is' : 'are'} not of this database since its last restore, or of an older version: ` +
  'the service neither counts nor removes such backups.'

const FUTURE_FIX =
  'A clock was wrong when it was made, or is now. Such a backup does not count, and restore waits for its time. Correct the clock; remove the backup once there are later ones.'
const OLD_BACKUP_FIX =
  'Start the service if it is stopped: it makes one within minutes. If it runs, its log says why backups fail. By hand: comptoir backup'
const OLD_DUMP_FIX =
  'Look at the program that makes them: docker compose logs backup. Then at the room on that disk, and whether it is mounted.'

/** @param readRoom free space of the disk that holds a folder */
export const diskCheck = (dataDir: string, readRoom = readDiskRoom): Check => ({
  name: 'disk',
  cure: `Check DATA_DIR: the disk of ${dataDir} cannot be measured.`,
  async run() {
    const room = await readRoom(dataDir)
    const message = `${describeRoom(room)} on the disk of the database.`
    if (!isShortOfRoom(room)) return good(message)
    return bad(message, `Make room on the disk that holds ${dataDir}: when it is full, no order can be recorded.`)
  },
})

const MAIL_FIX = 'Check SMTP_URL: host, port, user and password. Until then: comptoir admin login-code'

/** Live mode with the accepted risk `no-mail`. */
export const NO_LOGIN_YET = 'Until SMTP_URL is set, codes for logging in come from `comptoir admin login-code` only.'

/**
 * Checks that depend on others: they may fail temporarily, so they do not stop the start.
 * @param backups of the service, which knows what the place answered before
 */
export function outsideChecks(config: Config, backups = openKnownBackups(config)): Check[] {
  const { smtpUrl } = config.mail
  const withoutMail =
    config.mode === 'sandbox'
      ? 'Mails stay on the mailbox page.'
      : `${NO_LOGIN_YET} Mails wait here for ${MAIL_DAYS} days.`
  const mail: Check = {
    name: 'mail',
    cure: MAIL_FIX,
    async run() {
      if (smtpUrl === null) return good(withoutMail)
      const { createTransport } = await import('nodemailer')
      const transport = createTransport({ url: smtpUrl, connectionTimeout: PROBE_MS } as TransportOptions)
      try {
        await transport.verify()
        return good('The mail server accepts our mails.')
      } catch (error) {
        const { code = 'no answer' } = error as { code?: string }
        return bad(`The mail server refuses us (${whyUnreached(error) ?? code}).`, MAIL_FIX)
      } finally {
        transport.close()
      }
    },
  }
  const providers = Object.entries(config.provider).filter(([name]) => /_BASE_URL$/.test(name))
  const sources = Object.entries(config.rates.baseUrls).map(
    ([source, url]) => [`RATE_${source.toUpperCase()}_BASE_URL`, url] as const,
  )
  return [
    mail,
    ...(config.databaseUrl === null ? [diskCheck(config.dataDir)] : []),
    ...backupChecks(config, backups),
    ...config.chains.map(chainCheck),
    ...signerChecks(config.chains),
    ...gasChecks(config.chains),
    ...[...providers, ...sources].map(([name, url]) => providerCheck(name, url)),
    rateCheck(config),
    priceCheck(config),
    ...screeningChecks(config),
    ...credentialChecks({ provider: config.provider, live: config.mode === 'live' }),
  ]
}
