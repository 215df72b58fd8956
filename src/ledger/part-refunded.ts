/**
 * The difference that a provider refunded a part of a payment, and does not say how much. It names the order and the
 * payment of which a person can record that refund.
 */
export const partSubject = ({ code }: { code: string }, { id }: { id: string }): string =>
  `order ${code}, part of payment ${id}`

/** What such a difference is about; null: it is about something else. */
export function readPartSubject(subject: string): { code: string; paymentId: string } | null {
  const [, code, paymentId] = /^order ([0-9A-Za-z]+), part of payment ([0-9a-f]{24})$/.exec(subject) ?? []
  return code === undefined || paymentId === undefined ? null : { code, paymentId }
}
