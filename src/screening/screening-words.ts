import type { Actor } from '../http/actor.ts'
import { ruleOf } from '../http/permissions.ts'

/* Why a payout waits, as it is written down with it. Not everyone who reads the payout may learn it. */

export const TARGET_BLOCKED =
  'its destination did not pass the screening. Reject the refund; another address may be given in a new one'
export const TARGET_WAITS = 'the screening of its destination'

/** What the others read, whatever the screening says. */
export const BEING_CHECKED = 'waits: it is being checked'

/** A shop's server may, since it explains orders to its staff. */
export const mayReadScreenings = ({ role }: Actor): boolean =>
  role === 'Service' || ruleOf('screenings.read').roles.includes(role)

/** The message of a refund, for this reader. */
export const refundMessageFor = (actor: Actor, message: string | null): string | null =>
  message !== null &&
  !mayReadScreenings(actor) &&
  [TARGET_BLOCKED, TARGET_WAITS].some((words) => message.includes(words))
    ? BEING_CHECKED
    : message
