import type { ReactNode } from 'react'
import type { Order } from '../../api/call.ts'
import { useChannelName } from '../../frame/channels.ts'
import { Check } from '../../kit/fields.tsx'
import { Money, OrderStatus, Time } from '../../kit/parts.tsx'
import { useTexts } from '../../texts/lang.ts'
import { texts } from './texts.ts'

/** In the order of the table. */
const NAMES = [
  ...(['amount', 'status', 'channel', 'till', 'created', 'settles'] as const),
  ...(['rate', 'refunded', 'goods', 'paid', 'expires'] as const),
]
export type ColumnName = (typeof NAMES)[number]

const USUAL: readonly ColumnName[] = ['amount', 'status', 'channel', 'till', 'created']
const KEY = 'order-columns'

const parse = (text: string): ColumnName[] => {
  const asked = text.split(',')
  return NAMES.filter((name) => asked.includes(name))
}

/** The columns in the URL (a saved view has its own), otherwise the last choice in this browser. */
export function columnsOf(asked: string | undefined): ColumnName[] | null {
  const columns = parse(asked ?? localStorage.getItem(KEY) ?? '')
  return columns.length === 0 ? null : columns
}

type ChoiceProps = { columns: string | undefined; onChoose(columns: string | undefined): void }

export function ColumnChoice({ columns, onChoose }: ChoiceProps) {
  const t = useTexts(texts)
  const chosen = columnsOf(columns) ?? [...USUAL]
  const choose = (next: readonly ColumnName[] | null): void => {
    if (next === null) localStorage.removeItem(KEY)
    else localStorage.setItem(KEY, next.join(','))
    onChoose(next === null ? undefined : NAMES.filter((name) => next.includes(name)).join(','))
  }
  return (
    <details className="relative">
      <summary className="btn list-none">{t.columns}</summary>
      <div className="panel absolute right-0 z-20 mt-2 w-[min(16rem,88vw)] p-4 shadow-xl">
        {NAMES.map((name) => (
          <Check
            key={name}
            label={t.column[name]}
            checked={chosen.includes(name)}
            // the last column cannot be hidden
            disabled={chosen.length === 1 && chosen.includes(name)}
            onChange={({ target }) =>
              choose(target.checked ? [...chosen, name] : chosen.filter((other) => other !== name))
            }
          />
        ))}
        <button type="button" className="btn w-full" onClick={() => choose(null)}>
          {t.columnsReset}
        </button>
      </div>
    </details>
  )
}

export const isAmount = (name: ColumnName): boolean => ['amount', 'settles', 'rate', 'refunded'].includes(name)

/** The content of each column for one order. */
export function useCells(): Record<ColumnName, (order: Order) => ReactNode> {
  const channelName = useChannelName()
  return {
    amount: (order) => <Money amount={order.fromAmount} asset={order.fromAsset} />,
    status: (order) => <OrderStatus status={order.status} />,
    channel: ({ paymentChannel }) => (paymentChannel ? channelName(paymentChannel) : '–'),
    till: (order) => order.merchantIdentifier ?? order.websiteUrl ?? '–',
    created: (order) => <Time at={order.createdAt} />,
    settles: (order) => <Money amount={order.toAmount} asset={order.toAsset} />,
    rate: (order) => order.rate,
    refunded: (order) =>
      Number(order.refundedAmount) > 0 ? <Money amount={order.refundedAmount} asset={order.toAsset} /> : '–',
    goods: ({ goods }) => goods?.goodsName ?? '–',
    paid: ({ paidAt }) => (paidAt ? <Time at={paidAt} /> : '–'),
    expires: (order) => <Time at={order.expiresAt} />,
  }
}
