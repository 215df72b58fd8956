import { useState } from 'react'
import { call, type Data, type Query } from '../../api/call.ts'
import { useAction, useApi } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { useCompanyQuery } from '../../frame/company.tsx'
import { Area, Form } from '../../kit/fields.tsx'
import { SLOW_MS } from '../../kit/live.ts'
import { Badge, Dialog, Facts, Loaded, Panel, Time } from '../../kit/parts.tsx'
import { useCore, useTexts, wordFor } from '../../texts/lang.ts'
import { feeTexts } from './fee-texts.ts'
import { RecordRefund } from './RecordRefund.tsx'
import { recordTexts } from './record-texts.ts'

type Difference = Data<'listDifferences'>[number]

/** When the books were last compared with the facts; a difference stops payouts, so it is shown here. */
export function BooksCheck() {
  const t = useTexts(feeTexts)
  const company = useCompanyQuery()
  const check = useApi('GET /api/next/ledger/check', { query: company }, { liveMs: SLOW_MS })
  const query = { ...company, status: 'open' } as Query<'listDifferences'>
  const differences = useApi('GET /api/next/ledger/differences', { query }, { liveMs: SLOW_MS })
  return (
    <Panel
      title={t.check}
      actions={
        check.data &&
        // without a check, nothing is known to be right
        (check.data.checkedAt || !check.data.ok) && (
          <Badge tone={check.data.ok ? 'good' : 'bad'}>{check.data.ok ? t.right : t.stopped}</Badge>
        )
      }
    >
      <Loaded query={check}>
        {({ checkedAt, hold }) => (
          <>
            <p>
              {checkedAt ? (
                <>
                  {t.last} <Time at={checkedAt} ago />
                </>
              ) : (
                t.notYet
              )}
            </p>
            <p className="text-sm text-soft">{hold ? wordFor(t.hold, hold) : t.text}</p>
          </>
        )}
      </Loaded>
      {differences.data && differences.data.length > 0 && (
        <ul className="mt-3 divide-y divide-line border-t border-line">
          {differences.data.map((difference) => (
            <li key={difference._id} className="py-3">
              <Row difference={difference} />
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}

function Row({ difference }: { difference: Difference }) {
  const t = useTexts(feeTexts)
  const core = useCore()
  const can = useCan()
  const record = useTexts(recordTexts)
  const [isOpen, setOpen] = useState(false)
  const [isRecording, setRecording] = useState(false)
  const { _id: id, subject, what, booked, expected, foundAt, partRefundedOf } = difference
  const explain = useAction({
    run: ({ reason = '' }: Record<string, string>) =>
      call('POST /api/next/ledger/differences/{id}/explain', { path: { id }, body: { reason } }),
    done: t.explained,
    onDone: () => setOpen(false),
  })
  return (
    <>
      <Facts
        rows={[
          [t.subject, subject],
          [t.what, what],
          [t.booked, booked],
          [t.expected, expected],
          [t.found, <Time key="found" at={foundAt} />],
        ]}
      />
      <div className="flex flex-wrap gap-2">
        {partRefundedOf !== null && can('refunds.record') && (
          <button type="button" className="btn btn-fill mt-2" onClick={() => setRecording(true)}>
            {record.title}
          </button>
        )}
        {can('ledger.explain') && (
          <button type="button" className="btn mt-2" onClick={() => setOpen(true)}>
            {t.explain}
          </button>
        )}
      </div>
      {isRecording && partRefundedOf !== null && (
        <RecordRefund differenceId={id} code={partRefundedOf} onClose={() => setRecording(false)} />
      )}
      {isOpen && (
        <Dialog title={t.explain} onClose={() => setOpen(false)}>
          <Form
            button={t.explain}
            isBusy={explain.isPending}
            error={explain.error}
            onSend={(values) => explain.mutate(values)}
          >
            <p className="mb-4 text-soft">{t.explainText}</p>
            <Area label={core.reason} name="reason" required minLength={10} maxLength={500} />
          </Form>
        </Dialog>
      )}
    </>
  )
}
