import { randomBytes } from 'node:crypto'
import { parseArgs } from 'node:util'
import { type Accounts, openAccounts } from '../assembly/accounts.ts'
import { readAnchors } from '../audit/anchor.ts'
import { NO_LOGIN_YET } from '../checks/installation-checks.ts'
import type { Config } from '../config/config.ts'
import type { Db, Tx } from '../db/db.ts'
import { systemContext } from '../http/request-context.ts'
import { systemClock } from '../kernel/clock.ts'
import { emailKeyOf } from '../kernel/people/emails.ts'
import type { Vault } from '../kernel/vault.ts'
import { describeVerdict, verifyLedger } from '../ledger/ledger-verify.ts'
import { nameCompany } from '../mail/alarm-words.ts'
import { updateChallengesEnded } from '../sessions/factors/challenge-queries.ts'
import { updateWrongCodesForgotten } from '../sessions/factors/factor-queries.ts'
import { endHolder } from '../sessions/replaced-account.ts'
import { updateResetsVoid } from '../sessions/reset-queries.ts'
import { endedKeysOf } from '../sessions/session-service.ts'
import { checkPassword } from '../users/password-rules.ts'
import { isNoOnes, isReplaceable } from '../users/replaceable.ts'
import { makeSuperAdmin } from '../users/super-admin.ts'
import type { User } from '../users/user.ts'
import { findUserByEmailKey, updateUserPassword } from '../users/user-queries.ts'
import { ADMIN_CHAINS_USAGE, CHAIN_COMMANDS, findChainCommand } from './admin-chains.ts'
import { askBefore } from './ask-before.ts'
import { print, UsageError } from './command.ts'
import { withDatabase } from './database.ts'

type Say = (line: string) => void
type Options = { email?: string; password?: string; anchor?: string; all: boolean; yes: boolean; json: boolean }
type Work = { config: Config; db: Db; vault: Vault; accounts: Accounts; options: Options; say: Say }

const OPERATOR = systemContext('operator')

export const ADMIN_USAGE = `comptoir admin create --email <address> [--password <password>]
    a SuperAdmin; without a password one is made. An account that is
    no one's yet, as a stranger may open it, ends if it has the address
comptoir admin login-code --email <address>
    when no mail arrives, or wrong codes locked the login:
    a code, good for five minutes, for the login that waits for one
comptoir admin reset-2fa --email <address>
    forget the authenticator and the passkeys; codes come by e-mail again
comptoir admin set-password --email <address> [--password <password>]
    for a SuperAdmin, whom no reset mail reaches
comptoir admin revoke-sessions --email <address> | --all
    log people out everywhere, on command lines too
comptoir admin rotate-keys
    a new key signs access tokens; the old one fades out
${ADMIN_CHAINS_USAGE}

  --yes    skip the question before something is destroyed
  --json   for programs: one object with "ok", "message" and what the sentence tells; "addresses" prints one a line`

export const AUDIT_USAGE = `comptoir audit verify [--anchor FILE] [--json]

Recomputes the chain of the audit log. Exit code 1 when an entry was changed, removed or cut off.

  --anchor FILE   compare with what AUDIT_ANCHOR_FILE noted outside the database
  --json          for programs`

export const LEDGER_USAGE = `comptoir ledger verify [--json]

Recomputes all books. Exit code 1 at a difference.

  --json   for programs`

/** @param result where it prints what it has done, if not to the standard output */
export type OperatorCommand = (config: Config, args: string[], say: Say, result?: Say) => Promise<boolean | undefined>

async function findUser({ db, options }: Work): Promise<User> {
  if (options.email === undefined) throw new UsageError('Name the user: --email <address>')
  const user = await findUserByEmailKey(db, emailKeyOf(options.email))
  if (!user) throw new Error(`No user has the address ${options.email}.`)
  return user
}

/** `create` found an existing account and changed nothing. */
export class AlreadyRegistered extends Error {}

type Facts = Readonly<Record<string, unknown>>

/** Prints a command's one sentence, for people or for programs. @returns what the exit code means */
function tell({ options, say }: Work, isWell: boolean, text: string, facts: Facts): boolean {
  say(options.json ? JSON.stringify({ ok: isWell, ...facts, message: text }) : text)
  return isWell
}

/** Reports success. */
const report = (work: Work, text: string, facts: Facts): undefined => void tell(work, true, text, facts)

const newPassword = (): string => `${randomBytes(12).toString('base64url')}-Aa1`

/** Where a person finds the code that a login asks for. */
function codeWords({ mode, mail }: Config): string {
  if (mail.smtpUrl !== null) return 'Codes for logging in go to this address.'
  return mode === 'live' ? NO_LOGIN_YET : 'Codes for logging in are on the mailbox page.'
}

const passwordWords = (password: string): string => `Password, shown only now: ${password}`

const registered = (email: string): string => `${email} is registered already. Nothing was changed.`

const confirmed = (email: string): string =>
  `${registered(email)} Someone confirmed this address: only its mailbox can give it up. Create the SuperAdmin with ` +
  'another address; the link of an invitation to this one replaces its account.'

/** Anyone may register any address: the account of a stranger does not keep the operator's from them. */
async function askToEnd({ db, options }: Work, holder: User): Promise<void> {
  const { email, role, company } = holder
  if (!(await isNoOnes(db, holder)))
    throw new AlreadyRegistered((await isReplaceable(db, holder)) ? confirmed(email) : registered(email))
  const of = company === null ? '' : ` of ${company.name}`
  const what = `${email} is registered as ${role}${of}, an account that is no one's yet. It will end for good.`
  await askBefore(options, what).catch((error: Error) => {
    throw new AlreadyRegistered(error.message, { cause: error })
  })
}

async function create(work: Work): Promise<undefined> {
  const { config, db, vault, accounts, options } = work
  const { email } = options
  if (email === undefined || !/^\S+@\S+$/.test(email))
    throw new UsageError('Name the user to create: --email <address>')
  const password = options.password ?? newPassword()
  const { passwords } = accounts.auth
  const holder = await findUserByEmailKey(db, emailKeyOf(email))
  if (holder) await askToEnd(work, holder)
  const deps = { db, vault, clock: systemClock, passwords }
  const ends = holder && { endHolder: (tx: Tx) => endHolder({ ...deps, ...accounts }, tx, holder.id) }
  const made = await makeSuperAdmin({ email, password }, { ...deps, ...ends })
  if (!made) throw new AlreadyRegistered(registered(email))
  const words = `SuperAdmin ${email} was made. ${codeWords(config)}`
  if (options.password !== undefined) return report(work, words, { email })
  // programs get the password in a field of its own rather than in a sentence that they may log
  report(work, options.json ? words : `${words}\n${passwordWords(password)}`, { email, password })
}

/** For whoever has access to this machine and its key when the mail server is down. */
async function makeLoginCode(work: Work): Promise<undefined> {
  const user = await findUser(work)
  if (user.disabledAt !== null) throw new Error(`${user.email} is disabled and cannot log in.`)
  const { auth, audit } = work.accounts
  const made = await work.db.tx(async (tx) => {
    const handed = await auth.challenges.handCode(tx, user)
    const entry = { action: 'session.login-code', object: `user:${user.id}`, companyId: user.company?.id ?? null }
    if (handed) await audit.write(tx, OPERATOR, entry)
    return handed
  })
  if (!made) {
    const first = 'Log in with the password first; where the code is asked for, run this again.'
    throw new Error(`No login of ${user.email} waits for a code. ${first}`)
  }
  const [begunAt, until] = [made.begunAt.toISOString(), made.expiresAt.toISOString()]
  const words = `It is for the login of ${user.email} that began at ${begunAt}, until ${until}, instead of the code by e-mail.`
  const facts = { email: user.email, code: made.code, begunAt, expiresAt: until }
  report(work, work.options.json ? words : `Code: ${made.code}\n${words}`, facts)
}

async function resetTwoFactor(work: Work): Promise<undefined> {
  const user = await findUser(work)
  await askBefore(work.options, `The authenticator, recovery codes and passkeys of ${user.email} will be forgotten.`)
  const { auth, sessions } = work.accounts
  await work.db.tx(async (tx) => {
    await auth.twoFactor.reset(tx, user, OPERATOR)
    await sessions.endAll(tx, user.id, 'second factor reset by the operator')
  })
  report(work, `Codes for ${user.email} come by e-mail again; all logins have ended.`, { email: user.email })
}

async function setPassword(work: Work): Promise<undefined> {
  const { db, accounts, options } = work
  const user = await findUser(work)
  await askBefore(work.options, `${user.email} gets a new password, and all logins of this person end.`)
  const password = options.password ?? newPassword()
  const { passwords, refusedPasswords } = accounts.auth
  checkPassword(password, {
    path: 'password',
    own: [user.email, user.firstName, user.lastName],
    extra: refusedPasswords,
  })
  const passwordHash = await passwords.hash(password)
  await db.tx(async (tx) => {
    const at = new Date(systemClock())
    await updateUserPassword(tx, user.id, { passwordHash, at })
    await updateResetsVoid(tx, user.id, at)
    await accounts.auth.lockOuts.clear(tx, user.emailKey)
    await updateChallengesEnded(tx, user.id, at)
    await updateWrongCodesForgotten(tx, user.id)
    await accounts.sessions.endAll(tx, user.id, 'password set by the operator')
    const entry = { action: 'user.set-password', object: `user:${user.id}` }
    await accounts.audit.write(tx, OPERATOR, { ...entry, companyId: user.company?.id ?? null })
  })
  if (options.password !== undefined || options.json) {
    const made = options.password === undefined ? { password } : {}
    return report(work, 'The password was set.', { email: user.email, ...made })
  }
  report(work, passwordWords(password), {})
}

async function revokeSessions(work: Work): Promise<undefined> {
  const user = work.options.all ? null : await findUser(work)
  await askBefore(work.options, user ? `All logins of ${user.email} will end.` : 'All logins of all users will end.')
  const { audit, sessions } = work.accounts
  const count = await work.db.tx(async (tx) => {
    const ended = await sessions.endAll(tx, user?.id ?? null, 'revoked by the operator')
    const object = user ? `user:${user.id}` : 'everybody'
    const detail = { ended: ended.sessions, ...endedKeysOf(ended) }
    await audit.write(tx, OPERATOR, { action: 'session.revoke-all', object, detail })
    return ended.sessions + ended.keys.length
  })
  const words = count === 1 ? '1 login has ended' : `${count} logins have ended`
  report(work, `${words}; running services refuse ${count === 1 ? 'it' : 'them'} within five seconds.`, { count })
}

async function rotateKeys(work: Work): Promise<undefined> {
  await askBefore(work.options, 'A new key will sign access tokens; the present one verifies for 15 more minutes.')
  const { audit, keys } = work.accounts
  const key = await work.db.tx(async (tx) => {
    const made = await keys.rotate(tx, 'access-token')
    await audit.write(tx, OPERATOR, { action: 'keys.rotate', object: `key:${made.id}` })
    return made
  })
  report(work, `Key ${key.id} signs from now on.`, { key: key.id })
}

async function verifyAudit(work: Work): Promise<boolean> {
  const { anchor } = work.options
  const { entries, lost, fault } = await work.accounts.audit.verify(
    anchor === undefined ? undefined : readAnchors(anchor),
  )
  const count = (many: number): string => (many === 1 ? '1 entry' : `${many} entries`)
  const losses = lost.map(
    ({ entries: many, backupMadeAt, restoredAt }) =>
      `At least ${count(many)} after the backup of ${backupMadeAt.toISOString()} ${many === 1 ? 'was' : 'were'} lost by ` +
      `the restore of ${restoredAt.toISOString()}.`,
  )
  if (!fault)
    return tell(work, true, [`The audit log is whole: ${count(entries)}.`, ...losses].join('\n'), { entries, lost })
  const text = `The audit log was tampered with at entry ${fault.seq}: ${fault.reason}.`
  return tell(work, false, text, { entries, seq: fault.seq.toString() })
}

/** Opens the database and the accounts, and runs one task. */
async function withAccounts(
  config: Config,
  args: string[],
  { say, result }: { say: Say; result: Say },
  work: (work: Work) => Promise<boolean | undefined>,
): Promise<boolean | undefined> {
  const { values } = parseArgs({
    args,
    options: {
      email: { type: 'string' },
      password: { type: 'string' },
      anchor: { type: 'string' },
      all: { type: 'boolean', default: false },
      yes: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  })
  return withDatabase(config, say, async (db, vault) => {
    const accounts = openAccounts({ config, db, vault, clock: systemClock })
    await accounts.keys.prepare()
    return work({ config, db, vault, accounts, options: values, say: result })
  })
}

const ADMIN: Record<string, (work: Work) => Promise<undefined>> = {
  create,
  'login-code': makeLoginCode,
  'reset-2fa': resetTwoFactor,
  'set-password': setPassword,
  'revoke-sessions': revokeSessions,
  'rotate-keys': rotateKeys,
}

/** The operator's commands. They ask before they destroy anything. @throws UsageError, Error with a sentence */
export const runAdmin: OperatorCommand = async (config, args, say, result = print) => {
  const [name = '', ...rest] = args
  const onChains = findChainCommand(name)
  if (onChains) return onChains(config, rest, { say, result })
  const work = Object.hasOwn(ADMIN, name) ? ADMIN[name] : undefined
  if (!work) {
    const names = [...Object.keys(ADMIN), ...CHAIN_COMMANDS].join(', ')
    throw new UsageError(`${name === '' ? 'Say what to do' : `There is no "admin ${name}"`}; choose from ${names}.`)
  }
  return withAccounts(config, rest, { say, result }, work)
}

function checkVerify(args: readonly string[]): void {
  if (args[0] !== 'verify') throw new UsageError('Say what to do: verify')
}

/** `audit verify`: false when an entry was changed, removed or truncated. */
export const runAudit: OperatorCommand = async (config, args, say) => {
  checkVerify(args)
  return withAccounts(config, args.slice(1), { say, result: print }, verifyAudit)
}

async function verifyBooks(work: Work): Promise<boolean> {
  const verdict = await verifyLedger(work.db)
  const { difference } = verdict
  const company = difference ? await nameCompany(work.db, difference.companyId) : undefined
  return tell(work, !difference, describeVerdict(verdict, company), {})
}

/** `ledger verify`: false at the first difference between the books and the facts. */
export const runLedger: OperatorCommand = async (config, args, say) => {
  checkVerify(args)
  return withAccounts(config, args.slice(1), { say, result: print }, verifyBooks)
}
