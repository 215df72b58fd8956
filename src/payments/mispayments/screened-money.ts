import type { Tx } from '../../db/db.ts'
import { AppError } from '../../kernel/errors.ts'
import type { ScreeningGate } from '../../screening/screening-gate.ts'
import type { Mispayment } from './mispayment-queries.ts'

export const SCREEN_FIRST =
  'A sender of this money is not cleared. Decide the screening of the order first: GET /screenings?code=, then ' +
  'POST /screenings/{id}/return or release.'

export const SCREENED_AGAIN =
  'Its sender was cleared more than a day ago and is being screened again. Read the record again in a minute.'

/**
 * While a sender of a payment is not cleared, none of its money may leave. Held money leaves only after a person
 * decides to return it.
 * @throws OBJECT_CONFLICT
 */
export async function checkScreened(
  { screening }: { screening: ScreeningGate },
  tx: Tx,
  { companyId, paymentId: subjectId, kind }: Pick<Mispayment, 'companyId' | 'paymentId' | 'kind'>,
): Promise<void> {
  const decision = await screening.findDecision(tx, { companyId, purpose: 'payment', subjectId })
  if (decision === 'open') throw new AppError('OBJECT_CONFLICT', { message: SCREEN_FIRST })
  if (kind === 'held' && decision === null) {
    const message = 'Its sender has just been cleared, so the money is about to count. Read the record again.'
    throw new AppError('OBJECT_CONFLICT', { message })
  }
}
