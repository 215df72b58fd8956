import { OFFICE_PATHS } from '../config/office-paths.ts'
import type { Alarm } from './operator-alarm.ts'

/** How many refunds the operator has to send from now on, and for how many companies. */
export type ByHand = { refunds: number; companies: number }

export const byHandAlarm = ({ refunds, companies }: ByHand): Alarm => ({
  subject: refunds === 1 ? 'A refund has to be sent by hand' : `${refunds} refunds have to be sent by hand`,
  paragraphs: [
    'You hold the money, and nothing sends it by itself: the keys of the chain are not set up, the provider does not ' +
      'refund, or the channel or the chain is not set up any more. Each refund says which. ' +
      `It is for payers of ${companies === 1 ? 'one company' : `${companies} companies`}.`,
    'Set up what is missing, or send it, then name the transaction or settle the refund under Refunds. If it waits for ' +
      'its provider, look there first whether it was sent. The company cannot do that for you.',
  ],
  path: OFFICE_PATHS.refunds,
})
