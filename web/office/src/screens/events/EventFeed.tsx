import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { call, type Data } from '../../api/call.ts'
import { useAddress } from '../../frame/address.ts'
import { OneCompany, useCompanyQuery } from '../../frame/company.tsx'
import { Select } from '../../kit/fields.tsx'
import { LIVE_MS } from '../../kit/live.ts'
import { Badge, Copy, Empty, Loaded, Money, Page, Time, type Tone } from '../../kit/parts.tsx'
import { useCore, useTexts } from '../../texts/lang.ts'
import { texts } from './texts.ts'

const LIMIT = 50
const KINDS = [
  ...['order.initial', 'order.pending', 'order.awaiting', 'order.waiting_chain_confirmation', 'order.paid'],
  ...['order.cancelled', 'order.error', 'order.expired', 'order.kyt_failed'],
  ...['order.refunding', 'order.refunded', 'order.full_refunded'],
]
const TONES: Record<string, Tone> = {
  'order.paid': 'good',
  'order.error': 'bad',
  'order.kyt_failed': 'bad',
  'order.refunding': 'warn',
  'order.refunded': 'warn',
  'order.full_refunded': 'warn',
}
type Event = Data<'listLatestEvents'>['events'][number]

/** What just happened, subscribed or not, as the events feed of the API tells it. */
export function EventFeed() {
  const t = useTexts(texts)
  return (
    <Page title={t.title} lead={t.lead}>
      <OneCompany>{() => <Feed />}</OneCompany>
    </Page>
  )
}

function Feed() {
  const t = useTexts(texts)
  const core = useCore()
  const [{ event }, go] = useAddress()
  const company = useCompanyQuery()
  const feed = useInfiniteQuery({
    queryKey: ['events', company, event],
    queryFn: ({ pageParam, signal }) =>
      call(
        'GET /api/next/events/latest',
        {
          query: { ...company, limit: LIMIT, ...(event ? { event } : {}), ...(pageParam ? { before: pageParam } : {}) },
        },
        signal,
      ),
    initialPageParam: '',
    getNextPageParam: (last) => last.nextBefore,
    // while older pages are open the list stays as it is read
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > 1 ? false : LIVE_MS),
  })
  const events = { ...feed, data: feed.data?.pages.flatMap((page) => page.events) }
  return (
    <>
      <Select
        label={t.kind}
        className="max-w-xs"
        value={event ?? ''}
        onChange={({ target }) => go({ event: target.value || undefined })}
        options={[['', core.all], ...KINDS.map((kind) => [kind, kind] as const)]}
      />
      <div className="panel">
        <Loaded
          query={events}
          isEmpty={(list) => list.length === 0}
          empty={
            <Empty icon="clock" title={t.empty}>
              {t.emptyText}
            </Empty>
          }
        >
          {(list) => (
            <ul className="divide-y divide-line">
              {list.map((one) => (
                <li key={one.cursor}>
                  <Row event={one} />
                </li>
              ))}
            </ul>
          )}
        </Loaded>
        {feed.hasNextPage && (
          <p className="border-t border-line p-3 text-center">
            <button type="button" className="btn" onClick={() => void feed.fetchNextPage()}>
              {t.older}
            </button>
          </p>
        )}
      </div>
    </>
  )
}

function Row({ event: { event, createdAt, order } }: { event: Event }) {
  const t = useTexts(texts)
  const body = JSON.stringify({ ...order, event }, null, 2)
  return (
    <details>
      <summary className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2.5 text-sm hover:bg-sunken">
        <Badge tone={TONES[event] ?? 'info'}>{event}</Badge>
        <strong>{order.shortCode}</strong>
        <Money amount={order.fromAmount} asset={order.fromAsset} />
        {order.alias && <span className="min-w-0 break-all text-soft">{order.alias}</span>}
        <span className="ml-auto text-soft">
          <Time at={createdAt} long />
        </span>
      </summary>
      <div className="px-4 pb-4">
        <pre className="code mb-2 overflow-x-auto p-3 whitespace-pre-wrap">{body}</pre>
        <div className="flex flex-wrap gap-2">
          <Link to="/orders/$code" params={{ code: order.code }} className="btn">
            {t.open}
          </Link>
          <Copy text={body} />
        </div>
      </div>
    </details>
  )
}
