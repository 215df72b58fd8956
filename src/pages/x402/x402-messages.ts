import { Ajv, type ValidateFunction } from 'ajv'
import { type Static, Type } from '../../kernel/schema.ts'

/* Version 2 of x402, scheme `exact` on EVM chains (github.com/coinbase/x402, specs). */

export const X402_VERSION = 2
export const REQUIRED_HEADER = 'payment-required'
export const SIGNATURE_HEADER = 'payment-signature'
export const RESPONSE_HEADER = 'payment-response'

/** Terms for paying one order on one chain. */
export type Requirements = {
  scheme: 'exact'
  /** CAIP-2. */
  network: `eip155:${number}`
  amount: string
  asset: string
  payTo: string
  maxTimeoutSeconds: number
  extra: { name: string; version: string }
}

export type PaymentRequired = {
  x402Version: typeof X402_VERSION
  error: string
  resource: { url: string; description: string; mimeType: string }
  accepts: Requirements[]
}

const Address = Type.String({ pattern: '^0x[0-9a-fA-F]{40}$' })
const Whole = Type.String({ pattern: '^[0-9]{1,78}$' })
const PayloadSchema = Type.Object({
  x402Version: Type.Literal(X402_VERSION),
  accepted: Type.Object({
    scheme: Type.Literal('exact'),
    network: Type.String({ pattern: '^eip155:[0-9]{1,15}$' }),
    amount: Whole,
    asset: Address,
    payTo: Address,
  }),
  payload: Type.Object({
    signature: Type.String({ pattern: '^0x[0-9a-fA-F]{130}$' }),
    authorization: Type.Object({
      from: Address,
      to: Address,
      value: Whole,
      validAfter: Whole,
      validBefore: Whole,
      nonce: Type.String({ pattern: '^0x[0-9a-fA-F]{64}$' }),
    }),
  }),
})
export type PaymentPayload = Static<typeof PayloadSchema>

const MAX_HEADER = 16_384

export const toHeader = (content: unknown): string => Buffer.from(JSON.stringify(content)).toString('base64')

/** Compiled when a program first pays. */
let isPayload: ValidateFunction<PaymentPayload> | undefined

/** @returns null when it is not a payment of this version */
export function readPayload(header: string): PaymentPayload | null {
  if (header.length > MAX_HEADER) return null
  isPayload ??= new Ajv({ strict: false }).compile<PaymentPayload>(PayloadSchema)
  try {
    const content: unknown = JSON.parse(Buffer.from(header, 'base64').toString('utf8'))
    return isPayload(content) ? content : null
  } catch {
    return null
  }
}

const same = (left: string, right: string): boolean => left.toLowerCase() === right.toLowerCase()

/** Why a payment does not match the requirements, as an error code of x402; null if it does. */
export function findMismatch({ accepted, payload }: PaymentPayload, asked: Requirements | undefined): string | null {
  const { authorization } = payload
  if (!asked) return 'invalid_network'
  if (!same(accepted.asset, asked.asset) || !same(accepted.payTo, asked.payTo)) return 'invalid_payment_requirements'
  if (!same(authorization.to, asked.payTo)) return 'invalid_exact_evm_payload_recipient_mismatch'
  if (accepted.amount !== asked.amount || authorization.value !== asked.amount)
    return 'invalid_exact_evm_payload_authorization_value'
  return null
}
