import { useCan, useSession } from '../../api/session.ts'
import { isOperator, OneCompany, useCompanyId } from '../../frame/company.tsx'
import { Page } from '../../kit/parts.tsx'
import { Parts, usePart } from '../../kit/Tabs.tsx'
import { useTexts } from '../../texts/lang.ts'
import { Books } from './Books.tsx'
import { BooksCheck } from './BooksCheck.tsx'
import { Fees } from './Fees.tsx'
import { Payable } from './Payable.tsx'
import { Settlements, WaitingSettlements } from './Settlements.tsx'
import { texts } from './texts.ts'

/** What is owed and paid out, the fees, and the underlying books. */
export function MoneyPage() {
  const t = useTexts(texts)
  const can = useCan()
  const parts = [
    { name: 'overview', word: t.overview },
    { name: 'books', word: t.books },
  ]
  const part = usePart(parts)
  const { user } = useSession()
  const isWide = useCompanyId() === null && isOperator(user.role)
  return (
    <Page title={t.title} lead={t.lead}>
      {isWide && can('settlements.read') && <WaitingSettlements />}
      <OneCompany>
        {(companyId) => (
          <>
            <div className="no-print">
              <Parts parts={parts} label={t.title} />
            </div>
            {part === 'books' && can('ledger.read') && <Books key={companyId} />}
            {part === 'overview' && (
              <>
                {can('ledger.read') && <Payable />}
                {can('settlements.read') && <Settlements />}
                {can('ledger.read') && <Fees />}
                {can('ledger.read') && <BooksCheck />}
              </>
            )}
          </>
        )}
      </OneCompany>
    </Page>
  )
}
