import { Link } from '@tanstack/react-router'
import type { Data } from '../../api/call.ts'
import { useApi } from '../../api/hooks.ts'
import { useCan, useSession } from '../../api/session.ts'
import { useChannelName } from '../../frame/channels.ts'
import { useCanSell, useCompanyQuery } from '../../frame/company.tsx'
import { Bars, Shares } from '../../kit/Bars.tsx'
import { sum } from '../../kit/decimal.ts'
import { formatCount, formatDay, formatMoney, HERE } from '../../kit/format.ts'
import { Icon } from '../../kit/icons.tsx'
import { LIVE_MS, SLOW_MS } from '../../kit/live.ts'
import { Empty, Loaded, Page, Panel } from '../../kit/parts.tsx'
import { useCore, useLang, useTexts } from '../../texts/lang.ts'
import { OrderTable } from '../orders/OrderTable.tsx'
import { texts as orderTexts } from '../orders/texts.ts'
import { FirstSteps } from './FirstSteps.tsx'
import { SEARCHES, TARGETS } from './targets.ts'
import { texts } from './texts.ts'

const ASSET = 'USDC'
type Summary = Data<'getSummary'>

/** Today, the last 30 days, and what waits for a person, each one click from its action. */
export function Home() {
  const t = useTexts(texts)
  const can = useCan()
  const { user } = useSession()
  const summary = useApi(
    'GET /api/next/summary',
    { query: { days: 30, timeZone: HERE, ...useCompanyQuery() } },
    { enabled: can('orders.summary'), liveMs: SLOW_MS },
  )
  return (
    <Page title={t.hello(user.firstName)}>
      <FirstSteps />
      {can('orders.summary') && (
        <Loaded query={summary}>
          {(data) => (
            <>
              <Figures summary={data} />
              {can('mispayments.read') && <Needs needs={data.needs} />}
              <Charts summary={data} />
            </>
          )}
        </Loaded>
      )}
      {can('orders.list') && <Latest />}
    </Page>
  )
}

function Figures({ summary }: { summary: Summary }) {
  const t = useTexts(texts)
  const lang = useLang()
  const today = summary.days.at(-1)
  const total = (pick: (day: Summary['days'][number]) => string): string =>
    formatMoney(lang, sum(summary.days.map(pick)), ASSET)
  /** "99.80 €" per currency, after the number of paid orders. */
  const sold = (count: number, days: Summary['days']): string => {
    const all = days.flatMap(({ sales }) => sales)
    const assets = [...new Set(all.map(({ asset }) => asset))]
    const amountOf = (asset: string): string => sum(all.flatMap((one) => (one.asset === asset ? [one.amount] : [])))
    const worths = assets.map((asset) => formatMoney(lang, amountOf(asset), asset))
    return [t.paid(formatCount(lang, count)), ...worths].join(' · ')
  }
  const count = summary.days.reduce((left, { paid }) => left + paid, 0)
  const cards: [string, string, string][] = [
    [t.today, formatMoney(lang, today?.paidAmount ?? '0', ASSET), sold(today?.paid ?? 0, summary.days.slice(-1))],
    [t.month, total(({ paidAmount }) => paidAmount), sold(count, summary.days)],
    [
      t.refunded,
      total(({ refundedAmount }) => refundedAmount),
      t.ofToday(formatMoney(lang, today?.refundedAmount ?? '0', ASSET)),
    ],
  ]
  return (
    <dl className="mb-5 grid gap-3 sm:grid-cols-3">
      {cards.map(([name, amount, more]) => (
        <div key={name} className="panel p-4">
          <dt className="text-sm text-soft">{name}</dt>
          <dd className="mt-1 text-2xl font-semibold tabular-nums">{amount}</dd>
          <dd className="min-h-5 text-sm text-soft">{more}</dd>
        </div>
      ))}
    </dl>
  )
}

/** Who only reads decides none of it. */
function Needs({ needs }: { needs: Summary['needs'] }) {
  const t = useTexts(texts)
  const can = useCan()
  const shown = TARGETS.filter(([name, , permission]) => needs[name] > 0 && can(permission))
  return (
    <Panel title={can('mispayments.decide') ? t.needs : t.open} flush>
      {shown.length === 0 && <p className="p-4 text-soft">{t.calm}</p>}
      <ul>
        {shown.map(([name, to]) => (
          <li key={name} className="border-b border-line last:border-b-0">
            <Link to={to} search={SEARCHES[name]} className="flex min-h-12 items-center gap-3 px-4 hover:bg-sunken">
              <span className="text-warn">
                <Icon name="alert" />
              </span>
              <span className="grow">{t[name](needs[name])}</span>
              <Icon name="next" />
            </Link>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

function Charts({ summary }: { summary: Summary }) {
  const t = useTexts(texts)
  const channelName = useChannelName()
  const lang = useLang()
  // a height on the screen, not money: a float is exact enough
  const height = (amount: string): number => Number(amount)
  const days = summary.days.map(({ day, paidAmount }) => ({
    key: day,
    label: formatDay(lang, day),
    value: height(paidAmount),
    text: formatMoney(lang, paidAmount, ASSET),
  }))
  const channels = summary.channels.map(({ paymentChannel, paidAmount }) => ({
    key: paymentChannel,
    label: channelName(paymentChannel),
    value: height(paidAmount),
    text: formatMoney(lang, paidAmount, ASSET),
  }))
  const none = channels.length === 0 && <p className="text-soft">{t.none}</p>
  return (
    <div className="grid items-start gap-x-5 lg:grid-cols-[2fr_1fr]">
      <Panel title={t.byDay}>{none || <Bars bars={days} title={t.table} head={[t.day, t.received]} />}</Panel>
      <Panel title={t.byChannel}>{none || <Shares bars={channels} />}</Panel>
    </div>
  )
}

function Latest() {
  const t = useTexts(texts)
  const query = { ...useCompanyQuery(), limit: 6 }
  const orders = useApi('GET /api/next/confirm_conversion', { query }, { liveMs: LIVE_MS })
  return (
    <Panel
      title={t.latest}
      flush
      actions={
        <Link to="/orders" className="link text-sm">
          {t.showAll}
        </Link>
      }
    >
      <Loaded query={orders} isEmpty={(data) => data.orders.length === 0} empty={<Begin />}>
        {(data) => <OrderTable orders={data.orders} label={t.latest} />}
      </Loaded>
    </Panel>
  )
}

/** Next steps for a new company. */
function Begin() {
  const t = useTexts(orderTexts)
  const core = useCore()
  const can = useCan()
  const canSell = useCanSell()
  return (
    <Empty icon="list" title={t.empty}>
      <p className="mt-2 flex flex-wrap justify-center gap-2">
        {can('apiKeys.read') && (
          <Link to="/developer" className="btn">
            {core.nav.developer}
          </Link>
        )}
        {canSell && (
          <Link to="/orders/new" className="btn">
            {core.nav.newOrder}
          </Link>
        )}
      </p>
    </Empty>
  )
}
