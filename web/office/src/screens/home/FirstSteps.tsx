import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useApi } from '../../api/hooks.ts'
import { useCan, useSession } from '../../api/session.ts'
import { isOperator } from '../../frame/company.tsx'
import { Icon } from '../../kit/icons.tsx'
import { Panel } from '../../kit/parts.tsx'
import { useTexts } from '../../texts/lang.ts'
import { firstStepsTexts } from './first-steps-texts.ts'

/** Any amount that most channels take. */
const USUAL_AMOUNT = '50'
const PAID = ['PAID', 'REFUNDING', 'REFUNDED', 'FULL_REFUNDED']
const ONE = { page: 1, limit: 1 }

type Step = { name: 'factor' | 'address' | 'channel' | 'sale' | 'payment'; isDone: boolean; to: string; tab?: string }

/** What is left to set up; null: not known yet. */
function useSteps(companyId: string): Step[] | null {
  const { user } = useSession()
  const company = useApi('GET /api/next/companies/{id}', { path: { id: companyId } })
  const offers = useApi('GET /api/next/channels', { query: { amount: USUAL_AMOUNT } })
  const links = useApi('GET /api/next/confirm_conversion/links', { query: { limit: 1 } })
  const webhooks = useApi('GET /api/next/webhook-addresses', { query: {} })
  const paid = useApi('GET /api/next/confirm_conversion', { query: { ...ONE, status: PAID } })
  if (!company.data || !offers.data || !links.data || !webhooks.data || !paid.data) return null
  const { settlementAddress, settlementNetwork } = company.data
  const sells = links.data.length > 0 || webhooks.data.total > 0
  return [
    { name: 'factor', isDone: user.authenticatorEnabled || user.passkeyEnabled, to: '/account' },
    { name: 'address', isDone: settlementAddress !== null && settlementNetwork !== null, to: '/shop' },
    { name: 'channel', isDone: offers.data.some(({ available }) => available), to: '/shop', tab: 'channels' },
    { name: 'sale', isDone: sells, to: '/developer' },
    { name: 'payment', isDone: paid.data.total > 0, to: '/orders/new' },
  ]
}

/** For who sets up a company of their own, until everything is done or they want to see it no more. */
export function FirstSteps() {
  const { user } = useSession()
  const can = useCan()
  const companyId = user.company?._id
  const kept = `firstSteps:${companyId}`
  const [isOver, setOver] = useState(() => localStorage.getItem(kept) !== null)
  if (companyId === undefined || isOperator(user.role) || !can('companies.change') || isOver) return null
  const end = (): void => {
    localStorage.setItem(kept, 'over')
    setOver(true)
  }
  return <Steps companyId={companyId} onHide={end} />
}

function Steps({ companyId, onHide }: { companyId: string; onHide(): void }) {
  const t = useTexts(firstStepsTexts)
  const steps = useSteps(companyId)
  if (steps === null || steps.every(({ isDone }) => isDone)) return null
  return (
    <Panel
      title={t.title}
      flush
      actions={
        <button type="button" className="btn btn-quiet text-sm" onClick={onHide}>
          {t.hide}
        </button>
      }
    >
      <p className="px-4 pt-3 text-sm text-soft">{t.lead}</p>
      <ol className="py-2">
        {steps.map(({ name, isDone, to, tab }) => (
          <li key={name} className="flex min-h-11 items-center gap-3 px-4 py-1.5">
            <span className={isDone ? 'text-good' : 'text-soft'}>
              <Icon name={isDone ? 'check' : 'clock'} />
              <span className="sr-only">{isDone ? t.done : t.open}</span>
            </span>
            {isDone ? (
              <span className="text-soft">{t[name]}</span>
            ) : (
              <Link to={to} search={tab === undefined ? {} : { tab }} className="link">
                {t[name]}
              </Link>
            )}
          </li>
        ))}
      </ol>
    </Panel>
  )
}
