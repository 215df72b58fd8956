import { useState } from 'react'
import { type Body, call, type Data } from '../../api/call.ts'
import { useAction, useWhole } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { OneCompany, useCompanyQuery } from '../../frame/company.tsx'
import { Check, Field, Form, Select } from '../../kit/fields.tsx'
import { Loaded, Notice, Page } from '../../kit/parts.tsx'
import { useCore, useTexts } from '../../texts/lang.ts'
import { Created } from './Created.tsx'
import { Kinds } from './Kinds.tsx'
import { texts } from './texts.ts'

const CURRENCIES = ['EUR', 'CHF', 'USD', 'GBP', 'XPF'] as const

export const NewOrder = () => <NewForm kind="order" />
export const NewLink = () => <NewForm kind="link" />

type Kind = 'order' | 'link'
type Tills = Data<'listCollectors'>['collectors']

function NewForm({ kind }: { kind: Kind }) {
  const t = useTexts(texts)
  const can = useCan()
  const company = useCompanyQuery()
  const [created, setCreated] = useState<Data<'createOrder'> | null>(null)
  const tills = useWhole('GET /api/next/collectors/list', { ...company, active: true }, { enabled: can('tills.read') })
  const lead = kind === 'order' ? t.orderLead : t.linkLead
  return (
    <Page title={kind === 'order' ? t.order : t.link} lead={created ? undefined : lead}>
      {created ? (
        <Created created={created} onAgain={() => setCreated(null)} />
      ) : (
        <OneCompany>
          {() => (
            <>
              <Kinds />
              <div className="panel max-w-xl p-5">
                <Loaded
                  query={tills}
                  isEmpty={(data) => data.collectors.length === 0}
                  empty={<Notice tone="warn">{can('tills.write') ? t.noTill : t.noTillForYou}</Notice>}
                >
                  {(data) => <Fields kind={kind} tills={data.collectors} onCreated={setCreated} />}
                </Loaded>
              </div>
            </>
          )}
        </OneCompany>
      )}
    </Page>
  )
}

type FieldsProps = { kind: Kind; tills: Tills; onCreated(created: Data<'createOrder'>): void }

/** The form's content in the API's form. */
function bodyOf(kind: Kind, { goodsName, expiryMinutes, anonymous, ...rest }: Record<string, string>) {
  return {
    ...rest,
    ...(goodsName ? { goods: { goodsName } } : {}),
    ...(anonymous ? { anonymous: true } : {}),
    ...(kind === 'link' && expiryMinutes ? { expiryMinutes: Number(expiryMinutes) } : {}),
  } as Body<'createOrder'>
}

function Fields({ kind, tills, onCreated }: FieldsProps) {
  const t = useTexts(texts)
  const core = useCore()
  const query = useCompanyQuery()
  const action = useAction({
    run: (values: Record<string, string>) =>
      call('POST /api/next/confirm_conversion/request', { body: bodyOf(kind, values), query }),
    onDone: onCreated,
  })
  return (
    <Form
      button={kind === 'order' ? t.createOrder : t.createLink}
      isBusy={action.isPending}
      error={action.error}
      onSend={(values) => action.mutate(values)}
    >
      <div className="grid grid-cols-[1fr_7rem] gap-x-3">
        <Field label={t.amount} name="amount" required kind="amount" autoComplete="off" />
        <Select label={t.currency} name="fromAsset" options={CURRENCIES.map((one) => [one, one] as const)} />
      </div>
      <Field
        label={kind === 'link' ? t.reference : `${t.reference} (${core.optional})`}
        name="alias"
        maxLength={100}
        required={kind === 'link'}
        hint={t.referenceHint}
        className={kind === 'link' ? '' : 'hidden'}
        disabled={kind === 'order'}
      />
      <Select
        label={t.till}
        name="merchantIdentifier"
        options={tills.map((till) => [till.identifier, tillName(till)] as const)}
      />
      {kind === 'link' && (
        <Select
          label={t.days}
          name="expiryMinutes"
          options={[
            ['', t.month],
            ['60', t.hour],
            ['1440', t.day],
            ['10080', t.week],
          ]}
        />
      )}
      <details className="mb-4">
        <summary className="link inline-block">{t.more}</summary>
        <div className="mt-3">
          <Field label={`${t.goods} (${core.optional})`} name="goodsName" maxLength={256} />
          <Field label={`${t.webhook} (${core.optional})`} name="webhookUrl" type="url" maxLength={2048} />
          <Check label={t.anonymous} name="anonymous" value="yes" />
        </div>
      </details>
    </Form>
  )
}

const tillName = ({ identifier, salePoint }: Tills[number]): string => `${identifier} (${salePoint.name})`
