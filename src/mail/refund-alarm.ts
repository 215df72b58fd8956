import { OFFICE_PATHS } from '../config/office-paths.ts'
import type { Alarm } from './operator-alarm.ts'

/** How many refunds the operator has to approve, or to send, from now on, and for how many companies. */
export type AskedOperator = { asks: 'approve' | 'send'; refunds: number; companies: number }

const WORDS = {
  approve: {
    one: 'A refund waits for your approval',
    many: (refunds: number) => `${refunds} refunds wait for your approval`,
    why:
      'The company’s setting, or the limit of the person who asked, leaves it to you: the company cannot approve it ' +
      'itself.',
    how: 'Approve or reject under Refunds. Nothing is sent before.',
  },
  send: {
    one: 'A refund has to be sent by hand',
    many: (refunds: number) => `${refunds} refunds have to be sent by hand`,
    why:
      'You hold the money, and nothing sends it by itself: the keys of the chain are not set up, the provider does not ' +
      'refund, or the channel or the chain is not set up any more. Each refund says which.',
    how:
      'Set up what is missing, or send it, then name the transaction or settle the refund under Refunds. If it waits for ' +
      'its provider, look there first whether it was sent. The company cannot do that for you.',
  },
} as const

export function refundAlarm({ asks, refunds, companies }: AskedOperator): Alarm {
  const { one, many, why, how } = WORDS[asks]
  const whose = `It is for payers of ${companies === 1 ? 'one company' : `${companies} companies`}.`
  return {
    subject: refunds === 1 ? one : many(refunds),
    paragraphs: [`${why} ${whose}`, how],
    path: OFFICE_PATHS.refunds,
  }
}
