import { type Body, call, type Data, type Query } from '../../api/call.ts'
import { useAction, useApi } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { useAddress } from '../../frame/address.ts'
import { useCompanyQuery } from '../../frame/company.tsx'
import { Day } from '../../kit/Day.tsx'
import { dayEnd, dayStart } from '../../kit/days.ts'
import { Select } from '../../kit/fields.tsx'
import { Table } from '../../kit/lists.tsx'
import { LIVE_MS } from '../../kit/live.ts'
import { Empty, Loaded, Pager, Panel, Refusal, Time } from '../../kit/parts.tsx'
import { StatusTabs, usePage } from '../../kit/Tabs.tsx'
import { say } from '../../kit/toasts.tsx'
import { useCore, useTexts } from '../../texts/lang.ts'
import { EVENT_KINDS } from '../events/kinds.ts'
import { ChosenAddress } from './Addresses.tsx'
import { DeliveryDialog } from './DeliveryDialog.tsx'
import { DeliveryStatus } from './DeliveryStatus.tsx'
import { texts } from './texts.ts'

const LIMIT = 20
type Delivery = Data<'listWebhookDeliveries'>['deliveries'][number]

/** Which deliveries are shown, and sent again. */
function Filters() {
  const t = useTexts(texts)
  const core = useCore()
  const [{ event }, go] = useAddress()
  return (
    <div className="flex flex-wrap gap-x-3">
      <Select
        label={t.event}
        value={event ?? ''}
        onChange={({ target }) => go({ event: target.value || undefined, page: undefined })}
        options={[['', core.all], ...EVENT_KINDS.map((kind) => [kind, kind] as const)]}
      />
      <Day name="from" label={core.from} />
      <Day name="to" label={core.to} />
    </div>
  )
}

export function Deliveries() {
  const t = useTexts(texts)
  const can = useCan()
  const [{ status, delivery, event, from, to, address }, go] = useAddress()
  const [page, setPage] = usePage()
  const company = useCompanyQuery()
  const filters = {
    ...company,
    ...(event ? { event } : {}),
    ...(address ? { url: address } : {}),
    ...(from ? { from: dayStart(from) } : {}),
    ...(to ? { to: dayEnd(to) } : {}),
  }
  const query = {
    ...filters,
    ...(status ? { status: [status] } : {}),
    page,
    limit: LIMIT,
  } as Query<'listWebhookDeliveries'>
  const list = useApi('GET /api/next/webhook-deliveries', { query }, { liveMs: LIVE_MS })
  // those that are shown, not those of another tab
  const resent = ['failed', 'parked'].filter((one) => !status || status.split(',').includes(one))
  const replay = useAction({
    run: () =>
      call('POST /api/next/webhook-deliveries/redeliver', {
        body: { ...filters, status: resent } as NonNullable<Body<'redeliverWebhooks'>>,
      }),
    isAnew: true,
    onDone: ({ redelivered }) => say(t.replayed(redelivered)),
  })
  const show = (id: string | undefined): void => go({ delivery: id }, { resetScroll: false })
  return (
    <>
      <StatusTabs label={t.deliveries} options={Object.entries(t.status)} />
      <Filters />
      <ChosenAddress />
      <Refusal error={replay.error} />
      <Panel
        title={t.deliveries}
        flush
        actions={
          can('webhooks.redeliver') &&
          resent.length > 0 && (
            <button type="button" className="btn" disabled={replay.isPending} onClick={() => replay.mutate(undefined)}>
              {t.replayAll}
            </button>
          )
        }
      >
        <Loaded
          query={list}
          isEmpty={(data) => data.deliveries.length === 0}
          empty={
            <Empty icon="bolt" title={t.empty}>
              {t.emptyText}
            </Empty>
          }
        >
          {(data) => (
            <>
              <Rows deliveries={data.deliveries} onShow={show} />
              <Pager page={page} limit={LIMIT} total={data.total} onPage={setPage} />
            </>
          )}
        </Loaded>
      </Panel>
      {delivery && <DeliveryDialog id={delivery} onClose={() => show(undefined)} />}
    </>
  )
}

function Rows({ deliveries, onShow }: { deliveries: readonly Delivery[]; onShow(id: string): void }) {
  const t = useTexts(texts)
  const core = useCore()
  return (
    <Table
      label={t.deliveries}
      rows={deliveries}
      keyOf={({ id }) => id}
      columns={[
        {
          head: t.event,
          cell: ({ id, event, createdAt }) => (
            <>
              <button type="button" className="link font-medium" onClick={() => onShow(id)}>
                {event}
              </button>
              <span className="block text-[13px] text-soft sm:hidden">
                <Time at={createdAt} ago />
              </span>
            </>
          ),
        },
        { head: core.status, cell: ({ status }) => <DeliveryStatus status={status} /> },
        { head: t.address, width: 'hidden max-w-64 truncate md:table-cell', cell: ({ url }) => url },
        { head: t.attempts, width: 'hidden sm:table-cell', cell: ({ attempts }) => attempts.length },
        { head: core.date, width: 'hidden sm:table-cell', cell: ({ createdAt }) => <Time at={createdAt} /> },
      ]}
    />
  )
}
