import { Link, useSearch } from '@tanstack/react-router'
import type { Query } from '../../api/call.ts'
import { useApi } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { useChannelName } from '../../frame/channels.ts'
import { useCompanyQuery } from '../../frame/company.tsx'
import { holdTexts } from '../../frame/hold-texts.ts'
import { findHold } from '../../frame/holds.ts'
import { PagedList } from '../../kit/lists.tsx'
import { SLOW_MS } from '../../kit/live.ts'
import { Badge, Code, Copy, Empty, Facts, Money, Notice, Page, Time, type Tone } from '../../kit/parts.tsx'
import { StatusTabs, usePage } from '../../kit/Tabs.tsx'
import { useCore, useTexts, wordFor } from '../../texts/lang.ts'
import { destinationTexts } from './destination-texts.ts'
import { useMeaning } from './meaning.ts'
import { RefundActions } from './RefundActions.tsx'
import { destinationOf, type Refund, sendsIt, writerWords } from './refund.ts'
import { texts } from './texts.ts'

const LIMIT = 20
const TONES: Record<string, Tone> = { needs_approval: 'warn', needs_address: 'warn', settled: 'good', refused: 'bad' }

/** The queue: what happened, what can be done, and its effect. */
export function RefundList() {
  const t = useTexts(texts)
  const { status, code } = useSearch({ strict: false })
  const [page] = usePage()
  const query = {
    ...{ ...useCompanyQuery(), page, limit: LIMIT },
    ...{ ...(status && { status }), ...(code && { code }) },
  } as Query<'listRefunds'>
  const refunds = useApi('GET /api/next/refunds', { query }, { liveMs: SLOW_MS })
  return (
    <Page title={t.title} lead={t.lead}>
      <StatusTabs label={t.title} options={[['', t.all], ['waiting', t.waiting], ...Object.entries(t.status)]} />
      {code && (
        <p className="mb-4 text-sm">
          <Link to="/refunds" className="link">
            {t.showAll}
          </Link>
        </p>
      )}
      <PagedList
        query={refunds}
        rows={(data) => data.refunds}
        keyOf={(refund) => refund._id}
        total={(data) => data.total}
        limit={LIMIT}
        look="cards"
        empty={
          <Empty icon="undo" title={t.empty}>
            {t.emptyText}
          </Empty>
        }
      >
        {(refund) => <Card refund={refund} />}
      </PagedList>
    </Page>
  )
}

/** A settled refund's status such as REFUND_SUCCESS would only repeat the sentence above it. */
const isSaid = ({ status, message }: Refund): boolean => status === 'settled' && /^[A-Z_]+$/.test(message ?? '')

/** Only in these states does the last message explain a problem; otherwise it is news, or a person's text. */
const isStuck = ({ status }: Refund): boolean => ['ready', 'refused', 'rejected'].includes(status)

function Card({ refund }: { refund: Refund }) {
  const t = useTexts(texts)
  const holds = useTexts(holdTexts)
  const destinations = useTexts(destinationTexts)
  const core = useCore()
  const channelName = useChannelName()
  const hold = findHold(refund.message)
  const isOpen = refund.status === 'ready' || refund.status === 'submitted'
  const meaning = useMeaning()(refund)
  const can = useCan()
  // the service asks whoever holds the money, and no one else
  const isForOther = refund.toSendByHand && !sendsIt(refund, can('refunds.decide'))
  const rows: [string, React.ReactNode][] = []
  if (refund.reason) rows.push([core.reason, refund.reason])
  const address = destinationOf(refund)
  if (address) rows.push([t.destination, <Code key="to" text={address} whole />])
  if (refund.proposedAddress) rows.push([t.proposed, <Code key="proposed" text={refund.proposedAddress} whole />])
  if (refund.proposer) rows.push([t.proposer, writerWords(t, refund.proposer)])
  if (refund.replacedAddress) rows.push([t.replaced, <Code key="replaced" text={refund.replacedAddress} whole />])
  if (refund.proof?.erasedAt) rows.push([t.proofFile, t.proofErased])
  if (refund.txHash) rows.push([t.transactionLabel, <Code key="tx" text={refund.txHash} />])
  return (
    <article className="panel p-4">
      <div className="mb-2 flex flex-wrap items-center gap-3">
        <strong className="text-lg">
          <Money amount={refund.amount} asset="USDC" />
        </strong>
        {refund.toSendByHand ? (
          <Badge tone="warn">{t.byHand.badge}</Badge>
        ) : (
          <Badge tone={TONES[refund.status] ?? 'info'}>{wordFor(t.status, refund.status)}</Badge>
        )}
        <span className="text-sm text-soft">
          {channelName(refund.channel)} · <Time at={refund.createdAt} ago />
        </span>
        <Link to="/orders/$code" params={{ code: refund.code }} className="link ml-auto text-sm">
          {t.order(refund.shortCode)}
        </Link>
      </div>
      <p className="mb-3 text-sm">
        {hold && isOpen ? holds[hold] : meaning} {refund.approvalReason === 'limit' && t.limit}
      </p>
      {refund.status === 'needs_address' && refund.emailWriter && (
        <Notice tone="warn">{destinations.typedBy(refund.emailWriter.name ?? refund.emailWriter.by)}</Notice>
      )}
      {refund.replacedAddress && <Notice tone="warn">{t.replacedText}</Notice>}
      {refund.message && !isSaid(refund) && !isForOther && (
        <p className={`mb-3 text-sm break-words ${isStuck(refund) ? 'text-bad' : 'text-soft'}`} lang="en">
          {refund.message}
        </p>
      )}
      {rows.length > 0 && (
        <div className="mb-3">
          <Facts rows={rows} />
        </div>
      )}
      {refund.status === 'needs_address' && refund.addressUrl && <Copy text={refund.addressUrl} label={t.link} />}
      <RefundActions refund={refund} />
    </article>
  )
}
