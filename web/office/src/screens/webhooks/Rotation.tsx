import { useState } from 'react'
import { ApiError, call, type Data } from '../../api/call.ts'
import { useAction } from '../../api/hooks.ts'
import { useCompanyQuery } from '../../frame/company.tsx'
import { Field, Form } from '../../kit/fields.tsx'
import { Code, Copy, Dialog, Notice, Refusal } from '../../kit/parts.tsx'
import { useTexts } from '../../texts/lang.ts'
import { texts } from './rotation-texts.ts'
import { TestOutcome } from './TestOutcome.tsx'
import { texts as testTexts } from './test-texts.ts'
import { texts as webhookTexts } from './texts.ts'

/**
 * A new secret without a gap. Whoever prepared one and left, to put it on the server, goes on with its last characters.
 */
export function Rotation({ onClose, onActive }: { onClose(): void; onActive(): void }) {
  const t = useTexts(texts)
  const query = useCompanyQuery()
  const [secret, setSecret] = useState<string | null>(null)
  const [hasOne, setHasOne] = useState(false)
  const prepare = useAction({
    run: () => call('POST /api/users/webhook-secret/next', { query }),
    onDone: ({ webhookSigningSecret }) => setSecret(webhookSigningSecret),
  })
  return (
    <Dialog title={t.title} onClose={onClose} isOnce={secret !== null}>
      <p className="mb-4">{t.lead}</p>
      <h3 className="mb-1 font-semibold">{t.prepare}</h3>
      <p className="mb-3 text-sm text-soft">{t.prepareText}</p>
      {secret !== null && (
        <>
          <Notice tone="warn">{t.prepared}</Notice>
          <p className="mb-3 flex flex-wrap items-center gap-1">
            <Code text={secret} whole />
            <Copy text={secret} />
          </p>
        </>
      )}
      <Refusal error={prepare.error} />
      <div className="mb-5 flex flex-wrap gap-2">
        <button
          type="button"
          className={secret === null ? 'btn btn-fill' : 'btn'}
          aria-busy={prepare.isPending}
          disabled={prepare.isPending}
          onClick={() => prepare.mutate(undefined)}
        >
          {t.prepareButton}
        </button>
        {secret === null && !hasOne && (
          <button type="button" className="btn" onClick={() => setHasOne(true)}>
            {t.hasOne}
          </button>
        )}
      </div>
      {(secret !== null || hasOne) && (
        <div key={secret}>
          <Test />
          <Activate secret={secret} onActive={onActive} />
        </div>
      )}
    </Dialog>
  )
}

/** The service names the way of a program out of a conflict. */
const inWords = (error: unknown, conflict: string): unknown =>
  error instanceof ApiError && error.code === 'OBJECT_CONFLICT' ? new Error(conflict) : error

function Test() {
  const t = useTexts(texts)
  const company = useCompanyQuery()
  const [result, setResult] = useState<Data<'testWebhookSecret'> | null>(null)
  const send = useAction({
    run: ({ url = '' }: Record<string, string>) =>
      call('POST /api/users/webhook-secret/next/test', { body: { ...company, url } }),
    isAnew: true,
    onDone: setResult,
  })
  return (
    <div className="mb-5">
      <h3 className="mb-1 font-semibold">{t.test}</h3>
      <p className="mb-3 text-sm text-soft">{t.testText}</p>
      <Form
        button={t.testButton}
        isBusy={send.isPending}
        error={inWords(send.error, t.conflict)}
        onSend={(values) => send.mutate(values)}
      >
        <Field
          label={useTexts(testTexts).url}
          name="url"
          type="url"
          required
          maxLength={2048}
          placeholder="https://shop.example/webhooks"
        />
      </Form>
      {result && !send.isPending && !send.error && (
        <div role="status" className="mt-4">
          <TestOutcome result={result} />
        </div>
      )}
    </div>
  )
}

function Activate({ secret, onActive }: { secret: string | null; onActive(): void }) {
  const t = useTexts(texts)
  const query = useCompanyQuery()
  const activate = useAction({
    run: ({ endsWith = '' }: Record<string, string>) =>
      call('POST /api/users/webhook-secret/next/activate', { query, body: { endsWith } }),
    done: useTexts(webhookTexts).rotated,
    onDone: onActive,
  })
  return (
    <>
      <h3 className="mb-1 font-semibold">{t.activate}</h3>
      <p className="mb-3 text-sm text-soft">{t.activateText}</p>
      <Form
        button={t.activateButton}
        isBusy={activate.isPending}
        error={inWords(activate.error, t.conflict)}
        onSend={(values) => activate.mutate(values)}
      >
        <Field
          label={t.end}
          hint={t.endHint}
          name="endsWith"
          required
          minLength={8}
          maxLength={50}
          autoComplete="off"
          spellCheck={false}
          defaultValue={secret?.slice(-12)}
        />
      </Form>
    </>
  )
}
