import { useState } from 'react'
import { type Body, call, type Order } from '../../api/call.ts'
import { useAction, useOpening } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { Field, Form, Select } from '../../kit/fields.tsx'
import { Dialog } from '../../kit/parts.tsx'
import { LANG_NAMES, LANGS, useTexts } from '../../texts/lang.ts'
import { sendTexts } from './send-texts.ts'

const OPEN = ['INITIAL', 'PENDING', 'AWAITING']
const DAY_MS = 86_400_000

/** Mails the link of an order that waits for its payment. */
export function SendLink({ order }: { order: Order }) {
  const t = useTexts(sendTexts)
  const can = useCan()
  const [isAsked, setIsAsked] = useState(false)
  if (!OPEN.includes(order.status) || !can('orders.send')) return null
  return (
    <>
      <button type="button" className="btn" onClick={() => setIsAsked(true)}>
        {t.send}
      </button>
      {isAsked && <SendDialog order={order} onClose={() => setIsAsked(false)} />}
    </>
  )
}

function SendDialog({ order, onClose }: { order: Order; onClose(): void }) {
  const t = useTexts(sendTexts)
  const opening = useOpening()
  const mayRemind = Date.parse(order.expiresAt) - Date.now() > DAY_MS
  const action = useAction({
    run: (body: Body<'sendOrderLink'>) => {
      const path = { code: order.code }
      return call('POST /api/next/confirm_conversion/send/{code}', { path, body, deed: { opening, typed: body } })
    },
    done: t.sent,
    onDone: onClose,
  })
  return (
    <Dialog title={`${t.send} · ${order.shortCode}`} onClose={onClose}>
      <p className="mb-4 text-left text-sm text-soft">{t.text}</p>
      <div className="text-left">
        <Form
          button={t.submit}
          isBusy={action.isPending}
          error={action.error}
          onSend={({ email = '', language, remind }) =>
            action.mutate({
              email,
              ...(language ? { language: language as (typeof LANGS)[number] } : {}),
              ...(remind ? { remind: remind === 'once' } : {}),
            })
          }
        >
          <Field label={t.email} name="email" type="email" autoComplete="off" required maxLength={254} />
          <Select
            label={t.language}
            name="language"
            options={[['', t.anyLanguage] as const, ...LANGS.map((lang) => [lang, LANG_NAMES[lang]] as const)]}
          />
          {mayRemind && (
            <Select
              label={t.remind}
              name="remind"
              hint={t.remindHint}
              options={[
                ['', t.remindAsBefore],
                ['once', t.remindOnce],
                ['never', t.remindNever],
              ]}
            />
          )}
        </Form>
      </div>
    </Dialog>
  )
}
