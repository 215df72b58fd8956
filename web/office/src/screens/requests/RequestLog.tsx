import { call, type Data } from '../../api/call.ts'
import { useAddress } from '../../frame/address.ts'
import { useCompanyQuery } from '../../frame/company.tsx'
import { Check } from '../../kit/fields.tsx'
import { EndlessList, FilterRow, LogRow } from '../../kit/lists.tsx'
import { Badge, Code, Copy, Empty, Facts, Page, Time } from '../../kit/parts.tsx'
import { useTexts } from '../../texts/lang.ts'
import { texts } from './texts.ts'

const LIMIT = 50
type Entry = Data<'listRequests'>['requests'][number]

/** API requests of a shop's own programs, with their responses; an error's request id finds its request. */
export function RequestLog() {
  const t = useTexts(texts)
  const [{ request: requestId, status }, go] = useAddress()
  const company = useCompanyQuery()
  const isFailed = status === 'failed'
  const filters = { ...company, ...(requestId ? { requestId } : {}), ...(isFailed ? { failed: true } : {}) }
  return (
    <Page title={t.title} lead={t.lead}>
      <FilterRow filters={[{ name: 'request', label: t.id }]} />
      <Check
        label={t.onlyFailed}
        checked={isFailed}
        onChange={({ target }) => go({ status: target.checked ? 'failed' : undefined }, { replace: true })}
      />
      <EndlessList
        queryKey={['requests', filters]}
        ask={(before, signal) =>
          call(
            'GET /api/next/request-log',
            { query: { ...filters, limit: LIMIT, ...(before ? { before } : {}) } },
            signal,
          )
        }
        nextOf={(page) => page.nextBefore}
        rowsOf={(page) => page.requests}
        keyOf={(entry) => entry._id}
        older={t.older}
        isLive
        empty={
          <Empty icon="inbox" title={t.empty}>
            {t.emptyText}
          </Empty>
        }
      >
        {(entry) => <Row entry={entry} />}
      </EndlessList>
    </Page>
  )
}

const toneOf = (status: number) => (status < 400 ? 'good' : status < 500 ? 'warn' : 'bad')

function Row({ entry }: { entry: Entry }) {
  const t = useTexts(texts)
  const head = (
    <>
      <Badge tone={toneOf(entry.status)}>{entry.status}</Badge>
      <span className="min-w-0 break-all">
        <strong>{entry.method}</strong> {entry.path}
      </span>
      {entry.errorCode && <span className="text-soft">{entry.errorCode}</span>}
      <span className="ml-auto text-soft">
        <Time at={entry.at} long /> · {entry.durationMs} ms
      </span>
    </>
  )
  const rows: [string, React.ReactNode][] = [
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
  ]
  if (entry.errorCode)
    rows.push([
      t.error,
      <a key="error" className="link" href={`/docs/errors/${entry.errorCode}`} target="_blank" rel="noreferrer">
        {entry.errorCode}
      </a>,
    ])
  return (
    <LogRow head={head}>
      <Facts rows={rows} />
    </LogRow>
  )
}
