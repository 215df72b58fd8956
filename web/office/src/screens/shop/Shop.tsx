import { useCan } from '../../api/session.ts'
import { OneCompany } from '../../frame/company.tsx'
import { Page } from '../../kit/parts.tsx'
import { useTexts } from '../../texts/lang.ts'
import { Buttons } from './Buttons.tsx'
import { Channels } from './Channels.tsx'
import { Company } from './Company.tsx'
import { Devices } from './Devices.tsx'
import { Face } from './Face.tsx'
import { Tills } from './Tills.tsx'
import { texts } from './texts.ts'

export function Shop() {
  const t = useTexts(texts)
  const can = useCan()
  return (
    <Page title={t.title} lead={t.lead}>
      <OneCompany>
        {(companyId) => (
          <div className="grid items-start gap-x-5 lg:grid-cols-2">
            <div>
              {can('companies.read') && <Company companyId={companyId} />}
              {can('companies.change') && <Face companyId={companyId} />}
              {can('channels.read') && <Channels />}
            </div>
            <div>
              {can('tills.read') && <Tills />}
              {can('tillDevices.read') && <Devices />}
              {can('buttons.read') && <Buttons />}
            </div>
          </div>
        )}
      </OneCompany>
    </Page>
  )
}
