import { listChannelAccounts } from '../../channels/account-queries.ts'
import type { Channel } from '../../channels/channel.ts'
import { OTHER_ACCOUNT } from '../../channels/provider-errors.ts'
import type { Queryable } from '../../db/db.ts'
import { isYounger, SECOND } from '../../kernel/clock.ts'
import { pollGapMs } from '../../kernel/poll-gaps.ts'
import { missingChainWords } from '../../ledger/claims.ts'
import { GONE_FOR_ALL_MS } from '../../orders/summary/summary-queries.ts'
import type { Payment } from '../../payments/payment-queries.ts'
import type { RefundDeps } from '../refund-deps.ts'
import { type Refund, updateRefund, updateRefundNextCheck } from '../refund-queries.ts'
import { isPaidOnChain, lockRefundWithOrder } from '../refund-settle.ts'

/*
 * A refund waits while its account, channel or chain is missing on the node that polls it, and while the account that
 * is set up says that it is another one. Its words tell which. They are true until its account is asked again.
 */

const OWN_ACCOUNT_GONE =
  'waits: its account at the provider was removed or replaced. Save that account again, or settle the refund by hand'
const OPERATOR_GONE =
  'waits: its channel is not set up on the server. The operator sets it up again, or a person settles the refund by hand'
const chainGone = (network: number | null): string => `waits: ${missingChainWords(network)}`
const OTHER = `waits: ${OTHER_ACCOUNT}`
const ASKED = 'asked about again, and there is no answer yet'

type Waiting = Pick<Refund, 'accountGoneAt' | 'providerStatus' | 'network'>

const waitsWith = ({ accountGoneAt, providerStatus }: Waiting, words: readonly string[]): boolean =>
  accountGoneAt !== null && providerStatus !== null && words.includes(providerStatus)

/** A node found its account, channel or chain missing, and it was not asked about since. */
const isMissing = (refund: Waiting): boolean =>
  waitsWith(refund, [OWN_ACCOUNT_GONE, OPERATOR_GONE, chainGone(refund.network)])

/** The last answer about it is that of another account than its own. */
const isOfOther = (refund: Waiting): boolean => waitsWith(refund, [OTHER])

/** Whether the company removed or replaced the account, so that no node has it. */
export async function isAccountGone(
  { channels }: RefundDeps,
  q: Queryable,
  { companyId, channel, ownAccount }: Payment,
): Promise<boolean> {
  if (!ownAccount) return false
  const accounts = await listChannelAccounts(q, companyId)
  return !accounts.some((one) => one.channel === channel) || (await channels.of(companyId, q)).isOwn(channel)
}

/** So often that each node has polled it before it counts as gone for all. */
const LOOK_MS = 30 * SECOND

const waitMs = ({ checks }: Refund, since: Date, now: Date): number => {
  const gapMs = pollGapMs('refund', checks)
  return isYounger(since.getTime(), GONE_FOR_ALL_MS, now.getTime()) ? Math.min(gapMs, LOOK_MS) : gapMs
}

async function waitWith(
  deps: RefundDeps,
  refund: Refund,
  { words: providerStatus, sinceOf }: { words: string; sinceOf(current: Refund): Date | null },
): Promise<void> {
  await deps.db.tx(async (tx) => {
    const { refund: current } = await lockRefundWithOrder(tx, refund)
    const { status } = current
    if (status !== 'ready' && status !== 'submitted') return updateRefundNextCheck(tx, current, null)
    const now = new Date(deps.clock())
    const accountGoneAt = sinceOf(current) ?? now
    const nextCheckAt = new Date(now.getTime() + waitMs(current, accountGoneAt, now))
    return updateRefund(tx, current, { status, providerStatus, nextCheckAt, accountGoneAt }, now)
  })
}

/**
 * Leaves the refund as it is, to other nodes or until its account or chain is back. Whoever holds its money is asked.
 * @param isGone its account was removed or replaced
 */
export const waitForAccount = (deps: RefundDeps, refund: Refund, isGone: boolean): Promise<void> => {
  const missing = isPaidOnChain(refund) ? chainGone(refund.network) : OPERATOR_GONE
  const words = isGone ? OWN_ACCOUNT_GONE : missing
  // what another account said before is no time in which no node had it
  const sinceOf = (current: Refund) => (isMissing(current) ? current.accountGoneAt : null)
  return waitWith(deps, refund, { words, sinceOf })
}

/** The account that was asked says that it is another one. */
export const waitForOther = (deps: RefundDeps, refund: Refund): Promise<void> =>
  waitWith(deps, refund, { words: OTHER, sinceOf: ({ accountGoneAt }) => accountGoneAt })

/**
 * Before its account is asked, which may take it without an answer: what was said before is not true any more. What was
 * missing is there, so that wait is over; another account is waited for until the right one has it.
 */
export async function noteAsking(deps: RefundDeps, refund: Refund): Promise<void> {
  if (!isMissing(refund) && !isOfOther(refund)) return
  await deps.db.tx(async (tx) => {
    const { refund: current } = await lockRefundWithOrder(tx, refund)
    const wasMissing = isMissing(current)
    if (!wasMissing && !isOfOther(current)) return
    const { status, nextCheckAt } = current
    const change = { status, nextCheckAt, providerStatus: ASKED, ...(wasMissing && { accountGoneAt: null }) }
    await updateRefund(tx, current, change, new Date(deps.clock()))
  })
}

/**
 * No node may ask its provider for it. On a chain, settling keeps every node from sending it; what a person was asked
 * to send, none sends.
 */
async function isGoneForAll(deps: RefundDeps, q: Queryable, payment: Payment, refund: Refund): Promise<boolean> {
  const { status, nextCheckAt, handedOverAt, accountGoneAt } = refund
  const isForPerson = handedOverAt !== null || (status === 'ready' && nextCheckAt === null)
  if (isForPerson || isPaidOnChain(refund)) return true
  if (await isAccountGone(deps, q, payment)) return true
  return isMissing(refund) && accountGoneAt !== null && accountGoneAt.getTime() <= deps.clock() - GONE_FOR_ALL_MS
}

/**
 * Who answers for a refund that a person wants to settle. `gone`: no one does, or only another account. `elsewhere`:
 * this node lacks its channel, and another one may be asking it.
 */
export async function findAnswering(
  deps: RefundDeps,
  q: Queryable,
  { payment, refund, channel }: { payment: Payment; refund: Refund; channel: Channel | undefined },
): Promise<Channel | 'gone' | 'elsewhere'> {
  if (channel) return isOfOther(refund) ? 'gone' : channel
  return (await isGoneForAll(deps, q, payment, refund)) ? 'gone' : 'elsewhere'
}

/** What refunds say that wait for a channel or one of these chains. */
export const missingWords = (networks: Iterable<number>): string[] => [OPERATOR_GONE, ...[...networks].map(chainGone)]
