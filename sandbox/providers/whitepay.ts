import { randomInt, randomUUID, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isAtLeast } from './decimal.ts'
import type { Imitation, ProviderPayment } from './imitation.ts'
import type { ImitationOptions } from './imitation-options.ts'
import { COINS, chooseCoin, confirmDeposits, receiveCoin } from './whitepay/coins.ts'
import {
  ACQUIRING_SHAPES,
  type AcquiringShape,
  acquiringOrder,
  CURRENCIES,
  MEMO_NETWORKS,
  OVERPAYMENT_TARGETS,
  type OverpaymentTarget,
  orderJson,
  WALLET_CURRENCIES,
} from './whitepay/objects.ts'
import { callbacksOf, forge, type Tokens } from './whitepay/webhooks.ts'

/** Slugs of the page for all payers, and of the page for external wallets only. */
const SLUGS = ['sandbox-shop', 'sandbox-wallets'] as const
type Slug = (typeof SLUGS)[number]

const PREFIX = 'whitepay'
const LIFE_MS = 24 * 60 * 60 * 1000
/** Create a crypto order: `amount` at most 10 000 000. */
const CEILING = '10000000'

type Params = { slug: string; id: string }
type Request = FastifyRequest<{ Params: Params; Querystring: Record<string, string | undefined> }>
type Fields = Record<string, unknown>
/** Errors by field, as the 422 answer lists them. */
type Faults = Record<string, string[]>

const isSlug = (text: string): text is Slug => (SLUGS as readonly string[]).includes(text)
const same = (left: string, right: string): boolean =>
  left.length === right.length && timingSafeEqual(Buffer.from(left), Buffer.from(right))

function fieldsOf(request: FastifyRequest): Fields | null {
  try {
    const parsed: unknown = JSON.parse((request.body as Buffer).toString('utf8'))
    return typeof parsed === 'object' && parsed !== null ? (parsed as Fields) : null
  } catch {
    return null
  }
}

const isAmount = (text: string): boolean => /^\d{1,15}(\.\d{1,18})?$/.test(text)

function amountFault(amount: unknown, { min_amount: min, max_amount: max }: Record<string, unknown>): string | null {
  const text = String(amount ?? '')
  if (text === '') return 'The amount field is required.'
  if (!isAmount(text)) return 'The amount must be a number.'
  if (!isAtLeast(text, String(min))) return `The amount must be at least ${min}.`
  if (isAtLeast(text, CEILING) && text !== CEILING) return `The amount may not be greater than ${CEILING}.`
  return isAtLeast(String(max), text) ? null : `The amount may not be greater than ${max}.`
}

function referenceFault(reference: unknown): string | null {
  if (reference === undefined) return null
  const fits = typeof reference === 'string' && /^[A-Za-z0-9_-]{1,255}$/.test(reference)
  return fits ? null : 'The external order id format is invalid.'
}

const isLink = (link: unknown): boolean => link === undefined || (typeof link === 'string' && URL.canParse(link))

function collect(faults: Record<string, string | null>): Faults {
  return Object.fromEntries(Object.entries(faults).flatMap(([name, text]) => (text === null ? [] : [[name, [text]]])))
}

const invalid = (reply: FastifyReply, errors: Faults) =>
  reply.code(422).send({ message: 'The given data was invalid.', errors })

function orderFaults(fields: Fields): Faults {
  const currency = CURRENCIES.find(({ ticker }) => ticker === fields.currency)
  return collect({
    currency: currency ? null : 'The selected currency is invalid.',
    amount: currency ? amountFault(fields.amount, currency) : null,
    external_order_id: referenceFault(fields.external_order_id),
    successful_link: isLink(fields.successful_link) ? null : 'The successful link format is invalid.',
    failure_link: isLink(fields.failure_link) ? null : 'The failure link format is invalid.',
  })
}

function payFaults(fields: Fields): Faults {
  const currency = WALLET_CURRENCIES.find(({ id }) => id === fields.currency_id)
  const networks: Record<string, Record<string, unknown>> = currency?.networks ?? {}
  const network = networks[String(fields.network)]
  return collect({
    currency_id: currency ? null : 'The selected currency id is invalid.',
    network: network ? null : 'The selected network is invalid.',
    method: fields.method === 'WALLET' ? null : 'The selected method is invalid.',
    amount: network ? amountFault(fields.amount, network) : null,
    external_order_id: referenceFault(fields.external_order_id),
  })
}

const text = (value: unknown): string | null => (typeof value === 'string' ? value : null)

const isShape = (word: unknown): word is AcquiringShape => ACQUIRING_SHAPES.some((shape) => shape === word)

/**
 * Whitepay under `/whitepay`: crypto orders of two payment pages, and the acquiring family. The payer chooses a coin;
 * Whitepay sells it for the settlement asset and takes a fee.
 */
export const openWhitepay = (options: ImitationOptions): Imitation => {
  const { payerConsole, url, now, secretOf } = options
  const apiToken = secretOf('whitepay-token')
  const tokens: Tokens = {
    page: { [SLUGS[0]]: secretOf('whitepay-page'), [SLUGS[1]]: secretOf('whitepay-wallet-page') },
    merchant: secretOf('whitepay-merchant'),
  }
  /** Switches for the provider's staff. */
  const quirks = {
    escapedSlashes: false,
    announcesConversion: false,
    overpaymentTo: 'client' as OverpaymentTarget,
    acquiringShape: 'documented' as AcquiringShape,
  }
  const target = `${options.callbackBase}/api/next/channels/whitepay/callback`

  const guard = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    if (!same(request.headers.authorization ?? '', `Bearer ${apiToken}`))
      return reply.code(401).send({ message: 'Unauthenticated.' })
    const { slug } = request.params as Partial<Params>
    if (slug !== undefined && !isSlug(slug)) return reply.code(404).send({ message: 'Not found.' })
    return undefined
  }

  const keep = (fields: Fields, facts: Fields): ProviderPayment => {
    const reference = randomUUID()
    return payerConsole.open({
      reference,
      provider: PREFIX,
      merchantReference: text(fields.external_order_id) ?? reference,
      amount: String(fields.amount),
      currency: String(facts.currency),
      expiresAt: now() + LIFE_MS,
      returnUrl: text(fields.successful_link),
      cancelUrl: text(fields.failure_link),
      facts: { ...facts, announcesConversion: quirks.announcesConversion, overpaymentTo: quirks.overpaymentTo },
    })
  }
  const ofPage = (slug: string): ProviderPayment[] =>
    payerConsole
      .list()
      .filter(({ provider, facts }) => provider === PREFIX && facts.slug === slug)
      .map((payment) => payerConsole.refresh(payment))
  const findOrder = ({ slug, id }: Params) => ofPage(slug).find(({ reference }) => reference === id)
  const view = (payment: ProviderPayment): Fields => orderJson(payment, url)

  const register = (app: FastifyInstance): void => {
    app.get('/currencies/crypto-order-target-currencies', async () => ({ currencies: CURRENCIES }))
    app.post('/console', async (request) => {
      const { escapedSlashes, announcesConversion, overpaymentTo, acquiringShape } = fieldsOf(request) ?? {}
      if (typeof escapedSlashes === 'boolean') quirks.escapedSlashes = escapedSlashes
      if (typeof announcesConversion === 'boolean') quirks.announcesConversion = announcesConversion
      quirks.overpaymentTo = OVERPAYMENT_TARGETS.find((target) => target === overpaymentTo) ?? quirks.overpaymentTo
      if (isShape(acquiringShape)) quirks.acquiringShape = acquiringShape
      return quirks
    })
    app.register(async (scope) => {
      scope.addHook('preHandler', guard)
      privateRoutes(scope)
      acquiringRoutes(scope)
    })
  }

  const privateRoutes = (app: FastifyInstance): void => {
    const root = '/private-api/crypto-orders/:slug'
    app.get('/private-api/order-statuses', async () => ({
      statuses: ['INIT', 'OPEN', 'PARTIALLY_FULFILLED', 'COMPLETE', 'DECLINED'].map((name, id) => ({ id, name })),
    }))
    app.post(root, async (request, reply) => {
      const fields = fieldsOf(request)
      if (fields === null) return reply.code(400).send({ message: 'Malformed JSON.' })
      const faults = orderFaults(fields)
      if (Object.keys(faults).length > 0) return invalid(reply, faults)
      const { slug } = request.params as Params
      const payment = keep(fields, { slug, currency: fields.currency, isInternal: slug === SLUGS[0] })
      await payerConsole.beforeAnswer(request, payment)
      return reply.code(201).send({ order: view(payment) })
    })
    app.get(root, async (request) => {
      const { params, query } = request as Request
      const { external_order_id: wanted, page = '1', per_page: perPage = '15' } = query
      const all = ofPage(params.slug).filter((one) => wanted === undefined || one.merchantReference === wanted)
      const start = (Number(page) - 1) * Number(perPage)
      const orders = all.slice(start, start + Number(perPage)).map(view)
      const lastPage = Math.max(1, Math.ceil(all.length / Number(perPage)))
      return { orders, meta: { per_page: Number(perPage), last_page: lastPage, total: all.length } }
    })
    app.get(`${root}/:id`, async (request, reply) => {
      const payment = findOrder(request.params as Params)
      return payment ? { order: view(payment) } : reply.code(404).send({ message: 'Not found.' })
    })
    app.post(`${root}/:id/complete`, async (request, reply) => {
      const payment = findOrder(request.params as Params)
      if (!payment) return reply.code(404).send({ message: 'Not found.' })
      if (payment.state !== 'part') return invalid(reply, { order: ['The order is not partially fulfilled.'] })
      payment.facts.completed = true
      payerConsole.save()
      return { order: view(payment) }
    })
  }

  const acquiringRoutes = (app: FastifyInstance): void => {
    app.get('/acquiring/:slug/currencies', async () =>
      ['documented', 'extended'].includes(quirks.acquiringShape)
        ? { currencies: WALLET_CURRENCIES }
        : { crypto_currency: WALLET_CURRENCIES },
    )
    app.post('/acquiring/:slug/pay', async (request, reply) => {
      const fields = fieldsOf(request)
      if (fields === null) return reply.code(400).send({ message: 'Malformed JSON.' })
      const faults = payFaults(fields)
      if (Object.keys(faults).length > 0) return invalid(reply, faults)
      const { slug } = request.params as Params
      const currency = WALLET_CURRENCIES.find(({ id }) => id === fields.currency_id)?.ticker ?? ''
      const { network, currency_id: currencyId } = fields
      const address = `0x${secretOf(`whitepay-address-${randomUUID()}`).slice(0, 40)}`
      const memo = MEMO_NETWORKS.includes(String(network)) ? { memo: String(randomInt(1e6, 1e9)) } : {}
      const payment = keep(fields, { slug, currency, currencyId, network, isInternal: false, address, ...memo })
      chooseCoin(payment, currency)
      await payerConsole.beforeAnswer(request, payment)
      return { order: { id: payment.reference } }
    })
    app.get('/acquiring/:slug/order/:id', async (request, reply) => {
      const payment = findOrder(request.params as Params)
      return payment
        ? acquiringOrder(payment, url, quirks.acquiringShape)
        : reply.code(404).send({ message: 'Not found.' })
    })
  }

  return {
    prefix: PREFIX,
    name: 'Whitepay',
    credentialHeader: 'authorization',
    register,
    coins: Object.keys(COINS),
    reportsConfirmations: true,
    receive: async (payment, deposit, confirmed) => receiveCoin(payment, deposit, now(), confirmed),
    confirmDeposits,
    callbacks: (payment, event) => callbacksOf(payment, event, { url, target, tokens, ...quirks }),
    forge,
    isAcknowledged: (status) => status === 200,
    // not documented; an invention
    retryDelaysMs: [2000, 10_000, 60_000],
    credentials: () => ({
      CHANNEL_WHITEPAY_BASE_URL: `${url}/${PREFIX}`,
      CHANNEL_WHITEPAY_TOKEN: apiToken,
      CHANNEL_WHITEPAY_SLUG: SLUGS[0],
      CHANNEL_WHITEPAY_WEBHOOK_TOKEN: tokens.page[SLUGS[0]] ?? '',
      CHANNEL_WHITEPAY_MERCHANT_WEBHOOK_TOKEN: tokens.merchant,
      CHANNEL_WHITEPAY_NON_CUSTODY: 'true',
      CHANNEL_WHITEPAY_NON_CUSTODY_SLUG: SLUGS[1],
      CHANNEL_WHITEPAY_NON_CUSTODY_WEBHOOK_TOKEN: tokens.page[SLUGS[1]] ?? '',
    }),
  }
}
