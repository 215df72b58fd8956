import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { half, unitsOf } from './decimal.ts'
import type { Desk } from './desk.ts'
import { listPage, paymentPage } from './desk-pages.ts'
import type { DeskPayment } from './imitation.ts'
import { STORIES, type Story } from './stories.ts'
import { LOCAL } from './wallet.ts'

type Body = { amount?: unknown; returnTo?: unknown; provider?: unknown; seconds?: unknown } | undefined
type Request = FastifyRequest<{ Params: { reference: string; action: string }; Body: Body }>

const ACTIONS = ['pay', 'pay-half', 'fail', 'block', 'expire', 'refund-settle', 'refund-refuse'] as const
type Action = (typeof ACTIONS)[number]

const isAction = (text: string): text is Action => (ACTIONS as readonly string[]).includes(text)
const isStory = (text: string): text is Story => (STORIES as readonly string[]).includes(text)
const wantsPage = (request: FastifyRequest): boolean => /text\/html/.test(String(request.headers.accept ?? ''))

const ACT: Record<Action, (desk: Desk, payment: DeskPayment, amount?: string) => unknown> = {
  pay: (desk, payment, amount) => desk.pay(payment, amount),
  'pay-half': (desk, payment) => desk.pay(payment, half(payment.amount)),
  fail: (desk, payment) => desk.fail(payment),
  block: (desk, payment) => desk.block(payment),
  expire: (desk, payment) => desk.expire(payment),
  'refund-settle': (desk, payment) => settleAll(desk, payment, 'settled'),
  'refund-refuse': (desk, payment) => settleAll(desk, payment, 'refused'),
}

function settleAll(desk: Desk, payment: DeskPayment, state: 'settled' | 'refused'): void {
  for (const refund of payment.refunds) desk.settleRefund(payment, refund, state)
}

/** @returns undefined for none, null for one that is no amount */
function amountOf(body: Body): string | undefined | null {
  const { amount } = body ?? {}
  if (amount === undefined || amount === '') return undefined
  const text = String(amount)
  return (unitsOf(text) ?? 0n) > 0n ? text : null
}

async function act(desk: Desk, request: Request, reply: FastifyReply): Promise<unknown> {
  const { reference, action } = request.params
  const payment = desk.find(reference)
  if (!payment) return reply.code(404).send({ error: `No provider here knows the payment ${reference}.` })
  if (!isAction(action)) return reply.code(404).send({ error: `Actions: ${ACTIONS.join(', ')}.` })
  const amount = amountOf(request.body)
  if (amount === null)
    return reply.code(422).send({ error: 'amount must be decimal text above zero, such as "10.50".' })
  try {
    await ACT[action](desk, payment, amount)
  } catch (error) {
    return reply.code(409).send({ error: error instanceof Error ? error.message : String(error) })
  }
  const { returnTo } = request.body ?? {}
  if (typeof returnTo === 'string' && LOCAL.test(returnTo)) return reply.redirect(returnTo, 303)
  if (wantsPage(request)) return reply.redirect(`/payments/${encodeURIComponent(reference)}`, 303)
  return payment
}

/** What a person, a test or a script does as the payer, and the stories. */
export function deskRoutes(app: FastifyInstance, desk: Desk, tellOther: (story: string) => boolean): void {
  app.get('/payments', async (request, reply) => {
    const payments = desk.list().map((payment) => desk.refresh(payment))
    if (!wantsPage(request)) return payments
    return reply.type('text/html; charset=utf-8').send(listPage(payments))
  })
  app.get<{ Params: { reference: string } }>('/payments/:reference', async (request, reply) => {
    const found = desk.find(request.params.reference)
    if (!found) return reply.code(404).send({ error: 'No provider here knows this payment.' })
    const payment = desk.refresh(found)
    if (!wantsPage(request)) return payment
    return reply.type('text/html; charset=utf-8').send(paymentPage(desk, payment))
  })
  app.post('/payments/:reference/:action', (request, reply) => act(desk, request as Request, reply))
  app.get('/callbacks', async () => desk.courier.attempts)
  app.post<{ Params: { name: string }; Body: Body }>('/stories/:name', async (request, reply) => {
    const { name } = request.params
    if (tellOther(name)) return wantsPage(request) ? reply.redirect('/payments', 303) : { story: name }
    if (!isStory(name)) return reply.code(404).send({ error: `Stories: ${STORIES.join(', ')}.` })
    const { provider, seconds } = request.body ?? {}
    const options = {
      ...(typeof provider === 'string' && provider !== '' ? { provider } : {}),
      ...(Number(seconds) > 0 ? { seconds: Number(seconds) } : {}),
    }
    desk.stories.arm(name, options)
    if (wantsPage(request)) return reply.redirect('/payments', 303)
    return { story: name, ...options }
  })
}
