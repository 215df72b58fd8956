import type { Actor } from '../http/actor.ts'
import { ruleOf } from '../http/permissions.ts'

/* Why a payout waits, as it is written down with it. Not everyone who reads the payout may learn it. */

export const TARGET_BLOCKED =
  'its destination did not pass the screening. Reject the refund; another address may be given in a new one'
export const TARGET_WAITS = 'the screening of its destination'
export const SETTLEMENT_BLOCKED =
  'the company’s settlement address did not pass the screening. Cancel it and set another address'
export const SETTLEMENT_WAITS = 'the screening of the settlement address'

const WORDS = [TARGET_BLOCKED, TARGET_WAITS, SETTLEMENT_BLOCKED, SETTLEMENT_WAITS]

/** What the others read, whatever the screening says. */
export const BEING_CHECKED = 'waits: it is being checked'

/** A shop's server may, since it explains orders to its staff. */
export const mayReadScreenings = ({ role }: Actor): boolean =>
  role === 'Service' || ruleOf('screenings.read').roles.includes(role)

/** The message of a refund or a settlement, for this reader. */
export const payoutMessageFor = (actor: Actor, message: string | null): string | null =>
  message !== null && !mayReadScreenings(actor) && WORDS.some((words) => message.includes(words))
    ? BEING_CHECKED
    : message
