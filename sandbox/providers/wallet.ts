import type { FastifyInstance } from 'fastify'

/** Operations that the wallet needs from the chain. */
export type Wallet = {
  chainId: number
  usdcAddress: string
  payerAddress: string
  /** @param payment.amount decimal text in USDC */
  pay(payment: { to: string; amount: string }): Promise<{ txHash: string }>
}

const NO_ADDRESS = `0x${'0'.repeat(40)}`

/** On a chain that somebody else runs, the sandbox holds no money. */
export const NO_WALLET: Wallet = {
  ...{ chainId: 0, usdcAddress: NO_ADDRESS, payerAddress: NO_ADDRESS },
  pay: async () => {
    const words =
      'The sandbox has no test wallet: CHAIN_31337_RPC_URL names a chain of yours. Pay from your own wallet.'
    throw Object.assign(new Error(words), { statusCode: 409 })
  },
}

type PayBody = { to?: string; amount?: string; returnTo?: string }

const ADDRESS = /^0x[0-9a-fA-F]{40}$/
const AMOUNT = /^\d{1,12}(\.\d{1,6})?$/
/** Redirects lead only back to this machine. */
export const LOCAL = /^https?:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d+)?\//

/** The payer's test wallet: sends TestUSDC, for the pay page's panel, for curl and for tests. */
export function walletRoutes(app: FastifyInstance, wallet: Wallet): void {
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
    if (returnTo !== undefined && LOCAL.test(returnTo)) return reply.redirect(returnTo, 303)
    return { txHash, to, amount }
  })
}
