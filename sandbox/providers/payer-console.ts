import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import type { FastifyRequest } from 'fastify'
import { Courier } from './courier.ts'
import { add, half, isAtLeast, subtract, sum } from './decimal.ts'
import type { DeskPayment, DeskRefund, Happening, Imitation, SignedCallback } from './imitation.ts'
import { isRefusedRefund, magicOf, Stories, type Story } from './stories.ts'

export type NewPayment = Pick<
  DeskPayment,
  'reference' | 'provider' | 'merchantReference' | 'amount' | 'currency' | 'expiresAt'
> &
  Partial<Pick<DeskPayment, 'callbackUrl' | 'returnUrl' | 'cancelUrl' | 'facts'>>

type DeskState = { payments: DeskPayment[]; secret: string }

/** A person needs this long; a payment that tells its story by its amount does, too. */
const MAGIC_DELAY_MS = 1500
const SAVE_DELAY_MS = 200
const HOLD_MS = 1000

/**
 * What all imitations share: the payments, what people and stories do to them, and the callbacks that follow. An
 * imitation adds its provider's protocol and words.
 */
export class Desk {
  readonly stories: Stories
  readonly courier: Courier
  readonly #payments = new Map<string, DeskPayment>()
  readonly #imitations = new Map<string, Imitation>()
  readonly #file: string | null
  readonly #now: () => number
  readonly secret: string
  #saving: NodeJS.Timeout | null = null

  constructor(options: { file: string | null; now(): number; log(line: string): void; newSecret(): string }) {
    this.#file = options.file
    this.#now = options.now
    this.stories = new Stories(options.now)
    this.courier = new Courier(options.log)
    const state = this.#load()
    this.secret = state?.secret ?? options.newSecret()
    for (const payment of state?.payments ?? []) this.#payments.set(payment.reference, payment)
    if (!state) this.save()
  }

  add(imitation: Imitation): void {
    this.#imitations.set(imitation.prefix, imitation)
  }

  imitations(): Imitation[] {
    return [...this.#imitations.values()]
  }

  /** Newest first. */
  list(): DeskPayment[] {
    return [...this.#payments.values()].toReversed()
  }

  find(reference: string): DeskPayment | undefined {
    return this.#payments.get(reference)
  }

  findByMerchant(provider: string, merchantReference: string): DeskPayment | undefined {
    return this.list().find((one) => one.provider === provider && one.merchantReference === merchantReference)
  }

  /** Time passes for payments that nobody pays; call it before a payment's state is told. */
  refresh(payment: DeskPayment): DeskPayment {
    if (payment.state === 'open' && payment.expiresAt <= this.#now()) this.#move(payment, 'expired')
    return payment
  }

  /** Keeps a new payment. What its story asks for begins. */
  open(fields: NewPayment): DeskPayment {
    const payment: DeskPayment = {
      callbackUrl: null,
      returnUrl: null,
      cancelUrl: null,
      facts: {},
      ...fields,
      received: '0',
      state: 'open',
      createdAt: this.#now(),
      refunds: [],
      unknownWord: this.#tells('unknown-status', fields),
    }
    this.#payments.set(payment.reference, payment)
    this.save()
    void this.#announce(payment, 'created')
    this.#beginStory(payment)
    return payment
  }

  /** The last thing before a creation is answered: the story `timeout-after-acceptance` never answers it. */
  async beforeAnswer(request: FastifyRequest, payment: DeskPayment): Promise<void> {
    if (!this.#tells('timeout-after-acceptance', payment)) return
    const { socket } = request.raw
    setTimeout(() => socket.destroy(), HOLD_MS).unref()
    await new Promise((resolve) => socket.once('close', resolve))
  }

  /** The payer pays, by default what is missing; also late. @throws Error when there is nothing to pay */
  async pay(payment: DeskPayment, amount = subtract(payment.amount, payment.received)): Promise<void> {
    if (payment.state === 'paid' || payment.state === 'failed')
      throw new Error(`the payment is ${payment.state} already`)
    await this.#imitations.get(payment.provider)?.deliver?.(payment, amount)
    payment.unknownWord = false
    payment.received = add(payment.received, amount)
    if (this.#tells('reordered-callbacks', payment)) return this.#reorder(payment)
    this.#move(payment, isAtLeast(payment.received, payment.amount) ? 'paid' : 'part')
    if (this.#tells('partial-refund', payment)) this.#refundFromConsole(payment)
  }

  fail(payment: DeskPayment): void {
    if (payment.state === 'open' || payment.state === 'part') this.#move(payment, 'failed')
  }

  /** The provider's own screening holds the money; those that know no word for it say that it failed. */
  block(payment: DeskPayment): void {
    payment.facts.blocked = true
    this.fail(payment)
  }

  expire(payment: DeskPayment): void {
    if (payment.state === 'open' || payment.state === 'part') this.#move(payment, 'expired')
  }

  /** The merchant closes it. @returns whether it is closed now */
  close(payment: DeskPayment): boolean {
    if (payment.state === 'open') this.#move(payment, 'closed')
    return payment.state === 'closed'
  }

  /** What can still go back of a payment. */
  refundable(payment: DeskPayment): string {
    const gone = payment.refunds.filter(({ state }) => state !== 'refused').map(({ amount }) => amount)
    return subtract(payment.received, sum(gone))
  }

  /** A refund that the merchant asked for; it settles by itself unless the provider needs a person. */
  refund(
    payment: DeskPayment,
    refund: Pick<DeskRefund, 'id' | 'requestId' | 'amount'>,
    settleAfterMs = 300,
  ): DeskRefund {
    const kept: DeskRefund = { ...refund, state: 'pending', createdAt: this.#now() }
    payment.refunds.push(kept)
    this.save()
    void this.#announce(payment, 'refund-pending', kept)
    const state = isRefusedRefund(refund.amount) ? 'refused' : 'settled'
    this.courier.later(settleAfterMs, () => this.settleRefund(payment, kept, state))
    return kept
  }

  settleRefund(payment: DeskPayment, refund: DeskRefund, state: 'settled' | 'refused' = 'settled'): void {
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
    this.courier.stop()
    if (this.#saving) clearTimeout(this.#saving)
    this.#write()
  }

  #write(): void {
    if (this.#file === null) return
    const state: DeskState = { payments: [...this.#payments.values()].slice(-2000), secret: this.secret }
    writeFileSync(`${this.#file}.new`, JSON.stringify(state), { mode: 0o600 })
    renameSync(`${this.#file}.new`, this.#file)
  }

  #load(): DeskState | undefined {
    try {
      return this.#file === null ? undefined : (JSON.parse(readFileSync(this.#file, 'utf8')) as DeskState)
    } catch {
      return undefined
    }
  }

  #tells(story: Story, { amount, provider }: Pick<DeskPayment, 'amount' | 'provider'>): boolean {
    return magicOf(amount) === story || this.stories.take(story, provider)
  }

  #move(payment: DeskPayment, state: Exclude<DeskPayment['state'], 'open'>): void {
    payment.state = state
    this.save()
    void this.#announce(payment, state)
  }

  #beginStory(payment: DeskPayment): void {
    const magic = magicOf(payment.amount)
    const after = (work: () => unknown): void => this.courier.later(MAGIC_DELAY_MS, () => void work())
    if (magic === 'pays') after(() => this.pay(payment))
    if (magic === 'pays-half') after(() => this.pay(payment, half(payment.amount)))
    if (magic === 'declines') after(() => this.fail(payment))
    if (magic === 'expires') after(() => this.expire(payment))
    if (!this.#tells('late-payment', payment)) return
    after(() => {
      this.expire(payment)
      after(() => this.pay(payment))
    })
  }

  /** The console of the provider refunds half, without the merchant's server having asked. */
  #refundFromConsole(payment: DeskPayment): void {
    const id = `console-${payment.reference}`
    this.courier.later(MAGIC_DELAY_MS, () => this.refund(payment, { id, requestId: id, amount: half(payment.amount) }))
  }

  /** What was said before is said after what came later. */
  async #reorder(payment: DeskPayment): Promise<void> {
    const imitation = this.#imitations.get(payment.provider)
    const early = imitation?.callbacks(payment, 'created') ?? []
    payment.state = isAtLeast(payment.received, payment.amount) ? 'paid' : 'part'
    this.save()
    await this.#announce(payment, payment.state)
    for (const callback of early) await this.courier.send(callback)
  }

  async #announce(payment: DeskPayment, happening: Happening, refund?: DeskRefund): Promise<void> {
    const imitation = this.#imitations.get(payment.provider)
    if (!imitation) return
    const count = imitation.callbacks(payment, happening, refund).length
    const twice = happening !== 'created' && count > 0 && this.#tells('duplicate-callbacks', payment)
    for (let index = 0; index < count; index += 1) {
      const sign = (): SignedCallback | undefined => imitation.callbacks(payment, happening, refund)[index]
      await this.courier.deliver(imitation, sign)
      if (twice) await this.courier.deliver(imitation, sign)
    }
    if (happening === 'created' && this.#tells('forged-callback', payment)) await this.#forge(imitation, payment)
  }

  /** A stranger says that it was paid. */
  async #forge(imitation: Imitation, payment: DeskPayment): Promise<void> {
    const pretended: DeskPayment = { ...payment, state: 'paid', received: payment.amount }
    for (const callback of imitation.callbacks(pretended, 'paid')) await this.courier.send(imitation.forge(callback))
  }
}
