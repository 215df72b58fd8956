import { useState } from 'react'
import { call } from '../../api/call.ts'
import { useAction } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { useCompanyQuery } from '../../frame/company.tsx'
import { Form } from '../../kit/fields.tsx'
import { Code, Copy, Dialog, Panel, Refusal } from '../../kit/parts.tsx'
import { useTexts } from '../../texts/lang.ts'
import { Rotation } from './Rotation.tsx'
import { texts } from './texts.ts'

/** Shown after a fresh code, kept only in this component, and gone when the page is left. */
export function Secret() {
  const t = useTexts(texts)
  const can = useCan()
  const query = useCompanyQuery()
  const [secret, setSecret] = useState<string | null>(null)
  const [isAsking, setAsking] = useState(false)
  const [isInSteps, setInSteps] = useState(false)
  const reveal = useAction({
    run: () => call('GET /api/users/webhook-secret', { query }),
    onDone: ({ webhookSigningSecret }) => setSecret(webhookSigningSecret),
  })
  return (
    <Panel title={t.secret}>
      <p className="mb-3 text-sm text-soft">{t.secretText}</p>
      {secret && (
        <p className="mb-3 flex flex-wrap items-center gap-1">
          <Code text={secret} whole />
          <Copy text={secret} />
        </p>
      )}
      <Refusal error={reveal.error} />
      <div className="flex flex-wrap gap-2">
        <button type="button" className="btn" onClick={() => (secret ? setSecret(null) : reveal.mutate(undefined))}>
          {secret ? t.hide : t.reveal}
        </button>
        {can('webhooks.regenerate') && (
          <>
            <button type="button" className="btn" onClick={() => setInSteps(true)}>
              {t.inSteps}
            </button>
            <button type="button" className="btn" onClick={() => setAsking(true)}>
              {t.rotate}
            </button>
          </>
        )}
      </div>
      {isInSteps && (
        <Rotation
          onClose={() => setInSteps(false)}
          onActive={() => {
            // what is shown here signs nothing any more
            setSecret(null)
            setInSteps(false)
          }}
        />
      )}
      {isAsking && (
        <Rotate
          onClose={() => setAsking(false)}
          onActive={(made) => {
            setSecret(made)
            setAsking(false)
          }}
        />
      )}
    </Panel>
  )
}

function Rotate({ onClose, onActive }: { onClose(): void; onActive(secret: string): void }) {
  const t = useTexts(texts)
  const query = useCompanyQuery()
  const rotate = useAction({
    run: () => call('POST /api/users/webhook-secret/regenerate', { query }),
    done: t.rotated,
    onDone: ({ webhookSigningSecret }) => onActive(webhookSigningSecret),
  })
  return (
    <Dialog title={t.rotate} onClose={onClose}>
      <Form
        tone="bad"
        button={t.rotate}
        isBusy={rotate.isPending}
        error={rotate.error}
        onSend={() => rotate.mutate(undefined)}
        beside={
          <button type="button" className="btn" onClick={onClose}>
            {t.keep}
          </button>
        }
      >
        <p className="mb-4">{t.rotateText}</p>
      </Form>
    </Dialog>
  )
}
