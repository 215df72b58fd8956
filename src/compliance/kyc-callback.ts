import { OFFICE_PATHS } from '../config/office-paths.ts'
import { toStorableText } from '../db/storable.ts'
import { type Callback, CallbackRefused } from '../kernel/callback.ts'
import { DAY, MINUTE } from '../kernel/clock.ts'
import { AppError } from '../kernel/errors.ts'
import { claimDailyNotice } from '../mail/daily-mail-queries.ts'
import type { CallbackNews, RemoteProvider } from './identity-provider.ts'
import { hasApplicant, insertKycCallback, updateKycDueByProvider } from './kyc-queries.ts'
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
  const news = await readNews(deps, provider, request)
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

async function readNews(deps: KycDeps, provider: RemoteProvider, request: Callback): Promise<CallbackNews> {
  try {
    return provider.readCallback(request)
  } catch (error) {
    if (!(error instanceof CallbackRefused)) throw error
    await tellRefused(deps, request, error.message)
    throw new AppError('CALLBACK_REFUSED', { message: `The callback is refused: ${error.message}.`, cause: error })
  }
}

/** Who it claims to be about. Nothing is done with it but to look it up. */
function claimedApplicant({ rawBody }: Callback): string | null {
  try {
    const { applicantId } = Object(JSON.parse(rawBody.toString('utf8'))) as { applicantId?: unknown }
    return typeof applicantId === 'string' && applicantId.length <= 200 ? applicantId : null
  } catch {
    return null
  }
}

/**
 * One mail a day: the secret at the provider is another one, and decisions arrive by polls only. A stranger, who knows
 * no applicant of ours, causes none.
 */
async function tellRefused({ db, clock, alarm }: KycDeps, request: Callback, reason: string): Promise<void> {
  const applicantId = claimedApplicant(request)
  if (applicantId === null || !(await hasApplicant(db, toStorableText(applicantId)))) return
  await db.tx(async (tx) => {
    if (!(await claimDailyNotice(tx, 'kyc.callbacks', clock()))) return
    await alarm(tx, {
      subject: 'Callbacks of the identity provider are refused',
      paragraphs: [
        `A callback about an applicant of yours was refused: ${reason}.`,
        'Compare the webhook at Sumsub with KYC_SUMSUB_WEBHOOK_SECRET. Until then decisions arrive later: open checks are ' +
          'read at least every hour, and approvals that may have been withdrawn once a day or less.',
      ],
      path: OFFICE_PATHS.system,
    })
  })
}
