import { Comptoir } from '../sdk/index.ts'
import type { SandboxFile } from './connection.ts'

/** What a person would do at the sandbox's providers, on its chain and in its mailbox. */
export type Sandbox = {
  act(reference: string, action: string, body?: unknown): Promise<void>
  tell(story: string, options?: { provider?: string; seconds?: number }): Promise<void>
  payFromWallet(to: string, amount: string): Promise<string>
  /** Undoes what stories did to the screening. */
  resetScreening(): Promise<void>
  /** Names the settings with which a service asks the sandbox's screening. */
  screeningUrl: string
  /** Decides like the reviewer at the identity provider. */
  decideIdentity(kycId: string, answer: string): Promise<void>
  /** A client with the rights of the operator, by password and mailed code. */
  operator(): Promise<Comptoir>
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Polls until there is an answer. @throws Error after `timeoutMs`, naming what did not arrive */
export async function until<Found>(
  what: string,
  look: () => Promise<Found | undefined>,
  timeoutMs = 30_000,
): Promise<Found> {
  const end = Date.now() + timeoutMs
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    if (Date.now() > end) throw new Error(`${what} did not arrive within ${timeoutMs / 1000} s.`)
    await pause(150)
  }
}

async function post(url: string, body: unknown): Promise<Record<string, unknown>> {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body ?? {}) })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`The sandbox answered ${answer.status} to ${new URL(url).pathname}: ${text}`)
  return text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : {}
}

type Mail = { subject: string; text: string; createdAt: string }

async function logInOperator({ baseUrl, mailboxUrl, superAdmin }: SandboxFile): Promise<Comptoir> {
  const login = `${baseUrl}/api/next/auth/login`
  const startedAt = Date.now()
  const headers = { 'content-type': 'application/json' }
  const first = await fetch(login, { method: 'POST', headers, body: JSON.stringify(superAdmin) })
  if (!first.ok) throw new Error(`The operator could not log in: ${await first.text()}`)
  const cookie = first.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ')
  const emailOtp = await until('The mail with the code', async () => {
    const list = await fetch(`${mailboxUrl}?to=${encodeURIComponent(superAdmin.email)}`, {
      headers: { accept: 'application/json' },
    })
    const mails = (await list.json()) as Mail[]
    const fresh = mails.find(
      ({ createdAt, subject }) => Date.parse(createdAt) >= startedAt - 1000 && /^\d{6} /.test(subject),
    )
    return fresh?.subject.slice(0, 6)
  })
  const second = await fetch(`${baseUrl}/api/next/auth/otp`, {
    method: 'POST',
    headers: { ...headers, cookie },
    body: JSON.stringify({ emailOtp }),
  })
  const { data } = (await second.json()) as { data: { token: string } | null }
  if (!data) throw new Error('The operator’s code was refused.')
  return new Comptoir({ baseUrl, accessToken: data.token })
}

type Applicant = { id: string; externalUserId: string }

export function openSandbox(file: SandboxFile): Sandbox {
  const { providersUrl } = file
  return {
    act: async (reference, action, body) =>
      void (await post(`${providersUrl}/payments/${encodeURIComponent(reference)}/${action}`, body)),
    tell: async (story, options) => void (await post(`${providersUrl}/stories/${story}`, options)),
    async payFromWallet(to, amount) {
      return String((await post(`${providersUrl}/wallet/pay`, { to, amount })).txHash)
    },
    resetScreening: async () => void (await post(`${providersUrl}/screening/reset`, {})),
    screeningUrl: `${providersUrl}/screening/credentials`,
    async decideIdentity(kycId, answer) {
      const applicant = await until('The identity provider’s applicant', async () => {
        const list = await fetch(`${providersUrl}/sumsub/applicants`, { headers: { accept: 'application/json' } })
        return ((await list.json()) as Applicant[]).find(({ externalUserId }) => externalUserId === kycId)
      })
      const url = `${providersUrl}/sumsub/applicants/${applicant.id}/answer`
      const { status } = await fetch(url, { method: 'POST', body: new URLSearchParams({ answer }), redirect: 'manual' })
      if (status >= 400) throw new Error(`The identity provider answered ${status}.`)
    },
    operator: () => logInOperator(file),
  }
}
