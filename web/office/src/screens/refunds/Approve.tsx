import { call } from '../../api/call.ts'
import { useAction, useShown } from '../../api/hooks.ts'
import { useClosing } from '../../kit/closing.ts'
import { Form } from '../../kit/fields.tsx'
import { Dialog, Money, Notice } from '../../kit/parts.tsx'
import { say } from '../../kit/toasts.tsx'
import { useTexts } from '../../texts/lang.ts'
import { Destination } from './Destination.tsx'
import { useMeaning } from './meaning.ts'
import { destinationOf, goesToAddress, type Refund } from './refund.ts'
import { texts } from './texts.ts'

/**
 * What was sent cannot be taken back: the approver sees all of it once more.
 * @param present the refund as it is now
 */
export function Approve({ present, onClose }: { present: Refund; onClose(): void }) {
  const refund = useShown(present)
  const t = useTexts(texts)
  const meaningOf = useMeaning()
  const action = useAction({
    run: () => call('POST /api/next/refunds/{id}/approve', { path: { id: refund._id } }),
    onDone: (approved) => {
      say(`${t.approved} ${meaningOf(approved)}`)
      onClose()
    },
  })
  useClosing(present.status !== 'needs_approval' && !action.isPending, t.moved, onClose)
  const address = destinationOf(refund)
  const isSentNow = address !== null || !goesToAddress(refund)
  return (
    <Dialog title={`${t.approveTitle} · ${t.order(refund.shortCode)}`} onClose={onClose}>
      <Form button={t.approve} isBusy={action.isPending} error={action.error} onSend={() => action.mutate(undefined)}>
        <p className="mb-4 text-2xl font-semibold">
          <Money amount={refund.amount} asset="USDC" />
        </p>
        {refund.withoutCover && <Notice tone="bad">{t.withoutCover}</Notice>}
        {refund.approvalReason === 'limit' && <Notice tone="warn">{t.limit}</Notice>}
        <Destination goal={{ ...refund, address }} />
        <p className="my-4">{isSentNow ? t.approveText : t.approveOpen}</p>
      </Form>
    </Dialog>
  )
}
