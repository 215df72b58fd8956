import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { Comptoir } from '../sdk/index.ts'
import { textOf, UsageError, type Values } from './command.ts'

export type Login = { url: string; apiKey: string; apiSecret: string; expiresAt?: string }
type Person = { email: string; password: string }

/** The file that `npm start` writes for users of the sandbox. */
export type SandboxFile = {
  baseUrl: string
  providersUrl: string
  mailboxUrl: string
  /** Null, and its secret: it was revoked. */
  apiKey: string | null
  apiSecret: string | null
  merchantIdentifier: string
  webhookSigningSecret: string
  manager: Person
  superAdmin: Person
}

export const loginFile = (): string =>
  process.env.COMPTOIR_LOGIN_FILE ??
  join(process.env.XDG_CONFIG_HOME ?? join(homedir(), '.config'), 'comptoir', 'login.json')

const readJson = <Shape>(file: string): Shape | undefined =>
  existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Shape) : undefined

/** Several instances; without `--url`, the latest login is used. */
type LoginFile = { current: string; logins: Login[] }

const NO_LOGINS: LoginFile = { current: '', logins: [] }

/** @throws UsageError when the file is damaged */
function readFile(): LoginFile {
  const file = loginFile()
  try {
    const stored = readJson<LoginFile | Login>(file)
    if (stored === undefined) return NO_LOGINS
    // older versions stored a single login
    return 'logins' in stored ? stored : { current: stored.url, logins: [stored] }
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof TypeError)) throw error
    throw new UsageError(`${file} is damaged. Log in again with "comptoir login --url URL"; it keeps a copy.`)
  }
}

/** What was stored; a damaged file is put aside. */
function readOrPutAside(): LoginFile {
  try {
    return readFile()
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    renameSync(loginFile(), `${loginFile()}.damaged`)
    return NO_LOGINS
  }
}

function writeFile(stored: LoginFile): string {
  const file = loginFile()
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  // written next to it and renamed: others can never read the secret, and a crash leaves the old file
  const fresh = `${file}.${process.pid}`
  writeFileSync(fresh, `${JSON.stringify(stored, null, 2)}\n`, { mode: 0o600 })
  renameSync(fresh, file)
  return file
}

/**
 * The address of a service, without slashes at its end.
 * @throws UsageError when it is no URL, or when a key sent to it could be read on the way
 */
export function addressOf(text: string): string {
  if (!/^https?:\/\/[^/]/.test(text) || !URL.canParse(text)) {
    throw new UsageError(`"${text}" is not the address of a service. Write it like https://pay.example.`)
  }
  const { protocol, hostname } = new URL(text)
  if (protocol === 'http:' && !/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)) {
    throw new UsageError(
      `Use https for ${text}: over plain http others could read the key. Plain http is allowed only for this computer.`,
    )
  }
  return text.replace(/\/+$/, '')
}

const plain = (url: string): string => (URL.canParse(url) ? new URL(url).href : url).replace(/\/+$/, '')

const sameUrl = (left: string, right: string): boolean => plain(left) === plain(right)

export function saveLogin(login: Login): string {
  const others = readOrPutAside().logins.filter(({ url }) => !sameUrl(url, login.url))
  return writeFile({ current: login.url, logins: [...others, login] })
}

export function removeLogin(url: string): void {
  const logins = readFile().logins.filter((login) => !sameUrl(login.url, url))
  writeFile({ current: logins.at(-1)?.url ?? '', logins })
}

/** Every stored login, and which one is used without `--url`. */
export function listLogins(): (Login & { current: boolean })[] {
  const { current, logins } = readFile()
  return logins.map((login) => ({ ...login, current: login.url === current }))
}

/** The login for a URL, or the latest one. */
export const findLogin = (url: string | undefined): Login | undefined =>
  listLogins().find((login) => (url === undefined ? login.current : sameUrl(login.url, url)))

/** An error when the file is damaged: only a command that needs it fails. */
function readSandbox(): SandboxFile | UsageError | undefined {
  const file = join('data', 'sandbox.json')
  try {
    const found = readJson<SandboxFile | null>(file)
    if (found === undefined) return undefined
    if (URL.canParse(found?.baseUrl ?? '')) return found ?? undefined
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  return new UsageError(`${file} is damaged. "npm start" in this folder writes it again.`)
}

export type Connection = {
  client: Comptoir
  url: string
  /** For responses that are not JSON: files. */
  headers: Record<string, string>
  sandbox: SandboxFile | undefined
  /** Why nothing is known of the sandbox of this folder. */
  fault: UsageError | undefined
}

const NOTHING_KNOWN =
  'No service is known here. Run "comptoir login", set COMPTOIR_URL, COMPTOIR_API_KEY and COMPTOIR_API_SECRET, ' +
  'or start the sandbox in this folder.'

const KEY_WITHOUT_URL =
  'COMPTOIR_API_KEY is set, but COMPTOIR_URL is not: a key is sent only to its own service. Set both, or neither.'

/**
 * Which service, and its own key: that of the environment belongs to `COMPTOIR_URL` alone, a stored login to its URL,
 * and the sandbox's key to the sandbox of this folder.
 * @throws UsageError when there is no key for it
 */
function findKey(flags: Values, sandbox: SandboxFile | UsageError | undefined): Login {
  const { COMPTOIR_URL, COMPTOIR_API_KEY: apiKey, COMPTOIR_API_SECRET: apiSecret } = process.env
  const url = textOf(flags, 'url') ?? (COMPTOIR_URL || undefined)
  const isOfEnvironment = url !== undefined && Boolean(COMPTOIR_URL) && sameUrl(url, COMPTOIR_URL ?? '')
  if ((isOfEnvironment || url === undefined) && Boolean(apiKey) !== Boolean(apiSecret)) {
    const [set, missing] = apiKey ? ['KEY', 'SECRET'] : ['SECRET', 'KEY']
    throw new UsageError(`COMPTOIR_API_${set} is set, but COMPTOIR_API_${missing} is not. Set both, or neither.`)
  }
  if (apiKey && apiSecret && isOfEnvironment) return { url, apiKey, apiSecret }
  const isHomeless = apiKey && apiSecret && !COMPTOIR_URL
  if (isHomeless && url === undefined) throw new UsageError(KEY_WITHOUT_URL)
  const stored = findLogin(url)
  if (stored) return { ...stored, url: url ?? stored.url }
  if (sandbox instanceof UsageError) throw sandbox
  if (sandbox && (url === undefined || sameUrl(url, sandbox.baseUrl))) {
    const { baseUrl, apiKey: key, apiSecret: secret } = sandbox
    if (key !== null && secret !== null) return { url: baseUrl, apiKey: key, apiSecret: secret }
    throw new UsageError(`The sandbox’s API key was revoked. Run "comptoir login --url ${baseUrl}".`)
  }
  if (isHomeless) throw new UsageError(KEY_WITHOUT_URL)
  throw new UsageError(url ? `No key for ${url} is known here. Run "comptoir login --url ${url}".` : NOTHING_KNOWN)
}

/**
 * URL and credentials: `COMPTOIR_URL`, `COMPTOIR_API_KEY`, `COMPTOIR_API_SECRET`; otherwise what `login` stored;
 * otherwise `data/sandbox.json` in this folder.
 * @throws UsageError when no key is known for the service, or it would travel over plain http
 */
export function connect(flags: Values): Connection {
  const sandbox = readSandbox()
  const { url: found, apiKey, apiSecret } = findKey(flags, sandbox)
  const url = addressOf(found)
  const [known, fault] = sandbox instanceof UsageError ? [undefined, sandbox] : [sandbox, undefined]
  return {
    client: new Comptoir({ baseUrl: url, apiKey, apiSecret }),
    url,
    headers: { 'x-api-key': apiKey, 'x-api-secret': apiSecret },
    sandbox: known && new URL(known.baseUrl).origin === new URL(url).origin ? known : undefined,
    fault,
  }
}

/** @throws UsageError when the service is not the sandbox of this folder, or its file is damaged */
export function connectSandbox(flags: Values): Connection & { sandbox: SandboxFile } {
  const connection = connect(flags)
  if (connection.fault) throw connection.fault
  if (!connection.sandbox) {
    throw new UsageError(
      'This plays with test money and needs the sandbox: run it where "npm start" keeps data/sandbox.json.',
    )
  }
  return { ...connection, sandbox: connection.sandbox }
}
