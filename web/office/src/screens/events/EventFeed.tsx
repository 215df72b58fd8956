import { Link } from '@tanstack/react-router'
import { call, type Data } from '../../api/call.ts'
import { useAddress } from '../../frame/address.ts'
import { OneCompany, useCompanyQuery } from '../../frame/company.tsx'
import { Select } from '../../kit/fields.tsx'
import { EndlessList, LogRow } from '../../kit/lists.tsx'
import { Badge, Copy, Empty, Money, Page, Time, type Tone } from '../../kit/parts.tsx'
import { useCore, useTexts } from '../../texts/lang.ts'
import { EVENT_KINDS } from './kinds.ts'
import { texts } from './texts.ts'

const LIMIT = 50
const TONES: Record<string, Tone> = {
  'order.paid': 'good',
  'order.error': 'bad',
  'order.kyt_failed': 'bad',
  'order.refunding': 'warn',
  'order.refunded': 'warn',
  'order.full_refunded': 'warn',
}
type Event = Data<'listLatestEvents'>['events'][number]

/** Recent events, subscribed or not, from the API's events feed. */
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
  return (
    <>
      <Select
        label={t.kind}
        className="max-w-xs"
        value={event ?? ''}
        onChange={({ target }) => go({ event: target.value || undefined })}
        options={[['', core.all], ...EVENT_KINDS.map((kind) => [kind, kind] as const)]}
      />
      <EndlessList
        queryKey={['events', company, event]}
        ask={(before, signal) =>
          call(
            'GET /api/next/events/latest',
            { query: { ...company, limit: LIMIT, ...(event ? { event } : {}), ...(before ? { before } : {}) } },
            signal,
          )
        }
        nextOf={(page) => page.nextBefore}
        rowsOf={(page) => page.events}
        keyOf={(one) => one.cursor}
        older={t.older}
        isLive
        empty={
          <Empty icon="clock" title={t.empty}>
            {t.emptyText}
          </Empty>
        }
      >
        {(one) => <Row event={one} />}
      </EndlessList>
    </>
  )
}

function Row({ event: { event, createdAt, order } }: { event: Event }) {
  const t = useTexts(texts)
  const body = JSON.stringify({ ...order, event }, null, 2)
  const head = (
    <>
      <Badge tone={TONES[event] ?? 'info'}>{event}</Badge>
      <strong>{order.shortCode}</strong>
      <Money amount={order.fromAmount} asset={order.fromAsset} />
      {order.alias && <span className="min-w-0 break-all text-soft">{order.alias}</span>}
      <span className="ml-auto text-soft">
        <Time at={createdAt} long />
      </span>
    </>
  )
  return (
    <LogRow head={head}>
      <pre className="code mb-2 overflow-x-auto p-3 whitespace-pre-wrap">{body}</pre>
      <div className="flex flex-wrap gap-2">
        <Link to="/orders/$code" params={{ code: order.code }} className="btn">
          {t.open}
        </Link>
        <Copy text={body} />
      </div>
    </LogRow>
  )
}
