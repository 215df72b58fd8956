import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { startProviders } from '../../sandbox/providers/server.ts'
import { sql } from '../../src/db/db.ts'
import { type Client, logInSuperAdmin, newEmail, type Person, registerManager } from './accounts.ts'
import { type Receiver, startReceiver, waitFor } from './receiver.ts'
import { type Answer, eventually, startTestService, type TestService } from './service.ts'
import { TEST_XPUB } from './shop.ts'

/** THROW-AWAY credentials of the imitation. */
const SECRETS = { appToken: 'sbx:test-token', secretKey: 'test-secret-key', webhookSecret: 'test-webhook-secret' }

export type Applicant = { id: string; externalUserId: string; levelName: string; review: { reviewStatus: string } }
export type Kyc = Record<string, unknown> & { status: string; eddStatus: string; spendingLimit: string | null }
type Detail = { path: string; message: string }

/** A shop whose payers are checked by an imitated provider. */
export type KycWorld = {
  host: TestService
  boss: Person
  admin: Client
  receiver: Receiver
  providersUrl: string
  /** @returns the code of a new order in EUR; its webhooks go to `/<code of the test>` */
  createOrder(euro: string, body?: Record<string, unknown>): Promise<string>
  accept(code: string, body?: Record<string, unknown>): Promise<Answer<{ status: string }>>
  /** Accepts an order of this payer, which must ask for a check; answers its id and its page. */
  ask(code: string, payerEmail: string): Promise<{ id: string; url: string }>
  read(id: string): Promise<Kyc>
  reaches(id: string, state: Partial<Kyc>): Promise<void>
  /** What the webhooks of an order said, by event. */
  told(code: string, event: string): Promise<Record<string, unknown>>
  applicants(): Promise<Applicant[]>
  applicantOf(id: string): Promise<Applicant>
  /** As a person at the provider. */
  decide(id: string, answer: string): Promise<void>
  tell(story: string): Promise<void>
  /** A callback as the provider would sign it. */
  sendCallback(body: string, options?: { algorithm?: string; name?: string; digest?: string }): Promise<Answer>
  stop(): Promise<void>
}

/** What the service needs to take wallet payments without a chain that answers. */
export const DEAD_CHAIN = {
  CHAIN_31337_RPC_URL: 'http://127.0.0.1:1',
  CHAIN_MAX_LAG_SECONDS: '86400',
  CHAIN_31337_USDC: '0x700b6A60ce7EaaEA56F065753d8dcB9653dbAD35',
  CHAIN_31337_XPUB: TEST_XPUB,
}

export const newPayer = (): string => newEmail('payer')

const credentialsEnv = (providersUrl: string): Record<string, string> => ({
  KYC_SUMSUB_BASE_URL: `${providersUrl}/sumsub`,
  KYC_SUMSUB_SDK_URL: `${providersUrl}/sumsub/sdk.js`,
  KYC_SUMSUB_APP_TOKEN: SECRETS.appToken,
  KYC_SUMSUB_SECRET_KEY: SECRETS.secretKey,
  KYC_SUMSUB_WEBHOOK_SECRET: SECRETS.webhookSecret,
})

/** @param setUp.manual without a provider: checks are decided in the back office */
export async function openKycWorld(setUp: { manual?: boolean; env?: Record<string, string> } = {}): Promise<KycWorld> {
  const callback = { url: '' }
  const wallet = { chainId: 31337, usdcAddress: '', payerAddress: '', pay: async () => ({ txHash: '' }) }
  const sumsub = {
    ...SECRETS,
    get callbackUrl() {
      return callback.url
    },
  }
  const providers = await startProviders({ port: 0, chain: wallet, sumsub })
  const env = { ...DEAD_CHAIN, ...(setUp.manual ? {} : credentialsEnv(providers.url)), ...setUp.env }
  const host = await startTestService({ env, workers: true })
  callback.url = `${host.baseUrl}/api/next/kyc/sumsub/callback`
  const receiver = await startReceiver()
  const boss = await registerManager(host.baseUrl)
  await host.db.run(sql`update sessions set second_factor_at = now() where user_id = ${boss.userId}`)
  const admin = await logInSuperAdmin(host)
  const settings = { kycThreshold: '1000', kycLimit: '10000', identityThresholdAmount: '90000' }
  const changed = await admin.call('PUT', `companies/${boss.companyId}`, settings)
  assert.equal(changed.status, 200, changed.text)
  const events = ['kyc.pending', 'kyc.approved', 'kyc.refused', 'kyc.edd_completed']
  await host.db.run(sql`update companies set optional_events = ${events} where id = ${boss.companyId}`)
  const tills = await boss.client.get<{ collectors: { identifier: string }[] }>('collectors/list')
  const merchantIdentifier = tills.data.collectors[0]?.identifier ?? ''

  const post = (path: string, body?: unknown) => boss.client.post<Record<string, never>>(path, body)
  const applicants = async (): Promise<Applicant[]> => {
    const answer = await fetch(`${providers.url}/sumsub/applicants`, { headers: { accept: 'application/json' } })
    return (await answer.json()) as Applicant[]
  }
  const applicantOf = async (id: string): Promise<Applicant> => {
    const all = await eventually(applicants, (list) => list.some(({ externalUserId }) => externalUserId === id))
    return all.find(({ externalUserId }) => externalUserId === id) as Applicant
  }
  const accept: KycWorld['accept'] = (code, body = {}) =>
    boss.client.post(`confirm_conversion/accept/${code}`, { paymentChannel: 'crypto', ...body })
  const read = async (id: string): Promise<Kyc> => (await boss.client.get<Kyc>(`kyc/${id}`)).data
  return {
    ...{ host, boss, admin, receiver, providersUrl: providers.url, accept, read, applicants, applicantOf },
    async createOrder(euro, body = {}) {
      const alias = `A-${crypto.randomUUID()}`
      const order = {
        amount: euro,
        fromAsset: 'EUR',
        merchantIdentifier,
        alias,
        webhookUrl: `${receiver.url}/${alias}`,
      }
      const answer = await post('confirm_conversion/request', { ...order, ...body })
      assert.equal(answer.status, 200, answer.text)
      return answer.data.code ?? ''
    },
    async ask(code, payerEmail) {
      const { status, error, text } = await accept(code, { payerEmail })
      assert.deepEqual([status, error?.code], [400, 'KYC_REQUIRED'], text)
      const detail = (path: string): string => error.details?.find((one: Detail) => one.path === path)?.message ?? ''
      return { id: detail('kycId'), url: detail('kycUrl') }
    },
    async reaches(id, state) {
      await eventually(
        () => read(id),
        (kyc) => Object.entries(state).every(([name, value]) => kyc[name] === value),
      )
    },
    async told(code, event) {
      const find = () =>
        receiver.received.find((one) => one.headers['service-event'] === event && JSON.parse(one.body).code === code)
      await waitFor(`${event} of ${code}`, () => find() !== undefined)
      return JSON.parse(find()?.body ?? '{}')
    },
    async decide(id, answer) {
      const body = new URLSearchParams({ answer })
      const url = `${providers.url}/sumsub/applicants/${(await applicantOf(id)).id}/answer`
      const { status } = await fetch(url, { method: 'POST', body, redirect: 'manual' })
      assert.equal(status, 303)
    },
    async tell(story) {
      assert.equal((await fetch(`${providers.url}/stories/${story}`, { method: 'POST' })).status, 200)
    },
    sendCallback(body, { algorithm = 'sha256', name = 'HMAC_SHA256_HEX', digest } = {}) {
      const right = createHmac(algorithm, SECRETS.webhookSecret).update(body).digest('hex')
      const headers = { 'x-payload-digest-alg': name, 'x-payload-digest': digest ?? right }
      return host.call('POST', '/api/next/kyc/sumsub/callback', { raw: body, headers })
    },
    async stop() {
      await host.stop()
      await providers.stop()
      await receiver.close()
    },
  }
}

/** What the page behind a link shows, as text. */
export const readPage = async (url: string, headers: Record<string, string> = {}) => {
  const answer = await fetch(url, { headers, redirect: 'manual' })
  return { status: answer.status, headers: answer.headers, text: await answer.text() }
}
