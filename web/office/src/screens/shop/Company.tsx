import { useState } from 'react'
import type { Schemas } from '../../api/call.ts'
import { useApi } from '../../api/hooks.ts'
import { useSession } from '../../api/session.ts'
import { isOperator } from '../../frame/company.tsx'
import { useNetworkOptions } from '../../frame/networks.ts'
import { listCountries } from '../../kit/countries.ts'
import { Check, Field, Form, Select } from '../../kit/fields.tsx'
import { Loaded, Panel } from '../../kit/parts.tsx'
import { useCore, useLang, useTexts } from '../../texts/lang.ts'
import { ADDRESS_IS_RIGHT, keyOf, useChange } from './change.ts'
import { texts } from './texts.ts'

const SHOWN = [
  'name',
  'country',
  'siret',
  'vatNumber',
  'settlementAddress',
  'settlementNetwork',
  'settlementRestored',
] as const

export function Company({ companyId }: { companyId: string }) {
  const t = useTexts(texts)
  const path = { id: companyId }
  const company = useApi('GET /api/next/companies/{id}', { path })
  return (
    <Panel title={t.company}>
      <Loaded query={company}>{(data) => <Identity key={keyOf(data, SHOWN)} company={data} />}</Loaded>
    </Panel>
  )
}

function Identity({ company }: { company: Schemas['Company'] }) {
  const t = useTexts(texts)
  const core = useCore()
  const lang = useLang()
  const networks = useNetworkOptions(company.settlementNetwork)
  const action = useChange(company)
  const { user } = useSession()
  const isOwn = !isOperator(user.role)
  const restored = isOwn ? t.addressRestored : t.addressRestoredTheirs
  const [address, setAddress] = useState(company.settlementAddress ?? '')
  const onSend = ({ settlementNetwork, ...values }: Record<string, string>): void =>
    action.mutate({
      siret: null,
      vatNumber: null,
      country: null,
      settlementAddress: null,
      ...values,
      settlementNetwork: settlementNetwork ? Number(settlementNetwork) : null,
    })
  return (
    <Form
      isGuarded
      button={core.save}
      isBusy={action.isPending}
      isSaved={action.isDone}
      error={action.error}
      onSend={onSend}
    >
      <Field label={t.name} name="name" required maxLength={120} defaultValue={company.name} />
      <div className="grid gap-x-4 sm:grid-cols-2">
        <Select
          label={t.country}
          name="country"
          defaultValue={company.country ?? ''}
          options={[['', '–'], ...listCountries(lang)]}
        />
        <Field label={t.siret} name="siret" kind="siret" defaultValue={company.siret ?? ''} />
        <Field
          label={t.vatNumber}
          name="vatNumber"
          maxLength={30}
          spellCheck={false}
          defaultValue={company.vatNumber ?? ''}
          hint={t.vatNumberHint}
        />
      </div>
      <Field
        label={t.address}
        name="settlementAddress"
        kind="wallet"
        value={address}
        onChange={(event) => setAddress(event.target.value)}
        hint={company.settlementRestored ? restored : t.addressHint}
      />
      {company.settlementRestored && isOwn && <Check label={t.addressIsRight} name={ADDRESS_IS_RIGHT} />}
      <Select
        key={networks.length}
        label={t.network}
        name="settlementNetwork"
        required={address !== ''}
        defaultValue={company.settlementNetwork === null ? '' : String(company.settlementNetwork)}
        options={[['', '–'], ...networks]}
      />
    </Form>
  )
}
