import { useState } from 'react'
import { type Body, call, type Data } from '../../api/call.ts'
import { useAction } from '../../api/hooks.ts'
import { useCompanyQuery } from '../../frame/company.tsx'
import { Field, Form, Select } from '../../kit/fields.tsx'
import { Panel } from '../../kit/parts.tsx'
import { useTexts } from '../../texts/lang.ts'
import { TestOutcome } from './TestOutcome.tsx'
import { texts } from './test-texts.ts'

const EVENTS = [
  ...['order.paid', 'order.initial', 'order.pending', 'order.awaiting', 'order.waiting_chain_confirmation'],
  ...['order.cancelled', 'order.error', 'order.expired', 'order.kyt_failed'],
  ...['order.refunding', 'order.refunded', 'order.full_refunded'],
  ...['kyc.pending', 'kyc.approved', 'kyc.refused', 'kyc.edd_completed'],
] as const
type Result = Data<'sendTestWebhook'>

/** Sends one signed event to test a receiver: needs no order, and shows the response at once. */
export function TestEvent() {
  const t = useTexts(texts)
  const company = useCompanyQuery()
  const [result, setResult] = useState<Result | null>(null)
  const action = useAction({
    run: ({ url = '', event = '' }: Record<string, string>) =>
      call('POST /api/next/webhook-deliveries/test', {
        body: { ...company, url, event } as Body<'sendTestWebhook'>,
      }),
    isAnew: true,
    onDone: setResult,
  })
  return (
    <Panel title={t.title}>
      <p className="mb-3 text-sm text-soft">{t.text}</p>
      <Form button={t.send} isBusy={action.isPending} error={action.error} onSend={(values) => action.mutate(values)}>
        <Field
          label={t.url}
          name="url"
          type="url"
          required
          maxLength={2048}
          placeholder="https://shop.example/webhooks"
        />
        <Select label={t.event} name="event" options={EVENTS.map((event) => [event, event] as const)} />
      </Form>
      {result && !action.isPending && !action.error && <Outcome result={result} />}
    </Panel>
  )
}

function Outcome({ result }: { result: Result }) {
  const t = useTexts(texts)
  return (
    <div role="status" className="mt-4">
      <TestOutcome result={result} />
      {result.responseBody && (
        <pre className="code mb-2 max-h-40 overflow-auto p-2 whitespace-pre-wrap">{result.responseBody}</pre>
      )}
      <details>
        <summary className="text-sm text-soft">{t.sent}</summary>
        <pre className="code mt-2 max-h-60 overflow-auto p-2 whitespace-pre-wrap">{result.body}</pre>
      </details>
    </div>
  )
}
