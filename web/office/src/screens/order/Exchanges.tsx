import { useState } from 'react'
import { useApi } from '../../api/hooks.ts'
import { Badge, Loaded, Panel, Time } from '../../kit/parts.tsx'
import { useTexts } from '../../texts/lang.ts'
import { texts } from './texts.ts'

/** Every request to the provider and its answer, for support. Secrets were removed before storing. */
export function Exchanges({ code }: { code: string }) {
  const t = useTexts(texts)
  const [isOpen, setOpen] = useState(false)
  return (
    <Panel title={t.exchanges}>
      {isOpen ? (
        <List code={code} />
      ) : (
        <button type="button" className="btn" onClick={() => setOpen(true)}>
          {t.exchangesShow}
        </button>
      )}
    </Panel>
  )
}

/** As many as the service gives at most. */
const MOST = 500

function List({ code }: { code: string }) {
  const t = useTexts(texts)
  const list = useApi('GET /api/next/channel-exchanges/{code}', { path: { code } })
  return (
    <Loaded query={list} isEmpty={(data) => data.length === 0} empty={<p className="text-soft">{t.exchangesNone}</p>}>
      {(rows) => (
        <>
          {rows.length >= MOST && <p className="mb-3 text-sm text-soft">{t.exchangesNewest(MOST)}</p>}
          <ul className="space-y-2">
            {rows.map((row) => (
              <li key={row._id}>
                <details className="rounded-lg border border-line">
                  <summary className="flex flex-wrap items-center gap-2 px-3 py-2 text-sm">
                    <Badge tone={row.status !== null && row.status < 400 ? 'good' : 'bad'}>{row.status ?? '–'}</Badge>
                    <span className="font-medium">{row.step}</span>
                    <span className="min-w-0 break-all text-soft">{`${row.method} ${row.url}`}</span>
                    <span className="ml-auto text-soft">
                      <Time at={row.at} long /> · {row.durationMs} ms
                    </span>
                  </summary>
                  <div className="space-y-2 px-3 pb-3 text-sm">
                    <p className="text-soft">{t.request}</p>
                    <pre className="code overflow-x-auto p-3 whitespace-pre-wrap">{row.request}</pre>
                    <p className="text-soft">{t.answer}</p>
                    <pre className="code overflow-x-auto p-3 whitespace-pre-wrap">{row.answer}</pre>
                  </div>
                </details>
              </li>
            ))}
          </ul>
        </>
      )}
    </Loaded>
  )
}
