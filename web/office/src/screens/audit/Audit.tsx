import { useInfiniteQuery } from '@tanstack/react-query'
import { call, type Data } from '../../api/call.ts'
import { useAction } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { useAddress } from '../../frame/address.ts'
import { Field } from '../../kit/fields.tsx'
import { Badge, Empty, Facts, Loaded, Page, Refusal, Time } from '../../kit/parts.tsx'
import { useTexts } from '../../texts/lang.ts'
import { texts } from './texts.ts'

const LIMIT = 50
const FILTERS = ['action', 'actor', 'object'] as const
type Filters = Partial<Record<(typeof FILTERS)[number], string>>
type Entry = Data<'listAuditLog'>['entries'][number]

export function Audit() {
  const t = useTexts(texts)
  const can = useCan()
  const [search, go] = useAddress()
  const filters = Object.fromEntries(FILTERS.flatMap((name) => (search[name] ? [[name, search[name]]] : [])))
  const log = useInfiniteQuery({
    queryKey: ['audit-log', filters],
    queryFn: ({ pageParam, signal }) =>
      call(
        'GET /api/next/audit-log',
        { query: { ...filters, limit: LIMIT, ...(pageParam ? { before: pageParam } : {}) } },
        signal,
      ),
    initialPageParam: '',
    getNextPageParam: (last) => last.nextBefore,
  })
  const put = (name: keyof Filters) => (event: { target: { value: string } }) =>
    go({ [name]: event.target.value.trim() || undefined }, { replace: true })
  const entries = { ...log, data: log.data?.pages.flatMap((page) => page.entries) }
  return (
    <Page title={t.title} lead={t.lead} actions={can('audit.verify') && <Prove />}>
      <div className="grid gap-x-3 sm:grid-cols-3">
        {FILTERS.map((name) => (
          <Field
            key={name}
            label={t[name]}
            type="search"
            maxLength={100}
            defaultValue={search[name] ?? ''}
            placeholder={name === 'action' ? t.hintAction : undefined}
            onChange={put(name)}
          />
        ))}
      </div>
      <div className="panel">
        <Loaded query={entries} isEmpty={(list) => list.length === 0} empty={<Empty icon="book" title={t.empty} />}>
          {(list) => (
            <ul className="divide-y divide-line">
              {list.map((entry) => (
                <li key={entry.seq}>
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

/** Computes the whole chain again and says whether every entry is as it was written. */
function Prove() {
  const t = useTexts(texts)
  const prove = useAction({ run: () => call('POST /api/next/audit-log/verify') })
  return (
    <div className="flex flex-wrap items-center gap-3">
      <button type="button" className="btn" disabled={prove.isPending} onClick={() => prove.mutate(undefined)}>
        {prove.isPending ? t.proving : t.prove}
      </button>
      <span role="status">
        {prove.data &&
          (prove.data.fault ? (
            <Badge tone="bad">{t.broken(prove.data.fault.seq, prove.data.fault.reason)}</Badge>
          ) : (
            <Badge tone="good">{t.whole(prove.data.entries)}</Badge>
          ))}
      </span>
      <Refusal error={prove.error} />
    </div>
  )
}

function Row({ entry }: { entry: Entry }) {
  const t = useTexts(texts)
  return (
    <details>
      <summary className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2.5 text-sm hover:bg-sunken">
        <Time at={entry.at} long />
        <strong>{entry.action}</strong>
        <Badge tone={entry.result === 'ok' ? 'good' : 'bad'}>{entry.result === 'ok' ? t.ok : t.refused}</Badge>
        <span className="min-w-0 break-all text-soft">{entry.actor}</span>
      </summary>
      <div className="px-4 pb-4">
        <Facts
          rows={[
            ['#', entry.seq],
            [t.object, entry.object],
            ['IP', entry.ip],
            [t.requestId, entry.requestId],
            ['User-Agent', entry.userAgent],
          ]}
        />
        {Object.keys(entry.detail).length > 0 && (
          <pre className="code mt-2 p-3 whitespace-pre-wrap">{JSON.stringify(entry.detail, null, 2)}</pre>
        )}
      </div>
    </details>
  )
}
