import { useApi } from '../../api/hooks.ts'
import { useCompanyQuery } from '../../frame/company.tsx'
import { formatCount, formatMonth, formatNumber, HERE } from '../../kit/format.ts'
import { Table } from '../../kit/lists.tsx'
import { Loaded, Money, Panel } from '../../kit/parts.tsx'
import { useLang, useTexts } from '../../texts/lang.ts'
import { feeTexts } from './fee-texts.ts'

/** Month by month: sales, the operator's fee, refunds, losses, and what is left. */
export function Fees() {
  const t = useTexts(feeTexts)
  const lang = useLang()
  const fees = useApi('GET /api/next/ledger/fees', { query: { ...useCompanyQuery(), months: 12, timeZone: HERE } })
  return (
    <Panel
      title={t.title}
      flush
      actions={
        fees.data && (
          <span className="text-sm text-soft">{t.rate(formatNumber(lang, String(fees.data.feeBps / 100)))}</span>
        )
      }
    >
      <Loaded
        query={fees}
        isEmpty={({ months }) => months.length === 0}
        empty={<p className="p-4 text-soft">{t.none}</p>}
      >
        {({ months }) => (
          <Table
            label={t.title}
            rows={months}
            keyOf={({ month }) => month}
            columns={[
              { head: t.month, cell: ({ month }) => formatMonth(lang, month) },
              {
                head: t.payments,
                isNumber: true,
                width: 'hidden sm:table-cell',
                cell: ({ payments }) => formatCount(lang, payments),
              },
              { head: t.received, isNumber: true, cell: ({ received }) => <Money amount={received} asset="USDC" /> },
              { head: t.fees, isNumber: true, cell: ({ fees: kept }) => <Money amount={kept} asset="USDC" /> },
              {
                head: t.refunded,
                isNumber: true,
                width: 'hidden sm:table-cell',
                cell: ({ refunded }) => <Money amount={refunded} asset="USDC" />,
              },
              ...(months.some(({ losses }) => Number(losses) !== 0)
                ? [
                    {
                      head: t.losses,
                      isNumber: true,
                      width: 'hidden sm:table-cell',
                      cell: ({ losses }: (typeof months)[number]) => <Money amount={losses} asset="USDC" />,
                    },
                  ]
                : []),
              {
                head: t.net,
                isNumber: true,
                width: 'hidden font-medium sm:table-cell',
                cell: ({ net }) => <Money amount={net} asset="USDC" />,
              },
            ]}
          />
        )}
      </Loaded>
    </Panel>
  )
}
