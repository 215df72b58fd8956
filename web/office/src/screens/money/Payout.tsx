import { Link, useParams } from '@tanstack/react-router'
import { ApiError, call, type Data } from '../../api/call.ts'
import { saveCsv } from '../../api/csv.ts'
import { useAction, useCursorPages } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { NotFound } from '../../frame/NotFound.tsx'
import { formatCount, formatMoney } from '../../kit/format.ts'
import { Icon } from '../../kit/icons.tsx'
import { Table } from '../../kit/lists.tsx'
import { Badge, Code, Facts, Loaded, Money, Notice, Page, Panel, Refusal, Time } from '../../kit/parts.tsx'
import { useCore, useLang, useTexts, wordFor } from '../../texts/lang.ts'
import { columnTexts } from './column-texts.ts'
import { Cut, limitOf, Print } from './Print.tsx'
import { statementTexts } from './statement-texts.ts'
import { STATUS_TONES, texts } from './texts.ts'

type Statement = Data<'readSettlementStatement'>

/** One payout: how its amount was computed, and each payment and refund in it. */
export function Payout() {
  const { id } = useParams({ from: '/inside/money/payouts/$id' })
  return <OnePayout key={id} id={id} />
}

function OnePayout({ id }: { id: string }) {
  const t = useTexts(statementTexts)
  const columns = useTexts(columnTexts)
  const can = useCan()
  const core = useCore()
  const lang = useLang()
  const pages = useCursorPages(['payout', id], (after, signal) =>
    call(
      'GET /api/next/settlements/{id}/statement',
      { path: { id }, query: { limit: limitOf(after), ...(after ? { after } : {}) } },
      signal,
    ),
  )
  const lines = pages.data?.pages.flatMap((page) => page.lines) ?? []
  const save = useAction({ run: () => saveCsv({ path: `settlements/${id}/statement`, columns }) })
  if (pages.error instanceof ApiError && [404, 422].includes(pages.error.status)) return <NotFound />
  return (
    <Loaded query={{ ...pages, data: pages.data?.pages[0] }}>
      {(statement) => (
        <Page
          title={t.title(formatMoney(lang, statement.settlement.amount, 'USDC'))}
          lead={<Lead statement={statement} />}
          actions={
            <>
              {can('orders.download') && (
                <button type="button" className="btn" disabled={save.isPending} onClick={() => save.mutate(undefined)}>
                  <Icon name="download" />
                  {t.csv}
                </button>
              )}
              <Print word={t.print} pages={pages} lines={lines.length} />
            </>
          }
        >
          <Refusal error={save.error} />
          {statement.settlement.status === 'cancelled' && <Notice>{t.cancelled}</Notice>}
          <Panel title={t.how}>
            <Sum statement={statement} />
          </Panel>
          <Panel title={t.lines} flush>
            <Lines lines={lines} />
            {pages.hasNextPage && (
              <p className="no-print border-t border-line p-3 text-center">
                <button type="button" className="btn" onClick={() => void pages.fetchNextPage()}>
                  {core.more}
                </button>
              </p>
            )}
            <Cut pages={pages} lines={lines.length} />
          </Panel>
          <p className="no-print">
            <Link to="/money" className="link">
              {t.back}
            </Link>
          </p>
        </Page>
      )}
    </Loaded>
  )
}

function Lead({ statement: { since, settlement } }: { statement: Statement }) {
  const t = useTexts(statementTexts)
  const words = useTexts(texts)
  return (
    <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <Badge tone={STATUS_TONES[settlement.status] ?? 'plain'}>{wordFor(words.status, settlement.status)}</Badge>
      <Time at={settlement.createdAt} long />
      <Code text={settlement.address} />
      <span>
        {since === null ? (
          t.first
        ) : (
          <>
            {t.since} <Time at={since} long />
          </>
        )}
      </span>
    </span>
  )
}

/** Zero lines are left out; the remaining ones add up. */
function Sum({ statement: { summary } }: { statement: Statement }) {
  const t = useTexts(statementTexts)
  const lang = useLang()
  const { payments, refunds, takenBack } = summary
  const money = (amount: string) => <Money amount={amount} asset="USDC" />
  const isSome = (amount: string | null): amount is string => /[1-9]/.test(amount ?? '')
  const perhaps = (word: string, amount: string | null): [string, React.ReactNode][] =>
    isSome(amount) ? [[word, money(amount)]] : []
  return (
    <Facts
      rows={[
        ...perhaps(t.carriedOver, summary.carriedOver),
        [t.payments(formatCount(lang, payments.count)), money(payments.gross)],
        ...perhaps(t.fees, isSome(payments.fees) ? `-${payments.fees}` : null),
        ...perhaps(t.refunds(formatCount(lang, refunds.count)), refunds.amount),
        ...perhaps(t.takenBack(formatCount(lang, takenBack.count)), takenBack.amount),
        ...perhaps(t.losses, summary.losses),
        [t.owed, money(summary.owed)],
        ...perhaps(t.ownAccounts, summary.ownAccounts),
        ...perhaps(t.undecided, summary.undecided),
        ...perhaps(t.reserve, summary.reserve),
        ...perhaps(t.heldBack, summary.heldBack),
        [t.amount, <strong key="amount">{money(summary.amount)}</strong>],
      ]}
    />
  )
}

function Lines({ lines }: { lines: Statement['lines'] }) {
  const t = useTexts(statementTexts)
  const core = useCore()
  if (lines.length === 0) return <p className="p-4 text-soft">{t.none}</p>
  return (
    <Table
      label={t.lines}
      rows={lines}
      keyOf={({ journalId }) => journalId}
      columns={[
        { head: core.date, width: 'hidden sm:table-cell', cell: ({ at }) => <Time at={at} /> },
        {
          head: t.order,
          cell: ({ code, shortCode, alias, kind, at }) => (
            <>
              {code ? (
                <Link to="/orders/$code" params={{ code }} className="link wrap-anywhere">
                  {alias ?? shortCode}
                </Link>
              ) : (
                '–'
              )}
              <span className="block text-[13px] text-soft">{wordFor(t.kinds, kind)}</span>
              <span className="block text-[13px] text-soft sm:hidden">
                <Time at={at} />
              </span>
            </>
          ),
        },
        {
          head: t.price,
          isNumber: true,
          width: 'hidden sm:table-cell',
          cell: ({ fromAmount, fromAsset }) =>
            fromAmount && fromAsset ? <Money amount={fromAmount} asset={fromAsset} /> : '–',
        },
        {
          head: t.gross,
          isNumber: true,
          width: 'hidden sm:table-cell',
          cell: ({ gross }) => <Money amount={gross} asset="USDC" />,
        },
        {
          head: t.fee,
          isNumber: true,
          width: 'hidden sm:table-cell',
          cell: ({ fee }) => <Money amount={fee} asset="USDC" />,
        },
        { head: t.left, isNumber: true, cell: ({ amount }) => <Money amount={amount} asset="USDC" /> },
      ]}
    />
  )
}
