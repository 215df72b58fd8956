import { useState } from 'react'
import { type Body, call, type Deed, request } from '../../api/call.ts'
import { useAction, useOpening, useShown } from '../../api/hooks.ts'
import { useCan, useSession } from '../../api/session.ts'
import { findHold, type Hold, transactionIn } from '../../frame/holds.ts'
import { Area, Field, Form } from '../../kit/fields.tsx'
import { readBase64, saveAs } from '../../kit/files.ts'
import { Icon } from '../../kit/icons.tsx'
import { Offers } from '../../kit/lists.tsx'
import { Dialog, Notice, Refusal } from '../../kit/parts.tsx'
import { say } from '../../kit/toasts.tsx'
import { useCore, useTexts } from '../../texts/lang.ts'
import { Approve } from './Approve.tsx'
import { useMeaning } from './meaning.ts'
import { asksForWord, isOnChain, type Refund, sendsIt, writerWords } from './refund.ts'
import { texts } from './texts.ts'

type Ask = 'reject' | 'confirm' | 'address' | 'transaction' | 'settle' | 'addProof'

const MAX_PROOF_BYTES = 1_000_000

/** What this person may do with a refund in this state. */
export function RefundActions({ refund }: { refund: Refund }) {
  const t = useTexts(texts)
  const can = useCan()
  const { user } = useSession()
  const [ask, setAsk] = useState<Ask | null>(null)
  const [isApproving, setApproving] = useState(false)
  const download = useAction({ run: () => saveProof(refund) })
  const { status, message } = refund
  const hold = findHold(message)
  const isOpen = status === 'ready' || status === 'submitted'
  // a SuperAdmin may do it for a company, too
  const isSender = can('refunds.decide') || sendsIt(refund, false)
  const offers: [Ask, boolean][] = [
    ['reject', isRejectable(refund, hold) && can('refunds.decide')],
    ['confirm', asksForWord(refund, user._id) && can('refunds.revert')],
    ['address', refund.status === 'needs_address' && can('refunds.revert')],
    [
      'transaction',
      isOpen && isOnChain(refund) && hold !== 'chain' && !isForAnother(hold) && isSender && can('refunds.revert'),
    ],
    ['settle', isOpen && (!isOnChain(refund) || hold === 'chain') && isSender && can('refunds.settle')],
    ['addProof', refund.settledByHand && refund.proof === null && can('refunds.settle')],
  ]
  return (
    <>
      <Refusal error={download.error} />
      <Offers offers={offers} words={t} onAsk={setAsk}>
        {refund.status === 'needs_approval' && can('refunds.decide') && (
          <button type="button" className="btn btn-fill" onClick={() => setApproving(true)}>
            {t.approve}
          </button>
        )}
        {refund.proof?.erasedAt === null && can('payers.read') && (
          <button type="button" className="btn" onClick={() => download.mutate(undefined)}>
            <Icon name="download" size={18} />
            {t.proofFile}
          </button>
        )}
      </Offers>
      {isApproving && <Approve present={refund} onClose={() => setApproving(false)} />}
      {ask && <AskDialog ask={ask} present={refund} onClose={() => setAsk(null)} />}
    </>
  )
}

/** What was sent can only be rejected after a restore, or once the reported transaction is gone. */
const isRejectable = (refund: Refund, hold: Hold | null): boolean =>
  refund.status === 'submitted'
    ? isUsed(hold) || hold === 'named' || (isOnChain(refund) && transactionIn(refund.message) === '')
    : ['needs_approval', 'needs_address', 'ready'].includes(refund.status)

/** The named transaction is reported for another refund, never for this one. */
const isForAnother = (hold: Hold | null): boolean => hold === 'another' || hold === 'unfinished' || isUsed(hold)

/** Its authorization pays nothing any more. */
const isUsed = (hold: Hold | null): boolean => hold === 'otherwise' || hold === 'cancelled'

async function saveProof({ _id, proof }: Refund): Promise<void> {
  const response = await request({ method: 'GET', url: `/api/next/refunds/${_id}/proof`, body: undefined, key: null })
  const ending = proof?.mime === 'application/pdf' ? 'pdf' : 'webp'
  saveAs({ blob: await response.blob(), name: `refund-${_id}.${ending}` })
}

type Sent = { values: Record<string, string>; file: string | undefined; opening: string }

function send(ask: Ask, id: string, sent: Sent): Promise<unknown> {
  const { statement = '', evidence = '', ...values } = sent.values
  const { file, opening } = sent
  const to = { path: { id }, deed: { opening, typed: [sent.values, file] } satisfies Deed }
  if (ask === 'reject')
    return call('POST /api/next/refunds/{id}/reject', { ...to, body: values as Body<'rejectRefund'> })
  if (ask === 'settle') {
    const body = { ...values, statement, ...(file ? { proof: file } : {}) } as Body<'settleRefund'>
    return call('POST /api/next/refunds/{id}/settle', { ...to, body })
  }
  if (ask === 'addProof') return call('POST /api/next/refunds/{id}/proof', { ...to, body: { file: file ?? '' } })
  if (ask === 'transaction') {
    const body = values as Body<'reportRefundTransaction'>
    return call('POST /api/next/refunds/{id}/transaction', { ...to, body })
  }
  const { address = '' } = values
  const body = ask === 'confirm' ? { address, addressProof: { statement, evidence } } : { address }
  return call('POST /api/next/refunds/{id}/address', { ...to, body })
}

function fileOf(form: HTMLFormElement): File | undefined {
  const file = new FormData(form).get('file')
  return file instanceof File && file.size > 0 ? file : undefined
}

function ProofField({ label, required = false }: { label: string; required?: boolean }) {
  const t = useTexts(texts)
  const accept = 'image/png,image/jpeg,image/webp,application/pdf'
  return <Field label={label} name="file" type="file" accept={accept} hint={t.proofHint} required={required} />
}

type AskProps = { ask: Ask; refund: Refund }

/** @param present the refund as it is now */
function AskDialog({ ask, present, onClose }: { ask: Ask; present: Refund; onClose(): void }) {
  const refund = useShown(present)
  const t = useTexts(texts)
  const meaningOf = useMeaning()
  const opening = useOpening()
  const isChanged = ask === 'confirm' && present.proposedAddress !== refund.proposedAddress
  const action = useAction({
    run: async ({ values, file }: { values: Record<string, string>; file: File | undefined }) => {
      if (file && file.size > MAX_PROOF_BYTES) throw new Error(t.tooLarge)
      return send(ask, refund._id, { values, file: file && (await readBase64(file)), opening })
    },
    onDone: (sent) => {
      const isOnce = ask === 'confirm' && (sent as Refund).status === 'needs_address'
      say(isOnce ? t.confirmedOnce : ask === 'confirm' ? `${t.confirmed} ${meaningOf(sent as Refund)}` : t.done)
      onClose()
    },
  })
  return (
    <Dialog title={t[ask]} onClose={onClose}>
      <Form
        button={t[ask]}
        tone={ask === 'reject' ? 'bad' : 'fill'}
        isBusy={action.isPending}
        isBlocked={isChanged}
        error={isChanged ? null : action.error}
        onSend={(values, form) => action.mutate({ values, file: fileOf(form) })}
      >
        <Fields ask={ask} refund={refund} />
        {isChanged && <Notice tone="bad">{t.changedMeanwhile}</Notice>}
      </Form>
    </Dialog>
  )
}

function Fields({ ask, refund }: AskProps) {
  const t = useTexts(texts)
  const core = useCore()
  switch (ask) {
    case 'reject':
      return (
        <>
          {refund.toSendByHand && <Notice tone="warn">{t.rejectByHand}</Notice>}
          <Area label={core.reason} name="reason" required maxLength={256} />
        </>
      )
    case 'confirm':
      return <ConfirmFields refund={refund} />
    case 'address':
      return (
        <>
          <p className="mb-4 text-soft">{t.addressText}</p>
          <Field label={t.addressLabel} name="address" required kind="wallet" />
        </>
      )
    case 'transaction':
      return (
        <>
          <p className="mb-4 text-soft">{t.transactionText}</p>
          <Field
            label={t.transactionLabel}
            name="txHash"
            required
            kind="transaction"
            defaultValue={transactionIn(refund.message)}
          />
        </>
      )
    case 'settle':
      return (
        <>
          <p className="mb-4 text-soft">{t.settleText}</p>
          <Field label={t.reference} name="reference" required maxLength={200} />
          <Area label={t.proof} name="statement" required minLength={10} maxLength={500} />
          <ProofField label={`${t.proofFile} (${core.optional})`} />
        </>
      )
    case 'addProof':
      return <ProofField label={t.proofFile} required />
  }
}

/** The word of a second person for an address that another one named. */
function ConfirmFields({ refund }: Pick<AskProps, 'refund'>) {
  const t = useTexts(texts)
  const { proposedAddress, proposer } = refund
  return (
    <>
      <p className="mb-4 text-soft">{t.confirmText}</p>
      {proposer && (
        <p className="mb-4">
          {t.proposer}: {writerWords(t, proposer)}
        </p>
      )}
      {proposer?.by.startsWith('apiKey:') && <Notice tone="warn">{t.keyText}</Notice>}
      <Field label={t.addressLabel} name="address" className="font-mono" value={proposedAddress ?? ''} readOnly />
      <Area label={t.statement} name="statement" required minLength={10} maxLength={500} />
      <Field label={t.evidence} name="evidence" required maxLength={256} hint={t.evidenceHint} />
    </>
  )
}
