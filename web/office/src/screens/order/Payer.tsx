import { useState } from 'react'
import { call, type Order } from '../../api/call.ts'
import { useAction, useApi, useOpening } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { Form } from '../../kit/fields.tsx'
import { Dialog, Facts, Loaded, Notice, Panel } from '../../kit/parts.tsx'
import { say } from '../../kit/toasts.tsx'
import { type Lang, useLang, useTexts } from '../../texts/lang.ts'
import { PayerForm } from './PayerForm.tsx'
import { type PayerFields, payerTexts } from './payer-texts.ts'

/** Personal data, behind a deliberate click that the audit log records. Who may only write it sees no more of it. */
export function Payer({ order }: { order: Order }) {
  const t = useTexts(payerTexts)
  const can = useCan()
  const [isOpen, setOpen] = useState(false)
  const [notesThen, setNotesThen] = useState(0)
  // the question of the notes beside it: they are removed, or written, after the erasure
  const path = { code: order.code }
  const notes = useApi('GET /api/next/confirm_conversion/notes/{code}', { path }, { enabled: notesThen > 0 })
  const notesLeft = notesThen > 0 ? (notes.data?.notes.length ?? notesThen) : 0
  const onErased = (count: number): void => {
    setOpen(false)
    setNotesThen(count)
  }
  return (
    <Panel title={t.payer}>
      {notesLeft > 0 && <Notice tone="warn">{t.notesLeft(notesLeft)}</Notice>}
      {isOpen ? (
        <PayerData order={order} onErased={onErased} />
      ) : (
        <>
          {can('payers.read') && (
            <>
              <p className="mb-3 text-sm text-soft">{t.text}</p>
              <button type="button" className="btn" onClick={() => setOpen(true)}>
                {t.show}
              </button>
            </>
          )}
          <Enter order={order} known={{}} />
        </>
      )}
    </Panel>
  )
}

function PayerData({ order, onErased }: { order: Order; onErased(count: number): void }) {
  const t = useTexts(payerTexts)
  const lang = useLang()
  const can = useCan()
  const payer = useApi(
    'GET /api/next/confirm_conversion/payer-information/{code}',
    { path: { code: order.code } },
    { opening: useOpening(), isNoted: true },
  )
  return (
    <Loaded query={payer}>
      {(data) => {
        const rows = rowsOf(data, t, lang)
        return (
          <>
            {rows.length > 0 ? <Facts rows={rows} /> : <p className="mb-3 text-sm text-soft">{t.none}</p>}
            <Enter order={order} known={data} />
            {/* also where nothing is shown: more than these fields may be stored */}
            {can('payers.erase') && <Erase code={order.code} onErased={onErased} />}
          </>
        )
      }}
    </Loaded>
  )
}

function rowsOf(data: PayerFields, t: (typeof payerTexts)['en'], lang: Lang): [string, string][] {
  const show = (name: keyof PayerFields): string => {
    const value = data[name]
    if (typeof value === 'boolean') return value ? t.yes : t.no
    if (name === 'country') return new Intl.DisplayNames(lang, { type: 'region' }).of(String(value)) ?? String(value)
    return String(value)
  }
  const names = Object.keys(t.labels) as (keyof PayerFields)[]
  return names.filter((name) => data[name] !== undefined).map((name) => [t.labels[name], show(name)])
}

function Enter({ order, known }: { order: Order; known: PayerFields }) {
  const t = useTexts(payerTexts)
  const can = useCan()
  const [isAsking, setAsking] = useState(false)
  if (!can('orders.payer')) return null
  return (
    <>
      <button type="button" className="btn mt-3 mr-2" onClick={() => setAsking(true)}>
        {Object.keys(known).length > 0 ? t.correct : t.enter}
      </button>
      {isAsking && <PayerForm order={order} known={known} onClose={() => setAsking(false)} />}
    </>
  )
}

function Erase({ code, onErased }: { code: string; onErased(count: number): void }) {
  const t = useTexts(payerTexts)
  const [isAsking, setAsking] = useState(false)
  const erase = useAction({
    run: () => call('DELETE /api/next/confirm_conversion/payer-information/{code}', { path: { code } }),
    onDone: ({ erased, notes }) => {
      say(erased ? t.erased : t.nothingErased)
      // an older node does not count them
      onErased(notes ?? 0)
    },
  })
  return (
    <>
      <button type="button" className="btn mt-3" onClick={() => setAsking(true)}>
        {t.erase}
      </button>
      {isAsking && (
        <Dialog title={t.erase} onClose={() => setAsking(false)}>
          <Form
            tone="bad"
            button={t.erase}
            isBusy={erase.isPending}
            error={erase.error}
            onSend={() => erase.mutate(undefined)}
          >
            <p className="mb-4">{t.eraseText}</p>
          </Form>
        </Dialog>
      )}
    </>
  )
}
