import { type ChangeEvent, useId, useState } from 'react'
import { call, type Schemas } from '../../api/call.ts'
import { useAction, useApi } from '../../api/hooks.ts'
import { Field, Form, Select } from '../../kit/fields.tsx'
import { readBase64 } from '../../kit/files.ts'
import { Loaded, Panel, Refusal } from '../../kit/parts.tsx'
import { LANG_NAMES, LANGS, useCore, useTexts } from '../../texts/lang.ts'
import { keyOf, useChange } from './change.ts'
import { texts } from './face-texts.ts'

const MAX_BYTES = 200_000
const NAMES = [
  'displayName',
  'legalName',
  'brandColor',
  'supportEmail',
  'supportPhone',
  'termsUrl',
  'customerLanguage',
] as const

/** What payers see of the company. */
export function Face({ companyId }: { companyId: string }) {
  const t = useTexts(texts)
  const company = useApi('GET /api/next/companies/{id}', { path: { id: companyId } })
  return (
    <Panel title={t.title}>
      <p className="mb-4 text-sm text-soft">{t.lead}</p>
      <Loaded query={company}>
        {(data) => (
          <>
            <Logo company={data} />
            <Words key={keyOf(data, NAMES)} company={data} />
          </>
        )}
      </Loaded>
    </Panel>
  )
}

function Words({ company }: { company: Schemas['Company'] }) {
  const t = useTexts(texts)
  const core = useCore()
  const action = useChange(company)
  const send = (values: Record<string, string>): void =>
    action.mutate(Object.fromEntries(NAMES.map((name) => [name, values[name]?.trim() || null])))
  const given = (name: (typeof NAMES)[number]): string => company[name] ?? ''
  return (
    <Form
      isGuarded
      button={core.save}
      isBusy={action.isPending}
      isSaved={action.isDone}
      error={action.error}
      onSend={send}
    >
      <Field
        label={t.displayName}
        name="displayName"
        maxLength={120}
        hint={t.displayHint}
        defaultValue={given('displayName')}
      />
      <Field label={t.legalName} name="legalName" maxLength={120} defaultValue={given('legalName')} />
      <Field label={t.color} name="brandColor" kind="color" hint={t.colorHint} defaultValue={given('brandColor')} />
      <div className="grid gap-x-4 sm:grid-cols-2">
        <Field label={t.email} name="supportEmail" type="email" maxLength={254} defaultValue={given('supportEmail')} />
        <Field label={t.phone} name="supportPhone" kind="phone" defaultValue={given('supportPhone')} />
      </div>
      <Field label={t.terms} name="termsUrl" type="url" maxLength={2048} defaultValue={given('termsUrl')} />
      <Select
        label={t.language}
        name="customerLanguage"
        defaultValue={given('customerLanguage')}
        options={[['', t.byCountry], ...LANGS.map((lang) => [lang, LANG_NAMES[lang]] as const)]}
        hint={t.languageHint}
      />
    </Form>
  )
}

function Logo({ company }: { company: Schemas['Company'] }) {
  const t = useTexts(texts)
  const core = useCore()
  const id = useId()
  const [isTooLarge, setTooLarge] = useState(false)
  const path = { id: company._id }
  const set = useAction({
    run: async (file: File) =>
      call('PUT /api/next/companies/{id}/logo', { path, body: { image: await readBase64(file) } }),
    done: core.saved,
  })
  const remove = useAction({ run: () => call('DELETE /api/next/companies/{id}/logo', { path }), done: core.saved })
  const onFile = ({ target }: ChangeEvent<HTMLInputElement>): void => {
    const [file] = target.files ?? []
    setTooLarge((file?.size ?? 0) > MAX_BYTES)
    if (file && file.size <= MAX_BYTES) set.mutate(file)
    target.value = ''
  }
  const error = set.error ?? remove.error
  return (
    <div className="mb-5">
      <label htmlFor={id} className="mb-1 block text-sm font-medium">
        {t.logo}
      </label>
      {company.logoUrl && (
        <img
          src={`/logo/${company.logoUrl.split('/').at(-1)}`}
          alt={company.displayName ?? company.name}
          className="mb-3 h-10 max-w-full object-contain object-left"
        />
      )}
      <input
        id={id}
        type="file"
        accept="image/png,image/jpeg,image/webp"
        className="input"
        aria-describedby={`${id}-hint`}
        onChange={onFile}
        disabled={set.isPending}
      />
      <p id={`${id}-hint`} className="mt-1 text-[13px] text-soft">
        {t.logoHint}
      </p>
      {isTooLarge && (
        <p role="alert" className="mt-2 text-sm text-bad">
          {t.tooLarge}
        </p>
      )}
      {error && <Refusal error={error} />}
      {company.logoUrl && (
        <button type="button" className="btn mt-2" onClick={() => remove.mutate(undefined)}>
          {t.removeLogo}
        </button>
      )}
    </div>
  )
}
