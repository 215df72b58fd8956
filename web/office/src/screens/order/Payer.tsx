import { useState } from 'react'
import { call } from '../../api/call.ts'
import { useAction, useApi, useOpening } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { Form } from '../../kit/fields.tsx'
import { Dialog, Facts, Loaded, Panel } from '../../kit/parts.tsx'
import { useTexts } from '../../texts/lang.ts'
import { texts } from './texts.ts'

/** Personal data, behind a deliberate click that the audit log records. */
export function Payer({ code }: { code: string }) {
  const t = useTexts(texts)
  const [isOpen, setOpen] = useState(false)
  return (
    <Panel title={t.payer}>
      {isOpen ? (
        <PayerData code={code} />
      ) : (
        <>
          <p className="mb-3 text-sm text-soft">{t.payerText}</p>
          <button type="button" className="btn" onClick={() => setOpen(true)}>
            {t.payerShow}
          </button>
        </>
      )}
    </Panel>
  )
}

function PayerData({ code }: { code: string }) {
  const t = useTexts(texts)
  const can = useCan()
  const [isAsking, setAsking] = useState(false)
  const payer = useApi(
    'GET /api/next/confirm_conversion/payer-information/{code}',
    { path: { code } },
    { opening: useOpening(), isNoted: true },
  )
  const erase = useAction({
    run: () => call('DELETE /api/next/confirm_conversion/payer-information/{code}', { path: { code } }),
    done: t.erased,
    onDone: () => setAsking(false),
  })
  return (
    <Loaded query={payer} isEmpty={(data) => Object.keys(data ?? {}).length === 0} empty={<p>{t.payerNone}</p>}>
      {(data) => (
        <>
          <Facts rows={Object.entries(data).map(([name, value]) => [name, String(value)])} />
          {can('payers.erase') && (
            <button type="button" className="btn mt-4" onClick={() => setAsking(true)}>
              {t.erase}
            </button>
          )}
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
      )}
    </Loaded>
  )
}
