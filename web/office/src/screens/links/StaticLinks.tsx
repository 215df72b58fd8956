import { useState } from 'react'
import { type Body, call, type Schemas } from '../../api/call.ts'
import { useAction, useWhole } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { useCompanyQuery } from '../../frame/company.tsx'
import { changed } from '../../kit/changed.ts'
import { Field, Form, Select } from '../../kit/fields.tsx'
import { Badge, Copy, Dialog, Loaded, Money, Panel } from '../../kit/parts.tsx'
import { useCore, useTexts } from '../../texts/lang.ts'
import { texts } from './static-texts.ts'

type StaticLink = Schemas['StaticLink']
const CURRENCIES = ['EUR', 'CHF', 'USD', 'GBP', 'XPF'] as const

/** URLs that create a new order for each payment. */
export function StaticLinks() {
  const t = useTexts(texts)
  const can = useCan()
  const [isNew, setNew] = useState(false)
  const links = useWhole('GET /api/next/static-links', useCompanyQuery())
  const add = can('staticLinks.write') && (
    <button type="button" className="btn" onClick={() => setNew(true)}>
      {t.add}
    </button>
  )
  return (
    <Panel title={t.title} actions={add}>
      <p className="mb-3 text-sm text-soft">{t.lead}</p>
      <Loaded
        query={links}
        isEmpty={(data) => data.staticLinks.length === 0}
        empty={<p className="text-soft">{t.none}</p>}
      >
        {(data) => (
          <ul className="divide-y divide-line">
            {data.staticLinks.map((link) => (
              <li key={link._id} className="py-3 first:pt-0 last:pb-0">
                <Row link={link} />
              </li>
            ))}
          </ul>
        )}
      </Loaded>
      {isNew && <NewStaticLink onClose={() => setNew(false)} />}
    </Panel>
  )
}

function Row({ link }: { link: StaticLink }) {
  const t = useTexts(texts)
  const core = useCore()
  const can = useCan()
  const [isChanging, setChanging] = useState(false)
  const { _id: id, name, amount, currency, active, paid, paidAmount, orders, merchantIdentifier } = link
  const turn = useAction({
    run: () => call('PUT /api/next/static-links/{id}', { path: { id }, body: { active: !active } }),
    done: core.saved,
  })
  return (
    <>
      <p>
        <strong className="break-words">{name}</strong>{' '}
        {amount === null ? <span className="text-soft">{t.typed}</span> : <Money amount={amount} asset={currency} />}{' '}
        {!active && <Badge tone="warn">{t.off}</Badge>}
      </p>
      <p className="text-sm break-words text-soft">
        {merchantIdentifier} · {t.sales(paid, orders)} · <Money amount={paidAmount} asset={currency} />
      </p>
      <div className="mt-2 flex flex-wrap gap-2">
        <Copy text={link.url} label={t.copy} />
        <a className="btn" href={link.posterUrl} target="_blank" rel="noopener">
          {t.poster}
        </a>
        {can('staticLinks.write') && (
          <>
            <button type="button" className="btn" onClick={() => setChanging(true)}>
              {core.change}
            </button>
            <button type="button" className="btn" disabled={turn.isPending} onClick={() => turn.mutate(undefined)}>
              {active ? t.turnOff : t.turnOn}
            </button>
          </>
        )}
      </div>
      {isChanging && <ChangeStaticLink link={link} onClose={() => setChanging(false)} />}
    </>
  )
}

/** The printed code stays valid: the URL gets another name or amount. */
function ChangeStaticLink({ link: current, onClose }: { link: StaticLink; onClose(): void }) {
  const [link] = useState(current)
  const t = useTexts(texts)
  const core = useCore()
  const action = useAction({
    run: (values: Record<string, string>) => {
      const none = { amount: null, minAmount: null, maxAmount: null }
      const body = changed(link, { ...none, ...values }) as Body<'changeStaticLink'>
      return call('PUT /api/next/static-links/{id}', { path: { id: link._id }, body })
    },
    done: core.saved,
    onDone: onClose,
  })
  return (
    <Dialog title={core.pair(core.change, link.name)} onClose={onClose}>
      <Form
        button={core.save}
        isBusy={action.isPending}
        error={action.error}
        onSend={(values) => action.mutate(values)}
      >
        <Field label={t.name} name="name" required maxLength={120} defaultValue={link.name} />
        <Amounts link={link} />
      </Form>
    </Dialog>
  )
}

/** @param props.link with the current amounts */
function Amounts({ link }: { link?: StaticLink }) {
  const t = useTexts(texts)
  return (
    <>
      <div className="grid grid-cols-[1fr_7rem] gap-x-3">
        <Field
          label={t.amount}
          name="amount"
          hint={t.amountHint}
          kind="amount"
          defaultValue={link?.amount ?? undefined}
        />
        <Select
          label={t.currency}
          name="currency"
          disabled={link !== undefined}
          defaultValue={link?.currency}
          options={CURRENCIES.map((one) => [one, one] as const)}
        />
      </div>
      <div className="grid grid-cols-2 gap-x-3">
        <Field label={t.least} name="minAmount" kind="amount" defaultValue={link?.minAmount ?? undefined} />
        <Field label={t.most} name="maxAmount" kind="amount" defaultValue={link?.maxAmount ?? undefined} />
      </div>
    </>
  )
}

type Choice = { _id: string; identifier: string }
type NewProps = { till?: Choice; onClose(): void; onDone?(): void }

/**
 * @param till the till that it is for; without one, the person chooses. A till that was just added may be missing from
 * the cached list, and a choice without it would silently be another till.
 */
export function NewStaticLink({ till, onClose, onDone = onClose }: NewProps) {
  const t = useTexts(texts)
  const core = useCore()
  const query = useCompanyQuery()
  const tills = useWhole('GET /api/next/collectors/list', { ...query, active: true }, { enabled: till === undefined })
  const action = useAction({
    run: (values: Record<string, string>) =>
      call('POST /api/next/static-links', { body: values as unknown as Body<'createStaticLink'>, query }),
    done: core.saved,
    onDone,
  })
  const form = (choices: readonly Choice[]) => (
    <Form button={t.add} isBusy={action.isPending} error={action.error} onSend={(values) => action.mutate(values)}>
      <Field
        label={t.name}
        name="name"
        required
        maxLength={120}
        placeholder={t.nameHint}
        defaultValue={till?.identifier}
      />
      <Select
        label={t.till}
        name="merchantIdentifier"
        options={choices.map(({ _id, identifier }) => [_id, identifier] as const)}
      />
      <Amounts />
    </Form>
  )
  return (
    <Dialog title={t.add} onClose={onClose}>
      {till ? form([till]) : <Loaded query={tills}>{(data) => form(data.collectors)}</Loaded>}
    </Dialog>
  )
}
