import { useCan } from '../../api/session.ts'
import { OneCompany, useCompanyId } from '../../frame/company.tsx'
import { Page } from '../../kit/parts.tsx'
import { useTexts } from '../../texts/lang.ts'
import { Addresses } from './Addresses.tsx'
import { Deliveries } from './Deliveries.tsx'
import { Secret } from './Secret.tsx'
import { Subscriptions } from './Subscriptions.tsx'
import { TestEvent } from './TestEvent.tsx'
import { texts } from './texts.ts'

export function Webhooks() {
  const t = useTexts(texts)
  const can = useCan()
  const companyId = useCompanyId()
  return (
    <Page title={t.title} lead={t.lead}>
      {companyId !== null && <Addresses />}
      <Deliveries />
      <OneCompany>
        {(companyId) => (
          <div className="grid items-start gap-x-5 lg:grid-cols-2">
            {can('webhooks.secret') && <Secret />}
            {can('webhooks.test') && <TestEvent />}
            {can('webhooks.subscriptions') && <Subscriptions companyId={companyId} />}
          </div>
        )}
      </OneCompany>
    </Page>
  )
}
