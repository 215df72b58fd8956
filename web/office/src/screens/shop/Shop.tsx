import { Suspense } from 'react'
import { useCan } from '../../api/session.ts'
import { OneCompany } from '../../frame/company.tsx'
import { Loading, Page } from '../../kit/parts.tsx'
import { Parts, usePart } from '../../kit/Tabs.tsx'
import { lazyScreen } from '../../routing/lazy-screen.ts'
import { useTexts } from '../../texts/lang.ts'
import { Buttons } from './Buttons.tsx'
import { Company } from './Company.tsx'
import { Devices } from './Devices.tsx'
import { Face } from './Face.tsx'
import { Rules } from './Rules.tsx'
import { Tills } from './Tills.tsx'
import { texts } from './texts.ts'

const Channels = lazyScreen(() => import('../channels/Channels.tsx'), 'Channels')

/** The shop's identity, its points of sale, its payouts and its rules. */
export function Shop() {
  const t = useTexts(texts)
  const can = useCan()
  const parts = [
    { name: 'company', word: t.company },
    ...(can('tills.read') ? [{ name: 'tills', word: t.tills }] : []),
    ...(can('buttons.read') ? [{ name: 'buttons', word: t.buttons }] : []),
    ...(can('channels.read') ? [{ name: 'channels', word: t.channels }] : []),
    { name: 'rules', word: t.policies },
  ]
  const part = usePart(parts)
  return (
    <Page title={t.title} lead={t.lead}>
      <OneCompany>
        {(companyId) => (
          <div key={companyId}>
            <Parts parts={parts} label={t.title} />
            {part === 'company' && (
              <div className="grid items-start gap-x-5 lg:grid-cols-2">
                <Company companyId={companyId} />
                {can('companies.change') && <Face companyId={companyId} />}
              </div>
            )}
            {part === 'tills' && (
              <div className="grid items-start gap-x-5 lg:grid-cols-2">
                <Tills />
                <div>{can('tillDevices.read') && <Devices />}</div>
              </div>
            )}
            {part === 'buttons' && <Buttons />}
            {part === 'channels' && (
              <Suspense fallback={<Loading />}>
                <Channels />
              </Suspense>
            )}
            {part === 'rules' && <Rules companyId={companyId} />}
          </div>
        )}
      </OneCompany>
    </Page>
  )
}
