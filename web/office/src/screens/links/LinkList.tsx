import { Link } from '@tanstack/react-router'
import { callPage, type Order } from '../../api/call.ts'
import { useCursorPages } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { useAddress } from '../../frame/address.ts'
import { useCanSell, useCompanyQuery } from '../../frame/company.tsx'
import { Check } from '../../kit/fields.tsx'
import { Icon } from '../../kit/icons.tsx'
import { Table } from '../../kit/lists.tsx'
import { SLOW_MS } from '../../kit/live.ts'
import { Copy, Empty, Loaded, Money, OrderStatus, Page, Time } from '../../kit/parts.tsx'
import { useCore, useTexts } from '../../texts/lang.ts'
import { StaticLinks } from './StaticLinks.tsx'
import { texts } from './texts.ts'

const OPEN = 'INITIAL,PENDING,AWAITING,WAITING_CHAIN_CONFIRMATION'
const LIMIT = 50

export function LinkList() {
  const t = useTexts(texts)
  const core = useCore()
  const canSell = useCanSell()
  const can = useCan()
  const [{ status }, go] = useAddress()
  const query = { ...useCompanyQuery(), limit: LIMIT, ...(status ? { status: [status] } : {}) }
  const pages = useCursorPages(
    ['links', query],
    (cursor, signal) =>
      callPage('GET /api/next/confirm_conversion/links', { query: { ...query, ...(cursor && { cursor }) } }, signal),
    SLOW_MS,
  )
  const links = { ...pages, data: pages.data?.pages.flatMap(({ rows }) => rows) }
  const create = canSell && (
    <Link to="/links/new" className="btn btn-fill">
      <Icon name="plus" />
      {t.create}
    </Link>
  )
  const onOpenOnly = (isOn: boolean): void => go({ status: isOn ? OPEN : undefined, page: undefined })
  return (
    <Page title={t.title} lead={t.lead} actions={create}>
      <Check label={t.openOnly} checked={status === OPEN} onChange={(event) => onOpenOnly(event.target.checked)} />
      <div className="panel overflow-hidden">
        <Loaded
          query={links}
          isEmpty={(data) => data.length === 0}
          empty={
            <Empty icon="link" title={t.empty}>
              {t.emptyText}
            </Empty>
          }
        >
          {(data) => <Links links={data} />}
        </Loaded>
        {pages.hasNextPage && (
          <p className="border-t border-line p-3 text-center">
            <button type="button" className="btn" onClick={() => void pages.fetchNextPage()}>
              {core.more}
            </button>
          </p>
        )}
      </div>
      {can('staticLinks.read') && (
        <div className="mt-6">
          <StaticLinks />
        </div>
      )}
    </Page>
  )
}

function Links({ links }: { links: readonly Order[] }) {
  const t = useTexts(texts)
  const core = useCore()
  return (
    <Table
      label={t.title}
      rows={links}
      keyOf={({ _id }) => _id}
      columns={[
        {
          head: t.reference,
          width: 'max-w-40 sm:max-w-52',
          cell: ({ code, alias, shortCode, paymentUrl }) => (
            <>
              <Link to="/orders/$code" params={{ code }} className="link block truncate font-medium">
                {alias ?? shortCode}
              </Link>
              <span className="-ml-2 block sm:hidden">
                <Share url={paymentUrl} />
              </span>
            </>
          ),
        },
        {
          head: core.amount,
          isNumber: true,
          width: 'font-medium',
          cell: ({ fromAmount, fromAsset }) => <Money amount={fromAmount} asset={fromAsset} />,
        },
        { head: core.status, cell: ({ status }) => <OrderStatus status={status} /> },
        { head: t.expires, width: 'hidden sm:table-cell', cell: ({ expiresAt }) => <Time at={expiresAt} /> },
        { head: t.link, width: 'hidden sm:table-cell', cell: ({ paymentUrl }) => <Share url={paymentUrl} /> },
      ]}
    />
  )
}

/** The link, to copy or print as a QR code. */
function Share({ url }: { url: string }) {
  const t = useTexts(texts)
  return (
    <>
      <Copy text={url} />{' '}
      <a className="btn btn-quiet" href={url.replace('/pay?', '/pay/poster?')} target="_blank" rel="noopener">
        {t.poster}
      </a>
    </>
  )
}
