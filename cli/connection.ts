import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { Comptoir } from '../sdk/index.ts'
import { textOf, UsageError, type Values } from './command.ts'

export type Login = { url: string; apiKey: string; apiSecret: string }
type Person = { email: string; password: string }

/** What `npm start` writes for the users of the sandbox. */
export type SandboxFile = {
  baseUrl: string
  providersUrl: string
  mailboxUrl: string
  apiKey: string
  apiSecret: string
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

export function saveLogin(login: Login): string {
  const file = loginFile()
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `${JSON.stringify(login, null, 2)}\n`, { mode: 0o600 })
  chmodSync(file, 0o600)
  return file
}

const readSandbox = (): SandboxFile | undefined => readJson<SandboxFile>(join('data', 'sandbox.json'))

export type Connection = { client: Comptoir; url: string; sandbox: SandboxFile | undefined }

/**
 * Where and as whom: `COMPTOIR_URL`, `COMPTOIR_API_KEY`, `COMPTOIR_API_SECRET`; else what `login` stored; else
 * `data/sandbox.json` of this folder.
 * @throws UsageError when none of them is set
 */
export function connect(flags: Values): Connection {
  const { COMPTOIR_URL, COMPTOIR_API_KEY, COMPTOIR_API_SECRET } = process.env
  const sandbox = readSandbox()
  const fromEnv =
    COMPTOIR_API_KEY && COMPTOIR_API_SECRET ? { apiKey: COMPTOIR_API_KEY, apiSecret: COMPTOIR_API_SECRET } : undefined
  const stored = fromEnv ? undefined : readJson<Login>(loginFile())
  const found = fromEnv ?? stored ?? sandbox
  const url = textOf(flags, 'url') ?? COMPTOIR_URL ?? stored?.url ?? sandbox?.baseUrl
  if (!found || !url) {
    throw new UsageError(
      'No service is known here. Run "comptoir login", set COMPTOIR_URL, COMPTOIR_API_KEY and COMPTOIR_API_SECRET, or start the sandbox in this folder.',
    )
  }
  const client = new Comptoir({ baseUrl: url, apiKey: found.apiKey, apiSecret: found.apiSecret })
  return {
    client,
    url,
    sandbox: sandbox && new URL(sandbox.baseUrl).origin === new URL(url).origin ? sandbox : undefined,
  }
}

/** @throws UsageError when the service is not the sandbox of this folder */
export function connectSandbox(flags: Values): Connection & { sandbox: SandboxFile } {
  const connection = connect(flags)
  if (!connection.sandbox) {
    throw new UsageError(
      'This plays with test money and needs the sandbox: run it where "npm start" keeps data/sandbox.json.',
    )
  }
  return { ...connection, sandbox: connection.sandbox }
}
