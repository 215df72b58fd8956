import { call, type Data } from '../../api/call.ts'
import { useAction } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { useAddress } from '../../frame/address.ts'
import { useCompanyQuery } from '../../frame/company.tsx'
import { EndlessList, FilterRow, LogRow } from '../../kit/lists.tsx'
import { Badge, Code, Empty, Facts, Page, Refusal, Time } from '../../kit/parts.tsx'
import { useTexts, wordFor } from '../../texts/lang.ts'
import { accountActionTexts } from './account-action-texts.ts'
import { moneyActionTexts } from './money-action-texts.ts'
import { texts } from './texts.ts'

const LIMIT = 50
const FILTERS = ['action', 'actor', 'object'] as const
type Entry = Data<'listAuditLog'>['entries'][number]

export function Audit() {
  const t = useTexts(texts)
  const can = useCan()
  const [search] = useAddress()
  const filters = {
    ...useCompanyQuery(),
    ...Object.fromEntries(FILTERS.flatMap((name) => (search[name] ? [[name, search[name]]] : []))),
  }
  return (
    <Page title={t.title} lead={t.lead} actions={can('audit.verify') && <Prove />}>
      <FilterRow
        filters={FILTERS.map((name) => ({ name, label: t[name], hint: name === 'action' ? t.hintAction : undefined }))}
      />
      <EndlessList
        queryKey={['audit-log', filters]}
        ask={(before, signal) =>
          call(
            'GET /api/next/audit-log',
            { query: { ...filters, limit: LIMIT, ...(before ? { before } : {}) } },
            signal,
          )
        }
        nextOf={(page) => page.nextBefore}
        rowsOf={(page) => page.entries}
        keyOf={(entry) => entry.seq}
        older={t.older}
        empty={<Empty icon="book" title={t.empty} />}
      >
        {(entry) => <Row entry={entry} />}
      </EndlessList>
    </Page>
  )
}

/** Recomputes the whole chain and shows whether every entry is unchanged. */
function Prove() {
  const t = useTexts(texts)
  const prove = useAction({ run: () => call('POST /api/next/audit-log/verify'), isAnew: true })
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
  const words = { ...useTexts(accountActionTexts), ...useTexts(moneyActionTexts) }
  const head = (
    <>
      <Time at={entry.at} long />
      <strong>{wordFor(words, entry.action)}</strong>
      <Badge tone={entry.result === 'ok' ? 'good' : 'bad'}>{entry.result === 'ok' ? t.ok : t.refused}</Badge>
      <span className="min-w-0 break-all text-soft">{entry.actorName ?? entry.actor}</span>
    </>
  )
  return (
    <LogRow head={head}>
      <Facts
        rows={[
          ['#', entry.seq],
          // the filter takes its name, which is the same in every language
          [t.action, <Code key="action" text={entry.action} whole />],
          [t.actor, entry.actor],
          [t.object, entry.object],
          ['IP', entry.ip],
          [t.requestId, entry.requestId],
          ['User-Agent', entry.userAgent],
        ]}
      />
      {Object.keys(entry.detail).length > 0 && (
        <pre className="code mt-2 p-3 whitespace-pre-wrap">{JSON.stringify(entry.detail, null, 2)}</pre>
      )}
    </LogRow>
  )
}
