import { SECOND } from '../../kernel/clock.ts'
import { formatMoney, type Money } from '../../kernel/money.ts'
import {
  type Channel,
  type Instructions,
  NO_INSTRUCTIONS,
  type PaymentReport,
  type PaymentRequest,
  type Recovery,
} from '../channel.ts'
import { baseUrl, type ChannelContext, defineChannel, plain, type Setting, secret } from '../kind.ts'
import { ProviderRefusal, ProviderTrouble } from '../provider-errors.ts'
import { filledAt, type GateApi, isRefusedWith, ORDER_UNKNOWN, openGateApi, TIMED_OUT, WRONG_STATUS } from './api.ts'
import { readCallback } from './callback.ts'
import { checkChain } from './chains.ts'
import { type OrderOptions, orderBody } from './order-body.ts'
import { openRefunds } from './refunds.ts'
import { reportOf } from './status-map.ts'

const seconds = (description: string, fallback: string): Setting => ({
  description,
  fallback,
  fault: (text) => (/^\d{1,6}$/.test(text) ? null : 'must be a whole number of seconds'),
})

const settings = {
  BASE_URL: baseUrl('https://openplatform.gateapi.io'),
  CLIENT_ID: plain('client id of the application in the merchant console'),
  SECRET: secret('payment secret of the application'),
  ON_BEHALF_OF: plain('sub-merchant that an institution acts for', ''),
  CLIENT_TYPE: plain('header GatePay-client-Type (IOS, ANDROID), should Gate ask for it', ''),
  CHAIN: plain('network on which the cashier takes USDC, as Gate names it', 'MATIC'),
  FULL_CURR_TYPE: plain('USDC on that network, as Gate names it', 'USDC_MATIC'),
  MERCHANT_USER_ID: {
    description: 'merchantUserId of every order, should Gate ask for a certain one',
    fallback: '',
    fault: (text: string) => (/^\d{0,15}$/.test(text) ? null : 'must be a whole number'),
  },
  CLOSED_WORDS: plain(
    'status words, comma list, of an order that was closed, besides EXPIRED',
    'CANCELLED,CANCELED,CANCEL,CLOSED,CLOSE',
  ),
  REFUND_UNKNOWN_CODES: plain('codes, comma list, by which Gate says that it does not know a refund', ORDER_UNKNOWN),
  REFUND_WAIT_SECONDS: seconds('least time between a payment or refund and the next refund of an order', '10'),
  CALLBACK_MAX_AGE_SECONDS: seconds('how old a signed callback may be', '300'),
}

/** 0.01 USDC, the least that can be paid on a chain, and 5,000,000 USDC. */
const LEAST: Money = { asset: 'USDC', units: 10_000n }
const MOST: Money = { asset: 'USDC', units: 5_000_000_000_000n }

const list = (text: string): string[] => text.split(',').flatMap((word) => word.trim() || [])

/** The fields have other names in the answer to a creation than in the query. */
function instructionsOf(data: unknown): (Instructions & { providerReference: string }) | null {
  const providerReference = filledAt(data, 'prepayId')
  const checkoutUrl = filledAt(data, 'location')
  const qrData = filledAt(data, 'qrContent') ?? filledAt(data, 'qrcode')
  if (providerReference === null || (checkoutUrl === null && qrData === null)) return null
  return { ...NO_INSTRUCTIONS, providerReference, checkoutUrl, qrData, deepLink: filledAt(data, 'scheme') }
}

async function create(api: GateApi, request: PaymentRequest, options: OrderOptions, nowMs: number) {
  const { units } = request.due
  if (units < LEAST.units || units > MOST.units) {
    const range = `${formatMoney(LEAST)} to ${formatMoney(MOST)} USDC`
    throw new ProviderRefusal('amount', `Gate Pay takes ${range}, not ${formatMoney(request.due)}.`)
  }
  const data = await api.post('/v1/pay/checkout/order', orderBody(request, options, nowMs))
  const instructions = instructionsOf(data)
  if (instructions === null) throw new ProviderTrouble('Gate Pay created an order without a link', { cause: data })
  return instructions
}

const query = (api: GateApi, by: { prepayId: string } | { merchantTradeNo: string }): Promise<unknown> =>
  api.get('/v2/pay/order/query', by)

async function recover(api: GateApi, merchantTradeNo: string): Promise<Recovery> {
  try {
    const data = await query(api, { merchantTradeNo })
    const instructions = instructionsOf(data)
    if (instructions !== null) return { outcome: 'found', instructions }
    const providerReference = filledAt(data, 'prepayId')
    if (providerReference === null) throw new ProviderTrouble('Gate Pay described an order without its id')
    return { outcome: 'lost', providerReference }
  } catch (error) {
    if (isRefusedWith(error, [ORDER_UNKNOWN])) return { outcome: 'absent' }
    throw error
  }
}

async function fetchReport(
  api: GateApi,
  { providerReference, merchantReference }: { providerReference: string; merchantReference: string },
  closedStatuses: readonly string[],
): Promise<PaymentReport> {
  const unknown = (providerStatus: string): PaymentReport => ({ outcome: 'unknown', providerReference, providerStatus })
  try {
    const data = await query(api, { prepayId: providerReference })
    const named = filledAt(data, 'merchantTradeNo')
    if (named !== null && named !== merchantReference) return unknown(`Gate Pay described another order, ${named}`)
    return reportOf(filledAt(data, 'status') ?? '', data, { providerReference, closedStatuses })
  } catch (error) {
    if (isRefusedWith(error, [ORDER_UNKNOWN])) return unknown('Gate Pay does not know the order')
    throw error
  }
}

type Values = Readonly<Record<keyof typeof settings, string>>

function openApi(values: Values, context: ChannelContext): GateApi {
  const { BASE_URL, CLIENT_ID: clientId, SECRET, ON_BEHALF_OF: onBehalfOf, CLIENT_TYPE: clientType } = values
  return openGateApi({ baseUrl: BASE_URL, clientId, secret: SECRET, onBehalfOf, clientType }, context)
}

const orderOptionsOf = (values: Values): OrderOptions => ({
  chain: values.CHAIN,
  fullCurrType: values.FULL_CURR_TYPE,
  merchantUserId: values.MERCHANT_USER_ID,
})

function openGatePay(values: Values, context: ChannelContext): Channel {
  const { clock } = context
  const { CLIENT_ID: clientId, SECRET } = values
  const api = openApi(values, context)
  const options = orderOptionsOf(values)
  const closedStatuses = list(values.CLOSED_WORDS)
  const maxAgeMs = Number(values.CALLBACK_MAX_AGE_SECONDS) * SECOND
  const refunds = openRefunds(api, clock, {
    waitMs: Number(values.REFUND_WAIT_SECONDS) * SECOND,
    unknownCodes: list(values.REFUND_UNKNOWN_CODES),
  })
  return {
    id: 'gatepay',
    networks: [],
    async findLimits() {
      return { min: LEAST, max: MOST }
    },
    createPayment: (request) => create(api, request, options, clock()),
    recoverPayment: ({ merchantReference }) => recover(api, merchantReference),
    fetchPayment: (payment) => fetchReport(api, payment, closedStatuses),
    async readCallback(callback) {
      return readCallback(callback, { clientId, secret: SECRET, maxAgeMs, closedStatuses }, clock)
    },
    acknowledgement: { contentType: 'application/json', body: '{"returnCode":"SUCCESS","returnMessage":""}' },
    async closePayment({ providerReference }) {
      try {
        await api.post('/v1/pay/order/close', { prepayId: providerReference })
      } catch (error) {
        if (!isRefusedWith(error, [ORDER_UNKNOWN, WRONG_STATUS, TIMED_OUT])) throw error
      }
    },
    refundPayment: refunds,
  }
}

/** Gate Pay, hosted cashier, priced in USDC. Sources: docs/channels/gatepay.md */
export const gatepay = defineChannel({
  id: 'gatepay',
  env: 'GATEPAY',
  settings,
  accountOf: ({ CLIENT_ID, ON_BEHALF_OF }) => `${CLIENT_ID} ${ON_BEHALF_OF}`,
  open: openGatePay,
  async probe(values, context, payment) {
    const api = openApi(values, context)
    await query(api, { merchantTradeNo: payment.merchantReference }).catch((error: unknown) => {
      if (!isRefusedWith(error, [ORDER_UNKNOWN])) throw error
    })
    await checkChain(api, orderOptionsOf(values))
  },
})
