import { useApi } from '../../api/hooks.ts'
import { useCompanyQuery } from '../../frame/company.tsx'
import { formatCount, formatMonth } from '../../kit/format.ts'
import { Loaded, Money, Panel, TableFrame } from '../../kit/parts.tsx'
import { useLang, useTexts } from '../../texts/lang.ts'
import { feeTexts } from './fee-texts.ts'

/** Month by month: what was sold, what the operator kept, what went back, what is left. */
export function Fees() {
  const t = useTexts(feeTexts)
  const lang = useLang()
  const fees = useApi('GET /api/next/ledger/fees', { query: { ...useCompanyQuery(), months: 12 } })
  return (
    <Panel
      title={t.title}
      flush
      actions={fees.data && <span className="text-sm text-soft">{t.rate(String(fees.data.feeBps / 100))}</span>}
    >
      <Loaded
        query={fees}
        isEmpty={({ months }) => months.length === 0}
        empty={<p className="p-4 text-soft">{t.none}</p>}
      >
        {({ months }) => (
          <TableFrame label={t.title}>
            <table className="table">
              <thead>
                <tr>
                  <th scope="col">{t.month}</th>
                  <th scope="col" className="hidden text-right sm:table-cell">
                    {t.payments}
                  </th>
                  <th scope="col" className="text-right">
                    {t.received}
                  </th>
                  <th scope="col" className="text-right">
                    {t.fees}
                  </th>
                  <th scope="col" className="hidden text-right sm:table-cell">
                    {t.refunded}
                  </th>
                  <th scope="col" className="hidden text-right sm:table-cell">
                    {t.net}
                  </th>
                </tr>
              </thead>
              <tbody>
                {months.map(({ month, payments, received, fees: kept, refunded, net }) => (
                  <tr key={month}>
                    <td>{formatMonth(lang, month)}</td>
                    <td className="num hidden text-right sm:table-cell">{formatCount(lang, payments)}</td>
                    <td className="text-right">
                      <Money amount={received} asset="USDC" />
                    </td>
                    <td className="text-right">
                      <Money amount={kept} asset="USDC" />
                    </td>
                    <td className="hidden text-right sm:table-cell">
                      <Money amount={refunded} asset="USDC" />
                    </td>
                    <td className="hidden text-right font-medium sm:table-cell">
                      <Money amount={net} asset="USDC" />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </TableFrame>
        )}
      </Loaded>
    </Panel>
  )
}
