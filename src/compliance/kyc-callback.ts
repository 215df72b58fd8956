import { type Callback, CallbackRefused } from '../kernel/callback.ts'
import { DAY, MINUTE } from '../kernel/clock.ts'
import { AppError } from '../kernel/errors.ts'
import { insertKycCallback, updateKycDueByProvider } from './kyc-queries.ts'
import type { KycDeps } from './kyc-service.ts'

/** Longer than the provider repeats a callback (a day), so older ones are already processed. */
export const CALLBACK_AGE_MS = 2 * DAY
const AHEAD_MS = 10 * MINUTE

/**
 * Accepts a callback: a genuine, new one triggers a poll. Its content is never trusted. @throws NOT_FOUND without a
 * provider that calls back, CALLBACK_REFUSED, FORBIDDEN
 */
export async function takeCallback(deps: KycDeps & { live: boolean }, request: Callback): Promise<void> {
  const { provider, clock, db } = deps
  if (provider.id === 'manual') throw new AppError('NOT_FOUND')
  const news = readNews(() => provider.readCallback(request))
  if (news.sandbox && deps.live)
    throw new AppError('FORBIDDEN', {
      message: 'A sandbox callback has no effect in live mode. Send it to a sandbox installation.',
    })
  const now = clock()
  const age = now - news.createdAt.getTime()
  if (age > CALLBACK_AGE_MS || age < -AHEAD_MS) return
  await db.tx(async (tx) => {
    if (!(await insertKycCallback(tx, news, new Date(now)))) return
    await updateKycDueByProvider(tx, news, new Date(now))
    tx.afterCommit(() => deps.signals.look())
  })
}

function readNews<News>(read: () => News): News {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof CallbackRefused)) throw error
    throw new AppError('CALLBACK_REFUSED', { message: `The callback is refused: ${error.message}.`, cause: error })
  }
}
