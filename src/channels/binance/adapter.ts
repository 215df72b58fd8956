import { type Clock, SECOND } from '../../kernel/clock.ts'
import { textAt } from '../../kernel/json.ts'
import {
  type Channel,
  type Instructions,
  NO_INSTRUCTIONS,
  type PaymentKey,
  type PaymentRequest,
  type Recovery,
} from '../channel.ts'
import { baseUrl, defineChannel, plain, type Setting, seconds, secret } from '../kind.ts'
import { ProviderTrouble } from '../provider-errors.ts'
import { readCallback } from './callback.ts'
import { openCertificates } from './certificates.ts'
import { type BinanceClient, DUPLICATE, NOT_FOUND, openClient, PATHS } from './client.ts'
import { type OrderOptions, orderBody } from './order-body.ts'
import { refundPayment } from './refunds.ts'
import { holdsMoney, isKnown, isOver, reportOfQuery } from './status-map.ts'

const TERMINALS = ['APP', 'WEB', 'WAP', 'MINI_PROGRAM', 'OTHERS']

const SETTINGS = {
  BASE_URL: baseUrl('https://bpay.binanceapi.com'),
  API_KEY: secret('identity key of merchant.binance.com'),
  API_SECRET: secret('secret that stands beside the key'),
  SUB_MERCHANT_ID: plain('sub-merchant at a channel partner; others leave it out', ''),
  TERMINAL_TYPE: {
    description: 'where payers come from, as Binance calls it',
    fallback: 'WEB',
    fault: (text) => (TERMINALS.includes(text) ? null : `must be one of ${TERMINALS.join(', ')}`),
  } as Setting,
  SUPPORT_PAY_CURRENCY: plain('assets that payers may pay with, comma list; empty: Binance decides', ''),
  CALLBACK_MAX_AGE_SECONDS: seconds('how far the time of a callback may be from our clock', '300'),
} satisfies Record<string, Setting>

/** `universalUrl` opens the app and falls back to the web; `deeplink` does nothing without the app. */
function readInstructions(data: unknown): Instructions & { providerReference: string } {
  const providerReference = textAt(data, 'prepayId')
  const qrData = textAt(data, 'qrContent') ?? null
  const checkoutUrl = textAt(data, 'checkoutUrl') ?? null
  if (!providerReference || (qrData === null && checkoutUrl === null))
    throw new ProviderTrouble('Binance created an order without prepayId or without links')
  const deepLink = textAt(data, 'universalUrl') ?? textAt(data, 'deeplink') ?? null
  return { ...NO_INSTRUCTIONS, providerReference, qrData, checkoutUrl, deepLink }
}

async function createPayment(client: BinanceClient, request: PaymentRequest, options: OrderOptions & { clock: Clock }) {
  const answer = await client.ask(PATHS.create, orderBody(request, options, options.clock))
  if (answer.outcome === 'done') return readInstructions(answer.data)
  if (answer.code === DUPLICATE)
    throw new ProviderTrouble('Binance has an order with this merchantTradeNo', { cause: answer.refusal })
  throw answer.refusal
}

/** The query returns no links, so an order that can no longer be paid that way is replaced by a new one. */
async function recoverPayment(client: BinanceClient, { merchantReference }: PaymentRequest): Promise<Recovery> {
  const answer = await client.ask(PATHS.query, { merchantTradeNo: merchantReference })
  if (answer.outcome === 'refused' && answer.code === NOT_FOUND) return { outcome: 'absent' }
  if (answer.outcome === 'refused') throw answer.refusal
  const providerReference = textAt(answer.data, 'prepayId')
  const status = textAt(answer.data, 'status')
  const isOurs = textAt(answer.data, 'merchantTradeNo') === merchantReference
  if (!providerReference || !isOurs || !isKnown(status))
    throw new ProviderTrouble(`Binance answered a query with an order that cannot be read: ${status}`)
  if (holdsMoney(status)) return { outcome: 'found', instructions: { ...NO_INSTRUCTIONS, providerReference } }
  return { outcome: 'lost', providerReference }
}

/** Binance accepts a close first and reports PAY_CLOSED later. It refuses to close an ended order, which is fine. */
async function closePayment(client: BinanceClient, { providerReference }: PaymentKey): Promise<void> {
  const answer = await client.ask(PATHS.close, { prepayId: providerReference })
  if (answer.outcome === 'done') return
  const now = await client.ask(PATHS.query, { prepayId: providerReference })
  if (now.outcome !== 'done' || !isOver(textAt(now.data, 'status'))) throw answer.refusal
}

/** Binance Pay: Create Order v3, Query v2, priced in USDC. */
export const binance = defineChannel({
  id: 'binance',
  env: 'BINANCE',
  settings: SETTINGS,
  open(values, context): Channel {
    const { clock, http } = context
    const access = { baseUrl: values.BASE_URL, apiKey: values.API_KEY, apiSecret: values.API_SECRET }
    const client = openClient({ ...access, http, clock })
    const certificates = openCertificates(client, clock)
    const maxAgeMs = Number(values.CALLBACK_MAX_AGE_SECONDS) * SECOND
    const options = {
      clock,
      subMerchantId: values.SUB_MERCHANT_ID,
      terminalType: values.TERMINAL_TYPE,
      supportPayCurrency: values.SUPPORT_PAY_CURRENCY,
    }
    return {
      id: 'binance',
      networks: [],
      createPayment: (request) => createPayment(client, request, options),
      recoverPayment: (request) => recoverPayment(client, request),
      async fetchPayment(payment) {
        const { providerReference } = payment
        const answer = await client.ask(PATHS.query, { prepayId: providerReference })
        if (answer.outcome === 'done') return reportOfQuery(answer.data, payment)
        if (answer.code === NOT_FOUND)
          return { outcome: 'unknown', providerReference, providerStatus: answer.refusal.message }
        throw answer.refusal
      },
      readCallback: (callback) => readCallback(callback, { certificates, clock, maxAgeMs }),
      acknowledgement: { contentType: 'application/json', body: '{"returnCode":"SUCCESS","returnMessage":null}' },
      closePayment: (payment) => closePayment(client, payment),
      refundPayment: (refund) => refundPayment(client, refund),
    }
  },
})
