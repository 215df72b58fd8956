import { useState } from 'react'
import { type Body, call } from '../../api/call.ts'
import { useAction } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { Area, Field, Form } from '../../kit/fields.tsx'
import { Offers } from '../../kit/lists.tsx'
import { Dialog, Refusal } from '../../kit/parts.tsx'
import { useCore, useTexts } from '../../texts/lang.ts'
import type { Refund } from './RefundList.tsx'
import { texts } from './texts.ts'

type Ask = 'reject' | 'address' | 'transaction' | 'settle'

/** What this person may do with a refund in this state. */
export function RefundActions({ refund }: { refund: Refund }) {
  const t = useTexts(texts)
  const can = useCan()
  const [ask, setAsk] = useState<Ask | null>(null)
  const path = { id: refund._id }
  const approve = useAction({
    run: () => call('POST /api/next/refunds/{id}/approve', { path }),
    done: t.approved,
  })
  const isOpen = refund.status === 'ready' || refund.status === 'submitted'
  const offers: [Ask, boolean][] = [
    ['reject', refund.status === 'needs_approval' && can('refunds.decide')],
    ['address', refund.status === 'needs_address' && can('refunds.revert')],
    ['transaction', isOpen && refund.channel === 'crypto' && can('refunds.revert')],
    ['settle', isOpen && refund.channel !== 'crypto' && can('refunds.settle')],
  ]
  return (
    <>
      <Refusal error={approve.error} />
      <Offers offers={offers} words={t} onAsk={setAsk}>
        {refund.status === 'needs_approval' && can('refunds.decide') && (
          <button type="button" className="btn btn-fill" onClick={() => approve.mutate(undefined)}>
            {t.approve}
          </button>
        )}
      </Offers>
      {ask && <AskDialog ask={ask} refund={refund} onClose={() => setAsk(null)} />}
    </>
  )
}

function send(ask: Ask, id: string, { statement = '', ...values }: Record<string, string>): Promise<unknown> {
  const path = { id }
  if (ask === 'reject')
    return call('POST /api/next/refunds/{id}/reject', { path, body: values as Body<'rejectRefund'> })
  if (ask === 'settle') {
    const body = { ...values, statement } as Body<'settleRefund'>
    return call('POST /api/next/refunds/{id}/settle', { path, body })
  }
  if (ask === 'transaction') {
    const body = values as Body<'reportRefundTransaction'>
    return call('POST /api/next/refunds/{id}/transaction', { path, body })
  }
  const body = { ...values, ...(statement ? { addressProof: { statement } } : {}) } as Body<'setRefundAddress'>
  return call('POST /api/next/refunds/{id}/address', { path, body })
}

function AskDialog({ ask, refund, onClose }: { ask: Ask; refund: Refund; onClose(): void }) {
  const t = useTexts(texts)
  const core = useCore()
  const action = useAction({
    run: (values: Record<string, string>) => send(ask, refund._id, values),
    done: t.done,
    onDone: onClose,
  })
  return (
    <Dialog title={t[ask]} onClose={onClose}>
      <Form
        button={t[ask]}
        tone={ask === 'reject' ? 'bad' : 'fill'}
        isBusy={action.isPending}
        error={action.error}
        onSend={(values) => action.mutate(values)}
      >
        {ask === 'reject' && <Area label={core.reason} name="reason" required maxLength={500} />}
        {ask === 'address' && (
          <>
            <p className="mb-4 text-soft">{t.addressText}</p>
            <Field label={t.addressLabel} name="address" required pattern="0x[0-9a-fA-F]{40}" spellCheck={false} />
            <Area label={`${t.statement} (${core.optional})`} name="statement" maxLength={500} />
          </>
        )}
        {ask === 'transaction' && (
          <>
            <p className="mb-4 text-soft">{t.transactionText}</p>
            <Field label={t.transactionLabel} name="txHash" required pattern="0x[0-9a-fA-F]{64}" spellCheck={false} />
          </>
        )}
        {ask === 'settle' && (
          <>
            <p className="mb-4 text-soft">{t.settleText}</p>
            <Field label={t.reference} name="reference" required maxLength={200} />
            <Area label={t.proof} name="statement" required minLength={10} maxLength={1000} />
          </>
        )}
      </Form>
    </Dialog>
  )
}
