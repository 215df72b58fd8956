import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { call, type Data } from '../../api/call.ts'
import { useAction, useApi } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { OneCompany, useCompanyQuery } from '../../frame/company.tsx'
import { Copy, Notice, Page, Panel, Refusal } from '../../kit/parts.tsx'
import { useTexts } from '../../texts/lang.ts'
import { TestEvent } from '../webhooks/TestEvent.tsx'
import { SAMPLES } from './samples.ts'
import { texts } from './texts.ts'
import { VERIFY } from './verify.ts'

type Key = Data<'createApiKey'>

/** From nothing to a paid order and its webhook, with code that runs unchanged. */
export function Developer() {
  const t = useTexts(texts)
  return (
    <Page
      title={t.title}
      lead={t.lead}
      actions={
        <>
          <a className="btn" href="/docs" target="_blank" rel="noreferrer">
            {t.docs}
          </a>
          <a className="btn" href="/docs/api" target="_blank" rel="noreferrer">
            {t.reference}
          </a>
        </>
      }
    >
      <OneCompany>{() => <Steps />}</OneCompany>
    </Page>
  )
}

function Steps() {
  const t = useTexts(texts)
  const can = useCan()
  const company = useCompanyQuery()
  const [language, setLanguage] = useState('curl')
  const [key, setKey] = useState<Key | null>(null)
  const tills = useApi(
    'GET /api/next/collectors/list',
    { query: { ...company, limit: 1, active: true } },
    { enabled: can('tills.read') },
  )
  const till = tills.data?.collectors[0]?.identifier ?? 'TILL-1'
  return (
    <>
      <Panel title={t.one}>
        <MakeKey made={key} onMade={setKey} />
      </Panel>
      <Panel title={t.two}>
        <p className="mb-3">{t.twoText}</p>
        <Languages chosen={language} onChoose={setLanguage} />
        <Sample code={SAMPLES[language]?.({ origin: location.origin, till, key }) ?? ''} />
      </Panel>
      <Panel title={t.three}>
        <p className="mb-3">{t.threeText}</p>
        <div className="flex flex-wrap gap-2">
          <Link to="/orders" className="btn">
            {t.orders}
          </Link>
          <Link to="/requests" className="btn">
            {t.requests}
          </Link>
        </div>
      </Panel>
      <Panel title={t.four}>
        <p className="mb-3">{t.fourText}</p>
        <Sample code={VERIFY[language] ?? ''} />
        <Link to="/webhooks" className="btn">
          {t.secret}
        </Link>
      </Panel>
      {can('webhooks.test') && <TestEvent />}
    </>
  )
}

/** A key for the code below. It is kept only in this tab's memory and is gone when the page is left. */
function MakeKey({ made, onMade }: { made: Key | null; onMade(key: Key): void }) {
  const t = useTexts(texts)
  const can = useCan()
  const query = useCompanyQuery()
  const make = useAction({
    run: () =>
      call('POST /api/next/api-keys', { body: { name: t.keyName, scopes: ['orders:read', 'orders:write'] }, query }),
    onDone: onMade,
  })
  if (made) return <Notice tone="good">{t.oneDone(made.apiKey)}</Notice>
  return (
    <>
      <p className="mb-3">{t.oneText}</p>
      <Refusal error={make.error} />
      <div className="flex flex-wrap gap-2">
        {can('apiKeys.create') && (
          <button
            type="button"
            className="btn btn-fill"
            disabled={make.isPending}
            onClick={() => make.mutate(undefined)}
          >
            {t.make}
          </button>
        )}
        <Link to="/keys" className="btn">
          {t.keys}
        </Link>
      </div>
    </>
  )
}

function Languages({ chosen, onChoose }: { chosen: string; onChoose(language: string): void }) {
  return (
    <div className="mb-3 flex flex-wrap gap-2">
      {Object.keys(SAMPLES).map((name) => (
        <button
          key={name}
          type="button"
          className="chip min-h-8 border border-line px-3 aria-pressed:border-fill aria-pressed:bg-fill aria-pressed:text-white"
          aria-pressed={chosen === name}
          onClick={() => onChoose(name)}
        >
          {name}
        </button>
      ))}
    </div>
  )
}

const Sample = ({ code }: { code: string }) => (
  <>
    <pre className="code overflow-x-auto p-3 whitespace-pre-wrap">{code}</pre>
    <Copy text={code} />
  </>
)
