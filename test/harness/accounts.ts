import { randomBytes } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'
import { type Db, sql } from '../../src/db/db.ts'
import type { Actor } from '../../src/http/actor.ts'
import { newId } from '../../src/kernel/ids.ts'
import { openPasswords } from '../../src/users/password.ts'
import { type Answer, callService, eventually, type TestService } from './service.ts'

/** Good under the rules, and nobody's. */
export const PASSWORD = 'Correct-Horse-7-Staple'

let hashed: Promise<string> | undefined
/** Its hash, as the service of `startTestService` makes one. */
export const passwordHash = (): Promise<string> => {
  hashed ??= openPasswords({ memoryKib: 19_456 }).hash(PASSWORD)
  return hashed
}

export const newEmail = (name = 'person'): string => `${name}-${randomBytes(5).toString('hex')}@shop.example`

export type KeptMail = { id: string; to: string; subject: string; text: string; html: string; createdAt: string }

/** A client as a browser is one: keeps cookies by name, sends those whose path fits. */
export class Client {
  readonly baseUrl: string
  readonly cookies = new Map<string, { value: string; attributes: string }>()
  token: string | null = null
  userId = ''

  constructor(baseUrl: string) {
    this.baseUrl = baseUrl
  }

  cookieHeader(path: string): Record<string, string> {
    const fitting = [...this.cookies].filter(([, { attributes }]) => {
      const scope = /path=([^;]+)/i.exec(attributes)?.[1] ?? '/'
      return path.startsWith(scope)
    })
    return fitting.length === 0 ? {} : { cookie: fitting.map(([name, { value }]) => `${name}=${value}`).join('; ') }
  }

  async call<Data = Record<string, unknown>>(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer<Data>> {
    const url = path.startsWith('/') ? path : `/api/next/${path}`
    const bearer = this.token === null ? {} : { authorization: `Bearer ${this.token}` }
    const answer = await callService<Data>(this.baseUrl, method, url, {
      headers: { ...this.cookieHeader(url), ...bearer, ...headers },
      ...(body === undefined ? {} : { body }),
    })
    for (const line of answer.headers.getSetCookie()) {
      const [pair = '', ...attributes] = line.split('; ')
      const at = pair.indexOf('=')
      const [name, value] = [pair.slice(0, at), pair.slice(at + 1)]
      if (value === '') this.cookies.delete(name)
      else this.cookies.set(name, { value, attributes: attributes.join('; ') })
    }
    return answer
  }

  post<Data = Record<string, unknown>>(path: string, body?: unknown, headers: Record<string, string> = {}) {
    return this.call<Data>('POST', path, body, headers)
  }

  get<Data = Record<string, unknown>>(path: string) {
    return this.call<Data>('GET', path)
  }
}

export async function readMails(baseUrl: string, to: string): Promise<KeptMail[]> {
  const answer = await fetch(`${baseUrl}/mailbox?to=${encodeURIComponent(to)}`, {
    headers: { accept: 'application/json' },
  })
  return (await answer.json()) as KeptMail[]
}

/** Waits for the newest mail to this address whose subject or text fits, newer than `after` mails. */
export async function waitForMail(baseUrl: string, to: string, pattern: RegExp, count = 1): Promise<KeptMail> {
  const fits = (mails: KeptMail[]): KeptMail[] =>
    mails.filter((mail) => pattern.test(mail.subject) || pattern.test(mail.text))
  const mails = await eventually(
    () => readMails(baseUrl, to),
    (list) => fits(list).length >= count,
    10_000,
  )
  const [newest] = fits(mails)
  if (!newest) throw new Error('no mail')
  return newest
}

const LOGIN_MAIL = /^\d{6} .*(login|connexion|Anmelde|acceso|accesso|confirm|Bestätigung|conferma)/

/** The six digits of the newest login mail. */
export async function readCode(baseUrl: string, to: string, count = 1): Promise<string> {
  const mail = await waitForMail(baseUrl, to, LOGIN_MAIL, count)
  return /\b(\d{6})\b/.exec(mail.text)?.[1] ?? ''
}

export const totpOf = (otpauthUri: string): TOTP =>
  new TOTP({ secret: Secret.fromBase32(new URL(otpauthUri).searchParams.get('secret') ?? ''), digits: 6, period: 30 })

type UserAnswer = { token: string | null; user: { _id: string; company: { _id: string } | null } }

export type Person = { client: Client; email: string; userId: string; companyId: string | null }

/** Registers somebody; the client holds the token of the answer. */
export async function register(
  baseUrl: string,
  body: Record<string, unknown>,
  by: Client = new Client(baseUrl),
): Promise<Person> {
  const email = newEmail(String(body.role ?? 'person').toLowerCase())
  const names = { firstName: 'Ada', lastName: 'Beispiel', email, password: PASSWORD }
  const answer = await by.post<UserAnswer>('auth/register', { ...names, ...body })
  if (answer.status !== 200) throw new Error(`register: ${answer.text}`)
  const client = by.token === null ? by : new Client(baseUrl)
  client.token = answer.data.token
  client.userId = answer.data.user._id
  return { client, email, userId: answer.data.user._id, companyId: answer.data.user.company?._id ?? null }
}

export const registerManager = (baseUrl: string): Promise<Person> =>
  register(baseUrl, { role: 'Manager', companyName: `Shop ${randomBytes(4).toString('hex')}` })

/** Password, then the code from the mailbox where one is asked for. */
export async function logIn(baseUrl: string, email: string, path = 'auth/login/manager'): Promise<Client> {
  const client = new Client(baseUrl)
  const before = (await readMails(baseUrl, email)).filter((mail) => LOGIN_MAIL.test(mail.subject)).length
  const origin = path.endsWith('manager') ? { origin: 'dashboard' } : {}
  const login = await client.post<UserAnswer>(path, { email, password: PASSWORD, ...origin })
  if (login.status !== 200) throw new Error(`login: ${login.text}`)
  client.userId = login.data.user._id
  client.token = login.data.token
  if (client.token !== null) return client
  const emailOtp = await readCode(baseUrl, email, before + 1)
  const answer = await client.post<UserAnswer>('auth/otp', { emailOtp })
  if (answer.status !== 200) throw new Error(`otp: ${answer.text}`)
  client.token = answer.data.token
  return client
}

/** A person with a session, who never logs in: for the parts that lock both. */
export async function insertPerson(
  db: Db,
  { role, companyId }: Pick<Actor, 'role' | 'companyId'>,
): Promise<Pick<Actor, 'id' | 'sessionId'>> {
  const [id, sessionId] = [newId(), newId()]
  await db.run(sql`
    insert into users (id, email, email_key, password_hash, first_name, last_name, role, company_id)
    values (${id}, ${`${id}@shop.example`}, ${id}, '!', 'A', 'B', ${role}, ${companyId})`)
  await db.run(sql`
    insert into sessions (id, user_id, kind, idle_ms, created_at, last_used_at, idle_expires_at, expires_at)
    values (${sessionId}, ${id}, 'dashboard', 1, now(), now(), now(), now())`)
  return { id, sessionId }
}

/** A SuperAdmin, made as the demo data make theirs. */
export async function insertSuperAdmin(db: Db, passwordHash: string): Promise<string> {
  const email = newEmail('admin')
  const id = newId()
  await db.run(sql`
    insert into users (id, email, email_key, password_hash, first_name, last_name, role, verified_at, approved_at,
      two_factor_enabled)
    values (${id}, ${email}, ${email}, ${passwordHash}, 'Otto', 'Op', 'SuperAdmin', now(), now(), true)`)
  return email
}

/** A SuperAdmin who has just proven a second factor. */
export async function logInSuperAdmin({ db, baseUrl }: Pick<TestService, 'db' | 'baseUrl'>): Promise<Client> {
  const email = await insertSuperAdmin(db, await passwordHash())
  return logIn(baseUrl, email, 'auth/login')
}

/** A SuperAdmin whose session has just ended on another node: this one still holds it for some seconds. */
export async function logInFormerSuperAdmin(service: Pick<TestService, 'db' | 'baseUrl'>): Promise<Client> {
  const client = await logInSuperAdmin(service)
  const { data } = await client.get<{ _id: string }>('users/me')
  await service.db.run(sql`update sessions set revoked_at = now() where user_id = ${data._id}`)
  return client
}

/** Good, too: what passwords are changed to. */
export const OTHER_PASSWORD = 'Another-Fine-Secret-8'

/** First step of a manager's login. */
export const beginLogin = (client: Client, email: string, password = PASSWORD): Promise<Answer> =>
  client.post('auth/login/manager', { email, password, origin: 'dashboard' })

/** How often each status was answered. */
export function countStatuses(answers: readonly { status: number }[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

export const inParallel = <Result>(count: number, work: (index: number) => Promise<Result>): Promise<Result[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)))

/** A new company: its manager, logged in, and its till. */
export async function openCompany(baseUrl: string): Promise<{ manager: Client; companyId: string; till: string }> {
  const person = await registerManager(baseUrl)
  const manager = await logIn(baseUrl, person.email)
  const { data } = await manager.get<{ collectors: { identifier: string }[] }>('collectors/list')
  return { manager, companyId: person.companyId ?? '', till: data.collectors[0]?.identifier ?? '' }
}
