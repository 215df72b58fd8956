import { CatchBoundary, Navigate, useParams } from '@tanstack/react-router'
import { Suspense } from 'react'
import { ApiError, type Order } from '../../api/call.ts'
import { useApi } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { useChannelName } from '../../frame/channels.ts'
import { useCompanyQuery } from '../../frame/company.tsx'
import { NotFound } from '../../frame/NotFound.tsx'
import { formatRate } from '../../kit/format.ts'
import { LIVE_MS } from '../../kit/live.ts'
import { Code, Copy, Facts, Loaded, Loading, Money, Notice, OrderStatus, Page, Panel, Time } from '../../kit/parts.tsx'
import { lazyScreen } from '../../routing/lazy-screen.ts'
import { RouteFailed } from '../../routing/RouteFailed.tsx'
import { useLang, useTexts } from '../../texts/lang.ts'
import { Actions } from './Actions.tsx'
import { Exchanges } from './Exchanges.tsx'
import { Payer } from './Payer.tsx'
import { paidIn } from './paid-sums.ts'
import { RateProof, Story } from './Story.tsx'
import { texts } from './texts.ts'

// with them the page would weigh more than a screen may
const Notes = lazyScreen(() => import('./Notes.tsx'), 'Notes')

const isMissing = (error: unknown): boolean => error instanceof ApiError && error.status === 404

/** A short code, a reference or a transaction in the URL: shows the order that the search finds, or the list. */
function Search({ name }: { name: string }) {
  const query = { search: name, limit: 2, ...useCompanyQuery() }
  const found = useApi('GET /api/next/confirm_conversion', { query })
  return (
    <Loaded query={found} isEmpty={({ orders }) => orders.length === 0} empty={<NotFound />}>
      {({ orders: [first, second] }) =>
        first && !second ? (
          <Navigate to="/orders/$code" params={{ code: first.code }} replace />
        ) : (
          <Navigate to="/orders" search={{ search: name }} replace />
        )
      }
    </Loaded>
  )
}

/** Another order is another page: no question about this one, and nothing typed or shown here, passes to that one. */
export function OrderPage() {
  const { code } = useParams({ from: '/inside/orders/$code' })
  return <OneOrder key={code} code={code} />
}

function OneOrder({ code }: { code: string }) {
  const t = useTexts(texts)
  const can = useCan()
  const order = useApi('GET /api/next/confirm_conversion/status/{code}', { path: { code } }, { liveMs: LIVE_MS })
  const history = useApi(
    'GET /api/next/confirm_conversion/story/{code}',
    { path: { code } },
    { liveMs: LIVE_MS, enabled: can('orders.history') },
  )
  if (isMissing(order.error) && can('orders.list')) return <Search name={code} />
  // anyone may read an order's state by its code, but only those who may see its history get this page
  if (isMissing(history.error)) return <NotFound />
  return (
    <Loaded query={order}>
      {(data) => (
        <Page
          title={t.title(data.shortCode)}
          lead={
            <span className="flex flex-wrap items-center gap-3">
              <strong className="text-xl text-ink">
                <Money amount={data.fromAmount} asset={data.fromAsset} />
              </strong>
              <OrderStatus status={data.status} />
            </span>
          }
          actions={history.data && <Actions order={data} />}
        >
          {data.status === 'KYT_FAILED' && can('screenings.read') && <Notice tone="bad">{t.blocked}</Notice>}
          <div className="grid items-start gap-x-5 lg:grid-cols-[minmax(0,1fr)_22rem]">
            <Panel title={t.story}>
              <Loaded query={history}>{(story) => <Story story={story} order={data} />}</Loaded>
            </Panel>
            <div>
              <OrderFacts order={data} sums={paidIn(history.data?.entries ?? [])} />
              <Metadata metadata={data.metadata} />
              {can('notes.read') && (
                <CatchBoundary getResetKey={() => code} errorComponent={RouteFailed}>
                  <Suspense fallback={<Loading />}>
                    <Notes />
                  </Suspense>
                </CatchBoundary>
              )}
              {(can('payers.read') || can('orders.payer')) && <Payer order={data} />}
              {history.data?.rate && <RateProof rate={history.data.rate} order={data} />}
            </div>
          </div>
          {can('channels.exchanges') && <Exchanges code={code} />}
        </Page>
      )}
    </Loaded>
  )
}

/** What the shop's own system wrote beside the order. */
function Metadata({ metadata }: Pick<Order, 'metadata'>) {
  const t = useTexts(texts)
  if (!metadata) return null
  const rows = Object.entries(metadata).map(([name, text]): [string, React.ReactNode] => [
    name,
    <span key={name} className="whitespace-pre-wrap">
      {text}
    </span>,
  ])
  return (
    <Panel title={t.metadata}>
      <Facts rows={rows} />
    </Panel>
  )
}

function OrderFacts({ order, sums }: { order: Order; sums: ReturnType<typeof paidIn> }) {
  const t = useTexts(texts)
  const lang = useLang()
  const channelName = useChannelName()
  const { goods } = order
  const what = [goods?.goodsName, goods?.goodsDetail, goods?.goodsQuantity].filter(Boolean).join(', ')
  const rows: [string, React.ReactNode][] = [
    [t.settles, <Money key="to" amount={order.toAmount} asset={order.toAsset} />],
    [t.rate, formatRate(lang, order)],
  ]
  if (sums) {
    rows.push([t.paidOfPrice, <Money key="paid" amount={sums.paid} asset={order.toAsset} />])
    rows.push([t.fee, <Money key="fee" amount={sums.fee} asset={order.toAsset} />])
    if (Number(sums.refunded) !== 0)
      rows.push([t.back, <Money key="back" amount={sums.refunded} asset={order.toAsset} />])
    if (Number(sums.lost) !== 0) rows.push([t.lost, <Money key="lost" amount={sums.lost} asset={order.toAsset} />])
    rows.push([t.net, <Money key="net" amount={sums.net} asset={order.toAsset} />])
  }
  if (order.alias) rows.push([t.reference, order.alias])
  if (order.paymentChannel) rows.push([t.channel, channelName(order.paymentChannel)])
  if (order.merchantIdentifier) rows.push([t.till, order.merchantIdentifier])
  if (order.websiteUrl) rows.push([t.website, order.websiteUrl])
  if (what) rows.push([t.goods, what])
  rows.push([t.created, <Time key="created" at={order.createdAt} long />])
  rows.push(
    order.paidAt
      ? [t.paid, <Time key="paid" at={order.paidAt} long />]
      : [t.expires, <Time key="expires" at={order.expiresAt} long />],
  )
  // all that is back with the payer, also what was above the price
  if (Number(order.refundedAmount) > 0 && order.refundedAmount !== sums?.refunded)
    rows.push([t.refunded, <Money key="refunded" amount={order.refundedAmount} asset={order.toAsset} />])
  if (order.webhookUrl)
    rows.push([
      t.webhook,
      <span key="webhook" className="break-all">
        {order.webhookUrl}
      </span>,
    ])
  rows.push([
    t.code,
    <span key="code" className="flex flex-wrap items-center gap-1">
      <Code text={order.code} />
      <Copy text={order.code} />
    </span>,
  ])
  return (
    <Panel title={t.facts}>
      <Facts rows={rows} />
      <p className="no-print mt-4 flex flex-wrap gap-x-3">
        <a className="link" href={order.paymentUrl} target="_blank" rel="noreferrer">
          {t.open}
        </a>
      </p>
      <div className="no-print">
        <Copy text={order.paymentUrl} label={t.copyLink} />
      </div>
    </Panel>
  )
}
