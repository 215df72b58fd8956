import { toStorable } from '../db/storable.ts'
import {
  Circuit,
  CircuitOpen,
  type CircuitRules,
  type CircuitState,
  type OpenCause,
  type Verdict,
} from '../kernel/circuit.ts'
import { type Clock, MINUTE, SECOND } from '../kernel/clock.ts'
import { AppError } from '../kernel/errors.ts'
import type { Channel } from './channel.ts'
import { type ProviderCallScope, type ProviderCallSink, withProviderCallScope } from './provider-calls.ts'
import { ProviderRefusal, ProviderTrouble } from './provider-errors.ts'

/** A corrected key works again within ten minutes; a clock is usually right a minute later. */
const RULES: CircuitRules = {
  openAfter: 5,
  pausesMs: {
    trouble: [20 * SECOND],
    credentials: [MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE],
    clock: [MINUTE],
  },
  maxBusyMs: 10 * MINUTE,
}

/** With a larger difference, a refused credential is blamed on our clock: Gate Pay allows 10 s, Binance less. */
const SKEW_TOLERANCE_MS = 10 * SECOND
/** Of a clock that is set by the network: the other one's differs, too. */
const RIGHT_MS = 100

export type Health = {
  available: boolean
  /** For people; null while the channel is available. */
  reason: string | null
  circuit: CircuitState
  /** How far our clock is ahead of the provider's `Date`; null: it never answered. */
  clockAheadMs: number | null
}

export const HEALTHY: Health = {
  available: true,
  reason: null,
  circuit: { state: 'closed', cause: null, openUntil: null },
  clockAheadMs: null,
}

export type SupervisedCall = {
  channel: string
  step: string
  outcome: 'done' | 'refused' | 'trouble'
  durationMs: number
}

export type Supervision = {
  clock: Clock
  sink: ProviderCallSink
  /** Counts and times calls that were made. */
  count(call: SupervisedCall): void
}

const REASONS: Readonly<Record<OpenCause, string>> = {
  trouble: 'the provider does not answer at the moment',
  busy: 'the provider asked for a pause',
  credentials: 'the provider refuses our credentials',
  clock: 'the provider refuses our time',
}

function reasonOf({ state, cause }: CircuitState, clockAheadMs: number | null): string | null {
  if (state !== 'open' || cause === null) return null
  if (cause !== 'clock' || clockAheadMs === null || Math.abs(clockAheadMs) < SECOND) return REASONS[cause]
  const seconds = Math.round(Math.abs(clockAheadMs) / SECOND)
  return `${REASONS.clock}: this server’s clock is ${seconds} s ${clockAheadMs > 0 ? 'ahead of' : 'behind'} the provider’s`
}

/**
 * What an error says about the provider. A definite refusal is an answer. A refund may need a permission that payments
 * do not need, so refused credentials for a refund say nothing about payments, and neither does an unknown status of
 * one refund.
 */
function judge(error: unknown, step: string, clockAheadMs: number | null): Verdict {
  if (error instanceof AppError) return { means: 'nothing' }
  if (error instanceof ProviderTrouble && error.answered && step === 'refund') return { means: 'nothing' }
  if (error instanceof ProviderTrouble) return { means: 'fails', retryAfterMs: error.retryAfterMs }
  if (!(error instanceof ProviderRefusal)) return { means: 'fails' }
  const { reason } = error
  if ((reason !== 'credentials' && reason !== 'clock') || step === 'refund') return { means: 'works' }
  // our clock is right, so this request was too slow: the next one need not be. Of a wrong clock about a second is not
  // measured, so that a small difference is a wrong one already
  if (reason === 'clock' && clockAheadMs !== null && Math.abs(clockAheadMs) < RIGHT_MS) return { means: 'fails' }
  const isClock = reason === 'clock' || Math.abs(clockAheadMs ?? 0) > SKEW_TOLERANCE_MS
  return { means: 'refuses', cause: isClock ? 'clock' : 'credentials' }
}

type CallScope = Pick<ProviderCallScope, 'companyId' | 'merchantReference'>

export type Supervised = { channel: Channel; health(): Health }

/**
 * The same channel with recorded exchanges, counted calls, and a circuit breaker.
 * @param readClockAhead how far our clock was ahead of the provider's in its last answer
 */
export function supervise(
  channel: Channel,
  { clock, sink, count }: Supervision,
  readClockAhead: () => number | null = () => null,
): Supervised {
  const circuit = new Circuit(clock, RULES)
  const guard = async <Result>(step: string, place: CallScope, work: () => Promise<Result>): Promise<Result> => {
    const { companyId, merchantReference } = place
    const scope: ProviderCallScope = { companyId, merchantReference, channel: channel.id, step }
    const startedAtMs = performance.now()
    const note = (outcome: SupervisedCall['outcome']): void =>
      count({ channel: channel.id, step, outcome, durationMs: performance.now() - startedAtMs })
    try {
      const result = await circuit.run(
        () => withProviderCallScope(scope, sink, work),
        (error) => judge(error, step, readClockAhead()),
      )
      note('done')
      return toStorable(result)
    } catch (error) {
      if (error instanceof CircuitOpen)
        throw new ProviderTrouble('the provider is left alone for a pause', { cause: error, notSent: true })
      note(error instanceof ProviderRefusal ? 'refused' : 'trouble')
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
    // limits mostly come from what the adapter keeps, which says nothing about the provider
    ...(findLimits && { findLimits: (payment) => findLimits.call(channel, payment) }),
    ...(readCallback && {
      readCallback: async (callback) => toStorable(await readCallback.call(channel, callback)),
    }),
    ...(checkRefundTransaction && {
      checkRefundTransaction: (refund, txHash) => checkRefundTransaction.call(channel, refund, txHash),
    }),
  }
  const health = (): Health => {
    const { state } = circuit
    const clockAheadMs = readClockAhead()
    const reason = reasonOf(state, clockAheadMs)
    return { available: reason === null, reason, circuit: state, clockAheadMs }
  }
  return { channel: supervised, health }
}
