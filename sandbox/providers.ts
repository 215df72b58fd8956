import formbody from '@fastify/formbody'
import Fastify, { type FastifyInstance } from 'fastify'
import type { Imitation } from './imitation.ts'
import { openSumsub, type SumsubOptions } from './providers/sumsub.ts'

/** What the wallet needs of the chain. */
export type Wallet = {
  chainId: number
  usdcAddress: string
  payerAddress: string
  /** @param payment.amount decimal text in USDC */
  pay(payment: { to: string; amount: string }): Promise<{ txHash: string }>
}

type PayBody = { to?: string; amount?: string; returnTo?: string }

const ADDRESS = /^0x[0-9a-fA-F]{40}$/
const AMOUNT = /^\d{1,12}(\.\d{1,6})?$/

/** The payer's test wallet: sends TestUSDC, for the pay page's panel, for curl and for tests. */
function walletRoutes(app: FastifyInstance, wallet: Wallet): void {
  app.get('/wallet', async () => ({
    chainId: wallet.chainId,
    usdcAddress: wallet.usdcAddress,
    payerAddress: wallet.payerAddress,
    usage: 'POST /wallet/pay {"to": "0x…", "amount": "54.000000"}',
  }))
  app.post<{ Body: PayBody | undefined }>('/wallet/pay', async (request, reply) => {
    const { to = '', amount = '', returnTo } = request.body ?? {}
    if (!ADDRESS.test(to) || !AMOUNT.test(amount)) {
      return reply.code(422).send({
        error: 'Send {"to": "0x…40 hex digits", "amount": "54.000000"}: USDC, at most 6 digits after the point.',
      })
    }
    const { txHash } = await wallet.pay({ to, amount })
    if (returnTo !== undefined && /^https?:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d+)?\//.test(returnTo)) {
      return reply.redirect(returnTo, 303)
    }
    return { txHash, to, amount }
  })
}

/** What the imitations are told by the service that starts them; one that is told nothing is not there. */
export type Credentials = { sumsub?: SumsubOptions }

const openImitations = ({ sumsub }: Credentials): Imitation[] => (sumsub ? [openSumsub(sumsub)] : [])

/** Scripted trouble: the next payment, check or call goes as the story says. */
function storyRoutes(app: FastifyInstance, imitations: readonly Imitation[]): void {
  app.post<{ Params: { name: string } }>('/stories/:name', async (request, reply) => {
    const { name } = request.params
    const told = imitations.filter((imitation) => imitation.tellStory(name)).map(({ prefix }) => prefix)
    return told.length > 0 ? { told } : reply.code(404).send({ error: `No imitation knows the story "${name}".` })
  })
}

/** One loopback port for everything that the sandbox imitates over HTTP. */
export async function startProviders(options: {
  port: number
  chain: Wallet
  credentials?: Credentials
}): Promise<{ url: string; stop(): Promise<void> }> {
  const app = Fastify({ bodyLimit: 256 * 1024, forceCloseConnections: true })
  await app.register(formbody)
  walletRoutes(app, options.chain)
  const imitations = openImitations(options.credentials ?? {})
  storyRoutes(app, imitations)
  for (const imitation of imitations)
    await app.register(async (scope) => imitation.register(scope), { prefix: `/${imitation.prefix}` })
  await app.listen({ host: '127.0.0.1', port: options.port })
  const address = app.server.address()
  const port = typeof address === 'object' && address !== null ? address.port : options.port
  return { url: `http://127.0.0.1:${port}`, stop: () => app.close() }
}
