import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { type Body, call, type Data } from '../../api/call.ts'
import { useAction, useApi } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { Area, Form } from '../../kit/fields.tsx'
import { Badge, Dialog, Facts, Loaded, Time, type Tone } from '../../kit/parts.tsx'
import { useCore, useTexts, wordFor } from '../../texts/lang.ts'
import { ScreeningStatus } from './ScreeningStatus.tsx'
import { screeningTexts } from './screening-texts.ts'

type Screening = Data<'getScreening'>
type Way = Screening['decisions'][number]

const VERDICT_TONES: Record<string, Tone> = { clean: 'good', hold: 'warn', blocked: 'bad', unavailable: 'plain' }

export function ScreeningDialog({ id, onClose }: { id: string; onClose(): void }) {
  const t = useTexts(screeningTexts)
  const screening = useApi('GET /api/next/screenings/{id}', { path: { id } })
  return (
    <Dialog title={t.one} onClose={onClose}>
      <Loaded query={screening}>{(data) => <Inner screening={data} />}</Loaded>
    </Dialog>
  )
}

function Inner({ screening }: { screening: Screening }) {
  const t = useTexts(screeningTexts)
  const core = useCore()
  const can = useCan()
  const [way, setWay] = useState<Way | null>(null)
  const { status, purpose, address, isWhole, code, shortCode, network, reason, openedAt } = screening
  // an older node does not say
  const decisions: Screening['decisions'] | undefined = screening.decisions
  return (
    <>
      <p className="mb-3">
        <ScreeningStatus status={status} />
      </p>
      <Facts
        rows={[
          [
            wordFor(t.purpose, purpose),
            <code key="address" className="break-all">
              {address ?? t.atProvider}
            </code>,
          ],
          ...(network === null ? [] : ([[t.network, String(network)]] as [string, string][])),
          ...(isWhole === null ? [] : ([[t.blocks, isWhole ? t.whole : t.named]] as [string, string][])),
          [t.since, <Time key="since" at={openedAt} long />],
          ...(code
            ? ([
                [
                  t.order,
                  <Link key="order" to="/orders/$code" params={{ code }} className="link">
                    {shortCode}
                  </Link>,
                ],
              ] as [string, React.ReactNode][])
            : []),
          ...(reason ? ([[core.reason, reason]] as [string, string][]) : []),
        ]}
      />
      <Evidence screening={screening} />
      {/* held, and another person's to decide */}
      {status === 'held' && decisions?.length === 0 && <p className="text-sm">{t.operatorDecides}</p>}
      {can('screenings.decide') && (
        <div className="flex flex-wrap gap-2">
          {decisions?.map((name) => (
            <button key={name} type="button" className="btn" aria-pressed={way === name} onClick={() => setWay(name)}>
              {t[name]}
            </button>
          ))}
        </div>
      )}
      {way && (
        <Decide key={`${way} ${screening.updatedAt}`} screening={screening} way={way} onDone={() => setWay(null)} />
      )}
    </>
  )
}

function Evidence({ screening }: { screening: Screening }) {
  const t = useTexts(screeningTexts)
  return (
    <>
      <h3 className="mt-4 mb-1 font-semibold">{t.evidence}</h3>
      {screening.evidence.length === 0 && <p className="mb-4 text-sm text-soft">{t.noAnswer}</p>}
      {screening.evidenceLeftOut > 0 && (
        <p className="mb-2 text-sm text-soft">{t.leftOut(screening.evidenceLeftOut)}</p>
      )}
      <ol className="mb-4 space-y-2 text-sm">
        {screening.evidence.map((answer) => (
          <li key={`${answer.source} ${answer.at}`}>
            <span className="flex flex-wrap items-center gap-x-3">
              <Badge tone={VERDICT_TONES[answer.verdict] ?? 'plain'}>{wordFor(t.verdict, answer.verdict)}</Badge>
              <strong>{wordFor(t.source, answer.source)}</strong>
              {answer.level && <span>{answer.level}</span>}
              <span className="text-soft">
                <Time at={answer.at} long />
              </span>
            </span>
            {answer.reasons.length > 0 && <p className="mt-1 break-words text-soft">{answer.reasons.join(', ')}</p>}
            <details className="mt-1">
              <summary className="cursor-pointer text-soft">{t.asItCame}</summary>
              <pre className="mt-1 max-h-56 overflow-auto rounded-lg bg-sunken p-3 text-[13px] whitespace-pre-wrap break-all">
                {JSON.stringify(answer.evidence, null, 2)}
              </pre>
            </details>
          </li>
        ))}
      </ol>
    </>
  )
}

/** Of what the page shows: what has changed since is decided about again. */
function decide({ _id: id, updatedAt }: Screening, way: Way, values: Record<string, string>): Promise<unknown> {
  const path = { id }
  const body = { ...values, updatedAt }
  if (way === 'release')
    return call('POST /api/next/screenings/{id}/release', { path, body: body as unknown as Body<'releaseScreening'> })
  return call('POST /api/next/screenings/{id}/return', { path, body: body as unknown as Body<'returnScreening'> })
}

function Decide({ screening, way, onDone }: { screening: Screening; way: Way; onDone(): void }) {
  const t = useTexts(screeningTexts)
  const core = useCore()
  const action = useAction({
    run: (values: Record<string, string>) => decide(screening, way, values),
    done: t.done,
    onDone,
  })
  return (
    <div className="mt-4 border-t border-line pt-4">
      <Form
        button={t[way]}
        tone={way === 'release' ? 'fill' : 'bad'}
        isBusy={action.isPending}
        error={action.error}
        onSend={(values) => action.mutate(values)}
      >
        <p className="mb-3">{way === 'release' ? t.releaseText : t.returnText}</p>
        <Area label={core.reason} name="reason" required minLength={3} maxLength={500} />
      </Form>
    </div>
  )
}
