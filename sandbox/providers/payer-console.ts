import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import type { FastifyRequest } from 'fastify'
import { CallbackDispatcher } from './callback-dispatcher.ts'
import { add, half, isAtLeast, subtract, sum } from './decimal.ts'
import type {
  Deposit,
  Imitation,
  PaymentEvent,
  ProviderPayment,
  ProviderRefund,
  SignedCallback,
  Unresolved,
} from './imitation.ts'
import { isRefusedRefund, magicOf, Stories, type Story } from './stories.ts'

export type NewPayment = Pick<
  ProviderPayment,
  'reference' | 'provider' | 'merchantReference' | 'amount' | 'currency' | 'expiresAt'
> &
  Partial<Pick<ProviderPayment, 'callbackUrl' | 'returnUrl' | 'cancelUrl' | 'facts'>>

type SavedState = { payments: ProviderPayment[]; secret: string }

/** About as long as a person needs; delay before a magic amount starts its story. */
const MAGIC_DELAY_MS = 1500
const SAVE_DELAY_MS = 200
const HOLD_MS = 1000
const REFUND_DELAY_MS = 300

/** A refund as an imitation passes it. */
type NewRefund = Pick<ProviderRefund, 'id' | 'requestId' | 'amount'> &
  Partial<Pick<ProviderRefund, 'facts' | 'fromConsole'>>

/**
 * Shared by all imitations: the payments, what people and stories do to them, and the resulting callbacks. An imitation
 * adds its provider's protocol and status words.
 */
export class PayerConsole {
  readonly stories: Stories
  readonly dispatcher: CallbackDispatcher
  readonly #payments = new Map<string, ProviderPayment>()
  /** By provider and the merchant's reference. */
  readonly #newest = new Map<string, ProviderPayment>()
  readonly #imitations = new Map<string, Imitation>()
  readonly #file: string | null
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly secret: string
  #saving: NodeJS.Timeout | null = null

  constructor(options: { file: string | null; now(): number; log(line: string): void; newSecret(): string }) {
    this.#file = options.file
    this.now = options.now
    this.stories = new Stories(options.now)
    this.dispatcher = new CallbackDispatcher(options.log)
    const state = this.#load()
    this.secret = state?.secret ?? options.newSecret()
    for (const payment of state?.payments ?? []) this.#keep(payment)
    if (!state) this.save()
  }

  add(imitation: Imitation): void {
    this.#imitations.set(imitation.prefix, imitation)
  }

  imitationOf({ provider }: ProviderPayment): Imitation | undefined {
    return this.#imitations.get(provider)
  }

  /** Newest first. */
  list(): ProviderPayment[] {
    return [...this.#payments.values()].toReversed()
  }

  find(reference: string): ProviderPayment | undefined {
    return this.#payments.get(reference)
  }

  findByMerchant(provider: string, merchantReference: string): ProviderPayment | undefined {
    return this.#newest.get(`${provider} ${merchantReference}`)
  }

  #keep(payment: ProviderPayment): void {
    this.#payments.set(payment.reference, payment)
    this.#newest.set(`${payment.provider} ${payment.merchantReference}`, payment)
  }

  /** Nothing will be queried about it any more. */
  forget({ reference, provider, merchantReference }: ProviderPayment): void {
    this.#payments.delete(reference)
    this.#newest.delete(`${provider} ${merchantReference}`)
  }

  /** An unpaid payment expires over time; call this before reading a payment's state. */
  refresh(payment: ProviderPayment): ProviderPayment {
    if (payment.state === 'open' && payment.expiresAt <= this.now()) this.#move(payment, 'expired')
    return payment
  }

  /** Stores a new payment and starts its story. */
  open(fields: NewPayment): ProviderPayment {
    const payment: ProviderPayment = {
      callbackUrl: null,
      returnUrl: null,
      cancelUrl: null,
      facts: {},
      ...fields,
      received: '0',
      state: 'open',
      createdAt: this.now(),
      refunds: [],
      unknownStatus: this.#startsStory('unknown-status', fields),
    }
    this.#keep(payment)
    this.save()
    void this.#announce(payment, 'created')
    this.#beginStory(payment)
    return payment
  }

  /** The last step before a creation is answered: the story `timeout-after-acceptance` never answers it. */
  async beforeAnswer(request: FastifyRequest, payment: ProviderPayment): Promise<void> {
    if (this.#startsStory('timeout-after-acceptance', payment)) await holdForever(request)
  }

  /** The same for a refund: the provider accepts it, but its answer never arrives. */
  async beforeRefundAnswer(request: FastifyRequest, payment: ProviderPayment): Promise<void> {
    if (this.stories.take('refund-timeout-after-acceptance', payment.provider)) await holdForever(request)
  }

  /** The payer pays, by default what is missing; late payments too. @throws Error when there is nothing to pay */
  async pay(payment: ProviderPayment, deposit: Deposit = {}, confirmed = true): Promise<void> {
    const surplus =
      payment.state === 'paid' && deposit.amount !== undefined && this.imitationOf(payment)?.creditsSurplus
    if (!surplus && ['paid', 'failed', 'confirming'].includes(payment.state))
      throw new Error(`the payment is ${payment.state} already`)
    if (this.stories.take('kyt-blocked', payment.provider)) return this.block(payment)
    const more = await this.#receive(payment, deposit, confirmed)
    payment.received = add(payment.received, more)
    payment.unknownStatus = false
    if (this.#startsStory('reordered-callbacks', payment)) return this.#reorder(payment)
    const isWhole = isAtLeast(payment.received, payment.amount)
    this.#move(payment, !isWhole ? 'part' : confirmed ? 'paid' : 'confirming')
    if (isWhole && this.#startsStory('partial-refund', payment)) this.#refundFromConsole(payment)
  }

  /** The payer's money arrives, and the provider holds it. @throws Error when this provider reports no such thing */
  payUnresolved(payment: ProviderPayment, reason: Unresolved, deposit: Deposit): void {
    const imitation = this.#imitations.get(payment.provider)
    if (!imitation?.unresolved) throw new Error(`${imitation?.name} reports no unresolved payments`)
    void this.dispatcher.deliver(imitation, imitation.unresolved(payment, reason, deposit))
  }

  /** The chain confirms what `pay` left unconfirmed. */
  confirm(payment: ProviderPayment): void {
    const isPart = this.#imitations.get(payment.provider)?.confirmDeposits?.(payment) && payment.state === 'part'
    if (isPart) this.#move(payment, 'part')
    else if (payment.state === 'confirming') this.#move(payment, 'paid')
    else this.save()
  }

  async #receive(payment: ProviderPayment, deposit: Deposit, confirmed: boolean): Promise<string> {
    const imitation = this.#imitations.get(payment.provider)
    if (deposit.currency !== undefined && deposit.currency !== payment.currency && !imitation?.coins)
      throw new Error(`${imitation?.name ?? payment.provider} takes this payment in ${payment.currency} only`)
    const amount = deposit.amount ?? subtract(payment.amount, payment.received)
    return (await imitation?.receive?.(payment, deposit, confirmed)) ?? amount
  }

  fail(payment: ProviderPayment): void {
    if (isUnpaid(payment)) this.#move(payment, 'failed')
  }

  /** The provider's own screening holds the money; a provider without a status for that reports a failure. */
  block(payment: ProviderPayment): void {
    payment.facts.blocked = true
    this.fail(payment)
  }

  /** The time is over. Money that the chain still confirms was in time: its payment stays `confirming`. */
  expire(payment: ProviderPayment): void {
    if (!isUnpaid(payment)) return
    payment.expiresAt = Math.min(payment.expiresAt, this.now())
    this.#move(payment, payment.state === 'confirming' ? 'confirming' : 'expired', 'expired')
  }

  /** The merchant closes it. @returns whether it is closed now */
  close(payment: ProviderPayment): boolean {
    if (payment.state === 'open') this.#move(payment, 'closed')
    return payment.state === 'closed'
  }

  /** How much can still be refunded. */
  refundable(payment: ProviderPayment): string {
    const gone = payment.refunds.filter(({ state }) => state !== 'refused').map(({ amount }) => amount)
    return subtract(payment.received, sum(gone))
  }

  /** A refund that the merchant requested; it settles automatically unless a story holds it. */
  refund(payment: ProviderPayment, refund: NewRefund, settleAfterMs = REFUND_DELAY_MS): ProviderRefund {
    const held = this.stories.take('refund-pending', payment.provider)
    const kept: ProviderRefund = { facts: {}, ...refund, state: 'pending', createdAt: this.now(), held }
    payment.refunds.push(kept)
    this.save()
    void this.#announce(payment, 'refund-pending', kept)
    const state = isRefusedRefund(refund.amount) ? 'refused' : 'settled'
    if (!held) this.dispatcher.later(settleAfterMs, () => this.settleRefund(payment, kept, state))
    return kept
  }

  settleRefund(payment: ProviderPayment, refund: ProviderRefund, state: 'settled' | 'refused' = 'settled'): void {
    if (refund.state !== 'pending') return
    refund.state = state
    this.save()
    void this.#announce(payment, state === 'settled' ? 'refund-settled' : 'refund-refused', refund)
  }

  save(): void {
    if (this.#file === null || this.#saving) return
    this.#saving = setTimeout(() => {
      this.#saving = null
      this.#write()
    }, SAVE_DELAY_MS)
  }

  stop(): void {
    this.dispatcher.stop()
    if (this.#saving) clearTimeout(this.#saving)
    this.#write()
  }

  #write(): void {
    if (this.#file === null) return
    const state: SavedState = { payments: [...this.#payments.values()].slice(-2000), secret: this.secret }
    writeFileSync(`${this.#file}.new`, JSON.stringify(state), { mode: 0o600 })
    renameSync(`${this.#file}.new`, this.#file)
  }

  #load(): SavedState | undefined {
    try {
      return this.#file === null ? undefined : (JSON.parse(readFileSync(this.#file, 'utf8')) as SavedState)
    } catch {
      return undefined
    }
  }

  #startsStory(story: Story, { amount, provider }: Pick<ProviderPayment, 'amount' | 'provider'>): boolean {
    return magicOf(amount) === story || this.stories.take(story, provider)
  }

  #move(payment: ProviderPayment, state: Exclude<ProviderPayment['state'], 'open'>, event = state): void {
    payment.state = state
    this.save()
    void this.#announce(payment, event)
  }

  #beginStory(payment: ProviderPayment): void {
    const magic = magicOf(payment.amount)
    const after = (work: () => unknown): void => this.dispatcher.later(MAGIC_DELAY_MS, () => void work())
    if (magic === 'pays') after(() => this.pay(payment))
    if (magic === 'pays-half') after(() => this.pay(payment, { amount: half(payment.amount) }))
    if (magic === 'declines') after(() => this.fail(payment))
    if (magic === 'expires') after(() => this.expire(payment))
    if (!this.#startsStory('late-payment', payment)) return
    after(() => {
      this.expire(payment)
      after(() => this.pay(payment))
    })
  }

  /** Staff refund half in the provider's console, without a request from the merchant's server. */
  #refundFromConsole(payment: ProviderPayment): void {
    const id = `console-${payment.reference}`
    this.dispatcher.later(MAGIC_DELAY_MS, () =>
      this.refund(payment, { id, requestId: id, amount: half(payment.amount), fromConsole: true }),
    )
  }

  /** The older callback arrives after the newer one. */
  async #reorder(payment: ProviderPayment): Promise<void> {
    const imitation = this.#imitations.get(payment.provider)
    const early = imitation?.callbacks(payment, 'created') ?? []
    payment.state = isAtLeast(payment.received, payment.amount) ? 'paid' : 'part'
    this.save()
    await this.#announce(payment, payment.state)
    for (const callback of early) await this.dispatcher.send(callback)
  }

  async #announce(payment: ProviderPayment, event: PaymentEvent, refund?: ProviderRefund): Promise<void> {
    const imitation = this.#imitations.get(payment.provider)
    if (!imitation) return
    const count = imitation.callbacks(payment, event, refund).length
    const twice = event !== 'created' && count > 0 && this.#startsStory('duplicate-callbacks', payment)
    for (let index = 0; index < count; index += 1) {
      const sign = (): SignedCallback | undefined => imitation.callbacks(payment, event, refund)[index]
      await this.dispatcher.deliver(imitation, sign)
      if (twice) await this.dispatcher.deliver(imitation, sign)
    }
    if (event === 'created' && this.#startsStory('forged-callback', payment)) await this.#forge(imitation, payment)
  }

  /** A stranger's callback claims that it was paid. */
  async #forge(imitation: Imitation, payment: ProviderPayment): Promise<void> {
    const pretended: ProviderPayment = { ...payment, state: 'paid', received: payment.amount }
    for (const callback of imitation.callbacks(pretended, 'paid')) await this.dispatcher.send(imitation.forge(callback))
  }
}

const isUnpaid = ({ state }: ProviderPayment): boolean => state === 'open' || state === 'part' || state === 'confirming'

async function holdForever(request: FastifyRequest): Promise<void> {
  const { socket } = request.raw
  // an injected request without a socket stays unanswered
  if (typeof socket.destroy === 'function') setTimeout(() => socket.destroy(), HOLD_MS).unref()
  await new Promise((resolve) => socket.once('close', resolve))
}
