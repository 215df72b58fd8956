import { useWhole } from '../../api/hooks.ts'
import { useCan, useSession } from '../../api/session.ts'
import { useTyped } from '../../frame/address.ts'
import { useChannelOptions } from '../../frame/channels.ts'
import { isOperator, useCompanyId, useCompanyQuery } from '../../frame/company.tsx'
import { Day } from '../../kit/Day.tsx'
import { Field, Select } from '../../kit/fields.tsx'
import { useCore, useTexts } from '../../texts/lang.ts'
import { texts } from './texts.ts'
import type { OrderSearch } from './views.ts'

type Props = { search: OrderSearch; go(change: OrderSearch): void; onClear(): void }

/** The less common filters, behind one button that shows how many are set. */
export function Filters({ search, go, onClear }: Props) {
  const t = useTexts(texts)
  const core = useCore()
  const channels = useChannelOptions()
  const { user } = useSession()
  const set = [search.from, search.to, search.paymentChannel, search.till, search.sort, search.managerEmail].filter(
    Boolean,
  ).length
  const put = (name: keyof OrderSearch) => (event: { target: { value: string } }) =>
    go({ [name]: event.target.value || undefined, page: undefined })
  return (
    <details className="relative">
      <summary className="btn list-none">
        {core.filters}
        {set > 0 && <span className="chip bg-fill text-white">{set}</span>}
      </summary>
      <div className="panel absolute right-0 z-20 mt-2 w-[min(22rem,88vw)] p-4 shadow-xl">
        <div className="grid grid-cols-2 gap-x-3">
          <Day name="from" label={t.createdFrom} />
          <Day name="to" label={t.createdTo} />
        </div>
        <Select
          label={core.status}
          value={search.status ?? ''}
          onChange={put('status')}
          options={[
            ['', core.all],
            ...(search.status?.includes(',') ? ([[search.status, '…']] as const) : []),
            ...Object.entries(core.orderStatus),
          ]}
        />
        <Select
          label={t.channel}
          value={search.paymentChannel ?? ''}
          onChange={put('paymentChannel')}
          options={[['', core.all], ...channels]}
        />
        <TillChoice till={search.till} onChange={put('till')} />
        <Select
          label={t.sort}
          value={search.sort ?? ''}
          onChange={put('sort')}
          options={[
            ['', t.newest],
            ['createdAt', t.oldest],
            ['-fromAmount', t.largest],
            ['fromAmount', t.smallest],
            ['-toAmount', t.mostUsdc],
            ['toAmount', t.leastUsdc],
          ]}
        />
        {isOperator(user.role) && <ManagerField email={search.managerEmail ?? ''} onChange={put('managerEmail')} />}
        <button type="button" className="btn w-full" onClick={onClear}>
          {t.clear}
        </button>
      </div>
    </details>
  )
}

type ManagerProps = { email: string; onChange(event: { target: { value: string } }): void }

/** Half an address is another one, so it is used once the field is left. */
function ManagerField({ email, onChange }: ManagerProps) {
  const t = useTexts(texts)
  const { value, isTyped, setTyped } = useTyped(email)
  const use = (): void => {
    if (isTyped) onChange({ target: { value: value.trim() } })
    setTyped(null)
  }
  return (
    <Field
      label={t.manager}
      type="email"
      value={value}
      onChange={({ target }) => setTyped(target.value)}
      onBlur={use}
      onKeyDown={(event) => event.key === 'Enter' && use()}
    />
  )
}

type TillProps = { till: string | undefined; onChange(event: { target: { value: string } }): void }

/** Shown if a single company is selected and has more than one till. */
function TillChoice({ till, onChange }: TillProps) {
  const t = useTexts(texts)
  const core = useCore()
  const can = useCan()
  const companyId = useCompanyId()
  const enabled = can('tills.read') && companyId !== null
  const { data } = useWhole('GET /api/next/collectors/list', useCompanyQuery(), { enabled })
  const tills = enabled ? (data?.collectors ?? []) : []
  if (tills.length < 2 && till === undefined) return null
  return (
    <Select
      label={t.till}
      value={till ?? ''}
      onChange={onChange}
      options={[
        ['', core.all],
        ...tills.map(({ _id, identifier }) => [_id, identifier] as const),
        ...(till === undefined || tills.some(({ _id }) => _id === till) ? [] : [[till, till] as const]),
      ]}
    />
  )
}
