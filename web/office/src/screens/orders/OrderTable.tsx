import { Link } from '@tanstack/react-router'
import type { Order } from '../../api/call.ts'
import { OrderStatus, TableFrame, Time } from '../../kit/parts.tsx'
import { useTexts } from '../../texts/lang.ts'
import { type ColumnName, isAmount, useCells } from './Columns.tsx'
import { texts } from './texts.ts'

/** The minimum width for each of the default columns, unless a person chose the columns. */
const USUAL: [ColumnName, string][] = [
  ['amount', ''],
  ['status', 'hidden sm:table-cell'],
  ['channel', 'hidden md:table-cell'],
  ['till', 'hidden max-w-44 truncate lg:table-cell'],
  ['created', 'hidden sm:table-cell'],
]

type Props = { orders: readonly Order[]; label: string; columns?: readonly ColumnName[] | null }

/**
 * One row per order; narrow screens show what identifies it, wide ones the columns. On a narrow screen a long reference
 * is truncated, so that the amount is complete.
 */
export function OrderTable({ orders, label, columns = null }: Props) {
  const t = useTexts(texts)
  const cells = useCells()
  const shown = columns === null ? USUAL : columns.map((name): [ColumnName, string] => [name, 'max-w-52 truncate'])
  const side = (name: ColumnName): string => (isAmount(name) ? 'text-right font-medium' : '')
  return (
    <TableFrame label={label}>
      <table className="table">
        <thead>
          <tr>
            <th scope="col">{t.order}</th>
            {shown.map(([name, width]) => (
              <th key={name} scope="col" className={`${side(name)} ${width}`}>
                {t.column[name]}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {orders.map((order) => (
            <tr key={order._id}>
              <td className={columns === null ? 'w-full max-w-0 sm:w-auto sm:max-w-44' : 'max-w-44'}>
                <Name order={order} isPlain={columns !== null} />
              </td>
              {shown.map(([name, width]) => (
                <td key={name} className={`${side(name)} ${width}`}>
                  {cells[name](order)}
                  {name === 'amount' && columns === null && (
                    <span className="mt-1 block font-normal sm:hidden">
                      <OrderStatus status={order.status} />
                    </span>
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </TableFrame>
  )
}

function Name({ order, isPlain }: { order: Order; isPlain: boolean }) {
  return (
    <>
      <Link to="/orders/$code" params={{ code: order.code }} className="link font-medium">
        {order.shortCode}
      </Link>
      {order.alias && <span className="block truncate text-[13px] text-soft">{order.alias}</span>}
      {!isPlain && (
        <span className="block text-[13px] text-soft sm:hidden">
          <Time at={order.createdAt} ago />
        </span>
      )}
    </>
  )
}
