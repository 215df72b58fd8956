import { useState } from 'react'
import { call, type Data } from '../../api/call.ts'
import { useAction, useApi } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { OneCompany, useCompanyId, useCompanyQuery } from '../../frame/company.tsx'
import { Form } from '../../kit/fields.tsx'
import { Icon } from '../../kit/icons.tsx'
import { Turn } from '../../kit/lists.tsx'
import { Badge, Code, Copy, Dialog, Empty, Facts, Loaded, Notice, Page, Time } from '../../kit/parts.tsx'
import { usePage } from '../../kit/Tabs.tsx'
import { useTexts } from '../../texts/lang.ts'
import { NewKey } from './NewKey.tsx'
import { texts } from './texts.ts'

type Key = Data<'listApiKeys'>[number]
const LIMIT = 100

export function Keys() {
  const t = useTexts(texts)
  const can = useCan()
  const [isNew, setNew] = useState(false)
  const [made, setMade] = useState<Data<'createApiKey'> | null>(null)
  const companyId = useCompanyId()
  const create = companyId !== null && can('apiKeys.create') && (
    <button type="button" className="btn btn-fill" onClick={() => setNew(true)}>
      <Icon name="plus" />
      {t.create}
    </button>
  )
  return (
    <Page title={t.title} lead={t.lead} actions={create}>
      <OneCompany>{() => <List />}</OneCompany>
      {isNew && (
        <NewKey
          onClose={() => setNew(false)}
          onMade={(key) => {
            setNew(false)
            setMade(key)
          }}
        />
      )}
      {made && <Made made={made} onClose={() => setMade(null)} />}
    </Page>
  )
}

function Made({ made, onClose }: { made: Data<'createApiKey'>; onClose(): void }) {
  const t = useTexts(texts)
  return (
    <Dialog title={t.once} onClose={onClose} isOnce>
      <Notice tone="warn">{t.onceText}</Notice>
      {(
        [
          [t.key, made.apiKey],
          [t.secret, made.apiSecret],
        ] as const
      ).map(([name, value]) => (
        <div key={name} className="mb-3">
          <p className="text-sm text-soft">{name}</p>
          <p className="flex flex-wrap items-center gap-1">
            <Code text={value} whole />
            <Copy text={value} />
          </p>
        </div>
      ))}
      <button type="button" className="btn btn-fill" onClick={onClose}>
        {t.done}
      </button>
    </Dialog>
  )
}

function List() {
  const t = useTexts(texts)
  const [page, setPage] = usePage()
  const keys = useApi('GET /api/next/api-keys', { query: { ...useCompanyQuery(), page, limit: LIMIT } })
  const empty = (
    <Empty icon="key" title={t.empty}>
      {t.emptyText}
    </Empty>
  )
  return (
    <>
      <Loaded query={keys} isEmpty={(data) => data.length === 0 && page === 1} empty={empty}>
        {(list) => (
          <ul className="grid gap-4 lg:grid-cols-2">
            {list.map((key) => (
              <li key={key._id}>
                <Card apiKey={key} />
              </li>
            ))}
          </ul>
        )}
      </Loaded>
      <Turn page={page} isLast={(keys.data?.length ?? 0) < LIMIT} onPage={setPage} />
    </>
  )
}

function Card({ apiKey }: { apiKey: Key }) {
  const t = useTexts(texts)
  const can = useCan()
  const [isAsking, setAsking] = useState(false)
  const revoke = useAction({
    run: () => call('DELETE /api/next/api-keys/{id}', { path: { id: apiKey._id } }),
    done: t.revoked,
    onDone: () => setAsking(false),
  })
  return (
    <article className="panel h-full p-4">
      <h2 className="mb-2 font-semibold break-words">{apiKey.name}</h2>
      <p className="mb-3 flex flex-wrap gap-1">
        {apiKey.scopes.map((scope) => (
          <Badge key={scope}>{scope}</Badge>
        ))}
      </p>
      <Facts
        rows={[
          [t.key, <Code key="key" text={apiKey.apiKey} whole />],
          [t.used, apiKey.lastUsedAt ? <Time key="used" at={apiKey.lastUsedAt} ago /> : t.never],
          [t.created, <Time key="created" at={apiKey.createdAt} />],
          ...(apiKey.expiresAt
            ? ([[t.expires, <Time key="expires" at={apiKey.expiresAt} />]] as [string, React.ReactNode][])
            : []),
        ]}
      />
      {can('apiKeys.revoke') && (
        <button type="button" className="btn mt-4" onClick={() => setAsking(true)}>
          {t.revoke}
        </button>
      )}
      {isAsking && (
        <Dialog title={t.revoke} onClose={() => setAsking(false)}>
          <Form
            tone="bad"
            button={t.revoke}
            isBusy={revoke.isPending}
            error={revoke.error}
            onSend={() => revoke.mutate(undefined)}
            beside={
              <button type="button" className="btn" onClick={() => setAsking(false)}>
                {t.keep}
              </button>
            }
          >
            <p className="mb-4">{t.revokeText(apiKey.name)}</p>
          </Form>
        </Dialog>
      )}
    </article>
  )
}
