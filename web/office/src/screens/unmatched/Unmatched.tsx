import { Link, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { call, type Data, type Query } from '../../api/call.ts'
import { useAction, useApi } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { useCompanyQuery } from '../../frame/company.tsx'
import { useNetworkName } from '../../frame/networks.ts'
import { Area, Field, Form } from '../../kit/fields.tsx'
import { Offers, PagedList } from '../../kit/lists.tsx'
import { SLOW_MS } from '../../kit/live.ts'
import { Badge, Code, Dialog, Empty, Facts, Money, OrderStatus, Time } from '../../kit/parts.tsx'
import { StatusTabs, usePage } from '../../kit/Tabs.tsx'
import { useCore, useTexts, wordFor } from '../../texts/lang.ts'
import { texts } from './texts.ts'

const LIMIT = 20
const ASSET = 'USDC'
type Transfer = Data<'listUnmatchedTransfers'>['transfers'][number]
type Way = 'match' | 'ignore'

/** Transfers to the company's addresses without an order, and the decisions about them. */
export function Unmatched() {
  const t = useTexts(texts)
  const { status } = useSearch({ strict: false })
  const [page] = usePage()
  const query = {
    ...useCompanyQuery(),
    page,
    limit: LIMIT,
    ...(status ? { status } : {}),
  } as Query<'listUnmatchedTransfers'>
  const list = useApi('GET /api/next/unmatched-transfers', { query }, { liveMs: SLOW_MS })
  return (
    <>
      <p className="mb-4 max-w-2xl text-soft">{t.lead}</p>
      <StatusTabs label={t.title} options={Object.entries(t.status)} />
      <PagedList
        query={list}
        rows={(data) => data.transfers}
        keyOf={(transfer) => transfer._id}
        total={(data) => data.total}
        limit={LIMIT}
        look="cards"
        empty={
          <Empty icon="check" title={t.empty}>
            {t.emptyText}
          </Empty>
        }
      >
        {(transfer) => <Card transfer={transfer} />}
      </PagedList>
    </>
  )
}

type Meaning = 'wrongToken' | 'otherNetwork' | 'operators' | Transfer['status']

function meaningOf({ status, amount, companyId, isNetworkAccepted }: Transfer): Meaning {
  if (status !== 'open') return status
  if (companyId === null) return 'operators'
  if (amount === null) return 'wrongToken'
  return isNetworkAccepted ? 'open' : 'otherNetwork'
}

function Card({ transfer }: { transfer: Transfer }) {
  const t = useTexts(texts)
  const core = useCore()
  const can = useCan()
  const networkName = useNetworkName()
  const [way, setWay] = useState<Way | null>(null)
  const { amount, units, asset, status, isFinal, onChain, arrivedAt, explorerUrl, code, shortCode, reason } = transfer
  const decidable = onChain && status !== 'matched' && can('mispayments.decide')
  const ways: [Way, boolean][] = [
    ['match', decidable && transfer.companyId !== null],
    ['ignore', decidable && status === 'open'],
  ]
  return (
    <article className="panel p-4">
      <div className="mb-2 flex flex-wrap items-center gap-3">
        <strong className="text-lg">
          {amount === null ? `${units} ${asset}` : <Money amount={amount} asset={asset} />}
        </strong>
        <Badge tone={status === 'open' ? 'warn' : 'plain'}>{wordFor(t.status, status)}</Badge>
        {!isFinal && onChain && <Badge tone="info">{t.notFinal}</Badge>}
        <span className="text-sm text-soft">
          <Time at={arrivedAt} ago />
        </span>
        {code && shortCode && (
          <span className="ml-auto flex items-center gap-3">
            {transfer.orderStatus && <OrderStatus status={transfer.orderStatus} />}
            <Link to="/orders/$code" params={{ code }} className="link text-sm">
              {t.order(shortCode)}
            </Link>
          </span>
        )}
      </div>
      <p className="mb-3 text-sm">{wordFor(t.means, meaningOf(transfer))}</p>
      {reason && <p className="mb-3 text-sm text-soft">{core.pair(core.reason, reason)}</p>}
      <div className="mb-3">
        <Facts
          rows={[
            [t.network, networkName(transfer.network)],
            [t.address, <Code key="to" text={transfer.address} />],
            [t.from, <Code key="from" text={transfer.from} />],
            [t.transaction, <Transaction key="tx" hash={transfer.txHash} url={explorerUrl} />],
          ]}
        />
      </div>
      <Offers offers={ways} words={t} onAsk={setWay} />
      {way && <Decide transfer={transfer} way={way} onClose={() => setWay(null)} />}
    </article>
  )
}

function Transaction({ hash, url }: { hash: string; url: string | null }) {
  if (url === null) return <Code text={hash} />
  return (
    <a href={url} target="_blank" rel="noreferrer" className="link">
      <Code text={hash} />
    </a>
  )
}

function Decide({ transfer, way, onClose }: { transfer: Transfer; way: Way; onClose(): void }) {
  const t = useTexts(texts)
  const core = useCore()
  const { _id: id, candidates } = transfer
  const action = useAction({
    run: ({ code = '', reason = '' }: Record<string, string>) =>
      way === 'match'
        ? call('POST /api/next/unmatched-transfers/{id}/match', {
            path: { id },
            body: { code: code.trim(), ...(reason && { reason }) },
          })
        : call('POST /api/next/unmatched-transfers/{id}/ignore', { path: { id }, body: { reason } }),
    done: t.done,
    onDone: onClose,
  })
  const isMatch = way === 'match'
  return (
    <Dialog title={t[way]} onClose={onClose}>
      <Form button={t[way]} isBusy={action.isPending} error={action.error} onSend={(values) => action.mutate(values)}>
        <p className="mb-4">{isMatch ? t.matchText : t.ignoreText}</p>
        {isMatch && candidates.length > 0 && <Candidates candidates={candidates} />}
        {isMatch && candidates.length === 0 && <Field label={t.code} name="code" required spellCheck={false} />}
        <Area
          label={isMatch ? `${core.reason} (${core.optional})` : core.reason}
          name="reason"
          required={!isMatch}
          maxLength={256}
        />
      </Form>
    </Dialog>
  )
}

/** The likeliest orders; any other code can be entered. None is chosen beforehand: a stranger can make a likely one. */
function Candidates({ candidates }: Pick<Transfer, 'candidates'>) {
  const t = useTexts(texts)
  const [isOther, setOther] = useState(false)
  return (
    <fieldset className="mb-4 space-y-2">
      <legend className="mb-1 font-medium">{t.which}</legend>
      {candidates.map(({ code, shortCode, tokenAmount, orderStatus, namesSender }) => (
        <label key={code} className="flex min-h-8 items-center gap-3">
          <input
            type="radio"
            name={isOther ? 'listed' : 'code'}
            value={code}
            required
            onChange={() => setOther(false)}
          />
          <span>{t.order(shortCode)}</span>
          <Money amount={tokenAmount} asset={ASSET} />
          <OrderStatus status={orderStatus} />
          {namesSender && <span className="text-sm text-soft">{t.namesSender}</span>}
        </label>
      ))}
      <label className="flex min-h-8 items-center gap-3">
        <input type="radio" name={isOther ? 'listed' : 'code'} value="" required onChange={() => setOther(true)} />
        <span>{t.another}</span>
      </label>
      {isOther && <Field label={t.code} name="code" required spellCheck={false} />}
    </fieldset>
  )
}
