import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useWhole } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { useCompanyQuery } from '../../frame/company.tsx'
import { useTexts } from '../../texts/lang.ts'
import { NewStaticLink } from '../links/StaticLinks.tsx'
import { texts as staticTexts } from '../links/static-texts.ts'
import { NewButton } from '../shop/Buttons.tsx'
import { NewTill } from '../shop/Tills.tsx'
import { texts as shopTexts } from '../shop/texts.ts'
import { texts } from './texts.ts'

type Ask = 'static' | 'till' | 'button' | null

/** Everything to sell with that can be created, in one row. */
export function Kinds() {
  const t = useTexts(texts)
  const shop = useTexts(shopTexts)
  const fixed = useTexts(staticTexts)
  const can = useCan()
  const navigate = useNavigate()
  const company = useCompanyQuery()
  const [ask, setAsk] = useState<Ask>(null)
  const points = useWhole('GET /api/next/sales-points', company, { enabled: can('tills.write') })
  const button = (to: Ask, word: string) => (
    <button type="button" className="btn" onClick={() => setAsk(to)}>
      {word}
    </button>
  )
  const close = (): void => setAsk(null)
  /** Navigates to the new object. */
  const show = (tab: string) => (): void => void navigate({ to: '/shop', search: { tab } })
  return (
    <div className="mb-5 flex flex-wrap gap-2">
      {(['/orders/new', '/links/new'] as const).map((to) => (
        <Link key={to} to={to} className="btn aria-[current=page]:border-fill aria-[current=page]:bg-sunken">
          {to === '/orders/new' ? t.order : t.link}
        </Link>
      ))}
      {can('staticLinks.write') && button('static', fixed.add)}
      {can('tills.write') && button('till', shop.addTill)}
      {can('buttons.write') && button('button', shop.addButton)}
      {ask === 'static' && <NewStaticLink onClose={close} onDone={() => void navigate({ to: '/links' })} />}
      {ask === 'till' && <NewTill points={points.data?.salesPoints ?? []} onClose={close} onDone={show('tills')} />}
      {ask === 'button' && <NewButton onClose={close} onDone={show('buttons')} />}
    </div>
  )
}
