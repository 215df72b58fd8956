import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { type Body, call } from '../../api/call.ts'
import { useAction, useApi, useOpening } from '../../api/hooks.ts'
import { toUnits } from '../../kit/decimal.ts'
import { readKind } from '../../kit/field-kinds.ts'
import { Area, Field, Form } from '../../kit/fields.tsx'
import { formatMoney } from '../../kit/format.ts'
import { LIVE_MS } from '../../kit/live.ts'
import { Dialog, Loaded, Notice } from '../../kit/parts.tsx'
import { useCore, useLang, useTexts } from '../../texts/lang.ts'
import { recordTexts } from './record-texts.ts'

type Props = {
  differenceId: string
  /** The order of which the provider's console sent a part back. */
  code: string
  onClose(): void
}

/** Records how much was refunded in a provider's console, where the provider does not say. */
export function RecordRefund({ differenceId, code, onClose }: Props) {
  const t = useTexts(recordTexts)
  const opening = useOpening()
  const path = { code }
  const refundable = useApi('GET /api/next/confirm_conversion/revert/{code}', { path }, { liveMs: LIVE_MS, opening })
  return (
    <Dialog title={t.title} onClose={onClose}>
      <p className="mb-4">{t.text}</p>
      <p className="mb-4">
        {t.order}{' '}
        <Link to="/orders/$code" params={path} className="link wrap-anywhere">
          {code}
        </Link>
      </p>
      <Loaded query={refundable}>
        {({ refundableAmount }) =>
          toUnits(refundableAmount) === 0n ? (
            <Notice tone="warn">{t.nothing}</Notice>
          ) : (
            <RecordForm differenceId={differenceId} left={refundableAmount} opening={opening} onClose={onClose} />
          )
        }
      </Loaded>
    </Dialog>
  )
}

type FormProps = { differenceId: string; left: string; opening: string; onClose(): void }

function RecordForm({ differenceId, left, opening, onClose }: FormProps) {
  const t = useTexts(recordTexts)
  const core = useCore()
  const lang = useLang()
  // of the opening: one whose answer was lost has taken its part since, and is sent again
  const [most] = useState(left)
  const [typed, setTyped] = useState('')
  const action = useAction({
    run: (body: Body<'recordRefund'>) => {
      const path = { id: differenceId }
      return call('POST /api/next/ledger/differences/{id}/refunded', { path, body, deed: { opening, typed: body } })
    },
    done: t.recorded,
    onDone: onClose,
  })
  const read = readKind('usdc', typed, lang)
  const isSum = 'value' in read && toUnits(read.value) !== 0n
  const button = isSum ? t.buttonOf(formatMoney(lang, read.value, 'USDC')) : t.button
  return (
    <Form
      button={button}
      isBusy={action.isPending}
      error={action.error}
      onSend={(values) => action.mutate(values as Body<'recordRefund'>)}
    >
      <Field
        label={t.amount}
        name="amount"
        kind="usdc"
        most={most}
        required
        autoComplete="off"
        hint={t.rest(formatMoney(lang, most, 'USDC'))}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
      />
      <Area label={t.reason} name="reason" required minLength={10} maxLength={500} hint={t.reasonHint} />
      <Field label={`${t.reference} (${core.optional})`} name="reference" minLength={4} maxLength={200} />
      <p className="mb-4 text-soft">{t.besides}</p>
    </Form>
  )
}
