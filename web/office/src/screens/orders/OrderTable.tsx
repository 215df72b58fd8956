import { Link } from '@tanstack/react-router'
import type { Order } from '../../api/call.ts'
import { Money, OrderStatus, TableFrame, Time } from '../../kit/parts.tsx'
import { useCore, useTexts, wordFor } from '../../texts/lang.ts'
import { texts } from './texts.ts'

/** One row an order; narrow screens show what identifies it, wide ones everything. */
export function OrderTable({ orders, label }: { orders: readonly Order[]; label: string }) {
  const t = useTexts(texts)
  const core = useCore()
  return (
    <TableFrame label={label}>
      <table className="table">
        <thead>
          <tr>
            <th scope="col">{t.order}</th>
            <th scope="col" className="text-right">
              {core.amount}
            </th>
            <th scope="col" className="hidden sm:table-cell">
              {core.status}
            </th>
            <th scope="col" className="hidden md:table-cell">
              {t.channel}
            </th>
            <th scope="col" className="hidden lg:table-cell">
              {t.till}
            </th>
            <th scope="col" className="hidden sm:table-cell">
              {t.created}
            </th>
          </tr>
        </thead>
        <tbody>
          {orders.map((order) => (
            <tr key={order._id}>
              <td className="max-w-44">
                <Link to="/orders/$code" params={{ code: order.code }} className="link font-medium">
                  {order.shortCode}
                </Link>
                {order.alias && <span className="block truncate text-[13px] text-soft">{order.alias}</span>}
                <span className="block text-[13px] text-soft sm:hidden">
                  <Time at={order.createdAt} ago />
                </span>
              </td>
              <td className="text-right font-medium">
                <Money amount={order.fromAmount} asset={order.fromAsset} />
                <span className="mt-1 block font-normal sm:hidden">
                  <OrderStatus status={order.status} />
                </span>
              </td>
              <td className="hidden sm:table-cell">
                <OrderStatus status={order.status} />
              </td>
              <td className="hidden md:table-cell">
                {order.paymentChannel ? wordFor(core.channels, order.paymentChannel) : '–'}
              </td>
              <td className="hidden max-w-44 truncate lg:table-cell">
                {order.merchantIdentifier ?? order.websiteUrl ?? '–'}
              </td>
              <td className="hidden sm:table-cell">
                <Time at={order.createdAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableFrame>
  )
}
