import { useState } from 'react'
import { type Body, call, type Schemas } from '../../api/call.ts'
import { useAction, useWhole } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { useCompanyQuery } from '../../frame/company.tsx'
import { withChanges } from '../../kit/changed.ts'
import { Check, Field, Form, Select } from '../../kit/fields.tsx'
import { Badge, Dialog, Loaded, Panel, Refusal } from '../../kit/parts.tsx'
import { useCore, useTexts } from '../../texts/lang.ts'
import { NewStaticLink } from '../links/StaticLinks.tsx'
import { texts as staticTexts } from '../links/static-texts.ts'
import { texts } from './texts.ts'

type Till = Schemas['Collector']
type Point = Schemas['SalesPoint']
type Cashier = Till['cashiers'][number]
type Ask = 'point' | 'till' | Point | null

export function Tills() {
  const t = useTexts(texts)
  const core = useCore()
  const can = useCan()
  const company = useCompanyQuery()
  const [ask, setAsk] = useState<Ask>(null)
  const points = useWhole('GET /api/next/sales-points', company)
  const tills = useWhole('GET /api/next/collectors/list', company)
  const links = useWhole('GET /api/next/static-links', company, { enabled: can('staticLinks.read') })
  /** The link whose amount the customer enters works for everything sold there. */
  const posterOf = ({ identifier }: Till): string | undefined =>
    links.data?.staticLinks.find((one) => one.merchantIdentifier === identifier && one.active && one.amount === null)
      ?.posterUrl
  const button = (to: Ask, word: string) =>
    can('tills.write') && (
      <button type="button" className="btn" onClick={() => setAsk(to)}>
        {word}
      </button>
    )
  return (
    <div>
      <Panel title={t.points} actions={button('point', t.addPoint)}>
        <Loaded query={points}>
          {(data) => (
            <ul className="space-y-2">
              {data.salesPoints.map((point) => (
                <li key={point._id} className="flex items-start justify-between gap-3">
                  <span className="min-w-0">
                    <strong className="break-words">{point.name}</strong>
                    <span className="block text-sm text-soft">
                      {[point.street, point.zipCode, point.city, point.country].filter(Boolean).join(', ')}
                    </span>
                  </span>
                  {can('tills.write') && (
                    <button type="button" className="btn" onClick={() => setAsk(point)}>
                      {core.change}
                    </button>
                  )}
                </li>
              ))}
            </ul>
          )}
        </Loaded>
      </Panel>
      <Panel title={t.tills} actions={button('till', t.addTill)}>
        <Loaded query={tills} isEmpty={(data) => data.collectors.length === 0} empty={<p>{t.none}</p>}>
          {(data) => (
            <ul className="divide-y divide-line">
              {data.collectors.map((till) => (
                <li key={till._id} className="py-3 first:pt-0 last:pb-0">
                  <Row till={till} poster={posterOf(till)} />
                </li>
              ))}
            </ul>
          )}
        </Loaded>
      </Panel>
      {ask === 'point' && <PointDialog onClose={() => setAsk(null)} />}
      {ask !== null && typeof ask === 'object' && <PointDialog point={ask} onClose={() => setAsk(null)} />}
      {ask === 'till' && <NewTill points={points.data?.salesPoints ?? []} onClose={() => setAsk(null)} />}
    </div>
  )
}

function Row({ till, poster }: { till: Till; poster: string | undefined }) {
  const fixed = useTexts(staticTexts)
  const t = useTexts(texts)
  const can = useCan()
  const [isOpen, setOpen] = useState(false)
  const [isPrinting, setPrinting] = useState(false)
  const core = useCore()
  const turn = (active: boolean) => call('PUT /api/next/collectors/{id}', { path: { id: till._id }, body: { active } })
  const toggle = useAction({
    run: turn,
    done: t.done,
    undo: { word: core.undo, run: (active: boolean) => turn(!active) },
  })
  return (
    <>
      <div className="flex flex-wrap items-center gap-2">
        <strong className="break-all">{till.identifier}</strong>
        <Badge tone={till.active ? 'good' : 'plain'}>{till.active ? t.active : t.inactive}</Badge>
        <span className="text-sm text-soft">{till.salePoint.name}</span>
      </div>
      <p className="text-sm text-soft">
        {t.given} {till.cashiers.map(({ firstName, lastName }) => `${firstName} ${lastName}`).join(', ') || t.none}
      </p>
      <Refusal error={toggle.error} />
      {can('tills.write') && (
        <div className="mt-2 flex flex-wrap gap-2">
          <button type="button" className="btn" onClick={() => setOpen(true)}>
            {t.cashiers}
          </button>
          <button type="button" className="btn" onClick={() => toggle.mutate(!till.active)}>
            {till.active ? t.turnOff : t.turnOn}
          </button>
          {poster ? (
            <a className="btn" href={poster} target="_blank" rel="noopener">
              {fixed.poster}
            </a>
          ) : (
            can('staticLinks.write') &&
            till.active && (
              <button type="button" className="btn" onClick={() => setPrinting(true)}>
                {fixed.makeCode}
              </button>
            )
          )}
        </div>
      )}
      {isPrinting && <NewStaticLink till={till} onClose={() => setPrinting(false)} />}
      {isOpen && <Cashiers till={till} onClose={() => setOpen(false)} />}
    </>
  )
}

const idsOf = ({ cashiers }: Till): string[] => cashiers.map(({ _id }) => _id)

/**
 * Whose till it is. Everyone who has it is a choice, even if the cached list of people does not know them yet; what a
 * colleague changed meanwhile stays.
 */
function Cashiers({ till, onClose }: { till: Till; onClose(): void }) {
  const t = useTexts(texts)
  const core = useCore()
  const people = useWhole('GET /api/next/users', { companyId: till.company, role: 'Cashier' })
  const path = { id: till._id }
  const action = useAction({
    run: async (wanted: string[]) => {
      const now = await call('GET /api/next/collectors/{id}', { path })
      const cashiers = withChanges(idsOf(now), idsOf(till), wanted)
      return call('PUT /api/next/collectors/{id}', { path, body: { cashiers } })
    },
    done: core.saved,
    onDone: onClose,
  })
  const given = new Set(idsOf(till))
  const choicesFrom = (users: readonly Cashier[]): readonly Cashier[] => {
    const known = new Set(users.map(({ _id }) => _id))
    return [...users, ...till.cashiers.filter(({ _id }) => !known.has(_id))]
  }
  return (
    <Dialog title={core.pair(t.cashiers, till.identifier)} onClose={onClose}>
      <Loaded query={people} isEmpty={({ users }) => choicesFrom(users).length === 0} empty={<p>{t.noCashiers}</p>}>
        {(data) => (
          <Form
            key={idsOf(till).join()}
            button={core.save}
            isBusy={action.isPending}
            error={action.error}
            onSend={(values) => action.mutate(Object.keys(values))}
          >
            <p className="mb-4 text-soft">{t.cashiersText}</p>
            {choicesFrom(data.users).map(({ _id, firstName, lastName, email }) => (
              <Check
                key={_id}
                name={_id}
                value="on"
                label={`${firstName} ${lastName}`}
                hint={email ?? undefined}
                defaultChecked={given.has(_id)}
              />
            ))}
          </Form>
        )}
      </Loaded>
    </Dialog>
  )
}

/** @param props.point the one to change; without it a new one is created */
function PointDialog({ point, onClose }: { point?: Point; onClose(): void }) {
  const t = useTexts(texts)
  const core = useCore()
  const query = useCompanyQuery()
  const action = useAction({
    run: (values: Record<string, string>): Promise<unknown> => {
      const body = values as unknown as Body<'createSalesPoint'>
      if (!point) return call('POST /api/next/sales-points', { body, query })
      const whole = { street: null, zipCode: null, city: null, ...body }
      return call('PUT /api/next/sales-points/{id}', { path: { id: point._id }, body: whole })
    },
    done: core.saved,
    onDone: onClose,
  })
  return (
    <Dialog title={point ? core.pair(core.change, point.name) : t.addPoint} onClose={onClose}>
      <Form
        button={point ? core.save : t.addPoint}
        isBusy={action.isPending}
        error={action.error}
        onSend={(values) => action.mutate(values)}
      >
        <Field label={t.name} name="name" required maxLength={100} defaultValue={point?.name} />
        <Field
          label={`${t.street} (${core.optional})`}
          name="street"
          maxLength={200}
          defaultValue={point?.street ?? undefined}
        />
        <div className="grid grid-cols-[8rem_1fr] gap-x-4">
          <Field
            label={`${t.zip} (${core.optional})`}
            name="zipCode"
            maxLength={20}
            defaultValue={point?.zipCode ?? undefined}
          />
          <Field
            label={`${t.city} (${core.optional})`}
            name="city"
            maxLength={100}
            defaultValue={point?.city ?? undefined}
          />
        </div>
      </Form>
    </Dialog>
  )
}

type NewTillProps = { points: readonly Schemas['SalesPoint'][]; onClose(): void; onDone?(): void }

export function NewTill({ points, onClose, onDone = onClose }: NewTillProps) {
  const t = useTexts(texts)
  const core = useCore()
  const action = useAction({
    run: (values: Record<string, string>) =>
      call('POST /api/next/collectors/add', { body: values as Body<'addCollector'> }),
    done: core.saved,
    onDone,
  })
  return (
    <Dialog title={t.addTill} onClose={onClose}>
      <Form
        button={t.addTill}
        isBusy={action.isPending}
        error={action.error}
        onSend={(values) => action.mutate(values)}
      >
        <Field label={t.identifier} name="identifier" required maxLength={100} hint={t.identifierHint} />
        <Select label={t.point} name="salePoint" options={points.map(({ _id, name }) => [_id, name] as const)} />
      </Form>
    </Dialog>
  )
}
