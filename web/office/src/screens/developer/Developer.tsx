import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useApi } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { useCompanyQuery } from '../../frame/company.tsx'
import { Copy, Page, Panel } from '../../kit/parts.tsx'
import { useTexts } from '../../texts/lang.ts'
import { SAMPLES, VERIFY } from './samples.ts'
import { texts } from './texts.ts'

/** Ready code, with this installation's address and the company's own till. */
export function Developer() {
  const t = useTexts(texts)
  const can = useCan()
  const [language, setLanguage] = useState('curl')
  const tills = useApi(
    'GET /api/next/collectors/list',
    { query: { ...useCompanyQuery(), limit: 1, active: true } },
    { enabled: can('tills.read') },
  )
  const till = tills.data?.collectors[0]?.identifier ?? 'TILL-1'
  const code = SAMPLES[language]?.(location.origin, till) ?? ''
  return (
    <Page
      title={t.title}
      lead={t.lead}
      actions={
        <a className="btn" href="/docs/api" target="_blank" rel="noreferrer">
          {t.reference}
        </a>
      }
    >
      <Panel title={t.one}>
        <p className="mb-3">{t.oneText}</p>
        {can('apiKeys.read') && (
          <Link to={'/keys' as never} className="btn">
            {t.keys}
          </Link>
        )}
      </Panel>
      <Panel title={t.two}>
        <p className="mb-3">{t.twoText}</p>
        <div className="mb-3 flex flex-wrap gap-2">
          {Object.keys(SAMPLES).map((name) => (
            <button
              key={name}
              type="button"
              className="chip min-h-8 border border-line px-3 aria-pressed:border-fill aria-pressed:bg-fill aria-pressed:text-white"
              aria-pressed={language === name}
              onClick={() => setLanguage(name)}
            >
              {name}
            </button>
          ))}
        </div>
        <Sample code={code} />
      </Panel>
      <Panel title={t.three}>
        <p className="mb-3">{t.threeText}</p>
        <Sample code={VERIFY} />
      </Panel>
    </Page>
  )
}

const Sample = ({ code }: { code: string }) => (
  <>
    <pre className="code overflow-x-auto p-3 whitespace-pre-wrap">{code}</pre>
    <Copy text={code} />
  </>
)
