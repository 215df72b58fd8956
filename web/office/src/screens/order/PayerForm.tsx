import { useState } from 'react'
import { call, type Order } from '../../api/call.ts'
import { useAction } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { changed } from '../../kit/changed.ts'
import { listCountries } from '../../kit/countries.ts'
import { Check, Field, Form, Select } from '../../kit/fields.tsx'
import { Dialog } from '../../kit/parts.tsx'
import { useCore, useLang, useTexts } from '../../texts/lang.ts'
import { type PayerFields, payerTexts } from './payer-texts.ts'

const OPEN = ['INITIAL', 'PENDING', 'AWAITING', 'WAITING_CHAIN_CONFIRMATION']

type Props = {
  order: Order
  /** What the page shows; empty for a person who may write it but not read it. */
  known: PayerFields
  onClose(): void
}

/** Who pays, entered for a customer at the counter or on the phone, or corrected. */
export function PayerForm({ order, known, onClose }: Props) {
  const t = useTexts(payerTexts)
  const core = useCore()
  const can = useCan()
  const isOpen = order.paidAt === null && OPEN.includes(order.status)
  const action = useAction({
    run: (payerInformation: PayerFields) =>
      call('POST /api/next/confirm_conversion/payer-information', { body: { code: order.code, payerInformation } }),
    done: core.saved,
    onDone: onClose,
  })
  const onSend = ({ isCompany, companyName, ...values }: Record<string, string>): void => {
    // the service wants the name with it, also one that it knows
    const company = isCompany && companyName ? { isCompany: true, companyName } : {}
    const person = !isCompany && known.isCompany ? { isCompany: false } : {}
    const payer = { ...changed(known, values), ...company, ...person }
    if (Object.keys(payer).length > 0) action.mutate(payer)
    else onClose()
  }
  return (
    <Dialog title={`${t.payer} · ${order.shortCode}`} onClose={onClose}>
      <Form button={core.save} isBusy={action.isPending} error={action.error} onSend={onSend}>
        <p className="mb-4 text-sm text-soft">{t.keeps}</p>
        <Person known={known} />
        {/* later it decides where refunds go, which only those who may read it change */}
        {(isOpen || can('payers.read')) && (
          <Field
            label={t.labels.email}
            name="email"
            type="email"
            maxLength={320}
            defaultValue={known.email}
            {...(isOpen ? {} : { hint: t.emailTold })}
          />
        )}
        <Address known={known} />
      </Form>
    </Dialog>
  )
}

const LONGEST = { maxLength: 256, autoComplete: 'off' } as const

function Person({ known }: Pick<Props, 'known'>) {
  const { labels } = useTexts(payerTexts)
  const [isCompany, setCompany] = useState(known.isCompany ?? false)
  return (
    <>
      <Check
        label={labels.isCompany}
        name="isCompany"
        checked={isCompany}
        onChange={({ target }) => setCompany(target.checked)}
      />
      {isCompany && (
        <>
          <Field label={labels.companyName} name="companyName" required defaultValue={known.companyName} {...LONGEST} />
          <div className="grid gap-x-4 sm:grid-cols-2">
            <Field
              label={labels.companyVatNumber}
              name="companyVatNumber"
              maxLength={30}
              spellCheck={false}
              defaultValue={known.companyVatNumber}
            />
            <Field label={labels.companySiret} name="companySiret" kind="siret" defaultValue={known.companySiret} />
          </div>
        </>
      )}
      <div className="grid gap-x-4 sm:grid-cols-2">
        <Field label={labels.firstName} name="firstName" defaultValue={known.firstName} {...LONGEST} />
        <Field label={labels.lastName} name="lastName" defaultValue={known.lastName} {...LONGEST} />
      </div>
    </>
  )
}

function Address({ known }: Pick<Props, 'known'>) {
  const { labels } = useTexts(payerTexts)
  const lang = useLang()
  const field = (name: 'address1' | 'address2' | 'zipCode' | 'city' | 'state') => (
    <Field label={labels[name]} name={name} defaultValue={known[name]} {...LONGEST} />
  )
  return (
    <>
      {field('address1')}
      {field('address2')}
      <div className="grid gap-x-4 sm:grid-cols-2">
        {field('zipCode')}
        {field('city')}
        {field('state')}
        <Select
          label={labels.country}
          name="country"
          defaultValue={known.country ?? ''}
          options={[['', '–'], ...listCountries(lang)]}
        />
      </div>
    </>
  )
}
