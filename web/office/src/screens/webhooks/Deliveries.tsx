import { type Body, call, type Data, type Query } from '../../api/call.ts'
import { useAction, useApi } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { useAddress } from '../../frame/address.ts'
import { useCompanyQuery } from '../../frame/company.tsx'
import { LIVE_MS } from '../../kit/live.ts'
import { Badge, Empty, Loaded, Pager, Panel, Refusal, TableFrame, Time, type Tone } from '../../kit/parts.tsx'
import { StatusTabs, usePage } from '../../kit/Tabs.tsx'
import { say } from '../../kit/toasts.tsx'
import { useCore, useTexts, wordFor } from '../../texts/lang.ts'
import { DeliveryDialog } from './DeliveryDialog.tsx'
import { texts } from './texts.ts'

const LIMIT = 20
const TONES: Record<string, Tone> = { delivered: 'good', pending: 'info', failed: 'bad', parked: 'bad' }
type Delivery = Data<'listWebhookDeliveries'>['deliveries'][number]

export function DeliveryStatus({ status }: { status: string }) {
  const t = useTexts(texts)
  return <Badge tone={TONES[status] ?? 'plain'}>{wordFor(t.status, status)}</Badge>
}

export function Deliveries() {
  const t = useTexts(texts)
  const can = useCan()
  const [{ status, delivery }, go] = useAddress()
  const [page, setPage] = usePage()
  const company = useCompanyQuery()
  const filters = { ...company, ...(status ? { status: [status] } : {}) }
  const query = { ...filters, page, limit: LIMIT } as Query<'listWebhookDeliveries'>
  const list = useApi('GET /api/next/webhook-deliveries', { query }, { liveMs: LIVE_MS })
  const replay = useAction({
    run: () =>
      call('POST /api/next/webhook-deliveries/redeliver', {
        body: { ...company, status: ['failed'] } as NonNullable<Body<'redeliverWebhooks'>>,
      }),
    onDone: ({ redelivered }) => say(t.replayed(redelivered)),
  })
  const show = (id: string | undefined): void => go({ delivery: id }, { resetScroll: false })
  return (
    <>
      <StatusTabs label={t.deliveries} options={Object.entries(t.status)} />
      <Refusal error={replay.error} />
      <Panel
        title={t.deliveries}
        flush
        actions={
          can('webhooks.redeliver') && (
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
    <TableFrame label={t.deliveries}>
      <table className="table">
        <thead>
          <tr>
            <th scope="col">{t.event}</th>
            <th scope="col">{core.status}</th>
            <th scope="col" className="hidden md:table-cell">
              {t.address}
            </th>
            <th scope="col" className="hidden sm:table-cell">
              {t.attempts}
            </th>
            <th scope="col" className="hidden sm:table-cell">
              {core.date}
            </th>
          </tr>
        </thead>
        <tbody>
          {deliveries.map((delivery) => (
            <tr key={delivery.id}>
              <td>
                <button type="button" className="link font-medium" onClick={() => onShow(delivery.id)}>
                  {delivery.event}
                </button>
                <span className="block text-[13px] text-soft sm:hidden">
                  <Time at={delivery.createdAt} ago />
                </span>
              </td>
              <td>
                <DeliveryStatus status={delivery.status} />
              </td>
              <td className="hidden max-w-64 truncate md:table-cell">{delivery.url}</td>
              <td className="hidden sm:table-cell">{delivery.attempts.length}</td>
              <td className="hidden sm:table-cell">
                <Time at={delivery.createdAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableFrame>
  )
}
