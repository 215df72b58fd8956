import { createHash } from 'node:crypto'
import { type Clock, SECOND } from '../../kernel/clock.ts'
import { textAt } from '../../kernel/json.ts'
import {
  type Channel,
  type Instructions,
  NO_INSTRUCTIONS,
  type PaymentKey,
  type PaymentReport,
  type PaymentRequest,
  type Recovery,
} from '../channel.ts'
import { defineChannel } from '../kind.ts'
import { ProviderTrouble } from '../provider-errors.ts'
import { shortText } from '../usdc-text.ts'
import { readCallback } from './callback.ts'
import { type Body, FINISHED, type KucoinClient, openClient, REPEATED } from './client.ts'
import { refundPayment } from './refunds.ts'
import { SETTINGS } from './settings.ts'
import { readPrivateKey, readPublicKey } from './signature.ts'
import { readSignedNames } from './signed-names.ts'
import { meaningOf, reportOfOrder } from './status-map.ts'

type Options = {
  clock: Clock
  subMerchantOf(companyId: string): string
  source: string
  longestMs: number
  qrField: string
}

/** Constant for a company, because a refund names the sub-merchant of its payment. Empty text is not sent. */
const subMerchants =
  (setting: string) =>
  (companyId: string): string => {
    if (setting === 'none') return ''
    return setting === 'shop' ? createHash('sha256').update(companyId).digest('hex').slice(0, 8) : setting
  }

const httpUrl = (text: string | undefined): string | null => (text && /^https?:\/\//.test(text) ? text : null)

/** Null when the answer lacks what the payer needs. */
function findInstructions(data: unknown, qrField: string): (Instructions & { providerReference: string }) | null {
  const providerReference = textAt(data, 'payOrderId')
  const deepLink = textAt(data, 'appPayUrl') || null
  const checkoutUrl = httpUrl(textAt(data, 'qrcodeUrl'))
  const qrData = textAt(data, qrField) || null
  if (!providerReference || (qrData === null && deepLink === null)) return null
  return { ...NO_INSTRUCTIONS, providerReference, qrData, deepLink, checkoutUrl }
}

/** `expireTime` is how long it may be paid, in milliseconds. */
function orderBody(request: PaymentRequest, { clock, subMerchantOf, source, longestMs }: Options): Body {
  const { merchantReference, due, expiresAt, description, goods, returnUrl, cancelUrl } = request
  const openMs = Math.max(SECOND, Math.min(expiresAt.getTime() - clock(), longestMs))
  const goodsName = goods?.goodsName || description || 'Order'
  return {
    requestId: merchantReference,
    orderAmount: { literal: shortText(due) },
    orderCurrency: 'USDC',
    expireTime: { literal: String(openMs) },
    goods: [{ goodsId: merchantReference, goodsName, goodsDesc: goods?.goodsDetail || goodsName }],
    reference: merchantReference,
    source,
    subMerchantId: subMerchantOf(request.companyId),
    returnUrl,
    cancelUrl,
  }
}

async function createPayment(client: KucoinClient, request: PaymentRequest, options: Options) {
  const answer = await client.ask('create', orderBody(request, options))
  if (answer.outcome === 'done') {
    const instructions = findInstructions(answer.data, options.qrField)
    if (!instructions) throw new ProviderTrouble('KuCoin Pay created an order without payOrderId or without links')
    return instructions
  }
  if (answer.code === REPEATED)
    throw new ProviderTrouble('KuCoin Pay has an order with this requestId', { cause: answer.refusal })
  throw answer.refusal
}

const isNothing = (data: unknown): boolean => data === null || data === undefined

/** How KuCoin reports an unknown order is not documented; a repeated `requestId` is refused in any case. */
async function recoverPayment(client: KucoinClient, request: PaymentRequest, options: Options): Promise<Recovery> {
  const { merchantReference } = request
  const answer = await client.ask('info', { requestId: merchantReference })
  if (answer.outcome === 'refused') {
    if (answer.refusal.reason === 'state' || answer.refusal.reason === 'request') return { outcome: 'absent' }
    throw answer.refusal
  }
  if (isNothing(answer.data)) return { outcome: 'absent' }
  const providerReference = textAt(answer.data, 'payOrderId')
  const meaning = meaningOf(textAt(answer.data, 'status'))
  if (!providerReference || textAt(answer.data, 'requestId') !== merchantReference || meaning === undefined)
    throw new ProviderTrouble('KuCoin Pay answered a query with an order that cannot be read')
  const found = findInstructions(answer.data, options.qrField)
  if (meaning === 'paid') return { outcome: 'found', instructions: found ?? { ...NO_INSTRUCTIONS, providerReference } }
  return found && meaning === 'waiting'
    ? { outcome: 'found', instructions: found }
    : { outcome: 'lost', providerReference }
}

async function fetchPayment(
  client: KucoinClient,
  payment: PaymentKey & { providerReference: string },
): Promise<PaymentReport> {
  const { providerReference } = payment
  const answer = await client.ask('info', { payOrderId: providerReference })
  if (answer.outcome === 'refused') throw answer.refusal
  if (textAt(answer.data, 'payOrderId') !== providerReference)
    return { outcome: 'unknown', providerReference, providerStatus: 'no such order' }
  return reportOfOrder(answer.data, providerReference)
}

/** KuCoin refuses to close an ended or paid order, which is fine. */
async function closePayment(client: KucoinClient, { merchantReference }: PaymentKey): Promise<void> {
  const answer = await client.ask('close', { requestId: merchantReference })
  if (answer.outcome === 'done' || answer.code === FINISHED) return
  const now = await client.ask('info', { requestId: merchantReference })
  const meaning = now.outcome === 'done' ? meaningOf(textAt(now.data, 'status')) : undefined
  if (meaning === undefined || meaning === 'waiting') throw answer.refusal
}

/** KuCoin Pay, paid from an account at KuCoin ("off-chain"), priced in USDC. */
export const kucoinpay = defineChannel({
  id: 'kucoinpay',
  env: 'KUCOINPAY',
  settings: SETTINGS,
  open(values, { http, clock }): Channel {
    const names = readSignedNames(values.SIGNED_FIELDS)
    const apiKey = values.API_KEY
    const access = { baseUrl: values.BASE_URL, apiKey, version: values.VERSION, names, http, clock }
    const client = openClient({ ...access, privateKey: readPrivateKey(values.PRIVATE_KEY) })
    const publicKey = readPublicKey(values.PUBLIC_KEY)
    const maxAgeMs = Number(values.CALLBACK_MAX_AGE_SECONDS) * SECOND
    const options: Options = {
      clock,
      subMerchantOf: subMerchants(values.SUB_MERCHANT_ID),
      source: values.SOURCE,
      longestMs: Number(values.EXPIRE_SECONDS) * SECOND,
      qrField: values.QR_FIELD,
    }
    return {
      id: 'kucoinpay',
      networks: [],
      createPayment: (request) => createPayment(client, request, options),
      recoverPayment: (request) => recoverPayment(client, request, options),
      fetchPayment: (payment) => fetchPayment(client, payment),
      readCallback: async (callback) => readCallback(callback, { apiKey, publicKey, names, clock, maxAgeMs }),
      acknowledgement: { contentType: 'application/json', body: '{"returnCode":"SUCCESS","returnMessage":null}' },
      closePayment: (payment) => closePayment(client, payment),
      refundPayment: (refund) => refundPayment(client, refund, options.subMerchantOf(refund.companyId)),
    }
  },
})
