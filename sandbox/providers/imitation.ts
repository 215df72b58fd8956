import type { FastifyInstance } from 'fastify'

/** A refund in the provider's records; `amount` is decimal text in the payment's currency. */
export type ProviderRefund = {
  /** The provider's id. */
  id: string
  /** The merchant's id, if the provider accepts one. */
  requestId: string
  amount: string
  state: 'pending' | 'settled' | 'refused'
  createdAt: number
  /** The story `refund-pending`: it waits until `refund-settle` or `refund-refuse` is called. */
  held: boolean
  /** Staff made it in the provider's console, without a request of the merchant's server. */
  fromConsole?: true
  /** Fields that only this provider has. */
  facts: Record<string, unknown>
}

/** A payment in a provider's records, in a form common to all providers. Amounts are decimal text in `currency`. */
export type ProviderPayment = {
  /** The provider's id, which callers of the sandbox use. */
  reference: string
  /** Prefix of the imitation that holds it. */
  provider: string
  merchantReference: string
  amount: string
  currency: string
  /** What arrived, in `currency`; a provider that accepts other coins keeps those in `facts`. */
  received: string
  /** `confirming`: the whole amount is on the chain but not confirmed yet. */
  state: 'open' | 'part' | 'confirming' | 'paid' | 'failed' | 'expired' | 'closed'
  createdAt: number
  expiresAt: number
  callbackUrl: string | null
  returnUrl: string | null
  cancelUrl: string | null
  /** Fields that only this provider has. */
  facts: Record<string, unknown>
  refunds: ProviderRefund[]
  /** The story `unknown-status`: the provider reports a status that no document lists. */
  unknownStatus: boolean
}

export type PaymentEvent =
  | 'created'
  | 'part'
  | 'confirming'
  | 'paid'
  | 'failed'
  | 'expired'
  | 'closed'
  | 'refund-pending'
  | 'refund-settled'
  | 'refund-refused'

/** One callback, signed as the provider signs it, when it is sent. */
export type SignedCallback = { url: string; headers: Record<string, string>; body: string }

/** What the payer sends. Without `amount`, what is missing; without `currency`, the payment's own. */
export type Deposit = { amount?: string; currency?: string }

/** Why a provider holds money that arrived instead of crediting it. */
export type Unresolved = 'wrong-coin' | 'wrong-chain' | 'risk-address'

/** One provider, as strict as the original, under `/<prefix>` of the sandbox's port. */
export type Imitation = {
  prefix: string
  /** The provider's public name. */
  name: string
  /** Its HTTP API; bodies arrive as raw Buffers. */
  register(app: FastifyInstance): void
  /** The callbacks it sends to the merchant's server; an empty list: none. */
  callbacks(payment: ProviderPayment, event: PaymentEvent, refund?: ProviderRefund): SignedCallback[]
  /** The same callback as sent by a stranger without the key. */
  forge(callback: SignedCallback): SignedCallback
  /** The request header that carries the credential, in lower case. */
  credentialHeader: string
  isAcknowledged(status: number, body: string): boolean
  /** Waits before each repetition of a callback that was not acknowledged, as documented, in milliseconds. */
  retryDelaysMs: readonly number[]
  /** Coins other than the payment's currency that the payer may choose on the page. */
  coins?: readonly string[]
  /** It reports money on the chain before it counts: the actions `pay-unconfirmed` and `confirm` exist. */
  reportsConfirmations?: boolean
  /** It credits money that arrives after the payment is paid: `pay` with an amount works then, too. */
  creditsSurplus?: boolean
  /**
   * Takes a deposit instead of the console: converts a coin, sends USDC, or sends back what came before. Runs before
   * the state changes. `confirmed` is false for `pay-unconfirmed`.
   * @returns by how much `received` grows, in the payment's currency
   * @throws Error with a sentence when the payer cannot pay that way
   */
  receive?(payment: ProviderPayment, deposit: Deposit, confirmed: boolean): Promise<string>
  /** For a provider with a record of each deposit: finishes those that `receive` left open. @returns whether any was */
  confirmDeposits?(payment: ProviderPayment): boolean
  /**
   * Holds money that it cannot credit; the payment still waits. The actions `pay-wrong-coin`, `pay-wrong-chain` and
   * `pay-risk-address` exist.
   * @returns signs the callback about it, again for each attempt
   * @throws Error with a sentence when the payer cannot pay that way
   */
  unresolved?(payment: ProviderPayment, reason: Unresolved, deposit: Deposit): () => SignedCallback
  /** What a merchant would put into the service's configuration: variable name to value. */
  credentials(): Record<string, string>
}
