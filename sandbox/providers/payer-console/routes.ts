import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { half, unitsOf } from '../decimal.ts'
import type { Deposit, ProviderPayment } from '../imitation.ts'
import type { PayerConsole } from '../payer-console.ts'
import { STORIES, type Story } from '../stories.ts'
import { LOCAL } from '../wallet.ts'
import { listPage, paymentPage } from './pages.ts'

type Body =
  | { amount?: unknown; currency?: unknown; returnTo?: unknown; provider?: unknown; seconds?: unknown }
  | undefined
type Request = FastifyRequest<{ Params: { reference: string; action: string }; Body: Body }>
/** Stories that other parts of the sandbox start. @returns whether the part knows the story */
export type StoryTeller = (name: string, options: { seconds?: number }) => Promise<boolean> | boolean

const ACTIONS = [
  'pay',
  'pay-half',
  'pay-unconfirmed',
  'confirm',
  'pay-wrong-coin',
  'pay-wrong-chain',
  'pay-risk-address',
  'fail',
  'block',
  'expire',
  'refund-settle',
  'refund-refuse',
] as const
type Action = (typeof ACTIONS)[number]

const isAction = (text: string): text is Action => (ACTIONS as readonly string[]).includes(text)
const isStory = (text: string): text is Story => (STORIES as readonly string[]).includes(text)
const wantsPage = (request: FastifyRequest): boolean => /text\/html/.test(String(request.headers.accept ?? ''))

const ACT: Record<Action, (payerConsole: PayerConsole, payment: ProviderPayment, deposit: Deposit) => unknown> = {
  pay: (payerConsole, payment, deposit) => payerConsole.pay(payment, deposit),
  'pay-half': (payerConsole, payment) => payerConsole.pay(payment, { amount: half(payment.amount) }),
  'pay-unconfirmed': (payerConsole, payment, deposit) => payUnconfirmed(payerConsole, payment, deposit),
  confirm: (payerConsole, payment) => payerConsole.confirm(payment),
  'pay-wrong-coin': (payerConsole, payment, deposit) => payerConsole.payUnresolved(payment, 'wrong-coin', deposit),
  'pay-wrong-chain': (payerConsole, payment, deposit) => payerConsole.payUnresolved(payment, 'wrong-chain', deposit),
  'pay-risk-address': (payerConsole, payment, deposit) => payerConsole.payUnresolved(payment, 'risk-address', deposit),
  fail: (payerConsole, payment) => payerConsole.fail(payment),
  block: (payerConsole, payment) => payerConsole.block(payment),
  expire: (payerConsole, payment) => payerConsole.expire(payment),
  'refund-settle': (payerConsole, payment) => settleAll(payerConsole, payment, 'settled'),
  'refund-refuse': (payerConsole, payment) => settleAll(payerConsole, payment, 'refused'),
}

function payUnconfirmed(payerConsole: PayerConsole, payment: ProviderPayment, deposit: Deposit): Promise<void> {
  const imitation = payerConsole.imitationOf(payment)
  if (!imitation?.reportsConfirmations) throw new Error(`${imitation?.name} does not report confirmations`)
  return payerConsole.pay(payment, deposit, false)
}

function settleAll(payerConsole: PayerConsole, payment: ProviderPayment, state: 'settled' | 'refused'): void {
  for (const refund of payment.refunds) payerConsole.settleRefund(payment, refund, state)
}

/** @returns null if the amount or the coin is invalid */
function depositOf(body: Body): Deposit | null {
  const { amount = '', currency = '' } = body ?? {}
  const [amountText, coin] = [String(amount), String(currency).toUpperCase()]
  if (amountText !== '' && (unitsOf(amountText) ?? 0n) === 0n) return null
  if (!/^[A-Z0-9]{0,10}$/.test(coin)) return null
  return { ...(amountText === '' ? {} : { amount: amountText }), ...(coin === '' ? {} : { currency: coin }) }
}

async function act(payerConsole: PayerConsole, request: Request, reply: FastifyReply): Promise<unknown> {
  const { reference, action } = request.params
  const payment = payerConsole.find(reference)
  if (!payment) return reply.code(404).send({ error: `No provider here has the payment ${reference}.` })
  if (!isAction(action)) return reply.code(404).send({ error: `Actions: ${ACTIONS.join(', ')}.` })
  const deposit = depositOf(request.body)
  if (deposit === null)
    return reply.code(422).send({ error: 'Send {"amount": "10.50"}, decimal text above zero; "currency" is a coin.' })
  try {
    await ACT[action](payerConsole, payment, deposit)
  } catch (error) {
    return reply.code(409).send({ error: error instanceof Error ? error.message : String(error) })
  }
  const { returnTo } = request.body ?? {}
  if (typeof returnTo === 'string' && LOCAL.test(returnTo)) return reply.redirect(returnTo, 303)
  if (wantsPage(request)) return reply.redirect(`/payments/${encodeURIComponent(reference)}`, 303)
  return payment
}

function storyOptions({ provider, seconds }: NonNullable<Body>): { provider?: string; seconds?: number } {
  return {
    ...(typeof provider === 'string' && provider !== '' ? { provider } : {}),
    ...(Number(seconds) > 0 ? { seconds: Number(seconds) } : {}),
  }
}

/** What a person, a test or a script does as the payer, and the stories. */
export function payerConsoleRoutes(app: FastifyInstance, payerConsole: PayerConsole, tellers: StoryTeller[]): void {
  app.get('/payments', async (request, reply) => {
    const payments = payerConsole.list().map((payment) => payerConsole.refresh(payment))
    if (!wantsPage(request)) return payments
    return reply.type('text/html; charset=utf-8').send(listPage(payerConsole, payments))
  })
  app.get<{ Params: { reference: string } }>('/payments/:reference', async (request, reply) => {
    const found = payerConsole.find(request.params.reference)
    if (!found) return reply.code(404).send({ error: 'No provider here has this payment.' })
    const payment = payerConsole.refresh(found)
    if (!wantsPage(request)) return payment
    return reply.type('text/html; charset=utf-8').send(paymentPage(payerConsole, payment))
  })
  app.post('/payments/:reference/:action', (request, reply) => act(payerConsole, request as Request, reply))
  app.get('/callbacks', async () => payerConsole.dispatcher.attempts)
  app.get('/stories', async () => STORIES)
  app.post<{ Params: { name: string }; Body: Body }>('/stories/:name', async (request, reply) => {
    const { name } = request.params
    const options = storyOptions(request.body ?? {})
    let known = false
    for (const teller of tellers) known ||= await teller(name, options)
    if (!known) {
      if (!isStory(name)) return reply.code(404).send({ error: `Stories: ${STORIES.join(', ')}.` })
      payerConsole.stories.arm(name, options)
    }
    if (wantsPage(request)) return reply.redirect('/payments', 303)
    return { story: name, ...options }
  })
}
