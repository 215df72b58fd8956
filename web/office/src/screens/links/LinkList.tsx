import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Order } from '../../api/call.ts'
import { useApi } from '../../api/hooks.ts'
import { useCanSell } from '../../api/session.ts'
import { useAddress } from '../../frame/address.ts'
import { useCompanyQuery } from '../../frame/company.tsx'
import { Check } from '../../kit/fields.tsx'
import { Icon } from '../../kit/icons.tsx'
import { SLOW_MS } from '../../kit/live.ts'
import { Copy, Empty, Loaded, Money, OrderStatus, Page, TableFrame, Time } from '../../kit/parts.tsx'
import { useCore, useTexts } from '../../texts/lang.ts'
import { texts } from './texts.ts'

const OPEN = 'INITIAL,PENDING,AWAITING,WAITING_CHAIN_CONFIRMATION'
/** So many rows are drawn; more on demand, so that a thousand links stay smooth. */
const STEP = 50

export function LinkList() {
  const t = useTexts(texts)
  const canSell = useCanSell()
  const [{ status }, go] = useAddress()
  const query = { ...useCompanyQuery(), ...(status ? { status: [status] } : {}) }
  const links = useApi('GET /api/next/confirm_conversion/links', { query }, { liveMs: SLOW_MS })
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
      </div>
    </Page>
  )
}

function Links({ links }: { links: readonly Order[] }) {
  const t = useTexts(texts)
  const core = useCore()
  const [count, setCount] = useState(STEP)
  return (
    <TableFrame label={t.title}>
      <table className="table">
        <thead>
          <tr>
            <th scope="col">{t.reference}</th>
            <th scope="col" className="text-right">
              {core.amount}
            </th>
            <th scope="col">{core.status}</th>
            <th scope="col" className="hidden sm:table-cell">
              {t.expires}
            </th>
            <th scope="col">{t.link}</th>
          </tr>
        </thead>
        <tbody>
          {links.slice(0, count).map((order) => (
            <tr key={order._id}>
              <td className="max-w-52">
                <Link to="/orders/$code" params={{ code: order.code }} className="link block truncate font-medium">
                  {order.alias ?? order.shortCode}
                </Link>
              </td>
              <td className="text-right font-medium">
                <Money amount={order.fromAmount} asset={order.fromAsset} />
              </td>
              <td>
                <OrderStatus status={order.status} />
              </td>
              <td className="hidden sm:table-cell">
                <Time at={order.expiresAt} />
              </td>
              <td>
                <Copy text={order.paymentUrl} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {links.length > count && (
        <p className="border-t border-line p-3 text-center">
          <button type="button" className="btn" onClick={() => setCount(count + STEP)}>
            {core.more}
          </button>
        </p>
      )}
    </TableFrame>
  )
}
