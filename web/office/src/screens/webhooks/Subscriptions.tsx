import { type Body, call, type Data } from '../../api/call.ts'
import { useAction, useApi } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { useCompanyQuery } from '../../frame/company.tsx'
import { Check, Form } from '../../kit/fields.tsx'
import { Badge, Loaded, Panel } from '../../kit/parts.tsx'
import { useCore, useTexts } from '../../texts/lang.ts'
import { texts } from './texts.ts'

type Answer = Data<'getWebhookSubscriptions'>

export function Subscriptions({ companyId }: { companyId: string }) {
  const t = useTexts(texts)
  const can = useCan()
  const subscriptions = useApi('GET /api/next/webhook-subscriptions', { query: useCompanyQuery() })
  return (
    <Panel title={t.events}>
      <Loaded query={subscriptions}>
        {(data) =>
          can('webhooks.subscribe') ? (
            <Choice answer={data} companyId={companyId} />
          ) : (
            <>
              <p className="mb-3 text-sm text-soft">{t.eventsText}</p>
              <ul className="flex flex-wrap gap-2">
                {data.events.map((event) => (
                  <li key={event}>
                    <Badge>{event}</Badge>
                  </li>
                ))}
              </ul>
            </>
          )
        }
      </Loaded>
    </Panel>
  )
}

function Choice({ answer, companyId }: { answer: Answer; companyId: string }) {
  const t = useTexts(texts)
  const core = useCore()
  const action = useAction({
    run: (events: string[]) =>
      call('PUT /api/next/webhook-subscriptions', {
        body: { events, companyId } as Body<'changeWebhookSubscriptions'>,
      }),
    done: t.eventsSaved,
  })
  return (
    <Form
      key={answer.events.join()}
      isGuarded
      button={core.save}
      isBusy={action.isPending}
      isSaved={action.isDone}
      error={action.error}
      onSend={(values) => action.mutate(Object.keys(values))}
    >
      {answer.available.map((event) => (
        <Check key={event} label={event} name={event} value="on" defaultChecked={answer.events.includes(event)} />
      ))}
    </Form>
  )
}
