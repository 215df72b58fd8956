import { useCan, useSession } from '../../api/session.ts'
import { useTexts, wordFor } from '../../texts/lang.ts'
import { isOnChain, namedBy, type Refund, sendsIt } from './refund.ts'
import { texts } from './texts.ts'

/** What a refund waits for, and who else can act where this person cannot: in the list, and after a decision. */
export function useMeaning(): (refund: Refund) => string {
  const t = useTexts(texts)
  const can = useCan()
  const { user } = useSession()
  return (refund) => {
    const { status, askedByMail } = refund
    if (refund.toSendByHand && !sendsIt(refund, can('refunds.decide'))) return t.byHand[refund.heldBy]
    if (refund.toSendByHand) return t.byHand[isOnChain(refund) ? 'chain' : 'provider']
    const by = namedBy(refund, user._id)
    const waits = by === 'payer' ? t.named.payer : by ? t.named[by](askedByMail) : wordFor(t.means, status)
    const isDecided = status !== 'needs_address' && status !== 'needs_approval'
    const second = by === 'payer' || by === 'mine' ? ` ${t.second}` : ''
    return `${waits}${second}${isDecided || can('refunds.decide') ? '' : ` ${t.onlyOperator}`}`
  }
}
