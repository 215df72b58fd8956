import { call, type Data } from '../../api/call.ts'
import { useAction, useApi } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { Icon } from '../../kit/icons.tsx'
import { LIVE_MS } from '../../kit/live.ts'
import { Badge, Copy, copy, Dialog, Loaded, Refusal, Time } from '../../kit/parts.tsx'
import { useCore, useTexts } from '../../texts/lang.ts'
import { DeliveryStatus } from './DeliveryStatus.tsx'
import { Failure } from './Failure.tsx'
import { texts } from './texts.ts'

type Delivery = Data<'getWebhookDelivery'>

function pretty(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2)
  } catch {
    return body
  }
}

/** The request and its response, verbatim. */
export function DeliveryDialog({ id, onClose }: { id: string; onClose(): void }) {
  const t = useTexts(texts)
  const core = useCore()
  const can = useCan()
  const delivery = useApi('GET /api/next/webhook-deliveries/{id}', { path: { id } }, { liveMs: LIVE_MS })
  const again = useAction({
    run: () => call('POST /api/next/webhook-deliveries/{id}/redeliver', { path: { id } }),
    isAnew: true,
    done: t.again,
  })
  const curl = useAction({
    run: () => copy(call('GET /api/next/webhook-deliveries/{id}/curl', { path: { id } })),
    done: core.copied,
  })
  return (
    <Dialog title={t.detail} onClose={onClose}>
      <Loaded query={delivery}>
        {(data) => (
          <>
            <p className="mb-3 flex flex-wrap items-center gap-2">
              <strong>{data.event}</strong>
              <DeliveryStatus status={data.status} />
            </p>
            <Attempts attempts={data.attempts} />
            <h3 className="mb-1 font-semibold">{t.request}</h3>
            <p className="mb-2 font-mono text-[13px] break-all">{`${data.request.method} ${data.request.url}`}</p>
            <pre className="code mb-3 p-3 whitespace-pre-wrap">
              {Object.entries(data.request.headers)
                .map(([name, value]) => `${name}: ${value}`)
                .join('\n')}
            </pre>
            <pre className="code mb-3 p-3 whitespace-pre-wrap">{pretty(data.request.body)}</pre>
            <Refusal error={again.error ?? curl.error} />
            <div className="flex flex-wrap gap-2">
              {can('webhooks.redeliver') && (
                <button type="button" className="btn btn-fill" onClick={() => again.mutate(undefined)}>
                  {t.replay}
                </button>
              )}
              <Copy text={data.request.body} />
              {can('webhooks.curl') && (
                <button
                  type="button"
                  className="btn btn-quiet min-h-8 py-1 text-sm text-brand"
                  onClick={() => curl.mutate(undefined)}
                >
                  <Icon name="copy" size={16} />
                  {t.copyCurl}
                </button>
              )}
            </div>
          </>
        )}
      </Loaded>
    </Dialog>
  )
}

function Attempts({ attempts }: { attempts: Delivery['attempts'] }) {
  const t = useTexts(texts)
  return (
    <>
      <h3 className="mb-1 font-semibold">{t.attempts}</h3>
      {attempts.length === 0 && <p className="mb-3 text-soft">{t.none}</p>}
      <ol className="mb-4 space-y-2">
        {attempts.map((attempt) => (
          <li
            key={`${attempt.series}-${attempt.number}-${attempt.startedAt}`}
            className="rounded-lg border border-line p-3"
          >
            <p className="flex flex-wrap items-center gap-2 text-sm">
              <Badge tone={attempt.statusCode !== null && attempt.statusCode < 300 ? 'good' : 'bad'}>
                {attempt.statusCode ?? t.noAnswer}
              </Badge>
              <Time at={attempt.startedAt} long />
              {attempt.durationMs !== null && <span className="text-soft">{`${attempt.durationMs} ms`}</span>}
            </p>
            {attempt.errorCode !== null && (
              <p className="mt-1 text-sm">
                <Failure code={attempt.errorCode} />
              </p>
            )}
            {attempt.responseBody && (
              <pre className="code mt-2 max-h-40 overflow-auto p-2 whitespace-pre-wrap">{attempt.responseBody}</pre>
            )}
          </li>
        ))}
      </ol>
    </>
  )
}
