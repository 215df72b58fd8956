import { OFFICE_PATHS } from '../config/office-paths.ts'
import type { Alarm } from './operator-alarm.ts'

/** How many refunds the operator has to send from now on, and for how many companies. */
export type ByHand = { refunds: number; companies: number }

export const byHandAlarm = ({ refunds, companies }: ByHand): Alarm => ({
  subject: refunds === 1 ? 'A refund has to be sent by hand' : `${refunds} refunds have to be sent by hand`,
  paragraphs: [
    'You hold the money, and nothing sends it by itself: the keys of the chain are not set up, or the provider does not ' +
      `refund. It is for payers of ${companies === 1 ? 'one company' : `${companies} companies`}.`,
    'Send it, then name the transaction or settle the refund under Refunds. The company cannot do that for you.',
  ],
  path: OFFICE_PATHS.refunds,
})
