import { randomBytes } from 'node:crypto'
import { dirname, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { readEnvironment } from '../../checks/environment.ts'
import type { Config, Env } from '../../config/config.ts'
import { migrateService } from '../../db/installation.ts'
import { AlreadyRegistered, runAdmin } from '../admin.ts'
import { print, UsageError } from '../command.ts'
import { diagnose } from '../doctor.ts'
import { withNewDatabase } from '../operator-database.ts'
import { isRelease } from '../read-env.ts'
import { type Asker, atTerminal, type Flags, flagsOnly, withEarlier } from './asker.ts'
import { askBackup } from './backup-answer.ts'
import { printEnv, type Section, writeEnv } from './env-file.ts'
import {
  askForNew,
  findInstallation,
  findKnownBucket,
  findKnownKey,
  findKnownToken,
  listEarlier,
  listKept,
  listLeftBehind,
  listMoved,
  lookAtData,
  readOldEnv,
} from './existing.ts'
import { askChains, askChannels, channelFlags } from './money-answers.ts'

export const INIT_USAGE = `comptoir init [options]

Asks for what live mode needs and writes it to .env (mode 0600); then makes the first SuperAdmin, confirms the deposit
addresses that you compared, and runs doctor.
Whatever a flag says is not asked; without a terminal, flags say it all. With --force the old file's domain, database
and mail are the suggested answers.
A MASTER_KEY (or MASTER_KEY_FILE) in the environment or in the file that is replaced stays in use; else a key is made.

  --domain pay.example         where payers reach you
  --database-url URL           your PostgreSQL; without it Comptoir runs its own
  --backup-to PLACE            backups of its own PostgreSQL: a folder, or s3://bucket/prefix (BACKUP_S3_… then come
                               from the environment or the old file)
  --data-dir FOLDER            default ./data, for a release ../comptoir-data; /var/lib/comptoir for a file below /etc
  --smtp-url URL               mail server
  --mail-from TEXT             sender of mails
  --operator-email ADDRESS     gets alarms
  --chains 8453,1              chains by id
  --xpub XPUB                  your account's public key
  --addresses-match            you compared its first three addresses with your wallet
  --rpc-<id> URL[,URL]         nodes of a chain
  --channels gatepay,binance   exchanges; their values: ${channelFlags()
    .map((flag) => `--${flag}`)
    .join(' ')
    .replace(/(.{60,80}) /g, '$1\n                               ')}
  --keep-untried               keep a channel whose provider refuses or does not answer
  --admin-email ADDRESS        first SuperAdmin; the password is shown once
  --accept-risk NAMES          risks that you take (docs/operating.md)
  --out FILE                   default COMPTOIR_ENV_FILE, or .env
  --new-database               begin an empty database under keys that are in use, or that you made yourself
  --force                      replace the file; a copy of the old one stays beside it
  --json                       for programs: one object with "file", "admin", "ready" and the "checks" of doctor on the
                               standard output; what people read, the key and the password too, goes to the other`

type Say = (line: string) => void

const SWITCHES = ['addresses-match', 'keep-untried', 'new-database', 'force', 'json']
const TEXTS = [
  ...['domain', 'database-url', 'backup-to', 'data-dir', 'smtp-url', 'mail-from', 'operator-email', 'chains', 'xpub'],
  ...['channels', 'admin-email', 'accept-risk', 'out'],
]

function readFlags(args: string[]): { flags: Flags; switches: ReadonlySet<string> } {
  const ids = args.flatMap((arg) => /^--(rpc-\d+)/.exec(arg)?.[1] ?? [])
  const texts = [...TEXTS, ...channelFlags(), ...ids].map((name) => [name, { type: 'string' as const }])
  const switches = SWITCHES.map((name) => [name, { type: 'boolean' as const }])
  const { values } = parseArgs({ args, options: Object.fromEntries([...texts, ...switches]) })
  const given = Object.entries(values)
  return {
    flags: Object.fromEntries(given.flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : []))),
    switches: new Set(given.flatMap(([name, value]) => (value === true ? [name] : []))),
  }
}

const matching =
  (pattern: RegExp, words: string) =>
  (answer: string): string => {
    if (pattern.test(answer)) return answer
    throw new Error(words)
  }

const readDomain = matching(
  /^(?=.{1,259}$)([a-z0-9-]{1,63}\.)+[a-z]{2,63}(:\d{1,5})?$/i,
  'A domain without https://, for example pay.example.',
)
const readEmail = matching(/^[^\s@]+@[^\s@]+$/, 'An e-mail address.')
const readPostgres = matching(/^postgres(ql)?:\/\//, 'An address that begins with postgres://.')
const readSmtp = matching(/^smtps?:\/\//, 'An address that begins with smtps:// (or smtp://).')

type Place = { dataDir: string; values: Record<string, string> }

/** What is known before anything is asked. */
type Known = Record<'key' | 'token' | 'bucket', Record<string, string>> & { place: Place; old: Env }

/**
 * A file below /etc belongs to a service, whose unit (deploy/systemd) lets it write here and is reloaded. The folder of
 * a release is removed after an upgrade, and the data must not go with it.
 */
export const placeOf = (out: string): Place =>
  resolve(out).startsWith('/etc/')
    ? { dataDir: '/var/lib/comptoir', values: { PROCESSES: 'auto' } }
    : { dataDir: isRelease(dirname(resolve(out))) ? '../comptoir-data' : './data', values: {} }

async function askService(asker: Asker, values: Record<string, string>): Promise<Section> {
  const domain = await asker.ask({
    flag: 'domain',
    text: 'Domain that payers see, for example pay.example',
    read: readDomain,
  })
  return {
    title: 'The service; a proxy on this machine does TLS',
    values: { MODE: 'live', BASE_URL: `https://${domain}`, TRUST_PROXY: '127.0.0.1', ...values },
  }
}

async function askDatabase(asker: Asker, { place: { dataDir: fallback }, bucket, old }: Known): Promise<Section> {
  const text = 'PostgreSQL (postgres://user:password@host/database), or empty for the one that comes with Comptoir'
  const url = await asker.ask({ flag: 'database-url', text, fallback: '', read: readPostgres })
  const dataDir = await asker.ask({ flag: 'data-dir', text: 'Folder for its own files', fallback })
  const place = { DATA_DIR: resolve(dataDir) }
  const { DATABASE_URL_FILE: file } = old
  if (url === '' && file) return { title: 'Database', values: { DATABASE_URL_FILE: resolve(file), ...place } }
  if (url !== '') return { title: 'Database', values: { DATABASE_URL: url, ...place } }
  return { title: 'Database: our own', values: { ...place, ...(await askBackup(asker, bucket)) } }
}

async function askMail(asker: Asker): Promise<Section> {
  const smtp = await asker.ask({
    ...{ flag: 'smtp-url', text: 'Mail server (smtps://user:password@host:465)', fallback: '', read: readSmtp },
  })
  const operator = await asker.ask({
    flag: 'operator-email',
    text: 'Address for alarms',
    fallback: '',
    read: readEmail,
  })
  if (smtp === '') return { title: 'Mail', values: operator === '' ? {} : { OPERATOR_EMAIL: operator } }
  const from = await asker.ask({ flag: 'mail-from', text: 'Sender, for example Shop <pay@shop.example>' })
  return { title: 'Mail', values: { SMTP_URL: smtp, MAIL_FROM: from, ...(operator && { OPERATOR_EMAIL: operator }) } }
}

/** The remaining risks: each must be accepted by flag or answer, or the configuration is not written. */
async function askRisks(asker: Asker, env: Record<string, string>, flags: Flags): Promise<string> {
  const taken = (flags['accept-risk'] ?? '').split(',').filter(Boolean)
  const { results } = readEnvironment({ ...env, ACCEPT_RISK: taken.join(',') })
  for (const { name, ok, message, fix } of results) {
    if (ok) continue
    if (name === 'settings') throw new Error(`The answers contradict each other:\n${message}`)
    const wants = await asker.confirm(`${message}\n  Take this risk?`, `accept-risk=${name}`)
    if (!wants) throw new Error(`${message} ${fix ?? ''}\nNothing was written.`)
    taken.push(name)
  }
  return taken.join(',')
}

const KEY_WORDS = `The master key encrypts secrets, payers' identities and backups. It stands in the file and is shown only now.
Write it down and keep it elsewhere: whoever loses it loses what it encrypted; whoever has it reads a backup.`

const newToken = (): Record<string, string> => ({ METRICS_TOKEN: randomBytes(24).toString('base64url') })
const newKey = (): Record<string, string> => ({ MASTER_KEY: randomBytes(32).toString('base64') })

type Answers = { sections: Section[]; admin: string; written: Record<string, string> }

const valuesOf = (sections: readonly Section[]): Record<string, string> =>
  Object.assign({}, ...sections.map(({ values }) => values))

async function askAll(asker: Asker, flags: Flags, known: Known): Promise<Answers> {
  const sections = [
    await askService(asker, { ...known.place.values, ...listKept(known.old), ...known.token }),
    await askDatabase(asker, known),
    await askMail(asker),
    { title: 'Chains', values: await askChains(asker) },
    { title: 'Channels', values: await askChannels(asker) },
  ]
  const admin = await asker.ask({ flag: 'admin-email', text: 'E-mail of the first SuperAdmin', read: readEmail })
  if (asker.missing.length > 0) throw new UsageError(`Without a terminal these are needed: ${asker.missing.join(', ')}`)
  const secret: Section = { title: 'The master key', values: known.key }
  const risks = await askRisks(asker, valuesOf([secret, ...sections]), flags)
  const accepted: Section = { title: 'Risks taken', values: risks === '' ? {} : { ACCEPT_RISK: risks } }
  const all = [secret, ...sections, accepted]
  return { sections: all, admin, written: valuesOf(all) }
}

type Replaced = { copy: string | undefined; left: string[]; moved: string[] }

/** Reports what was written, and which settings of the old file were not carried over. */
function sayWritten(say: Say, file: string, { copy, left, moved }: Replaced): void {
  say(`Written: ${resolve(file)} (only you can read it).`)
  if (copy !== undefined) say(`The previous file is kept as ${resolve(copy)}. Remove it once nothing is missing.`)
  if (left.length > 0) say(`These settings stand in the old file only: ${left.join(', ')}.`)
  for (const line of moved) say(line)
}

/** `result`: what the commands print that init runs; with --json the standard output holds one object, and not this. */
type Out = { say: Say; result: Say }

/** Creates the first SuperAdmin; after a restore there already is one. */
async function makeAdmin(config: Config, email: string, { say, result }: Out): Promise<void> {
  try {
    await runAdmin(config, ['create', '--email', email], say, result)
  } catch (error) {
    if (!(error instanceof AlreadyRegistered)) throw error
    say(`${email} is registered already and stays as it is.`)
  }
}

/**
 * Confirms the addresses that the operator compared while answering. A key from the environment alone was shown to no
 * one, and money must not go to it before.
 */
async function confirmCompared(config: Config, written: Env, { say, result }: Out): Promise<void> {
  const compared = config.chains.map(({ chainId }) => written[`CHAIN_${chainId}_XPUB`])
  for (const { chainId, xpub } of config.chains) {
    const command = ['confirm-addresses', '--chain', String(chainId)]
    if (xpub !== null && compared.includes(xpub)) await runAdmin(config, [...command, '--yes'], say, result)
    else say(`Chain ${chainId} comes from the environment. Compare its addresses: comptoir admin ${command.join(' ')}`)
  }
}

/**
 * `init`: writes a live configuration. @returns the result of doctor @throws UsageError, Error with a sentence; then
 * nothing was written, or only the file that was named
 */
export async function runInit(args: string[], environment: Env, say: Say): Promise<boolean> {
  const { flags, switches } = readFlags(args)
  const isJson = switches.has('json')
  const shown = { say, result: isJson ? say : print }
  const out = flags.out ?? (environment.COMPTOIR_ENV_FILE || '.env')
  const old = readOldEnv(out, switches.has('force'))
  const known = findKnownKey(environment, old)
  const asked = process.stdin.isTTY ? atTerminal(flags, say) : flagsOnly(flags, switches, say)
  const asker = withEarlier(asked, listEarlier(old))
  try {
    const { sections, admin, written } = await askAll(asker, flags, {
      key: known ?? newKey(),
      token: findKnownToken(environment, old) ?? newToken(),
      bucket: findKnownBucket(environment, old),
      place: placeOf(out),
      old,
    })
    const env = { ...environment, ...written }
    const { config } = readEnvironment(env)
    const lacking = await lookAtData(config, say)
    const installed = lacking !== null && !switches.has('new-database') ? findInstallation(environment, old, out) : null
    if (lacking !== null && installed !== null) await askForNew(asker, lacking, installed)
    const copy = writeEnv(out, printEnv(sections), switches.has('force'))
    say(known ? '\nThe master key stays the one that you gave.\n' : `\n${KEY_WORDS}\n\n  ${written.MASTER_KEY}\n`)
    sayWritten(say, out, { copy, left: listLeftBehind(old, written), moved: listMoved(old, written) })
    await withNewDatabase(config, say, async (connectionString) => {
      await migrateService({ connectionString, directUrl: config.databaseDirectUrl }, { onWaiting: say })
      await makeAdmin(config, admin, shown)
      await confirmCompared(config, written, shown)
    })
    say('')
    const file = resolve(out)
    const { ready, checks, words } = await diagnose(env, file)
    print(isJson ? JSON.stringify({ file, admin, ready, checks }) : words)
    say(ready ? '\nReady: comptoir serve' : '\nPut right what failed, then: comptoir doctor, comptoir serve')
    const register = `${config.officeUrl}/register`
    say(`Merchants register at ${register}, and sell once you have approved them in the back office.`)
    return ready
  } finally {
    asker.close()
  }
}
