import type { ReactNode } from 'react'
import type { Schemas } from '../api/call.ts'
import { useWhole } from '../api/hooks.ts'
import { useCan, useSession, useSessionState } from '../api/session.ts'
import { Select } from '../kit/fields.tsx'
import { Empty } from '../kit/parts.tsx'
import { useCore } from '../texts/lang.ts'
import { useAddress } from './address.ts'
import { NoCompany } from './NoCompany.tsx'

/** Whether a role works for several companies, and chooses one above the menu. */
export const isOperator = (role: string): boolean => role === 'SuperAdmin' || role === 'SuperManager'

/** The company of a page: one's own, or for operators the one chosen above the menu. */
export function useCompanyId(): string | null {
  const { user } = useSession()
  const [{ company }] = useAddress()
  return isOperator(user.role) ? (company ?? null) : (user.company?._id ?? null)
}

/** Orders are created for one company: one's own, or the chosen one. A customer has none. */
export function useCanSell(): boolean {
  const { session } = useSessionState()
  const [{ company }] = useAddress()
  if (!session?.permissions.has('orders.create')) return false
  return isOperator(session.user.role) ? company !== undefined : session.user.company !== null
}

/** `companyId` for endpoints that take it; people of one company send none. */
export function useCompanyQuery(): { companyId?: string } {
  const { user } = useSession()
  const [{ company }] = useAddress()
  return isOperator(user.role) && company ? { companyId: company } : {}
}

/** A company or an association: what the page's company is. */
export function useCompanyKind(): Schemas['Company']['kind'] {
  const { user } = useSession()
  const id = useCompanyId()
  const isChosen = isOperator(user.role)
  const { data } = useWhole('GET /api/next/companies', {}, { enabled: isChosen })
  const chosen = data?.companies.find(({ _id }) => _id === id)
  return (isChosen ? chosen : user.company)?.kind ?? 'company'
}

export function CompanyPicker() {
  const { user } = useSession()
  const can = useCan()
  if (!isOperator(user.role) || !can('companies.read')) {
    return user.company ? <p className="truncate px-3 pb-2 font-medium">{user.company.name}</p> : null
  }
  return <Picker />
}

/** Another company's list starts at its beginning, without the previous company's filters. */
const NONE = {
  ...{ status: undefined, search: undefined, delivery: undefined, till: undefined },
  ...{ address: undefined, check: undefined, page: undefined },
}

function Picker() {
  const core = useCore()
  const [{ company }, go] = useAddress()
  const { data } = useWhole('GET /api/next/companies', {})
  const options: [string, string][] = [
    ['', core.allCompanies],
    ...(data?.companies ?? []).map(({ _id, name }): [string, string] => [_id, name]),
  ]
  return (
    <Select
      label={core.company}
      value={company ?? ''}
      options={options}
      onChange={(event) => go({ ...NONE, company: event.target.value || undefined }, { state: {} })}
    />
  )
}

/** For pages that show one company: operators choose it first. */
export function OneCompany({ children }: { children(companyId: string): ReactNode }) {
  const core = useCore()
  const companyId = useCompanyId()
  const { user } = useSession()
  const { data } = useWhole('GET /api/next/companies', {}, { enabled: isOperator(user.role) })
  if (companyId !== null) return <>{children(companyId)}</>
  if (data?.companies.length === 0) return <NoCompany />
  return (
    <Empty icon="shop" title={core.chooseCompany}>
      <p className="mb-3">{core.chooseCompanyText}</p>
      <CompanyPicker />
    </Empty>
  )
}
