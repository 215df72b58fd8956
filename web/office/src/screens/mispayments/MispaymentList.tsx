import { Link, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { type Body, call, type Data, type Query } from '../../api/call.ts'
import { useAction, useApi } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { Area, Field, Form } from '../../kit/fields.tsx'
import { SLOW_MS } from '../../kit/live.ts'
import { Badge, Dialog, Empty, Loaded, Money, OrderStatus, Page, Pager, Time } from '../../kit/parts.tsx'
import { StatusTabs, usePage } from '../../kit/Tabs.tsx'
import { useCore, useTexts, wordFor } from '../../texts/lang.ts'
import { texts } from './texts.ts'

const LIMIT = 20
type Mispayment = Data<'listMispayments'>['mispayments'][number]
type Way = 'accept' | 'refund' | 'ignore'

export function MispaymentList() {
  const t = useTexts(texts)
  const { status } = useSearch({ strict: false })
  const [page, setPage] = usePage()
  const query = { page, limit: LIMIT, ...(status ? { status } : {}) } as Query<'listMispayments'>
  const list = useApi('GET /api/next/mispayments', { query }, { liveMs: SLOW_MS })
  return (
    <Page title={t.title} lead={t.lead}>
      <StatusTabs label={t.title} options={Object.entries(t.status)} />
      <Loaded
        query={list}
        isEmpty={(data) => data.mispayments.length === 0}
        empty={
          <Empty icon="check" title={t.empty}>
            {t.emptyText}
          </Empty>
        }
      >
        {(data) => (
          <>
            <ul className="space-y-4">
              {data.mispayments.map((mispayment) => (
                <li key={mispayment._id}>
                  <Card mispayment={mispayment} />
                </li>
              ))}
            </ul>
            <Pager page={page} limit={LIMIT} total={data.total} onPage={setPage} />
          </>
        )}
      </Loaded>
    </Page>
  )
}

/** Which decisions make sense for which kind; the service checks each again. */
function waysOf({ kind, status }: Mispayment): Way[] {
  if (status !== 'open') return []
  if (kind === 'orphaned') return ['ignore']
  if (kind === 'wrong_token' || kind === 'held') return ['refund', 'ignore']
  return ['accept', 'refund', 'ignore']
}

function Card({ mispayment }: { mispayment: Mispayment }) {
  const t = useTexts(texts)
  const core = useCore()
  const can = useCan()
  const [way, setWay] = useState<Way | null>(null)
  const { kind, amount, units, asset, code, orderStatus, createdAt, status, reason } = mispayment
  return (
    <article className="panel p-4">
      <div className="mb-2 flex flex-wrap items-center gap-3">
        <strong className="text-lg">
          {amount === null ? `${units} ${asset}` : <Money amount={amount} asset="USDC" />}
        </strong>
        <Badge tone={kind === 'orphaned' ? 'bad' : 'warn'}>{wordFor(t.kind, kind)}</Badge>
        {status !== 'open' && <Badge>{wordFor(t.status, status)}</Badge>}
        <span className="text-sm text-soft">
          <Time at={createdAt} ago />
        </span>
        <span className="ml-auto flex items-center gap-3">
          <OrderStatus status={orderStatus} />
          <Link to="/orders/$code" params={{ code }} className="link text-sm">
            {t.order}
          </Link>
        </span>
      </div>
      <p className="mb-3 text-sm">{wordFor(t.means, kind)}</p>
      {reason && <p className="mb-3 text-sm text-soft">{`${core.reason}: ${reason}`}</p>}
      {can('mispayments.decide') && (
        <div className="flex flex-wrap gap-2">
          {waysOf(mispayment).map((one) => (
            <button key={one} type="button" className="btn" onClick={() => setWay(one)}>
              {t[one]}
            </button>
          ))}
        </div>
      )}
      {way && <Decide id={mispayment._id} way={way} onClose={() => setWay(null)} />}
    </article>
  )
}

function decide(id: string, way: Way, body: Record<string, string>): Promise<unknown> {
  const path = { id }
  if (way === 'accept') return call('POST /api/next/mispayments/{id}/accept', { path, body })
  if (way === 'refund') return call('POST /api/next/mispayments/{id}/refund', { path, body })
  return call('POST /api/next/mispayments/{id}/ignore', { path, body: body as Body<'ignoreMispayment'> })
}

function Decide({ id, way, onClose }: { id: string; way: Way; onClose(): void }) {
  const t = useTexts(texts)
  const core = useCore()
  const action = useAction({
    run: (values: Record<string, string>) => decide(id, way, values),
    done: t.done,
    onDone: onClose,
  })
  const text = { accept: t.acceptText, refund: t.refundText, ignore: t.ignoreText }[way]
  return (
    <Dialog title={t[way]} onClose={onClose}>
      <Form button={t[way]} isBusy={action.isPending} error={action.error} onSend={(values) => action.mutate(values)}>
        <p className="mb-4">{text}</p>
        {way === 'refund' && (
          <Field
            label={`${t.address} (${core.optional})`}
            name="address"
            pattern="0x[0-9a-fA-F]{40}"
            spellCheck={false}
          />
        )}
        <Area
          label={way === 'ignore' ? core.reason : `${core.reason} (${core.optional})`}
          name="reason"
          required={way === 'ignore'}
          maxLength={500}
        />
      </Form>
    </Dialog>
  )
}
