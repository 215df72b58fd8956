import { Link, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { type Body, call, type Data, type Deed, type Query } from '../../api/call.ts'
import { useAction, useApi, useOpening, useShown } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { useCompanyQuery } from '../../frame/company.tsx'
import { Area, Field, Form, Select } from '../../kit/fields.tsx'
import { formatMoney } from '../../kit/format.ts'
import { Offers, PagedList } from '../../kit/lists.tsx'
import { LIVE_MS, SLOW_MS } from '../../kit/live.ts'
import { Badge, Dialog, Empty, Loaded, Money, OrderStatus, Page, Time } from '../../kit/parts.tsx'
import { Parts, StatusTabs, usePage, usePart } from '../../kit/Tabs.tsx'
import { useCore, useLang, useTexts, wordFor } from '../../texts/lang.ts'
import { VIEWS } from '../orders/views.ts'
import { confirmedAddress, Destination, goalOf } from '../refunds/Destination.tsx'
import { goesToAddress } from '../refunds/refund.ts'
import { Unmatched } from '../unmatched/Unmatched.tsx'
import { texts } from './texts.ts'

const LIMIT = 20
type Bearer = 'operator' | 'company'
type Mispayment = Data<'listMispayments'>['mispayments'][number]
type Way = 'accept' | 'refund' | 'ignore' | 'bear'

/** Money that does not fit its order, and money that matches none. */
export function MispaymentList() {
  const t = useTexts(texts)
  const parts = [
    { name: 'orders', word: t.ofOrders },
    { name: 'unmatched', word: t.withoutOrder },
  ]
  const part = usePart(parts)
  return (
    <Page title={t.title} lead={t.lead}>
      <Parts parts={parts} label={t.title} />
      {part === 'unmatched' ? <Unmatched /> : <OfOrders />}
    </Page>
  )
}

function OfOrders() {
  const t = useTexts(texts)
  const { status } = useSearch({ strict: false })
  const [page] = usePage()
  const query = { ...useCompanyQuery(), page, limit: LIMIT, ...(status ? { status } : {}) } as Query<'listMispayments'>
  const list = useApi('GET /api/next/mispayments', { query }, { liveMs: SLOW_MS })
  return (
    <>
      <StatusTabs label={t.title} options={Object.entries(t.status)} />
      <PagedList
        query={list}
        rows={(data) => data.mispayments}
        keyOf={(mispayment) => mispayment._id}
        total={(data) => data.total}
        limit={LIMIT}
        look="cards"
        empty={
          <Empty icon="check" title={t.empty}>
            {t.emptyText}
          </Empty>
        }
      >
        {(mispayment) => <Card mispayment={mispayment} />}
      </PagedList>
    </>
  )
}

/** Recorded as another token, for it does not count: money that a provider froze, and USDC that it did not credit. */
function kindOf({ kind, asset, reference }: Mispayment): string {
  if (kind !== 'wrong_token') return kind
  if (reference.includes(':frozen:')) return 'frozen'
  return asset === 'USDC' ? 'uncredited' : kind
}

/** The decisions that make sense for each kind; the service checks each again. */
function waysOf({ kind, status }: Mispayment): Way[] {
  if (status !== 'open') return []
  if (kind === 'orphaned') return ['bear']
  if (kind === 'wrong_token') return ['ignore']
  // money above the price, or from a second payment, cannot pay for anything
  return kind === 'under' || kind === 'late' ? ['accept', 'refund', 'ignore'] : ['refund', 'ignore']
}

function Card({ mispayment }: { mispayment: Mispayment }) {
  const t = useTexts(texts)
  const core = useCore()
  const can = useCan()
  const [way, setWay] = useState<Way | null>(null)
  const { kind, code, shortCode, orderStatus, createdAt, status, reason } = mispayment
  const name = kindOf(mispayment)
  const canWait = kind !== 'under' || VIEWS.open.split(',').includes(orderStatus)
  return (
    <article className="panel p-4">
      <div className="mb-2 flex flex-wrap items-center gap-3">
        <strong className="text-lg">
          <Arrived mispayment={mispayment} />
        </strong>
        <Badge tone={kind === 'orphaned' || name === 'frozen' ? 'bad' : 'warn'}>{wordFor(t.kind, name)}</Badge>
        {status !== 'open' && <Decided mispayment={mispayment} />}
        <span className="text-sm text-soft">
          <Time at={createdAt} ago />
        </span>
        <span className="ml-auto flex items-center gap-3">
          <OrderStatus status={orderStatus} />
          <Link to="/orders/$code" params={{ code }} className="link text-sm">
            {t.order(shortCode)}
          </Link>
        </span>
      </div>
      {status === 'open' && (
        <p className="mb-3 text-sm">
          {wordFor(t.means, canWait ? name : 'underEnded')} <Price mispayment={mispayment} />
        </p>
      )}
      {(name === 'frozen' || name === 'uncredited') && (
        <p className="mb-3 text-sm break-words">{core.pair(t.sourceReference, mispayment.reference)}</p>
      )}
      {status === 'open' && mispayment.askedBackAt && (
        <p className="mb-3 text-sm">
          <Badge tone="warn">{t.askedBack}</Badge> <Time at={mispayment.askedBackAt} ago />
        </p>
      )}
      {reason && <p className="mb-3 text-sm text-soft">{core.pair(core.reason, reason)}</p>}
      {mispayment.borneBy && <p className="mb-3 text-sm text-soft">{t.borne[mispayment.borneBy as Bearer]}</p>}
      <Offers
        offers={waysOf(mispayment).map((one) => [one, can(one === 'bear' ? 'mispayments.bear' : 'mispayments.decide')])}
        words={t}
        onAsk={setWay}
      />
      {way && <Decide mispayment={mispayment} way={way} onClose={() => setWay(null)} />}
    </article>
  )
}

/** How it was decided; money that goes back links to its refund, which may wait for a person. */
function Decided({ mispayment: { status, refundStatus, code } }: { mispayment: Mispayment }) {
  const t = useTexts(texts)
  const isBack = refundStatus === null || refundStatus === 'settled'
  const badge = <Badge tone={isBack ? 'plain' : 'warn'}>{wordFor(t.one, isBack ? status : 'refunding')}</Badge>
  if (refundStatus === null) return badge
  return (
    <Link to="/refunds" search={{ code }}>
      {badge}
    </Link>
  )
}

/**
 * A decision is about the money that was shown: if it grew meanwhile, the service refuses.
 * @param shown what the person confirms with it
 */
function decide(
  { _id: id, units }: Mispayment,
  way: Way,
  { values, shown, opening }: { values: Record<string, string>; shown: { address?: string }; opening: string },
): Promise<unknown> {
  const to = { path: { id }, deed: { opening, typed: values } satisfies Deed }
  if (way === 'bear') return call('POST /api/next/mispayments/{id}/bear', { ...to, body: values as Body<'bearLoss'> })
  const body = { ...shown, ...values, units }
  if (way === 'accept') return call('POST /api/next/mispayments/{id}/accept', { ...to, body })
  if (way === 'refund') return call('POST /api/next/mispayments/{id}/refund', { ...to, body })
  return call('POST /api/next/mispayments/{id}/ignore', { ...to, body: body as Body<'ignoreMispayment'> })
}

/** The amount that arrived: in smallest units if the token's decimals are unknown. */
function Arrived({ mispayment: { amount, units, asset } }: { mispayment: Mispayment }) {
  return amount === null ? `${units} ${asset}` : <Money amount={amount} asset={asset} />
}

/** The order's price, to compare with what arrived. */
function Price({ mispayment: { fromAmount, fromAsset, toAmount } }: { mispayment: Mispayment }) {
  const t = useTexts(texts)
  const lang = useLang()
  return t.price(formatMoney(lang, fromAmount, fromAsset), formatMoney(lang, toAmount, 'USDC'))
}

function Decide({ mispayment: listed, way, onClose }: { mispayment: Mispayment; way: Way; onClose(): void }) {
  const mispayment = useShown(listed)
  const t = useTexts(texts)
  const can = useCan()
  const core = useCore()
  const [typed, setTyped] = useState('')
  const opening = useOpening()
  const goal = useApi(
    'GET /api/next/mispayments/{id}/refund',
    { path: { id: mispayment._id } },
    { enabled: way === 'refund', liveMs: LIVE_MS, opening },
  )
  const action = useAction({
    // what the person confirms is what was shown
    run: (values: Record<string, string>) => {
      const shown = confirmedAddress(goal.data ? goalOf(goal.data, { typed: values.address ?? '' }) : null)
      return decide(mispayment, way, { values, shown, opening })
    },
    done: t.done,
    onDone: onClose,
  })
  // the same for all answers of one opening: what is typed stays
  const known = goal.data ? goalOf(goal.data, {}) : null
  const takesAddress = known !== null && goesToAddress(known)
  // only the operator may give away the operator's money
  const bearers: Bearer[] = can('refunds.decide') ? ['company', 'operator'] : ['company']
  const text = { accept: t.acceptText, refund: t.refundText, ignore: t.ignoreText, bear: t.bearText }[way]
  return (
    <Dialog title={t[way]} onClose={onClose}>
      <Form
        button={t[way]}
        isBusy={action.isPending}
        isBlocked={way === 'refund' && goal.data === undefined}
        error={action.error}
        onSend={(values) => action.mutate(values)}
      >
        <p className="mb-4">
          <strong>
            <Arrived mispayment={mispayment} /> · {t.order(mispayment.shortCode)}
          </strong>
          <span className="block text-sm text-soft">
            <Price mispayment={mispayment} />
          </span>
        </p>
        <p className="mb-4">{text}</p>
        {way === 'refund' && (
          <>
            {takesAddress && (
              <Field
                label={`${t.address} (${core.optional})`}
                name="address"
                kind="wallet"
                onChange={(event) => setTyped(event.target.value)}
              />
            )}
            <Loaded query={goal}>{(answer) => <Destination goal={goalOf(answer, { typed })} />}</Loaded>
          </>
        )}
        {way === 'bear' && (
          <Select label={t.by} name="by" options={bearers.map((one) => [one, t.bearers[one]] as const)} />
        )}
        <Area
          label={way === 'ignore' ? core.reason : `${core.reason} (${core.optional})`}
          name="reason"
          required={way === 'ignore'}
          maxLength={256}
        />
      </Form>
    </Dialog>
  )
}
