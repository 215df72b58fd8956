import { useInfiniteQuery } from '@tanstack/react-query'
import { call, type Data } from '../../api/call.ts'
import { useAddress } from '../../frame/address.ts'
import { useCompanyQuery } from '../../frame/company.tsx'
import { Check, Field } from '../../kit/fields.tsx'
import { LIVE_MS } from '../../kit/live.ts'
import { Badge, Code, Copy, Empty, Facts, Loaded, Page, Time } from '../../kit/parts.tsx'
import { useTexts } from '../../texts/lang.ts'
import { texts } from './texts.ts'

const LIMIT = 50
type Entry = Data<'listRequests'>['requests'][number]

/** What a shop's own programs asked of the API, and how it answered; found by the request id of an error. */
export function RequestLog() {
  const t = useTexts(texts)
  const [{ request: requestId, status }, go] = useAddress()
  const company = useCompanyQuery()
  const isFailed = status === 'failed'
  const filters = { ...company, ...(requestId ? { requestId } : {}), ...(isFailed ? { failed: true } : {}) }
  const log = useInfiniteQuery({
    queryKey: ['requests', filters],
    queryFn: ({ pageParam, signal }) =>
      call(
        'GET /api/next/request-log',
        { query: { ...filters, limit: LIMIT, ...(pageParam ? { before: pageParam } : {}) } },
        signal,
      ),
    initialPageParam: '',
    getNextPageParam: (last) => last.nextBefore,
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > 1 ? false : LIVE_MS),
  })
  const requests = { ...log, data: log.data?.pages.flatMap((page) => page.requests) }
  return (
    <Page title={t.title} lead={t.lead}>
      <Field
        label={t.id}
        type="search"
        className="max-w-md"
        maxLength={64}
        defaultValue={requestId ?? ''}
        onChange={({ target }) => go({ request: target.value.trim() || undefined }, { replace: true })}
      />
      <Check
        label={t.onlyFailed}
        checked={isFailed}
        onChange={({ target }) => go({ status: target.checked ? 'failed' : undefined }, { replace: true })}
      />
      <div className="panel">
        <Loaded
          query={requests}
          isEmpty={(list) => list.length === 0}
          empty={
            <Empty icon="inbox" title={t.empty}>
              {t.emptyText}
            </Empty>
          }
        >
          {(list) => (
            <ul className="divide-y divide-line">
              {list.map((entry) => (
                <li key={entry._id}>
                  <Row entry={entry} />
                </li>
              ))}
            </ul>
          )}
        </Loaded>
        {log.hasNextPage && (
          <p className="border-t border-line p-3 text-center">
            <button type="button" className="btn" onClick={() => void log.fetchNextPage()}>
              {t.older}
            </button>
          </p>
        )}
      </div>
    </Page>
  )
}

const toneOf = (status: number) => (status < 400 ? 'good' : status < 500 ? 'warn' : 'bad')

function Row({ entry }: { entry: Entry }) {
  const t = useTexts(texts)
  return (
    <details>
      <summary className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2.5 text-sm hover:bg-sunken">
        <Badge tone={toneOf(entry.status)}>{entry.status}</Badge>
        <span className="min-w-0 break-all">
          <strong>{entry.method}</strong> {entry.path}
        </span>
        {entry.errorCode && <span className="text-soft">{entry.errorCode}</span>}
        <span className="ml-auto text-soft">
          <Time at={entry.at} long /> · {entry.durationMs} ms
        </span>
      </summary>
      <div className="px-4 pb-4">
        <Facts
          rows={[
            [
              t.id,
              <span key="id" className="flex flex-wrap items-center gap-1">
                <Code text={entry.requestId} whole />
                <Copy text={entry.requestId} />
              </span>,
            ],
            [t.by, entry.name ?? entry.actor],
            [t.ip, entry.ip],
            ['User-Agent', entry.userAgent],
            ...(entry.errorCode
              ? ([
                  [
                    t.error,
                    <a
                      key="error"
                      className="link"
                      href={`/docs/errors/${entry.errorCode}`}
                      target="_blank"
                      rel="noreferrer"
                    >
                      {entry.errorCode}
                    </a>,
                  ],
                ] as [string, React.ReactNode][])
              : []),
          ]}
        />
      </div>
    </details>
  )
}
