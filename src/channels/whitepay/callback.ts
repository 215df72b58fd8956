import { type Callback, CallbackRefused } from '../../kernel/callback.ts'
import { ownAt, parseJsonExact, textAt } from '../../kernel/json.ts'
import type { CallbackNews } from '../channel.ts'
import type { WhitepayValues } from './settings.ts'
import { findSignedForm, type SignedForm } from './signature.ts'
import { claimOf, keptOfEvent, readOrder } from './status-map.ts'

type Signer = 'page' | 'merchant'

/**
 * Which token signs which family of events. For transactions it is the merchant's in public code of 2024, while the
 * general settings in webhooks/events list only withdrawals and rollbacks.
 */
const SIGNERS: Readonly<Record<string, readonly Signer[]>> = {
  order: ['page'],
  transaction: ['merchant', 'page'],
  withdrawal: ['merchant'],
  rollback: ['merchant'],
}

const headerOf = ({ headers }: Callback): string => {
  const value = headers.signature
  return typeof value === 'string' ? value : ''
}

function parse(rawBody: Buffer): unknown {
  try {
    return parseJsonExact(rawBody.toString('utf8'))
  } catch (error) {
    throw new CallbackRefused('the body is no JSON', { cause: error })
  }
}

/** Every token that matches this signature; two settings may hold the same one. */
function findSigners(values: WhitepayValues, callback: Callback): { signer: Signer; form: SignedForm }[] {
  const tokens: [Signer, string][] = [
    ['page', values.WEBHOOK_TOKEN],
    ['page', values.NON_CUSTODY_WEBHOOK_TOKEN],
    ['merchant', values.MERCHANT_WEBHOOK_TOKEN],
  ]
  return tokens.flatMap(([signer, token]) => {
    const form = findSignedForm(token, callback.rawBody, headerOf(callback))
    return form === null ? [] : [{ signer, form }]
  })
}

function newsOf(body: unknown, providerStatus: string): CallbackNews {
  const order = readOrder((body as { order?: unknown } | null)?.order)
  if (order) {
    const report = claimOf(order)
    const said = `${providerStatus}: ${report.providerStatus}`
    return { merchantReference: order.reference ?? null, providerReference: order.id, report, providerStatus: said }
  }
  const unmatched = keptOfEvent((body as { transaction?: unknown } | null)?.transaction)
  return {
    merchantReference: textAt(body, 'transaction', 'external_order_id') ?? null,
    providerReference: textAt(body, 'transaction', 'order_id') ?? null,
    report: null,
    ...(unmatched.length === 0 ? {} : { unmatched }),
    providerStatus: `${providerStatus}: ${textAt(body, 'transaction', 'status') ?? textAt(body, 'withdrawal', 'status') ?? 'no order'}`,
  }
}

/**
 * One URL receives the events of both channels and both tokens. No time is signed, so an old callback can be replayed:
 * it only triggers a poll.
 * @throws CallbackRefused
 */
export function readWhitepayCallback(values: WhitepayValues, callback: Callback): CallbackNews {
  const signed = findSigners(values, callback)
  if (signed.length === 0) throw new CallbackRefused('no token of this account made the signature')
  const body = parse(callback.rawBody)
  const event = textAt(body, 'event_type') ?? ''
  const [family = ''] = event.split('::')
  const expected = ownAt(SIGNERS, family)
  if (expected === undefined)
    return {
      merchantReference: null,
      providerReference: null,
      report: null,
      providerStatus: `event ${event || 'without name'}`,
    }
  const right = signed.find(({ signer }) => expected.includes(signer))
  if (!right) throw new CallbackRefused(`${event} must be signed with the ${expected.join(' or ')} token`)
  return newsOf(body, right.form === 'raw' ? event : `${event} (signed ${right.form})`)
}
