import { AppError } from '../kernel/errors.ts'

/** What a failed provider call means for the client: nothing is known about the payment, and a job asks again. */
export const unavailable = (error: unknown): AppError =>
  error instanceof AppError ? error : new AppError('CHANNEL_UNAVAILABLE', { cause: error, retryAfter: 5 })

/**
 * Waits for a provider. A network error, or a refusal to answer, says nothing about the payment: the client gets
 * CHANNEL_UNAVAILABLE, nothing changes, and a job asks again.
 */
export async function askProvider<Answer>(ask: Promise<Answer>): Promise<Answer> {
  try {
    return await ask
  } catch (error) {
    throw unavailable(error)
  }
}
