import { createHmac, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import formbody from '@fastify/formbody'
import Fastify, { type FastifyInstance } from 'fastify'
import { openCoinbase } from './coinbase.ts'
import type { Imitation } from './imitation.ts'
import type { ImitationOptions } from './imitation-options.ts'
import { IMITATIONS } from './imitations.ts'
import { payerConsoleRoutes, type StoryTeller } from './payer-console/routes.ts'
import { PayerConsole } from './payer-console.ts'
import { type Oracle, openScreening } from './screening.ts'
import { openSumsub, type SumsubOptions } from './sumsub.ts'
import { NO_WALLET, type Wallet, walletRoutes } from './wallet.ts'

export type Providers = {
  url: string
  /** Settings with which the service uses them: variable name to value. */
  credentials: Record<string, string>
  /** The same for the screening services. Separate, because a service with these settings screens every payment. */
  screening: Record<string, string>
  stop(): Promise<void>
}

type Options = {
  port: number
  chain: Wallet
  /** The sanctions oracle on that chain; without it the screening services answer alone. */
  oracle?: Oracle | null
  /** URL of the merchant's server, base of the callbacks. Null: no provider is imitated, only the wallet. */
  callbackBase?: string | null
  /** The file that stores payments across restarts; null: in memory only. */
  file?: string | null
  log?(line: string): void
  now?(): number
  /** The identity provider alone, with these credentials. */
  sumsub?: SumsubOptions
}

/** Answers contain the sandbox's URL, so the port is chosen before the imitations are created. */
async function choosePort(port: number): Promise<number> {
  if (port !== 0) return port
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  probe.close()
  await once(probe, 'close')
  return typeof address === 'object' && address !== null ? address.port : 0
}

/** The screening services store their file next to the payments. */
const besides = (file: string | null): string | null => file && join(dirname(file), 'screening.json')

/** How far a provider's clock is ahead during the story `clock-skew`. */
const SKEW_MS = 10 * 60_000

const clockOf = (payerConsole: PayerConsole, prefix: string): number =>
  payerConsole.now() + (payerConsole.stories.isOn('clock-skew', prefix) ? SKEW_MS : 0)

/** Mounts an imitation: raw bodies, 503 during an outage, its own clock. */
async function registerImitation(
  app: FastifyInstance,
  payerConsole: PayerConsole,
  imitation: Imitation,
): Promise<void> {
  payerConsole.add(imitation)
  const { prefix } = imitation
  const { stories } = payerConsole
  await app.register(
    async (scope) => {
      scope.removeAllContentTypeParsers()
      scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
      scope.addHook('onRequest', async (request, reply) => {
        if (stories.isOn('outage', prefix))
          return reply.code(503).type('text/html').send('<h1>503 Service Unavailable</h1>')
        if (stories.isOn('credentials-refused', prefix)) request.headers[imitation.credentialHeader] = 'revoked'
      })
      scope.addHook('onSend', async (_request, reply) => {
        reply.header('date', new Date(clockOf(payerConsole, prefix)).toUTCString())
      })
      imitation.register(scope)
    },
    { prefix: `/${prefix}` },
  )
}

/** Each provider has its own clock, which a story can move. */
function openWithClock(open: (options: ImitationOptions) => Imitation, options: ImitationOptions): Imitation {
  const imitation: Imitation = open({ ...options, now: () => clockOf(options.payerConsole, imitation.prefix) })
  return imitation
}

/** Credentials of the identity provider, and the variables that a merchant would type for them. */
function sumsubOf({ url, callbackBase, secretOf }: ImitationOptions): [SumsubOptions, Record<string, string>] {
  const [appToken, secretKey] = [`sbx:${secretOf('sumsub-token')}`, secretOf('sumsub-secret')]
  const webhookSecret = secretOf('sumsub-webhook')
  const options = { appToken, secretKey, webhookSecret, callbackUrl: `${callbackBase}/api/next/kyc/sumsub/callback` }
  const variables = {
    KYC_SUMSUB_BASE_URL: `${url}/sumsub`,
    KYC_SUMSUB_SDK_URL: `${url}/sumsub/sdk.js`,
    KYC_SUMSUB_APP_TOKEN: appToken,
    KYC_SUMSUB_SECRET_KEY: secretKey,
    KYC_SUMSUB_WEBHOOK_SECRET: webhookSecret,
  }
  return [options, variables]
}

type Built = {
  app: FastifyInstance
  payerConsole: PayerConsole
  credentials: Record<string, string>
  screening: Record<string, string>
}

/** The imitations as one server that is not listening yet. @param url where it will be reachable */
export async function buildProviders(options: Omit<Options, 'port'> & { url: string }): Promise<Built> {
  const { chain, url, callbackBase = null, file = null, log = () => {}, now = Date.now } = options
  const app = Fastify({ bodyLimit: 256 * 1024, forceCloseConnections: true })
  // what ends with its process protects nothing; the same keys again need not be searched for
  const newSecret = (): string => (file === null ? 'in memory' : randomBytes(32).toString('hex'))
  const payerConsole = new PayerConsole({ file, now, log, newSecret })
  const secretOf = (purpose: string): string => createHmac('sha256', payerConsole.secret).update(purpose).digest('hex')
  await app.register(formbody)
  walletRoutes(app, chain)
  const made: ImitationOptions | null =
    callbackBase === null ? null : { payerConsole, url, callbackBase, secretOf, now, wallet: chain }
  // a purchase at Coinbase sends USDC on the chain, from the test wallet
  const opened = IMITATIONS.filter((open) => open !== openCoinbase || chain !== NO_WALLET)
  const imitations = made === null ? [] : opened.map((open) => openWithClock(open, made))
  for (const imitation of imitations) await registerImitation(app, payerConsole, imitation)
  const [checks, variables] = made === null ? [options.sumsub, {}] : sumsubOf(made)
  const sumsub = checks && openSumsub(checks)
  if (sumsub) await app.register(async (scope) => sumsub.register(scope), { prefix: `/${sumsub.prefix}` })
  const { chainId, payerAddress } = chain
  const screening =
    made && openScreening({ ...made, chainId, payerAddress, oracle: options.oracle ?? null, file: besides(file) })
  await screening?.register(app)
  const tellers: StoryTeller[] = [(name) => sumsub?.startStory(name) === true]
  if (screening) tellers.push((name, more) => screening.startStory(name, more))
  payerConsoleRoutes(app, payerConsole, tellers)
  const shown = imitations.map((one) => one.credentials())
  const credentials = Object.assign({}, ...shown, variables) as Record<string, string>
  // loopback only, for the nodes of this sandbox
  app.get('/credentials', async () => credentials)
  const screens = screening?.variables ?? {}
  app.get('/screening/credentials', async () => screens)
  return { app, payerConsole, credentials, screening: screens }
}

/** One loopback port for everything that the sandbox imitates over HTTP. */
export async function startProviders(options: Options): Promise<Providers> {
  const port = await choosePort(options.port)
  const url = `http://127.0.0.1:${port}`
  const { app, payerConsole, credentials, screening } = await buildProviders({ ...options, url })
  await app.listen({ host: '127.0.0.1', port })
  return {
    ...{ url, credentials, screening },
    async stop() {
      await app.close()
      payerConsole.stop()
    },
  }
}
