import { hostname } from 'node:os'
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { Comptoir } from '../../sdk/index.ts'
import { type Command, textOf, UsageError } from '../command.ts'
import { saveLogin } from '../connection.ts'

const SCOPES = ['orders:read', 'orders:write', 'refunds:write', 'webhooks:read'] as const

/** Asks at the terminal; a secret is not shown while it is typed. */
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
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
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

/** Password and second factor; a code comes by mail where there is no authenticator. */
async function logIn(baseUrl: string, email: string): Promise<string> {
  const password = await ask('Password: ', true)
  const first = await post(`${baseUrl}/api/next/auth/login/manager`, { email, password, origin: 'dashboard' }, '')
  if (first.answer.data?.token) return first.answer.data.token
  const code = await ask('Six-digit code (authenticator, or the mail just sent): ')
  const byApp = await post(`${baseUrl}/api/next/auth/otp`, { otp: code }, first.cookie).catch(() => undefined)
  const done = byApp ?? (await post(`${baseUrl}/api/next/auth/otp`, { emailOtp: code }, first.cookie))
  return done.answer.data?.token ?? ''
}

export const login: Command = {
  name: 'login',
  summary: 'Store a credential for an instance of Comptoir',
  flags: {
    email: {
      type: 'string',
      value: 'EMAIL',
      description: 'log in as this person, and make an API key for this computer',
    },
    'api-key': {
      type: 'string',
      value: 'pk_…',
      description: 'store this key instead; the secret is asked for, or read from stdin',
    },
  },
  examples: ['comptoir login --url https://pay.example --email me@shop.example'],
  async run({ flags, show }) {
    const url = textOf(flags, 'url')?.replace(/\/+$/, '')
    if (!url || !/^https?:\/\//.test(url)) throw new UsageError('--url is required: the address of the service.')
    const apiKey = textOf(flags, 'api-key')
    const email = textOf(flags, 'email')
    if (!apiKey && !email) throw new UsageError('Give --email, or --api-key.')
    let made: { apiKey: string; apiSecret: string }
    if (apiKey) {
      made = { apiKey, apiSecret: await ask('API secret: ', true) }
      await new Comptoir({ baseUrl: url, ...made }).api.listOrders({ limit: 1 })
    } else {
      const client = new Comptoir({ baseUrl: url, accessToken: await logIn(url, email ?? '') })
      made = await client.api.createApiKey({
        body: { name: `comptoir CLI on ${hostname()}`.slice(0, 60), scopes: [...SCOPES] },
      })
    }
    const file = saveLogin({ url, ...made })
    show({ url, apiKey: made.apiKey, file }, [
      `Logged in at ${url}.`,
      `The key ${made.apiKey} is in ${file}; revoke it in the back office.`,
    ])
  },
}
