import { type Clock, MINUTE, SECOND } from '../kernel/clock.ts'
import { AppError } from '../kernel/errors.ts'
import type { Channel } from './channel.ts'
import { type ProviderCallScope, type ProviderCallSink, withProviderCallScope } from './provider-calls.ts'
import { ProviderRefusal, ProviderTrouble } from './provider-errors.ts'

/** Troubles in a row after which a provider is left alone. */
const OPEN_AFTER = 5
const PAUSE_MS = 20 * SECOND
const MAX_PAUSE_MS = 10 * MINUTE

export type Health = { available: boolean; reason: string | null }

export type Supervision = {
  clock: Clock
  sink: ProviderCallSink
  /** Counts calls: `done`, `refused`, `trouble`. */
  count(channel: string, step: string, outcome: 'done' | 'refused' | 'trouble'): void
}

/** How a provider fares: after five troubles in a row it is left alone; then one call is let through, which decides. */
export class Circuit {
  readonly #clock: Clock
  #troubles = 0
  #openUntil = 0
  #trying = false
  #refusal: string | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  health(): Health {
    if (this.#refusal !== null) return { available: false, reason: this.#refusal }
    const open = this.#troubles >= OPEN_AFTER && this.#clock() < this.#openUntil
    return { available: !open, reason: open ? 'the provider does not answer at the moment' : null }
  }

  /** @throws ProviderTrouble while it is left alone */
  enter(): void {
    if (this.#clock() < this.#openUntil || (this.#troubles >= OPEN_AFTER && this.#trying))
      throw new ProviderTrouble('the provider is left alone for a moment, it did not answer')
    this.#trying = this.#troubles >= OPEN_AFTER
  }

  done(): void {
    this.#troubles = 0
    this.#openUntil = 0
    this.#trying = false
    this.#refusal = null
  }

  /** The provider answers but will not work with us: nothing is hidden from the payer longer than that lasts. */
  refused(refusal: ProviderRefusal): void {
    this.done()
    if (refusal.reason === 'credentials') this.#refusal = 'the provider does not accept our credentials'
  }

  failed(error: unknown): void {
    this.#trying = false
    this.#troubles += 1
    const asked = error instanceof ProviderTrouble ? error.retryAfterMs : null
    if (asked !== null) this.#openUntil = this.#clock() + Math.min(asked, MAX_PAUSE_MS)
    else if (this.#troubles >= OPEN_AFTER) this.#openUntil = this.#clock() + PAUSE_MS
  }
}

type CallScope = Pick<ProviderCallScope, 'companyId' | 'merchantReference'>

export type Supervised = { channel: Channel; health(): Health }

/** The same channel with its exchanges recorded, its calls counted, and a circuit around it. */
export function supervise(channel: Channel, { clock, sink, count }: Supervision): Supervised {
  const circuit = new Circuit(clock)
  const guard = async <Result>(step: string, place: CallScope, work: () => Promise<Result>): Promise<Result> => {
    circuit.enter()
    const { companyId, merchantReference } = place
    try {
      const result = await withProviderCallScope(
        { companyId, merchantReference, channel: channel.id, step },
        sink,
        work,
      )
      circuit.done()
      count(channel.id, step, 'done')
      return result
    } catch (error) {
      if (error instanceof ProviderRefusal) circuit.refused(error)
      else if (!(error instanceof AppError)) circuit.failed(error)
      count(channel.id, step, error instanceof ProviderRefusal ? 'refused' : 'trouble')
      throw error
    }
  }
  const { recoverPayment, closePayment, refundPayment, findLimits, readCallback, checkRefundTransaction } = channel
  const supervised: Channel = {
    ...channel,
    createPayment: (request) => guard('create', request, () => channel.createPayment(request)),
    fetchPayment: (payment) => guard('query', payment, () => channel.fetchPayment(payment)),
    ...(recoverPayment && {
      recoverPayment: (request) => guard('recover', request, () => recoverPayment.call(channel, request)),
    }),
    ...(closePayment && {
      closePayment: (payment) => guard('close', payment, () => closePayment.call(channel, payment)),
    }),
    ...(refundPayment && {
      refundPayment: (refund) => guard('refund', refund, () => refundPayment.call(channel, refund)),
    }),
    ...(findLimits && { findLimits: (payment) => findLimits.call(channel, payment) }),
    ...(readCallback && { readCallback: (callback) => readCallback.call(channel, callback) }),
    ...(checkRefundTransaction && {
      checkRefundTransaction: (refund, txHash) => checkRefundTransaction.call(channel, refund, txHash),
    }),
  }
  return { channel: supervised, health: () => circuit.health() }
}
