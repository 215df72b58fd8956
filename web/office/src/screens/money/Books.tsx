import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { call, type Query } from '../../api/call.ts'
import { saveCsv } from '../../api/csv.ts'
import { useAction, useCursorPages } from '../../api/hooks.ts'
import { useCan, useSession } from '../../api/session.ts'
import { useAddress } from '../../frame/address.ts'
import { useCompanyQuery } from '../../frame/company.tsx'
import { Day } from '../../kit/Day.tsx'
import { toPeriod } from '../../kit/days.ts'
import { formatTime } from '../../kit/format.ts'
import { Icon } from '../../kit/icons.tsx'
import { Code, Dialog, Facts, Loaded, Money, Panel, Refusal, TableFrame, Time } from '../../kit/parts.tsx'
import { useCore, useLang, useTexts, wordFor } from '../../texts/lang.ts'
import { balanceOf, type Ledger, useAccountWords } from './accounts.ts'
import { booksTexts } from './books-texts.ts'
import { columnTexts } from './column-texts.ts'
import { Cut, limitOf, Print } from './Print.tsx'
import { texts } from './texts.ts'

/** Accounts and entries of a period, as a statement to print or download. */
export function Books() {
  const t = useTexts(texts)
  const columns = useTexts(columnTexts)
  const words = useTexts(booksTexts)
  const lang = useLang()
  const { user } = useSession()
  const can = useCan()
  const [{ from, to }] = useAddress()
  const period = { ...useCompanyQuery(), ...toPeriod({ from, to }) }
  const pages = useCursorPages(['ledger', period], (after, signal) => {
    const query = { ...period, limit: limitOf(after), ...(after ? { after } : {}) } as Query<'readLedger'>
    return call('GET /api/next/ledger', { query }, signal)
  })
  const entries = pages.data?.pages.flatMap((page) => page.entries) ?? []
  const save = useAction({ run: () => saveCsv({ path: 'ledger', query: period, columns }) })
  return (
    <>
      <p className="mb-4 hidden text-lg font-semibold print:block">
        {[user.company?.name, [from ?? '…', to ?? '…'].join(' – ')].filter(Boolean).join(' · ')}
      </p>
      <div className="no-print mb-1 flex flex-wrap items-end gap-3">
        <Day name="from" label={t.from} />
        <Day name="to" label={t.to} />
        {can('orders.download') && (
          <button type="button" className="btn mb-4" disabled={save.isPending} onClick={() => save.mutate(undefined)}>
            <Icon name="download" />
            {t.csv}
          </button>
        )}
        <Print word={t.print} pages={pages} lines={entries.length} className="mb-4" />
      </div>
      <Refusal error={save.error} />
      {/* each page has the balances of its own moment: those of the last one belong to all lines before it */}
      <Loaded query={{ ...pages, data: pages.data?.pages.at(-1) }}>
        {({ balances, finalUntil }) => (
          <>
            {period.to !== undefined && finalUntil < period.to && (
              <p className="mb-4 text-soft">{words.notFinal(formatTime(lang, finalUntil, 'long'))}</p>
            )}
            <Balances balances={balances} />
            <Entries entries={entries} onMore={pages.hasNextPage ? () => void pages.fetchNextPage() : null} />
            <Cut pages={pages} lines={entries.length} />
          </>
        )}
      </Loaded>
    </>
  )
}

/** A phone shows only the balance; its components are on wider screens and on paper. */
const isWide = (column: number): string => (column < 3 ? 'max-sm:hidden' : '')

function Balances({ balances }: { balances: Ledger['balances'] }) {
  const t = useTexts(texts)
  const words = useAccountWords()
  return (
    <Panel title={t.accounts} flush>
      <TableFrame label={t.accounts}>
        <table className="table">
          <thead>
            <tr>
              <th scope="col">{t.account}</th>
              {[t.opening, t.debit, t.credit, t.closing].map((word, index) => (
                <th key={word} scope="col" className={`text-right ${isWide(index)}`}>
                  {word}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {balances.map(({ account, asset, opening, debit, credit, closing }) => (
              <tr key={`${account}-${asset}`}>
                <th scope="row" className="!border-b-line !text-ink">
                  {words[account] ?? account}
                </th>
                {[balanceOf(account, opening), debit, credit, balanceOf(account, closing)].map((amount, index) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: four fixed columns
                  <td key={index} className={`text-right ${isWide(index)}`}>
                    <Money amount={amount} asset={asset} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </TableFrame>
    </Panel>
  )
}

function Entries({ entries, onMore }: { entries: Ledger['entries']; onMore: (() => void) | null }) {
  const t = useTexts(texts)
  const core = useCore()
  const [open, setOpen] = useState<string | null>(null)
  return (
    <Panel title={t.entries} flush>
      {entries.length === 0 && <p className="p-4 text-soft">{t.noEntries}</p>}
      {entries.length > 0 && (
        <TableFrame label={t.entries}>
          <table className="table">
            <thead>
              <tr>
                <th scope="col" className="max-sm:hidden">
                  {core.date}
                </th>
                <th scope="col">{t.kind}</th>
                <th scope="col" className="max-sm:hidden">
                  {t.account}
                </th>
                <th scope="col" className="text-right">
                  {core.amount}
                </th>
                <th scope="col" className="max-sm:hidden">
                  {t.journal}
                </th>
              </tr>
            </thead>
            <tbody>
              {entries.map((entry, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: two may be alike, and more come last
                <EntryRow key={index} entry={entry} onOpen={() => setOpen(entry.journalId)} />
              ))}
            </tbody>
          </table>
        </TableFrame>
      )}
      {open && (
        <Journal entries={entries.filter(({ journalId }) => journalId === open)} onClose={() => setOpen(null)} />
      )}
      {onMore && (
        <p className="no-print border-t border-line p-3 text-center">
          <button type="button" className="btn" onClick={onMore}>
            {core.more}
          </button>
        </p>
      )}
    </Panel>
  )
}

function EntryRow({ entry, onOpen }: { entry: Ledger['entries'][number]; onOpen(): void }) {
  const t = useTexts(texts)
  const words = useAccountWords()
  return (
    <tr>
      <td className="max-sm:hidden">
        <Time at={entry.at} />
      </td>
      <td>
        {wordFor(t.kinds, entry.kind)}
        <span className="block text-[13px] text-soft sm:hidden">{words[entry.account] ?? entry.account}</span>
        <span className="block text-[13px] text-soft sm:hidden">
          <Time at={entry.at} />
        </span>
      </td>
      <td className="max-sm:hidden">{words[entry.account] ?? entry.account}</td>
      <td className="text-right">
        <Money amount={balanceOf(entry.account, entry.amount)} asset={entry.asset} />
      </td>
      <td className="max-sm:hidden">
        <button type="button" className="link font-mono text-[13px]" onClick={onOpen}>
          {entry.journalId.slice(-8)}
        </button>
      </td>
    </tr>
  )
}

/** One booking with both its sides, and what it was for. */
function Journal({ entries, onClose }: { entries: Ledger['entries']; onClose(): void }) {
  const t = useTexts(texts)
  const core = useCore()
  const words = useAccountWords()
  const [first] = entries
  if (!first) return null
  return (
    <Dialog title={t.journal} onClose={onClose}>
      <Facts
        rows={[
          [core.date, <Time key="at" at={first.at} long />],
          [t.kind, wordFor(t.kinds, first.kind)],
          [t.journal, <Code key="id" text={first.journalId} whole />],
          ...entries.map((entry, index): [string, React.ReactNode] => [
            words[entry.account] ?? entry.account,
            <Money
              // biome-ignore lint/suspicious/noArrayIndexKey: two sides may be alike, and none moves
              key={`side-${index}`}
              amount={balanceOf(entry.account, entry.amount)}
              asset={entry.asset}
            />,
          ]),
        ]}
      />
      {first.code && (
        <Link to="/orders/$code" params={{ code: first.code }} className="btn mt-4">
          {core.nav.orders}
        </Link>
      )}
    </Dialog>
  )
}
