import { hostname } from 'node:os'
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { Comptoir, isComptoirError, loginByDevice } from '../../sdk/index.ts'
import { type Command, type Run, textOf, UsageError, type Values } from '../command.ts'
import { addressOf, findLogin, type Login, listLogins, removeLogin, saveLogin } from '../connection.ts'

const SCOPES = [
  'orders:read',
  'orders:write',
  'refunds:write',
  'sessions:write',
  'webhooks:read',
  'webhooks:write',
] as const

/** Asks at the terminal; a secret is not echoed. */
async function ask(question: string, isSecret = false): Promise<string> {
  process.stderr.write(question)
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({
    input: process.stdin,
    output: isSecret ? silent : process.stderr,
    terminal: isSecret && process.stdin.isTTY,
  })
  const answer = await lines.question('')
  lines.close()
  if (isSecret) process.stderr.write('\n')
  return answer.trim()
}

type LoginAnswer = { data: { token: string | null } | null; error?: { message: string } }

async function post(url: string, body: unknown, cookie: string): Promise<{ answer: LoginAnswer; cookie: string }> {
  const headers = { 'content-type': 'application/json', ...(cookie ? { cookie } : {}) }
  // following a redirect would give the password to another host
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body), redirect: 'manual' })
  if (response.status >= 300 && response.status < 400)
    throw new Error(`${url} answered with a redirect. Is --url right?`)
  const answer = (await response.json()) as LoginAnswer
  if (!answer.data) throw new Error(answer.error?.message ?? `The login answered ${response.status}.`)
  return {
    answer,
    cookie: response.headers
      .getSetCookie()
      .map((line) => line.split(';')[0])
      .join('; '),
  }
}

/** Logs in with password and second factor; without an authenticator app a code comes by mail. */
async function logIn(baseUrl: string, email: string): Promise<string> {
  const password = await ask('Password: ', true)
  const first = await post(`${baseUrl}/api/next/auth/login/manager`, { email, password, origin: 'dashboard' }, '')
  if (first.answer.data?.token) return first.answer.data.token
  const code = await ask('Six-digit code (authenticator, or the mail just sent): ')
  const byApp = await post(`${baseUrl}/api/next/auth/otp`, { otp: code }, first.cookie).catch(() => undefined)
  const done = byApp ?? (await post(`${baseUrl}/api/next/auth/otp`, { emailOtp: code }, first.cookie))
  return done.answer.data?.token ?? ''
}

function urlOf(flags: Values): string {
  const url = textOf(flags, 'url')
  if (url === undefined) throw new UsageError('--url is required: the address of the service.')
  return addressOf(url)
}

function readScopes(flags: Values): (typeof SCOPES)[number][] | undefined {
  const names = textOf(flags, 'scopes')?.split(',')
  const unknown = (names ?? []).filter((name) => !(SCOPES as readonly string[]).includes(name))
  if (unknown.length > 0)
    throw new UsageError(`There is no scope ${unknown.join(', ')}. There are: ${SCOPES.join(', ')}.`)
  return names as (typeof SCOPES)[number][] | undefined
}

type Made = { apiKey: string; apiSecret: string; expiresAt?: string | null; scopes?: string[] }

/** A person confirms in the browser; nothing secret is typed here. */
async function byDevice(url: string, { flags, say }: Run): Promise<Made> {
  const scopes = readScopes(flags)
  return loginByDevice({
    baseUrl: url,
    clientName: `comptoir on ${hostname()}`.slice(0, 60),
    ...(scopes ? { scopes } : {}),
    onCode({ userCode, verificationUri, verificationUriComplete, expiresInSeconds }) {
      // with --json too: the login cannot be confirmed without the code
      const lines = [
        `Open ${verificationUri}`,
        `and confirm the code ${userCode} (or open ${verificationUriComplete})`,
        `Waiting for ${Math.round(expiresInSeconds / 60)} minutes …`,
      ]
      if (flags.json === true) process.stderr.write(`${lines.join('\n')}\n`)
      else for (const line of lines) say(line)
    },
  })
}

async function byKey(url: string, apiKey: string): Promise<Made> {
  const made = { apiKey, apiSecret: await ask('API secret: ', true) }
  await new Comptoir({ baseUrl: url, ...made }).api.listOrders({ limit: 1 })
  return made
}

async function byPassword(url: string, email: string, { flags }: Run): Promise<Made> {
  const client = new Comptoir({ baseUrl: url, accessToken: await logIn(url, email) })
  const scopes = readScopes(flags) ?? [...SCOPES]
  return client.api.createApiKey({ body: { name: `comptoir on ${hostname()}`.slice(0, 60), scopes } })
}

export const login: Command = {
  name: 'login',
  summary: 'Log in to an instance of Comptoir; you confirm in its back office',
  flags: {
    scopes: { type: 'string', value: 'a,b', description: `what the key may do; default: ${SCOPES.join(',')}` },
    list: { type: 'boolean', description: 'show where you are logged in' },
    email: { type: 'string', value: 'EMAIL', description: 'without a browser: by password and code of this person' },
    'api-key': {
      type: 'string',
      value: 'pk_…',
      description: 'store this key instead; the secret is asked for, or read from stdin',
    },
  },
  examples: ['comptoir login --url https://pay.example', 'comptoir login --list'],
  async run(run) {
    const { flags, show } = run
    if (flags.list === true) {
      const all = listLogins().map(({ apiSecret: _secret, ...login }) => login)
      const lines = all.map(({ url, apiKey, current }) => `${current ? '*' : ' '} ${url}  ${apiKey}`)
      return show(all, lines.length === 0 ? 'You are logged in nowhere.' : lines)
    }
    const url = urlOf(flags)
    const [apiKey, email] = [textOf(flags, 'api-key'), textOf(flags, 'email')]
    if (apiKey && email) throw new UsageError('Give --email or --api-key, not both.')
    const made = await (apiKey ? byKey(url, apiKey) : email ? byPassword(url, email, run) : byDevice(url, run))
    const { expiresAt = null } = made
    const file = saveLogin({ url, apiKey: made.apiKey, apiSecret: made.apiSecret, ...(expiresAt ? { expiresAt } : {}) })
    show({ url, apiKey: made.apiKey, scopes: made.scopes ?? null, expiresAt, file }, [
      `Logged in at ${url}.`,
      `The key ${made.apiKey} is in ${file}${expiresAt ? ` and ends on ${expiresAt.slice(0, 10)}` : ''}.`,
      'comptoir logout revokes it.',
    ])
  },
}

/** Ends one stored key. @returns false: the service did not answer, and the key may still be valid there */
async function endLogin({ url, apiKey, apiSecret }: Login): Promise<boolean> {
  try {
    await new Comptoir({ baseUrl: url }).api.revokeOwnApiKey({ body: { apiKey, apiSecret } })
    return true
  } catch (error) {
    if (!isComptoirError(error)) throw error
    return false
  }
}

export const logout: Command = {
  name: 'logout',
  summary: 'Revoke the stored key and forget it',
  flags: { all: { type: 'boolean', description: 'at every instance' } },
  async run({ flags, show }) {
    const url = textOf(flags, 'url')
    const known = listLogins()
    const ended = flags.all === true ? known : [findLogin(url)].filter((login) => login !== undefined)
    if (ended.length === 0)
      throw new UsageError(url ? `You are not logged in at ${url}.` : 'You are logged in nowhere.')
    const results: { url: string; apiKey: string; revoked: boolean }[] = []
    for (const login of ended) {
      const revoked = await endLogin(login)
      removeLogin(login.url)
      results.push({ url: login.url, apiKey: login.apiKey, revoked })
    }
    if (results.some(({ revoked }) => !revoked)) process.exitCode = 1
    show(
      results,
      results.map(({ url: place, apiKey, revoked }) =>
        revoked
          ? `Logged out at ${place}; ${apiKey} is revoked.`
          : `Forgotten here, but ${place} did not answer: revoke ${apiKey} in its back office.`,
      ),
    )
  },
}
