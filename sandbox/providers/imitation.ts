import type { FastifyInstance } from 'fastify'
import type { Desk } from './desk.ts'
import type { Wallet } from './wallet.ts'

/** A refund as the provider keeps it; `amount` is decimal text in the payment's currency. */
export type DeskRefund = {
  /** The provider's id. */
  id: string
  /** The merchant's id, where the provider takes one. */
  requestId: string
  amount: string
  state: 'pending' | 'settled' | 'refused'
  createdAt: number
}

/** A payment as a provider keeps it, whoever the provider is. Amounts are decimal text in `currency`. */
export type DeskPayment = {
  /** The provider's id: what callers of the sandbox name it by. */
  reference: string
  /** Prefix of the imitation that keeps it. */
  provider: string
  merchantReference: string
  amount: string
  currency: string
  received: string
  state: 'open' | 'part' | 'paid' | 'failed' | 'expired' | 'closed'
  createdAt: number
  expiresAt: number
  callbackUrl: string | null
  returnUrl: string | null
  cancelUrl: string | null
  /** Fields that only this provider has. */
  facts: Record<string, unknown>
  refunds: DeskRefund[]
  /** The story `unknown-status`: the provider uses a word that nobody knows. */
  unknownWord: boolean
}

export type Happening =
  | 'created'
  | 'part'
  | 'paid'
  | 'failed'
  | 'expired'
  | 'closed'
  | 'refund-pending'
  | 'refund-settled'
  | 'refund-refused'

/** One callback, signed as the provider signs it, at the moment when it is sent. */
export type SignedCallback = { url: string; headers: Record<string, string>; body: string }

/** One provider, as strict as the original, under `/<prefix>` of the sandbox's port. */
export type Imitation = {
  prefix: string
  /** What people call it. */
  name: string
  /** Its HTTP API; bodies arrive as raw Buffers. */
  register(app: FastifyInstance): void
  /** What it tells the merchant's server; an empty list: nothing. */
  callbacks(payment: DeskPayment, happening: Happening, refund?: DeskRefund): SignedCallback[]
  /** The same callback as somebody would send it who has no key. */
  forge(callback: SignedCallback): SignedCallback
  isAcknowledged(status: number, body: string): boolean
  /** Waits before each repetition of a callback that was not acknowledged, as documented, in milliseconds. */
  retryDelaysMs: readonly number[]
  /** Something else must happen when the payer pays (an on-ramp sends USDC). Before the state changes. */
  deliver?(payment: DeskPayment, amount: string): Promise<void>
  /** What a merchant would type into the service's configuration: variable name to value. */
  credentials(): Record<string, string>
}

/** What an imitation is made with. */
export type ImitationOptions = {
  desk: Desk
  /** Address of the sandbox, without a slash at its end. */
  url: string
  /** Where the merchant's console says that callbacks go: `…/api/next/channels/<channel>/callback` stands below it. */
  callbackBase: string
  /** Secrets that stay the same over restarts, 32 bytes as hexadecimal text for each purpose. */
  secretOf(purpose: string): string
  now(): number
  /** The test chain, for providers that send there. */
  wallet: Wallet
}
