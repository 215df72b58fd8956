import { useState } from 'react'
import { type Body, call, type Data, type Schemas } from '../../api/call.ts'
import { useAction, useWhole } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { useCompanyQuery } from '../../frame/company.tsx'
import { Field, Form, Select } from '../../kit/fields.tsx'
import { Badge, Copy, Dialog, Loaded, Panel, Time } from '../../kit/parts.tsx'
import { Qr } from '../../kit/Qr.tsx'
import { useCore, useTexts } from '../../texts/lang.ts'
import { texts } from './device-texts.ts'

type Device = Schemas['TillDevice']
type Made = Data<'createTillDevice'>

/** Validity of a code. */
const CODE_MS = 10 * 60_000

/** Tablets and phones of the tills: set up, last seen, removed. */
export function Devices() {
  const t = useTexts(texts)
  const can = useCan()
  const [isNew, setNew] = useState(false)
  const [made, setMade] = useState<Made | null>(null)
  const devices = useWhole('GET /api/next/till-devices', useCompanyQuery(), { liveMs: 10_000 })
  const add = can('tillDevices.create') && (
    <button type="button" className="btn" onClick={() => setNew(true)}>
      {t.add}
    </button>
  )
  return (
    <Panel title={t.title} actions={add}>
      <p className="mb-3 text-sm text-soft">{t.lead}</p>
      <Loaded
        query={devices}
        isEmpty={(data) => data.tillDevices.length === 0}
        empty={<p className="text-soft">{t.none}</p>}
      >
        {(data) => (
          <ul className="divide-y divide-line">
            {data.tillDevices.map((device) => (
              <li key={device._id} className="py-3 first:pt-0 last:pb-0">
                <Row device={device} />
              </li>
            ))}
          </ul>
        )}
      </Loaded>
      {isNew && (
        <NewDevice
          onClose={() => setNew(false)}
          onMade={(device) => {
            setNew(false)
            setMade(device)
          }}
        />
      )}
      {made && <Code made={made} onClose={() => setMade(null)} />}
    </Panel>
  )
}

function Row({ device }: { device: Device }) {
  const core = useCore()
  const t = useTexts(texts)
  const can = useCan()
  const [asks, setAsks] = useState(false)
  const revoke = useAction({
    run: () => call('DELETE /api/next/till-devices/{id}', { path: { id: device._id } }),
    done: t.done,
    onDone: () => setAsks(false),
  })
  const isOver = Date.now() - Date.parse(device.createdAt) > CODE_MS
  const standing = device.revokedAt ? t.revoked : device.enrolledAt ? t.enrolled : isOver ? t.over : t.waiting
  return (
    <>
      <div className="flex flex-wrap items-center gap-2">
        <strong className="break-words">{device.name}</strong>
        <Badge tone={standing === t.enrolled ? 'good' : 'plain'}>{standing}</Badge>
        <span className="text-sm break-all text-soft">{device.collector.identifier}</span>
      </div>
      {device.lastSeenAt && (
        <p className="text-sm text-soft">
          {t.seen} <Time at={device.lastSeenAt} ago />
        </p>
      )}
      {can('tillDevices.revoke') && !device.revokedAt && (
        <button type="button" className="btn mt-2" onClick={() => setAsks(true)}>
          {t.revoke}
        </button>
      )}
      {asks && (
        <Dialog title={core.pair(t.revoke, device.name)} onClose={() => setAsks(false)}>
          <Form
            tone="bad"
            button={t.revoke}
            isBusy={revoke.isPending}
            error={revoke.error}
            onSend={() => revoke.mutate(undefined)}
          >
            <p className="mb-4">{t.revokeText}</p>
          </Form>
        </Dialog>
      )}
    </>
  )
}

function NewDevice({ onClose, onMade }: { onClose(): void; onMade(made: Made): void }) {
  const t = useTexts(texts)
  const tills = useWhole('GET /api/next/collectors/list', useCompanyQuery())
  const action = useAction({
    run: (values: Record<string, string>) =>
      call('POST /api/next/till-devices', { body: values as Body<'createTillDevice'> }),
    onDone: onMade,
  })
  return (
    <Dialog title={t.add} onClose={onClose}>
      <Loaded query={tills} isEmpty={(data) => data.collectors.length === 0} empty={<p>{t.noTills}</p>}>
        {(data) => (
          <Form
            button={t.make}
            isBusy={action.isPending}
            error={action.error}
            onSend={(values) => action.mutate(values)}
          >
            <Field label={t.name} name="name" required maxLength={60} hint={t.nameHint} />
            <Select
              label={t.till}
              name="collector"
              options={data.collectors
                .filter(({ active }) => active)
                .map(({ _id, identifier, salePoint }) => [_id, `${identifier} · ${salePoint.name}`] as const)}
            />
          </Form>
        )}
      </Loaded>
    </Dialog>
  )
}

/** The code for the tablet, as text and QR code; opens the print dialog. */
function Code({ made, onClose }: { made: Made; onClose(): void }) {
  const core = useCore()
  const t = useTexts(texts)
  const address = `${location.origin}/till`
  return (
    <Dialog title={core.pair(t.codeTitle, made.name)} onClose={onClose}>
      <p className="mb-4">{t.codeText(address)}</p>
      <p className="mb-3 text-center font-mono text-3xl font-semibold tracking-widest">{made.enrolmentCode}</p>
      {/* the part after # is neither sent to a server nor logged */}
      <div className="mb-4 flex justify-center">
        <Qr text={`${address}#code=${made.enrolmentCode}`} label={t.codeTitle} />
      </div>
      <p className="mb-4 text-sm text-soft">{t.codeOnce}</p>
      <div className="flex flex-wrap gap-2">
        <Copy text={made.enrolmentCode} />
        <button type="button" className="btn" onClick={() => print()}>
          {t.print}
        </button>
      </div>
    </Dialog>
  )
}
